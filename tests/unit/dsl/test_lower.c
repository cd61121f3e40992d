/* SPDX-License-Identifier: Apache-2.0
 * What conditions become: operations, conversions, what is shared, what explain sees, and where causes stand. */
#include "tests/unit/rows.h"
#include "dsl/dsl.h"
#include <stdlib.h>

static const char head[] = "ruleset t version 1 undefined skip partition by a\n"
    "event E { a: sym  n: int?  px: dec(2)  f: float  s: str(4)  k: enum(buy, sell)  m: float[2,3]  at: time }\n"
    "event R { a: sym  s: str(4)  q: dec(4) }\n"
    "param p: int = 3 in 1..9\n"
    "list l: sym = [\"X\", \"Y\"]\n"
    "table t by a: sym, n: int { c: dec(4) } = { default: 1.5 }\n"
    "calendar c tz \"UTC\" { mon..fri 09:00..17:00 }\n"
    "window w = sum(px) over 1s by a, px * 1 on E where n > 0\n"
    "window v = sum(q) by a on R\n"
    "fn near(x: dec(4), y: int) -> bool = x > y and x != 1.5\n"
    "fn twice(x: float) -> float = x + x\n"
    "let q on E = px * n\n"
    "let same on E = q\n"
    "plugin g(o: E, x: float) -> float deadline 1ms default 0.5\n";

/* `!`: explain prints it; `*`: evaluated once an event; `:2`: decimals of a dec. */
static const struct { const char *when, *want; } rows[] = {
    { "n > 1", "(gt !field.n 1)" },
    { "px > 1", "(gt !field.px:2 1.00:2)" },                                        /* the literal takes the type beside it */
    { "px > n", "(gt !field.px:2 !field.n)" },                                      /* mixed scales compare exactly */
    { "px + n * 2 > 1.5", "(gt (add:2 !field.px:2 (mul !field.n 2)) 1.50:2)" },
    { "px / 3 > 1.0", "(gt (ratio !field.px:2 3) 1)" },
    { "-3 < n", "(lt -3 !field.n)" },
    { "a == \"X\"", "(eq !field.a X)" },                                            /* symbols by id */
    { "a == s", "(eq (symtext !field.a) !field.s)" },                               /* else by bytes */
    { "s == \"X\"", "(eq !field.s X)" },
    { "k == \"sell\"", "(eq !field.k sell)" },
    { "text(k) == \"sell\"", "(eq !(totext !field.k) sell)" },
    { "a in [\"X\", \"Y\"]", "(inset !field.a X Y)" },
    { "a in [\"X\", s]", "(inset (symtext !field.a) X !field.s)" },
    { "a in l", "(inlist.0 !field.a)" },
    { "s in l", "(inlist.0 (symfind !field.s))" },
    { "at in c", "(incal.0 !field.at)" },
    { "n in 1..p", "(inline !field.n 1 !param.p (and (le 1 !field.n) (le !field.n !param.p)))" },
    { "n + 1 in 1..3", "(inline *(add !field.n 1) 1 3 (and (le 1 (use *(add !field.n 1))) (le (use *(add !field.n 1)) 3)))" },
    { "q > 1.0", "(gt !(use *(mul:2 field.px:2 field.n)) 1.00:2)" },                /* not entered by explain */
    { "same > q", "(gt !(use (use *(mul:2 field.px:2 field.n))) !(use *(mul:2 field.px:2 field.n)))" },
    { "near(px, 3)", "!(inline *!(rescale:4 field.px:2) 3 (and (gt (use *!(rescale:4 field.px:2)) 3) (ne (use *!(rescale:4 field.px:2)) 1.5000:4)))" },
    { "twice(f) > 1", "(gt !(inline !field.f (add !field.f !field.f)) 1)" },
    { "w > 1", "(gt !(wread:2.0 field.a (narrow:2 (mul:2 field.px:2 1))) 1.00:2)" },
    { "w[a, px] > 1", "(gt !(wread:2.0 !field.a !field.px:2) 1.00:2)" },
    { "v > 1", "(gt !(wread:4.1 field.a) 1.0000:4)" },                              /* the key's name is not in the text */
    { "prev(w) > 1", "(gt !(inline:2 (wprev:2.0 field.a (narrow:2 (mul:2 field.px:2 1)))) 1.00:2)" },
    { "cross_up(w, 3)", "!(inline *!(wread:2.0 field.a (narrow:2 (mul:2 field.px:2 1))) 3.00:2 (and (le (wprev:2.0 field.a (narrow:2 (mul:2 field.px:2 1))) 3.00:2) "
                        "(gt (use *!(wread:2.0 field.a (narrow:2 (mul:2 field.px:2 1)))) 3.00:2)))" },
    { "t[s, n].c > 1", "(gt !(tread:4.0.0 (symfind !field.s) !field.n) 1.0000:4)" },
    { "m[1, n] > 0", "(gt !(elem !field.m 1 !field.n) 0)" },
    { "m[n, n] > 0", "(gt !(elem !field.m !field.n (sel (and (ge !field.n 0) (lt !field.n 2)) !field.n 0)) 0)" },  /* a row out of range counts first */
    { "g(E, f) > 1", "(gt !(call.0 evrow !field.f) 1)" },
    { "int(n) > 2", "(gt !(inline !field.n !field.n) 2)" },                         /* no operation, but a call in the text */
    { "int(f) == int(s)", "(eq !(f2i !field.f) !(str2i !field.s))" },
    { "dec(f, 3) == round(px, 1)", "(eq !(f2d:3 !field.f) !(rescale:1 !field.px:2))" },
    { "min(px, 1.5, q) > 1", "(gt !(min:2 !field.px:2 1.50:2 !(use *(mul:2 field.px:2 field.n))) 1.00:2)" },
    { "(n ?? 0) > 1 or not defined(n)", "(or (gt (coalesce !field.n 0) 1) (not !(defined !field.n)))" },
    { "(if n > 1 then a else \"Z\") == \"X\"", "(eq (sel (gt !field.n 1) !field.a Z) X)" },
    { "hour(at, \"Europe/Paris\") > 8", "(gt !(hour.1 !field.at) 8)" },
    { "hours(at - at) > 8", "(gt !(div (sub !field.at !field.at) 3600000000000) 8)" },
    { "bucket(a, 100) < 5", "(lt !(bucket.100 !field.a) 5)" },
    { "lower(s) + \"x\" == s + a", "(eq (concat !(lower !field.s) x) (concat !field.s (symtext !field.a)))" },
    { "score > 3 and now > ts", "(and (gt !score 3) (gt !now !ts))" },
};

static void render(struct rdn_buf *b, const struct rdn_ir *ir, rdn_id id) {
    const struct rdn_node *n = &ir->nodes.v[id];
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *args = rdn_node_args(ir, n, buf, &k);
    rdn_buf_printf(b, "%s%s", n->flags & RDN_NODE_SHARED ? "*" : "", n->flags & RDN_NODE_TRACE ? "!" : "");
    bool dec = n->type == RDN_TY_D64 || n->type == RDN_TY_W128;
    if (n->op == RDN_OP_CONST)
        rdn_value_text(b, ir->syms, rdn_ir_ltype(ir, id), &ir->consts.v[n->aux].val);
    else if (n->op == RDN_OP_FIELD)
        rdn_buf_printf(b, "field.%s", ir->events[0].fields[n->aux].name);
    else
        rdn_buf_printf(b, "%s%s", k ? "(" : "", rdn_op_text(n->op));
    if (dec && n->op != RDN_OP_USE)
        rdn_buf_printf(b, ":%u", n->scale);
    if (n->op == RDN_OP_PARAM)
        rdn_buf_printf(b, ".%s", ir->params[n->aux].name);
    else if (n->op >= RDN_OP_WREAD && n->op <= RDN_OP_INCAL && n->op != RDN_OP_EVROW)
        rdn_buf_printf(b, n->op == RDN_OP_TREAD ? ".%u.%u" : ".%u", n->aux, n->c);
    else if (n->op == RDN_OP_BUCKET || (n->op >= RDN_OP_HOUR && n->op <= RDN_OP_DATE))
        rdn_buf_printf(b, ".%u", n->aux);
    for (uint32_t i = 0; i < k; i++) {
        rdn_buf_putc(b, ' ');
        render(b, ir, args[i]);
    }
    if (k)
        rdn_buf_putc(b, ')');
}

struct compiled { struct rdn_arena arena; struct rdn_syms *syms; struct rdn_dsl_result r; char *text; };

static void compile(struct compiled *c, const char *tail) {
    redan_error e = { 0 };
    size_t n = strlen(head) + strlen(tail);
    c->text = malloc(n + 1);
    snprintf(c->text, n + 1, "%s%s", head, tail);
    rdn_arena_init(&c->arena, &rdn_libc_mem);
    assert_int_equal(rdn_syms_open(&c->syms, &rdn_libc_mem, 1000), 0);
    int rc = rdn_dsl_compile(&c->arena, c->syms, c->text, n, NULL, &c->r, &e);
    check(rc == 0 && c->r.ir, "%s: %s %s at %u:%u", tail, e.id, e.text, e.line, e.column);
    check(rdn_ir_verify(c->r.ir, &e) == 0, "%s: %s", tail, e.text);
}

static void done(struct compiled *c) {
    free(c->text);
    rdn_syms_close(c->syms);
    rdn_arena_fini(&c->arena);
}

static void test_conditions(void **state) {
    (void)state;
    for each(i, rows) {
        struct compiled c;
        struct rdn_buf b;
        char rule[400];
        snprintf(rule, sizeof rule, "rule r on E { when %s reject X }\n", rows[i].when);
        compile(&c, rule);
        rdn_buf_init(&b, &rdn_libc_mem);
        render(&b, c.r.ir, c.r.ir->rules[0].when);
        check(!strcmp(rdn_buf_str(&b), rows[i].want), "%s\n  is   %s\n  want %s", rows[i].when, rdn_buf_str(&b), rows[i].want);
        rdn_buf_fini(&b);
        done(&c);
    }
}

/* A use on the window's own event names the nodes of the declaration: one key. */
static void test_own_key(void **state) {
    (void)state;
    struct compiled c;
    compile(&c, "rule r on E { when w > 1 reject X }\n");
    const struct rdn_ir *ir = c.r.ir;
    const struct rdn_node *read = &ir->nodes.v[ir->nodes.v[ir->rules[0].when].a];
    assert_int_equal(read->op, RDN_OP_WREAD);
    assert_int_equal(read->b, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(ir->args.v[read->a + i], ir->windows[0].keys[i]);
    done(&c);
}

/* prev(w) is undefined at the window's name, a fn argument where it stands, a let where its body stands. */
static void test_places(void **state) {
    (void)state;
    static const struct { const char *when, *op, *at; } spans[] = {
        { "prev(w) > 1", "wprev", "w" }, { "px * n > 1.0", "mul", "px * n" }, { "(n + 1) * 2 > 4", "add", "(n + 1)" },
        { "m[n, 0] > 1", "elem", "m[n, 0]" }, { "a not in [\"X\"]", "inset", "a not in [\"X\"]" } };
    for each(i, spans) {
        struct compiled c;
        char rule[200];
        snprintf(rule, sizeof rule, "rule r on E { when %s reject X }\n", spans[i].when);
        compile(&c, rule);
        bool found = false;
        const char *at = strstr(c.text, "when ");
        for (rdn_id id = 1; id < c.r.ir->nodes.n; id++) {
            const struct rdn_span s = c.r.ir->spans.v[c.r.ir->nodes.v[id].span];
            found |= !strcmp(rdn_op_text(c.r.ir->nodes.v[id].op), spans[i].op) && c.text + s.a >= at && s.b - s.a == strlen(spans[i].at) &&
                     !memcmp(c.text + s.a, spans[i].at, s.b - s.a);
        }
        check(found, "%s: no %s at '%s'", spans[i].when, spans[i].op, spans[i].at);
        done(&c);
    }
}

static void test_declarations(void **state) {
    (void)state;
    struct compiled c;
    compile(&c, "kernel mc(x: float, y: int) -> float deadline 1ms { each i < 300 let u = x * 2 let z = u + normal(y, i, 2)[0] reduce quantile(0.5, z) }\n"
                "rule a on E { when f > 1 flag LOW \"at {px} {q}\" score LOW 2 emit Out { n: n, p: px } undefined hold LATE for 1s }\n"
                "rule b on R priority 7 { when q > 1 throttle SLOW for 2s }\n"
                "rule s on E shadow { when score > 1 reject BIG }\n"
                "test \"x\" { at 2026-03-03T15:00:00Z param p = 4 mock mc = none\n"
                "  after 1s R { a: \"Q\", s: \"u\", q: 1 } => throttle SLOW, emit Out { p: 1 }, undefined a, ..\n"
                "  expect undefined(cold) v[\"Q\"] }\n");
    const struct rdn_ir *ir = c.r.ir;
    static const char *const codes[] = { "LOW", "LATE", "SLOW", "BIG" };
    assert_int_equal(ir->ncodes, 4);
    for each(i, codes)
        assert_string_equal(ir->codes[i], codes[i]);
    assert_int_equal(ir->events[0].part_field, 0);
    const struct rdn_rule *r = &ir->rules[0];
    assert_true(r->acts[0].nmsg == 4 && r->acts[0].msg[1].node && !r->acts[0].msg[2].node && r->acts[2].nfields == 2);
    assert_true(r->undef->verb == RDN_V_HOLD && r->undef->for_ns == 1000000000 && ir->rules[1].undef->verb == RDN_V_SKIP);
    assert_true(ir->rules[1].priority == 7 && ir->rules[2].shadow && ir->rules[2].late && !r->late);
    const struct rdn_call *k = &ir->calls[1];
    assert_true(k->kernel && k->paths == 300 && k->rank == 150 && k->nlets == 2 && k->first < k->lets[0] && k->lets[1] <= k->last);
    for (rdn_id id = k->first; id <= k->last; id++) {
        rdn_id buf[3];
        uint32_t n;
        const rdn_id *args = rdn_node_args(ir, &ir->nodes.v[id], buf, &n);
        for (uint32_t i = 0; i < n; i++)
            check(args[i] >= k->first && args[i] <= k->last, "n%u leaves the body", args[i]);
    }
    const struct rdn_step *s = ir->tests[0].steps;
    assert_true(s[1].kind == RDN_STEP_PARAM && s[1].val.i == 4 && s[2].none && s[2].index == 1);
    assert_true(s[3].at_ns == 1000000000 && s[3].nfields == 3 && s[3].ncodes == 1 && s[3].codes[0] == 2 && s[3].nemits == 1 && s[3].more);
    assert_true(s[3].nundef == 1 && s[3].undef[0] == 0 && s[3].emits[0].fields[0].field == 1 && s[4].cause == RDN_CAUSE_COLD);
    done(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_conditions), cmocka_unit_test(test_own_key), cmocka_unit_test(test_places),
                                        cmocka_unit_test(test_declarations) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
