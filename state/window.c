/* SPDX-License-Identifier: Apache-2.0
 * window.c: keys of a window: who has a state, who leaves for a new one, and what absent keys read (10.3, 10.7). */
#include "state/window_impl.h"

#include <math.h>

#include "base/err.h"

static const struct rdn_win_ops *ops_of(const struct rdn_window *d) {
    if (d->agg == RDN_AGG_DISTINCT)
        return rdn_distinct_ops(d);
    if (d->events || (d->over_ns && !d->panes))
        return rdn_ring_ops(d);
    return d->over_ns ? rdn_pane_ops(d) : rdn_all_ops(d);
}

/* Spans and capacities the states below are laid out for. The checker lets nothing else through and the verifier of IR checks the
 * types; this is the last look before memory is sized by these numbers. */
static bool sound(const struct rdn_window *d) {
    bool timed = d->over_ns > 0, value = d->vtype != NULL || d->agg == RDN_AGG_COUNT;
    if (!value || !d->rtype || d->agg > RDN_AGG_DELTA || d->cap < 1 || d->cap > 1u << 24 || d->nkeys > 8 || (d->nkeys == 0 && d->cap != 1))
        return false;
    if (d->over_ns < 0 || d->panes > 1024 || d->exact > 4096 || d->events > 4096 || (timed && d->events) || (d->panes != 0) != (d->pane_ns > 0))
        return false;
    if (d->agg == RDN_AGG_DISTINCT)
        return timed == (d->panes != 0);
    if (d->agg == RDN_AGG_EWMA)
        return !timed && !d->events;
    return timed ? (d->panes != 0) != (d->exact != 0) : d->panes == 0 && d->exact == 0;
}

static uint32_t key_words(const struct rdn_window *d) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->nkeys; i++)
        n += rdn_key_words(d->ktypes[i]);
    return n;
}

static void prepare(struct rdn_win *w, const struct rdn_window *d) {
    w->def = d;
    w->ops = ops_of(d);
    w->over = (uint64_t)d->over_ns;
    w->vsize = rdn_win_vsize(d->vtype);
    w->vkind = d->vtype ? d->vtype->kind : RDN_K_INT;
    w->scale = d->vtype ? d->vtype->scale : 0;
    w->pow10 = (double)(int64_t)rdn_pow10(w->scale);
    w->rdec = d->rtype->kind == RDN_K_DEC;
    w->half_life = d->half_life;
    w->warmup = d->warmup;
    w->secret = rdn_key_hash(&(uint64_t){ 0 }, 1) | 1;
    w->pane.width = (uint64_t)d->pane_ns;
    w->ops->layout(w);
}

size_t rdn_win_bytes(const struct rdn_window *d) {
    struct rdn_win w = { 0 };
    prepare(&w, d);
    return sizeof w + rdn_keytab_bytes(d->cap, key_words(d), w.state_bytes, 8);
}

int rdn_win_open(const struct rdn_window *d, const struct rdn_syms *syms, const struct rdn_mem *mem, bool prefault, struct rdn_kt_spares *spares,
                 struct rdn_win **ret, redan_error *reterr) {
    if (!sound(d))
        return rdn_fail(reterr, INVAL, "", "window %s has a span, a capacity or a value that no window has", d->name);
    struct rdn_win *w = rdn_zalloc(mem, sizeof *w);
    if (!w)
        return rdn_fail(reterr, NOMEM, "", "no memory for window %s", d->name);
    prepare(w, d);
    w->syms = syms;
    w->mem = mem;
    int rc = rdn_keytab_open(&w->tab, d->cap, key_words(d), w->state_bytes, 8, mem, prefault, spares);
    if (rc < 0) {
        size_t bytes = rdn_win_bytes(d);
        rdn_free(mem, w, sizeof *w);
        return rdn_fail(reterr, NOMEM, "", "window %s needs %zu bytes of address space for %u keys", d->name, bytes, d->cap);
    }
    *ret = w;
    return 0;
}

void rdn_win_close(struct rdn_win *w) {
    if (!w)
        return;
    rdn_keytab_close(&w->tab);
    rdn_free(w->mem, w, sizeof *w);
}

void rdn_win_prefetch(const struct rdn_win *w, const struct rdn_key *k) { rdn_keytab_prefetch(&w->tab, k->hash); }

static uint32_t find(const struct rdn_win *w, const struct rdn_key *k) {
    return k->absent ? RDN_KT_NONE : rdn_keytab_find(&w->tab, k->w, k->hash);
}

bool rdn_win_refusing(const struct rdn_win *w) { return w->def->evict == RDN_EVICT_NONE && w->tab.n >= w->tab.cap; }

/* Of a key without a state. */
static __attribute__((noinline)) void read_absent(struct rdn_win *w, struct rdn_cell *ret) {
    if (rdn_win_refusing(w))
        ret->cause = RDN_CAUSE_FULL;
    else if (w->warmup > 0)
        ret->cause = RDN_CAUSE_COLD;
    else
        ret->d = 0;                                      /* count, sum, distinct: also 0.0 and the integer 0 */
}

static inline char *look(struct rdn_win *w, const struct rdn_key *k) {
    return k->absent ? NULL : rdn_keytab_look(&w->tab, k->w, k->hash);
}

void rdn_win_read(struct rdn_win *w, const struct rdn_key *k, int64_t now, struct rdn_cell *ret) {
    char *row = k->absent ? NULL : rdn_keytab_near(&w->tab, k->w, k->hash);
    row = row ? row : look(w, k);
    ret->cause = RDN_DEFINED;
    if (!row)
        read_absent(w, ret);
    else
        w->ops->read(w, row + w->tab.state_off, now, ret);
}

static __attribute__((noinline)) struct rdn_word ask_far(struct rdn_win *w, const struct rdn_key *k, int64_t now) {
    char *row = look(w, k);
    if (row)
        return w->ops->word(w, row + w->tab.state_off, now);
    struct rdn_cell c = { .cause = RDN_DEFINED };
    read_absent(w, &c);
    return (struct rdn_word){ c.i, c.cause };
}

/* Windows that hold no key are common. */
static inline struct rdn_word ask(struct rdn_win *w, const struct rdn_key *k, int64_t now) {
    if (!w->tab.n)
        return (struct rdn_word){ 0, w->warmup ? RDN_CAUSE_COLD : RDN_DEFINED };
    char *row = rdn_keytab_near(&w->tab, k->w, k->hash);
    if (row && !k->absent)
        return w->ops->word(w, row + w->tab.state_off, now);
    return ask_far(w, k, now);
}

uint64_t rdn_win_asks(struct rdn_win *const *wins, const struct rdn_ask *from, const struct rdn_ask *end, uint8_t *block, int64_t now) {
    uint64_t none = 0;
    for (const struct rdn_ask *a = from; a < end; a++) {
        struct rdn_word x = ask(wins[a->window], (const struct rdn_key *)(const void *)(block + a->key), now);
        if (__builtin_expect(x.cause != RDN_DEFINED, 0)) {
            bool els = a->has_els && x.cause != RDN_WORD_WIDE;
            x.v = els ? a->els : x.cause == RDN_WORD_WIDE;
            none |= (uint64_t)!els << (a - from);
        }
        memcpy(block + a->slot, &x.v, sizeof x.v);
    }
    return none;
}

/* A state for a new key, or NULL: refused. */
static void *admit(struct rdn_win *w, const struct rdn_key *k, int64_t now) {
    struct rdn_keytab *t = &w->tab;
    if (t->n >= t->cap) {
        uint32_t victim = rdn_kt_next(w->def->evict == RDN_EVICT_OLDEST ? &t->ins : &t->lru, RDN_KT_NONE);
        if (w->def->evict == RDN_EVICT_NONE && !(w->ops->dead && w->ops->dead(w, rdn_keytab_state(t, victim), now))) {
            w->count.refused++;
            return NULL;
        }
        w->count.evicted++;
        rdn_keytab_remove(t, victim);
    }
    void *st = rdn_keytab_state(t, rdn_keytab_insert(t, k->w, k->hash));
    w->ops->init(w, st, now);
    return st;
}

/* A new key, or one that cannot be stored: the caller's 10.2 let it through. */
static __attribute__((noinline)) bool update_new(struct rdn_win *w, const struct rdn_key *k, int64_t now, const struct rdn_cell *val, int64_t span) {
    void *st = k->absent ? NULL : admit(w, k, now);
    w->count.skipped += k->absent;
    if (st)
        w->ops->update(w, st, now, val, span);
    return st != NULL;
}

static __attribute__((noinline)) bool update_far(struct rdn_win *w, const struct rdn_key *k, int64_t now, const struct rdn_cell *val, int64_t span) {
    char *row = look(w, k);
    if (!row)
        return update_new(w, k, now, val, span);
    rdn_keytab_touch(&w->tab, w->tab.last.id);
    w->ops->update(w, row + w->tab.state_off, now, val, span);
    return true;
}
bool rdn_win_update(struct rdn_win *w, const struct rdn_key *k, int64_t now, const struct rdn_cell *val, int64_t span) {
    char *row = rdn_keytab_near(&w->tab, k->w, k->hash);
    if (__builtin_expect(!row || k->absent, 0))
        return update_far(w, k, now, val, span);
    rdn_keytab_touch(&w->tab, w->tab.last.id);
    w->ops->update(w, row + w->tab.state_off, now, val, span);
    return true;
}

static __attribute__((noinline)) void put_far(struct rdn_win *w, const struct rdn_key *k, int64_t now, const struct rdn_cell *val, int64_t span) {
    update_far(w, k, now, val, span);
}
/* No call but the last one, so that this path saves no register. */
void rdn_win_put(struct rdn_win *w, const struct rdn_key *k, int64_t now, const struct rdn_cell *val, int64_t span) {
    struct rdn_keytab *t = &w->tab;
    char *row = rdn_keytab_near(t, k->w, k->hash);
    if (__builtin_expect(!row || k->absent, 0)) {
        put_far(w, k, now, val, span);
        return;
    }
    rdn_keytab_touch(t, t->last.id);
    w->ops->update(w, row + t->state_off, now, val, span);
}

void rdn_win_skip(struct rdn_win *w) { w->count.skipped++; }

void rdn_win_reset(struct rdn_win *w, const struct rdn_key *k) {
    uint32_t id = find(w, k);
    if (id != RDN_KT_NONE)
        rdn_keytab_remove(&w->tab, id);
}

void rdn_win_stats(const struct rdn_win *w, struct rdn_win_stats *ret) {
    *ret = w->count;
    ret->keys = w->tab.n;
}

bool rdn_win_next(const struct rdn_win *w, uint32_t *it, const uint64_t **ret_words) {
    uint32_t id = rdn_keytab_next(&w->tab, *it ? *it - 1 : RDN_KT_NONE);
    if (id == RDN_KT_NONE)
        return false;
    *it = id + 1;
    *ret_words = rdn_keytab_key(&w->tab, id);
    return true;
}

void rdn_win_spread(const struct rdn_win *w, struct rdn_cell *ret, double mean, double m2, uint64_t n, double last) {
    double sd = m2 >= 0 ? sqrt(m2 / (double)(n - 1)) : (double)NAN;
    if (w->def->agg == RDN_AGG_STDDEV)
        ret->f = sd;
    else if (sd == 0.0)
        ret->cause = RDN_CAUSE_DIV0;
    else
        ret->f = (last - mean) / sd;
}

void rdn_win_keep(const struct rdn_win *w, void *slot, const struct rdn_cell *c) {
    if (w->vkind == RDN_K_STR) {
        uint32_t len = c->t.len < w->vsize - 4 ? c->t.len : w->vsize - 4;
        memcpy(slot, &len, sizeof len);
        if (len)
            memcpy((char *)slot + 4, c->t.p, len);
        return;
    }
    if (w->vkind == RDN_K_FLOAT) {
        memcpy(slot, &c->f, 8);
        return;
    }
    int64_t v = rdn_win_int(c);
    memcpy(slot, &v, 8);
}
