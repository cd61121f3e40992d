/* SPDX-License-Identifier: Apache-2.0
 * random_set.h: a random typed rule set over one event type, built by the IR's builder from the draws of jit_fake.h: every type of
 * field, windows, a table, a list, a calendar, parameters, lets, and every operation that executors compute themselves.
 *
 *   rdn_syms_open(&syms, ...); set_syms();
 *   set_size = ...;              smaller than the usual, or not at all
 *   make_ir();                   -> ir, sealed, in `arena`
 *   rdn_arena_fini(&arena); */
#ifndef RDN_RANDOM_SET_H
#define RDN_RANDOM_SET_H
#include "ir/ir.h"
#include "tests/unit/jit/jit_fake.h"

enum { RULES = 20, DEPTH = 5 };
static struct { uint32_t rules, windows, lets; int depth; } set_size = {RULES, 3, 6, DEPTH};     /* one rule at least */
static struct rdn_arena arena;
static struct rdn_syms *syms;
static struct rdn_ir *ir;
static const struct rdn_type *t_bool, *t_int, *t_float, *t_time, *t_dur, *t_date, *t_sym, *t_enum, *t_str, *t_dec[19];
static rdn_id lets[3][8];
static uint32_t nlets[3];

static rdn_id node(unsigned op, unsigned type, unsigned scale, const struct rdn_type *lt, rdn_id a, rdn_id b, rdn_id c, uint32_t aux) {
    return rdn_ir_node(ir, op, type, scale, lt, a, b, c, aux, rdn_ir_span(ir, ir->nodes.n, ir->nodes.n + 1), 0);
}
static rdn_id nary(unsigned op, unsigned type, unsigned scale, const struct rdn_type *lt, const rdn_id *v, uint32_t n, uint32_t c, uint32_t aux) {
    return rdn_ir_node_n(ir, op, type, scale, lt, v, n, c, aux, rdn_ir_span(ir, ir->nodes.n, ir->nodes.n + 1), 0);
}
static rdn_id constant(unsigned type, unsigned scale, const struct rdn_type *lt, struct rdn_cell v) {
    return node(RDN_OP_CONST, type, scale, lt, 0, 0, 0, rdn_ir_const(ir, type, scale, lt, &v));
}
static rdn_id c_int(int64_t v) { return constant(RDN_TY_I64, 0, t_int, (struct rdn_cell){.i = v}); }
static rdn_id c_f64(double v) { return constant(RDN_TY_F64, 0, t_float, (struct rdn_cell){.f = v}); }

/* ---- declarations ---- */
static void add_field(struct rdn_event *ev, const char *name, const struct rdn_type *t, bool optional) {
    struct rdn_field *f = &ev->fields[ev->nfields++];
    unsigned align = rdn_type_align(t);
    *f = (struct rdn_field){.name = name, .type = t, .optional = optional};
    f->offset = (ev->size + align - 1) & ~(align - 1);
    f->size = (uint32_t)rdn_type_size(t);
    ev->size = f->offset + f->size;
}
static void make_event(void) {
    struct rdn_event *ev = rdn_new(&arena, struct rdn_event);
    ev->name = "E";
    ev->canon = "E";
    ev->part_field = -1;
    ev->size = 16;
    ev->has_present = true;
    ev->fields = rdn_new_n(&arena, struct rdn_field, 32);
    const struct { const char *name; const struct rdn_type *t; bool opt; } fs[] = {
        {"f0", t_float, 0}, {"f1", t_float, 0}, {"f2", t_float, 0}, {"f3", t_float, 1}, {"i0", t_int, 0}, {"i1", t_int, 0}, {"i2", t_int, 1},
        {"d0", t_dec[2], 0}, {"d1", t_dec[4], 0}, {"d2", t_dec[9], 1}, {"d3", t_dec[0], 0}, {"b0", t_bool, 0}, {"b1", t_bool, 1}, {"e0", t_enum, 0},
        {"s0", t_sym, 0}, {"s1", t_sym, 0}, {"day", t_date, 0}, {"du", t_dur, 0}, {"st", t_str, 0}, {"f4", t_float, 0}};
    uint8_t bit = 0;
    for (size_t i = 0; i < N_OF(fs); i++) {
        add_field(ev, fs[i].name, fs[i].t, fs[i].opt);
        if (fs[i].opt)
            ev->fields[i].present_bit = bit++;
    }
    ev->size = (ev->size + 7) & ~7u;
    ir->events = ev;
    ir->nevents = 1;
}
enum { F_F0, F_F1, F_F2, F_F3, F_I0, F_I1, F_I2, F_D0, F_D1, F_D2, F_D3, F_B0, F_B1, F_E0, F_S0, F_S1, F_DAY, F_DU, F_ST, F_F4 };
static rdn_id field(unsigned k) {
    const struct rdn_type *t = ir->events[0].fields[k].type;
    return node(RDN_OP_FIELD, rdn_cell_of(t), t->scale, t, 0, 0, 0, k);
}
static void make_data(void) {
    ir->params = rdn_new_n(&arena, struct rdn_param, 4);
    ir->nparams = 4;
    ir->params[0] = (struct rdn_param){.name = "pi", .type = t_int, .val = {.i = any_i64()}};
    ir->params[1] = (struct rdn_param){.name = "pf", .type = t_float, .val = {.f = any_f64()}};
    ir->params[2] = (struct rdn_param){.name = "pd", .type = t_dec[2], .val = {.d = any_i64()}};
    ir->params[3] = (struct rdn_param){.name = "pb", .type = t_bool, .val = {.i = below(2)}};
    if (isnan(ir->params[1].val.f))
        ir->params[1].val.f = 0.25;
    ir->tables = rdn_new(&arena, struct rdn_table);
    ir->ntables = 1;
    ir->tables[0] = (struct rdn_table){.name = "T", .nkeys = 1, .ncols = 4};
    ir->tables[0].keys = rdn_new(&arena, struct rdn_column);
    ir->tables[0].keys[0] = (struct rdn_column){"k", t_sym};
    ir->tables[0].cols = rdn_new_n(&arena, struct rdn_column, 4);
    const struct rdn_type *cols[4] = {t_int, t_float, t_dec[2], t_bool};
    for (int i = 0; i < 4; i++)
        ir->tables[0].cols[i] = (struct rdn_column){"c", cols[i]};
    ir->lists = rdn_new(&arena, struct rdn_list);
    ir->nlists = 1;
    ir->lists[0] = (struct rdn_list){.name = "L", .type = t_sym};
    ir->cals = rdn_new(&arena, struct rdn_calendar);
    ir->ncals = 1;
    ir->cals[0] = (struct rdn_calendar){.name = "C", .zone = "UTC"};
}

/* ---- expressions ---- */
static rdn_id gen_b(int d);
static rdn_id gen_i(int d);
static rdn_id gen_f(int d);
static rdn_id gen_d(int d, unsigned scale);

static rdn_id window_read(unsigned w) {
    const struct rdn_window *win = &ir->windows[w];
    rdn_id keys[2] = {field(win->ktypes[0] == t_str ? F_ST : F_S0 + below(2)), field(F_I0)};
    if (below(4) == 0)
        keys[1] = gen_i(1);
    return nary(below(4) ? RDN_OP_WREAD : RDN_OP_WPREV, win->rtype == t_dec[2] ? RDN_TY_W128 : rdn_cell_of(win->rtype), win->rtype->scale, win->rtype, keys,
                win->nkeys, 0, w);
}
static rdn_id table_read(unsigned col) {
    rdn_id key = field(F_S0 + below(2));
    const struct rdn_type *t = ir->tables[0].cols[col].type;
    return nary(RDN_OP_TREAD, rdn_cell_of(t), t->scale, t, &key, 1, col, 0);
}
static rdn_id param(unsigned k) {
    const struct rdn_type *t = ir->params[k].type;
    return node(RDN_OP_PARAM, rdn_cell_of(t), t->scale, t, 0, 0, 0, k);
}
static rdn_id let_use(unsigned kind, unsigned type, const struct rdn_type *lt) {
    return node(RDN_OP_USE, type, 0, lt, lets[kind][below(nlets[kind])], 0, 0, 0);
}
static rdn_id leaf_i(void) {
    switch (below(8)) {
    case 0: case 1: return field(F_I0 + below(2));
    case 2: return field(F_I2);
    case 3: return c_int(any_i64());
    case 4: return c_int((int64_t)below(40) - 10);
    case 5: return param(0);
    case 6: return ir->nwindows && below(2) ? window_read(0) : table_read(0);
    default: return nlets[0] ? let_use(0, RDN_TY_I64, t_int) : field(F_I0);
    }
}
static rdn_id leaf_f(void) {
    static const unsigned fs[] = {F_F0, F_F1, F_F2, F_F4, F_F3};
    switch (below(8)) {
    case 0: case 1: case 2: return field(fs[below(5)]);
    case 3: return c_f64(any_f64());
    case 4: return param(1);
    case 5: return ir->nwindows > 1 && below(2) ? window_read(1) : table_read(1);
    default: return nlets[1] ? let_use(1, RDN_TY_F64, t_float) : field(fs[below(4)]);
    }
}
static rdn_id gen_i(int d) {
    rdn_id v[3];
    if (d <= 0 || below(6) == 0)
        return leaf_i();
    switch (below(17)) {
    case 0: case 1: return node(RDN_OP_ADD, RDN_TY_I64, 0, t_int, gen_i(d - 1), gen_i(d - 1), 0, 0);
    case 2: return node(RDN_OP_SUB, RDN_TY_I64, 0, t_int, gen_i(d - 1), gen_i(d - 1), 0, 0);
    case 3: return node(RDN_OP_MUL, RDN_TY_I64, 0, t_int, gen_i(d - 1), gen_i(d - 1), 0, 0);
    case 4: return node(RDN_OP_DIV, RDN_TY_I64, 0, t_int, gen_i(d - 1), gen_i(d - 1), 0, 0);
    case 5: return node(RDN_OP_MOD, RDN_TY_I64, 0, t_int, gen_i(d - 1), gen_i(d - 1), 0, 0);
    case 6: return node(RDN_OP_NEG, RDN_TY_I64, 0, t_int, gen_i(d - 1), 0, 0, 0);
    case 7: return node(RDN_OP_ABS, RDN_TY_I64, 0, t_int, gen_i(d - 1), 0, 0, 0);
    case 8:
        for (int i = 0; i < 3; i++)
            v[i] = gen_i(d - 1);
        return nary(below(2) ? RDN_OP_MIN : RDN_OP_MAX, RDN_TY_I64, 0, t_int, v, 2 + below(2), 0, 0);
    case 9: return node(RDN_OP_SEL, RDN_TY_I64, 0, t_int, gen_b(d - 1), gen_i(d - 1), gen_i(d - 1), 0);
    case 10: return node(RDN_OP_BAND + below(3), RDN_TY_I64, 0, t_int, gen_i(d - 1), gen_i(d - 1), 0, 0);
    case 11: return node(RDN_OP_BNOT, RDN_TY_I64, 0, t_int, gen_i(d - 1), 0, 0, 0);
    case 12: return node(RDN_OP_F2I, RDN_TY_I64, 0, t_int, gen_f(d - 1), 0, 0, 0);
    case 13: return node(RDN_OP_B2I, RDN_TY_I64, 0, t_int, gen_b(d - 1), 0, 0, 0);
    case 14: return node(RDN_OP_COALESCE, RDN_TY_I64, 0, t_int, gen_i(d - 1), leaf_i(), 0, 0);
    case 15: return node(RDN_OP_CLAMP, RDN_TY_I64, 0, t_int, gen_i(d - 1), leaf_i(), leaf_i(), 0);
    default: return node(RDN_OP_SIGN, RDN_TY_I64, 0, t_int, gen_i(d - 1), 0, 0, 0);
    }
}
static rdn_id gen_f(int d) {
    rdn_id v[3];
    if (d <= 0 || below(6) == 0)
        return leaf_f();
    switch (below(17)) {
    case 0: case 1: return node(RDN_OP_ADD, RDN_TY_F64, 0, t_float, gen_f(d - 1), gen_f(d - 1), 0, 0);
    case 2: return node(RDN_OP_SUB, RDN_TY_F64, 0, t_float, gen_f(d - 1), gen_f(d - 1), 0, 0);
    case 3: case 4: return node(RDN_OP_MUL, RDN_TY_F64, 0, t_float, gen_f(d - 1), gen_f(d - 1), 0, 0);
    case 5: return node(RDN_OP_DIV, RDN_TY_F64, 0, t_float, gen_f(d - 1), gen_f(d - 1), 0, 0);
    case 6: return node(RDN_OP_NEG, RDN_TY_F64, 0, t_float, gen_f(d - 1), 0, 0, 0);
    case 7: return node(RDN_OP_ABS, RDN_TY_F64, 0, t_float, gen_f(d - 1), 0, 0, 0);
    case 8:
        for (int i = 0; i < 3; i++)
            v[i] = gen_f(d - 1);
        return nary(below(2) ? RDN_OP_MIN : RDN_OP_MAX, RDN_TY_F64, 0, t_float, v, 2 + below(2), 0, 0);
    case 9: return node(RDN_OP_SEL, RDN_TY_F64, 0, t_float, gen_b(d - 1), gen_f(d - 1), gen_f(d - 1), 0);
    case 10: return node(RDN_OP_FLOOR + below(3), RDN_TY_F64, 0, t_float, gen_f(d - 1), 0, 0, 0);
    case 11: return node(RDN_OP_SQRT, RDN_TY_F64, 0, t_float, gen_f(d - 1), 0, 0, 0);
    case 12: return node(RDN_OP_I2F, RDN_TY_F64, 0, t_float, gen_i(d - 1), 0, 0, 0);
    case 13: return node(RDN_OP_D2F, RDN_TY_F64, 0, t_float, gen_d(d - 1, below(9)), 0, 0, 0);
    case 14: return node(RDN_OP_RATIO, RDN_TY_F64, 0, t_float, gen_d(d - 1, below(7)), below(2) ? gen_d(d - 1, below(5)) : gen_i(d - 1), 0, 0);
    case 15: return node(RDN_OP_COALESCE, RDN_TY_F64, 0, t_float, gen_f(d - 1), leaf_f(), 0, 0);
    default: return node(RDN_OP_ROUND, RDN_TY_F64, 0, t_float, gen_f(d - 1), 0, 0, 0);
    }
}
/* A decimal of exactly that scale. */
static rdn_id leaf_d(unsigned s) {
    if (s == 2 && below(2))
        return below(3) ? field(F_D0) : below(2) ? param(2) : ir->nwindows > 2 && below(2) ? window_read(2) : table_read(2);
    if (s == 4 && below(4))
        return field(F_D1);
    if (s == 9 && below(3))
        return field(F_D2);
    if (s == 0 && below(2))
        return field(F_D3);
    if (s > 0 && below(3) == 0) {
        rdn_id x = gen_i(0);
        return node(RDN_OP_RESCALE, RDN_TY_W128, s, t_dec[s], x, 0, 0, 0);
    }
    rdn_i128 v = any_i64();
    if (below(6) == 0)
        v *= 1000000;
    return constant(RDN_TY_W128, s, t_dec[s], (struct rdn_cell){.d = v});
}
static rdn_id gen_d(int d, unsigned s) {
    rdn_id v[3];
    unsigned t = below(s + 1);
    if (d <= 0 || below(5) == 0)
        return leaf_d(s);
    switch (below(12)) {
    case 0: case 1: return node(below(2) ? RDN_OP_ADD : RDN_OP_SUB, RDN_TY_W128, s, t_dec[s], gen_d(d - 1, s), gen_d(d - 1, t), 0, 0);
    case 2: return node(below(2) ? RDN_OP_ADD : RDN_OP_SUB, RDN_TY_W128, s, t_dec[s], gen_i(d - 1), gen_d(d - 1, s), 0, 0);
    case 3: case 4: return node(RDN_OP_MUL, RDN_TY_W128, s, t_dec[s], gen_d(d - 1, t), gen_d(d - 1, s - t), 0, 0);
    case 5: return node(RDN_OP_MUL, RDN_TY_W128, s, t_dec[s], gen_i(d - 1), gen_d(d - 1, s), 0, 0);
    case 6: return node(RDN_OP_NEG, RDN_TY_W128, s, t_dec[s], gen_d(d - 1, s), 0, 0, 0);
    case 7: return node(RDN_OP_ABS, RDN_TY_W128, s, t_dec[s], gen_d(d - 1, s), 0, 0, 0);
    case 8: return node(RDN_OP_MOD, RDN_TY_W128, s, t_dec[s], gen_d(d - 1, s), gen_d(d - 1, s), 0, 0);
    case 9:
        for (int i = 0; i < 3; i++)
            v[i] = gen_d(d - 1, s);
        return nary(below(2) ? RDN_OP_MIN : RDN_OP_MAX, RDN_TY_W128, s, t_dec[s], v, 2 + below(2), 0, 0);
    case 10: return node(RDN_OP_SEL, RDN_TY_W128, s, t_dec[s], gen_b(d - 1), gen_d(d - 1, s), gen_d(d - 1, s), 0);
    default: return node(RDN_OP_RESCALE, RDN_TY_W128, s, t_dec[s], gen_d(d - 1, t), 0, 0, 0);
    }
}
static rdn_id small_set(void) {
    rdn_id v[6];
    uint32_t n = 2 + below(4);
    bool sym = below(2);
    v[0] = sym ? field(F_S0) : gen_i(1);
    for (uint32_t i = 1; i < n; i++)
        v[i] = sym ? constant(RDN_TY_I64, 0, t_sym, (struct rdn_cell){.i = below(3)}) : c_int((int64_t)below(30) - 10);
    return nary(RDN_OP_INSET, RDN_TY_B1, 0, t_bool, v, n, 0, 0);
}
static rdn_id leaf_b(void) {
    switch (below(9)) {
    case 0: return field(F_B0);
    case 1: return field(F_B1);
    case 2: return node(RDN_OP_EQ + below(2), RDN_TY_B1, 0, t_bool, field(F_S0), constant(RDN_TY_I64, 0, t_sym, (struct rdn_cell){.i = below(3)}), 0, 0);
    case 3: return node(RDN_OP_EQ + below(2), RDN_TY_B1, 0, t_bool, field(F_E0), constant(RDN_TY_I64, 0, t_enum, (struct rdn_cell){.i = below(3)}), 0, 0);
    case 4: return node(RDN_OP_EQ + below(6), RDN_TY_B1, 0, t_bool, field(F_DAY), constant(RDN_TY_I64, 0, t_date, (struct rdn_cell){.i = (int32_t)any_i64()}), 0, 0);
    case 5: return small_set();
    case 6: return below(2) ? param(3) : table_read(3);
    case 7: return node(RDN_OP_INLIST, RDN_TY_B1, 0, t_bool, field(F_S1), 0, 0, 0);
    default: return node(RDN_OP_INCAL, RDN_TY_B1, 0, t_bool, node(RDN_OP_NOW, RDN_TY_I64, 0, t_time, 0, 0, 0, 0), 0, 0, 0);
    }
}
static rdn_id gen_b(int d) {
    unsigned cmp = RDN_OP_EQ + below(6);
    if (d <= 0 || below(8) == 0)
        return leaf_b();
    switch (below(16)) {
    case 0: case 1: case 2: return node(RDN_OP_AND, RDN_TY_B1, 0, t_bool, gen_b(d - 1), gen_b(d - 1), 0, 0);
    case 3: case 4: return node(RDN_OP_OR, RDN_TY_B1, 0, t_bool, gen_b(d - 1), gen_b(d - 1), 0, 0);
    case 5: return node(RDN_OP_NOT, RDN_TY_B1, 0, t_bool, gen_b(d - 1), 0, 0, 0);
    case 6: case 7: return node(cmp, RDN_TY_B1, 0, t_bool, gen_i(d - 1), gen_i(d - 1), 0, 0);
    case 8: case 9: case 10: return node(cmp, RDN_TY_B1, 0, t_bool, gen_f(d - 1), gen_f(d - 1), 0, 0);
    case 11: case 12: return node(cmp, RDN_TY_B1, 0, t_bool, gen_d(d - 1, below(10)), below(4) ? gen_d(d - 1, below(10)) : gen_i(d - 1), 0, 0);
    case 13: return node(RDN_OP_SEL, RDN_TY_B1, 0, t_bool, gen_b(d - 1), gen_b(d - 1), gen_b(d - 1), 0);
    case 14: return node(RDN_OP_EQ + below(2), RDN_TY_B1, 0, t_bool, gen_b(d - 1), gen_b(d - 1), 0, 0);
    default: return below(2) ? node(RDN_OP_DEFINED, RDN_TY_B1, 0, t_bool, gen_f(d - 1), 0, 0, 0)
                             : node(RDN_OP_COALESCE, RDN_TY_B1, 0, t_bool, gen_b(d - 1), leaf_b(), 0, 0);
    }
}

static void make_windows(void) {
    static const struct rdn_type *kt[2][2];              /* a symbol or a text, then an int */
    const struct rdn_type *r[3] = {t_int, t_float, t_dec[2]};
    kt[0][0] = t_sym;
    kt[1][0] = t_str;
    kt[0][1] = kt[1][1] = t_int;
    struct rdn_window *ws = rdn_new_n(&arena, struct rdn_window, 3);
    for (unsigned w = 0; w < set_size.windows; w++) {
        struct rdn_window *x = &ws[w];
        bool text = below(3) == 0;
        *x = (struct rdn_window){.name = "w", .agg = w ? RDN_AGG_SUM : RDN_AGG_COUNT, .accepted = below(2), .rtype = r[w], .ktypes = kt[text], .nkeys = 1 + below(2),
                                 .canon = "w", .warmup = 1, .cap = 16, .panes = 60, .over_ns = 60000000000, .pane_ns = 1000000000};
        x->vtype = w ? r[w] : NULL;
        x->keys = rdn_new_n(&arena, rdn_id, 2);
        x->keys[0] = field(text ? F_ST : F_S0);
        x->keys[1] = below(2) ? field(F_I0) : gen_i(2);
        x->where = below(2) ? gen_b(2) : 0;
        x->value = w == 1 ? gen_f(3) : w == 2 ? gen_d(3, 2) : 0;
    }
    ir->windows = ws;
    ir->nwindows = set_size.windows;
}
static void make_rules(void) {
    for (unsigned i = 0; i < set_size.lets; i++) {
        rdn_id p = i % 2 ? gen_f(3) : gen_i(3);
        ir->nodes.v[p].flags |= RDN_NODE_SHARED;
        lets[i % 2][nlets[i % 2]++] = p;
    }
    struct rdn_action *skip = rdn_new(&arena, struct rdn_action);
    skip->verb = RDN_V_SKIP;
    ir->rules = rdn_new_n(&arena, struct rdn_rule, set_size.rules);
    ir->nrules = set_size.rules;
    for (uint32_t i = 0; i < set_size.rules; i++) {
        struct rdn_rule *r = &ir->rules[i];
        r->name = rdn_arena_printf(&arena, "r%u", i);
        r->undef = skip;
        r->when = gen_b(i % 4 ? set_size.depth : 2);
        if (below(5) == 0)                               /* a key clause, so that branch form is met */
            r->when = node(RDN_OP_AND, RDN_TY_B1, 0, t_bool,
                           node(RDN_OP_EQ, RDN_TY_B1, 0, t_bool, field(F_S0), constant(RDN_TY_I64, 0, t_sym, (struct rdn_cell){.i = below(3)}), 0, 0), r->when, 0, 0);
    }
}
/* Types, event, data; no rules yet. */
static void start_ir(void) {
    rdn_arena_init(&arena, &rdn_libc_mem);
    ir = rdn_ir_new(&arena, syms);
    static char source[1 << 18];                         /* spans point somewhere */
    ir->source = source;
    ir->source_len = sizeof source;
    struct rdn_types *ts = ir->types;
    static const char *const members[] = {"buy", "sell", "short"};
    t_bool = rdn_type_simple(ts, RDN_K_BOOL), t_int = rdn_type_simple(ts, RDN_K_INT), t_float = rdn_type_simple(ts, RDN_K_FLOAT);
    t_time = rdn_type_simple(ts, RDN_K_TIME), t_dur = rdn_type_simple(ts, RDN_K_DUR), t_date = rdn_type_simple(ts, RDN_K_DATE);
    t_sym = rdn_type_simple(ts, RDN_K_SYM), t_str = rdn_type_str(ts, 4), t_enum = rdn_type_enum(ts, members, 3);
    for (unsigned s = 0; s < 19; s++)
        t_dec[s] = rdn_type_dec(ts, s);
    nlets[0] = nlets[1] = 0;
    make_event();
    make_data();
}
static __attribute__((unused)) void make_ir(void) {
    start_ir();
    make_windows();
    make_rules();
    rdn_ir_seal(ir);
}
/* The symbols the sets know. */
static void set_syms(void) {
    uint32_t id;
    for (int i = 0; i < 3; i++)
        rdn_sym_intern(syms, &"abc"[i], 1, &id);
}
#endif
