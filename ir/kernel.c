/* SPDX-License-Identifier: Apache-2.0
 * kernel.c: kernels on the CPU (LANGUAGE.md chapter 12).
 *
 * Nodes that do not depend on the path are evaluated once a call; the others leaf by leaf of 256 paths, by the block functions of
 * the kernel's plan. A leaf in which something is undefined, and all of a kernel without a plan, goes to the reference
 * (kernel_ref.c), which finds the first path that is undefined and why. Both give the same bits.
 *
 * rdn_kernel_open   [setup]  plans, and memory for the largest kernel: its columns, a double a path for quantiles
 * rdn_kernel_run    [lane]   O(paths x nodes), no allocation; the clock is read once a leaf */
#include "base/clock.h"
#include "ir/kernel_plan.h"
#include "ir/kernel_run.h"
#include "ir/prelude/rdn_prelude.h"
#include <math.h>
#include <string.h>

enum { CHUNK_MAX = 256, COLUMN_BYTES = 1 << 19 };        /* the columns of a chunk should stay in the second-level cache */
_Static_assert(CHUNK_MAX == RDN_LEAF, "chunks divide leaves");

/* ---- memory ---- */

struct layout { size_t cols, uniform, cells, ptrs, data, once, each, leaves, values, block, total; uint32_t chunk; };

static size_t place(struct layout *l, size_t bytes) {
    size_t at = l->total;
    l->total = (at + bytes + 63) & ~(size_t)63;
    return at;
}

static struct layout layout_of(const struct rdn_ir *ir, const struct rdn_call *c, const struct rdn_kplan *plan) {
    struct layout l = { 0 };
    size_t elems = 0, arrays = 64, widest = 1, nodes = c->last - c->first + 1, nargs = 1;
    for (rdn_id id = c->first; id <= c->last; id++) {
        rdn_id buf[3];
        uint32_t n, k = rdn_node_elems(ir, id);
        rdn_node_args(ir, &ir->nodes.v[id], buf, &n);
        nargs = n > nargs ? n : nargs;
        widest = k > widest ? k : widest;
        elems += k;
        if (!(ir->nodes.v[id].flags & RDN_NODE_EACH))
            arrays += sizeof(double) * k + 16;
    }
    l.chunk = CHUNK_MAX;
    while (l.chunk > 16 && elems * l.chunk * sizeof(double) > COLUMN_BYTES)
        l.chunk /= 2;
    l.cols = place(&l, nodes * sizeof(struct rdn_kcol));
    l.uniform = place(&l, nodes * sizeof(struct rdn_cell));
    l.cells = place(&l, nargs * sizeof(struct rdn_cell));
    l.ptrs = place(&l, nargs * sizeof(struct rdn_cell *));
    l.data = place(&l, elems * sizeof(double) * l.chunk + nodes * ((l.chunk + 15) & ~15u));
    l.once = place(&l, arrays);
    l.each = place(&l, widest * sizeof(double) + 64);
    l.leaves = place(&l, ((size_t)c->paths + RDN_LEAF - 1) / RDN_LEAF * sizeof(double));
    l.values = place(&l, c->reduce == RDN_RED_QUANTILE ? (size_t)c->paths * sizeof(int64_t) : 0);
    l.block = place(&l, sizeof(double) * RDN_LEAF * (plan ? plan->ncolumns : 1));
    return l;
}

struct kernel { struct rdn_kplan *plan; struct layout layout; };
struct rdn_kernel_state {
    const struct rdn_mem *mem;
    struct rdn_arena arena;
    const struct rdn_block *block;                       /* NULL: reference only */
    struct kernel *kernels;                              /* by call */
    size_t size; char *base;
};

static int open_kernels(struct rdn_kernel_state *s, const struct rdn_ir *ir) {
    s->kernels = rdn_new_n(&s->arena, struct kernel, ir->ncalls + 1);
    if (!s->kernels)
        return REDAN_E_NOMEM;
    for (uint32_t i = 0; i < ir->ncalls; i++) {
        struct kernel *k = &s->kernels[i];
        if (!ir->calls[i].kernel)
            continue;
        if (rdn_kplan_build(ir, &ir->calls[i], &s->arena, &k->plan) < 0)
            return REDAN_E_NOMEM;
        k->layout = layout_of(ir, &ir->calls[i], k->plan);
        s->size = k->layout.total + 64 > s->size ? k->layout.total + 64 : s->size;
    }
    if (s->size && !(s->base = rdn_realloc(s->mem, NULL, 0, s->size)))
        return REDAN_E_NOMEM;
    return 0;
}

int rdn_kernel_open(const struct rdn_ir *ir, const struct rdn_mem *mem, struct rdn_kernel_state **ret) {
    struct rdn_kernel_state *s = rdn_zalloc(mem, sizeof *s);
    if (!s)
        return REDAN_E_NOMEM;
    s->mem = mem;
    s->block = rdn_block();
    rdn_arena_init(&s->arena, mem);
    int rc = open_kernels(s, ir);
    if (rc < 0)
        rdn_kernel_close(s);
    else
        *ret = s;
    return rc;
}

void rdn_kernel_use(struct rdn_kernel_state *s, const struct rdn_block *block) { s->block = block; }

void rdn_kernel_close(struct rdn_kernel_state *s) {
    if (!s)
        return;
    rdn_free(s->mem, s->base, s->base ? s->size : 0);
    rdn_arena_fini(&s->arena);
    rdn_free(s->mem, s, sizeof *s);
}

/* ---- values that are the same on every path ---- */

static void source(const struct rdn_krun *r, const struct rdn_node *n, const struct rdn_cell *args, const struct rdn_cell *params,
                   struct rdn_cell *ret) {
    if (n->op == RDN_OP_CONST)
        *ret = r->ir->consts.v[n->aux].val;
    else if (n->op == RDN_OP_KPARAM)
        *ret = args[n->aux];
    else
        *ret = params[n->aux];
}

static bool is_source(unsigned op) { return op == RDN_OP_CONST || op == RDN_OP_KPARAM || op == RDN_OP_PARAM; }

/* Everything that is the same on every path. */
static void run_uniform(struct rdn_krun *r, const struct rdn_cell *args, const struct rdn_cell *params) {
    for (rdn_id id = r->call->first; id <= r->call->last; id++) {
        const struct rdn_node *n = &r->ir->nodes.v[id];
        struct rdn_cell *v = &r->uniform[id - r->call->first];
        if (n->flags & RDN_NODE_EACH)
            continue;
        memset(v, 0, sizeof *v);
        if (is_source(n->op)) {
            source(r, n, args, params, v);
        } else {
            rdn_id buf[3];
            uint32_t k;
            const rdn_id *ids = rdn_node_args(r->ir, n, buf, &k);
            for (uint32_t i = 0; i < k; i++)
                r->arg_ptrs[i] = &r->uniform[ids[i] - r->call->first];
            rdn_op_apply(r->ir, id, r->arg_ptrs, k, &r->once, v);
        }
    }
}

/* ---- a leaf ---- */

/* Values of the n paths from start, at most a leaf, in *ret; or the cause of the first that is undefined. */
static enum rdn_cause leaf_by_reference(struct rdn_krun *r, uint32_t start, uint32_t n, double *ret) {
    for (uint32_t done = 0; done < n; done += r->n) {
        r->n = n - done < r->chunk ? n - done : r->chunk;
        enum rdn_cause cause = rdn_kref_chunk(r, start + done);
        if (cause)
            return cause;
        memcpy(ret + done, rdn_kcol_of(r, r->call->value)->f, r->n * sizeof *ret);
    }
    return RDN_DEFINED;
}

struct leaf {
    struct rdn_krun *run;
    const struct rdn_kplan *plan; const struct rdn_block *block; double *base;
    char *data; bool begun;                              /* the reference's columns; they are filled when it is first asked */
    double by_reference[RDN_LEAF] __attribute__((aligned(64)));
};

static enum rdn_cause one_leaf(struct leaf *l, uint32_t start, uint32_t n, const double **ret) {
    struct rdn_krun *r = l->run;
    if (l->plan && rdn_kplan_leaf(l->plan, l->block, l->base, start, n, r->uniform, r->call->first)) {
        *ret = l->base + (size_t)l->plan->value * RDN_LEAF;
        return RDN_DEFINED;
    }
    if (!l->begun)
        rdn_kref_begin(r, l->data);
    l->begun = true;
    *ret = l->by_reference;
    return leaf_by_reference(r, start, n, l->by_reference);
}

/* ---- reductions ---- */

struct reduction { const struct rdn_block *block; double *leaves; int64_t *values, best; uint64_t done; bool nan; };

static void keep(struct reduction *d, enum rdn_reduce how, const double *v, uint32_t n) {
    int64_t here[RDN_LEAF], *keys = how == RDN_RED_QUANTILE ? d->values + d->done : here;
    d->nan |= d->block->keys(keys, v, n) != 0;
    for (uint32_t p = 0; p < n && how != RDN_RED_QUANTILE; p++)
        if ((d->done == 0 && p == 0) || (how == RDN_RED_MIN ? keys[p] < d->best : keys[p] > d->best))
            d->best = keys[p];
}

static void reduce_leaf(struct reduction *d, enum rdn_reduce how, const double *v, uint32_t n) {
    if (how == RDN_RED_SUM || how == RDN_RED_MEAN)
        d->leaves[d->done / RDN_LEAF] = d->block->sum(v, n);
    else
        keep(d, how, v, n);
    d->done += n;
}

/* Neighbours in pairs; an odd last one moves up unchanged. */
static double sum_leaves(double *s, size_t n) {
    for (; n > 1; n = (n + 1) / 2)
        for (size_t i = 0; i < n; i += 2)
            s[i / 2] = i + 1 < n ? s[i] + s[i + 1] : s[i];
    return s[0];
}

/* The k-th smallest (from 1) of n keys, byte by byte from the top: linear whatever the values are. Reorders v. */
static int64_t select_key(int64_t *v, size_t n, size_t k) {
    for (unsigned shift = 64; shift > 0 && n > 1;) {
        shift -= 8;
        size_t count[256] = { 0 }, below = 0, out = 0;
        unsigned flip = shift == 56 ? 0x80 : 0;          /* the top byte is signed */
        for (size_t i = 0; i < n; i++)
            count[((uint64_t)v[i] >> shift & 0xff) ^ flip]++;
        unsigned b = 0;
        while (below + count[b] < k)
            below += count[b++];
        for (size_t i = 0; i < n; i++)
            if ((((uint64_t)v[i] >> shift & 0xff) ^ flip) == b)
                v[out++] = v[i];
        n = out;
        k -= below;
    }
    return v[0];
}

static double reduced(const struct rdn_call *c, struct reduction *d) {
    double s;
    switch ((enum rdn_reduce)c->reduce) {
    case RDN_RED_SUM: case RDN_RED_MEAN:
        s = sum_leaves(d->leaves, ((size_t)c->paths + RDN_LEAF - 1) / RDN_LEAF);
        return c->reduce == RDN_RED_SUM ? s : s / (double)c->paths;
    case RDN_RED_MIN: case RDN_RED_MAX: return d->nan ? NAN : rdn_from_order(d->best);
    case RDN_RED_QUANTILE: return d->nan ? NAN : rdn_from_order(select_key(d->values, c->paths, c->rank));
    }
    return NAN;
}

static void ret_undef(struct rdn_cell *ret, enum rdn_cause cause) {
    ret->cause = (uint8_t)cause;
    ret->span = 0;
}

bool rdn_kernel_run(struct rdn_kernel_state *s, const struct rdn_ir *ir, uint32_t call, const struct rdn_cell *args,
                    const struct rdn_cell *params, int64_t deadline_mono_ns, struct rdn_cell *ret) {
    const struct rdn_call *c = &ir->calls[call];
    const struct layout *l = &s->kernels[call].layout;
    char *base = s->base + (-(uintptr_t)s->base & 63);
    struct rdn_krun r = { ir, c, (void *)(base + l->cols), (void *)(base + l->uniform), (void *)(base + l->cells), (void *)(base + l->ptrs),
                          { base + l->once, l->each - l->once, 0 }, { base + l->each, l->leaves - l->each, 0 }, l->chunk, 0 };
    struct reduction d = { s->block ? s->block : &rdn_block_scalar, (void *)(base + l->leaves), (void *)(base + l->values), 0, 0, false };
    struct leaf leaf = { .run = &r, .plan = s->block ? s->kernels[call].plan : NULL, .block = s->block, .base = (void *)(base + l->block), .data = base + l->data };
    run_uniform(&r, args, params);
    if (leaf.plan && !rdn_kplan_begin(leaf.plan, ir, c, leaf.base, r.uniform))
        leaf.plan = NULL;
    for (uint32_t start = 0, n; start < c->paths; start += n) {
        if (deadline_mono_ns && rdn_mono_ns() > deadline_mono_ns)
            return false;
        n = c->paths - start < RDN_LEAF ? c->paths - start : RDN_LEAF;
        const double *v;
        enum rdn_cause cause = one_leaf(&leaf, start, n, &v);
        if (cause) {
            ret_undef(ret, cause);
            return true;
        }
        reduce_leaf(&d, (enum rdn_reduce)c->reduce, v, n);
    }
    ret->f = reduced(c, &d);
    if (ret->f != ret->f)
        ret_undef(ret, RDN_CAUSE_NAN);
    else
        ret->cause = RDN_DEFINED;
    return true;
}
