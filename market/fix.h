/* SPDX-License-Identifier: Apache-2.0
 * fix.h: the table of FIX fields as C sees it. Reader (feed_fix.c) and writer (enc_fix.c) are loops over it. */
#ifndef RDN_FIX_H
#define RDN_FIX_H
#include <redan/market.h>
#include <stdbool.h>

enum rdn_fix_kind { RDN_FIX_TEXT, RDN_FIX_CODE, RDN_FIX_UINT, RDN_FIX_DECIMAL, RDN_FIX_TIME };
struct rdn_fix_field { uint32_t tag; enum rdn_fix_kind kind; uint32_t at; };        /* at: of the member in redan_fix */
enum rdn_fix_index {
#define FIX(tag, kind, member, doc) RDN_FIX_##member,
#define FIX_GROUP(tag, doc)
#define FIX_PARTY(tag, doc)
#include "market/fix44.def"
#undef FIX
#undef FIX_GROUP
#undef FIX_PARTY
    RDN_FIX_FIELDS
};
enum rdn_fix_bad {
    RDN_FIX_GOOD,
#define BAD(NAME, fault, text) RDN_FIX_BAD_##NAME,
#include "market/fix_bad.def"
#undef BAD
    RDN_FIX_BADS
};
enum { RDN_FIX_MESSAGE = 4096, RDN_FIX_SOH = 1, RDN_FIX_TAG_DIGITS = 5 };
extern const struct rdn_fix_field rdn_fix_fields[RDN_FIX_FIELDS];

/* What a tag is: a field (its index), a group that is refused, a field of a party, or none of them. */
enum { RDN_FIX_GROUP = -1, RDN_FIX_PARTY = -2, RDN_FIX_OTHER = -3 };
int rdn_fix_find(uint32_t tag);
uint8_t rdn_fix_fault(uint32_t bad);
/* The fields that this message must have, as bits of .has. */
uint64_t rdn_fix_needs(const redan_fix *);
#endif
