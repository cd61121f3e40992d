/* SPDX-License-Identifier: Apache-2.0
 * test_type.c: types are one pointer each, print as chapter 5 writes them, and know their place in a row. */
#include "tests/unit/rows.h"
#include "ir/type.h"

static const char *const side[] = {"buy", "sell"}, *const edis[] = {"sell", "buy"};

static void names_and_sizes(void **state) {
    (void)state;
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    struct rdn_types *ts = rdn_types_new(&a);
    const struct { const struct rdn_type *t; const char *name; size_t size; unsigned align, elems; } rows[] = {
        {rdn_type_simple(ts, RDN_K_BOOL), "bool", 1, 1, 1},       {rdn_type_simple(ts, RDN_K_INT), "int", 8, 8, 1},
        {rdn_type_simple(ts, RDN_K_FLOAT), "float", 8, 8, 1},     {rdn_type_simple(ts, RDN_K_TIME), "time", 8, 8, 1},
        {rdn_type_simple(ts, RDN_K_DUR), "dur", 8, 8, 1},         {rdn_type_simple(ts, RDN_K_DATE), "date", 4, 4, 1},
        {rdn_type_simple(ts, RDN_K_SYM), "sym", 4, 4, 1},         {rdn_type_simple(ts, RDN_K_TEXT), "text", 0, 1, 1},
        {rdn_type_simple(ts, RDN_K_NONE), "none", 0, 1, 1},       {rdn_type_dec(ts, 0), "dec(0)", 8, 8, 1},
        {rdn_type_dec(ts, 18), "dec(18)", 8, 8, 1},               {rdn_type_str(ts, 1), "str(1)", 1, 1, 1},
        {rdn_type_str(ts, 256), "str(256)", 256, 1, 1},           {rdn_type_enum(ts, side, 2), "enum(buy,sell)", 1, 1, 1},
        {rdn_type_arr(ts, RDN_K_FLOAT, 1, 3, 7), "float[3]", 24, 8, 3}, {rdn_type_arr(ts, RDN_K_INT, 2, 3, 2), "int[3,2]", 48, 8, 6},
        {rdn_type_event(ts, "Order", 2), "Order", 0, 1, 1},
    };
    for each (i, rows) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        rdn_type_print(&b, rows[i].t);
        check(strcmp(rdn_buf_str(&b), rows[i].name) == 0, "row %zu prints %s", i, rdn_buf_str(&b));
        check(strcmp(rdn_type_name(&a, rows[i].t), rows[i].name) == 0, "row %zu", i);
        check(rdn_type_size(rows[i].t) == rows[i].size && rdn_type_align(rows[i].t) == rows[i].align, "%s", rows[i].name);
        check(rdn_type_elems(rows[i].t) == rows[i].elems, "%s", rows[i].name);
        check(rdn_type_at(ts, rows[i].t->index) == rows[i].t && rows[i].t->index == i, "%s", rows[i].name);
        rdn_buf_fini(&b);
    }
    rdn_arena_fini(&a);
}

static void equal_types_are_one(void **state) {
    (void)state;
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    struct rdn_types *ts = rdn_types_new(&a), *other = rdn_types_new(&a);
    const char *own[] = {"buy", "sell"};
    const struct rdn_type *e = rdn_type_enum(ts, own, 2);
    own[0] = "gone";                                   /* the list was copied */
    assert_ptr_equal(rdn_type_enum(ts, side, 2), e);
    assert_ptr_not_equal(rdn_type_enum(ts, edis, 2), e);
    assert_ptr_equal(rdn_type_dec(ts, 4), rdn_type_dec(ts, 4));
    assert_ptr_not_equal(rdn_type_dec(ts, 4), rdn_type_dec(ts, 5));
    assert_ptr_not_equal(rdn_type_arr(ts, RDN_K_INT, 2, 3, 1), rdn_type_arr(ts, RDN_K_INT, 1, 3, 1));
    assert_ptr_not_equal(rdn_type_event(ts, "int", 0), rdn_type_simple(ts, RDN_K_INT));   /* an event may be called int */
    assert_ptr_not_equal(rdn_type_event(ts, "A", 0), rdn_type_event(ts, "A", 1));
    assert_true(rdn_type_same(e, rdn_type_enum(other, side, 2)));
    assert_false(rdn_type_same(e, rdn_type_enum(other, edis, 2)));
    assert_false(rdn_type_same(rdn_type_event(ts, "A", 0), rdn_type_event(other, "B", 0)));
    assert_false(rdn_type_same(rdn_type_str(ts, 4), rdn_type_str(other, 5)));
    assert_true(rdn_type_same(rdn_type_arr(ts, RDN_K_INT, 1, 3, 0), rdn_type_arr(other, RDN_K_INT, 1, 3, 9)));
    rdn_arena_fini(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_and_sizes), cmocka_unit_test(equal_types_are_one)};
    return cmocka_run_group_tests_name("type", tests, NULL, NULL);
}
