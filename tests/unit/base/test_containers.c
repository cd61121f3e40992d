/* SPDX-License-Identifier: Apache-2.0
 * test_containers.c: vec, map and buf. */
#include "tests/unit/rows.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

static void vec_keeps_its_elements(void **state) {
    (void)state;
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    RDN_VEC(uint64_t) v = {0};
    for (uint64_t i = 0; i < 10000; i++)
        rdn_push_val(&a, &v, i * i);
    assert_int_equal(v.n, 10000);
    for (uint64_t i = 0; i < v.n; i++)
        check(v.v[i] == i * i, "element %d", (int)i);
    assert_int_equal(*rdn_push(&a, &v), 0);
    rdn_arena_fini(&a);
}

static void map_finds_what_was_put(void **state) {
    (void)state;
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    struct rdn_map m;
    rdn_map_init(&m, &a);
    assert_int_equal(rdn_map_get(&m, "x", 1), RDN_MAP_NONE);
    assert_true(rdn_map_put(&m, "", 0, 77));           /* the empty key is a key */
    for (uint32_t i = 0; i < 5000; i++) {
        char *k = rdn_arena_printf(&a, "key-%u", i * 7);
        check(rdn_map_put(&m, k, strlen(k), i), "key %s is new", k);
    }
    assert_false(rdn_map_put(&m, "key-7", 5, 99));
    assert_int_equal(rdn_map_get(&m, "key-7", 5), 1);
    rdn_map_set(&m, "key-7", 5, 99);
    assert_int_equal(rdn_map_get(&m, "key-7", 5), 99);
    for (uint32_t i = 0; i < 5000 * 7; i++) {
        char k[32];
        int n = snprintf(k, sizeof k, "key-%u", i);
        uint32_t want = i % 7 ? RDN_MAP_NONE : i == 7 ? 99 : i / 7;
        check(rdn_map_get(&m, k, (size_t)n) == want, "key %s", k);
    }
    assert_int_equal(rdn_map_get(&m, "", 0), 77);
    assert_int_equal(rdn_map_get(&m, "key-77", 5), 99);   /* only five bytes of it */
    assert_int_equal(m.n, 5001);
    rdn_arena_fini(&a);
}

static void buf_grows_and_quotes(void **state) {
    (void)state;
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    assert_string_equal(rdn_buf_str(&b), "");
    for (int i = 0; i < 1000; i++)
        rdn_buf_printf(&b, "%d,", i);
    assert_int_equal(b.n, 3890);
    assert_memory_equal(rdn_buf_str(&b) + 3882, "998,999,", 9);
    rdn_buf_fini(&b);
    rdn_buf_printf(&b, "%0300d", 7);
    assert_int_equal(b.n, 300);
    assert_int_equal(rdn_buf_str(&b)[299], '7');
    rdn_buf_fini(&b);
    static const struct { const char *in; size_t n; const char *out; } rows[] = {
        {"", 0, "\"\""},
        {"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
        {"\0\x1f\x7f\n", 4, "\"\\u0000\\u001f\x7f\\u000a\""},   /* no short forms (17.2) */
        {"\xc3\xa9", 2, "\"\xc3\xa9\""},
    };
    for each (i, rows) {
        rdn_buf_json(&b, rows[i].in, rows[i].n);
        check(strcmp(rdn_buf_str(&b), rows[i].out) == 0, "row %zu gave %s", i, rdn_buf_str(&b));
        rdn_buf_fini(&b);
    }
}

static void buf_remembers_a_failure(void **state) {
    (void)state;
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_buf_puts(&b, "begin");
    rdn_fault_arm(1);
    rdn_buf_printf(&b, "%0500d", 1);
    rdn_fault_arm(0);
    rdn_buf_puts(&b, "more");
    assert_true(b.failed);
    assert_string_equal(rdn_buf_str(&b), "begin");
    rdn_buf_fini(&b);
}

static void hashes_are_the_published_ones(void **state) {
    (void)state;
    static const struct { const char *text; uint64_t h64; uint32_t h32; } rows[] = {   /* the FNV authors' vectors */
        {"", 0xcbf29ce484222325, 0x811c9dc5},
        {"a", 0xaf63dc4c8601ec8c, 0xe40c292c},
        {"foobar", 0x85944171f73967e8, 0xbf9cf968},
    };
    for each (i, rows) {
        size_t n = strlen(rows[i].text);
        check(rdn_fnv64(rows[i].text, n) == rows[i].h64 && rdn_fnv32(rows[i].text, n) == rows[i].h32, "row %zu", i);
    }
    assert_true(rdn_mix64(0) == 0xe220a8397b1dcdafu);  /* SplitMix64, first output of seed 0 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vec_keeps_its_elements), cmocka_unit_test(map_finds_what_was_put),
        cmocka_unit_test(buf_grows_and_quotes),   cmocka_unit_test(buf_remembers_a_failure),
        cmocka_unit_test(hashes_are_the_published_ones),
    };
    return cmocka_run_group_tests_name("containers", tests, NULL, NULL);
}
