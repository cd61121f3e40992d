/* SPDX-License-Identifier: Apache-2.0
 * test_lex.c: the table of words, values of number literals, and what a diagnostic looks like. What the parser accepts is
 * compared with the model in test_parse_model.py. */
#include "tests/unit/rows.h"
#include <math.h>
#include <string.h>
#include "dsl/lex.h"

static struct rdn_arena arena;
static struct rdn_pass pass;

static void begin(const char *src) {
    rdn_arena_fini(&arena);
    rdn_arena_init(&arena, &rdn_libc_mem);
    rdn_pass_init(&pass, &arena, &arena, rdn_types_new(&arena), NULL, src, (uint32_t)strlen(src));
}

static void words_are_sorted(void **state) {
    (void)state;
    for (unsigned w = 2; w <= RDN_W_WINDOW; w++)
        if (strcmp(rdn_word_text(w - 1), rdn_word_text(w)) >= 0)
            fail_msg("tokens.def: %s must stand after %s", rdn_word_text(w - 1), rdn_word_text(w));
    for (unsigned w = 1; w < RDN_W_COUNT; w++) {         /* each is found as itself */
        struct rdn_tok t;
        begin(rdn_word_text(w));
        struct rdn_lex l = { pass.src, 0, pass.len };
        rdn_lex_next(&pass, &l, &t);
        if (t.word != w)
            fail_msg("%s is not found", rdn_word_text(w));
    }
}

static struct rdn_num number(const char *text) {
    struct rdn_tok t;
    begin(text);
    struct rdn_lex l = { pass.src, 0, pass.len };
    rdn_lex_next(&pass, &l, &t);
    assert_int_equal(t.kind, RDN_TOK_NUM);
    return rdn_lex_num(&pass, text, &t);
}

static const struct { const char *text; const char *digits; int sc; bool frac; unsigned decimals; double f; } numbers[] = {
    { "0", "", 0, false, 0, 0 },
    { "000.000", "", 0, true, 0, 0 },
    { "1_000", "1", -3, false, 0, 1000 },
    { "0x1_f", "31", 0, false, 0, 31 },
    { "0xA0", "16", -1, false, 0, 160 },
    { "12.50%", "125", 3, true, 3, 0.125 },
    { "5bps", "5", 4, true, 4, 0.0005 },
    { "00.0120", "12", 3, true, 3, 0.012 },
    { "9007199254740993", "9007199254740993", 0, false, 0, 9007199254740992.0 },            /* a tie: to even */
    { "9007199254740993.00000000000000000000000001", "900719925474099300000000000000000000000001", 26, true, 26, 9007199254740994.0 },
    { "2.2250738585072011e-308", "22250738585072011", 324, true, 324, 2.2250738585072011e-308 },   /* below the normal range */
    { "4.9e-324", "49", 325, true, 325, 4.9406564584124654e-324 },
    { "2.4e-324", "24", 325, true, 325, 0 },
    { "1.7976931348623157e308", "17976931348623157", -292, true, 0, 1.7976931348623157e308 },
    { "1.7976931348623159e308", "17976931348623159", -292, true, 0, INFINITY },
    { "1e400", "1", -400, true, 0, INFINITY },
};

static void numbers_are_exact(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct rdn_num n = number(numbers[i].text);
        bool same = n.ndigits == strlen(numbers[i].digits) && memcmp(n.digits, numbers[i].digits, n.ndigits) == 0;
        if (!same || n.sc != numbers[i].sc || n.frac != numbers[i].frac || rdn_num_decimals(&n) != numbers[i].decimals)
            fail_msg("%s: %.*s %d %d", numbers[i].text, (int)n.ndigits, n.digits, n.sc, n.frac);
        if (rdn_num_f64(&n, false) != numbers[i].f || rdn_num_f64(&n, true) != -numbers[i].f || !signbit(rdn_num_f64(&n, true)))
            fail_msg("%s: as double %.17g", numbers[i].text, rdn_num_f64(&n, false));
    }
}

#define MAX RDN_I128_MAX
static const struct { const char *text; bool neg; unsigned scale; bool ok; rdn_i128 want; } fits[] = {
    { "0", true, 18, true, 0 },
    { "1.50", false, 1, true, 15 },
    { "1.55", false, 1, false, 0 },                      /* one decimal more */
    { "1.5", true, 4, true, -15000 },
    { "1e3", false, 2, true, 100000 },
    { "1e-3", false, 2, false, 0 },
    { "170141183460469231731687303715884105727", false, 0, true, MAX },
    { "170141183460469231731687303715884105728", false, 0, false, 0 },
    { "170141183460469231731687303715884105728", true, 0, true, -MAX - 1 },
    { "170141183460469231731687303715884105729", true, 0, false, 0 },
    { "17014118346046923173168730371588410572.7", false, 1, true, MAX },
    { "1e400", false, 0, false, 0 },
    { "1e38", false, 0, true, (rdn_i128)10000000000000000000u * 10000000000000000000u },
    { "2e38", false, 0, false, 0 },
};

static void numbers_fit_128_bits(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        struct rdn_num n = number(fits[i].text);
        rdn_i128 v = 77;
        bool ok = rdn_num_i128(&n, fits[i].neg, fits[i].scale, &v);
        if (ok != fits[i].ok || (ok ? v != fits[i].want : v != 77))
            fail_msg("row %zu: %s at scale %u", i, fits[i].text, fits[i].scale);
    }
}

static const struct { const char *src; struct rdn_span span; const char *text, *hint, *want; } prints[] = {
    { "let a on E = b\n", { 4, 5 }, "what", NULL, "f:1:5: error E0401: what\n     1 | let a on E = b\n       |     ^\n" },
    { "x\n\tlet aa\r\n", { 7, 9 }, "tab", "try", "f:2:6: error E0401: tab\n     2 |         let aa\n       |             ^^\n       = try\n" },
    { "\"é€\" bad", { 8, 11 }, "wide", NULL, "f:1:9: error E0401: wide\n     1 | \"é€\" bad\n       |      ^^^\n" },
    { "a", { 1, 1 }, "end", NULL, "f:1:2: error E0401: end\n     1 | a\n       |  ^\n" },
    { "a\n\n", { 3, 3 }, "last", NULL, "f:3:1: error E0401: last\n     3 | \n       | ^\n" },
    { "ab\ncd", { 1, 5 }, "two lines", NULL, "f:1:2: error E0401: two lines\n     1 | ab\n       |  ^\n" },
    { "\x1b[31m \xff", { 6, 7 }, "a\n\x1b", NULL, "f:1:7: error E0401: a??\n     1 | ?[31m ?\n       |       ^\n" },   /* nothing reaches a terminal raw */
};

static void diagnostics_print(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        struct rdn_dsl_diag d = { .code = "E0401", .span = prints[i].span, .text = prints[i].text, .hint = prints[i].hint };
        struct rdn_buf b;
        begin(prints[i].src);
        rdn_linecol(&pass, d.span.a, &d.line, &d.col);
        rdn_buf_init(&b, &rdn_libc_mem);
        rdn_dsl_print_diag(&b, "f", pass.src, pass.len, &d, false);
        if (strcmp(rdn_buf_str(&b), prints[i].want) != 0)
            fail_msg("row %zu:\n%s", i, rdn_buf_str(&b));
        rdn_buf_fini(&b);
    }
}

static void long_lines_are_cut(void **state) {
    (void)state;
    static char src[5001];
    memset(src, 'x', 5000);
    struct rdn_dsl_diag d = { .code = "E0103", .span = { 3000, 3001 }, .text = "here", .line = 1, .col = 3001 };
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_dsl_print_diag(&b, "f", src, 5000, &d, false);
    assert_true(b.n < 1000);
    const char *line = strstr(rdn_buf_str(&b), "| ...x"), *caret = strchr(rdn_buf_str(&b), '^');
    assert_non_null(line);
    assert_non_null(caret);
    while (caret[-1] != '|')
        caret--;
    assert_int_equal(strspn(caret, " "), 1 + 3 + 100);   /* margin, dots, the hundred before the span */
    rdn_buf_fini(&b);
}

static void codes_have_texts(void **state) {
    (void)state;
    assert_string_equal(rdn_dsl_code_text("E0112"), "malformed {…} in a message");
    assert_string_equal(rdn_dsl_code_text("W0907"), "duplicate list element");
    assert_null(rdn_dsl_code_text("E0000"));
    assert_null(rdn_dsl_code_text(""));
}

static void lines_are_found(void **state) {
    (void)state;
    uint32_t line, col;
    begin("a\nbb\n\nc");
    static const struct { uint32_t off, line, col; } rows[] = { { 0, 1, 1 }, { 1, 1, 2 }, { 2, 2, 1 }, { 4, 2, 3 }, { 5, 3, 1 }, { 6, 4, 1 }, { 7, 4, 2 }, { 99, 4, 2 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rdn_linecol(&pass, rows[i].off, &line, &col);
        if (line != rows[i].line || col != rows[i].col)
            fail_msg("offset %u: %u:%u", rows[i].off, line, col);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_sorted), cmocka_unit_test(numbers_are_exact), cmocka_unit_test(numbers_fit_128_bits),
        cmocka_unit_test(diagnostics_print), cmocka_unit_test(long_lines_are_cut), cmocka_unit_test(codes_have_texts),
        cmocka_unit_test(lines_are_found),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    rdn_arena_fini(&arena);
    return rc;
}
