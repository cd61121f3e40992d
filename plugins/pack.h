/* SPDX-License-Identifier: Apache-2.0
 * pack.h: a plugin as its files: a folder with plugin.yaml, a .rdb bundle, or one .py file without a manifest.
 *
 * rdn_pack_open reads everything into memory once; what is checked, loaded and packed later is these bytes, not the disk. Files of
 * a folder are plain files in it (no links); of a bundle, what its manifest lists, hashes checked. What does not belong in a
 * plugin is refused by its first bytes, not by its name only: R4205. [setup] */
#ifndef RDN_PACK_H
#define RDN_PACK_H
#include "base/err.h"
#include "plugins/bundle.h"
#include "plugins/manifest.h"

enum rdn_pack_part { RDN_PART_MANIFEST, RDN_PART_ENTRY, RDN_PART_MODULE, RDN_PART_DATA, RDN_PART_ROWS, RDN_PART_RULES };
struct rdn_pack_file { enum rdn_pack_part part; const char *name, *shown; const char *p; size_t n; };   /* shown: for messages */
struct rdn_pack {
    struct rdn_arena arena;
    struct rdn_manifest m;
    struct rdn_pack_file files[RDN_BUNDLE_FILES]; uint32_t nfiles;
    char *bundle; size_t bundle_bytes;
    bool bare;                                          /* one .py: the manifest is all defaults and has no functions */
    uint8_t sha256[32];                                 /* over names and bytes, the same for folder and bundle */
};
/* *ret_error is the first finding; later ones go to the report only (may be NULL). */
int  rdn_pack_open(const struct rdn_mem *, const char *path, struct rdn_pack *ret, struct rdn_report *, redan_error *);
void rdn_pack_close(struct rdn_pack *);                 /* takes a zeroed one */
bool rdn_pack_is(const char *path);                     /* a folder or a name ending in .rdb: read by rdn_pack_open with a manifest */
const char *rdn_pack_role(const struct rdn_pack *);       /* of redan-worker: "python", "native" */
bool rdn_pack_is_native(const struct rdn_pack *);         /* kinds native and cfn */
const struct rdn_pack_file *rdn_pack_find(const struct rdn_pack *, enum rdn_pack_part);          /* the first, or NULL */
const struct rdn_manifest_fn *rdn_pack_function(const struct rdn_pack *, const char *name);       /* or NULL */
void rdn_pack_bundle(const struct rdn_pack *, struct rdn_buf *ret);
#endif
