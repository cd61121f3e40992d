/* SPDX-License-Identifier: Apache-2.0
 * bundle.h: a .rdb file: magic "RDNBNDL1", u32 length, a JSON manifest in canonical form, the bytes of the files (HOST.md 8).
 *
 *   rdn_bundle_write   names and bytes -> the file's bytes: the same input gives the same bytes
 *   rdn_bundle_read    checks magic, lengths, names and every SHA-256 before anything is used; R4201 not a bundle, R4202 a hash differs
 *
 * Names are plain and nothing is ever unpacked to disk. A signature is a file of its own beside the bundle. [any] */
#ifndef RDN_BUNDLE_H
#define RDN_BUNDLE_H
#include "base/buf.h"
#include "base/err.h"

#define RDN_BUNDLE_MAGIC "RDNBNDL1"
enum { RDN_BUNDLE_FILES = 96, RDN_BUNDLE_MAX = 64 << 20, RDN_BUNDLE_USUAL = 8 << 20 };
struct rdn_bundle_file { const char *name; const char *p; size_t n; };
struct rdn_bundle_head { const char *kind, *name, *version, *python; uint32_t abi; };   /* kind: "plugin"; python: "" when it has none */
void rdn_bundle_write(const struct rdn_bundle_head *, const struct rdn_bundle_file *, uint32_t nfiles, struct rdn_buf *ret);
/* Files point into `bytes`; names and head live in the arena. */
int  rdn_bundle_read(struct rdn_arena *, const char *bytes, size_t n, struct rdn_bundle_head *ret_head, struct rdn_bundle_file *ret,
                     uint32_t *ret_nfiles, redan_error *);
#endif
