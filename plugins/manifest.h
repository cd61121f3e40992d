/* SPDX-License-Identifier: Apache-2.0
 * manifest.h: plugin.yaml as a struct.
 *
 *   rdn_manifest_read    text -> struct; every mistake is a finding with its line and column: R4201 not YAML, R4203 a key or value
 *   rdn_manifest_config  the tunables as a JSON object, for the load page
 *
 * Keys are rows of manifest.def. Free keys (names of functions, tunables, data files) are why this walks libyaml's document:
 * libcyaml's schemas cannot describe them, and it keeps no line of a value. Numbers here are wishes: whoever opens the plugin
 * takes the smaller of them and its own ceiling. [any] */
#ifndef RDN_MANIFEST_H
#define RDN_MANIFEST_H
#include "base/buf.h"
#include "plugins/finding.h"

enum { RDN_MANIFEST_FNS = 16, RDN_MANIFEST_LIST = 15, RDN_MANIFEST_MAX = 64 << 10, RDN_MANIFEST_TEXTS = 16 };
struct rdn_manifest_text { const char *param; uint32_t size; };          /* a sym column wanted as letters of this width */
struct rdn_manifest_fn {
    const char *name, *signature, *symbol;              /* symbol: kind cfn */
    bool batch;
    uint32_t line, col, ntexts;
    struct rdn_manifest_text texts[RDN_MANIFEST_TEXTS];
};
enum rdn_manifest_tag { RDN_TAG_BOOL, RDN_TAG_INT, RDN_TAG_FLOAT, RDN_TAG_TEXT };
struct rdn_manifest_pair { const char *name, *value; enum rdn_manifest_tag tag; uint32_t line, col; };
struct rdn_manifest_list { const char *items[RDN_MANIFEST_LIST]; uint32_t n, line, col; };
struct rdn_manifest {
    uint32_t schema, mem_cap_mib, time_cap_ms, max_rows, threads;
    const char *id, *version, *kind, *entry, *group, *python, *rules, *instances, *state, *rows, *trust;
    struct rdn_manifest_list modules, requires;
    struct rdn_manifest_fn fns[RDN_MANIFEST_FNS]; uint32_t nfns;
    struct rdn_manifest_pair config[64], data[64];      /* data: value is the file's name */
    uint32_t nconfig, ndata;
    bool rows_given;
};
/* False when there was an error. Texts live in the arena. `file` is the name in findings. */
bool rdn_manifest_read(struct rdn_arena *, const char *file, const char *text, size_t n, struct rdn_manifest *ret, struct rdn_report *);
void rdn_manifest_config(const struct rdn_manifest *, struct rdn_buf *ret);
bool rdn_plain_name(const char *);                      /* letters, digits, _ - . and no leading dot, at most 63 bytes */
#endif
