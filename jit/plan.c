/* SPDX-License-Identifier: Apache-2.0
 * plan.c: from the canonical copy of an event's conditions to what each executor step does (plan.h).
 *
 * Roots are rule conditions and items. A pass over what they reach counts uses and adds gather steps; what two roots share and
 * what costs more than a slot is computed once; a last pass from every root writes the dep sets. */
#include "jit/plan_impl.h"
#include <string.h>
#include "jit/faults.h"

static struct rdn_pnode *at(struct rdn_plan *pl, rdn_pid p) { return &pl->nodes.v[p]; }
static void mark(struct rdn_plan *, rdn_pid);

/* ---- operands, keys, gathers, windows ---- */
unsigned rdn_plan_level(struct rdn_plan *pl, rdn_pid p) {
    const struct rdn_pnode n = *at(pl, p);
    if (n.level)
        return n.level - 1u;
    bool gather = (n.flags & RDN_P_SLOT) && n.op != RDN_OP_PARAM;
    unsigned most = n.op == RDN_OP_WREAD || n.op == RDN_OP_WPREV || n.op == RDN_OP_CALL || n.op == RDN_OP_SCORE ? RDN_LEVELS : 0;
    uint32_t k;
    const rdn_pid *args = rdn_pargs(pl, &n, &k);
    for (uint32_t i = 0; i < k; i++) {
        unsigned level = rdn_plan_level(pl, args[i]);
        most = level > most ? level : most;
    }
    most += gather && most < RDN_LEVELS;
    at(pl, p)->level = (uint8_t)(most + 1);
    return most;
}
static bool is_slot(const struct rdn_pnode *n) { return (n->flags & RDN_P_SLOT) && !rdn_pnode_leaf(n); }
bool rdn_plan_operand(struct rdn_plan *pl, rdn_pid p) {
    struct rdn_pnode *n = at(pl, p);
    if (rdn_pnode_leaf(n))
        return n->op != RDN_OP_CONST || (n->flags & RDN_P_NATIVE);
    if (!(n->flags & (RDN_P_NATIVE | RDN_P_SLOT)) || rdn_plan_level(pl, p) >= RDN_LEVELS)
        return false;
    if (n->flags & RDN_P_SLOT)
        return true;
    for (uint32_t i = 0; i < pl->items.n; i++)
        if (pl->items.v[i] == p)
            return true;
    n->gather = pl->items.n;                             /* an item has no gather step: its number stands there */
    rdn_push_val(pl->grow, &pl->items, p);
    n->flags |= RDN_P_SHARED;
    return true;
}
/* Its gather, if it needs one and has none yet. */
static void need_slot(struct rdn_plan *pl, rdn_pid p) {
    if (!p || !is_slot(at(pl, p)))
        return;
    mark(pl, p);
    pl->gathers.v[at(pl, p)->gather].inner = true;
}

struct rdn_operand rdn_plan_operand_of(const struct rdn_plan *pl, rdn_pid p) {
    const struct rdn_pnode *n = &pl->nodes.v[p];
    struct rdn_operand o = {.load = RDN_LOAD_SLOW, .pid = p};
    if (n->op == RDN_OP_FIELD) {
        const struct rdn_field *f = &pl->ir->events[pl->event].fields[n->aux];
        o.at = f->offset;
        if (f->optional || f->type->kind == RDN_K_STR || f->type->kind == RDN_K_ARR)
            return o;
        o.load = f->size == 8 ? RDN_LOAD_64 : f->size == 1 ? RDN_LOAD_U8 : f->type->kind == RDN_K_DATE ? RDN_LOAD_I32 : RDN_LOAD_U32;
    } else if (!rdn_pnode_leaf(n) && p) {
        o.load = n->flags & RDN_P_SLOT ? RDN_LOAD_GATHER : RDN_LOAD_ITEM;
        o.at = n->flags & RDN_P_SLOT ? n->slot : n->gather;
    }
    return o;
}

/* The key made of these expressions; UINT32_MAX when C alone cannot build it. */
static uint32_t key_plan(struct rdn_plan *pl, const rdn_pid *pids, const struct rdn_type *const *types, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!rdn_plan_operand(pl, pids[i]))
            return UINT32_MAX;
    for (uint32_t k = 0; k < pl->keys.n; k++) {
        const struct rdn_keypart *v = pl->parts.v + pl->keys.v[k].at;
        bool same = pl->keys.v[k].n == n;
        for (uint32_t i = 0; same && i < n; i++)
            same = v[i].from.pid == pids[i] && v[i].type == types[i];
        if (same)
            return k;
    }
    for (uint32_t i = 0; i < n; i++)
        need_slot(pl, pids[i]);
    struct rdn_keyplan *k = rdn_push(pl->grow, &pl->keys);
    *k = (struct rdn_keyplan){.n = n, .at = pl->parts.n, .place = pl->key_bytes + RDN_KEY_MEMO};
    for (uint32_t i = 0; i < n; i++) {
        k->words += rdn_key_words(types[i]);
        rdn_push_val(pl->grow, &pl->parts, ((struct rdn_keypart){rdn_plan_operand_of(pl, pids[i]), types[i]}));
    }
    pl->key_bytes = k->place + (uint32_t)offsetof(struct rdn_key, w) + 8 * k->words;
    return pl->keys.n - 1;
}

static bool gather_key(struct rdn_plan *pl, const struct rdn_pnode *n, struct rdn_gather *g) {
    const struct rdn_type *types[64];
    uint32_t k;
    const rdn_pid *args = rdn_pargs(pl, n, &k);
    bool table = n->op == RDN_OP_TREAD;
    for (uint32_t i = 0; i < k && i < 64; i++)
        types[i] = table ? pl->ir->tables[n->aux].keys[i].type : pl->ir->windows[n->aux].ktypes[i];
    if (k > 64 || (g->key = key_plan(pl, args, types, k)) == UINT32_MAX)
        return false;
    g->kind = table ? RDN_G_ROW : n->op == RDN_OP_WPREV ? RDN_G_WPREV : RDN_G_WREAD;
    g->index = n->aux;
    g->column = n->c;
    return true;
}

/* An operation on floats (of ir/ops.def under "float") that stand where C can read them: before the windows, or in slots that are made before this one. */
static bool gather_apply(struct rdn_plan *pl, const struct rdn_pnode *n, struct rdn_gather *g) {
    const struct rdn_node *src = &pl->ir->nodes.v[n->src];
    uint32_t k, m;
    rdn_id buf[3];
    const rdn_pid *args = rdn_pargs(pl, n, &k);
    const rdn_id *ids = rdn_node_args(pl->ir, src, buf, &m);
    bool good = n->op >= RDN_OP_FLOOR && n->op <= RDN_OP_DISTKM && n->src && src->op == n->op && k && k == m && k <= RDN_APPLY_MAX;
    for (uint32_t i = 0; good && i < k; i++) {
        const struct rdn_pnode *a = at(pl, args[i]);
        good = a->type == RDN_TY_F64 && pl->ir->nodes.v[ids[i]].type == RDN_TY_F64 && (rdn_plan_operand(pl, args[i]) || (is_slot(a) && !rdn_pnode_leaf(a)));
    }
    for (uint32_t i = 0; good && i < k; i++)
        need_slot(pl, rdn_pargs(pl, n, &k)[i]);
    g->kind = RDN_G_APPLY;
    g->src = n->src;
    g->nargs = (uint8_t)k;
    for (uint32_t i = 0; good && i < k; i++)
        g->args[i] = rdn_pargs(pl, n, &k)[i];
    return good;
}

/* Fills kind and what it needs; false: only interp can. */
static bool gather_fast(struct rdn_plan *pl, const struct rdn_pnode *n, struct rdn_gather *g) {
    switch (n->op) {
    case RDN_OP_FIELD:
        g->kind = RDN_G_FIELD;
        g->index = n->aux;
        return true;
    case RDN_OP_WREAD: case RDN_OP_WPREV: case RDN_OP_TREAD:
        return gather_key(pl, n, g);
    case RDN_OP_INLIST: case RDN_OP_INCAL:
        g->kind = n->op == RDN_OP_INLIST ? RDN_G_INLIST : RDN_G_INCAL;
        g->index = n->aux;
        g->operand = n->a;
        if (!rdn_plan_operand(pl, n->a))
            return false;
        need_slot(pl, n->a);
        return true;
    case RDN_OP_HOUR: case RDN_OP_MINUTE: case RDN_OP_DAY: case RDN_OP_MONTH: case RDN_OP_YEAR: case RDN_OP_WEEKDAY: case RDN_OP_YEARDAY: case RDN_OP_DATE:
        g->kind = RDN_G_TIME;
        g->operand = n->a;
        g->src = n->src;
        if (!n->src || at(pl, n->a)->type != RDN_TY_I64 || !rdn_plan_operand(pl, n->a))
            return false;
        need_slot(pl, n->a);
        return true;
    default:
        return gather_apply(pl, n, g);
    }
}

void rdn_plan_gather(struct rdn_plan *pl, rdn_pid p) {
    struct rdn_pnode n = *at(pl, p);
    const struct rdn_gather slow = {.kind = RDN_G_INTERP, .type = n.type, .src = n.src, .dep = RDN_NO_DEP, .pid = p};
    struct rdn_gather g = slow;
    const struct rdn_pnode *inner = n.op == RDN_OP_COALESCE || n.op == RDN_OP_DEFINED ? at(pl, n.a) : NULL;
    bool fast;
    if (inner && (inner->flags & RDN_P_SLOT) && inner->op != RDN_OP_PARAM) {
        g.is_defined = n.op == RDN_OP_DEFINED;
        g.has_else = !g.is_defined;
        g.els = g.has_else ? n.b : 0;
        g.nan_is_none = inner->type == RDN_TY_F64;
        /* Both sides at one scale, the default a plain leaf that is always defined. */
        const struct rdn_pnode *e = at(pl, g.els);
        fast = gather_fast(pl, inner, &g) &&
               (g.is_defined || (rdn_pnode_leaf(e) && (e->flags & RDN_P_EVENT) && e->type == n.type && e->scale == n.scale && inner->scale == n.scale &&
                                 inner->type == n.type));
    } else {
        fast = gather_fast(pl, &n, &g);
    }
    if (!fast)
        g = slow;
    at(pl, p)->slot = g.slot = pl->nslots++;             /* those it needs have theirs by now, and stand before it */
    at(pl, p)->gather = pl->gathers.n;
    rdn_push_val(pl->grow, &pl->gathers, g);
}

static void plan_window(struct rdn_plan *pl, struct rdn_copy *c, uint32_t w) {
    const struct rdn_window *win = &pl->ir->windows[w];
    struct rdn_winplan wp = {.window = w, .how = RDN_WIN_FAST};
    rdn_pid keys[64], parts[3] = {win->where, win->value, win->span};
    for (uint32_t i = 0; i < win->nkeys && i < 64; i++)
        keys[i] = rdn_copy_node(c, win->keys[i]);
    bool ok = win->nkeys <= 64 && (wp.key = key_plan(pl, keys, win->ktypes, win->nkeys)) != UINT32_MAX;
    for (int i = 0; i < 3; i++) {
        parts[i] = parts[i] ? rdn_copy_node(c, parts[i]) : 0;
        ok = ok && (!parts[i] || rdn_plan_operand(pl, parts[i]));
    }
    if (!ok)
        wp.how = RDN_WIN_INTERP;
    for (int i = 0; i < 3 && ok; i++)
        need_slot(pl, parts[i]);
    wp.where = rdn_plan_operand_of(pl, parts[0]);
    wp.value = rdn_plan_operand_of(pl, parts[1]);
    wp.span = rdn_plan_operand_of(pl, parts[2]);
    wp.is_float = parts[1] && at(pl, parts[1])->type == RDN_TY_F64;
    rdn_push_val(pl->grow, &pl->windows, wp);
}

void rdn_plan_windows(struct rdn_plan *pl, struct rdn_copy *c) {
    const struct rdn_event *ev = &pl->ir->events[pl->event];
    for (uint32_t i = 0; i < ev->nobserved; i++)
        plan_window(pl, c, ev->observed[i]);
    for (uint32_t i = 0; i < ev->naccepted; i++)
        plan_window(pl, c, ev->accepted[i]);
}

/* ---- marking ---- */
/* Counts uses below a root; each node is entered once, an operand's use counted once a parent. */
static void mark(struct rdn_plan *pl, rdn_pid p) {
    struct rdn_pnode *n = at(pl, p);
    if (n->uses++)
        return;
    if (n->flags & RDN_P_SLOT) {
        if (n->op == RDN_OP_PARAM) {
            n->slot = pl->nslots++;
            rdn_push_val(pl->grow, &pl->params, p);
        } else {
            rdn_plan_gather(pl, p);
        }
        n = at(pl, p);
    }
    if (n->type == RDN_TY_F64 && ((n->flags & RDN_P_SLOT) || n->op == RDN_OP_FIELD))
        rdn_push_val(pl->grow, &pl->finite, p);
    if (n->flags & RDN_P_SLOT)
        return;
    uint32_t k;
    const struct rdn_pnode copy = *n;
    const rdn_pid *args = rdn_pargs(pl, &copy, &k);
    for (uint32_t i = 0; i < k; i++)
        mark(pl, args[i]);
}

double rdn_plan_op_ns(const struct rdn_pnode *n) {
    switch (n->op) {
    case RDN_OP_CONST: case RDN_OP_FIELD: case RDN_OP_PARAM: case RDN_OP_NOW: case RDN_OP_TS:
        return 0;
    case RDN_OP_DIV: case RDN_OP_MOD: case RDN_OP_SQRT: case RDN_OP_RATIO: case RDN_OP_IRATIO:
        return k_ns_div;
    case RDN_OP_MUL: case RDN_OP_RESCALE: case RDN_OP_I2F: case RDN_OP_D2F: case RDN_OP_F2I:
        return k_ns_mul;
    default:
        return k_ns_simple;
    }
}

/* Items, and what two parents use and costs more than a slot. Operands come first, so one pass in order is enough. */
static void choose_shared(struct rdn_plan *pl, struct rdn_arena *tmp) {
    double *ns = rdn_new_n(tmp, double, pl->nodes.n);
    for (rdn_pid p = 1; p < pl->nodes.n; p++) {
        struct rdn_pnode *n = at(pl, p);
        if (!n->uses || !(n->flags & RDN_P_NATIVE))
            continue;
        uint32_t k;
        const rdn_pid *args = rdn_pargs(pl, n, &k);
        ns[p] = rdn_plan_op_ns(n);
        for (uint32_t i = 0; i < k; i++)
            ns[p] += at(pl, args[i])->flags & RDN_P_SHARED ? 0 : ns[args[i]];
        if (n->uses > 1 && ns[p] > k_share_ns && pl->nslots < RDN_PLAN_MAX_SLOTS)
            n->flags |= RDN_P_SHARED;
        if (n->flags & RDN_P_SHARED) {
            n->slot = pl->nslots++;
            rdn_push_val(pl->grow, &pl->shared, p);
        }
    }
}

/* What items and windows need is made before the windows: shared values by OPERANDS, slots in the round of their level. */
static void mark_early(struct rdn_plan *pl, rdn_pid p);
static void early_key(struct rdn_plan *pl, uint32_t key) {
    for (uint32_t i = 0; i < pl->keys.v[key].n; i++)
        mark_early(pl, pl->parts.v[pl->keys.v[key].at + i].from.pid);
}
static void early_gather(struct rdn_plan *pl, rdn_pid p) {
    struct rdn_gather *g = &pl->gathers.v[at(pl, p)->gather];
    if (g->level)
        return;
    g->level = (uint8_t)rdn_plan_level(pl, p);
    if (g->level >= pl->levels)
        pl->levels = g->level + 1u;
    if (g->kind == RDN_G_ROW)
        early_key(pl, g->key);
    if (g->operand)
        mark_early(pl, g->operand);
    for (uint32_t i = 0; i < g->nargs; i++)
        mark_early(pl, g->args[i]);
    if (g->has_else)
        mark_early(pl, g->els);
}
static void mark_early(struct rdn_plan *pl, rdn_pid p) {
    struct rdn_pnode *n = at(pl, p);
    if (n->flags & RDN_P_EARLY)
        return;
    if (n->flags & RDN_P_SLOT) {
        if (n->op != RDN_OP_PARAM && n->uses)
            early_gather(pl, p);
        return;
    }
    if (n->flags & RDN_P_SHARED)
        n->flags |= RDN_P_EARLY;
    uint32_t k;
    const rdn_pid *args = rdn_pargs(pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        mark_early(pl, args[i]);
}
static void mark_all_early(struct rdn_plan *pl) {
    pl->levels = 1;
    for (uint32_t i = 0; i < pl->items.n; i++) {
        mark_early(pl, pl->items.v[i]);
        if (rdn_plan_level(pl, pl->items.v[i]) >= pl->levels)
            pl->levels = rdn_plan_level(pl, pl->items.v[i]) + 1;
    }
    for (uint32_t i = 0; i < pl->windows.n; i++) {
        const struct rdn_winplan *wp = &pl->windows.v[i];
        if (wp->how != RDN_WIN_FAST)
            continue;
        early_key(pl, wp->key);
        const rdn_pid parts[3] = {wp->where.pid, wp->value.pid, wp->span.pid};
        for (int k = 0; k < 3; k++)
            if (parts[k])
                mark_early(pl, parts[k]);
    }
}

/* ---- dep sets ---- */
struct deps { struct rdn_plan *pl; uint32_t *seen, stamp; };

static void dep_walk(struct deps *d, rdn_pid p, uint32_t bit) {
    struct rdn_pnode *n = at(d->pl, p);
    if (d->seen[p] == d->stamp)
        return;
    d->seen[p] = d->stamp;
    if (n->dep != RDN_NO_DEP)
        d->pl->deps[(size_t)n->dep * d->pl->dep_words + bit / 64] |= (uint64_t)!(rdn_fault(DEP_SET) && bit % 64 == 0) << bit % 64;
    if (n->flags & RDN_P_SLOT)
        return;
    uint32_t k;
    const rdn_pid *args = rdn_pargs(d->pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        dep_walk(d, args[i], bit);
}

/* Slots without which a value is undefined: those of all operands, but `and` and `or` need one that all of theirs need. */
struct slots { RDN_VEC(rdn_pid) v; uint32_t *left; };    /* left: nodes that may still be looked at; fewer slots are no mistake */
enum { STRICT_NODES = 256 };
static void strict(struct rdn_plan *pl, struct rdn_arena *tmp, rdn_pid p, struct slots *ret);
static void strict_junction(struct rdn_plan *pl, struct rdn_arena *tmp, const rdn_pid *args, uint32_t k, struct slots *ret) {
    uint32_t from = ret->v.n, n;
    strict(pl, tmp, args[0], ret);
    for (uint32_t i = 1; i < k && ret->v.n > from; i++) {
        struct slots other = {.left = ret->left};
        strict(pl, tmp, args[i], &other);
        for (n = from; n < ret->v.n;) {
            uint32_t j = 0;
            while (j < other.v.n && other.v.v[j] != ret->v.v[n])
                j++;
            if (j < other.v.n)
                n++;
            else
                ret->v.v[n] = ret->v.v[--ret->v.n];
        }
    }
}
static void strict(struct rdn_plan *pl, struct rdn_arena *tmp, rdn_pid p, struct slots *ret) {
    const struct rdn_pnode *n = at(pl, p);
    uint32_t k;
    if (!*ret->left)
        return;
    --*ret->left;
    if (n->flags & RDN_P_SLOT) {
        if (n->op != RDN_OP_PARAM)
            rdn_push_val(tmp, &ret->v, p);
        return;
    }
    const rdn_pid *args = rdn_pargs(pl, n, &k);
    if (n->op == RDN_OP_AND || n->op == RDN_OP_OR) {
        strict_junction(pl, tmp, args, k, ret);
        return;
    }
    for (uint32_t i = 0; i < (n->op == RDN_OP_SEL ? 1 : k); i++)
        strict(pl, tmp, args[i], ret);
}
static void sure_of(struct rdn_plan *pl, struct rdn_arena *tmp, rdn_pid root, uint32_t bit) {
    uint32_t left = STRICT_NODES;
    struct slots s = {.left = &left};
    strict(pl, tmp, root, &s);
    for (uint32_t i = 0; i < s.v.n; i++)
        if (at(pl, s.v.v[i])->dep != RDN_NO_DEP)
            pl->sure[(size_t)at(pl, s.v.v[i])->dep * pl->dep_words + bit / 64] |= 1ull << bit % 64;
}
static void sure_sets(struct rdn_plan *pl, struct rdn_arena *tmp) {
    pl->sure = rdn_new_n(pl->arena, uint64_t, (size_t)pl->ndeps * pl->dep_words + 1);
    for (uint32_t r = 0; r < pl->nrules; r++)
        if (pl->rules[r].how != RDN_RULE_INTERP && !pl->rules[r].guard)
            sure_of(pl, tmp, pl->rules[r].root, r);
    for (uint32_t i = 0; i < pl->items.n; i++)
        sure_of(pl, tmp, pl->items.v[i], pl->nrules + i);
}

static void dep_sets(struct rdn_plan *pl, struct rdn_arena *tmp) {
    struct deps d = {pl, rdn_new_n(tmp, uint32_t, pl->nodes.n), 0};
    pl->bits = pl->nrules + pl->items.n;
    pl->dep_words = (pl->bits + 63) / 64;
    for (rdn_pid p = 1; p < pl->nodes.n; p++) {
        struct rdn_pnode *n = at(pl, p);
        bool input = (n->flags & RDN_P_SLOT) || (n->flags & RDN_P_SHARED) || (n->op == RDN_OP_FIELD && n->type == RDN_TY_F64);
        if (n->uses && input)
            n->dep = pl->ndeps++;
    }
    pl->deps = rdn_new_n(pl->arena, uint64_t, (size_t)pl->ndeps * pl->dep_words + 1);
    for (uint32_t r = 0; r < pl->nrules; r++)
        if (pl->rules[r].how != RDN_RULE_INTERP) {
            d.stamp++;
            dep_walk(&d, pl->rules[r].root, r);
        }
    for (uint32_t i = 0; i < pl->items.n; i++) {
        d.stamp++;
        dep_walk(&d, pl->items.v[i], pl->nrules + i);
    }
    for (uint32_t g = 0; g < pl->gathers.n; g++)
        pl->gathers.v[g].dep = at(pl, pl->gathers.v[g].pid)->dep;
    if (pl->gathers.n)
        sure_sets(pl, tmp);
}

/* ---- rules ---- */
/* The clauses of an `and` that native code computes: an operand list of the copy; the others are comparisons of the score, or more. */
struct clauses { struct rdn_plan *pl; struct rdn_copy *c; rdn_pid v[16]; uint32_t n, rule; bool more; };
static bool score_clause(struct clauses *k, const struct rdn_node *n) {
    static const uint8_t turned[] = {[RDN_OP_LT] = RDN_OP_GT, [RDN_OP_LE] = RDN_OP_GE, [RDN_OP_GT] = RDN_OP_LT, [RDN_OP_GE] = RDN_OP_LE};
    const struct rdn_ir *ir = k->pl->ir;
    if (n->op != RDN_OP_LT && n->op != RDN_OP_LE && n->op != RDN_OP_GT && n->op != RDN_OP_GE)
        return false;
    rdn_id a = rdn_ir_leaf(ir, n->a), b = rdn_ir_leaf(ir, n->b);
    bool turn = ir->nodes.v[b].op == RDN_OP_SCORE;
    const struct rdn_pnode *o = at(k->pl, rdn_copy_node(k->c, turn ? a : b));
    if ((!turn && ir->nodes.v[a].op != RDN_OP_SCORE) || o->type != RDN_TY_I64 || (o->op != RDN_OP_PARAM && (o->op != RDN_OP_CONST || !(o->flags & RDN_P_NATIVE))))
        return false;
    rdn_push_val(k->pl->grow, &k->pl->scores, ((struct rdn_pscore){k->rule, turn ? turned[n->op] : n->op, o->op == RDN_OP_PARAM, o->aux, o->lo}));
    return true;
}
static void find_clauses(struct clauses *k, rdn_id id) {
    const struct rdn_node *n = &k->pl->ir->nodes.v[id = rdn_ir_leaf(k->pl->ir, id)];
    rdn_pid p = n->op != RDN_OP_AND && !(n->flags & (RDN_NODE_LATE | RDN_NODE_CALLS)) && k->n < 16 ? rdn_copy_node(k->c, id) : 0;
    if (n->op == RDN_OP_AND) {
        find_clauses(k, n->a);
        find_clauses(k, n->b);
    } else if (p && (at(k->pl, p)->flags & (RDN_P_NATIVE | RDN_P_SLOT))) {
        k->v[k->n++] = p;
    } else if (!score_clause(k, n)) {
        k->more = true;
    }
}
/* A rule with calls, or of the score: what native code can rule out. */
static void guard_rule(struct rdn_plan *pl, struct rdn_copy *c, uint32_t i, const struct rdn_rule *r, struct rdn_prule *pr) {
    struct clauses k = {.pl = pl, .c = c, .rule = i};
    uint32_t scores = pl->scores.n;
    find_clauses(&k, r->when);
    if (k.more)
        pl->scores.n = scores;                           /* interp answers all of it */
    if (k.more && !k.n)
        return;
    pr->root = rdn_copy_all(c, k.v, k.n);
    pr->how = RDN_RULE_FLAT;
    pr->guard = true;
}
static void plan_rules(struct rdn_plan *pl, struct rdn_copy *c, const struct rdn_plan_options *opt) {
    const struct rdn_ir *ir = pl->ir;
    const struct rdn_event *ev = &ir->events[pl->event];
    bool too_long = ev->size > RDN_PLAN_MAX_EVENT;
    for (uint32_t i = 0; i < ev->nrules; i++) {
        const struct rdn_rule *r = &ir->rules[ev->rules[i]];
        unsigned flags = ir->nodes.v[r->when].flags;
        struct rdn_prule *pr = &pl->rules[i];
        pr->how = RDN_RULE_INTERP;
        if (rdn_plan_without(opt, i) || too_long || pl->nodes.n > RDN_PLAN_MAX_NODES)
            continue;
        if (r->late || r->calls || (flags & (RDN_NODE_LATE | RDN_NODE_CALLS))) {
            guard_rule(pl, c, i, r, pr);
            continue;
        }
        pr->root = rdn_copy_node(c, r->when);
        const struct rdn_pnode *n = at(pl, pr->root);
        if (n->flags & (RDN_P_NATIVE | RDN_P_SLOT))
            pr->how = RDN_RULE_FLAT;
    }
}

/* A condition that is one question to interp: asking for the rule itself is no dearer and needs no slot. */
static bool drop_interp_slot(struct rdn_plan *pl, rdn_pid p) {
    struct rdn_pnode *n = at(pl, p);
    if (!(n->flags & RDN_P_SLOT) || n->op == RDN_OP_PARAM || n->uses != 1 || n->gather + 1 != pl->gathers.n ||
        pl->gathers.v[n->gather].kind != RDN_G_INTERP)
        return false;
    n->uses = 0;
    pl->gathers.n--;
    pl->nslots--;
    return true;
}

static void settle(struct rdn_plan *pl) {
    struct rdn_arena *a = pl->grow = pl->arena;
    rdn_settle(a, &pl->nodes), rdn_settle(a, &pl->args), rdn_settle(a, &pl->gathers), rdn_settle(a, &pl->keys), rdn_settle(a, &pl->parts);
    rdn_settle(a, &pl->windows), rdn_settle(a, &pl->items), rdn_settle(a, &pl->shared), rdn_settle(a, &pl->params), rdn_settle(a, &pl->finite);
    rdn_settle(a, &pl->clauses), rdn_settle(a, &pl->conds), rdn_settle(a, &pl->inputs), rdn_settle(a, &pl->groups), rdn_settle(a, &pl->late);
    rdn_settle(a, &pl->indexes), rdn_settle(a, &pl->ladders), rdn_settle(a, &pl->pures), rdn_settle(a, &pl->scores);
}

struct rdn_plan *rdn_plan_event(struct rdn_arena *arena, struct rdn_arena *tmp, struct rdn_copy *c, const struct rdn_ir *ir, uint32_t event,
                                const struct rdn_plan_options *opt) {
    struct rdn_plan *pl = rdn_new(arena, struct rdn_plan);
    pl->arena = arena;
    pl->grow = tmp;
    pl->ir = ir;
    pl->event = event;
    pl->nrules = ir->events[event].nrules;
    pl->words = (pl->nrules + 63) / 64;
    pl->rules = rdn_new_n(arena, struct rdn_prule, pl->nrules + 1);
    rdn_copy_begin(c, pl);
    plan_rules(pl, c, opt);
    rdn_plan_windows(pl, c);
    for (uint32_t i = 0; i < pl->nrules; i++)
        if (pl->rules[i].how != RDN_RULE_INTERP) {
            mark(pl, pl->rules[i].root);
            if (drop_interp_slot(pl, pl->rules[i].root) || pl->nslots > RDN_PLAN_MAX_SLOTS - 64)
                pl->rules[i].how = RDN_RULE_INTERP;
        }
    for (uint32_t i = 0; i < pl->items.n; i++)           /* and those that their gathers add */
        mark(pl, pl->items.v[i]);
    choose_shared(pl, tmp);
    mark_all_early(pl);
    dep_sets(pl, tmp);
    struct rdn_choice ch = {.pl = pl, .tmp = tmp, .opt = opt};
    rdn_plan_choose(&ch);
    rdn_plan_groups(&ch);
    settle(pl);
    return pl;
}
