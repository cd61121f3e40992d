/* SPDX-License-Identifier: Apache-2.0
 * rule_sets.c: see rule_sets.h. */
#include "bench/rule_sets.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(f) offsetof(struct set_event, f)
const struct set_field set_floats[SET_FLOATS] = {
    {"price", AT(price), 10, 500},       {"qty", AT(qty), 1, 1000},          {"notional", AT(notional), 10, 5e5}, {"position", AT(position), -1e4, 1e4},
    {"cap", AT(cap), 0, 1e6},            {"pnl", AT(pnl), -1e5, 1e5},        {"vol", AT(vol), 0, 1},              {"spread", AT(spread), 0, 0.1},
    {"mid", AT(mid), 10, 500},           {"exposure", AT(exposure), 0, 1e7}, {"margin", AT(margin), 0, 1e6},      {"drawdown", AT(drawdown), 0, 0.5},
    {"rate", AT(rate), 0, 100},
};
const char *const set_names[3] = {"random", "rare", "keyed"};
static const char declaration[] =
    "event E { price: float  qty: float  notional: float  account: int  symbol: sym  side: enum(buy, sell)  position: float  cap: float  pnl: float\n"
    "  vol: float  spread: float  mid: float  exposure: float  margin: float  drawdown: float  rate: float }\n";
static const char c_declaration[] =
    "struct set_event { long long ts; double price, qty, notional; long long account; unsigned symbol; unsigned char side, pad[3];\n"
    "  double position, cap, pnl, vol, spread, mid, exposure, margin, drawdown, rate; };\n";

static uint64_t state;
static uint64_t draw(void) {                             /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}
static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }

struct set_event *set_events(uint32_t n, uint64_t seed) {
    struct set_event *v = calloc(n, sizeof *v);
    state = seed * 2 + 1;
    for (uint32_t i = 0; v && i < n; i++) {
        v[i].ts = 1000000 * (int64_t)i;
        for (int f = 0; f < SET_FLOATS; f++) {
            double x = set_floats[f].lo + (set_floats[f].hi - set_floats[f].lo) * unit();
            memcpy((char *)&v[i] + set_floats[f].offset, &x, sizeof x);
        }
        v[i].account = (int64_t)(draw() % SET_ACCOUNTS);
        v[i].symbol = (uint32_t)(draw() % SET_SYMBOLS);
        v[i].side = draw() & 1;
    }
    return v;
}
static double value_of(const struct set_event *e, int f) {
    double x;
    memcpy(&x, (const char *)e + set_floats[f].offset, sizeof x);
    return x;
}

/* ---- rules ---- */
static double left_of(const struct set_clause *c, const struct set_event *e) {
    double a = value_of(e, c->a), b = value_of(e, c->b);
    return c->form == C_FIELD ? a : c->form == C_LINEAR ? a * strtod(c->k, NULL) + b : c->form == C_DIFFERENCE ? a - b : a / b;
}
static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}
/* A float clause that passes in about a share p of the events. */
static void float_clause(struct set_clause *c, double p, const struct set_event *v, uint32_t n) {
    double q = unit(), x[512];
    c->form = q < .55 ? C_FIELD : q < .72 ? C_LINEAR : q < .84 ? C_DIFFERENCE : C_PRODUCT;
    c->a = (uint8_t)(draw() % SET_FLOATS);
    do
        c->b = (uint8_t)(draw() % SET_FLOATS);
    while (c->b == c->a || (c->form == C_PRODUCT && set_floats[c->b].lo < 0));
    strcpy(c->cmp, draw() & 1 ? "<" : ">");
    double k = .25 + 2 * unit();
    if (c->form == C_LINEAR)
        k *= (set_floats[c->b].hi - set_floats[c->b].lo) / (set_floats[c->a].hi - set_floats[c->a].lo);
    snprintf(c->k, sizeof c->k, "%.9f", k);
    for (int i = 0; i < 512; i++)
        x[i] = left_of(c, &v[(uint32_t)i * 7 % n]);
    qsort(x, 512, sizeof *x, by_value);
    double at = x[(int)((c->cmp[0] == '<' ? p : 1 - p) * 511)];
    snprintf(c->form == C_PRODUCT ? c->k : c->c, sizeof c->c, "%.9f", at);
}
static void int_clause(struct set_clause *c, double p) {
    int low = draw() & 1;
    if (p > .45 && p < .55) {
        c->form = C_SIDE;
        strcpy(c->cmp, "==");
        c->i = draw() & 1;
    } else {
        c->form = C_ACCOUNT;
        strcpy(c->cmp, low ? "<" : ">");
        c->i = (int64_t)(SET_ACCOUNTS * (low ? p : 1 - p));
    }
}
static void key_clause(struct set_clause *c, int account) {
    memset(c, 0, sizeof *c);
    c->form = account ? C_ACCOUNT : C_SYMBOL;
    strcpy(c->cmp, "==");
    c->i = (int64_t)(draw() % (account ? SET_ACCOUNTS : SET_SYMBOLS));
}
void set_make(struct rule_set *s, enum set_kind kind, uint32_t rules, const struct set_event *v, uint32_t n, uint64_t seed) {
    s->n = rules;
    s->rules = calloc(rules, sizeof *s->rules);
    state = seed * 0x9e3779b97f4a7c15u + 1;
    for (uint32_t i = 0; i < rules; i++) {
        struct set_rule *r = &s->rules[i];
        r->n = 3 + (uint32_t)(draw() % 3);
        r->last_or = draw() % 10 < 3;
        for (uint32_t k = 0; k < r->n; k++) {
            double p = .4 + .4 * unit();
            if (draw() % 100 < 15)
                int_clause(&r->c[k], p);
            else
                float_clause(&r->c[k], p, v, n);
        }
        if (kind == SET_RARE && draw() & 1)
            key_clause(&r->c[0], 0);
        else if (kind == SET_RARE)
            float_clause(&r->c[0], .02, v, n);
        else if (kind == SET_KEYED && i % 10 < 9)
            key_clause(&r->c[0], i % 10 < 6);
        else if (kind == SET_KEYED)
            float_clause(&r->c[0], .3, v, n);
    }
}
void set_free(struct rule_set *s) {
    free(s->rules);
    s->rules = NULL;
}

/* ---- as text ---- */
struct text { char *s; size_t n, cap; };
__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    while (t->n + (size_t)k + 1 > t->cap)
        t->s = realloc(t->s, t->cap = t->cap ? t->cap * 2 : 1 << 16);
    va_start(ap, fmt);
    vsnprintf(t->s + t->n, (size_t)k + 1, fmt, ap);
    va_end(ap);
    t->n += (size_t)k;
}
static void put_clause(struct text *t, const struct set_clause *c, const char *at) {
    const char *a = set_floats[c->a].name, *b = set_floats[c->b].name;
    switch ((enum clause_form)c->form) {
    case C_FIELD: put(t, "%s%s %s %s", at, a, c->cmp, c->c); break;
    case C_LINEAR: put(t, "%s%s * %s + %s%s %s %s", at, a, c->k, at, b, c->cmp, c->c); break;
    case C_DIFFERENCE: put(t, "%s%s - %s%s %s %s", at, a, at, b, c->cmp, c->c); break;
    case C_PRODUCT: put(t, "%s%s %s %s * %s%s", at, a, c->cmp, c->k, at, b); break;
    case C_ACCOUNT: put(t, "%saccount %s %lld", at, c->cmp, (long long)c->i); break;
    case C_SYMBOL: put(t, at[0] ? "%ssymbol %s %lld" : "%ssymbol %s \"S%lld\"", at, c->cmp, (long long)c->i); break;
    case C_SIDE:
        if (at[0])
            put(t, "%sside %s %lld", at, c->cmp, (long long)c->i);
        else
            put(t, "side %s \"%s\"", c->cmp, c->i ? "sell" : "buy");
    }
}
static void put_rule(struct text *t, const struct set_rule *r, const char *at, const char *and, const char *or) {
    uint32_t plain = r->last_or ? r->n - 2 : r->n;
    for (uint32_t i = 0; i < plain; i++) {
        put(t, at[0] ? "%s(" : "%s", i ? and : "");
        put_clause(t, &r->c[i], at);
        put(t, "%s", at[0] ? ")" : "");
    }
    if (!r->last_or)
        return;
    put(t, at[0] ? "%s((" : "%s(", and);
    put_clause(t, &r->c[r->n - 2], at);
    put(t, at[0] ? ")%s(" : "%s", or);
    put_clause(t, &r->c[r->n - 1], at);
    put(t, at[0] ? "))" : ")");
}
char *set_as_rules(const struct rule_set *s) {
    struct text t = {0};
    put(&t, "ruleset bench version 1\n  undefined skip\n%s", declaration);
    for (uint32_t i = 0; i < s->n; i++) {
        put(&t, "rule r%u on E {\n  when ", i);
        put_rule(&t, &s->rules[i], "", " and ", " or ");
        put(&t, "\n  flag HIT\n}\n");
    }
    return t.s;
}
/* 64 rules a function: gcc takes minutes for one function of a thousand. */
char *set_as_c(const struct rule_set *s, int flat) {
    struct text t = {0};
    put(&t, "typedef unsigned long long u64;\n%s", c_declaration);
    for (uint32_t from = 0; from < s->n; from += 64) {
        put(&t, "__attribute__((noinline)) static void f%u(const struct set_event *e, u64 *bits) {\n  u64 w = 0;\n", from / 64);
        for (uint32_t i = from; i < s->n && i < from + 64; i++) {
            put(&t, flat ? "  w |= (u64)(" : "  if (");
            put_rule(&t, &s->rules[i], "e->", flat ? " & " : " && ", flat ? " | " : " || ");
            put(&t, flat ? ") << %u;\n" : ") w |= 1ull << %u;\n", i % 64);
        }
        put(&t, "  bits[%u] = w;\n}\n", from / 64);
    }
    put(&t, "__attribute__((visibility(\"default\"))) void judge(const struct set_event *e, u64 *bits) {\n");
    for (uint32_t f = 0; f * 64 < s->n; f++)
        put(&t, "  f%u(e, bits);\n", f);
    put(&t, "}\n");
    return t.s;
}
