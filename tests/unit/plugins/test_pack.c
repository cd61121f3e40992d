/* SPDX-License-Identifier: Apache-2.0
 * test_pack.c: what a stranger hands in: manifests, bundles, golden rows and layouts, good ones from tables and damaged ones at random
 * (under ASan: nothing outside the bytes is read). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/hash.h"
#include "plugins/bundle.h"
#include "plugins/elfcheck.h"
#include "plugins/layout.h"
#include "plugins/manifest.h"
#include "plugins/pack.h"
#include "plugins/parts.h"

static const char good[] = "schema: 1\nplugin: {id: org.example.fraud, version: 1.2.3-rc1, kind: python, entry: score.py, modules: [a.py, b.py]}\nfunctions:\n"
                           "  rate: {signature: \"(eur: float) -> float\", batch: true, text: {card: 12}}\n  odd:\n    signature: '(card: sym) -> bool'\n"
                           "limits: {mem_cap_mib: 16, time_cap_ms: 20, max_rows: 64, instances: per-lane}\nstate: {mode: none}\n"
                           "config: {a: 1, b: 2.5, c: true, d: \"7\", e: -0, f: 1e3}\ndata: {risk: risk.bin}\nselftest: {rows: t/rows.csv}\nnative: {trust: worker, threads: 0}\n";

static void test_manifest_is_read(void **state) {
    static struct rdn_manifest m;
    struct rdn_arena a;
    struct rdn_report r = { 0 };
    struct rdn_buf b;
    (void)state;
    rdn_arena_init(&a, &rdn_libc_mem);
    assert_true(rdn_manifest_read(&a, "plugin.yaml", good, sizeof good - 1, &m, &r));
    assert_string_equal(m.id, "org.example.fraud");
    assert_true(m.modules.n == 2 && m.nfns == 2 && m.fns[0].batch && m.fns[0].ntexts == 1 && m.fns[0].texts[0].size == 12 && m.rows_given);
    assert_true(m.mem_cap_mib == 16 && m.time_cap_ms == 20 && m.max_rows == 64 && m.ndata == 1);
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_manifest_config(&m, &b);
    assert_string_equal(rdn_buf_str(&b), "{\"a\":1,\"b\":2.5,\"c\":true,\"d\":\"7\",\"e\":0,\"f\":1000.0}");
    rdn_buf_fini(&b);
    rdn_arena_fini(&a);
}

static uint64_t seed = 7;
static uint32_t dice(uint32_t n) {
    seed += 0x9e3779b97f4a7c15u;
    return (uint32_t)(rdn_mix64(seed) % n);
}

/* A copy of exactly its own size, with a few bytes changed, removed or doubled. */
static char *damaged(const char *p, size_t n, size_t *ret_n) {
    size_t cut = dice(8) ? n : dice((uint32_t)n + 1);
    char *q = malloc(cut + 1);
    assert_non_null(q);
    memcpy(q, p, cut);
    for (uint32_t k = dice(4) + 1; cut && k; k--) {
        static const char odd[] = "{}[]:,&*!|>'\"\n #-\\%@\0\xff\x80,0";
        q[dice((uint32_t)cut)] = dice(3) ? odd[dice(sizeof odd - 1)] : (char)dice(256);
    }
    char *exact = malloc(cut ? cut : 1);
    assert_non_null(exact);
    memcpy(exact, q, cut);
    free(q);
    *ret_n = cut;
    return exact;
}

static void test_damaged_manifests(void **state) {
    static struct rdn_manifest m;
    uint32_t kept = 0;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        struct rdn_arena a;
        struct rdn_report r = { 0 };
        struct rdn_buf b;
        size_t n;
        char *text = damaged(good, sizeof good - 1, &n);
        rdn_arena_init(&a, &rdn_libc_mem);
        bool ok = rdn_manifest_read(&a, "plugin.yaml", text, n, &m, &r);
        assert_true(ok == !r.errors);
        kept += ok;
        rdn_buf_init(&b, &rdn_libc_mem);
        if (ok)
            rdn_manifest_config(&m, &b);
        rdn_buf_fini(&b);
        rdn_arena_fini(&a);
        free(text);
    }
    assert_true(kept > 100 && kept < 3900);              /* the damage is neither too light nor too heavy to say something */
}

static void test_damaged_bundles(void **state) {
    static const struct rdn_bundle_file files[] = { { "plugin.yaml", good, sizeof good - 1 }, { "score.py", "pass\n", 5 }, { "risk.bin", "\0\1\2", 3 } };
    const struct rdn_bundle_head head = { "plugin", "org.example.fraud", "1.2.3", ">=3.11", 1 };
    struct rdn_buf b;
    uint32_t kept = 0;
    (void)state;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_bundle_write(&head, files, 3, &b);
    for (int i = 0; i < 4000; i++) {
        struct rdn_bundle_file out[RDN_BUNDLE_FILES];
        struct rdn_bundle_head h;
        struct rdn_arena a;
        redan_error e = { 0 };
        uint32_t nfiles = 0;
        size_t n = b.n;
        char *bytes = i ? damaged(b.p, b.n, &n) : memcpy(malloc(b.n), b.p, b.n);
        rdn_arena_init(&a, &rdn_libc_mem);
        int rc = rdn_bundle_read(&a, bytes, n, &h, out, &nfiles, &e);
        assert_true(i || rc == 0);
        kept += rc == 0;
        for (uint32_t k = 0; rc == 0 && k < nfiles; k++)
            assert_true(out[k].p >= bytes && out[k].p + out[k].n <= bytes + n);
        rdn_arena_fini(&a);
        free(bytes);
    }
    assert_true(kept >= 1 && kept < 400);                /* bytes of the files cannot change unseen; spare room in the head can */
    rdn_buf_fini(&b);
}

/* A head of megabytes of tiny nodes costs nothing: it is refused by its size. */
static void test_long_head(void **state) {
    struct rdn_bundle_file out[RDN_BUNDLE_FILES];
    struct rdn_bundle_head h;
    struct rdn_arena a;
    redan_error e = { 0 };
    uint32_t n = 1 << 20, nfiles;
    char *p = malloc(n + 12);
    (void)state;
    assert_non_null(p);
    memcpy(p, RDN_BUNDLE_MAGIC, 8);
    memcpy(p + 8, &n, 4);
    for (uint32_t i = 0; i < n; i++)
        p[12 + i] = i & 1 ? ',' : '1';
    p[12] = '[', p[n + 11] = ']';
    rdn_arena_init(&a, &rdn_libc_mem);
    assert_true(rdn_bundle_read(&a, p, n + 12, &h, out, &nfiles, &e) < 0);
    assert_non_null(strstr(e.text, "1024 KiB, at most 64"));
    rdn_arena_fini(&a);
    free(p);
}

static const char *const sides[] = { "buy", "sell" };
static const struct rdn_wire_field fields[] = { { "qty", { .kind = RDN_WIRE_INT }, 16, -1 }, { "note", { .kind = RDN_WIRE_TEXT, .size = 8 }, 24, 0 } };
static const struct { struct rdn_wire_type t; const char *text; bool good; } cells[] = {
    { { .kind = RDN_WIRE_BOOL }, "true", true }, { { .kind = RDN_WIRE_BOOL }, "1", false }, { { .kind = RDN_WIRE_INT }, "-5", true }, { { .kind = RDN_WIRE_INT }, "5.0", false },
    { { .kind = RDN_WIRE_FLOAT }, "1e3", true }, { { .kind = RDN_WIRE_FLOAT }, "1e999", false }, { { .kind = RDN_WIRE_DEC, .scale = 2 }, "1.25", true },
    { { .kind = RDN_WIRE_DEC, .scale = 2 }, "1.255", false }, { { .kind = RDN_WIRE_DEC, .scale = 2 }, "99999999999999999999", false },
    { { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, "sell", true }, { { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, "hold", false },
    { { .kind = RDN_WIRE_TEXT, .size = 3 }, "abc", true }, { { .kind = RDN_WIRE_TEXT, .size = 3 }, "abcd", false }, { { .kind = RDN_WIRE_TEXT, .size = 3 }, "\xff", false },
    { { .kind = RDN_WIRE_DATE }, "2026-03-03", true }, { { .kind = RDN_WIRE_DATE }, "2026-13-03", false }, { { .kind = RDN_WIRE_TIME }, "2026-03-03T15:00:00Z", true },
    { { .kind = RDN_WIRE_FARR, .rows = 2, .cols = 2 }, "[[1,2],[3,4]]", true }, { { .kind = RDN_WIRE_FARR, .rows = 2, .cols = 2 }, "[1,2,3]", false },
    { { .kind = RDN_WIRE_FARR, .rows = 2, .cols = 1 }, "[1,2,3]", false }, { { .kind = RDN_WIRE_IARR, .rows = 2, .cols = 1 }, "[1,2.5]", false },
    { { .kind = RDN_WIRE_EVENT, .event = "E", .size = 32, .fields = fields, .nfields = 2 }, "{\"qty\": 5}", true },
    { { .kind = RDN_WIRE_EVENT, .event = "E", .size = 32, .fields = fields, .nfields = 2 }, "{\"note\": \"x\"}", false },
    { { .kind = RDN_WIRE_EVENT, .event = "E", .size = 32, .fields = fields, .nfields = 2 }, "{\"qty\": 5, \"note\": \"too long for it\"}", false },
};

static void test_cells(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct rdn_arena a;
        struct rdn_wire_value v;
        rdn_arena_init(&a, &rdn_libc_mem);
        if (rdn_wire_read(&a, &cells[i].t, cells[i].text, strlen(cells[i].text), &v) != cells[i].good)
            fail_msg("'%s' as kind %u", cells[i].text, cells[i].t.kind);
        rdn_arena_fini(&a);
    }
}

static void test_damaged_rows(void **state) {
    static const char csv[] = "# rows\nfunction,qty,o,answer,tolerance\nf,5,\"{\"\"qty\"\": 7}\",1.5,1e-9\nf,-5,\"{\"\"qty\"\": 7, \"\"note\"\": \"\"x\"\"}\",undefined,\n";
    const struct rdn_wire_param params[] = { { "qty", { .kind = RDN_WIRE_INT } }, { "o", { .kind = RDN_WIRE_EVENT, .event = "E", .size = 32, .fields = fields, .nfields = 2 } } };
    const struct rdn_wfunc f = { .name = "f", .params = params, .ncols = 2, .max_rows = 16, .ret = { .kind = RDN_WIRE_FLOAT }, .ret_width = 8 };
    uint32_t kept = 0;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        struct rdn_arena a;
        struct rdn_golden *rows = NULL;
        redan_error e = { 0 };
        uint32_t nrows = 0;
        size_t n = sizeof csv - 1;
        char *text = i ? damaged(csv, n, &n) : memcpy(malloc(n), csv, n);
        rdn_arena_init(&a, &rdn_libc_mem);
        int rc = rdn_rows_read(&a, &f, 1, "rows.csv", text, n, &rows, &nrows, &e);
        assert_true(i || (rc == 0 && nrows == 2 && rows[1].undefined && rows[0].want.f == 1.5));
        assert_true(rc == 0 || strcmp(e.id, "R4208") == 0);
        kept += rc == 0;
        rdn_arena_fini(&a);
        free(text);
    }
    assert_true(kept > 100 && kept < 3900);
}

static const struct { const char *host, *plugin, *how; } layouts[] = {
    { "E;ts:time;a:int;b:bool;", "E;ts:time;a:int;b:bool;", NULL },
    { "E;ts:time;a:int;b:bool;c:int;", "E;ts:time;a:int;b:bool;", NULL },            /* appended */
    { "E;ts:time;a:int;b:bool;", "E;ts:time;b:bool;a:int;", "field b: host bool@16, plugin bool@8; size 24, 24" },
    { "E;ts:time;a:sym;", "E;ts:time;a:int;", "field a: host sym@8, plugin int@8; size 16, 16" },
    { "E;ts:time;a:int;", "E;ts:time;a:int;z:int;", "field z: host has no such field, plugin int@16; size 16, 24" },
    { "E;ts:time;a:int?;", "E;ts:time;a:int;", "field a: host int?@16, plugin int@8; size 24, 16" },
    { "E;ts:time;a:float[2,3];b:str(5);", "E;ts:time;a:float[2,2];b:str(5);", "field a: host float[2,3]@8, plugin float[2,2]@8; size 64, 48" },
    { "E;ts:time;a:dec(2);", "E;ts:time;a:dec(4);", "field a: host dec(2)@8, plugin dec(4)@8; size 16, 16" },
};

static void test_layouts(void **state) {
    char how[300];
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        bool differs = rdn_layout_differs(layouts[i].host, layouts[i].plugin, how, sizeof how);
        if (differs != !!layouts[i].how || (differs && strcmp(how, layouts[i].how) != 0))
            fail_msg("%s against %s: %s", layouts[i].host, layouts[i].plugin, differs ? how : "no difference");
    }
}

/* ---- packs on disk ---- */
static char dir[] = "/tmp/redan-pack-XXXXXX";

static void put_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_folder(void **state) {
    (void)state;
    assert_non_null(mkdtemp(dir));
    put_file("plugin.yaml", "schema: 1\nplugin: {id: org.example.f, version: 1.0.0, kind: python, entry: f.py}\nfunctions:\n  f: {signature: \"(x: int) -> int\"}\n"
                            "data: {risk: risk.bin}\nselftest: {rows: t/rows.csv}\n");
    put_file("f.py", "def f(x): return x\n");
    static char big[40000];                             /* does not fit into what the arena has left: reading it allocates */
    memset(big, '1', sizeof big - 1);
    put_file("risk.bin", big);
    char path[128];
    snprintf(path, sizeof path, "%s/t", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    put_file("t/rows.csv", "function,x,answer\nf,1,1\n");
    return 0;
}

static int drop_folder(void **state) {
    (void)state;
    static const char *const names[] = { "plugin.yaml", "f.py", "risk.bin", "t/rows.csv", "real/rows.csv", "t", "real", "f.rdb" };
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (remove(path) < 0)
            rmdir(path);
    }
    return rmdir(dir);
}

static int open_pack(redan_error *e) {
    struct rdn_pack k;
    int rc = rdn_pack_open(&rdn_libc_mem, dir, &k, NULL, e);
    rdn_pack_close(&k);
    return rc;
}

/* A file of a plugin is a file in its folder: neither it nor a folder on the way to it may be a link to somewhere else. */
static void test_linked_folders(void **state) {
    char from[128], to[128];
    redan_error e = { 0 };
    (void)state;
    assert_int_equal(open_pack(&e), 0);
    snprintf(from, sizeof from, "%s/t", dir);
    snprintf(to, sizeof to, "%s/real", dir);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(symlink(to, from), 0);
    assert_true(open_pack(&e) < 0);
    assert_string_equal(e.id, "R4201");
    assert_int_equal(unlink(from), 0);
    assert_int_equal(rename(to, from), 0);
    snprintf(to, sizeof to, "%s/t/rows.csv", dir);
    snprintf(from, sizeof from, "%s/real", dir);
    assert_int_equal(rename(to, from), 0);
    assert_int_equal(symlink(from, to), 0);
    assert_true(open_pack(&e) < 0);
    assert_int_equal(unlink(to), 0);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(open_pack(&e), 0);
}

static int descriptors(void) {
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* Every allocation fails once, for a folder and for a bundle: the answer is NOMEM, and no descriptor (nor, under ASan, byte) is lost. */
static void no_memory(const char *path) {
    uint64_t failed = 0;
    int before = descriptors(), rc = -1;
    for (uint64_t nth = 1; rc < 0; nth++) {
        struct rdn_pack k;
        redan_error e = { 0 };
        rdn_fault_arm(nth);
        rc = rdn_pack_open(&rdn_libc_mem, path, &k, NULL, &e);
        rdn_fault_arm(0);
        rdn_pack_close(&k);
        failed += rc < 0;
        if (rc < 0 && e.code != REDAN_E_NOMEM && !strstr(e.text, "memory"))
            fail_msg("allocation %d: %s %s", (int)nth, e.id, e.text);
        if (descriptors() != before)
            fail_msg("allocation %d: %d descriptors before, %d after", (int)nth, before, descriptors());
    }
    printf("%s: %d allocations\n", path, (int)failed);
    assert_true(failed >= 2);
}

static void test_no_memory(void **state) {
    struct rdn_pack k;
    struct rdn_buf b;
    char path[128];
    redan_error e = { 0 };
    (void)state;
    no_memory(dir);
    assert_int_equal(rdn_pack_open(&rdn_libc_mem, dir, &k, NULL, &e), 0);
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_pack_bundle(&k, &b);
    rdn_pack_close(&k);
    snprintf(path, sizeof path, "%s/f.rdb", dir);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
    fclose(f);
    rdn_buf_fini(&b);
    no_memory(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manifest_is_read), cmocka_unit_test(test_damaged_manifests), cmocka_unit_test(test_damaged_bundles), cmocka_unit_test(test_cells),
        cmocka_unit_test(test_damaged_rows),     cmocka_unit_test(test_layouts),           cmocka_unit_test(test_long_head), cmocka_unit_test(test_linked_folders),  cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
