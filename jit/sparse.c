/* SPDX-License-Identifier: Apache-2.0
 * sparse.c: behind group 0: which rules its words leave alive, and which sparse groups run (plan.h). [hot] */
#include <string.h>
#include "jit/run_impl.h"

static __attribute__((noinline)) void run_late_group(struct rdn_frame *f, struct rdn_run *r, const struct rdn_pgroup *g, uint32_t group) {
    rdn_run_late(f, r->ev->plan->late.v + g->late, g->nlate);
    r->ev->groups[group](r->block, f->head.row);
}
static inline void run_group(struct rdn_frame *f, struct rdn_run *r, uint32_t group) {
    const struct rdn_pgroup *g = &r->ev->plan->groups.v[group];
    if (__builtin_expect(g->nlate, 0))
        run_late_group(f, r, g, group);
    else
        r->ev->groups[group](r->block, f->head.row);
}
/* False: it has no order. Then all that depends on it is interp's. */
static inline bool word_of(const struct rdn_frame *f, struct rdn_run *r, const struct rdn_pword *w, int64_t *ret) {
    double d;
    if (w->load == RDN_LOAD_SLOT)
        memcpy(ret, r->block + w->at, 8);
    else
        *ret = rdn_row_word(f->head.row + w->at, w->load);
    if (!w->is_f64)
        return true;
    memcpy(&d, ret, 8);
    if (d - d != 0) {
        rdn_taint_set(r, w->dep);
        return false;
    }
    *ret = rdn_pword_float(d);
    return true;
}

static inline void look_up(struct rdn_frame *f, struct rdn_run *r, const struct rdn_pindex *x) {
    int64_t key;
    if (!word_of(f, r, &x->of, &key))
        return;
    if (x->direct) {
        uint64_t at = (uint64_t)key - (uint64_t)x->lo;
        if (at < x->ndirect && x->direct[at])
            run_group(f, r, x->direct[at]);
        return;
    }
    const struct rdn_pbucket *b = &x->buckets[rdn_pindex_place(x, key)];
    while (b->key != key && b->more)
        b = b == &x->buckets[x->mask] ? x->buckets : b + 1;
    if (b->key == key)
        run_group(f, r, b->group);
}
static void climb(struct rdn_frame *f, struct rdn_run *r, const struct rdn_pladder *l) {
    int64_t x;
    if (!word_of(f, r, &l->of, &x))
        return;
    x = l->flip ? ~x : x;
    for (uint32_t i = 0; l->keys[i] < x; i++)
        run_group(f, r, l->groups[i]);
}
static void pure(const struct rdn_frame *f, struct rdn_run *r, const struct rdn_ppure *p) {
    uint32_t at = 0, words = r->ev->plan->words;
    int64_t x;
    if (!word_of(f, r, &p->of, &x))
        return;
    x = p->flip ? ~x : x;
    for (uint32_t n = p->n; n; n /= 2)                   /* keys below x: halves, without a jump to be wrong about */
        at += (n - n / 2) & -(uint32_t)(p->keys[at + n / 2] < x);
    uint32_t whole = p->step == 1 ? at : at / RDN_PURE_STEP;
    const uint64_t *bits = p->bits + (size_t)whole * words;
    for (uint32_t w = 0; w < words; w++)
        r->fired[w] |= bits[w];
    for (uint32_t i = whole * p->step; i < at; i++)
        r->fired[p->rules[i] / 64] |= 1ull << p->rules[i] % 64;
}
static void kill(struct rdn_run *r) {
    const struct rdn_plan *pl = r->ev->plan;
    const struct rdn_pkill *k = &pl->kill;
    const uint64_t *atoms = r->fired + k->word;
    uint64_t dead[RDN_KILL_WORDS];
    memset(dead, 0, 8 * (size_t)pl->words);
    for (uint32_t w = 0; w * 64 < k->natoms; w++) {
        uint64_t no = ~atoms[w];
        if (k->natoms - w * 64 < 64)
            no &= (1ull << k->natoms % 64) - 1;
        for (; no; no &= no - 1) {
            const uint64_t *set = pl->deps + (size_t)(k->set + w * 64 + (uint32_t)__builtin_ctzll(no)) * pl->dep_words;
            for (uint32_t i = 0; i < pl->words; i++)
                dead[i] |= set[i];
        }
    }
    for (uint32_t i = 0; i < pl->words; i++)
        r->fired[i] |= k->rules[i] & ~dead[i];
}
static void gates(struct rdn_frame *f, struct rdn_run *r) {
    const struct rdn_pgates *g = &r->ev->plan->gates;
    for (uint32_t w = 0; w * 64 < g->n; w++)
        for (uint64_t open = r->fired[g->word + w]; open; open &= open - 1)
            run_group(f, r, g->group + w * 64 + (uint32_t)__builtin_ctzll(open));
}

static __attribute__((noinline)) void others(struct rdn_frame *f, struct rdn_run *r, const struct rdn_plan *pl) {
    if (pl->kill.natoms)
        kill(r);
    for (uint32_t i = 0; i < pl->pures.n; i++)
        pure(f, r, &pl->pures.v[i]);
    for (uint32_t i = 0; i < pl->ladders.n; i++)
        climb(f, r, &pl->ladders.v[i]);
    if (pl->gates.n)
        gates(f, r);
}
void rdn_run_sparse(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    for (const struct rdn_pindex *x = pl->indexes.v, *end = x + pl->indexes.n; x < end; x++)
        look_up(f, r, x);
    if (r->ev->sparse == RDN_SPARSE_MORE)
        others(f, r, pl);
}
