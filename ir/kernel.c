/* SPDX-License-Identifier: Apache-2.0
 * kernel.c: kernels on the CPU (LANGUAGE.md chapter 12).
 *
 * Nodes that do not depend on the path are evaluated once a call; the others over chunks of at most 256 paths, node by node:
 * by a loop over columns where kernel_column.c has one, else path by path with rdn_op_apply. Either way a value is the one
 * rdn_op_apply gives. Sums go leaf by leaf of 256 paths whatever the chunk is.
 *
 * rdn_kernel_open   [setup]  allocates for the largest kernel: its columns, a double a path for quantiles
 * rdn_kernel_run    [lane]   O(paths x nodes), no allocation; the clock is read once a leaf */
#include "base/clock.h"
#include "ir/kernel_run.h"
#include "ir/prelude/rdn_prelude.h"
#include <math.h>
#include <string.h>

enum { CHUNK_MAX = 256, COLUMN_BYTES = 1 << 19 };        /* the columns of a chunk should stay in the second-level cache */
_Static_assert(CHUNK_MAX == RDN_LEAF, "chunks divide leaves");

/* ---- memory ---- */

struct layout { size_t cols, uniform, cells, ptrs, data, once, each, leaves, values, total; uint32_t chunk; };

static size_t place(struct layout *l, size_t bytes) {
    size_t at = l->total;
    l->total = (at + bytes + 63) & ~(size_t)63;
    return at;
}

static uint32_t node_elems(const struct rdn_ir *ir, rdn_id id) {
    unsigned t = ir->nodes.v[id].type;
    return t == RDN_TY_VEC || t == RDN_TY_IVEC ? rdn_type_elems(rdn_ir_ltype(ir, id)) : 1;
}

static struct layout layout_of(const struct rdn_ir *ir, const struct rdn_call *c) {
    struct layout l = { 0 };
    size_t elems = 0, arrays = 64, widest = 1, nodes = c->last - c->first + 1, nargs = 1;
    for (rdn_id id = c->first; id <= c->last; id++) {
        rdn_id buf[3];
        uint32_t n, k = node_elems(ir, id);
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
    return l;
}

struct rdn_kernel_state { const struct rdn_mem *mem; size_t size; char *base; };

int rdn_kernel_open(const struct rdn_ir *ir, const struct rdn_mem *mem, struct rdn_kernel_state **ret) {
    struct rdn_kernel_state *s = rdn_zalloc(mem, sizeof *s);
    if (!s)
        return REDAN_E_NOMEM;
    s->mem = mem;
    for (uint32_t i = 0; i < ir->ncalls; i++)
        if (ir->calls[i].kernel) {
            size_t need = layout_of(ir, &ir->calls[i]).total + 64;
            s->size = need > s->size ? need : s->size;
        }
    if (s->size && !(s->base = rdn_realloc(mem, NULL, 0, s->size))) {
        rdn_free(mem, s, sizeof *s);
        return REDAN_E_NOMEM;
    }
    *ret = s;
    return 0;
}

void rdn_kernel_close(struct rdn_kernel_state *s) {
    if (!s)
        return;
    rdn_free(s->mem, s->base, s->size);
    rdn_free(s->mem, s, sizeof *s);
}

/* Hands every node its column. */
static void bind_columns(struct rdn_krun *r, char *data) {
    for (rdn_id id = r->call->first; id <= r->call->last; id++) {
        struct rdn_kcol *c = rdn_kcol_of(r, id);
        c->each = (r->ir->nodes.v[id].flags & RDN_NODE_EACH) != 0;
        c->undef = false;
        c->k = node_elems(r->ir, id);
        c->f = (double *)(void *)data;
        data += sizeof(double) * c->k * r->chunk;
        c->cause = (uint8_t *)data;
        data += (r->chunk + 15) & ~15u;
        if (r->ir->nodes.v[id].op == RDN_OP_USE && c->each) {
            c->f = rdn_kcol_of(r, r->ir->nodes.v[id].a)->f;      /* reading a let copies nothing */
            c->cause = rdn_kcol_of(r, r->ir->nodes.v[id].a)->cause;
        }
    }
}

/* ---- evaluation ---- */

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

static void fill(const struct rdn_krun *r, struct rdn_kcol *c, const struct rdn_node *n, const struct rdn_cell *v) {
    c->undef = v->cause != 0;
    memset(c->cause, v->cause, r->chunk);
    if (c->undef || n->type == RDN_TY_VEC || n->type == RDN_TY_IVEC)
        return;
    for (uint32_t p = 0; p < r->chunk; p++)
        if (n->type == RDN_TY_F64)
            c->f[p] = v->f;
        else
            c->i[p] = v->i;
}

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
        fill(r, rdn_kcol_of(r, id), n, v);
    }
}

/* The value of a node on path p of the chunk. */
static void cell_at(const struct rdn_krun *r, rdn_id id, uint32_t p, struct rdn_cell *ret) {
    const struct rdn_kcol *c = rdn_kcol_of(r, id);
    if (!c->each) {
        *ret = r->uniform[id - r->call->first];
        return;
    }
    ret->cause = c->undef ? c->cause[p] : (uint8_t)RDN_DEFINED;
    ret->span = 0;
    switch ((enum rdn_cell_type)r->ir->nodes.v[id].type) {
    case RDN_TY_F64: ret->f = c->f[p]; break;
    case RDN_TY_VEC: case RDN_TY_IVEC: ret->v = c->f + (size_t)p * c->k; break;
    case RDN_TY_B1: case RDN_TY_I64: case RDN_TY_D64: case RDN_TY_W128: case RDN_TY_STR: case RDN_TY_ROW: case RDN_TY_COUNT:
        ret->i = c->i[p];
        break;
    }
}

static void set_cell(const struct rdn_krun *r, rdn_id id, uint32_t p, const struct rdn_cell *v) {
    struct rdn_kcol *c = rdn_kcol_of(r, id);
    unsigned type = r->ir->nodes.v[id].type;
    c->cause[p] = v->cause;
    c->undef |= v->cause != 0;
    if (v->cause)
        return;
    if (type == RDN_TY_F64)
        c->f[p] = v->f;
    else if (type == RDN_TY_VEC || type == RDN_TY_IVEC)
        memcpy(c->f + (size_t)p * c->k, v->v, sizeof(double) * c->k);
    else
        c->i[p] = v->i;
}

static void path_by_path(struct rdn_krun *r, rdn_id id) {
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *ids = rdn_node_args(r->ir, &r->ir->nodes.v[id], buf, &k);
    for (uint32_t i = 0; i < k; i++)
        r->arg_ptrs[i] = &r->arg_cells[i];
    for (uint32_t p = 0; p < r->n; p++) {
        struct rdn_cell v = { .cause = RDN_DEFINED };
        for (uint32_t i = 0; i < k; i++)
            cell_at(r, ids[i], p, &r->arg_cells[i]);
        r->each.used = 0;
        rdn_op_apply(r->ir, id, r->arg_ptrs, k, &r->each, &v);
        set_cell(r, id, p, &v);
    }
}

static void run_chunk(struct rdn_krun *r, uint32_t start) {
    for (rdn_id id = r->call->first; id <= r->call->last; id++) {
        struct rdn_kcol *c = rdn_kcol_of(r, id);
        if (!c->each)
            continue;
        const struct rdn_node *n = &r->ir->nodes.v[id];
        c->undef = n->op == RDN_OP_USE && rdn_kcol_of(r, n->a)->undef;
        if (n->op == RDN_OP_EACH)
            for (uint32_t p = 0; p < r->n; p++)
                c->i[p] = (int64_t)start + p;
        else if (n->op != RDN_OP_USE && !rdn_kernel_column(r, id))
            path_by_path(r, id);
    }
}

/* The cause of the lowest undefined path of the chunk: its lets in order, then its value. RDN_DEFINED if there is none. */
static enum rdn_cause first_cause(const struct rdn_krun *r) {
    const struct rdn_call *c = r->call;
    bool any = rdn_kcol_of(r, c->value)->undef;
    for (uint32_t l = 0; l < c->nlets; l++)
        any |= rdn_kcol_of(r, c->lets[l])->undef;
    for (uint32_t p = 0; any && p < r->n; p++)
        for (uint32_t l = 0; l <= c->nlets; l++) {
            const struct rdn_kcol *col = rdn_kcol_of(r, l < c->nlets ? c->lets[l] : c->value);
            if (col->undef && col->cause[p])
                return (enum rdn_cause)col->cause[p];
        }
    return RDN_DEFINED;
}

/* ---- reductions ---- */

struct reduction {
    double *leaves, stripes[RDN_STRIPES];
    int64_t *values, best;
    uint64_t done;
    bool nan;
};

static void add_to_sum(struct reduction *d, const double *v, uint32_t n) {
    for (uint32_t p = 0; p < n; p++)
        d->stripes[(d->done + p) % RDN_STRIPES] += v[p];
    d->done += n;
}

static void close_leaf(struct reduction *d) {
    d->leaves[(d->done - 1) / RDN_LEAF] = rdn_fold_stripes(d->stripes);
    memset(d->stripes, 0, sizeof d->stripes);
}

static void keep(struct reduction *d, enum rdn_reduce how, const double *v, uint32_t n) {
    for (uint32_t p = 0; p < n; p++, d->done++) {
        int64_t key = rdn_order(v[p]);
        d->nan |= v[p] != v[p];
        if (how == RDN_RED_QUANTILE)
            d->values[d->done] = key;
        else if (d->done == 0 || (how == RDN_RED_MIN ? key < d->best : key > d->best))
            d->best = key;
    }
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
    struct layout l = layout_of(ir, c);
    char *base = s->base + (-(uintptr_t)s->base & 63);
    struct rdn_krun r = { ir, c, (void *)(base + l.cols), (void *)(base + l.uniform), (void *)(base + l.cells), (void *)(base + l.ptrs),
                          { base + l.once, l.each - l.once, 0 }, { base + l.each, l.leaves - l.each, 0 }, l.chunk, 0 };
    struct reduction d = { (void *)(base + l.leaves), { 0 }, (void *)(base + l.values), 0, 0, false };
    bool sums = c->reduce == RDN_RED_SUM || c->reduce == RDN_RED_MEAN;
    bind_columns(&r, base + l.data);
    run_uniform(&r, args, params);
    for (uint32_t start = 0; start < c->paths; start += r.n) {
        if (start % RDN_LEAF == 0 && deadline_mono_ns && rdn_mono_ns() > deadline_mono_ns)
            return false;
        r.n = c->paths - start < r.chunk ? c->paths - start : r.chunk;
        run_chunk(&r, start);
        enum rdn_cause cause = first_cause(&r);
        if (cause) {
            ret_undef(ret, cause);
            return true;
        }
        const double *v = rdn_kcol_of(&r, c->value)->f;
        if (!sums) {
            keep(&d, (enum rdn_reduce)c->reduce, v, r.n);
            continue;
        }
        add_to_sum(&d, v, r.n);
        if (d.done % RDN_LEAF == 0 || d.done == c->paths)
            close_leaf(&d);
    }
    ret->f = reduced(c, &d);
    if (ret->f != ret->f)
        ret_undef(ret, RDN_CAUSE_NAN);
    else
        ret->cause = RDN_DEFINED;
    return true;
}
