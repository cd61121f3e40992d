/* SPDX-License-Identifier: Apache-2.0
 * Every operation that x64 or a64 computes natively x where its operands stand (field, pinned or in memory; constant; slot of a
 * parameter; slot of an optional field) x edge values, against interp: as a condition compared with the expected value, alone and
 * beside others, as the value of a window, and as a value that several rules share. And what the calling convention promises:
 * callee-saved registers, stack, floating-point mode, upper halves clear, nothing touched outside row and block. The keys of windows.
 *
 * test_native_ops           everything
 * test_native_ops --every N [FIRST]   one in N cases, others every day if not told which is the first
 * test_native_ops --bench   ns of each operation and place, above a rule that reads a bool
 *
 * In a build with -Djit_faults=true this is what must find every planted fault (jit/faults.def). */
#include "tests/unit/rows.h"
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include "base/clock.h"
#include "jit/frame.h"
#include "jit/jit.h"
#include "jit/run.h"
#include "jit/selfcheck.h"
#include "tests/unit/jit/in_child.h"
#include "tests/unit/jit/batch_forms.h"
#include "tests/unit/jit/batch_kit.h"
#include "tests/unit/jit/native_probe.h"

static struct rdn_syms *syms;
static struct rdn_arena arena;
static struct rdn_ir *ir;
static rdn_id value;                                    /* the expression in it */
static const struct rdn_type *t_b, *t_i, *t_f, *t_date, *t_sym, *t_d[19];

/* Draws of a third operand, and of constants. */
#if defined(__SANITIZE_ADDRESS__)
enum { DRAWS = 1 };                                      /* ten times slower */
#else
enum { DRAWS = 3 };
#endif

/* result and operands: i int, f float, d dec(2), b bool; operands alone: t date, s sym */
/* op(inner(a, b), c); op(c, inner(a, b)); op(inner(a, b), inner(c, a)); SIGN: op(c, inner(a, b)) between -7 and 7, which of zeros shows the sign */
enum form { PLAIN, LEFT, RIGHT, BOTH, SIGN };
#define O(op, ret, scale, args, nary) {RDN_OP_##op, ret, scale, args, nary, 0, 0, PLAIN}
#define T(op, ret, scale, args, inner, inner_scale, form) {RDN_OP_##op, ret, scale, args, false, RDN_OP_##inner, inner_scale, form}
#define N(op, ret, scale, args, inner, inner_scale, form) {RDN_OP_##op, ret, scale, args, true, RDN_OP_##inner, inner_scale, form}
#define S(inner) {RDN_OP_DIV, 'f', 0, "fff", false, RDN_OP_##inner, 0, SIGN}
static const struct opcase { uint8_t op; char ret; uint8_t scale; const char *args; bool nary; uint8_t inner, inner_scale; enum form form; } ops[] = {
    O(ADD, 'i', 0, "ii", 0), O(SUB, 'i', 0, "ii", 0), O(MUL, 'i', 0, "ii", 0), O(DIV, 'i', 0, "ii", 0), O(MOD, 'i', 0, "ii", 0),
    O(NEG, 'i', 0, "i", 0), O(ABS, 'i', 0, "i", 0), O(MIN, 'i', 0, "ii", 1), O(MAX, 'i', 0, "ii", 1), O(MIN, 'i', 0, "iii", 1),
    O(BAND, 'i', 0, "ii", 0), O(BOR, 'i', 0, "ii", 0), O(BXOR, 'i', 0, "ii", 0), O(BNOT, 'i', 0, "i", 0), O(F2I, 'i', 0, "f", 0),
    O(B2I, 'i', 0, "b", 0), O(SEL, 'i', 0, "bii", 0),
    O(ADD, 'f', 0, "ff", 0), O(SUB, 'f', 0, "ff", 0), O(MUL, 'f', 0, "ff", 0), O(DIV, 'f', 0, "ff", 0), O(NEG, 'f', 0, "f", 0),
    O(ABS, 'f', 0, "f", 0), O(MIN, 'f', 0, "ff", 1), O(MAX, 'f', 0, "ff", 1), O(MAX, 'f', 0, "fff", 1), O(SQRT, 'f', 0, "f", 0),
    O(FLOOR, 'f', 0, "f", 0), O(CEIL, 'f', 0, "f", 0), O(TRUNC, 'f', 0, "f", 0), O(I2F, 'f', 0, "i", 0), O(D2F, 'f', 0, "d", 0),
    O(RATIO, 'f', 0, "dd", 0), O(RATIO, 'f', 0, "di", 0), O(RATIO, 'f', 0, "id", 0), O(IRATIO, 'f', 0, "ii", 0), O(SEL, 'f', 0, "bff", 0),
    O(ADD, 'd', 2, "dd", 0), O(SUB, 'd', 2, "dd", 0), O(MUL, 'd', 4, "dd", 0), O(MUL, 'd', 2, "id", 0), O(MOD, 'd', 2, "dd", 0),
    O(NEG, 'd', 2, "d", 0), O(ABS, 'd', 2, "d", 0), O(MIN, 'd', 2, "dd", 1), O(MAX, 'd', 2, "dd", 1), O(SEL, 'd', 2, "bdd", 0),
    O(RESCALE, 'd', 5, "d", 0), O(RESCALE, 'd', 3, "i", 0), O(ADD, 'd', 2, "di", 0), O(SUB, 'd', 2, "id", 0),
    T(MUL, 'd', 6, "ddd", MUL, 4, LEFT), T(MUL, 'd', 6, "ddd", MUL, 4, RIGHT), T(MUL, 'd', 8, "ddd", MUL, 4, BOTH),
    S(MIN), S(MAX), N(MIN, 'f', 0, "fff", DIV, 0, LEFT), N(MAX, 'f', 0, "fff", SUB, 0, BOTH), N(MIN, 'd', 2, "ddd", ADD, 2, RIGHT),
    T(ADD, 'd', 4, "ddd", MUL, 4, BOTH), T(ADD, 'd', 4, "ddd", MUL, 4, LEFT), T(SUB, 'd', 4, "ddd", MUL, 4, RIGHT), T(SUB, 'd', 4, "ddd", MUL, 4, BOTH),
    T(MUL, 'd', 4, "ddd", ADD, 2, LEFT), T(MUL, 'd', 4, "idd", SUB, 2, RIGHT), T(ADD, 'd', 2, "ddi", SUB, 2, LEFT),
    T(MUL, 'i', 0, "iii", ADD, 0, LEFT), T(SUB, 'i', 0, "iii", MUL, 0, BOTH), T(DIV, 'i', 0, "iii", SUB, 0, RIGHT),
    T(MOD, 'i', 0, "iii", DIV, 0, BOTH), T(ADD, 'f', 0, "fff", MUL, 0, BOTH), T(DIV, 'f', 0, "fff", SUB, 0, RIGHT),
    O(EQ, 'b', 0, "ii", 0), O(NE, 'b', 0, "ii", 0), O(LT, 'b', 0, "ii", 0), O(LE, 'b', 0, "ii", 0), O(GT, 'b', 0, "ii", 0), O(GE, 'b', 0, "ii", 0),
    O(EQ, 'b', 0, "ff", 0), O(NE, 'b', 0, "ff", 0), O(LT, 'b', 0, "ff", 0), O(LE, 'b', 0, "ff", 0), O(GT, 'b', 0, "ff", 0), O(GE, 'b', 0, "ff", 0),
    O(EQ, 'b', 0, "dd", 0), O(NE, 'b', 0, "dd", 0), O(LT, 'b', 0, "dd", 0), O(LE, 'b', 0, "di", 0), O(GT, 'b', 0, "id", 0), O(GE, 'b', 0, "dd", 0),
    O(EQ, 'b', 0, "tt", 0), O(NE, 'b', 0, "tt", 0), O(LT, 'b', 0, "tt", 0), O(LE, 'b', 0, "tt", 0), O(GT, 'b', 0, "tt", 0), O(GE, 'b', 0, "tt", 0),
    O(EQ, 'b', 0, "ss", 0), O(NE, 'b', 0, "ss", 0),
    O(EQ, 'b', 0, "bb", 0), O(NE, 'b', 0, "bb", 0), O(AND, 'b', 0, "bb", 0), O(OR, 'b', 0, "bb", 0), O(NOT, 'b', 0, "b", 0), O(SEL, 'b', 0, "bbb", 0),
};

/* FIELD: an f64 one is pinned; MEMORY: a field that others keep out of the registers; OPTIONAL: a slot that C fills */
enum place { FIELD, MEMORY, CONST, PARAM, OPTIONAL, PLACES };
static const char *const place_text[] = {"field", "memory", "constant", "param", "optional"};
enum { KINDS = 6, FILL = 16, SIDE = 3 };
static const char kinds[] = "ifdbts";
static unsigned kind_of(char c) { return (unsigned)(strchr(kinds, c) - kinds); }
/* How the expression is used. ITEM: a window's value, too, so that OPERANDS computes it. SHARED: by several rules. INLINE: by one. */
enum use { ITEM, SHARED, INLINE, USES };
static const char *const use_text[] = {"window", "shared", "alone"};
/* fields: three of each kind required, three optional, the fillers, two ints and a float for clauses beside the expression; params
 * likewise three of each kind, then the expected value */
static uint32_t field_no(char c, unsigned k, bool optional) { return (optional ? 3 * KINDS : 0) + kind_of(c) * 3 + k; }
static uint32_t param_no(char c, unsigned k) { return kind_of(c) * 3 + k; }
enum { P_EXPECT = 3 * KINDS, NPARAMS, F_SIDE = 6 * KINDS + FILL };

static const struct rdn_type *type_of(char c, unsigned scale) {
    return c == 'i' ? t_i : c == 'f' ? t_f : c == 'b' ? t_b : c == 't' ? t_date : c == 's' ? t_sym : t_d[scale];
}
static unsigned cell_type(char c) { return c == 'i' || c == 't' || c == 's' ? RDN_TY_I64 : c == 'f' ? RDN_TY_F64 : c == 'b' ? RDN_TY_B1 : RDN_TY_W128; }
static rdn_id node(unsigned op, unsigned type, unsigned scale, const struct rdn_type *lt, rdn_id a, rdn_id b, rdn_id c, uint32_t aux) {
    return rdn_ir_node(ir, op, type, scale, lt, a, b, c, aux, rdn_ir_span(ir, 0, 1), 0);
}
static rdn_id source(unsigned op, const struct rdn_type *t, uint32_t aux) { return node(op, rdn_cell_of(t), t->scale, t, 0, 0, 0, aux); }

static struct rdn_cell edge(char c, uint64_t k) {
    struct rdn_cell v = {0};
    if (c == 'f')
        v.f = edge_f64[k % N_OF(edge_f64)];
    else if (c == 'b')
        v.i = k & 1;
    else if (c == 'd')
        v.d = edge_i64[k % N_OF(edge_i64)];
    else
        v.i = edge_i64[k % N_OF(edge_i64)];
    if (c == 't')
        v.i = (int32_t)v.i;
    if (c == 's')
        v.i = (uint32_t)v.i;
    return v;
}
static size_t edges(char c) { return c == 'f' ? N_OF(edge_f64) : c == 'b' ? 2 : N_OF(edge_i64); }

static void make_event(void) {
    struct rdn_event *ev = rdn_new(&arena, struct rdn_event);
    *ev = (struct rdn_event){.name = "E", .canon = "E", .part_field = -1, .size = 16, .has_present = true};
    ev->fields = rdn_new_n(&arena, struct rdn_field, F_SIDE + SIDE);
    for (unsigned i = 0; i < F_SIDE + SIDE; i++) {
        const struct rdn_type *t = i >= F_SIDE && i < F_SIDE + 2 ? t_i : i >= 6 * KINDS ? t_f : type_of(kinds[i % (3 * KINDS) / 3], 2);
        unsigned size = (unsigned)rdn_type_size(t), at = (ev->size + size - 1) & ~(size - 1);
        ev->fields[ev->nfields++] = (struct rdn_field){.name = "x", .type = t, .offset = at, .size = size, .optional = i >= 3 * KINDS && i < 6 * KINDS, .present_bit = (uint8_t)(i % (3 * KINDS))};
        ev->size = at + size;
    }
    ev->size = (ev->size + 7) & ~7u;
    ir->events = ev;
    ir->nevents = 1;
}
static rdn_id operand(char c, unsigned k, enum place p, struct rdn_cell constant) {
    const struct rdn_type *t = type_of(c, 2);
    if (p == CONST)
        return node(RDN_OP_CONST, rdn_cell_of(t), t->scale, t, 0, 0, 0, rdn_ir_const(ir, rdn_cell_of(t), t->scale, t, &constant));
    if (p == PARAM)
        return source(RDN_OP_PARAM, t, param_no(c, k));
    return source(RDN_OP_FIELD, t, field_no(c, k, p == OPTIONAL));
}
/* Rules that use sixteen other floats more often than anything else, so that those take the registers. */
static rdn_id filler(unsigned i) {
    rdn_id x = source(RDN_OP_FIELD, t_f, 6 * KINDS + i), y = source(RDN_OP_FIELD, t_f, 6 * KINDS + (i + 1) % FILL);
    return node(RDN_OP_LT, RDN_TY_B1, 0, t_b, x, node(RDN_OP_ADD, RDN_TY_F64, 0, t_f, x, node(RDN_OP_MUL, RDN_TY_F64, 0, t_f, x, y, 0, 0), 0, 0), 0, 0);
}
static rdn_id f64_two(unsigned op, rdn_id a, rdn_id b) {
    const rdn_id v[2] = {a, b};
    return rdn_ir_node_n(ir, op, RDN_TY_F64, 0, t_f, v, 2, 0, 0, rdn_ir_span(ir, 0, 1), 0);
}
static rdn_id sign_form(const struct opcase *o, const rdn_id *v) {
    const struct rdn_cell most = {.f = 7.0}, least = {.f = -7.0};
    rdn_id q = node(o->op, RDN_TY_F64, 0, t_f, v[2], f64_two(o->inner, v[0], v[1]), 0, 0);
    q = f64_two(RDN_OP_MIN, q, operand('f', 0, CONST, most));
    return f64_two(RDN_OP_MAX, q, operand('f', 0, CONST, least));
}
static rdn_id expression(const struct opcase *o, const enum place *places, const struct rdn_cell *consts) {
    rdn_id v[3] = {0};
    unsigned n = (unsigned)strlen(o->args);
    for (unsigned i = 0; i < n; i++)
        v[i] = operand(o->args[i], i, places[i], consts[i]);
    if (o->form == SIGN)
        return sign_form(o, v);
    if (o->form != PLAIN) {
        const struct rdn_type *t = type_of(o->ret, o->inner_scale);
        rdn_id x = node(o->inner, cell_type(o->ret), o->inner_scale, t, v[0], v[1], 0, 0), y = v[2];
        if (o->form == BOTH)
            y = node(o->inner, cell_type(o->ret), o->inner_scale, t, v[2], v[0], 0, 0);
        v[0] = o->form == RIGHT ? y : x;
        v[1] = o->form == RIGHT ? x : y;
        v[2] = 0;
        n = 2;
    }
    if (o->nary)
        return rdn_ir_node_n(ir, o->op, cell_type(o->ret), o->scale, type_of(o->ret, o->scale), v, n, 0, 0, rdn_ir_span(ir, 0, 1), 0);
    return node(o->op, cell_type(o->ret), o->scale, type_of(o->ret, o->scale), v[0], v[1], v[2], 0);
}
static void make_window(rdn_id value, const struct rdn_type *t) {
    struct rdn_window *w = rdn_new(&arena, struct rdn_window);
    static const struct rdn_type *kt[1];
    kt[0] = t_i;
    *w = (struct rdn_window){.name = "w", .agg = RDN_AGG_LAST, .rtype = t, .vtype = t, .ktypes = kt, .nkeys = 1, .value = value, .canon = "w", .warmup = 1, .cap = 4};
    w->keys = rdn_new(&arena, rdn_id);
    w->keys[0] = source(RDN_OP_FIELD, t_i, field_no('i', 0, false));
    ir->windows = w;
    ir->nwindows = 1;
}
static rdn_id side(unsigned op, const struct rdn_type *t, unsigned field, struct rdn_cell than) {
    rdn_id c = node(RDN_OP_CONST, rdn_cell_of(t), 0, t, 0, 0, 0, rdn_ir_const(ir, rdn_cell_of(t), 0, t, &than));
    return node(op, RDN_TY_B1, 0, t_b, source(RDN_OP_FIELD, t, F_SIDE + field), c, 0, 0);
}
/* The clause among others: an integer one before it, one that is worth a jump, a float. */
static rdn_id beside(unsigned op, rdn_id clause) {
    static const struct rdn_cell three = {.i = 3}, five = {.i = 5}, half = {.f = 0.5};
    const rdn_id v[4] = {side(RDN_OP_LT, t_i, 0, three), clause, side(RDN_OP_EQ, t_i, 1, five), side(RDN_OP_LT, t_f, 2, half)};
    rdn_id all = v[0];
    for (unsigned i = 1; i < 4; i++)
        all = node(op, RDN_TY_B1, 0, t_b, all, v[i], 0, 0);
    return all;
}
static void add_rule(rdn_id when) { ir->rules[ir->nrules++] = (struct rdn_rule){.name = "r", .when = when}; }
static unsigned turn;                                   /* of the shapes of INLINE: bare clauses, then clauses beside others */
static void make_rules(const struct opcase *o, rdn_id x, enum use use) {
    static const uint8_t cmp[3] = {RDN_OP_EQ, RDN_OP_LT, RDN_OP_LE};
    rdn_id clause[3], k = source(RDN_OP_PARAM, type_of(o->ret, o->scale), P_EXPECT);
    for (unsigned i = 0; i < 3; i++)
        clause[i] = o->ret == 'b' && i ? x : node(cmp[i], RDN_TY_B1, 0, t_b, x, k, 0, 0);
    for (unsigned i = 0; i < 3 && use != INLINE; i++)
        add_rule(clause[i]);
    if (use == SHARED) {
        add_rule(beside(RDN_OP_AND, clause[1]));
        add_rule(beside(RDN_OP_OR, node(RDN_OP_NOT, RDN_TY_B1, 0, t_b, clause[2], 0, 0, 0)));
    }
    if (use == INLINE) {
        turn++;
        add_rule(turn / 3 % 2 ? beside(RDN_OP_AND, clause[turn % 3]) : clause[turn % 3]);
    }
}
static unsigned first;                                  /* of the rules that make_rules adds */
static void make_ir(const struct opcase *o, const enum place *places, const struct rdn_cell *consts, enum use use) {
    bool memory = false;
    rdn_arena_init(&arena, &rdn_libc_mem);
    ir = rdn_ir_new(&arena, syms);
    t_b = rdn_type_simple(ir->types, RDN_K_BOOL), t_i = rdn_type_simple(ir->types, RDN_K_INT), t_f = rdn_type_simple(ir->types, RDN_K_FLOAT);
    t_date = rdn_type_simple(ir->types, RDN_K_DATE), t_sym = rdn_type_simple(ir->types, RDN_K_SYM);
    for (unsigned s = 0; s < 19; s++)
        t_d[s] = rdn_type_dec(ir->types, s);
    make_event();
    ir->params = rdn_new_n(&arena, struct rdn_param, NPARAMS);
    ir->nparams = NPARAMS;
    for (unsigned i = 0; i < P_EXPECT; i++)
        ir->params[i] = (struct rdn_param){.name = "p", .type = type_of(kinds[i / 3], 2)};
    ir->params[P_EXPECT] = (struct rdn_param){.name = "expect", .type = type_of(o->ret, o->scale)};
    for (unsigned i = 0; i < strlen(o->args); i++)
        memory |= places[i] == MEMORY;
    ir->rules = rdn_new_n(&arena, struct rdn_rule, 7 + 3 * FILL);
    rdn_id x = expression(o, places, consts);
    first = memory;
    if (memory)                                          /* its constant is read last, and the event has many rules */
        add_rule(side(RDN_OP_LT, t_f, 2, (struct rdn_cell){.f = 0.5}));
    make_rules(o, x, use);
    for (unsigned i = 0; memory && i < 3 * FILL; i++)
        add_rule(filler(i % FILL));
    value = x;
    if (use == ITEM)
        make_window(x, type_of(o->ret, o->scale));
    rdn_ir_seal(ir);
}

/* ---- the calling convention ---- */
static void check_convention(const struct rdn_unit *u, const uint8_t *row, const char *what) {
    const struct rdn_unit_event *ev = &u->events[0];
    uint8_t *maps[2];
    size_t lens[2];
    uint8_t *block = guarded(rdn_block_bytes(ev->plan), &maps[0], &lens[0]), *own = guarded(ir->events[0].size, &maps[1], &lens[1]);
    memcpy(own, row, ir->events[0].size);
    rdn_native *fs[2] = {ev->operands[0], ev->rules};
    for (unsigned i = 0; i < 2; i++) {
        struct probe p;
        if (!fs[i])
            continue;
        call_probe(fs[i], block, own, &p);
        for (unsigned r = 0; r < PROBE_SAVED; r++)
            check(p.saved[r] == 0x1111111111111111u * (r + 1), "%s: callee-saved register %u", what, r);
        check(p.sp_before == p.sp_after, "%s: stack pointer", what);
        check(rdn_fpmode_ok(p.fpmode), "%s: floating-point mode %x", what, p.fpmode);
        check(!p.upper[0] && !p.upper[1], "%s: upper halves", what);
    }
    check(!memcmp(own, row, ir->events[0].size), "%s: the row was written to", what);
    munmap(maps[0], lens[0]);
    munmap(maps[1], lens[1]);
}

/* ---- one case ----
 * Each has code memory of its own: an emulator may miss that code was replaced through the other view (qemu before 8.1 does), and
 * keeps tables of every page it saw (of 64 MiB a case: 15 GB). */
enum { ARENA_BYTES = 1 << 20 };
struct bench { struct rdn_jit *jit; struct rdn_program *pi, *px; struct rdn_frame *fi, *fx; struct fake lane; struct rdn_cell params[NPARAMS]; uint8_t *row; };
static uint64_t compared, given_back;

static void put(struct bench *k, char c, unsigned i, enum place p, const struct rdn_cell *v) {
    const struct rdn_field *f = &ir->events[0].fields[field_no(c, i, p == OPTIONAL)];
    if (p == PARAM)
        k->params[param_no(c, i)] = *v;
    else if (p != CONST)
        memcpy(k->row + f->offset, &v->i, f->size);      /* little-endian: a narrow field has the low bytes */
}
static void put_side(struct bench *k) {
    const struct rdn_field *f = ir->events[0].fields + F_SIDE;
    uint64_t r = rnd();
    int64_t i[2] = {r & 1 ? 2 : 4, r & 2 ? 6 : 5};
    double half = r & 12 ? 0.25 : r & 16 ? 0.75 : (double)NAN;
    memcpy(k->row + f[0].offset, &i[0], 8);
    memcpy(k->row + f[1].offset, &i[1], 8);
    memcpy(k->row + f[2].offset, &half, 8);
}
static void compare(struct bench *k, const char *what) {
    struct rdn_frame_head *a = rdn_frame_head(k->fi), *b = rdn_frame_head(k->fx);
    struct rdn_winput x = {0}, y = {0};
    rdn_frame_params_changed(k->fx);
    rdn_exec_begin(k->fi, 0, k->row, 5, 5);
    rdn_exec_begin(k->fx, 0, k->row, 5, 5);
    if (ir->nwindows) {
        enum rdn_enter p = rdn_exec_window(k->fi, 0, &x), q = rdn_exec_window(k->fx, 0, &y);
        bool wide = ir->windows[0].vtype->kind == RDN_K_DEC;
        check(p == q, "%s: window enters %d, native %d", what, p, q);
        check(p != RDN_ENTER || (wide ? x.val.d == y.val.d : x.val.i == y.val.i), "%s: value %llx, native %llx", what, (long long)x.val.i, (long long)y.val.i);
    }
    rdn_exec_rules(k->fi, RDN_EARLY);
    rdn_exec_rules(k->fx, RDN_EARLY);
    check(a->fired[0] == b->fired[0] && a->undef[0] == b->undef[0], "%s: fired %llx undef %llx, native %llx %llx", what, (long long)a->fired[0],
          (long long)a->undef[0], (long long)b->fired[0], (long long)b->undef[0]);
    compared++;
}
static void describe(char *out, size_t n, const struct opcase *o, const enum place *places, const struct rdn_cell *v, enum use use) {
    int at = snprintf(out, n, "%s: %s%s%s->%c(", use_text[use], rdn_op_text(o->op), o->form ? " of " : "", o->form ? rdn_op_text(o->inner) : "", o->ret);
    for (unsigned i = 0; o->args[i]; i++)
        at += o->args[i] == 'f' ? snprintf(out + at, n - (size_t)at, "%s %.17g ", place_text[places[i]], v[i].f)
                                : snprintf(out + at, n - (size_t)at, "%s %lld ", place_text[places[i]], (long long)v[i].i);
}
/* The parameter that results are compared with: `want`, its neighbour below or above. */
static void expect(struct bench *k, const struct opcase *o, const struct rdn_cell *want, int d) {
    struct rdn_cell *p = &k->params[P_EXPECT];
    *p = *want;
    p->cause = 0;
    if (o->ret == 'd')                                   /* a parameter has 64 bits */
        p->d = (int64_t)((uint64_t)want->d + (uint64_t)d);
    else
        p->i = o->ret == 'b' ? (want->i ^ d) & 1 : (int64_t)((uint64_t)want->i + (uint64_t)d);
    if (o->ret == 'f' && want->f != want->f)
        p->f = d;
}
/* Values for every operand, then the expected one and a neighbour as the parameter it is compared with. */
static void one_row(struct bench *k, const struct opcase *o, const enum place *places, struct rdn_cell *v, enum use use) {
    char what[200];
    struct rdn_cell want;
    describe(what, sizeof what, o, places, v, use);
    put_side(k);
    for (unsigned i = 0; o->args[i]; i++)
        put(k, o->args[i], i, places[i], &v[i]);
    rdn_exec_begin(k->fi, 0, k->row, 5, 5);
    rdn_exec_value(k->fi, value, &want);
    for (int i = 0; i < 2; i++) {
        int d = !i ? 0 : rnd() & 1 ? 1 : -1;
        expect(k, o, &want, d);
        compare(k, what);
    }
}
/* Rows of edge values mixed in one batch, against the value one of them has: every lane meets every edge. */
static struct batch_counts batched[BATCH_FORMS];
static void batch_case(struct bench *k, const struct opcase *o, const enum place *places, const struct rdn_cell *consts, struct batch_kit *kit) {
    enum { ROWS = 61 };
    size_t size = ir->events[0].size;
    uint8_t *rows = malloc(ROWS * size), *own = k->row;
    int64_t now[ROWS];
    for (unsigned r = 0; r < ROWS; r++) {
        k->row = memcpy(rows + r * size, own, size);
        put_side(k);
        for (unsigned i = 0; o->args[i]; i++) {
            struct rdn_cell v = places[i] == CONST ? consts[i] : edge(o->args[i], rnd());
            if (o->args[i] == 'f' && v.f - v.f != 0 && below(8))     /* a mark each: few */
                v.f = (double)below(1000) - 500;
            if (places[i] != PARAM || !r)
                put(k, o->args[i], i, places[i], &v);
        }
        memset(k->row + 8, below(16) ? 0xff : (int)below(256), 8);
        now[r] = 5;
    }
    struct rdn_cell want;
    rdn_exec_begin(k->fi, 0, rows + below(ROWS) * size, 5, 5);
    rdn_exec_value(k->fi, value, &want);
    expect(k, o, &want, (int)below(3) - 1);
    rdn_frame_params_changed(kit->fx);
    batch_compare(kit, 0, rows, size, ROWS, now);
    k->row = own;
    free(rows);
}
/* Every form of vector code; the tables, which have other tests, in turn. */
static void batch_cases(struct bench *k, const struct opcase *o, const enum place *places, const struct rdn_cell *consts, const char *what) {
    static uint64_t turn_of_tables;
    turn_of_tables++;
    for (uint64_t i = 0; i < BATCH_FORMS; i++) {
        struct batch_form *f = &batch_forms[i];
        redan_error err = {0};
        if (f->how == RDN_JIT_BATCH_TABLE && i % 3 != turn_of_tables % 3 && BATCH_FORMS > 1)
            continue;
        struct rdn_program *p = batch_form_open(ir, NATIVE, 0, f);
        if (!p)
            continue;
        struct batch_kit kit = {.ir = ir, .px = p, .fi = k->fi, .what = what, .counts = batched[i]};
        assert_int_equal(rdn_frame_open(p, &fake_helpers, &k->lane, k->params, &rdn_libc_mem, &kit.fx, &err), 0);
        batch_case(k, o, places, consts, &kit);
        batched[i] = kit.counts;
        rdn_frame_close(kit.fx);
        batch_form_close(f, p);
    }
}
static void bench_open(struct bench *k, const struct opcase *o, const enum place *places, const struct rdn_cell *consts, enum use use) {
    redan_error err = {0};
    memset(k, 0, sizeof *k);
    make_ir(o, places, consts, use);
    check(!rdn_jit_open(&(struct rdn_jit_options){.arena_bytes = ARENA_BYTES, .batch = RDN_JIT_BATCH_OFF}, &rdn_libc_mem, &k->jit, &err), "%s", err.text);
    check(!rdn_program_open(ir, "interp", &rdn_libc_mem, &k->pi, &err), "%s", err.text);
    check(!rdn_program_open_in(k->jit, ir, NATIVE, &rdn_libc_mem, &k->px, &err), "%s", err.text);
    k->lane.ir = ir;
    assert_int_equal(rdn_frame_open(k->pi, &fake_helpers, &k->lane, k->params, &rdn_libc_mem, &k->fi, &err), 0);
    assert_int_equal(rdn_frame_open(k->px, &fake_helpers, &k->lane, k->params, &rdn_libc_mem, &k->fx, &err), 0);
    k->row = calloc(1, ir->events[0].size);
    memset(k->row + 8, 0xff, 8);                         /* all optional fields are there */
    for (unsigned i = 0; i < FILL; i++) {
        double d = i + 0.5;
        memcpy(k->row + ir->events[0].fields[6 * KINDS + i].offset, &d, 8);
    }
}
static void bench_close(struct bench *k) {
    free(k->row);
    rdn_frame_close(k->fi);
    rdn_frame_close(k->fx);
    rdn_program_close(k->pi);
    rdn_program_close(k->px);
    rdn_jit_close(k->jit);
    rdn_arena_fini(&arena);
}
static void run_case(const struct opcase *o, const enum place *places, struct rdn_cell *consts, enum use use) {
    struct bench k;
    bench_open(&k, o, places, consts, use);
    unsigned n = (unsigned)strlen(o->args);
    size_t na = places[0] == CONST ? 1 : edges(o->args[0]), nb = n < 2 || places[1] == CONST ? 1 : edges(o->args[1]), nc = n < 3 ? 1 : DRAWS;
    for (size_t a = 0; a < na; a++)
        for (size_t b = 0; b < nb; b++)
            for (size_t c = 0; c < nc; c++) {
                struct rdn_cell v[3] = {edge(o->args[0], a), edge(n > 1 ? o->args[1] : 'i', b), edge(n > 2 ? o->args[2] : 'i', rnd())};
                for (unsigned i = 0; i < n; i++)
                    if (places[i] == CONST)
                        v[i] = consts[i];
                one_row(&k, o, places, v, use);
            }
    char what[200];
    describe(what, sizeof what, o, places, consts, use);
    check_convention(k.px->x, k.row, what);
    batch_cases(&k, o, places, consts, what);
    struct rdn_run_counts counts;
    rdn_run_counts(k.fx, &counts);
    for each(i, counts.cold)
        given_back += counts.cold[i];
    const struct rdn_plan *pl = ((const struct rdn_unit *)k.px->x)->events[0].plan;
    /* Two divisions beside other clauses may need more registers than there are. */
    check(pl->rules[first].how != RDN_RULE_INTERP || (use == INLINE && o->form == BOTH), "%s: not native", what);
    bench_close(&k);
}

static uint64_t every = 1, nth;
static void test_ops(void **state) {
    (void)state;
    for each(i, ops) {
        const struct opcase *o = &ops[i];
        unsigned n = (unsigned)strlen(o->args);
        for (unsigned pa = 0; pa < PLACES; pa++)
            for (unsigned pb = 0; pb < (n > 1 ? PLACES : 1u); pb++) {
                enum place places[3] = {(enum place)pa, (enum place)pb, (enum place)((pa + pb) % PLACES)};
                unsigned consts = 0;
                for (unsigned k = 0; k < n; k++)
                    consts += places[k] == CONST;
                if (consts == n)
                    continue;                            /* folded: nothing of it is left */
                for (unsigned rep = 0; rep < (consts ? DRAWS + 1u : 1u); rep++) {
                    struct rdn_cell v[3] = {edge(o->args[0], rnd()), edge(n > 1 ? o->args[1] : 'i', rnd()), edge(n > 2 ? o->args[2] : 'i', rnd())};
                    for (unsigned k = 0; k < n; k++)
                        if (o->args[k] == 'f' && v[k].f != v[k].f)
                            v[k].f = -7.25;              /* no literal is NaN; as operands of fields they were met */
                    for (unsigned use = 0; use < USES; use++)
                        if (nth++ % every == 0)
                            run_case(o, places, v, (enum use)use);
                }
            }
    }
    for (unsigned i = 0; i < BATCH_FORMS; i++)
        print_message("batches by %s, %s: %llu events, %llu marked, %llu answers, %llu fired\n", batch_forms[i].how == RDN_JIT_BATCH_TABLE ? "table" : "x64v",
                      batch_forms[i].vectors, (unsigned long long)batched[i].events, (unsigned long long)batched[i].marked,
                      (unsigned long long)batched[i].rules, (unsigned long long)batched[i].fired);
    batch_forms_end();
    print_message("%llu comparisons, %llu rules given back to interp\n", (unsigned long long)compared, (unsigned long long)given_back);
}

/* ---- failures ---- */
static const struct rdn_cell no_consts[3];
/* A unit whose RULES function answers wrongly is found by the self-check. */
static void wrong_rules(void *block, const uint8_t *row) {
    (void)row;
    memset((uint8_t *)block + RDN_BLOCK_SLOTS, 0xff, 64);
}
static void test_selfcheck_finds(void **state) {
    (void)state;
    const enum place places[3] = {FIELD, FIELD, FIELD};
    const struct opcase add = O(ADD, 'i', 0, "ii", 0);
    struct rdn_program *p;
    redan_error err = {0};
    make_ir(&add, places, no_consts, SHARED);
    rdn_selfcheck_us = 0;
    assert_int_equal(rdn_program_open(ir, NATIVE, &rdn_libc_mem, &p, &err), 0);
    assert_int_equal(rdn_selfcheck(p, 500, &err), 0);
    ((struct rdn_unit *)p->x)->events[0].rules = wrong_rules;
    assert_int_equal(rdn_selfcheck(p, 500, &err), REDAN_E_NOSUP);
    assert_string_equal(err.id, "R2105");
    check(!strncmp(err.text, NATIVE " and interp differ on ", 25), "%s", err.text);
    rdn_program_close(p);
    rdn_arena_fini(&arena);
}

/* Where nothing may be executable, `auto` takes table and says why; `x64` is refused. */
static int child_noexec(void) {
    const enum place places[3] = {FIELD, FIELD, FIELD};
    const struct opcase add = O(ADD, 'i', 0, "ii", 0);
    struct rdn_program *p = NULL;
    redan_error err = {0};
    make_ir(&add, places, no_consts, SHARED);
    if (!deny_exec()) {
        print_message("no filter on system calls can be set here\n");
        return fflush(NULL), 77;
    }
    if (rdn_program_open(ir, NATIVE, &rdn_libc_mem, &p, &err) != REDAN_E_NOSUP || strcmp(err.id, "R2101"))
        return 1;
    if (rdn_program_open(ir, "auto", &rdn_libc_mem, &p, &err) || strcmp(rdn_program_info(p)->backend, "table"))
        return 2;
    const char *want = "R2101 no executable memory (mmap: Permission denied)";
    return strcmp(rdn_program_info(p)->note, want) ? 3 : 0;
}
static void test_no_executable_memory(void **state) {
    (void)state;
    check_in_child(child_noexec);
}

/* A rule set whose code is too large: `auto` takes table, machine code that is asked for is refused. */
static void test_too_large(void **state) {
    (void)state;
    const enum place places[3] = {MEMORY, MEMORY, FIELD};    /* fifty rules */
    const struct opcase add = O(ADD, 'f', 0, "ff", 0);
    struct rdn_program *p = NULL;
    redan_error err = {0};
    make_ir(&add, places, no_consts, SHARED);
    rdn_unit_most = 1024;
    check(rdn_program_open(ir, NATIVE, &rdn_libc_mem, &p, &err) == REDAN_E_FULL && !strcmp(err.id, "R2104"), "%s %s", err.id, err.text);
    check(strstr(err.text, "unit") && strstr(err.text, "MiB at"), "%s", err.text);
    check(!rdn_program_open(ir, "auto", &rdn_libc_mem, &p, &err), "%s %s", err.id, err.text);
    check(!strcmp(rdn_program_info(p)->backend, "table") && !strncmp(rdn_program_info(p)->note, "R2104 ", 6), "%s, %s", rdn_program_info(p)->backend,
          rdn_program_info(p)->note);
    rdn_unit_most = RDN_UNIT_MAX;
    rdn_program_close(p);
    check(!rdn_program_open(ir, NATIVE, &rdn_libc_mem, &p, &err), "%s", err.text);
    rdn_program_close(p);
    rdn_arena_fini(&arena);
}

/* ---- keys ----
 * Every mixture of three kinds of field, two and one as the key of a window that counts, made by native code: words and hash as interp's. */
static const char key_kinds[] = "idbts";
static void make_key_ir(const char *kinds_of) {
    static const struct rdn_type *kt[3];
    static const enum place fields[3] = {FIELD, FIELD, FIELD};
    const struct opcase none = O(NOT, 'b', 0, "b", 0);
    make_ir(&none, fields, no_consts, ITEM);
    struct rdn_window *w = ir->windows;
    w->agg = RDN_AGG_COUNT, w->rtype = t_i, w->vtype = NULL, w->value = 0, w->ktypes = kt;
    w->keys = rdn_new_n(&arena, rdn_id, 3);
    for (w->nkeys = 0; kinds_of[w->nkeys]; w->nkeys++) {
        kt[w->nkeys] = type_of(kinds_of[w->nkeys], 2);
        w->keys[w->nkeys] = source(RDN_OP_FIELD, kt[w->nkeys], field_no(kinds_of[w->nkeys], w->nkeys, false));
    }
}
static void key_case(const char *kinds_of) {
    struct bench k = {0};
    redan_error err = {0};
    make_key_ir(kinds_of);
    rdn_ir_seal(ir);
    check(!rdn_jit_open(&(struct rdn_jit_options){.arena_bytes = ARENA_BYTES, .batch = RDN_JIT_BATCH_OFF}, &rdn_libc_mem, &k.jit, &err), "%s", err.text);
    check(!rdn_program_open(ir, "interp", &rdn_libc_mem, &k.pi, &err) && !rdn_program_open_in(k.jit, ir, NATIVE, &rdn_libc_mem, &k.px, &err), "%s", err.text);
    k.lane.ir = ir;
    assert_int_equal(rdn_frame_open(k.pi, &fake_helpers, &k.lane, k.params, &rdn_libc_mem, &k.fi, &err), 0);
    assert_int_equal(rdn_frame_open(k.px, &fake_helpers, &k.lane, k.params, &rdn_libc_mem, &k.fx, &err), 0);
    k.row = calloc(1, ir->events[0].size);
    for (unsigned e = 0; e < 2 * N_OF(edge_i64); e++) {
        struct rdn_winput x = {0}, y = {0};
        for (unsigned i = 0; kinds_of[i]; i++) {
            struct rdn_cell v = edge(kinds_of[i], i ? rnd() : e);
            put(&k, kinds_of[i], i, FIELD, &v);
        }
        rdn_exec_begin(k.fi, 0, k.row, 5, 5);
        rdn_exec_begin(k.fx, 0, k.row, 5, 5);
        enum rdn_enter p = rdn_exec_window(k.fi, 0, &x), q = rdn_exec_window(k.fx, 0, &y);
        check(p == RDN_ENTER && q == p, "key %s: interp enters %d, native %d", kinds_of, p, q);
        check(x.key->words == y.key->words && x.key->hash == y.key->hash && !memcmp(x.key->w, y.key->w, 8 * (size_t)x.key->words), "key %s: row %u", kinds_of, e);
        compared++;
    }
    check(NATIVE[0] == 'a' || ((const struct rdn_unit *)k.px->x)->events[0].native_keys, "key %s: not native", kinds_of);
    bench_close(&k);
}
static void test_keys(void **state) {
    (void)state;
    enum { K = sizeof key_kinds - 1 };
    for (unsigned n = 0; n < (K + 1) * (K + 1) * K; n++) {
        char of[4] = {key_kinds[n % K]};
        if (n / K % (K + 1))
            of[1] = key_kinds[n / K % (K + 1) - 1];
        if (of[1] && n / K / (K + 1))
            of[2] = key_kinds[n / K / (K + 1) - 1];
        key_case(of);
    }
}

/* A forked child has no code any more: it is told to close, and until then judges through interp. */
static struct bench forked;
static int child_judges(void) {
    for (int64_t v = -2; v <= 2; v++) {
        forked.params[P_EXPECT].i = 7 + v;
        rdn_frame_params_changed(forked.fx);
        rdn_exec_begin(forked.fx, 0, forked.row, 5, 5);
        rdn_exec_rules(forked.fx, RDN_EARLY);
        if ((rdn_frame_head(forked.fx)->fired[0] & 3) != (v == 0 ? 1u : v > 0 ? 2u : 0u))
            return 1;
    }
    return 0;
}
static void test_forked_child(void **state) {
    (void)state;
    const enum place places[3] = {FIELD, FIELD, FIELD};
    const struct opcase add = O(ADD, 'i', 0, "ii", 0);
    redan_error err = {0};
    make_ir(&add, places, no_consts, SHARED);
    assert_int_equal(rdn_program_open(ir, NATIVE, &rdn_libc_mem, &forked.px, &err), 0);
    assert_int_equal(rdn_frame_open(forked.px, &fake_helpers, &forked.lane, forked.params, &rdn_libc_mem, &forked.fx, &err), 0);
    forked.row = calloc(1, ir->events[0].size);
    struct rdn_cell three = {.i = 3}, four = {.i = 4};
    put(&forked, 'i', 0, FIELD, &three);
    put(&forked, 'i', 1, FIELD, &four);
    assert_int_equal(child_judges(), 0);
    assert_int_equal(in_child(child_judges), 0);
    free(forked.row);
    rdn_frame_close(forked.fx);
    rdn_program_close(forked.px);
    rdn_arena_fini(&arena);
}

/* ---- --bench ---- */
static double ns_per_call(const struct opcase *o, const enum place *places, const struct rdn_cell *v) {
    enum { CALLS = 20000, ROUNDS = 7 };
    struct bench k;
    double best = 1e9;
    turn = 0;                                            /* a bare < */
    bench_open(&k, o, places, v, INLINE);
    for (unsigned i = 0; o->args[i]; i++)
        put(&k, o->args[i], i, places[i], &v[i]);
    rdn_frame_params_changed(k.fx);
    for (unsigned r = 0; r < ROUNDS; r++) {
        int64_t t0 = rdn_mono_ns();
        for (unsigned i = 0; i < CALLS; i++) {
            rdn_exec_begin(k.fx, 0, k.row, 5, 5);
            rdn_exec_rules(k.fx, RDN_EARLY);
        }
        double ns = (double)(rdn_mono_ns() - t0) / CALLS;
        best = ns < best ? ns : best;
    }
    bench_close(&k);
    return best;
}
static int bench(void) {
    const struct opcase nothing = O(NOT, 'b', 0, "b", 0);
    static const enum place first[3] = {FIELD}, second[3] = {MEMORY};
    static const struct { char kind; struct rdn_cell v[3]; } ordinary[] = {
        {'i', {{.i = 123456}, {.i = 17}, {.i = 5}}}, {'f', {{.f = 123.5}, {.f = 17.25}, {.f = 5.0}}}, {'d', {{.d = 12345}, {.d = 171}, {.d = 55}}},
        {'b', {{.i = 1}, {.i = 0}, {.i = 1}}}, {'t', {{.i = 20000}, {.i = 19000}, {.i = 1}}}, {'s', {{.i = 3}, {.i = 4}, {.i = 3}}}};
    const double base[3] = {ns_per_call(&nothing, first, ordinary[3].v), ns_per_call(&nothing, second, ordinary[3].v), ns_per_call(&nothing, first, ordinary[3].v)};
    printf("%-24s %8s %8s %8s   ns above a rule that reads a bool (%.1f ns with the runner)\n", "operation", "field", "memory", "constant", base[0]);
    for each(i, ops) {
        struct rdn_cell v[3] = {{.i = 0}};
        for (unsigned a = 0; ops[i].args[a]; a++)
            for each(k, ordinary)
                if (ordinary[k].kind == ops[i].args[a])
                    v[a] = ordinary[k].v[a];
        printf("%-5s %-5s %-12s", rdn_op_text(ops[i].op), ops[i].form ? rdn_op_text(ops[i].inner) : "", ops[i].args);
        for (unsigned p = FIELD; p <= CONST; p++) {
            const enum place places[3] = {FIELD, (enum place)p, FIELD}, one[3] = {(enum place)p, FIELD, FIELD};
            if (p == CONST && !ops[i].args[1])
                printf(" %8s", "-");
            else
                printf(" %8.2f", ns_per_call(&ops[i], ops[i].args[1] ? places : one, v) - base[p]);
        }
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv) {
    if (PROBE_LACKS) {
        printf("skipped: this CPU lacks %s\n", PROBE_LACKS);
        return 77;
    }
    rdn_syms_open(&syms, &rdn_libc_mem, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ops), cmocka_unit_test(test_selfcheck_finds),
                                       cmocka_unit_test(test_no_executable_memory), cmocka_unit_test(test_too_large), cmocka_unit_test(test_keys), cmocka_unit_test(test_forked_child)};
    if (argc > 2 && !strcmp(argv[1], "--every"))
        every = strtoull(argv[2], NULL, 10), nth = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL) / 86400;
    int rc = argc > 1 && !strcmp(argv[1], "--bench") ? bench() : cmocka_run_group_tests(tests, NULL, NULL);
    rdn_syms_close(syms);
    return rc;
}
