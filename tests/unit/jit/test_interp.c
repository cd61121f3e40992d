/* SPDX-License-Identifier: Apache-2.0
 * interp against a second, naive interpreter that recurses over the nodes as the reference model does: the same values, causes and
 * positions for random rule sets; the same moment at which a let is first evaluated, which shows when a window changes
 * between two updates; never a call the naive order does not make, and none twice; explain's sub-values in the same order. */
#include "tests/unit/rows.h"
#include "base/fault.h"
#include "base/mem.h"
#include "jit/exec.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { NFIELDS = 6, NLETS = 6, NCALL_LETS = 3, NRULES = 4, NWINDOWS = 3, MAXLOG = 1 << 16 };
struct row { int64_t ts; uint64_t present; int64_t a; double b; int64_t c; int64_t d; uint8_t e; uint8_t pad[7]; double f; };

static uint64_t seed;
static uint32_t rnd(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- random rule sets ---- */
struct gen {
    struct rdn_arena arena;
    struct rdn_syms *syms;
    struct rdn_ir *ir;
    const struct rdn_type *B, *I, *F, *D, *X;
    rdn_id lets[NLETS], call_lets[NCALL_LETS];
    uint32_t nlets, ncall_lets, spans, readable;         /* readable: windows that may be read now */
    bool calls;
};
static uint32_t span(struct gen *g) { g->spans += 2; return rdn_ir_span(g->ir, g->spans, g->spans + 1); }
static rdn_id mk(struct gen *g, enum rdn_op op, const struct rdn_type *t, rdn_id a, rdn_id b, rdn_id c, uint32_t aux) {
    enum rdn_cell_type ct = t == g->D ? op == RDN_OP_FIELD || op == RDN_OP_CONST ? RDN_TY_D64 : RDN_TY_W128 : rdn_cell_of(t);
    unsigned flags = rnd(3) ? 0 : RDN_NODE_TRACE;
    return rdn_ir_node(g->ir, op, ct, t == g->D ? 2 : 0, t, a, b, c, aux, span(g), flags);
}
static rdn_id mkn(struct gen *g, enum rdn_op op, const struct rdn_type *t, const rdn_id *ids, uint32_t n, uint32_t aux) {
    enum rdn_cell_type ct = t == g->D ? RDN_TY_W128 : rdn_cell_of(t);
    return rdn_ir_node_n(g->ir, op, ct, t == g->D ? 2 : 0, t, ids, n, 0, aux, span(g), rnd(3) ? 0 : RDN_NODE_TRACE);
}
static rdn_id use_of(struct gen *g, rdn_id root) {
    struct rdn_node n = g->ir->nodes.v[root];
    return rdn_ir_node(g->ir, RDN_OP_USE, n.type, n.scale, rdn_ir_ltype(g->ir, root), root, 0, 0, 0, span(g), rnd(3) ? 0 : RDN_NODE_TRACE);
}
static bool is_leaf(unsigned op) { return op <= RDN_OP_SCORE || op == RDN_OP_USE; }

static rdn_id gen(struct gen *g, const struct rdn_type *t, unsigned depth);

static rdn_id constant(struct gen *g, const struct rdn_type *t) {
    static const double fs[] = { 0.0, -0.0, 1.5, -2.25, 1e300 };
    static const int64_t is[] = { 0, 1, -1, 3, INT64_MAX, INT64_MIN, 100 };
    static const char *const xs[] = { "", "a", "Bc", "3" };
    struct rdn_cell v = { .i = 0 };
    if (t == g->B)
        v.i = rnd(2);
    else if (t == g->F)
        v.f = fs[rnd(5)];
    else if (t == g->D)
        v.d = is[rnd(7)];
    else if (t == g->X)
        v.t.p = xs[rnd(4)], v.t.len = (uint32_t)strlen(v.t.p);
    else
        v.i = is[rnd(7)];
    return mk(g, RDN_OP_CONST, t, 0, 0, 0, rdn_ir_const(g->ir, rdn_cell_of(t), t == g->D ? 2 : 0, t, &v));
}

static rdn_id leaf(struct gen *g, const struct rdn_type *t) {
    for (unsigned tries = 0; tries < 3 && g->nlets && rnd(2); tries++) {
        bool from_calls = g->calls && g->ncall_lets && rnd(2);
        rdn_id root = from_calls ? g->call_lets[rnd(g->ncall_lets)] : g->lets[rnd(g->nlets)];
        if (rdn_ir_ltype(g->ir, root) == t)
            return use_of(g, root);
    }
    uint32_t k = rnd(4);
    if (t == g->I && k == 0)
        return mk(g, RDN_OP_PARAM, t, 0, 0, 0, 0);
    if (k == 1 || t == g->X)
        return constant(g, t);
    if (t == g->I)
        return mk(g, RDN_OP_FIELD, t, 0, 0, 0, rnd(2) ? 0 : 3);
    return mk(g, RDN_OP_FIELD, t, 0, 0, 0, t == g->F ? (rnd(2) ? 1 : 5) : t == g->D ? 2 : 4);
}

static rdn_id window_read(struct gen *g) {
    uint32_t w = rnd(g->readable);
    const struct rdn_window *win = &g->ir->windows[w];
    enum rdn_op op = rnd(4) ? RDN_OP_WREAD : RDN_OP_WPREV;
    if (rnd(2))
        return mkn(g, op, g->I, win->keys, win->nkeys, w);
    rdn_id key = gen(g, g->I, 1);
    return mkn(g, RDN_OP_WREAD, g->I, &key, 1, w);
}

static rdn_id in_set(struct gen *g, unsigned depth) {
    const struct rdn_type *t = rnd(2) ? g->I : g->F;
    rdn_id ids[5];
    uint32_t n = 1 + rnd(5);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = gen(g, t, i ? depth - 1 : 1);
    return mkn(g, RDN_OP_INSET, g->B, ids, n, 0);
}

/* A fn of two arguments, one of them used twice. */
static rdn_id inlined(struct gen *g, const struct rdn_type *t, unsigned depth) {
    rdn_id lead[2], use[2];
    for (int i = 0; i < 2; i++) {
        lead[i] = use[i] = gen(g, t, depth - 1);
        if (!is_leaf(g->ir->nodes.v[lead[i]].op)) {
            g->ir->nodes.v[lead[i]].flags |= RDN_NODE_SHARED;
            use[i] = use_of(g, lead[i]);
        }
    }
    rdn_id body = t == g->B ? mk(g, rnd(2) ? RDN_OP_AND : RDN_OP_OR, t, use[0], use[rnd(2)], 0, 0)
                            : mk(g, t == g->X ? RDN_OP_CONCAT : RDN_OP_ADD, t, use[0], use[rnd(2)], 0, 0);
    return mkn(g, RDN_OP_INLINE, t, (rdn_id[]){ lead[0], lead[1], body }, 3, 0);
}

static rdn_id gen_bool(struct gen *g, unsigned depth) {
    const struct rdn_type *ts[] = { g->I, g->F, g->D, g->X }, *t = ts[rnd(4)];
    rdn_id a, b;
    switch (rnd(8)) {
    case 0: case 1:
        a = gen(g, g->B, depth - 1), b = gen(g, g->B, depth - 1);
        return mk(g, rnd(2) ? RDN_OP_AND : RDN_OP_OR, g->B, a, b, 0, 0);
    case 2:
        return mk(g, RDN_OP_NOT, g->B, gen(g, g->B, depth - 1), 0, 0, 0);
    case 3:
        return mk(g, RDN_OP_DEFINED, g->B, gen(g, t, depth - 1), 0, 0, 0);
    case 4:
        return in_set(g, depth);
    default:
        a = gen(g, t, depth - 1), b = gen(g, t, depth - 1);
        return mk(g, RDN_OP_EQ + rnd(6), g->B, a, b, 0, 0);
    }
}

static rdn_id gen_int(struct gen *g, unsigned depth) {
    rdn_id ids[3];
    switch (rnd(7)) {
    case 0:
        if (g->calls) {
            ids[0] = gen(g, g->I, depth - 1);
            rdn_id id = mkn(g, RDN_OP_CALL, g->I, ids, 1, 0);
            g->ir->nodes.v[id].flags |= RDN_NODE_CALLS;
            return id;
        } /* fallthrough */
    case 1:
        if (g->readable)
            return window_read(g); /* fallthrough */
    case 2:
        return mk(g, RDN_OP_LEN, g->I, gen(g, g->X, depth - 1), 0, 0, 0);
    case 3:
        for (int i = 0; i < 3; i++)
            ids[i] = gen(g, g->I, depth - 1);
        return mkn(g, rnd(2) ? RDN_OP_MIN : RDN_OP_MAX, g->I, ids, 3, 0);
    default:
        ids[0] = gen(g, g->I, depth - 1), ids[1] = gen(g, g->I, depth - 1);
        return mk(g, RDN_OP_ADD + rnd(5), g->I, ids[0], ids[1], 0, 0);
    }
}

static rdn_id gen(struct gen *g, const struct rdn_type *t, unsigned depth) {
    rdn_id a, b, c;
    if (!depth)
        return leaf(g, t);
    switch (rnd(9)) {
    case 0:
        a = gen(g, g->B, depth - 1), b = gen(g, t, depth - 1), c = gen(g, t, depth - 1);
        return mk(g, RDN_OP_SEL, t, a, b, c, 0);
    case 1:
        a = gen(g, t, depth - 1), b = gen(g, t, depth - 1);
        return mk(g, RDN_OP_COALESCE, t, a, b, 0, 0);
    case 2:
        return inlined(g, t, depth);
    case 3:
        return leaf(g, t);
    default:
        break;
    }
    if (t == g->B)
        return gen_bool(g, depth);
    if (t == g->I)
        return gen_int(g, depth);
    a = gen(g, t, depth - 1), b = gen(g, t, depth - 1);
    return mk(g, t == g->X ? RDN_OP_CONCAT : RDN_OP_ADD + rnd(t == g->F ? 4 : 2), t, a, b, 0, 0);
}

static void schema(struct gen *g) {
    struct rdn_ir *ir = g->ir;
    static struct rdn_field fs[NFIELDS];
    const struct rdn_field list[NFIELDS] = {
        { "a", g->I, offsetof(struct row, a), 8, false, 0 }, { "b", g->F, offsetof(struct row, b), 8, true, 0 },
        { "c", g->D, offsetof(struct row, c), 8, false, 0 }, { "d", g->I, offsetof(struct row, d), 8, true, 1 },
        { "e", g->B, offsetof(struct row, e), 1, true, 2 },  { "f", g->F, offsetof(struct row, f), 8, false, 0 } };
    memcpy(fs, list, sizeof fs);
    ir->events = rdn_new_n(&g->arena, struct rdn_event, 1);
    ir->nevents = 1;
    ir->events[0] = (struct rdn_event){ .name = "E", .canon = "E;", .fields = fs, .nfields = NFIELDS, .size = sizeof(struct row),
                                        .has_present = true, .part_field = -1 };
    ir->params = rdn_new_n(&g->arena, struct rdn_param, 1);
    ir->nparams = 1;
    ir->params[0] = (struct rdn_param){ .name = "p", .type = g->I, .val = { .i = 2 } };
    ir->calls = rdn_new_n(&g->arena, struct rdn_call, 1);
    ir->ncalls = 1;
    ir->calls[0] = (struct rdn_call){ .name = "f", .params = rdn_new_n(&g->arena, struct rdn_column, 1), .nparams = 1, .rtype = g->I };
    ir->calls[0].params[0] = (struct rdn_column){ "x", g->I };
    ir->windows = rdn_new_n(&g->arena, struct rdn_window, NWINDOWS);
    ir->rules = rdn_new_n(&g->arena, struct rdn_rule, NRULES);
    ir->nrules = NRULES;
}

static void let(struct gen *g, rdn_id *v, uint32_t *n) {
    const struct rdn_type *ts[] = { g->B, g->I, g->F, g->D, g->X };
    rdn_id id = gen(g, ts[rnd(5)], 2);
    if (!is_leaf(g->ir->nodes.v[id].op))
        g->ir->nodes.v[id].flags |= RDN_NODE_SHARED;
    v[(*n)++] = id;
}

static void windows(struct gen *g) {
    static const struct rdn_type *kt[1];
    kt[0] = g->I;
    for (uint32_t i = 0; i < NWINDOWS; i++) {
        struct rdn_window w = { .name = "w", .agg = RDN_AGG_SUM, .event = 0, .vtype = g->I, .rtype = g->I, .ktypes = kt, .nkeys = 1,
                                .cap = 4, .canon = "w" };
        w.keys = rdn_new(&g->arena, rdn_id);
        w.keys[0] = gen(g, g->I, 1);
        w.where = rnd(3) ? gen(g, g->B, 3) : RDN_NO_NODE;
        w.value = gen(g, g->I, 2);
        g->ir->windows[i] = w;
        g->ir->nwindows = g->readable = i + 1;
        if (g->nlets < NLETS)
            let(g, g->lets, &g->nlets);
    }
}

static void build(struct gen *g) {
    rdn_arena_init(&g->arena, &rdn_libc_mem);
    assert_int_equal(rdn_syms_open(&g->syms, &rdn_libc_mem, 100), 0);
    g->ir = rdn_ir_new(&g->arena, g->syms);
    struct rdn_types *t = g->ir->types;
    g->B = rdn_type_simple(t, RDN_K_BOOL), g->I = rdn_type_simple(t, RDN_K_INT), g->F = rdn_type_simple(t, RDN_K_FLOAT);
    g->D = rdn_type_dec(t, 2), g->X = rdn_type_simple(t, RDN_K_TEXT);
    schema(g);
    for (int i = 0; i < 3; i++)
        let(g, g->lets, &g->nlets);
    windows(g);
    g->calls = true;
    for (int i = 0; i < NCALL_LETS; i++)
        let(g, g->call_lets, &g->ncall_lets);
    for (int i = 0; i < NRULES; i++) {
        struct rdn_action *a = rdn_new(&g->arena, struct rdn_action);
        rdn_id when = gen(g, g->B, 4);
        g->ir->rules[i] = (struct rdn_rule){ .name = "r", .when = when, .acts = a, .nacts = 1 };
        a->verb = RDN_V_FLAG;
        a->msg = rdn_new_n(&g->arena, struct rdn_part, 1);
        a->nmsg = 1;
        a->msg[0].node = gen(g, g->X, 3);
    }
    rdn_ir_seal(g->ir);
}

/* ---- what the lane would answer ---- */
struct world {
    struct rdn_ir *ir;
    uint32_t updates;                                    /* changes what windows say */
    uint32_t ncalled;
};
static void wread(void *lane, uint32_t window, const struct rdn_key *k, bool prev, struct rdn_cell *ret) {
    struct world *w = lane;
    uint64_t h = (k->words ? k->w[0] : 0) * 31 + window * 7 + w->updates * 3 + prev;
    if (h % 7 == 0)
        ret->cause = RDN_CAUSE_COLD;
    else
        ret->i = (int64_t)(h % 5);
}
static void call(void *lane, uint32_t at, const struct rdn_cell *args, uint32_t n, const uint8_t *row, struct rdn_cell *ret) {
    struct world *w = lane;
    assert_true(n == 1 && row && at == 0);
    w->ncalled++;
    if (args[0].i % 5 == 3)
        ret->cause = RDN_CAUSE_PLUGIN;
    else
        ret->i = args[0].i / 2;
}

/* ---- the naive interpreter ---- */
struct naive {
    struct world *w; struct rdn_ir *ir; const struct row *row; const struct rdn_cell *params;
    struct rdn_cell *memo; bool *done;
    struct rdn_scratch sc;
    bool tracing; rdn_id *log; uint32_t nlog;
};
static void eval(struct naive *v, rdn_id id, struct rdn_cell *ret);

static bool own_key(const struct naive *v, const struct rdn_node *n, const rdn_id *args) {
    return args[0] == v->ir->windows[n->aux].keys[0];
}
static void read_window(struct naive *v, const struct rdn_node *n, const rdn_id *args, struct rdn_cell *ret) {
    bool was = v->tracing, own = own_key(v, n, args);
    struct rdn_cell k;
    v->tracing = was && !own;
    if (own && v->done[args[0]])
        k = v->memo[args[0]];
    else
        eval(v, args[0], &k);
    v->tracing = was;
    if (own)
        v->memo[args[0]] = k, v->done[args[0]] = true;
    *ret = k;
    if (k.cause)
        return;
    struct rdn_key key;
    rdn_key_begin(&key);
    rdn_key_add(&key, v->ir->windows[n->aux].ktypes[0], &k);
    rdn_key_end(&key);
    ret->cause = 0;
    wread(v->w, n->aux, &key, n->op == RDN_OP_WPREV, ret);
    if (ret->cause)
        ret->span = n->span;
}
static bool is_nan(const struct naive *v, rdn_id id, const struct rdn_cell *c) {
    return v->ir->nodes.v[id].type == RDN_TY_F64 && c->f != c->f;
}
static void strict(struct naive *v, rdn_id id, const rdn_id *args, uint32_t n, struct rdn_cell *ret) {
    struct rdn_cell cells[8];
    const struct rdn_cell *argp[8];
    for (uint32_t i = 0; i < n; i++) {
        eval(v, args[i], &cells[i]);
        argp[i] = &cells[i];
        if (cells[i].cause) {
            *ret = cells[i];
            return;
        }
    }
    memset(ret, 0, sizeof *ret);
    rdn_op_apply(v->ir, id, argp, n, &v->sc, ret);
}
static void set(struct naive *v, rdn_id id, const rdn_id *args, uint32_t n, struct rdn_cell *ret) {
    struct rdn_cell cells[8];
    const struct rdn_cell *argp[8];
    for (uint32_t i = 0; i < n; i++) {
        eval(v, args[i], &cells[i]);
        argp[i] = &cells[i];
        memset(ret, 0, sizeof *ret);
        rdn_op_apply(v->ir, id, argp, i + 1, &v->sc, ret);
        if (i == 0 ? cells[0].cause : !ret->cause && ret->i)
            return;
    }
}
static void call_node(struct naive *v, rdn_id id, const rdn_id *args, struct rdn_cell *ret) {
    struct rdn_cell a;
    eval(v, args[0], &a);
    *ret = a;
    if (a.cause)
        return;
    ret->cause = 0;
    call(v->w, 0, &a, 1, (const uint8_t *)v->row, ret);
    if (ret->cause)
        ret->span = v->ir->nodes.v[id].span;
}
static void node(struct naive *v, rdn_id id, struct rdn_cell *ret) {
    const struct rdn_node *n = &v->ir->nodes.v[id];
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *args = rdn_node_args(v->ir, n, buf, &k);
    bool was = v->tracing;
    struct rdn_cell b;
    memset(ret, 0, sizeof *ret);
    switch (n->op) {
    case RDN_OP_CONST: *ret = v->ir->consts.v[n->aux].val; return;
    case RDN_OP_PARAM: *ret = v->params[n->aux]; return;
    case RDN_OP_FIELD:
        rdn_row_field(&v->ir->events[0], &v->ir->events[0].fields[n->aux], (const uint8_t *)v->row, ret);
        if (ret->cause)
            ret->span = n->span;
        return;
    case RDN_OP_USE:
        v->tracing = false;
        eval(v, n->a, ret);
        v->tracing = was;
        return;
    case RDN_OP_INLINE:
        for (uint32_t i = 0; i + 1 < k; i++)
            eval(v, args[i], &b);
        v->tracing = false;
        eval(v, args[k - 1], ret);
        v->tracing = was;
        return;
    case RDN_OP_AND: case RDN_OP_OR: {
        int64_t stop = n->op == RDN_OP_OR;
        eval(v, n->a, ret);
        if (!ret->cause && ret->i == stop)
            return;
        eval(v, n->b, &b);
        if ((!b.cause && b.i == stop) || !ret->cause)
            *ret = b;
        return;
    }
    case RDN_OP_SEL:
        eval(v, n->a, ret);
        if (!ret->cause)
            eval(v, ret->i ? n->b : n->c, ret);
        return;
    case RDN_OP_COALESCE:
        eval(v, n->a, ret);
        if (ret->cause || is_nan(v, n->a, ret))
            eval(v, n->b, ret);
        return;
    case RDN_OP_DEFINED:
        eval(v, n->a, &b);
        ret->i = !b.cause && !is_nan(v, n->a, &b);
        return;
    case RDN_OP_INSET: set(v, id, args, k, ret); return;
    case RDN_OP_WREAD: case RDN_OP_WPREV: read_window(v, n, args, ret); return;
    case RDN_OP_CALL: call_node(v, id, args, ret); return;
    default: strict(v, id, args, k, ret);
    }
}
static void eval(struct naive *v, rdn_id id, struct rdn_cell *ret) {
    const struct rdn_node *n = &v->ir->nodes.v[id];
    bool memo = n->flags & RDN_NODE_SHARED || n->op == RDN_OP_CALL;
    if (memo && v->done[id] && !v->tracing) {
        *ret = v->memo[id];
    } else {
        node(v, id, ret);
        if (memo)
            v->memo[id] = *ret, v->done[id] = true;
    }
    if (v->tracing && n->flags & RDN_NODE_TRACE && v->nlog < MAXLOG)
        v->log[v->nlog++] = id;
}

/* ---- comparison ---- */
static bool same(const struct rdn_ir *ir, rdn_id id, const struct rdn_cell *a, const struct rdn_cell *b) {
    if (a->cause || b->cause)
        return a->cause == b->cause && a->span == b->span;
    switch (ir->nodes.v[id].type) {
    case RDN_TY_F64: return a->f == b->f ? !memcmp(&a->f, &b->f, 8) : a->f != a->f && b->f != b->f;
    case RDN_TY_D64: case RDN_TY_W128: return a->d == b->d;
    case RDN_TY_STR: return a->t.len == b->t.len && !memcmp(a->t.p, b->t.p, a->t.len);
    default: return a->i == b->i;
    }
}
struct pair { struct gen g; struct world ours, theirs; struct naive n; struct rdn_program *prog; struct rdn_frame *frame; uint64_t row_seed; };

static void compare(struct pair *p, const char *what, unsigned i, rdn_id id, const struct rdn_cell *ours) {
    struct rdn_cell theirs;
    eval(&p->n, id, &theirs);
    check(same(p->g.ir, id, ours, &theirs), "seed %llu: %s %u: %lld/%u at %u, naive %lld/%u at %u", (unsigned long long)p->row_seed, what, i,
          (long long)ours->i, ours->cause, ours->span, (long long)theirs.i, theirs.cause, theirs.span);
}

static void judge_window(struct pair *p, uint32_t i) {
    const struct rdn_window *w = &p->g.ir->windows[i];
    struct rdn_winput in;
    enum rdn_enter got = rdn_exec_window(p->frame, i, &in), want = RDN_ENTER;
    struct rdn_cell c = { .i = 1 }, k = { .i = 0 };
    if (w->where)
        eval(&p->n, w->where, &c);
    if (c.cause || !c.i)
        want = c.cause ? RDN_ENTER_SKIP : RDN_ENTER_NOT;
    if (want == RDN_ENTER) {
        if (!p->n.done[w->keys[0]])
            eval(&p->n, w->keys[0], &p->n.memo[w->keys[0]]);
        p->n.done[w->keys[0]] = true;
        k = p->n.memo[w->keys[0]];
        eval(&p->n, w->value, &c);
        if (k.cause || c.cause)
            want = RDN_ENTER_SKIP;
    }
    check(got == want, "seed %llu: window %u: %d, naive %d", (unsigned long long)p->row_seed, i, got, want);
    if (got == RDN_ENTER)
        check(in.val.i == c.i && in.key->words == 1 && (int64_t)in.key->w[0] == k.i, "seed %llu: window %u", (unsigned long long)p->row_seed, i);
}

struct traced { struct pair *p; uint32_t n; };
static void on_trace(void *ctx, const struct rdn_ir *ir, rdn_id id, const struct rdn_cell *c) {
    struct traced *t = ctx;
    (void)ir;
    check(t->n < t->p->n.nlog && t->p->n.log[t->n] == id, "seed %llu: sub-value %u is n%u, naive n%u", (unsigned long long)t->p->row_seed, t->n, id,
          t->n < t->p->n.nlog ? t->p->n.log[t->n] : 0);
    compare(t->p, "sub-value", id, id, c);
    t->n++;
}

static void judge_rules(struct pair *p) {
    struct rdn_frame_head *h = rdn_frame_head(p->frame);
    rdn_exec_rules(p->frame, RDN_EARLY);
    for (uint32_t i = 0; i < NRULES; i++) {
        const struct rdn_rule *r = &p->g.ir->rules[i];
        struct rdn_cell c;
        rdn_exec_cause(p->frame, i, &c);
        compare(p, "rule", i, r->when, &c);
        check((h->fired[0] >> i & 1) == (!c.cause && c.i) && (h->undef[0] >> i & 1) == (c.cause != 0), "seed %llu: bits of rule %u",
              (unsigned long long)p->row_seed, i);
    }
    check(p->ours.ncalled <= p->theirs.ncalled, "seed %llu: %u calls, naive %u", (unsigned long long)p->row_seed, p->ours.ncalled, p->theirs.ncalled);
    for (uint32_t i = 0; i < NRULES; i++) {
        struct rdn_cell c, again;
        rdn_exec_value(p->frame, p->g.ir->rules[i].acts->msg->node, &c);
        rdn_exec_value(p->frame, p->g.ir->rules[i].acts->msg->node, &again);
        compare(p, "message", i, p->g.ir->rules[i].acts->msg->node, &c);
        check(c.cause || c.t.p == again.t.p, "message %u is made twice", i);
        struct traced t = { p, 0 };
        p->n.nlog = 0;
        p->n.tracing = true;
        eval(&p->n, p->g.ir->rules[i].when, &c);
        p->n.tracing = false;
        rdn_exec_trace(p->frame, i, on_trace, &t, &again);
        check(t.n == p->n.nlog && same(p->g.ir, p->g.ir->rules[i].when, &c, &again), "seed %llu: explain of rule %u has %u lines, naive %u",
              (unsigned long long)p->row_seed, i, t.n, p->n.nlog);
    }
}

static void random_row(struct row *r) {
    static const double fs[] = { 0, 1.5, -1e308, (double)NAN };
    *r = (struct row){ .ts = 1, .present = rnd(8), .a = (int64_t)rnd(7) - 3, .b = fs[rnd(4)], .c = rnd(300), .d = rnd(2) ? INT64_MAX : 2, .e = (uint8_t)rnd(2),
                       .f = fs[rnd(4)] };
}

static void one_event(struct pair *p) {
    struct row row;
    uint32_t n = p->g.ir->nodes.n;
    random_row(&row);
    p->ours.ncalled = p->theirs.ncalled = 0;
    memset(p->n.done, 0, n * sizeof *p->n.done);
    p->n.row = &row;
    p->n.sc.used = 0;
    rdn_exec_begin(p->frame, 0, (const uint8_t *)&row, 10, 1);
    for (uint32_t i = 0; i < NWINDOWS; i++) {
        judge_window(p, i);
        p->ours.updates++;
        p->theirs.updates++;
    }
    judge_rules(p);
    uint32_t made = 0, could = 0;
    for (rdn_id id = 1; id < n; id++)
        could += p->g.ir->nodes.v[id].op == RDN_OP_CALL;
    made = p->ours.ncalled;
    check(made <= could, "seed %llu: %u calls of %u", (unsigned long long)p->row_seed, made, could);
}

static void random_rule_set(uint64_t s) {
    struct pair p = { .row_seed = s };
    redan_error e = { 0 };
    seed = s * 0x9e3779b97f4a7c15u + 1;
    build(&p.g);
    struct rdn_ir *ir = p.g.ir;
    struct rdn_cell params[1] = { ir->params[0].val };
    uint32_t n = ir->nodes.n;
    static char scratch[1 << 22];
    p.ours.ir = p.theirs.ir = ir;
    p.n = (struct naive){ .w = &p.theirs, .ir = ir, .params = params, .sc = { scratch, sizeof scratch, 0 } };
    p.n.memo = calloc(n, sizeof *p.n.memo);
    p.n.done = calloc(n, sizeof *p.n.done);
    p.n.log = calloc(MAXLOG, sizeof *p.n.log);
    struct rdn_helpers help = { .wread = wread, .call = call };
    assert_int_equal(rdn_program_open(ir, "interp", &rdn_libc_mem, &p.prog, &e), 0);
    assert_int_equal(rdn_frame_open(p.prog, &help, &p.ours, params, &rdn_libc_mem, &p.frame, &e), 0);
    for (int i = 0; i < 12; i++)
        one_event(&p);
    rdn_frame_close(p.frame);
    rdn_program_close(p.prog);
    free(p.n.memo), free(p.n.done), free(p.n.log);
    rdn_syms_close(p.g.syms);
    rdn_arena_fini(&p.g.arena);
}

static void test_random(void **state) {
    (void)state;
    const char *n = getenv("REDAN_TEST_ROUNDS");
    for (uint64_t s = 1; s <= (n ? strtoull(n, NULL, 10) : 400); s++)
        random_rule_set(s);
}

#if defined(__aarch64__)
#define FOREIGN "x64"                                    /* of another processor */
#else
#define FOREIGN "a64"
#endif
static void test_backends(void **state) {
    (void)state;
    struct gen g = { .spans = 0 };
    struct rdn_program *p = NULL;
    redan_error e = { 0 };
    seed = 7;
    build(&g);
    static const struct { const char *name; int rc; const char *id; } cases[] = {
        { "interp", 0, "" }, { "auto", 0, "" }, { FOREIGN, REDAN_E_NOSUP, "R2106" }, { "gcc", REDAN_E_INVAL, "" } };
    for each(i, cases) {
        int rc = rdn_program_open(g.ir, cases[i].name, &rdn_libc_mem, &p, &e);
        check(rc == cases[i].rc && (!rc || !strcmp(e.id, cases[i].id)), "%s: %d %s", cases[i].name, rc, e.id);
        check(rdn_backend_known(cases[i].name) == (cases[i].rc != REDAN_E_INVAL), "%s", cases[i].name);
        if (!rc)
            rdn_program_close(p);
    }
    rdn_syms_close(g.syms);
    rdn_arena_fini(&g.arena);
}

/* 256 lets, each an expression of height 200 over the one before, cost the lane no C stack: 32 KiB are enough, or the least there is. */
static void *judge_chain(void *frame) {
    struct row row = { .ts = 1, .a = 3 };
    struct rdn_cell c;
    rdn_exec_begin(frame, 0, (const uint8_t *)&row, 1, 1);
    rdn_exec_rules(frame, RDN_EARLY);
    rdn_exec_cause(frame, 0, &c);
    return (void *)(uintptr_t)(rdn_frame_head(frame)->fired[0] & 1 && !c.cause && c.i);
}

static void test_chain(void **state) {
    (void)state;
    struct gen g = { .spans = 0 };
    struct rdn_program *p = NULL;
    struct rdn_frame *f = NULL;
    redan_error e = { 0 };
    seed = 3;
    rdn_arena_init(&g.arena, &rdn_libc_mem);
    assert_int_equal(rdn_syms_open(&g.syms, &rdn_libc_mem, 100), 0);
    g.ir = rdn_ir_new(&g.arena, g.syms);
    g.B = rdn_type_simple(g.ir->types, RDN_K_BOOL), g.I = rdn_type_simple(g.ir->types, RDN_K_INT), g.F = rdn_type_simple(g.ir->types, RDN_K_FLOAT);
    g.D = rdn_type_dec(g.ir->types, 2), g.X = rdn_type_simple(g.ir->types, RDN_K_TEXT);
    schema(&g);
    struct rdn_cell one = { .i = 1 };
    uint32_t k = rdn_ir_const(g.ir, RDN_TY_I64, 0, g.I, &one);
    rdn_id id = mk(&g, RDN_OP_FIELD, g.I, 0, 0, 0, 0);
    for (int i = 0; i < 256; i++) {
        for (int h = 0; h < 200; h++)                    /* the deep side on the right: operands pile up */
            id = mk(&g, RDN_OP_ADD, g.I, mk(&g, RDN_OP_CONST, g.I, 0, 0, 0, k), id, 0, 0);
        g.ir->nodes.v[id].flags |= RDN_NODE_SHARED;
        id = use_of(&g, id);
    }
    struct rdn_cell sum = { .i = 3 + 256 * 200 };
    id = mk(&g, RDN_OP_EQ, g.B, id, mk(&g, RDN_OP_CONST, g.I, 0, 0, 0, rdn_ir_const(g.ir, RDN_TY_I64, 0, g.I, &sum)), 0, 0);
    g.ir->nrules = 1;
    g.ir->rules[0] = (struct rdn_rule){ .name = "r", .when = id };
    rdn_ir_seal(g.ir);
    struct rdn_helpers help = { .wread = wread, .call = call };
    assert_int_equal(rdn_program_open(g.ir, "interp", &rdn_libc_mem, &p, &e), 0);
    assert_int_equal(rdn_frame_open(p, &help, NULL, NULL, &rdn_libc_mem, &f, &e), 0);
    pthread_attr_t attr;
    pthread_t t;
    void *good = NULL;
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);    /* aarch64: 128 KiB */
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, least > 32768 ? least : 32768), 0);
    assert_int_equal(pthread_create(&t, &attr, judge_chain, f), 0);
    pthread_join(t, &good);
    pthread_attr_destroy(&attr);
    assert_non_null(good);
    rdn_frame_close(f);
    rdn_program_close(p);
    rdn_syms_close(g.syms);
    rdn_arena_fini(&g.arena);
}

/* Every allocation fails once: an error, nothing leaked (ASan), and the next try succeeds. */
static void test_no_memory(void **state) {
    (void)state;
    struct gen g = { .spans = 0 };
    struct rdn_helpers help = { .wread = wread, .call = call };
    seed = 11;
    build(&g);
    for (uint64_t n = 1;; n++) {
        struct rdn_program *p = NULL;
        struct rdn_frame *f = NULL;
        redan_error e = { 0 };
        rdn_fault_arm(n);
        int rc = rdn_program_open(g.ir, "interp", &rdn_libc_mem, &p, &e);
        if (!rc)
            rc = rdn_frame_open(p, &help, NULL, &g.ir->params[0].val, &rdn_libc_mem, &f, &e);
        uint64_t seen = rdn_fault_seen();
        rdn_fault_arm(0);
        check(rc == 0 || (rc == REDAN_E_NOMEM && e.code == rc && !f), "allocation %llu: %d", (unsigned long long)n, rc);
        rdn_frame_close(f);
        rdn_program_close(p);
        if (!rc) {
            check(seen < n && n > 10, "allocation %llu failed unnoticed", (unsigned long long)n);
            break;
        }
    }
    rdn_syms_close(g.syms);
    rdn_arena_fini(&g.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random), cmocka_unit_test(test_backends), cmocka_unit_test(test_chain),
                                        cmocka_unit_test(test_no_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
