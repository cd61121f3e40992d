/* SPDX-License-Identifier: Apache-2.0
 * test_answers.c: what the host takes out of an answer page: tables of good and bad pages, and random ones. No worker runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include "base/hash.h"
#include "base/text.h"
#include "plugins/parts.h"

enum { ROWS = 4, PAGE = RDN_RES_VALUES + 8192 };
static union { struct rdn_res r; uint8_t bytes[PAGE]; } page;
static uint8_t copy[257 * ROWS];
static char text[ROWS][260];
static struct rdn_plugin plugin;
static struct rdn_wfunc function;
static struct rdn_wlane lane = { .plugin = &plugin, .fn = &function, .copy = copy, .text = text };
static const char *const sides[] = { "buy", "sell" };

static void answer_type(struct rdn_wire_type t) {
    function.ret = t;
    function.ret_width = rdn_wire_width(&t);
    function.max_rows = ROWS;
    snprintf(plugin.file, sizeof plugin.file, "score.py");
    snprintf(plugin.name, sizeof plugin.name, "f");
}

static const struct {
    const char *note;
    struct rdn_wire_type type;
    uint32_t status, nrows;
    uint8_t row, value[16];
    enum rdn_outcome out;
} pages[] = {
    { "bool 1", { .kind = RDN_WIRE_BOOL }, 0, 1, 0, { 1 }, RDN_OUT_VALUE },
    { "bool 2", { .kind = RDN_WIRE_BOOL }, 0, 1, 0, { 2 }, RDN_OUT_BAD_VALUE },
    { "enum last", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, 0, 1, 0, { 1 }, RDN_OUT_VALUE },
    { "enum past the end", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, 0, 1, 0, { 2 }, RDN_OUT_BAD_VALUE },
    { "nan", { .kind = RDN_WIRE_FLOAT }, 0, 1, 0, { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f }, RDN_OUT_UNDEFINED },
    { "inf", { .kind = RDN_WIRE_FLOAT }, 0, 1, 0, { 0, 0, 0, 0, 0, 0, 0xf0, 0x7f }, RDN_OUT_BAD_VALUE },
    { "text", { .kind = RDN_WIRE_TEXT, .size = 4 }, 0, 1, 0, { 'a', 'b' }, RDN_OUT_VALUE },
    { "text of full width", { .kind = RDN_WIRE_TEXT, .size = 4 }, 0, 1, 0, { 'a', 'b', 'c', 'd' }, RDN_OUT_VALUE },
    { "bytes behind the end", { .kind = RDN_WIRE_TEXT, .size = 4 }, 0, 1, 0, { 'a', 0, 'b' }, RDN_OUT_BAD_VALUE },
    { "no UTF-8", { .kind = RDN_WIRE_TEXT, .size = 4 }, 0, 1, 0, { 0xc3, 0x28 }, RDN_OUT_BAD_VALUE },
    { "surrogate", { .kind = RDN_WIRE_TEXT, .size = 4 }, 0, 1, 0, { 0xed, 0xa0, 0x80 }, RDN_OUT_BAD_VALUE },
    { "row undefined", { .kind = RDN_WIRE_INT }, 0, 1, 1, { 0 }, RDN_OUT_UNDEFINED },
    { "row exception", { .kind = RDN_WIRE_INT }, 0, 1, 2, { 0 }, RDN_OUT_EXCEPTION },
    { "row bad", { .kind = RDN_WIRE_INT }, 0, 1, 3, { 0 }, RDN_OUT_BAD_VALUE },
    { "row status unknown", { .kind = RDN_WIRE_INT }, 0, 1, 4, { 0 }, RDN_OUT_BAD_REPLY },
    { "too many rows", { .kind = RDN_WIRE_INT }, 0, 9, 0, { 0 }, RDN_OUT_BAD_REPLY },
    { "no rows", { .kind = RDN_WIRE_INT }, 0, 0, 0, { 0 }, RDN_OUT_BAD_REPLY },
    { "exception", { .kind = RDN_WIRE_INT }, 1, 1, 0, { 0 }, RDN_OUT_EXCEPTION },
    { "memory", { .kind = RDN_WIRE_INT }, 4, 7, 0, { 0 }, RDN_OUT_MEMORY },
    { "no function", { .kind = RDN_WIRE_INT }, 3, 1, 0, { 0 }, RDN_OUT_BAD_REPLY },
    { "status unknown", { .kind = RDN_WIRE_INT }, 77, 1, 0, { 0 }, RDN_OUT_BAD_REPLY },
};

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct rdn_wire_value ret = { .i = 0 };
        uint8_t out;
        memset(&page, 0, sizeof page);
        answer_type(pages[i].type);
        lane.nrows = 1;
        page.r.status = pages[i].status;
        page.r.nrows = pages[i].nrows;
        page.r.row_status[0] = pages[i].row;
        memcpy(page.r.values, pages[i].value, sizeof pages[i].value);
        enum rdn_outcome all = rdn_values_take(&lane, &page.r, &ret, &out);
        if (all != pages[i].out || out != all)
            fail_msg("%s: %s", pages[i].note, rdn_outcome_text(all));
    }
}

/* Random pages: nothing outside the lane's buffers is touched (ASan), every outcome is in range, texts are texts. */
static void random_pages(void **state) {
    (void)state;
    static const struct rdn_wire_type types[] = { { .kind = RDN_WIRE_BOOL }, { .kind = RDN_WIRE_INT }, { .kind = RDN_WIRE_FLOAT },
        { .kind = RDN_WIRE_DATE }, { .kind = RDN_WIRE_TEXT, .size = 256 }, { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 } };
    uint64_t x = 42;
    for (int round = 0; round < 2000; round++) {
        struct rdn_wire_value ret[ROWS];
        uint8_t outs[ROWS];
        struct rdn_note_body b;
        char line[640];
        for (size_t i = 0; i + 8 <= sizeof page; i += 8) {
            x = rdn_mix64(x);
            memcpy(page.bytes + i, &x, 8);
        }
        if (round % 2) {                                /* half of them get past the first checks */
            page.r.status = 0;
            page.r.nrows = ROWS;
            memset(page.r.row_status, 0, ROWS);
        }
        answer_type(types[(unsigned)round % (sizeof types / sizeof *types)]);
        lane.nrows = ROWS;
        enum rdn_outcome all = rdn_values_take(&lane, &page.r, ret, outs);
        assert_true(all < RDN_OUT_COUNT);
        for (int i = 0; i < ROWS; i++)
            if (outs[i] == RDN_OUT_VALUE && function.ret.kind == RDN_WIRE_TEXT)
                assert_true(rdn_utf8_valid(ret[i].text.p, ret[i].text.n));
        rdn_note_take(&b, &page.r, (enum rdn_outcome)(round % RDN_OUT_COUNT));
        rdn_message_line(&plugin, &b, 0, line, sizeof line);
        for (const char *c = line; *c; c++)
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}

static const struct { const char *in; size_t n; size_t cap; const char *out; } cleans[] = {
    { "plain", 5, 64, "plain" }, { "a\nb\x1b[0m", 7, 64, "a\\x0ab\\x1b[0m" }, { "\xff\xfe", 2, 64, "\\xff\\xfe" }, { "gr\xc3\xbcn", 5, 64, "gr\xc3\xbcn" },
    { "a\0b", 3, 64, "a\\x00b" }, { "abcdefgh", 8, 8, "abc" }, { "ab\xc3\xbc\xc3\xbc", 6, 8, "ab" }, { "", 0, 8, "" },
};

static void clean(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cleans / sizeof *cleans; i++) {
        char out[64];
        rdn_message_clean(out, cleans[i].cap, cleans[i].in, cleans[i].n);
        if (strcmp(out, cleans[i].out))
            fail_msg("row %zu: '%s', expected '%s'", i, out, cleans[i].out);
    }
}

static const bool moves[RDN_W_STATES][RDN_W_STATES] = {
    [RDN_W_STARTING] = { [RDN_W_READY] = true, [RDN_W_DEAD] = true },
    [RDN_W_READY] = { [RDN_W_BUSY] = true, [RDN_W_MOVING] = true, [RDN_W_DEAD] = true },
    [RDN_W_BUSY] = { [RDN_W_READY] = true, [RDN_W_LATE] = true, [RDN_W_DEAD] = true },
    [RDN_W_LATE] = { [RDN_W_READY] = true, [RDN_W_DEAD] = true },
    [RDN_W_MOVING] = { [RDN_W_READY] = true, [RDN_W_LATE] = true, [RDN_W_DEAD] = true },
};

static void transitions(void **state) {
    (void)state;
    for (unsigned from = 0; from < RDN_W_STATES; from++)
        for (unsigned to = 0; to < RDN_W_STATES; to++) {
            struct rdn_work w = { .state = from };
            if (rdn_work_move(&w, (enum rdn_wstate)from, (enum rdn_wstate)to) != moves[from][to] || w.state != (moves[from][to] ? to : from))
                fail_msg("%u -> %u", from, to);
            w.state = (from + 1) % RDN_W_STATES;        /* another state than the caller believed */
            assert_false(rdn_work_move(&w, (enum rdn_wstate)from, RDN_W_DEAD));
        }
}

static void notes(void **state) {
    (void)state;
    struct rdn_note n;
    struct rdn_note_body in, out;
    memset(&n, 0, sizeof n);
    memset(&in, 0x5a, sizeof in);
    rdn_note_write(&n.version, n.words, &in, sizeof in);
    rdn_note_read(&n.version, n.words, &out, sizeof out);
    assert_memory_equal(&in, &out, sizeof in);
    assert_int_equal(atomic_load(&n.version), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table), cmocka_unit_test(random_pages), cmocka_unit_test(clean), cmocka_unit_test(transitions), cmocka_unit_test(notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
