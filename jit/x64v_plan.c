/* SPDX-License-Identifier: Apache-2.0
 * x64v_plan.c: which conditions vectors can compute, and what the code of some rules needs: columns, shared values, registers. */
#include <string.h>
#include "jit/exec.h"
#include "jit/x64v_gen.h"

/* ---- columns and parameters ---- */
static uint32_t column(struct xv_gen *g, uint32_t source, uint32_t offset, enum xv_ext ext) {
    for (uint32_t c = 0; c < g->cols.n; c++)
        if (g->cols.v[c].source == source)
            return c;
    rdn_push_val(g->arena, &g->cols, ((struct xv_col){source, offset, (uint8_t)ext}));
    return g->cols.n - 1;
}
static bool field_column(struct xv_gen *g, rdn_pid p, uint32_t field) {
    const struct rdn_field *f = &g->pl->ir->events[g->pl->event].fields[field];
    enum xv_ext ext;
    switch ((enum rdn_kind)f->type->kind) {
    case RDN_K_INT: case RDN_K_FLOAT: case RDN_K_DEC: case RDN_K_TIME: case RDN_K_DUR: ext = XV_E64; break;
    case RDN_K_BOOL: case RDN_K_ENUM: ext = XV_EZX8; break;
    case RDN_K_SYM: ext = XV_EZX32; break;
    case RDN_K_DATE: ext = XV_ESX32; break;
    default: return false;
    }
    if (f->optional)
        column(g, RDN_COL_PRESENT, 8, XV_E64);
    g->col_of[p] = column(g, RDN_COL_FIELDS + field, f->offset, ext) + 1;
    return true;
}
uint32_t xv_present(const struct xv_gen *g) {
    uint32_t c = 0;
    while (g->cols.v[c].source != RDN_COL_PRESENT)
        c++;
    return c;
}

/* ---- what can be computed ---- */
const struct rdn_gather *xv_gather(const struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    if (!(n->flags & RDN_P_SLOT) || n->op == RDN_OP_PARAM || n->gather >= g->pl->gathers.n)
        return NULL;
    const struct rdn_gather *x = &g->pl->gathers.v[n->gather];
    return x->pid == p && x->kind == RDN_G_FIELD ? x : NULL;
}
static bool can_slot(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    if (n->op == RDN_OP_PARAM) {
        rdn_push_val(g->arena, &g->params, p);
        g->param_of[p] = g->params.n;
        return true;
    }
    const struct rdn_gather *x = xv_gather(g, p);
    return x && field_column(g, p, x->index) && (!x->has_else || xv_can(g, x->els));
}
static bool can_args(struct xv_gen *g, const struct rdn_pnode *n) {
    uint32_t k;
    const rdn_pid *args = rdn_pargs(g->pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        if (!xv_can(g, args[i]))
            return false;
    return true;
}
static bool can_node(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    if (n->flags & RDN_P_SLOT)
        return can_slot(g, p);
    if (!(n->flags & RDN_P_NATIVE))
        return false;
    switch (n->op) {
    case RDN_OP_CONST: return true;
    case RDN_OP_FIELD: return field_column(g, p, n->aux);
    case RDN_OP_NOW: g->col_of[p] = column(g, XV_COL_NOW, 0, XV_E64) + 1; return true;
    case RDN_OP_TS: g->col_of[p] = column(g, RDN_COL_TS, 0, XV_E64) + 1; return true;
    case RDN_OP_DIV: case RDN_OP_MOD: return n->type == RDN_TY_F64 && can_args(g, n);     /* no vector division of integers */
    case RDN_OP_AND: case RDN_OP_OR: case RDN_OP_NOT: case RDN_OP_SEL: case RDN_OP_EQ: case RDN_OP_NE: case RDN_OP_LT: case RDN_OP_LE:
    case RDN_OP_ADD: case RDN_OP_SUB: case RDN_OP_MUL: case RDN_OP_NEG: case RDN_OP_ABS: case RDN_OP_MIN: case RDN_OP_MAX: case RDN_OP_RESCALE:
    case RDN_OP_RATIO: case RDN_OP_IRATIO: case RDN_OP_I2F: case RDN_OP_D2F: case RDN_OP_F2I: case RDN_OP_B2I: case RDN_OP_FLOOR: case RDN_OP_CEIL:
    case RDN_OP_TRUNC: case RDN_OP_SQRT: case RDN_OP_BAND: case RDN_OP_BOR: case RDN_OP_BXOR: case RDN_OP_BNOT:
        return can_args(g, n);
    default: return false;
    }
}
bool xv_can(struct xv_gen *g, rdn_pid p) {
    if (!g->can[p])
        g->can[p] = can_node(g, p) && g->cols.n <= XV_COLUMNS_MAX ? XV_YES : XV_NO;
    return g->can[p] == XV_YES;
}

/* ---- what one function needs ---- */
void xv_walk_begin(struct xv_gen *g) {
    g->stamp++;
    g->visited.n = 0;
    g->nspills = 0;
    memset(g->col_uses, 0, sizeof g->col_uses);
    memset(g->col_gpr, 0, sizeof g->col_gpr);
    memset(g->col_pin, 0, sizeof g->col_pin);
}
void xv_walk(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    const struct rdn_gather *x = xv_gather(g, p);
    if (g->col_of[p])
        g->col_uses[g->col_of[p] - 1]++;
    if (g->seen[p] == g->stamp) {
        g->uses[p]++;
        return;
    }
    g->seen[p] = g->stamp;
    g->uses[p] = 1;
    g->spill[p] = 0;
    if (x) {
        g->col_uses[xv_present(g)]++;
        if (x->has_else)
            xv_walk(g, x->els);
    } else if (!(n->flags & RDN_P_SLOT)) {
        uint32_t k;
        const rdn_pid *args = rdn_pargs(g->pl, n, &k);
        for (uint32_t i = 0; i < k; i++)
            xv_walk(g, args[i]);
    }
    rdn_push_val(g->arena, &g->visited, p);
}
/* A spill and its reading cost about two operations. Slots with an else or a test of presence are always computed once. */
bool xv_shared(const struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    const struct rdn_gather *x = xv_gather(g, p);
    if (x)
        return x->has_else || x->is_defined;
    return !rdn_pnode_leaf(n) && g->uses[p] > 1 && g->weight[p] > 2;
}
static void weigh(struct xv_gen *g, rdn_pid p) {
    const struct rdn_pnode *n = xv_node(g, p);
    uint32_t k;
    g->weight[p] = 0;
    if ((n->flags & RDN_P_SLOT) || rdn_pnode_leaf(n))
        return;
    const rdn_pid *args = rdn_pargs(g->pl, n, &k);
    g->weight[p] = 1;
    for (uint32_t i = 0; i < k; i++)
        g->weight[p] += xv_shared(g, args[i]) ? 0 : g->weight[args[i]];
}
/* The column used most that has none yet, or g->cols.n. */
static uint32_t hottest(const struct xv_gen *g, const uint8_t *have) {
    uint32_t best = g->cols.n;
    for (uint32_t c = 0; c < g->cols.n; c++)
        if (g->col_uses[c] && !have[c] && (best == g->cols.n || g->col_uses[c] > g->col_uses[best]))
            best = c;
    return best;
}
void xv_walk_end(struct xv_gen *g) {
    static const uint8_t gprs[] = {X_RCX, X_RDX, X_R8, X_R9, X_R10, X_R11, X_RBX, X_R13};
    uint32_t c;
    for (uint32_t i = 0; i < g->visited.n; i++)
        weigh(g, g->visited.v[i]);
    for (unsigned i = 0; i < sizeof gprs && (c = hottest(g, g->col_gpr)) < g->cols.n; i++)
        g->col_gpr[c] = gprs[i];
    for (unsigned z = 8; g->zmm && z < 32 && (c = hottest(g, g->col_pin)) < g->cols.n; z++)
        g->col_pin[c] = (uint8_t)z;
}
