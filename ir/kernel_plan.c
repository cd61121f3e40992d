/* SPDX-License-Identifier: Apache-2.0
 * kernel_plan.c: see kernel_plan.h. One pass over the nodes that the lets and the value need gives steps on columns that are
 * written once; steps on floats are joined in pairs where only one reads what the other writes; and columns are given back after
 * their last reader, so that a leaf of most kernels stays in the first cache. */
#include "ir/kernel_plan.h"
#include <string.h>

enum { COLUMNS_MAX = 2048, STEPS_MAX = 1 << 14, NO_COLUMN = UINT32_MAX };

struct builder {
    const struct rdn_ir *ir;
    const struct rdn_call *call;
    struct rdn_arena *arena;
    RDN_VEC(struct rdn_kstep) steps;
    RDN_VEC(struct rdn_kconst) consts;
    RDN_VEC(uint32_t) lists;
    uint32_t *at;                                        /* by node id - first: place of its columns in lists, from 1 */
    bool *needed;
    uint32_t ncolumns;                                   /* each written once */
    bool failed;
};

static const struct rdn_node *node_of(const struct builder *b, rdn_id id) { return &b->ir->nodes.v[id]; }
static bool is_each(const struct builder *b, rdn_id id) { return (node_of(b, id)->flags & RDN_NODE_EACH) != 0; }
static bool is_array(unsigned type) { return type == RDN_TY_VEC || type == RDN_TY_IVEC; }
static uint32_t elems(const struct builder *b, rdn_id id) {
    return is_array(node_of(b, id)->type) ? rdn_type_elems(rdn_ir_ltype(b->ir, id)) : 1;
}

/* ---- columns ---- */

static uint32_t constant(struct builder *b, rdn_id node, uint32_t elem, int64_t bits) {
    for (uint32_t i = 0; node == RDN_NO_NODE && i < b->consts.n; i++)
        if (b->consts.v[i].node == RDN_NO_NODE && b->consts.v[i].bits == bits)
            return b->consts.v[i].column;
    rdn_push_val(b->arena, &b->consts, ((struct rdn_kconst){ b->ncolumns, node, elem, bits }));
    return b->ncolumns++;
}

/* A list of k columns that are not known yet. */
static uint32_t new_list(struct builder *b, uint32_t k) {
    uint32_t at = b->lists.n;
    for (uint32_t i = 0; i < k; i++)
        rdn_push_val(b->arena, &b->lists, NO_COLUMN);
    return at;
}

static uint32_t list_of(struct builder *b, rdn_id id) {
    uint32_t *at = &b->at[id - b->call->first];
    if (!*at)
        *at = new_list(b, elems(b, id)) + 1;
    return *at - 1;
}

/* Element e of a node, as a column. */
static uint32_t column(struct builder *b, rdn_id id, uint32_t e) {
    uint32_t at = list_of(b, id) + e;
    if (b->lists.v[at] == NO_COLUMN)                     /* a node that depends on the path has all of them */
        b->lists.v[at] = constant(b, id, e, 0);
    return b->lists.v[at];
}

/* All elements of a node as a list. */
static uint32_t columns(struct builder *b, rdn_id id) {
    for (uint32_t e = 0; e < elems(b, id); e++)
        (void)column(b, id, e);
    return list_of(b, id);
}

static void set(struct builder *b, rdn_id id, uint32_t e, uint32_t col) {
    uint32_t at = list_of(b, id) + e;
    b->lists.v[at] = col;
}

static struct rdn_kstep *step(struct builder *b, enum rdn_step_op op) {
    if (b->steps.n >= STEPS_MAX)
        b->failed = true;
    struct rdn_kstep *s = rdn_push(b->arena, &b->steps);
    s->op = (uint8_t)op;
    return s;
}

static uint32_t block3(struct builder *b, enum rdn_block_op op, uint32_t x, uint32_t y, uint32_t z) {
    struct rdn_kstep *s = step(b, RDN_KS_BLOCK);
    s->block = (uint8_t)op;
    s->a = x;
    s->b = y;
    s->c = z;
    return s->d = b->ncolumns++;
}
static uint32_t block2(struct builder *b, enum rdn_block_op op, uint32_t x, uint32_t y) { return block3(b, op, x, y, x); }
static uint32_t block1(struct builder *b, enum rdn_block_op op, uint32_t x) { return block3(b, op, x, x, x); }

/* ---- operations ---- */

/* Block functions of operations by the type of the first operand, float or integer (bool too). 0: none, so numbers are one more. */
#define ROW(op, f, i) [RDN_OP_##op] = { RDN_BLK_##f + 1, RDN_BLK_##i + 1 }
#define FLOAT(op, f) [RDN_OP_##op] = { RDN_BLK_##f + 1, 0 }
#define INT(op, i) [RDN_OP_##op] = { 0, RDN_BLK_##i + 1 }
static const struct { uint8_t f, i; } block_of[RDN_OP_COUNT] = {
    ROW(ADD, ADDF, ADDI), ROW(SUB, SUBF, SUBI), ROW(MUL, MULF, MULI), ROW(DIV, DIVF, DIVI), INT(MOD, MODI),
    ROW(NEG, NEGF, NEGI), ROW(ABS, ABSF, ABSI), ROW(SIGN, SIGNF, SIGNI), ROW(CLAMP, CLAMPF, CLAMPI),
    ROW(MIN, MINF, MINI), ROW(MAX, MAXF, MAXI), FLOAT(VMIN, MINF), FLOAT(VMAX, MAXF), FLOAT(VSUM, ADDF),
    FLOAT(VADD, ADDF), FLOAT(VSUB, SUBF), FLOAT(VMUL, MULF), FLOAT(VDIV, DIVF), ROW(VNEG, NEGF, NEGI),
    ROW(EQ, EQF, EQI), ROW(NE, NEF, NEI), ROW(LT, LTF, LTI), ROW(LE, LEF, LEI), ROW(GT, GTF, GTI), ROW(GE, GEF, GEI),
    INT(AND, ANDI), INT(OR, ORI), INT(NOT, NOTB),
    FLOAT(FLOOR, FLOORF), FLOAT(CEIL, CEILF), FLOAT(TRUNC, TRUNCF), FLOAT(ROUND, ROUNDF), FLOAT(SQRT, SQRTF),
    FLOAT(EXP, EXPF), FLOAT(LOG, LOGF), FLOAT(NORMCDF, CDFF), FLOAT(ISNAN, NANF), FLOAT(ISINF, INFF), FLOAT(ISFINITE, FINF),
    INT(BAND, ANDI), INT(BOR, ORI), INT(BXOR, XORI), INT(BNOT, NOTI), INT(SHL, SHLI), INT(SHR, SHRI),
    INT(I2F, I2F), FLOAT(F2I, F2I),
};
#undef ROW
#undef FLOAT
#undef INT

/* The block function of operation op on operands like `id`, or RDN_BLK_COUNT after giving up. */
static enum rdn_block_op pick_block(struct builder *b, unsigned op, rdn_id id) {
    unsigned type = node_of(b, id)->type, is_f = type == RDN_TY_F64 || type == RDN_TY_VEC;
    unsigned block = is_f ? block_of[op].f : type == RDN_TY_I64 || type == RDN_TY_B1 || type == RDN_TY_IVEC ? block_of[op].i : 0;
    b->failed |= !block;
    return block ? (enum rdn_block_op)(block - 1) : RDN_BLK_COUNT;
}

/* Every operand has the type of the first one, or there is no plan: a mixed comparison is one of decimals. */
static void plain(struct builder *b, rdn_id id, const rdn_id *ids, uint32_t n) {
    enum rdn_block_op op = pick_block(b, node_of(b, id)->op, ids[0]);
    for (uint32_t i = 1; i < n; i++)
        b->failed |= node_of(b, ids[i])->type != node_of(b, ids[0])->type;
    if (b->failed || n > 3)
        b->failed = true;
    else
        set(b, id, 0, block3(b, op, column(b, ids[0], 0), column(b, ids[n > 1], 0), column(b, ids[n > 2 ? 2 : 0], 0)));
}

static void alias(struct builder *b, rdn_id id, rdn_id of) {
    for (uint32_t e = 0; e < elems(b, id); e++)
        set(b, id, e, column(b, of, e));
}

/* if, ?? and array arithmetic: element by element; an operand that is no array counts for every element. */
static uint32_t element(struct builder *b, rdn_id id, uint32_t e) { return column(b, id, is_array(node_of(b, id)->type) ? e : 0); }

static void elementwise(struct builder *b, rdn_id id, const rdn_id *ids, uint32_t n) {
    enum rdn_block_op op = pick_block(b, node_of(b, id)->op, ids[0]);
    for (uint32_t e = 0; !b->failed && e < elems(b, id); e++)
        set(b, id, e, block2(b, op, element(b, ids[0], e), element(b, ids[n > 1], e)));
}

static void choose(struct builder *b, rdn_id id, const rdn_id *ids) {
    unsigned type = node_of(b, id)->type;
    enum rdn_block_op op = type == RDN_TY_F64 || type == RDN_TY_VEC ? RDN_BLK_SELF : RDN_BLK_SELI;
    for (uint32_t e = 0; e < elems(b, id); e++)
        set(b, id, e, block3(b, op, column(b, ids[0], 0), column(b, ids[1], e), column(b, ids[2], e)));
}

/* min, max and the like over a list: two at a time from the left. One alone must not be NaN. */
static void fold_list(struct builder *b, rdn_id id, enum rdn_block_op op, uint32_t list, uint32_t k, uint32_t from) {
    uint32_t s = from == NO_COLUMN ? b->lists.v[list] : from;
    if (k == 1 && from == NO_COLUMN)
        s = block2(b, op, s, s);
    for (uint32_t i = from == NO_COLUMN; i < k; i++)
        s = block2(b, op, s, b->lists.v[list + i]);
    set(b, id, 0, s);
}

static void nary(struct builder *b, rdn_id id, const rdn_id *ids, uint32_t n) {
    enum rdn_block_op op = pick_block(b, node_of(b, id)->op, ids[0]);
    uint32_t list = new_list(b, n);
    for (uint32_t i = 0; i < n; i++) {
        b->failed |= node_of(b, ids[i])->type != node_of(b, ids[0])->type;
        uint32_t col = column(b, ids[i], 0);
        b->lists.v[list + i] = col;
    }
    if (!b->failed)
        fold_list(b, id, op, list, n, NO_COLUMN);
}

static void over_elements(struct builder *b, rdn_id id, rdn_id of) {
    const struct rdn_node *n = node_of(b, id);
    enum rdn_block_op op = pick_block(b, n->op, of);
    uint32_t zero = n->op == RDN_OP_VSUM ? constant(b, RDN_NO_NODE, 0, 0) : NO_COLUMN, list = columns(b, of);
    if (!b->failed)
        fold_list(b, id, op, list, elems(b, of), zero);
}

static void in_set(struct builder *b, rdn_id id, const rdn_id *ids, uint32_t n) {
    enum rdn_block_op op = pick_block(b, RDN_OP_EQ, ids[0]);
    uint32_t r = NO_COLUMN;
    for (uint32_t i = 1; i < n && !b->failed; i++) {
        b->failed |= node_of(b, ids[i])->type != node_of(b, ids[0])->type;
        uint32_t eq = block2(b, op, column(b, ids[0], 0), column(b, ids[i], 0));
        r = r == NO_COLUMN ? eq : block2(b, RDN_BLK_ORI, r, eq);
    }
    b->failed |= r == NO_COLUMN;
    set(b, id, 0, r);
}

/* s = 0.0; s = fma(w[j], x[j], s), where w are elements from `elem` of node w and x a list. */
static uint32_t dot_list(struct builder *b, rdn_id w, uint32_t elem, rdn_id x, uint32_t xelem, uint32_t k) {
    if (is_each(b, w)) {                                 /* fma does not mind which factor is which */
        rdn_id t = w;
        w = x;
        x = t;
        uint32_t e = elem;
        elem = xelem;
        xelem = e;
    }
    uint32_t list = columns(b, x) + xelem;
    if (is_each(b, w)) {
        uint32_t s = constant(b, RDN_NO_NODE, 0, 0);
        for (uint32_t j = 0; j < k; j++)
            s = block3(b, RDN_BLK_FMAF, column(b, w, elem + j), b->lists.v[list + j], s);
        return s;
    }
    struct rdn_kstep *s = step(b, RDN_KS_DOT);
    s->a = list;
    s->b = w;
    s->c = elem;
    s->k = k;
    return s->d = b->ncolumns++;
}

static void products(struct builder *b, rdn_id id, const struct rdn_node *n) {
    uint32_t k = elems(b, n->b), rows = elems(b, id);
    for (uint32_t i = 0; i < rows; i++)
        set(b, id, i, dot_list(b, n->a, i * k, n->b, 0, k));
}

static bool literal(const struct builder *b, rdn_id id, uint64_t *ret) {
    const struct rdn_node *n = node_of(b, id);
    if (n->op == RDN_OP_CONST)
        *ret = (uint64_t)b->ir->consts.v[n->aux].val.i;
    return n->op == RDN_OP_CONST;
}

static void element_of(struct builder *b, rdn_id id, const rdn_id *ids, uint32_t n) {
    const struct rdn_type *t = rdn_ir_ltype(b->ir, ids[0]);
    uint64_t at = 0, inner = 0;
    bool fixed = literal(b, ids[1], &at) && (n < 3 || literal(b, ids[2], &inner));
    if (fixed) {
        if (at >= t->dim[0] || (n > 2 && inner >= t->dim[1])) {
            b->failed = true;                            /* undefined on every path */
            return;
        }
        for (uint32_t e = 0; e < elems(b, id); e++)
            set(b, id, e, column(b, ids[0], (uint32_t)(at * t->dim[1] + inner) + e));
        return;
    }
    if (n > 2 || is_array(node_of(b, id)->type)) {
        b->failed = true;
        return;
    }
    uint32_t list = columns(b, ids[0]), index = column(b, ids[1], 0);
    struct rdn_kstep *s = step(b, RDN_KS_PICK);
    s->a = list;
    s->b = index;
    s->k = elems(b, ids[0]);
    set(b, id, 0, s->d = b->ncolumns++);
}

static void concatenate(struct builder *b, rdn_id id, const rdn_id *ids, uint32_t n) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = 0; e < elems(b, ids[i]); e++)
            set(b, id, at++, column(b, ids[i], e));
}

static void random_numbers(struct builder *b, rdn_id id, const struct rdn_node *n) {
    uint32_t k = elems(b, id), seed = column(b, n->a, 0), index = column(b, n->b, 0);
    for (uint32_t e = 0; e < k; e++)
        set(b, id, e, b->ncolumns++);
    uint32_t list = list_of(b, id);
    struct rdn_kstep *s = step(b, n->op == RDN_OP_NORMAL ? RDN_KS_NORMAL : RDN_KS_UNIFORM);
    s->one_seed = !is_each(b, n->a);
    s->d = list;
    s->a = seed;
    s->b = index;
    s->k = k;
    s->aux = n->aux;
}

static void operation(struct builder *b, rdn_id id) {
    const struct rdn_node *n = node_of(b, id);
    rdn_id buf[3];
    uint32_t na;
    const rdn_id *ids = rdn_node_args(b->ir, n, buf, &na);
    switch (n->op) {
    case RDN_OP_EACH: set(b, id, 0, step(b, RDN_KS_EACH)->d = b->ncolumns++); return;
    case RDN_OP_USE: case RDN_OP_B2I: alias(b, id, n->a); return;
    case RDN_OP_INLINE: alias(b, id, ids[na - 1]); return;
    case RDN_OP_SEL: choose(b, id, ids); return;
    case RDN_OP_COALESCE:
        if (n->type == RDN_TY_F64)
            set(b, id, 0, block2(b, RDN_BLK_ELSEF, column(b, n->a, 0), column(b, n->b, 0)));
        else
            alias(b, id, n->a);
        return;
    case RDN_OP_DEFINED:
        set(b, id, 0, node_of(b, n->a)->type == RDN_TY_F64 ? block1(b, RDN_BLK_NUMF, column(b, n->a, 0)) : constant(b, RDN_NO_NODE, 0, 1));
        return;
    case RDN_OP_INSET: in_set(b, id, ids, na); return;
    case RDN_OP_MIN: case RDN_OP_MAX: nary(b, id, ids, na); return;
    case RDN_OP_VADD: case RDN_OP_VSUB: case RDN_OP_VMUL: case RDN_OP_VDIV: case RDN_OP_VNEG: elementwise(b, id, ids, na); return;
    case RDN_OP_VSUM: case RDN_OP_VMIN: case RDN_OP_VMAX: over_elements(b, id, n->a); return;
    case RDN_OP_DOT: case RDN_OP_MATVEC: products(b, id, n); return;
    case RDN_OP_ELEM: element_of(b, id, ids, na); return;
    case RDN_OP_VEC: concatenate(b, id, ids, na); return;
    case RDN_OP_NORMAL: case RDN_OP_UNIFORM: random_numbers(b, id, n); return;
    case RDN_OP_INVNORM: {
        uint32_t x = column(b, n->a, 0);
        struct rdn_kstep *s = step(b, RDN_KS_INVNORM);
        s->a = x;
        set(b, id, 0, s->d = b->ncolumns++);
        return;
    }
    default: plain(b, id, ids, na); return;
    }
}

/* Columns that a step reads: numbers in turn, then NO_COLUMN. */
static uint32_t *operand(struct builder *b, struct rdn_kstep *s, uint32_t i) {
    switch ((enum rdn_step_op)s->op) {
    case RDN_KS_EACH: case RDN_KS_NOTHING: return NULL;
    case RDN_KS_INVNORM: return i == 0 ? &s->a : NULL;
    case RDN_KS_BLOCK: return i == 0 ? &s->a : i == 1 ? &s->b : i == 2 ? &s->c : NULL;
    case RDN_KS_NORMAL: case RDN_KS_UNIFORM: return i == 0 ? &s->a : i == 1 ? &s->b : NULL;
    case RDN_KS_DOT: return i < s->k ? &b->lists.v[s->a + i] : NULL;
    case RDN_KS_PICK: return i == 0 ? &s->b : i <= s->k ? &b->lists.v[s->a + i - 1] : NULL;
    }
    return NULL;
}
/* ---- two steps in one ---- */

struct use { uint32_t writer, reads; bool constant; };   /* of a column; writer: step that writes it, from 1 */

/* Joins step s with the writer of one of its operands, if nothing else reads that. */
static void join(struct builder *b, struct rdn_kstep *s, const struct use *uses, bool right) {
    const struct use *u = &uses[right ? s->b : s->a];
    struct rdn_kstep *w = u->writer ? &b->steps.v[u->writer - 1] : NULL;
    if (!w || w->op != RDN_KS_BLOCK || u->reads != 1)
        return;
    enum rdn_block_op pair = rdn_block_pair((enum rdn_block_op)w->block, (enum rdn_block_op)s->block, right);
    if (pair == RDN_BLK_COUNT)
        return;
    s->c = right ? s->a : s->b;
    s->a = w->a;
    s->b = w->b;
    s->block = (uint8_t)pair;
    w->op = RDN_KS_NOTHING;
    if (uses[s->a].constant && (w->block == RDN_BLK_ADDF || w->block == RDN_BLK_MULF)) {
        s->a = w->b;
        s->b = w->a;
    }
    s->one = (uint8_t)((uses[s->b].constant ? RDN_ONE_B : 0) | (uses[s->c].constant ? RDN_ONE_C : 0));
}

static void pair_steps(struct builder *b, uint32_t value) {
    struct use *uses = rdn_new_n(b->arena, struct use, b->ncolumns);
    uint32_t *c, n = 0;
    for (uint32_t i = 0; i < b->steps.n; i++) {
        struct rdn_kstep *s = &b->steps.v[i];
        bool two = s->op == RDN_KS_BLOCK && rdn_block_pair((enum rdn_block_op)s->block, RDN_BLK_ADDF, false) != RDN_BLK_COUNT;
        for (uint32_t k = 0; (!two || k < 2) && (c = operand(b, s, k)); k++)
            uses[*c].reads++;
        if (s->op == RDN_KS_BLOCK)
            uses[s->d].writer = i + 1;
    }
    uses[value].reads++;
    for (uint32_t i = 0; i < b->consts.n; i++)
        uses[b->consts.v[i].column].constant = true;
    for (uint32_t i = 0; i < b->steps.n; i++) {
        struct rdn_kstep *s = &b->steps.v[i];
        if (s->op == RDN_KS_BLOCK)
            join(b, s, uses, false);
        if (s->op == RDN_KS_BLOCK)
            join(b, s, uses, true);                      /* a pair is not joined again: it is no row of rdn_block_pair */
    }
    for (uint32_t i = 0; i < b->steps.n; i++)
        if (b->steps.v[i].op != RDN_KS_NOTHING)
            b->steps.v[n++] = b->steps.v[i];
    b->steps.n = n;
}

/* ---- places ---- */

static bool draws(const struct rdn_kstep *s) { return s->op == RDN_KS_NORMAL || s->op == RDN_KS_UNIFORM; }

struct places { uint32_t *last, *to, *free_cols, nfree, used; };

static void take_place(struct places *p, uint32_t col) { p->to[col] = p->nfree ? p->free_cols[--p->nfree] : p->used++; }

static void results(struct builder *b, struct places *p, const struct rdn_kstep *s) {
    if (draws(s))
        for (uint32_t e = 0; e < s->k; e++)
            take_place(p, b->lists.v[s->d + e]);
    else
        take_place(p, s->d);
}

/* Columns whose last reader was step i; also a result that nobody reads. */
static void give_back(struct builder *b, struct places *p, struct rdn_kstep *s, uint32_t i) {
    uint32_t *c;
    for (uint32_t k = 0; (c = operand(b, s, k)); k++)
        if (p->last[*c] == i + 1) {
            p->last[*c] = NO_COLUMN;                     /* once, though it may be two operands */
            p->free_cols[p->nfree++] = p->to[*c];
        }
}

/* A result may take the place of an operand, but not of a draw, which reads on after it began to write. */
static void place_columns(struct builder *b, uint32_t value, struct rdn_kplan *ret) {
    struct places p = { rdn_new_n(b->arena, uint32_t, b->ncolumns), rdn_new_n(b->arena, uint32_t, b->ncolumns),
                        rdn_new_n(b->arena, uint32_t, b->ncolumns), 0, 0 };
    uint32_t *c;
    for (uint32_t i = 0; i < b->steps.n; i++)
        for (uint32_t k = 0; (c = operand(b, &b->steps.v[i], k)); k++)
            p.last[*c] = i + 1;
    p.last[value] = NO_COLUMN;
    for (uint32_t i = 0; i < b->consts.n; i++) {
        p.last[b->consts.v[i].column] = NO_COLUMN;
        take_place(&p, b->consts.v[i].column);
    }
    for (uint32_t i = 0; i < b->steps.n; i++) {
        struct rdn_kstep *s = &b->steps.v[i];
        if (draws(s))
            results(b, &p, s);
        give_back(b, &p, s, i);
        if (!draws(s))
            results(b, &p, s);
    }
    for (uint32_t i = 0; i < b->steps.n; i++) {
        struct rdn_kstep *s = &b->steps.v[i];
        for (uint32_t k = 0; s->op != RDN_KS_DOT && k < 3 && (k < 1 || s->op != RDN_KS_PICK) && (c = operand(b, s, k)); k++)
            *c = p.to[*c];
        if (!draws(s))
            s->d = p.to[s->d];
    }
    for (uint32_t i = 0; i < b->consts.n; i++)
        b->consts.v[i].column = p.to[b->consts.v[i].column];
    for (uint32_t i = 0; i < b->lists.n; i++)
        b->lists.v[i] = b->lists.v[i] == NO_COLUMN ? 0 : p.to[b->lists.v[i]];
    *ret = (struct rdn_kplan){ b->steps.v, b->steps.n, b->consts.v, b->consts.n, b->lists.v, b->lists.n, p.used, p.to[value] };
}

/* ---- the whole ---- */

static bool has_column(unsigned type) { return type == RDN_TY_F64 || type == RDN_TY_I64 || type == RDN_TY_B1 || is_array(type); }

static void mark_needed(struct builder *b) {
    const struct rdn_call *c = b->call;
    b->needed[c->value - c->first] = true;
    for (uint32_t l = 0; l < c->nlets; l++)
        b->needed[c->lets[l] - c->first] = true;
    for (rdn_id id = c->last; id >= c->first; id--) {
        rdn_id buf[3];
        uint32_t n;
        const rdn_id *ids = rdn_node_args(b->ir, node_of(b, id), buf, &n);
        if (!b->needed[id - c->first])
            continue;
        b->failed |= !has_column(node_of(b, id)->type);
        for (uint32_t i = node_of(b, id)->op == RDN_OP_INLINE ? n - 1 : 0; i < n; i++)
            b->needed[ids[i] - c->first] = true;
    }
}

int rdn_kplan_build(const struct rdn_ir *ir, const struct rdn_call *c, struct rdn_arena *arena, struct rdn_kplan **ret) {
    struct builder b = { .ir = ir, .call = c, .arena = arena };
    jmp_buf oom, *was = arena->oom;
    *ret = NULL;
    if (setjmp(oom)) {
        arena->oom = was;
        return REDAN_E_NOMEM;
    }
    arena->oom = &oom;
    b.at = rdn_new_n(arena, uint32_t, c->last - c->first + 1);
    b.needed = rdn_new_n(arena, bool, c->last - c->first + 1);
    mark_needed(&b);
    for (rdn_id id = c->first; id <= c->last && !b.failed && b.lists.n < 1u << 20; id++)
        if (b.needed[id - c->first] && is_each(&b, id))
            operation(&b, id);
    if (!b.failed && b.lists.n < 1u << 20) {
        uint32_t value = column(&b, c->value, 0);
        struct rdn_kplan *p = rdn_new(arena, struct rdn_kplan);
        pair_steps(&b, value);
        place_columns(&b, value, p);
        if (p->ncolumns <= COLUMNS_MAX)
            *ret = p;
    }
    arena->oom = was;
    return 0;
}
