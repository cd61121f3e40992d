/* SPDX-License-Identifier: Apache-2.0
 * plan_index.c: clauses that C answers by looking up a word, and the tables it looks in: indexes, ladders, pure ladders.
 *
 * Integers, decimals of one scale and floats are all compared as int64: a float's bits have its order once the negative ones are
 * turned over and -0 is 0. `x <= c` is x < the next value, and `x < c` is complement(c) < complement(x), so that every ladder
 * ascends and is walked from its most selective end. */
#include <stdlib.h>
#include <string.h>
#include "jit/plan_impl.h"

bool rdn_plan_word(const struct rdn_plan *pl, rdn_pid p) {
    const struct rdn_pnode *n = rdn_pnode_at(pl, p);
    if (n->type != RDN_TY_I64 && n->type != RDN_TY_D64 && n->type != RDN_TY_F64)
        return false;
    if (n->flags & RDN_P_SLOT)
        return n->op != RDN_OP_PARAM;
    return (n->flags & RDN_P_SHARED) || (n->op == RDN_OP_FIELD && (n->flags & RDN_P_NATIVE));
}
static bool is_const(const struct rdn_plan *pl, rdn_pid p) {
    const struct rdn_pnode *n = rdn_pnode_at(pl, p);
    return n->op == RDN_OP_CONST && (n->flags & RDN_P_NATIVE);
}
/* Nothing else may stand for the clause: not a slot, not a shared value. */
static bool plain(const struct rdn_pnode *n) { return (n->flags & RDN_P_NATIVE) && !(n->flags & RDN_P_SHARED); }

bool rdn_plan_equality(const struct rdn_plan *pl, rdn_pid clause, rdn_pid *ret_word) {
    const struct rdn_pnode *n = rdn_pnode_at(pl, clause);
    uint32_t k;
    if (n->op == RDN_OP_EQ && plain(n) && is_const(pl, n->b) && rdn_plan_word(pl, n->a) && rdn_pnode_at(pl, n->a)->type != RDN_TY_F64) {
        *ret_word = n->a;
        return true;
    }
    if (n->op != RDN_OP_OR || !plain(n))
        return false;
    const rdn_pid *v = rdn_pargs(pl, n, &k);
    rdn_pid word = 0;
    for (uint32_t i = 0; i < k; i++)
        if (k > RDN_INDEX_KEYS || rdn_pnode_at(pl, v[i])->op != RDN_OP_EQ || !rdn_plan_equality(pl, v[i], ret_word) || (word && word != *ret_word))
            return false;
        else
            word = *ret_word;
    return true;
}

/* The int64 in whose order the constant stands; false: not finite. */
static bool key_of(const struct rdn_pnode *n, int64_t *ret) {
    *ret = n->lo;
    if (n->type != RDN_TY_F64)
        return true;
    double d;
    memcpy(&d, &n->lo, sizeof d);
    *ret = rdn_pword_float(d);
    return d - d == 0;
}
bool rdn_plan_threshold(const struct rdn_plan *pl, rdn_pid clause, struct rdn_pthreshold *ret) {
    const struct rdn_pnode *n = rdn_pnode_at(pl, clause);
    int64_t key;
    if ((n->op != RDN_OP_LT && n->op != RDN_OP_LE) || !plain(n))
        return false;
    bool flip = is_const(pl, n->b);                      /* x < c */
    rdn_pid word = flip ? n->a : n->b, constant = flip ? n->b : n->a;
    if (!is_const(pl, constant) || !rdn_plan_word(pl, word) || !key_of(rdn_pnode_at(pl, constant), &key))
        return false;
    if (flip)
        key = ~key;
    if (n->op == RDN_OP_LE && key == INT64_MIN)
        return false;                                    /* all values: no integer stands below */
    *ret = (struct rdn_pthreshold){word, flip, n->op == RDN_OP_LE ? key - 1 : key};
    return ret->key != INT64_MAX;                        /* never; that one ends the ladder */
}

static struct rdn_pword word_of(const struct rdn_plan *pl, rdn_pid p) {
    const struct rdn_pnode *n = rdn_pnode_at(pl, p);
    struct rdn_pword w = {.load = RDN_LOAD_SLOT, .is_f64 = n->type == RDN_TY_F64, .at = rdn_block_slot(n->slot), .dep = n->dep, .pid = p};
    if (!(n->flags & (RDN_P_SLOT | RDN_P_SHARED))) {
        const struct rdn_field *f = &pl->ir->events[pl->event].fields[n->aux];
        w.load = f->size == 8 ? RDN_LOAD_64 : f->size == 1 ? RDN_LOAD_U8 : f->type->kind == RDN_K_DATE ? RDN_LOAD_I32 : RDN_LOAD_U32;
        w.at = f->offset;
    }
    return w;
}

enum { DIRECT_MIN = 1024, DIRECT_MAX = 1 << 16 };

/* ---- sorting ---- */
struct entry { rdn_pid word; bool flip; uint8_t how; int64_t key; uint32_t rule; };
static int by_place(const void *x, const void *y) {
    const struct entry *a = x, *b = y;
    if (a->how != b->how)
        return a->how < b->how ? -1 : 1;
    if (a->word != b->word)
        return a->word < b->word ? -1 : 1;
    if (a->flip != b->flip)
        return a->flip ? 1 : -1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rule < b->rule ? -1 : a->rule > b->rule;
}
typedef RDN_VEC(struct entry) entries;
static void add_equalities(struct rdn_choice *c, entries *es, uint32_t rule, rdn_pid clause) {
    const struct rdn_pnode *n = rdn_pnode_at(c->pl, clause);
    uint32_t k = 1;
    const rdn_pid *v = n->op == RDN_OP_OR ? rdn_pargs(c->pl, n, &k) : &clause;
    for (uint32_t i = 0; i < k; i++) {
        const struct rdn_pnode *eq = rdn_pnode_at(c->pl, v[i]);
        rdn_push_val(c->tmp, es, ((struct entry){eq->a, false, RDN_RULE_INDEX, rdn_pnode_at(c->pl, eq->b)->lo, rule}));
    }
}
static void collect(struct rdn_choice *c, entries *es) {
    struct rdn_plan *pl = c->pl;
    struct rdn_pthreshold t;
    for (uint32_t i = 0; i < pl->nrules; i++) {
        const struct rdn_prule *r = &pl->rules[i];
        if (r->how == RDN_RULE_INDEX)
            add_equalities(c, es, i, r->by);
        else if ((r->how == RDN_RULE_LADDER || r->how == RDN_RULE_PURE) && rdn_plan_threshold(pl, r->by, &t))
            rdn_push_val(c->tmp, es, ((struct entry){t.word, t.flip, r->how, t.key, i}));
    }
    rdn_sort(es, by_place);
}

/* ---- tables ---- */
/* One group for the rules that stand at one key. */
static uint32_t key_group(struct rdn_choice *c, const struct entry *e, uint32_t n) {
    struct rdn_plan *pl = c->pl;
    uint32_t first = pl->conds.n;
    for (uint32_t i = 0; i < n; i++) {
        const struct rdn_prule *r = &pl->rules[e[i].rule];
        uint32_t k;
        const rdn_pid *v = rdn_plan_conjuncts(pl, &r->root, &k);
        rdn_plan_cond(c, e[i].rule, v, k, r->by);
    }
    return rdn_plan_close_group(pl, first);
}
static uint32_t same_key(const struct entry *e, uint32_t n) {
    uint32_t k = 1;
    while (k < n && e[k].key == e->key)
        k++;
    return k;
}
/* Keys so close together that a table of groups is small: within one page, or sparse by no more than an eighth. */
static bool close_together(const struct entry *e, uint32_t n, uint32_t nkeys) {
    rdn_u128 range = (rdn_u128)((rdn_i128)e[n - 1].key - e[0].key) + 1;
    return range <= DIRECT_MIN || (range <= DIRECT_MAX && range <= 8 * (rdn_u128)nkeys);
}
static void place_key(struct rdn_pindex *x, int64_t key, uint32_t group) {
    uint32_t at = rdn_pindex_place(x, key);
    for (; x->buckets[at].group; at = (at + 1) & x->mask)
        x->buckets[at].more = true;
    x->buckets[at].key = key;
    x->buckets[at].group = group;
}
static void make_index(struct rdn_choice *c, const struct entry *e, uint32_t n) {
    struct rdn_plan *pl = c->pl;
    struct rdn_pindex x = {.of = word_of(pl, e->word), .shift = 60, .lo = e->key};
    uint32_t cap = 16;
    for (uint32_t i = 0; i < n; i += same_key(e + i, n - i))
        x.nkeys++;
    if (close_together(e, n, x.nkeys)) {
        x.ndirect = (uint64_t)(e[n - 1].key - e->key) + 1;
        x.direct = rdn_new_n(pl->arena, uint32_t, x.ndirect);
    } else {
        for (; cap < 4 * x.nkeys; cap *= 2)
            x.shift--;
        x.mask = cap - 1;
        x.buckets = rdn_new_n(pl->arena, struct rdn_pbucket, cap);
        x.buckets[0].key = 1;                            /* 0 belongs at place 0, and 1 does not */
    }
    for (uint32_t i = 0, k; i < n; i += k) {
        k = same_key(e + i, n - i);
        uint32_t group = key_group(c, e + i, k);
        if (x.direct)
            x.direct[e[i].key - x.lo] = group;
        else
            place_key(&x, e[i].key, group);
    }
    rdn_push_val(pl->grow, &pl->indexes, x);
}
static void make_ladder(struct rdn_choice *c, const struct entry *e, uint32_t n) {
    struct rdn_plan *pl = c->pl;
    struct rdn_pladder l = {.of = word_of(pl, e->word), .flip = e->flip};
    l.keys = rdn_new_n(pl->arena, int64_t, n + 1);
    l.groups = rdn_new_n(pl->arena, uint32_t, n + 1);
    for (uint32_t i = 0, k; i < n; i += k, l.n++) {
        k = same_key(e + i, n - i);
        l.keys[l.n] = e[i].key;
        l.groups[l.n] = key_group(c, e + i, k);
    }
    l.keys[l.n] = INT64_MAX;
    rdn_push_val(pl->grow, &pl->ladders, l);
}
static void make_pure(struct rdn_choice *c, const struct entry *e, uint32_t n) {
    struct rdn_plan *pl = c->pl;
    struct rdn_ppure p = {.of = word_of(pl, e->word), .flip = e->flip, .n = n};
    uint32_t w = pl->words;
    p.step = w <= RDN_PURE_EACH ? 1 : RDN_PURE_STEP;
    p.keys = rdn_new_n(pl->arena, int64_t, n + 1);
    p.rules = rdn_new_n(pl->arena, uint32_t, n + 1);
    p.bits = rdn_new_n(pl->arena, uint64_t, ((size_t)n / p.step + 1) * w);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *next = p.bits + ((size_t)i / p.step + 1) * w;
        p.keys[i] = e[i].key;
        p.rules[i] = e[i].rule;
        if (i / p.step == n / p.step)
            continue;                                    /* behind the last whole step */
        if (i % p.step == 0)
            memcpy(next, next - w, 8 * (size_t)w);
        next[e[i].rule / 64] |= 1ull << e[i].rule % 64;
    }
    p.keys[n] = INT64_MAX;
    rdn_push_val(pl->grow, &pl->pures, p);
}
void rdn_plan_tables(struct rdn_choice *c) {
    entries es = {0};
    collect(c, &es);
    for (uint32_t i = 0, n; i < es.n; i += n) {
        const struct entry *e = &es.v[i];
        for (n = 1; i + n < es.n && e[n].how == e->how && e[n].word == e->word && e[n].flip == e->flip; n++)
            ;
        if (e->how == RDN_RULE_INDEX)
            make_index(c, e, n);
        else if (e->how == RDN_RULE_LADDER)
            make_ladder(c, e, n);
        else
            make_pure(c, e, n);
    }
}
