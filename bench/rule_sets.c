/* SPDX-License-Identifier: Apache-2.0
 * rule_sets.c: see rule_sets.h. */
#include "bench/rule_sets.h"
#include <math.h>
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
const struct set_kind set_kinds[SET_KINDS] = {
    {"random", SET_RANDOM, 0, {10, 100, 1000}},     {"rare", SET_RARE, 0, {10, 100, 1000}},      {"keyed", SET_KEYED, 0, {10, 100, 1000}},
    {"shared-50", SET_SHARED, 50, {1000}},          {"shared-500", SET_SHARED, 500, {1000}},     {"shared-3000", SET_SHARED, 3000, {1000}},
    {"ladder", SET_LADDER, 0, {100, 1000}},         {"dec", SET_DEC, 0, {100, 1000}},
};
/* N: the type of a number */
static const char declaration[] =
    "event E { price: N  qty: N  notional: N  account: int  symbol: sym  side: enum(buy, sell)  position: N  cap: N  pnl: N\n"
    "  vol: N  spread: N  mid: N  exposure: N  margin: N  drawdown: N  rate: N }\n";
static const char c_declaration[] =
    "struct set_event { long long ts; N price, qty, notional; long long account; unsigned symbol; unsigned char side, pad[3];\n"
    "  N position, cap, pnl, vol, spread, mid, exposure, margin, drawdown, rate; };\n";
static const double dec_unit = 1e4;                      /* 10^SET_DIGITS */

static uint64_t state;
static uint64_t draw(void) {                             /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}
static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }

struct set_event *set_events(uint32_t n, uint64_t seed, int dec) {
    struct set_event *v = calloc(n, sizeof *v);
    state = seed * 2 + 1;
    for (uint32_t i = 0; v && i < n; i++) {
        v[i].ts = 1000000 * (int64_t)i;
        for (int f = 0; f < SET_FLOATS; f++) {
            /* Six decimals, so that peers that calculate in decimals see the same number. */
            double x = rint((set_floats[f].lo + (set_floats[f].hi - set_floats[f].lo) * unit()) * 1e6) / 1e6;
            int64_t d = (int64_t)(x * dec_unit);
            memcpy((char *)&v[i] + set_floats[f].offset, dec ? (void *)&d : (void *)&x, sizeof x);
        }
        v[i].account = (int64_t)(draw() % SET_ACCOUNTS);
        v[i].symbol = (uint32_t)(draw() % SET_SYMBOLS);
        v[i].side = draw() & 1;
    }
    return v;
}
static double value_of(const struct set_event *e, int f, int dec) {
    double x;
    int64_t d;
    memcpy(&x, (const char *)e + set_floats[f].offset, sizeof x);
    memcpy(&d, (const char *)e + set_floats[f].offset, sizeof d);
    return dec ? (double)d / dec_unit : x;
}

/* ---- rules ---- */
struct market { const struct set_event *v; uint32_t n; int dec; };   /* the events that thresholds are taken from */
static double left_of(const struct set_clause *c, const struct set_event *e, int dec) {
    double a = value_of(e, c->a, dec), b = value_of(e, c->b, dec);
    switch (c->form) {
    case C_FIELD: return a;
    case C_LINEAR: return a * strtod(c->k, NULL) + b;
    case C_DIFFERENCE: return a - b;
    case C_TIMES: return a * b;
    default: return a / b;
    }
}
static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}
static double width(int f) { return set_floats[f].hi - set_floats[f].lo; }
/* A clause on the floats that passes in about a share p of the events. */
static void float_clause(struct set_clause *c, double p, const struct market *m) {
    double q = unit(), x[512];
    c->form = q < .55 ? C_FIELD : q < .72 ? C_LINEAR : q < .84 ? C_DIFFERENCE : m->dec ? C_TIMES : C_PRODUCT;
    c->a = (uint8_t)(draw() % SET_FLOATS);
    do
        c->b = (uint8_t)(draw() % SET_FLOATS);
    /* A divisor is positive; a dec factor is small, so that gcc's side can compare in 64 bits. */
    while (c->b == c->a || (c->form == C_PRODUCT && set_floats[c->b].lo < 0) || (c->form == C_TIMES && set_floats[c->b].hi > 1000));
    strcpy(c->cmp, draw() & 1 ? "<" : ">");
    double k = .25 + 2 * unit();
    if (c->form == C_LINEAR)
        k *= width(c->b) / width(c->a);
    if (m->dec)
        snprintf(c->k, sizeof c->k, "%d", k < 1 ? 1 : k > 1000 ? 1000 : (int)k);
    else
        snprintf(c->k, sizeof c->k, "%.9f", k);
    for (int i = 0; i < 512; i++)
        x[i] = left_of(c, &m->v[(uint32_t)i * 7 % m->n], m->dec);
    qsort(x, 512, sizeof *x, by_value);
    double at = x[(int)((c->cmp[0] == '<' ? p : 1 - p) * 511)];
    /* Not a value that an event has: there the last bit of a calculation would decide, and it is another one in decimals. */
    if (!m->dec && c->form != C_FIELD)
        at = c->form == C_PRODUCT ? at * (1 + 1e-9) : at + 5e-7;
    int digits = !m->dec ? 9 : c->form == C_TIMES ? 2 * SET_DIGITS : SET_DIGITS;
    snprintf(c->form == C_PRODUCT ? c->k : c->c, sizeof c->c, "%.*f", digits, at);
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
static void any_clause(struct set_clause *c, double p, const struct market *m) {
    memset(c, 0, sizeof *c);
    if (draw() % 100 < 15)
        int_clause(c, p);
    else
        float_clause(c, p, m);
}
static void ladder_clause(struct set_clause *c) {
    c->form = C_FIELD;
    c->a = (uint8_t)(draw() % 8);
    strcpy(c->cmp, draw() & 1 ? "<" : ">");
    snprintf(c->c, sizeof c->c, "%.9f", set_floats[c->a].lo + width(c->a) * unit());
}
/* What makes a set of a kind out of a random one. */
static void first_clause(struct set_rule *r, enum set_form form, uint32_t i, const struct market *m) {
    if (form == SET_RARE && draw() & 1)
        key_clause(&r->c[0], 0);
    else if (form == SET_RARE)
        float_clause(&r->c[0], .02, m);
    else if (form == SET_KEYED && i % 10 < 9)
        key_clause(&r->c[0], i % 10 < 6);
    else if (form == SET_KEYED)
        float_clause(&r->c[0], .3, m);
}
void set_make(struct rule_set *s, const struct set_kind *kind, uint32_t rules, const struct set_event *v, uint32_t n) {
    struct market m = {v, n, kind->form == SET_DEC};
    struct set_clause *pool = calloc(kind->pool + 1, sizeof *pool);
    *s = (struct rule_set){rules, (uint8_t)m.dec, calloc(rules, sizeof *s->rules)};
    state = (kind->form + 1) * 0x9e3779b97f4a7c15u + 1;
    for (uint32_t i = 0; i < kind->pool; i++)
        any_clause(&pool[i], .85, &m);
    for (uint32_t i = 0; i < rules; i++) {
        struct set_rule *r = &s->rules[i];
        r->n = kind->form == SET_LADDER ? 1 : 3 + (uint32_t)(draw() % 3);
        r->last_or = draw() % 10 < 3 && r->n > 1;
        for (uint32_t k = 0; k < r->n; k++) {
            double p = .4 + .4 * unit();
            if (kind->pool)
                r->c[k] = pool[draw() % kind->pool];
            else if (kind->form == SET_LADDER)
                ladder_clause(&r->c[k]);
            else
                any_clause(&r->c[k], p, &m);
        }
        first_clause(r, kind->form, i, &m);
    }
    free(pool);
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
/* How a language writes a rule. at: what stands before a field; numbers: symbols and sides are numbers; digits: decimals are scaled integers. */
struct style { const char *at, *and, *or; int numbers, digits; };
/* A decimal number's text, or its digits without the point. */
static void put_number(struct text *t, const char *text, int digits) {
    const char *point = strchr(text, '.');
    char whole[64];
    if (!digits || !point) {
        put(t, "%s", text);
        return;
    }
    snprintf(whole, sizeof whole, "%.*s%s", (int)(point - text), text, point + 1);
    put(t, "%lld", strtoll(whole, NULL, 10));            /* no leading zero: it would be octal */
}
static void put_clause(struct text *t, const struct set_clause *c, const struct style *y) {
    const char *a = set_floats[c->a].name, *b = set_floats[c->b].name, *at = y->at;
    switch ((enum clause_form)c->form) {
    case C_FIELD: put(t, "%s%s %s ", at, a, c->cmp); break;
    case C_LINEAR: put(t, "%s%s * %s + %s%s %s ", at, a, c->k, at, b, c->cmp); break;
    case C_DIFFERENCE: put(t, "%s%s - %s%s %s ", at, a, at, b, c->cmp); break;
    case C_TIMES: put(t, "%s%s%s * %s%s %s ", y->digits ? "(__int128)" : "", at, a, at, b, c->cmp); break;
    case C_PRODUCT: put(t, "%s%s %s %s * %s%s", at, a, c->cmp, c->k, at, b); return;
    case C_ACCOUNT: put(t, "%saccount %s %lld", at, c->cmp, (long long)c->i); return;
    case C_SYMBOL: put(t, y->numbers ? "%ssymbol %s %lld" : "%ssymbol %s \"S%lld\"", at, c->cmp, (long long)c->i); return;
    case C_SIDE:
        if (y->numbers)
            put(t, "%sside %s %lld", at, c->cmp, (long long)c->i);
        else
            put(t, "side %s \"%s\"", c->cmp, c->i ? "sell" : "buy");
        return;
    }
    put_number(t, c->c, y->digits);
}
static void put_rule(struct text *t, const struct set_rule *r, const struct style *y) {
    uint32_t plain = r->last_or ? r->n - 2 : r->n;
    for (uint32_t i = 0; i < plain; i++) {
        put(t, "%s(", i ? y->and : "");
        put_clause(t, &r->c[i], y);
        put(t, ")");
    }
    if (!r->last_or)
        return;
    put(t, "%s((", y->and);
    put_clause(t, &r->c[r->n - 2], y);
    put(t, ")%s(", y->or);
    put_clause(t, &r->c[r->n - 1], y);
    put(t, "))");
}
static void put_declaration(struct text *t, const char *s, const char *number) {
    for (const char *n; (n = strchr(s, 'N')); s = n + 1)
        put(t, "%.*s%s", (int)(n - s), s, number);
    put(t, "%s", s);
}
char *set_as_rules(const struct rule_set *s) {
    static const struct style own = {"", " and ", " or ", 0, 0};
    struct text t = {0};
    put(&t, "ruleset bench version 1\n  undefined skip\n");
    put_declaration(&t, declaration, s->dec ? "dec(4)" : "float");
    for (uint32_t i = 0; i < s->n; i++) {
        put(&t, "rule r%u on E {\n  when ", i);
        put_rule(&t, &s->rules[i], &own);
        put(&t, "\n  flag HIT\n}\n");
    }
    return t.s;
}
/* 64 rules a function: gcc takes minutes for one function of a thousand. */
char *set_as_c(const struct rule_set *s, int flat) {
    const struct style c = {"e->", flat ? " & " : " && ", flat ? " | " : " || ", 1, s->dec};
    struct text t = {0};
    put(&t, "typedef unsigned long long u64;\n");
    put_declaration(&t, c_declaration, s->dec ? "long long" : "double");
    for (uint32_t from = 0; from < s->n; from += 64) {
        put(&t, "__attribute__((noinline)) static void f%u(const struct set_event *e, u64 *bits) {\n  u64 w = 0;\n", from / 64);
        for (uint32_t i = from; i < s->n && i < from + 64; i++) {
            put(&t, flat ? "  w |= (u64)(" : "  if (");
            put_rule(&t, &s->rules[i], &c);
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
char *set_as_json(const struct rule_set *s) {
    static const struct style y = {"$", "", "", 1, 0};
    struct text t = {0};
    put(&t, "[");
    for (uint32_t i = 0; i < s->n; i++) {
        const struct set_rule *r = &s->rules[i];
        put(&t, "%s\n{\"and\": [\"", i ? "," : "");
        for (uint32_t k = 0; k < r->n; k++) {
            if (k)
                put(&t, "%s", r->last_or && k == r->n - 2 ? "\"], \"or\": [\"" : "\", \"");
            put_clause(&t, &r->c[k], &y);
        }
        put(&t, "\"]}");
    }
    put(&t, "\n]\n");
    return t.s;
}
