/* SPDX-License-Identifier: Apache-2.0
 * elfcheck.h: a native plugin's file before any of its code runs: what is read is bytes, every offset is checked.
 *
 * Codes R4101 to R4117 (docs/codes.md). Undefined symbols are looked up in the libraries of the allow-list, as they are here. [setup] */
#ifndef RDN_ELFCHECK_H
#define RDN_ELFCHECK_H
#include <stddef.h>
#include "plugins/finding.h"

struct rdn_elf_layout { uint64_t name_hash, layout_hash; };
struct rdn_elf_wish {
    bool foreign;                                       /* kind cfn: no note and no entry symbol expected, any exports */
    const char *const *canons; uint32_t ncanons;        /* the host's events as the text their layout hash is over */
};
/* What the note says; zero when there is none. */
struct rdn_elf_note { uint32_t abi, minor, caps, nlayouts; char id[64], version[24]; struct rdn_elf_layout layouts[8]; };
void rdn_elf_check(const char *shown, const void *bytes, size_t n, const struct rdn_elf_wish *, struct rdn_report *);
bool rdn_elf_note_read(const void *bytes, size_t n, struct rdn_elf_note *ret);
#endif
