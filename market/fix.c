/* SPDX-License-Identifier: Apache-2.0
 * fix.c: what FIX fields are, which a message must have, and what can be wrong with one (fix.h). */
#include "market/fix.h"

#include <stddef.h>

_Static_assert(RDN_FIX_FIELDS <= 64, ".has of redan_fix has a bit a field");
const struct rdn_fix_field rdn_fix_fields[RDN_FIX_FIELDS] = {
#define FIX(tag, kind, member, doc) { tag, RDN_FIX_##kind, offsetof(redan_fix, member) },
#define FIX_GROUP(tag, doc)
#define FIX_PARTY(tag, doc)
#include "market/fix44.def"
#undef FIX
#undef FIX_GROUP
#undef FIX_PARTY
};

static const struct { const char *text; uint8_t fault; } bads[RDN_FIX_BADS] = {
    { "", 0 },
#define BAD(NAME, fault, text) { text, REDAN_FAULT_##fault },
#include "market/fix_bad.def"
#undef BAD
};

const char *redan_fix_reason(uint32_t bad) { return bad < RDN_FIX_BADS ? bads[bad].text : ""; }
uint8_t rdn_fix_fault(uint32_t bad) { return bads[bad].fault; }

int rdn_fix_find(uint32_t tag) {
    switch (tag) {
#define FIX(tag, kind, member, doc) case tag: return RDN_FIX_##member;
#define FIX_GROUP(tag, doc) case tag: return RDN_FIX_GROUP;
#define FIX_PARTY(tag, doc) case tag: return RDN_FIX_PARTY;
#include "market/fix44.def"
#undef FIX
#undef FIX_GROUP
#undef FIX_PARTY
    }
    return RDN_FIX_OTHER;
}

#define HAS(member) (UINT64_C(1) << RDN_FIX_##member)
static const struct { char type; uint64_t needs; } types[] = {
    { 'D', HAS(cl_ord_id) | HAS(symbol) | HAS(side) | HAS(qty) | HAS(ord_type) | HAS(ts_ns) },
    { 'F', HAS(cl_ord_id) | HAS(orig_id) | HAS(symbol) | HAS(side) | HAS(qty) | HAS(ts_ns) },
    { 'G', HAS(cl_ord_id) | HAS(orig_id) | HAS(symbol) | HAS(side) | HAS(qty) | HAS(ord_type) | HAS(ts_ns) },
    { '8', HAS(order_id) | HAS(exec_id) | HAS(exec_type) | HAS(ord_status) | HAS(symbol) | HAS(side) | HAS(leaves_qty) | HAS(cum_qty) },
    { '9', HAS(order_id) | HAS(cl_ord_id) | HAS(orig_id) | HAS(ord_status) | HAS(reject_to) },
};

uint64_t rdn_fix_needs(const redan_fix *m) {
    uint64_t needs = 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == m->type)
            needs = types[i].needs;
    if (m->type == '8' && m->exec_type == 'F')
        needs |= HAS(last_qty) | HAS(last_px);
    if ((m->type == 'D' || m->type == 'G') && (m->ord_type == '2' || m->ord_type == '4'))
        needs |= HAS(px);
    return needs;
}
