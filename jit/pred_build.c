/* SPDX-License-Identifier: Apache-2.0
 * pred_build.c: from the plan of an event type to a predicate program (pred.h).
 *
 * Walks down from the roots and gives each node a place: a cell or a truth value. What makes it is put into a group of its
 * level (one more than what it needs) and kind, which becomes a step. Runs too short to pay become predicates with a cell of
 * their own each. Truth values have provisional numbers until the groups have their sizes. */
#include "jit/exec.h"
#include "jit/pred.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_MIN = 12, RECENT = 256, NONE = -1 };
#define NO_RULE UINT32_MAX

struct place { uint8_t home; uint16_t level; uint32_t at; };
struct group_key { uint32_t level, kind, cell; };
struct group { struct group_key key; struct group *instead; uint32_t n, out, filled; struct rdn_pred_step *step; };
struct truth { uint32_t at, rule; };
struct pred { struct group *g; uint32_t t, guard, x, y; union rdn_pred_word k, l, c; };
struct junction { struct group *g; uint32_t t, at, n; };  /* operands: ids[at .. at + n) */
struct op_rec { struct group *g; struct rdn_pred_op op; };
struct build {
    const struct rdn_plan *pl;
    rdn_pid by;                                          /* for blocks: the clause that the rule in work goes by, 0: none */
    bool batch, no_value;                                /* for blocks; some constant is NaN */
    struct rdn_arena *arena, *tmp;
    struct rdn_preds *out;
    struct place *places;                                /* by node */
    struct rdn_map by_key;
    struct group *recent[RECENT];                        /* in front of it */
    RDN_VEC(struct group *) groups;
    RDN_VEC(struct truth) truths;                        /* 0 is false, 1 is true */
    RDN_VEC(struct pred) preds;
    RDN_VEC(struct junction) junctions;
    RDN_VEC(uint32_t) ids;
    RDN_VEC(struct op_rec) ops;
    RDN_VEC(struct rdn_pred_input) words, inputs;
    RDN_VEC(struct rdn_pred_slot) slots;
    RDN_VEC(struct rdn_pred_const) consts;
};

static const struct rdn_pnode *at(const struct build *b, rdn_pid p) { return &b->pl->nodes.v[p]; }
static bool is_const(const struct rdn_pnode *n) { return n->op == RDN_OP_CONST && (n->flags & RDN_P_NATIVE); }
static double f64_of(const struct rdn_pnode *n) { return (union rdn_pred_word){.i = n->lo}.f; }
static unsigned scale_of(const struct rdn_pnode *n) { return n->type == RDN_TY_D64 ? n->scale : 0; }
static uint16_t above(uint16_t level, struct place p) { return p.level >= level ? (uint16_t)(p.level + 1) : level; }

/* ---- groups ---- */
static struct group *find_group(struct build *b, const struct group_key *key) {
    uint32_t i = rdn_map_get(&b->by_key, key, sizeof *key);
    if (i != RDN_MAP_NONE)
        return b->groups.v[i];
    struct group *g = rdn_new(b->tmp, struct group);
    g->key = *key;
    rdn_map_put(&b->by_key, &g->key, sizeof g->key, b->groups.n);
    rdn_push_val(b->tmp, &b->groups, g);
    return g;
}
static struct group *group_at(struct build *b, uint32_t level, uint32_t kind, uint32_t cell) {
    struct group_key key = {level, kind, cell};
    struct group **recent = &b->recent[(kind * 37 + cell * 5 + level) % RECENT];
    if (!*recent || memcmp(&(*recent)->key, &key, sizeof key) != 0)
        *recent = find_group(b, &key);
    return *recent;
}
static uint32_t new_truth(struct build *b) {
    rdn_push_val(b->tmp, &b->truths, ((struct truth){0, NO_RULE}));
    return b->truths.n - 1;
}
static struct place add_op(struct build *b, unsigned home, uint16_t level, struct rdn_pred_op op) {
    struct group *g = group_at(b, level, RDN_PRED_OPS, 0);
    op.dst = home == RDN_HOME_B ? new_truth(b) : home == RDN_HOME_W ? b->out->nwide++ : b->out->ncells++;
    g->n++;
    rdn_push_val(b->tmp, &b->ops, ((struct op_rec){g, op}));
    return (struct place){(uint8_t)home, level, op.dst};
}
static struct place add_pred(struct build *b, unsigned kind, uint16_t level, uint32_t run_cell, struct pred p) {
    p.g = group_at(b, level, kind, run_cell);
    p.t = new_truth(b);
    p.g->n++;
    rdn_push_val(b->tmp, &b->preds, p);
    return (struct place){RDN_HOME_B, level, p.t};
}

/* ---- leaves ---- */
static struct place value(struct build *b, rdn_pid p);
static struct place truth(struct build *b, rdn_pid p);

static struct place input(struct build *b, const struct rdn_pnode *n, unsigned home) {
    struct rdn_pred_input in = {.cell = b->out->ncells++, .load = RDN_LOAD_SLOW, .column = RDN_PRED_NOW, .is_float = home == RDN_HOME_F};
    if (n->flags & RDN_P_SLOT) {
        in.at = rdn_block_slot(n->slot);
        in.column = n->aux;
        in.is_param = n->op == RDN_OP_PARAM;
        if (!in.is_param)
            rdn_push_val(b->tmp, &b->slots, ((struct rdn_pred_slot){in.cell, n->slot, n->dep, home == RDN_HOME_F}));
    } else if (n->op == RDN_OP_NOW) {
        in.at = RDN_BLOCK_NOW;
    } else if (n->op == RDN_OP_TS) {
        in.load = RDN_LOAD_64;                           /* the row's first word */
        in.column = RDN_COL_TS;
    } else {
        const struct rdn_field *f = &b->pl->ir->events[b->pl->event].fields[n->aux];
        in.at = f->offset;
        in.column = RDN_COL_FIELDS + n->aux;
        in.load = f->size == 8 ? RDN_LOAD_64 : f->size == 1 ? RDN_LOAD_U8 : f->type->kind == RDN_K_DATE ? RDN_LOAD_I32 : RDN_LOAD_U32;
    }
    if (in.load == RDN_LOAD_64)
        rdn_push_val(b->tmp, &b->words, in);
    else
        rdn_push_val(b->tmp, &b->inputs, in);
    return (struct place){(uint8_t)home, 0, in.cell};
}
static struct place constant(struct build *b, const struct rdn_pnode *n, unsigned home) {
    b->no_value |= home == RDN_HOME_F && isnan(f64_of(n));
    rdn_push_val(b->tmp, &b->consts, ((struct rdn_pred_const){b->out->ncells, {.i = n->lo}}));
    return (struct place){(uint8_t)home, 0, b->out->ncells++};
}

/* ---- numbers ---- */
/* n: the node whose value it is, for what may go wrong with it; NULL: nothing. */
static bool may_fail(const struct rdn_pnode *n) {
    return n && ((n->flags & (RDN_P_GUARD | RDN_P_NAN)) || n->op == RDN_OP_DIV || n->op == RDN_OP_MOD || n->op == RDN_OP_F2I);
}
static struct place unary(struct build *b, unsigned home, unsigned code, const struct rdn_pnode *n, struct place a, union rdn_pred_word k) {
    return add_op(b, home, above(1, a), (struct rdn_pred_op){.code = (uint8_t)code, .check = may_fail(n), .a = a.at, .k = k});
}
static struct place binary(struct build *b, unsigned home, unsigned code, const struct rdn_pnode *n, struct place x, struct place y) {
    return add_op(b, home, above(above(1, x), y), (struct rdn_pred_op){.code = (uint8_t)code, .check = may_fail(n), .a = x.at, .b = y.at});
}
static struct place widened(struct build *b, struct place p) { return p.home == RDN_HOME_W ? p : unary(b, RDN_HOME_W, RDN_PC_W_OFI, NULL, p, (union rdn_pred_word){0}); }
/* (double)a / 10^scale */
static struct place floated(struct build *b, rdn_pid p) {
    unsigned scale = scale_of(at(b, p));
    struct place a = value(b, p);
    if (a.home == RDN_HOME_W)
        return unary(b, RDN_HOME_F, RDN_PC_F_OFW, NULL, a, (union rdn_pred_word){.i = scale});
    return unary(b, RDN_HOME_F, RDN_PC_F_OFI, NULL, a, (union rdn_pred_word){.f = (double)rdn_pow10(scale)});
}

/* Codes of an operation on floats, 64 and 128 bits; 0: there is none (F_ADD is never asked for as "none"). */
static int code_of(unsigned op, unsigned home) {
    static const struct { uint8_t op; int16_t f, i, w; } codes[] = {
        {RDN_OP_ADD, RDN_PC_F_ADD, RDN_PC_I_ADD, RDN_PC_W_ADD}, {RDN_OP_SUB, RDN_PC_F_SUB, RDN_PC_I_SUB, RDN_PC_W_SUB},
        {RDN_OP_MUL, RDN_PC_F_MUL, RDN_PC_I_MUL, RDN_PC_W_MUL}, {RDN_OP_DIV, RDN_PC_F_DIV, RDN_PC_I_DIV, NONE},
        {RDN_OP_MOD, NONE, RDN_PC_I_MOD, RDN_PC_W_MOD},         {RDN_OP_NEG, RDN_PC_F_NEG, RDN_PC_I_NEG, RDN_PC_W_NEG},
        {RDN_OP_ABS, RDN_PC_F_ABS, RDN_PC_I_ABS, RDN_PC_W_ABS}, {RDN_OP_MIN, RDN_PC_F_MIN, RDN_PC_I_MIN, RDN_PC_W_MIN},
        {RDN_OP_MAX, RDN_PC_F_MAX, RDN_PC_I_MAX, RDN_PC_W_MAX}, {RDN_OP_SEL, RDN_PC_F_SEL, RDN_PC_I_SEL, RDN_PC_W_SEL},
        {RDN_OP_SQRT, RDN_PC_F_SQRT, NONE, NONE},               {RDN_OP_FLOOR, RDN_PC_F_FLOOR, NONE, NONE},
        {RDN_OP_CEIL, RDN_PC_F_CEIL, NONE, NONE},               {RDN_OP_TRUNC, RDN_PC_F_TRUNC, NONE, NONE},
        {RDN_OP_BAND, NONE, RDN_PC_I_AND, NONE},                {RDN_OP_BOR, NONE, RDN_PC_I_OR, NONE},
        {RDN_OP_BXOR, NONE, RDN_PC_I_XOR, NONE},                {RDN_OP_BNOT, NONE, RDN_PC_I_NOT, NONE},
        {RDN_OP_RESCALE, NONE, RDN_PC_I_SCALE, RDN_PC_W_SCALE},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].op == op)
            return home == RDN_HOME_F ? codes[i].f : home == RDN_HOME_I ? codes[i].i : codes[i].w;
    return NONE;
}

/* A decimal whose 64-bit form may overflow, or that is made of a wide one, has 128 bits; a remainder is never larger. Blocks
 * mark events where it does overflow. */
static unsigned home_of(const struct build *b, const struct rdn_pnode *n, const struct place *v, uint32_t k) {
    bool wide = !b->batch && n->type == RDN_TY_D64 && (n->flags & RDN_P_GUARD) && n->op != RDN_OP_MOD;
    for (uint32_t i = 0; i < k; i++)
        wide |= v[i].home == RDN_HOME_W;
    return n->type == RDN_TY_F64 ? RDN_HOME_F : wide ? RDN_HOME_W : RDN_HOME_I;
}

/* Operands of one home; a fold when there are many, which min and max are. */
static struct place arithmetic(struct build *b, const struct rdn_pnode *n) {
    uint32_t k, first = n->op == RDN_OP_SEL;
    const rdn_pid *args = rdn_pargs(b->pl, n, &k);
    struct place v[8], cond = {0};
    assert(k <= 8);                                      /* the copy makes no min or max of more */
    if (first)
        cond = truth(b, args[0]);
    for (uint32_t i = first; i < k; i++)
        v[i] = value(b, args[i]);
    unsigned home = home_of(b, n, v + first, k - first);
    int code = code_of(n->op, home);
    for (uint32_t i = first; home == RDN_HOME_W && i < k; i++)
        v[i] = widened(b, v[i]);
    if (first)
        return add_op(b, home, above(above(above(1, cond), v[1]), v[2]),
                      (struct rdn_pred_op){.code = (uint8_t)code, .a = cond.at, .b = v[1].at, .c = v[2].at});
    if (k == 1 && (n->op == RDN_OP_MIN || n->op == RDN_OP_MAX))
        return v[0];
    if (k == 1)
        return unary(b, home, (unsigned)code, n, v[0], (union rdn_pred_word){
            .i = n->op == RDN_OP_RESCALE ? (int64_t)rdn_pow10(n->scale - scale_of(at(b, n->a))) : 0});
    struct place acc = v[0];
    for (uint32_t i = 1; i < k; i++)
        acc = binary(b, home, (unsigned)code, n, acc, v[i]);
    return acc;
}

static struct place make_value(struct build *b, rdn_pid p) {
    const struct rdn_pnode *n = at(b, p);
    unsigned leaf_home = n->type == RDN_TY_F64 ? RDN_HOME_F : RDN_HOME_I;
    const union rdn_pred_word none = {0};
    if (is_const(n))
        return constant(b, n, leaf_home);
    if ((n->flags & RDN_P_SLOT) || rdn_pnode_leaf(n))
        return input(b, n, leaf_home);
    switch (n->op) {
    case RDN_OP_RATIO: case RDN_OP_IRATIO: {
        struct place x = floated(b, n->a), y = floated(b, n->b);
        return binary(b, RDN_HOME_F, RDN_PC_F_DIV, n, x, y);
    }
    case RDN_OP_I2F: case RDN_OP_D2F: return floated(b, n->a);
    case RDN_OP_F2I: return unary(b, RDN_HOME_I, RDN_PC_I_OFF, n, value(b, n->a), none);
    case RDN_OP_B2I: return unary(b, RDN_HOME_I, RDN_PC_I_OFB, NULL, truth(b, n->a), none);
    default: return arithmetic(b, n);
    }
}
static struct place value(struct build *b, rdn_pid p) {
    if (!b->places[p].home)
        b->places[p] = make_value(b, p);
    return b->places[p];
}

/* ---- comparisons ---- */
static unsigned four(unsigned op) { return op == RDN_OP_LT ? 0 : op == RDN_OP_LE ? 1 : op == RDN_OP_EQ ? 2 : 3; }
/* Of the six, with the sides exchanged or not. */
static unsigned six(unsigned op, bool swapped) { return op == RDN_OP_EQ ? 4 : op == RDN_OP_NE ? 5 : (op == RDN_OP_LE) + 2u * swapped; }

/* In a block only an operation of its own is looked at for NaN. */
static bool fusable(const struct build *b, const struct rdn_pnode *n) {
    return n->uses <= 1 && !(n->flags & RDN_P_SLOT) && !(b->batch && (n->flags & RDN_P_NAN));
}
struct scaled { struct place x; double k; };
/* k * x where the node is that and nobody else needs it, else 1 * node. */
static struct scaled scaled(struct build *b, rdn_pid p) {
    const struct rdn_pnode *n = at(b, p);
    if (n->op == RDN_OP_MUL && fusable(b, n) && is_const(at(b, n->b)))
        return (struct scaled){value(b, n->a), f64_of(at(b, n->b))};
    return (struct scaled){value(b, p), 1.0};
}
static bool is_sum(const struct build *b, const struct rdn_pnode *n) { return (n->op == RDN_OP_ADD || n->op == RDN_OP_SUB) && fusable(b, n); }
/* Signs are exact: x - y is x + -1 * y, c < s is -s < -c. */
static struct place linear(struct build *b, unsigned op, const struct rdn_pnode *sum, double c, bool swapped) {
    struct scaled x = scaled(b, sum->a), y = scaled(b, sum->b);
    double sign = swapped ? -1.0 : 1.0;
    struct pred p = {.x = x.x.at, .y = y.x.at, .k.f = sign * x.k, .l.f = sum->op == RDN_OP_SUB ? -sign * y.k : sign * y.k, .c.f = sign * c};
    return add_pred(b, RDN_PRED_L_LT + four(op), above(above(1, x.x), y.x), 0, p);
}
static struct place float_compare(struct build *b, const struct rdn_pnode *n) {
    bool left = is_const(at(b, n->a)), right = is_const(at(b, n->b));
    const struct rdn_pnode *k = at(b, left ? n->a : n->b);
    rdn_pid other = left ? n->b : n->a;
    if (left == right || isnan(f64_of(k))) {
        struct scaled x = scaled(b, n->a), y = scaled(b, n->b);
        return add_pred(b, RDN_PRED_P_LT + four(n->op), above(above(1, x.x), y.x), 0,
                        (struct pred){.x = x.x.at, .y = y.x.at, .k.f = x.k, .l.f = y.k});
    }
    if (is_sum(b, at(b, other)))
        return linear(b, n->op, at(b, other), f64_of(k), left);
    struct place x = value(b, other);
    return add_pred(b, RDN_PRED_F_LT + six(n->op, left), above(1, x), x.at, (struct pred){.x = x.at, .c.i = k->lo});
}
static struct place int_compare(struct build *b, const struct rdn_pnode *n) {
    bool left = is_const(at(b, n->a)), right = is_const(at(b, n->b));
    struct place x = value(b, n->a), y = value(b, n->b);
    if (x.home == RDN_HOME_W || y.home == RDN_HOME_W) {
        x = widened(b, x);
        y = widened(b, y);
        return add_pred(b, RDN_PRED_WW_LT + four(n->op), above(above(1, x), y), 0, (struct pred){.x = x.at, .y = y.at});
    }
    if (left == right)
        return add_pred(b, RDN_PRED_II_LT + four(n->op), above(above(1, x), y), 0, (struct pred){.x = x.at, .y = y.at});
    if (left)
        x = y;
    return add_pred(b, RDN_PRED_I_LT + six(n->op, left), above(1, x), x.at, (struct pred){.x = x.at, .c.i = at(b, left ? n->a : n->b)->lo});
}

/* ---- truth values ---- */
static struct place join(struct build *b, bool is_and, const struct place *v, uint32_t n) {
    unsigned kind = is_and ? (n <= 5 ? RDN_PRED_AND1 + n - 1 : RDN_PRED_ANDN) : n <= 3 ? RDN_PRED_OR2 + n - 2 : RDN_PRED_ORN;
    struct junction j = {.t = new_truth(b), .at = b->ids.n, .n = n};
    uint16_t level = 1;
    for (uint32_t i = 0; i < n; i++) {
        level = above(level, v[i]);
        rdn_push_val(b->tmp, &b->ids, v[i].at);
    }
    j.g = group_at(b, level, kind, kind == RDN_PRED_ANDN || kind == RDN_PRED_ORN ? n : 0);
    j.g->n++;
    rdn_push_val(b->tmp, &b->junctions, j);
    return (struct place){RDN_HOME_B, level, j.t};
}
static uint32_t place_of_by(const struct build *b, const rdn_pid *v, uint32_t n) {
    uint32_t i = 0;
    while (b->by && i < n && v[i] != b->by)
        i++;
    return b->by ? i : n;
}
/* A clause that only this rule has, behind another: one level above it, so that it can be left out. */
static struct place guarded(struct build *b, rdn_pid p, struct place by) {
    struct place v = truth(b, p);
    struct pred *q = b->preds.n ? &b->preds.v[b->preds.n - 1] : NULL;
    if (at(b, p)->uses > 1 || !q || q->t != v.at || q->guard)
        return v;
    v.level = above(v.level, by);
    q->g->n--;
    q->g = group_at(b, v.level, q->g->key.kind, q->g->key.cell);
    q->g->n++;
    q->guard = by.at;
    return b->places[p] = v;
}
static struct place junction(struct build *b, const struct rdn_pnode *n) {
    uint32_t k;
    const rdn_pid *args = rdn_pargs(b->pl, n, &k);
    struct place *v = rdn_new_n(b->tmp, struct place, k);
    uint32_t by = n->op == RDN_OP_AND ? place_of_by(b, args, k) : k, first = b->preds.n;
    if (by < k)
        v[by] = truth(b, b->by);
    bool guards = by < k && b->preds.n == first + 1 && b->preds.v[first].t == v[by].at;      /* one comparison, and made here */
    for (uint32_t i = 0; i < k; i++)
        if (i != by)
            v[i] = guards ? guarded(b, args[i], v[by]) : truth(b, args[i]);
    return join(b, n->op == RDN_OP_AND, v, k);
}
static struct place make_truth(struct build *b, rdn_pid p) {
    const struct rdn_pnode *n = at(b, p);
    if (is_const(n))
        return (struct place){RDN_HOME_B, 0, n->lo != 0};
    if ((n->flags & RDN_P_SLOT) || rdn_pnode_leaf(n))
        return unary(b, RDN_HOME_B, RDN_PC_B_OFI, NULL, input(b, n, RDN_HOME_I), (union rdn_pred_word){0});
    switch (n->op) {
    case RDN_OP_AND: case RDN_OP_OR: return junction(b, n);
    case RDN_OP_NOT: return unary(b, RDN_HOME_B, RDN_PC_B_NOT, NULL, truth(b, n->a), (union rdn_pred_word){0});
    case RDN_OP_SEL: {
        struct place c = truth(b, n->a), x = truth(b, n->b), y = truth(b, n->c);
        return add_op(b, RDN_HOME_B, above(above(above(1, c), x), y), (struct rdn_pred_op){.code = RDN_PC_B_SEL, .a = c.at, .b = x.at, .c = y.at});
    }
    default: break;
    }
    if (at(b, n->a)->type == RDN_TY_B1) {                /* the copy has no != of truth values */
        struct place x = truth(b, n->a), y = truth(b, n->b);
        return binary(b, RDN_HOME_B, RDN_PC_B_EQ, NULL, x, y);
    }
    return at(b, n->a)->type == RDN_TY_F64 ? float_compare(b, n) : int_compare(b, n);
}
static struct place truth(struct build *b, rdn_pid p) {
    if (!b->places[p].home)
        b->places[p] = make_truth(b, p);
    return b->places[p];
}

/* ---- layout ---- */
static bool is_run(unsigned kind) { return kind >= RDN_PRED_F_LT && kind <= RDN_PRED_I_NE; }
static bool is_junction(unsigned kind) { return kind >= RDN_PRED_AND1; }
static uint32_t rounded(uint32_t n) { return (n + RDN_PRED_LANES - 1) & ~(RDN_PRED_LANES - 1); }

static void dissolve_short_runs(struct build *b) {
    for (uint32_t i = 0, n = b->groups.n; i < n; i++) {
        struct group *g = b->groups.v[i];
        if (!is_run(g->key.kind) || (g->n >= RUN_MIN && !b->batch))
            continue;
        g->instead = group_at(b, g->key.level, g->key.kind + RDN_PRED_FX_LT - RDN_PRED_F_LT, 0);
        g->instead->n += g->n;
        g->n = 0;
    }
}
static int by_key(const void *x, const void *y) {
    const struct group_key *a = &(*(struct group *const *)x)->key, *b = &(*(struct group *const *)y)->key;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}
static const union rdn_pred_word **constant_array(struct rdn_pred_step *s, unsigned which) { return which == 0 ? &s->k : which == 1 ? &s->l : &s->c; }

/* Room of one step. */
static void open_step(struct build *b, struct group *g, struct rdn_pred_step *s, uint32_t *truths) {
    unsigned kind = g->key.kind;
    *s = (struct rdn_pred_step){.kind = (uint8_t)kind, .n = g->n, .cell = g->key.cell};
    g->step = s;
    if (kind == RDN_PRED_OPS) {
        s->ops = rdn_new_n(b->arena, struct rdn_pred_op, g->n);
        return;
    }
    uint32_t room = rounded(g->n), width = 1;
    if (is_junction(kind))
        width = kind == RDN_PRED_ANDN || kind == RDN_PRED_ORN ? g->key.cell : kind >= RDN_PRED_OR2 ? kind - RDN_PRED_OR2 + 2 : kind - RDN_PRED_AND1 + 1;
    if (is_run(kind))
        s->n = room;
    else
        s->a = rdn_new_n(b->arena, uint32_t, (size_t)g->n * width);
    if (kind >= RDN_PRED_L_LT)
        s->b = rdn_new_n(b->arena, uint32_t, g->n);
    if (b->batch && !is_junction(kind))
        s->guard = rdn_new_n(b->arena, uint32_t, room);
    bool has_kl = kind >= RDN_PRED_L_LT && kind <= RDN_PRED_P_NE, has_c = kind <= RDN_PRED_L_NE;
    for (unsigned i = 0; i < 3; i++)
        if (i == 2 ? has_c : has_kl)
            *constant_array(s, i) = rdn_new_n(b->arena, union rdn_pred_word, room);
    s->out = g->out = *truths;
    *truths += room;
}
static void open_steps(struct build *b) {
    struct rdn_preds *o = b->out;
    uint32_t truths = 2;
    dissolve_short_runs(b);
    rdn_sort(&b->groups, by_key);
    for (uint32_t i = 0; i < b->ops.n; i++)              /* truth values that operations make stand behind the two constants */
        if (b->ops.v[i].op.code >= RDN_PC_B_OFI)
            b->truths.v[b->ops.v[i].op.dst].at = truths++;
    truths = rounded(truths);
    o->steps = rdn_new_n(b->arena, struct rdn_pred_step, b->groups.n + 1);
    for (uint32_t i = 0; i < b->groups.n; i++)
        if (b->groups.v[i]->n)
            open_step(b, b->groups.v[i], &o->steps[o->nsteps++], &truths);
    o->rules = (truths + 63) & ~63u;
    o->ntruths = o->rules + 64 * b->pl->words;
}

/* The pointers of a step are const for those who run it. */
static void fill_preds(struct build *b) {
    for (uint32_t i = 0; i < b->preds.n; i++) {
        const struct pred *p = &b->preds.v[i];
        struct group *g = p->g->instead ? p->g->instead : p->g;
        struct rdn_pred_step *s = g->step;
        uint32_t j = g->filled++;
        b->truths.v[p->t].at = g->out + j;
        if (s->a)
            ((uint32_t *)s->a)[j] = p->x;
        if (s->b)
            ((uint32_t *)s->b)[j] = p->y;
        if (s->guard)
            ((uint32_t *)s->guard)[j] = p->guard ? b->truths.v[p->guard].at : 1;
        const union rdn_pred_word from[3] = {p->k, p->l, p->c};
        for (unsigned w = 0; w < 3; w++)
            if (*constant_array(s, w))
                ((union rdn_pred_word *)*constant_array(s, w))[j] = from[w];
    }
}
static void fill_junctions(struct build *b) {
    for (uint32_t i = 0; i < b->junctions.n; i++) {
        struct junction *j = &b->junctions.v[i];
        struct truth *t = &b->truths.v[j->t];
        t->at = t->rule != NO_RULE ? b->out->rules + t->rule : j->g->out + j->g->filled;
        ((uint32_t *)j->g->step->b)[j->g->filled++] = t->at;
    }
    for (uint32_t i = 0; i < b->groups.n; i++)
        b->groups.v[i]->filled = 0;
    for (uint32_t i = 0; i < b->junctions.n; i++) {      /* now every operand has its place */
        struct junction *j = &b->junctions.v[i];
        uint32_t *v = (uint32_t *)j->g->step->a + (size_t)j->n * j->g->filled++;
        for (uint32_t k = 0; k < j->n; k++)
            v[k] = b->truths.v[b->ids.v[j->at + k]].at;
    }
}
static void fill_ops(struct build *b) {
    for (uint32_t i = 0; i < b->ops.n; i++) {
        struct rdn_pred_op o = b->ops.v[i].op;
        struct group *g = b->ops.v[i].g;
        bool is_select = o.code == RDN_PC_F_SEL || o.code == RDN_PC_I_SEL || o.code == RDN_PC_W_SEL, all = o.code > RDN_PC_B_OFI;
        if (o.code >= RDN_PC_B_OFI)
            o.dst = b->truths.v[o.dst].at;
        if (is_select || all || o.code == RDN_PC_I_OFB)
            o.a = b->truths.v[o.a].at;
        if (all) {
            o.b = b->truths.v[o.b].at;
            o.c = b->truths.v[o.c].at;
        }
        ((struct rdn_pred_op *)g->step->ops)[g->filled++] = o;
    }
}
static void *kept(struct build *b, const void *v, size_t bytes) {
    void *p = rdn_arena_alloc(b->arena, bytes + 1);
    if (bytes)
        memcpy(p, v, bytes);
    return p;
}
static const struct rdn_preds *finish(struct build *b) {
    struct rdn_preds *o = b->out;
    open_steps(b);
    fill_preds(b);
    fill_junctions(b);
    fill_ops(b);
#define KEEP(to, from) (o->to = kept(b, b->from.v, b->from.n * sizeof *b->from.v), o->n##to = b->from.n)
    KEEP(words, words);
    KEEP(inputs, inputs);
    KEEP(slots, slots);
    KEEP(consts, consts);
#undef KEEP
    return o;
}

static void start(struct build *b, struct rdn_arena *arena, struct rdn_arena *tmp, const struct rdn_plan *pl) {
    *b = (struct build){.pl = pl, .arena = arena, .tmp = tmp, .out = rdn_new(arena, struct rdn_preds)};
    b->out->plan = pl;
    b->out->isa = rdn_pred_isa();
    b->places = rdn_new_n(tmp, struct place, pl->nodes.n);
    rdn_map_init(&b->by_key, tmp);
    new_truth(b);
    b->truths.v[new_truth(b)].at = 1;
}

/* The rule's truth value in its own place. */
static void add_rule(struct build *b, uint32_t r) {
    const struct rdn_pnode *n = at(b, b->pl->rules[r].root);
    b->by = b->batch ? b->pl->rules[r].by : 0;
    struct place p = truth(b, b->pl->rules[r].root);
    bool own = (n->op == RDN_OP_AND || n->op == RDN_OP_OR) && !(n->flags & RDN_P_SLOT) && n->uses <= 1 && b->truths.v[p.at].rule == NO_RULE;
    if (!own)                                            /* a copy */
        p = join(b, true, &p, 1);
    b->truths.v[p.at].rule = r;
}
const struct rdn_preds *rdn_preds_rules(struct rdn_arena *arena, struct rdn_arena *tmp, const struct rdn_plan *pl) {
    struct build b;
    start(&b, arena, tmp, pl);
    for (uint32_t r = 0; r < pl->nrules; r++)
        if (pl->rules[r].how != RDN_RULE_INTERP)
            add_rule(&b, r);
    return finish(&b);
}

const struct rdn_preds *rdn_preds_batch(struct rdn_arena *arena, struct rdn_arena *tmp, const struct rdn_plan *pl) {
    struct build b;
    bool any = false;
    start(&b, arena, tmp, pl);
    b.batch = true;
    b.out->mask = rdn_new_n(arena, uint64_t, pl->words + 1);
    for (uint32_t r = 0; r < pl->nrules; r++) {
        bool in = pl->rules[r].how != RDN_RULE_INTERP && !pl->rules[r].guard && (at(&b, pl->rules[r].root)->flags & RDN_P_EVENT);
        if (in)
            add_rule(&b, r);
        b.out->mask[r / 64] |= (uint64_t)in << r % 64;
        any |= in;
    }
    return any && !b.no_value ? finish(&b) : NULL;
}

const struct rdn_preds *rdn_preds_items(struct rdn_arena *arena, struct rdn_arena *tmp, const struct rdn_plan *pl) {
    struct build b;
    start(&b, arena, tmp, pl);
    b.out->items = rdn_new_n(arena, struct rdn_pred_item, pl->items.n + 1);
    struct place *v = rdn_new_n(tmp, struct place, pl->items.n + 1);
    for (uint32_t i = 0; i < pl->items.n; i++)
        v[i] = at(&b, pl->items.v[i])->type == RDN_TY_B1 ? truth(&b, pl->items.v[i]) : value(&b, pl->items.v[i]);
    const struct rdn_preds *o = finish(&b);
    for (uint32_t i = 0; i < pl->items.n; i++)
        o->items[i] = (struct rdn_pred_item){v[i].home, v[i].home == RDN_HOME_B ? b.truths.v[v[i].at].at : v[i].at};
    return o;
}
