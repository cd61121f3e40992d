/* SPDX-License-Identifier: Apache-2.0
 * test_compile.c: dsl.h from outside: what comes back for good text, wrong text, too much of it, and when memory ends. */
#include "tests/unit/rows.h"
#include <stdlib.h>
#include "base/fault.h"
#include "base/sym.h"
#include "dsl/dsl.h"

static struct rdn_arena arena;
static struct rdn_syms *syms;
static struct rdn_dsl_result res;
static redan_error err;

static void begin(uint32_t max_syms) {
    rdn_arena_fini(&arena);
    rdn_syms_close(syms);
    rdn_arena_init(&arena, &rdn_libc_mem);
    assert_int_equal(rdn_syms_open(&syms, &rdn_libc_mem, max_syms), 0);
    err = (redan_error){ 0 };
}
static int compile(const char *text, const struct rdn_dsl_options *opt) {
    begin(1000);
    return rdn_dsl_compile(&arena, syms, text, strlen(text), opt, &res, &err);
}

#define HEAD "ruleset t version 4\n  undefined skip\nevent E { a: int  b: sym }\n"

static void good_text(void **state) {
    (void)state;
    assert_int_equal(compile(HEAD "rule r on E { when a > 1 and b == \"x\" flag A }\n", NULL), 0);
    assert_non_null(res.ir);
    assert_int_equal(res.ndiags, 0);
    assert_string_equal(res.ir->name, "t");
    assert_int_equal(res.ir->version, 4);
    assert_int_equal(res.ir->nrules, 1);
    assert_int_equal(err.code, 0);
}

static void warnings_of_good_text(void **state) {
    (void)state;
    assert_int_equal(compile(HEAD "param p: int = 1\nrule r on E { when true flag A }\n", NULL), 0);
    assert_non_null(res.ir);
    assert_int_equal(res.ndiags, 2);
    assert_string_equal(res.diags[0].code, "W0901");
    assert_true(res.diags[0].warning);
    assert_int_equal(res.diags[0].line, 4);
    assert_int_equal(res.diags[0].col, 7);
    assert_string_equal(res.diags[1].code, "W0906");
}

static const struct { const char *text, *code; int err; uint32_t line, col, end_line, end_col; } wrong[] = {
    { "rule r on E { when a > }", "E0203", REDAN_E_SYNTAX, 1, 24, 1, 25 },
    { "let a on E = \"\xff\"", "E0101", REDAN_E_SYNTAX, 1, 15, 1, 16 },
    { HEAD "rule r on E { when a flag A }\n", "E0401", REDAN_E_TYPE, 4, 20, 4, 21 },
    { HEAD "rule r on E { when \"é\" == c flag A }\n", "E0301", REDAN_E_TYPE, 4, 28, 4, 29 },    /* columns are bytes */
};

static void wrong_text(void **state) {
    (void)state;
    for each (i, wrong) {
        check(compile(wrong[i].text, &(struct rdn_dsl_options){ .file = "x.rdn" }) == 0, "row %zu", i);
        check(!res.ir && res.ndiags == 1 && strcmp(res.diags[0].code, wrong[i].code) == 0, "row %zu: %s", i, res.ndiags ? res.diags[0].code : "none");
        const struct rdn_dsl_diag *d = &res.diags[0];
        check(d->line == wrong[i].line && d->col == wrong[i].col && d->end_line == wrong[i].end_line && d->end_col == wrong[i].end_col,
              "row %zu: %u:%u-%u:%u", i, d->line, d->col, d->end_line, d->end_col);
        check(err.code == wrong[i].err && strcmp(err.id, d->code) == 0 && err.line == d->line && err.column == d->col, "row %zu", i);
        check(strcmp(err.where, "x.rdn") == 0 && strcmp(err.text, d->text) == 0, "row %zu: %s", i, err.text);
    }
}

static void the_first_hundred(void **state) {
    (void)state;
    char *text = malloc(20000), *at = text + sprintf(text, HEAD);
    for (int i = 0; i < 150; i++)
        at += sprintf(at, "rule r%d on E { when x%d flag A }\n", i, i);
    assert_int_equal(compile(text, NULL), 0);
    assert_int_equal(res.ndiags, 100);
    assert_int_equal(res.more, 50);
    assert_int_equal(res.diags[99].line, 103);
    assert_int_equal(compile(text, &(struct rdn_dsl_options){ .any_diags = true }), 0);
    assert_int_equal(res.ndiags, 150);
    assert_int_equal(res.more, 0);
    free(text);
}

static void too_large(void **state) {
    (void)state;
    size_t n = ((size_t)8 << 20) + 1;
    char *text = malloc(n);
    memset(text, '\n', n);
    begin(10);
    assert_int_equal(rdn_dsl_compile(&arena, syms, text, n, NULL, &res, &err), 0);
    assert_null(res.ir);
    assert_string_equal(res.diags[0].code, "E0704");
    assert_int_equal(res.diags[0].line, 1);
    begin(10);
    assert_int_equal(rdn_dsl_compile(&arena, syms, text, n - 1, NULL, &res, &err), 0);
    assert_true(res.ndiags == 0 || strcmp(res.diags[0].code, "E0704") != 0);
    free(text);
}

static const char rich[] =
    HEAD "param p: int = len(lower(\"xy\")) in 1..9\nlist l: sym = [\"q\", \"r\"]\ntable t by k: sym { v: int } = { \"a\": 1 default: 2 }\n"
    "fn f(x: int) -> int = if x > p then x else p\nlet z on E = f(a) + t[b].v\nwindow w = sum(a) over 1m by b on E\n"
    "rule r on E { when z > w and b in l reject NO \"{a} {w}\" undefined flag U }\ntest \"x\" { E { a: 1, b: \"q\" } => accept .. }\n";

/* The n-th allocation fails, for every n: NOMEM or the right answer, and nothing is lost (the leak checker looks). */
static void memory_ends(void **state) {
    (void)state;
    bool done = false;
    int failures = 0;
    for (uint64_t n = 1; !done; n++) {
        begin(1000);
        rdn_fault_arm(n);
        int rc = rdn_dsl_compile(&arena, syms, rich, sizeof rich - 1, NULL, &res, &err);
        done = rdn_fault_seen() < n;
        rdn_fault_arm(0);
        check(rc == REDAN_E_NOMEM || (rc == 0 && res.ir), "allocation %llu: rc %d", (unsigned long long)n, rc);
        failures += rc != 0;
    }
    assert_true(failures > 3);
    done = false;
    for (uint64_t n = 1; !done; n++) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        rdn_fault_arm(n);
        int rc = rdn_dsl_format(rich, sizeof rich - 1, &b, &err);
        done = rdn_fault_seen() < n;
        rdn_fault_arm(0);
        check(rc == REDAN_E_NOMEM || (rc == 0 && b.n > 0), "format, allocation %llu: rc %d", (unsigned long long)n, rc);
        rdn_buf_fini(&b);
    }
}

static void symbols_full(void **state) {
    (void)state;
    begin(2);
    assert_int_equal(rdn_dsl_compile(&arena, syms, rich, sizeof rich - 1, NULL, &res, &err), REDAN_E_FULL);
    assert_int_equal(err.code, REDAN_E_FULL);
}

static const struct { const char *text; bool ok; const char *want; } types[] = {
    { "dec(4)", true, "dec(4)" },   { " enum( a,b )", true, "enum(a,b)" }, { "float[2, 3]", true, "float[2,3]" }, { "text", true, "text" },
    { "str(257)", false, NULL },    { "dec", false, NULL },                { "int int", false, NULL },            { "", false, NULL },
    { "int[0]", false, NULL },      { "\"", false, NULL },
};

/* A default that needs much more memory on the way than it is: `depth` texts of 4,000 bytes, or arrays of 1,000 floats. */
static const struct { const char *head, *open, *unit, *close, *tail; unsigned units, depth; } large[] = {
    { "param p: int = len(", "lower(", "\"", ")", ")\n", 4000, 60 },
    { "param p: float = vsum(", "", "vec(", " * 1.0", ")\n", 1000, 190 },
};

static void large_constants(void **state) {
    (void)state;
    for each (i, large) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        rdn_buf_printf(&b, HEAD "%s", large[i].head);
        for (unsigned k = 0; k < large[i].depth; k++)
            rdn_buf_puts(&b, large[i].open);
        rdn_buf_puts(&b, large[i].unit);
        for (unsigned k = 0; k < large[i].units; k++)
            rdn_buf_puts(&b, i ? &",1"[!k] : "x");
        rdn_buf_puts(&b, i ? ")" : "\"");
        for (unsigned k = 0; k < large[i].depth; k++)
            rdn_buf_puts(&b, large[i].close);
        rdn_buf_puts(&b, large[i].tail);
        check(compile(rdn_buf_str(&b), NULL) == 0, "%s: %s", large[i].head, res.ndiags ? res.diags[0].text : "");
        const struct rdn_cell *v = &res.ir->params[0].val;
        check(i ? v->f == large[i].units : v->i == large[i].units, "%s: %lld", large[i].head, (long long)v->i);
        rdn_buf_fini(&b);
    }
}

static void a_type(void **state) {
    (void)state;
    for each (i, types) {
        begin(10);
        struct rdn_types *tab = rdn_types_new(&arena);
        const struct rdn_type *t = rdn_dsl_type(&arena, tab, types[i].text, strlen(types[i].text));
        check((t != NULL) == types[i].ok, "'%s'", types[i].text);
        check(!t || strcmp(rdn_type_name(&arena, t), types[i].want) == 0, "'%s'", types[i].text);
    }
}

static const struct { const char *text; const char *code; int64_t want; } exprs[] = {
    { "1 + 2 * 3", NULL, 7 }, { "n * 2", NULL, 42 }, { "if n > 20 then 1 else 0", NULL, 1 },
    { "m", "E0301", 0 },      { "1 +", "E0203", 0 }, { "1 2", "E0201", 0 },     { "\"", "E0106", 0 },
};

static void an_expression(void **state) {
    (void)state;
    for each (i, exprs) {
        begin(10);
        struct rdn_types *tab = rdn_types_new(&arena);
        struct rdn_dsl_binding b = { "n", rdn_type_simple(tab, RDN_K_INT), { .i = 21 } };
        rdn_id root = 0;
        check(rdn_dsl_expr(&arena, syms, tab, exprs[i].text, strlen(exprs[i].text), &b, 1, &res, &root, &err) == 0, "%s", exprs[i].text);
        check(exprs[i].code ? !res.ir && res.ndiags == 1 && strcmp(res.diags[0].code, exprs[i].code) == 0 : res.ir != NULL, "%s: %s", exprs[i].text,
              res.ndiags ? res.diags[0].text : "");
        if (!res.ir)
            continue;
        char room[4096];
        struct rdn_scratch scratch = { room, sizeof room, 0 };
        struct rdn_cell v;
        rdn_fold(res.ir, root, &scratch, &v);
        check(v.cause == RDN_DEFINED && v.i == exprs[i].want, "%s: %lld", exprs[i].text, (long long)v.i);
    }
}

static const char documented[] =
    "# A page.\n#\n# Two parts.\nruleset d version 2  # not shown\n  undefined skip  # by default\n\n"
    "# what happens\nevent E {\n  a: int   # how many\n  b: int?\n}\n\n# ------------ limits\nparam p: int = 1 in 1..2  # a | b\n\n"
    "# far away\n\nrule r on E priority 3 {\n  when a > p\n    and a < 9\n  flag A \"`{a}`\"\n}\ntest \"it\" { }\n";
static const char page[] =
    "# d, version 2\n\nA page.\n\nTwo parts.\n\n- Undefined: `skip`: by default\n\n## Events\n\n### E\n\nwhat happens\n\n"
    "| field | type | |\n|---|---|---|\n| a | int | how many |\n| b | int, optional | |\n\n";
static const char rest[] =
    " an event.\n\n## Parameters\n\n| parameter | type | default | range | |\n|---|---|---|---|---|\n| p | int | `1` | `1..2` | a \\| b |\n\n## Rules\n\n### r\n\n"
    "On E, priority 3, at most ";
static const char end[] = ".\n\n```rdn\nrule r on E priority 3 {\n  when a > p\n    and a < 9\n  flag A \"`{a}`\"\n}\n```\n\n## Tests\n\n- it\n";

static void a_page(void **state) {
    (void)state;
    struct rdn_buf b;
    assert_int_equal(compile(documented, NULL), 0);
    assert_non_null(res.ir);
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_dsl_doc(&b, res.ir);
    const char *s = rdn_buf_str(&b);
    assert_non_null(s);
    check(strncmp(s, page, sizeof page - 1) == 0, "%.4000s", s ? s : "");
    check(strstr(s, rest) != NULL, "%.4000s", s ? s : "");
    check(b.n > sizeof end && strcmp(s + b.n - (sizeof end - 1), end) == 0, "%.4000s", s ? s : "");
    rdn_buf_fini(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_text), cmocka_unit_test(warnings_of_good_text), cmocka_unit_test(wrong_text), cmocka_unit_test(the_first_hundred),
        cmocka_unit_test(too_large), cmocka_unit_test(memory_ends), cmocka_unit_test(symbols_full), cmocka_unit_test(large_constants), cmocka_unit_test(a_type),
        cmocka_unit_test(an_expression), cmocka_unit_test(a_page),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    rdn_arena_fini(&arena);
    rdn_syms_close(syms);
    return rc;
}
