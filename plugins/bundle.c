/* SPDX-License-Identifier: Apache-2.0
 * bundle.c: see bundle.h. */
#include "plugins/bundle.h"
#include <string.h>
#include <sodium.h>
#include "base/json_read.h"
#include "base/text.h"
#include "plugins/manifest.h"

enum { MOST_HEAD = 64 << 10 };
static void hex_of(const char *p, size_t n, char out[65]) {
    uint8_t h[32];
    crypto_hash_sha256(h, (const unsigned char *)p, n);
    sodium_bin2hex(out, 65, h, sizeof h);
}

/* Members in order of their names, no space: one form for one content. */
void rdn_bundle_write(const struct rdn_bundle_head *h, const struct rdn_bundle_file *files, uint32_t nfiles, struct rdn_buf *ret) {
    struct rdn_buf b;
    char hex[65];
    rdn_buf_init(&b, ret->mem);
    rdn_buf_printf(&b, "{\"abi\":%u,\"env\":\"\",\"files\":[", h->abi);
    for (uint32_t i = 0; i < nfiles; i++) {
        hex_of(files[i].p, files[i].n, hex);
        rdn_buf_printf(&b, "%s{\"bytes\":%zu,\"name\":", i ? "," : "", files[i].n);
        rdn_buf_json(&b, files[i].name, strlen(files[i].name));
        rdn_buf_printf(&b, ",\"sha256\":\"%s\"}", hex);
    }
    rdn_buf_printf(&b, "],\"host\":\"%u.%u.%u\",\"kind\":\"%s\",\"name\":", REDAN_VERSION >> 16, REDAN_VERSION >> 8 & 255, REDAN_VERSION & 255, h->kind);
    rdn_buf_json(&b, h->name, strlen(h->name));
    rdn_buf_puts(&b, ",\"python\":");
    rdn_buf_json(&b, h->python, strlen(h->python));
    rdn_buf_puts(&b, ",\"version\":");
    rdn_buf_json(&b, h->version, strlen(h->version));
    rdn_buf_putc(&b, '}');
    uint32_t len = (uint32_t)b.n;
    rdn_buf_put(ret, RDN_BUNDLE_MAGIC, 8);
    rdn_buf_put(ret, (const char *)&len, sizeof len);
    rdn_buf_put(ret, rdn_buf_str(&b), b.n);
    for (uint32_t i = 0; i < nfiles; i++)
        rdn_buf_put(ret, files[i].p, files[i].n);
    ret->failed = ret->failed || b.failed;
    rdn_buf_fini(&b);
}

struct reading { struct rdn_json_reader json; struct rdn_arena *arena; const char *at, *end; struct rdn_bundle_file *files; uint32_t n;
                 const char *text; uint32_t len; struct rdn_bundle_head *head; redan_error *reterr; int rc; };

static const char *text_of(struct reading *r, const struct rdn_json *o, const char *name) {
    const struct rdn_json *j = rdn_json_get(&r->json, o, name);
    return j && j->kind == RDN_JSON_STRING && !memchr(j->text, 0, j->len) ? rdn_arena_strndup(r->arena, j->text, j->len) : NULL;
}

static int64_t number_of(struct reading *r, const struct rdn_json *o, const char *name) {
    int64_t x = -1;
    const struct rdn_json *j = rdn_json_get(&r->json, o, name);
    return j && j->kind == RDN_JSON_INT && rdn_read_i64(j->text, j->len, &x) ? x : -1;
}

static int take_file(struct reading *r, const struct rdn_json *o, redan_error *reterr) {
    const char *name = text_of(r, o, "name"), *want = text_of(r, o, "sha256");
    int64_t bytes = number_of(r, o, "bytes");
    char hex[65];
    if (!name || !want || !rdn_plain_name(name) || bytes < 0 || r->n == RDN_BUNDLE_FILES)
        return rdn_fail(reterr, CORRUPT, "R4201", "entry %u of the bundle is not a file with a plain name", r->n + 1);
    if (bytes > r->end - r->at)
        return rdn_fail(reterr, CORRUPT, "R4201", "the bundle ends inside '%s'", name);
    for (uint32_t i = 0; i < r->n; i++)
        if (!strcmp(r->files[i].name, name))
            return rdn_fail(reterr, CORRUPT, "R4201", "'%s' stands twice in the bundle", name);
    hex_of(r->at, (size_t)bytes, hex);
    if (strcmp(hex, want) != 0)
        return rdn_fail(reterr, CORRUPT, "R4202", "the hash of '%s' differs: %.12s... in the manifest, %.12s... of its bytes", name, want, hex);
    r->files[r->n++] = (struct rdn_bundle_file){ name, r->at, (size_t)bytes };
    r->at += bytes;
    return 0;
}

static int take_head(struct reading *r, const struct rdn_json *root, struct rdn_bundle_head *ret, redan_error *reterr) {
    const struct rdn_json *files = root ? rdn_json_get(&r->json, root, "files") : NULL;
    if (!root || root->kind != RDN_JSON_OBJECT || !files || files->kind != RDN_JSON_ARRAY)
        return rdn_fail(reterr, CORRUPT, "R4201", "the bundle's manifest is not read: %s", r->json.why ? r->json.why : "no list of files");
    int64_t abi = number_of(r, root, "abi");
    *ret = (struct rdn_bundle_head){ text_of(r, root, "kind"), text_of(r, root, "name"), text_of(r, root, "version"), text_of(r, root, "python"),
                                     (uint32_t)abi };
    if (!ret->kind || !ret->name || !ret->version || !ret->python || abi < 0)
        return rdn_fail(reterr, CORRUPT, "R4201", "the bundle's manifest lacks kind, name, version, python or abi");
    for (const struct rdn_json *j = rdn_json_first(&r->json, files); j; j = rdn_json_next(&r->json, j)) {
        int rc = take_file(r, j, reterr);
        if (rc < 0)
            return rc;
    }
    return r->at == r->end ? 0 : rdn_fail(reterr, CORRUPT, "R4201", "%zd bytes behind the last file", r->end - r->at);
}

static void head(void *ctx) {
    struct reading *r = ctx;
    r->rc = take_head(r, rdn_json_read(&r->json, r->text, r->len), r->head, r->reterr);
}

int rdn_bundle_read(struct rdn_arena *a, const char *bytes, size_t n, struct rdn_bundle_head *ret_head, struct rdn_bundle_file *ret,
                    uint32_t *ret_nfiles, redan_error *reterr) {
    uint32_t len = 0;
    if (n < 12 || memcmp(bytes, RDN_BUNDLE_MAGIC, 8) != 0)
        return rdn_fail(reterr, CORRUPT, "R4201", "not a bundle: it does not begin with %s", RDN_BUNDLE_MAGIC);
    memcpy(&len, bytes + 8, sizeof len);
    if (len > MOST_HEAD)                                /* it is read into nodes, each larger than the text it stands for */
        return rdn_fail(reterr, CORRUPT, "R4201", "the bundle's manifest has %u KiB, at most %d", len >> 10, MOST_HEAD >> 10);
    if (len > n - 12)
        return rdn_fail(reterr, CORRUPT, "R4201", "the bundle ends inside its manifest");
    struct reading r = { .arena = a, .at = bytes + 12 + len, .end = bytes + n, .files = ret,
                         .text = bytes + 12, .len = len, .head = ret_head, .reterr = reterr };
    rdn_json_init(&r.json, a->mem);
    bool oom = !rdn_arena_guard(a, head, &r);           /* the JSON must not stay behind */
    rdn_json_fini(&r.json);
    if (oom && a->oom)
        longjmp(*a->oom, 1);
    if (oom)
        return rdn_fail(reterr, NOMEM, "", "bundle");
    *ret_nfiles = r.n;
    return r.rc;
}
