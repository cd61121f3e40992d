/* SPDX-License-Identifier: Apache-2.0
 * ledger.c: the events of ledger.h. Each changes the state, then the rows, then gives the rules what they are to judge. */
#include <stddef.h>
#include <string.h>
#include "base/err.h"
#include "market/ledger_impl.h"

typedef const struct rdn_ledger_in in_t;

/* ---- what the rules judge ---- */
static void tell(struct rdn_ledger *l, enum rdn_ledger_event event, int64_t ts, uint32_t n, const int64_t *v) {
    struct rdn_ledger_out e = { .event = event, .present = UINT32_MAX, .ts = ts };
    memcpy(e.v, v, n * sizeof *v);
    l->o.sink.event(l->o.sink.ctx, &e);
}
#define TELL(l, event, ts, ...)                                                     \
    do {                                                                            \
        const int64_t tell_[] = { __VA_ARGS__ };                                    \
        tell((l), RDN_LE_##event, (ts), sizeof tell_ / sizeof *tell_, tell_);       \
    } while (0)

/* ---- pools ---- */
/* An element's `next` is the free list's too. */
#define TAKE(pool, array, index)                                                    \
    (((index) = (pool).free != NONE ? (pool).free : (pool).used < (pool).cap ? (pool).used : NONE) == NONE ? false \
     : ((index) == (pool).free ? ((pool).free = (array)[index].next) : (pool).used++, (pool).n++, true))
#define GIVE(pool, array, index) ((array)[index].next = (pool).free, (pool).free = (index), (pool).n--)

/* ---- ids ---- */
static uint32_t id_index(struct rdn_ledger *l, uint32_t sym) {
    struct rdn_lkey k = { sym, 0, 0 };
    uint32_t i = rdn_lmap_find(&l->ids, k);
    if (i == NONE && (i = rdn_lmap_add(&l->ids, k)) != NONE)
        l->id[i] = (struct lid){ .order = NONE };
    return i;
}
static void id_drop(struct rdn_ledger *l, uint32_t i) {
    if (!l->id[i].seen && l->id[i].order == NONE)
        rdn_lmap_remove(&l->ids, i);
}
/* The newest order of an id, live or not. */
static struct lord *order_of(struct rdn_ledger *l, uint32_t sym) {
    uint32_t i = rdn_lmap_find(&l->ids, (struct rdn_lkey){ sym, 0, 0 });
    return i == NONE || l->id[i].order == NONE ? NULL : &l->ord[l->id[i].order];
}

static void see(struct rdn_ledger *l, uint32_t sym) {
    uint32_t cap = l->o.id_recent;
    if (!cap)
        return;
    if (l->nseen == cap) {
        uint32_t old = l->seen[l->seen_at];
        l->nseen--;
        if (!--l->id[old].seen) {
            rdn_ledger_show_id(l, old);
            id_drop(l, old);
        }
    }
    uint32_t i = id_index(l, sym);
    if (i == NONE)
        return;                                           /* never: there is room for all that is remembered and one more */
    l->seen[l->seen_at] = i;
    l->seen_at = l->seen_at + 1 == cap ? 0 : l->seen_at + 1;
    l->nseen++;
    if (!l->id[i].seen++)
        rdn_ledger_show_id(l, i);
}

/* ---- orders ---- */
static void forget(struct rdn_ledger *l, uint32_t i) {
    struct lord *o = &l->ord[i];
    l->dead_first = o->next;
    *(o->next != NONE ? &l->ord[o->next].prev : &l->dead_last) = NONE;
    for (uint32_t n = o->ids, next; n != NONE; n = next) {
        uint32_t id = l->idnode[n].id;
        next = l->idnode[n].next;
        GIVE(l->idnodes, l->idnode, n);
        if (l->id[id].order == i) {
            l->id[id].order = NONE;
            id_drop(l, id);
        }
    }
    o->used = false;
    GIVE(l->ords, l->ord, i);
}
/* Dead orders make room, the oldest first: they are kept for executions that come late. */
static bool room(struct rdn_ledger *l) {
    while (l->dead_first != NONE && (l->ords.n == l->ords.cap || l->idnodes.n == l->idnodes.cap || l->ids.n + 2 > l->ids.cap))
        forget(l, l->dead_first);
    return l->live < l->o.orders && l->ords.n < l->ords.cap && l->idnodes.n < l->idnodes.cap && l->ids.n + 2 <= l->ids.cap &&
           l->pends.n < l->pends.cap && l->groups.n < l->groups.cap && l->poss.n < l->poss.cap;
}

static void drop_pend(struct rdn_ledger *l, uint32_t *at) {
    uint32_t p = *at;
    *at = l->pend[p].next;
    GIVE(l->pends, l->pend, p);
}
static uint32_t *find_pend(struct rdn_ledger *l, struct lord *o, uint32_t id) {
    for (uint32_t *at = &o->pend; *at != NONE; at = &l->pend[*at].next)
        if (l->pend[*at].id == id)
            return at;
    return NULL;
}

static bool add_id(struct rdn_ledger *l, uint32_t i, uint32_t sym) {
    struct lord *o = &l->ord[i];
    uint32_t n, id = id_index(l, sym);
    if (id == NONE || !TAKE(l->idnodes, l->idnode, n))
        return false;
    l->idnode[n] = (struct lidnode){ id, o->ids };
    o->ids = n;
    o->newest = sym;
    l->id[id].order = i;
    return true;
}

/* Taken out of all sums, to be changed; put back as it is then: dead when nothing is left of it. */
static uint32_t lift(struct rdn_ledger *l, struct lord *o) {
    uint32_t i = (uint32_t)(o - l->ord);
    if (o->live) {
        rdn_ledger_group_out(l, i);
        rdn_ledger_order_out(l, i);
    }
    return i;
}
static void die(struct rdn_ledger *l, uint32_t i) {
    struct lord *o = &l->ord[i];
    l->live--;
    o->live = false;
    while (o->pend != NONE)
        drop_pend(l, &o->pend);
    o->next = NONE;
    o->prev = l->dead_last;
    *(l->dead_last != NONE ? &l->ord[l->dead_last].next : &l->dead_first) = i;
    l->dead_last = i;
}
static void settle(struct rdn_ledger *l, uint32_t i, bool stays) {
    struct lord *o = &l->ord[i];
    if (!o->live)
        return;
    if (stays) {
        rdn_ledger_order_in(l, i);
        rdn_ledger_group_in(l, i);
    } else {
        die(l, i);
    }
    rdn_ledger_show_order(l, i);
}
static int64_t total(const struct rdn_ledger *l, const struct lord *o) {
    int64_t t = o->qty;
    for (uint32_t p = o->pend; p != NONE; p = l->pend[p].next)
        t = l->pend[p].qty > t ? l->pend[p].qty : t;
    return t;
}

/* ---- an order ---- */
static int64_t abs64(int64_t v) { return v < 0 ? v == INT64_MIN ? INT64_MAX : -v : v; }

static int64_t tick_at(const struct rdn_linst *in, int64_t px) {
    int64_t t = in->nticks ? in->ticks[0].tick : 0;
    for (uint32_t i = 1; i < in->nticks; i++)
        if (abs64(px) >= in->ticks[i].from)
            t = in->ticks[i].tick;
    return t;
}

/* The worst price the quantity reaches in the published levels; false: they do not hold it. */
static bool sweep(const struct lsym *s, in_t *e, int64_t *ret) {
    unsigned side = e->side == BUY;
    rdn_i128 left = e->qty;
    for (unsigned i = 0; i < s->ndepth[side]; i++) {
        left -= s->depth[side][i].qty;
        *ret = s->depth[side][i].px;
        if (left <= 0)
            return true;
    }
    return false;
}

static void tell_order(struct rdn_ledger *l, in_t *e, const struct lsym *s) {
    int64_t sweep_px = 0, tick = 0;
    bool has_tick = e->has_px && s && s->known && s->in.nticks, swept = e->ord_type == 1 && s && sweep(s, e, &sweep_px);
    if (has_tick)
        tick = tick_at(&s->in, e->px);
    struct rdn_ledger_out o = { .event = RDN_LE_Order, .ts = e->ts,
        .present = (UINT32_MAX & ~(1u << 12 | 1u << 16 | 1u << 17)) | (uint32_t)e->has_px << 12 | (uint32_t)has_tick << 16 | (uint32_t)swept << 17,
        .v = { e->order == RDN_LO_REPLACE, e->id, e->order == RDN_LO_REPLACE ? e->orig_id : l->empty, e->account, e->trader, e->algo, e->session,
               e->venue, e->symbol, e->side, e->ord_type, e->qty, e->px, e->is_short, e->short_exempt, e->smp, tick, sweep_px } };
    l->o.sink.event(l->o.sink.ctx, &o);
}

static struct lsession *session_of(struct rdn_ledger *l, uint32_t name, bool make) {
    uint32_t at = 0, len, k;
    const char *t = rdn_sym_text(l->o.syms, name, &len);
    for (; at < l->nsessions; at++) {                     /* in order of their names: they are lost in that order */
        const char *x = rdn_sym_text(l->o.syms, l->session[at].name, &k);
        int c = memcmp(x, t, k < len ? k : len);
        if (l->session[at].name == name)
            return &l->session[at];
        if (c > 0 || (c == 0 && k > len))
            break;
    }
    if (!make || l->nsessions == l->o.sessions)
        return NULL;
    memmove(&l->session[at + 1], &l->session[at], (l->nsessions++ - at) * sizeof *l->session);
    l->session[at] = (struct lsession){ .name = name };
    return &l->session[at];
}

static int64_t due_of(const struct rdn_ledger *l, const struct lsession *s) {
    rdn_i128 due = (rdn_i128)s->last + l->o.silent_ns + 1;
    return !s->alive || due > INT64_MAX ? INT64_MAX : (int64_t)due;
}
static void sign_of_life(struct rdn_ledger *l, struct lsession *s, int64_t ts) {
    s->alive = true;
    s->last = ts;
    int64_t due = due_of(l, s);
    l->next_due = due < l->next_due ? due : l->next_due;
}
/* Sessions that have been silent for too long by now. */
static void lose_sessions(struct rdn_ledger *l, int64_t now) {
    if (now < l->next_due)
        return;
    l->next_due = INT64_MAX;
    for (uint32_t i = 0; i < l->nsessions; i++) {
        struct lsession *s = &l->session[i];
        int64_t due = due_of(l, s);
        if (s->alive && now >= due) {
            s->alive = false;
            TELL(l, Disconnected, due, s->name);
        } else if (due < l->next_due) {
            l->next_due = due;
        }
    }
}

static int on_order(struct rdn_ledger *l, in_t *e) {
    struct lsession *session = session_of(l, e->session, false);
    uint32_t s = rdn_lmap_find(&l->syms, (struct rdn_lkey){ e->symbol, 0, 0 });
    if (session && session->alive)
        sign_of_life(l, session, e->ts);
    if (e->order == RDN_LO_CANCEL) {
        TELL(l, CancelReq, e->ts, e->account);
        return 0;
    }
    if (!room(l)) {
        rdn_ledger_flaw(l, RDN_LF_FULL);
        return REDAN_E_FULL;
    }
    tell_order(l, e, s == NONE ? NULL : &l->sym[s]);
    return 0;
}

static void reserve_new(struct rdn_ledger *l, in_t *e, uint32_t a, uint32_t s, int64_t px) {
    uint32_t i, p = rdn_ledger_pos(l, a, s);
    if (p == NONE || !TAKE(l->ords, l->ord, i)) {
        rdn_ledger_flaw(l, RDN_LF_FULL);
        return;
    }
    l->ord[i] = (struct lord){ .acct = a, .sym = s, .pos = p, .algo = e->algo, .smp = e->smp, .group = NONE, .prev = NONE, .next = NONE, .ids = NONE,
        .pend = NONE, .side = e->side, .used = true, .live = true, .qty = e->qty, .px = px };
    l->live++;
    if (!add_id(l, i, e->id))
        rdn_ledger_flaw(l, RDN_LF_FULL);
    settle(l, i, true);
}

static void reserve_replace(struct rdn_ledger *l, in_t *e, int64_t px) {
    struct lord *o = order_of(l, e->orig_id);
    uint32_t p;
    if (!o || !o->live || !TAKE(l->pends, l->pend, p)) {
        rdn_ledger_flaw(l, RDN_LF_NO_ORDER);
        return;
    }
    uint32_t i = lift(l, o);
    l->pend[p] = (struct lpend){ e->id, o->pend, e->qty, px };
    o->pend = p;
    if (!add_id(l, i, e->id))
        rdn_ledger_flaw(l, RDN_LF_FULL);
    settle(l, i, true);
}

static void use_ticket(struct rdn_ledger *l, in_t *e) {
    uint32_t idx = rdn_lmap_find(&l->tickets_of, (struct rdn_lkey){ e->account, e->symbol, 0 });
    uint32_t t = idx == NONE ? NONE : l->tickets[idx].first;
    if (t == NONE || --l->ticket[t].uses > 0)
        return;
    l->tickets[idx].first = l->ticket[t].next;
    GIVE(l->tickets_pool, l->ticket, t);
    rdn_ledger_show_tickets(l, idx);
    if (l->tickets[idx].first == NONE)
        rdn_lmap_remove(&l->tickets_of, idx);
}

void rdn_ledger_end(struct rdn_ledger *l, in_t *e, bool accepted, bool override_used) {
    if (accepted && e->order != RDN_LO_CANCEL) {
        uint32_t a = rdn_ledger_acct(l, e->account), s = rdn_ledger_sym(l, e->symbol);
        const struct lsym *x = s == NONE ? NULL : &l->sym[s];
        bool has_px = e->ord_type == 0 ? e->has_px : x && x->has_quote && (e->side == BUY ? x->has_ask : x->has_bid);
        if (a == NONE || s == NONE)
            rdn_ledger_flaw(l, RDN_LF_FULL);
        else if (!has_px)
            rdn_ledger_flaw(l, RDN_LF_NO_VALUE);
        else if (e->order == RDN_LO_NEW)
            reserve_new(l, e, a, s, e->ord_type == 0 ? e->px : e->side == BUY ? x->ask : x->bid);
        else
            reserve_replace(l, e, e->ord_type == 0 ? e->px : e->side == BUY ? x->ask : x->bid);
        if (override_used)
            use_ticket(l, e);
    }
    see(l, e->id);
    rdn_ledger_flush(l);
}

/* ---- executions ---- */
static bool repeated(struct rdn_ledger *l, uint64_t exec) {
    struct rdn_lkey k = { (uint32_t)exec, (uint32_t)(exec >> 32), 1 };
    if (!exec)
        return false;
    if (rdn_lmap_find(&l->execs, k) != NONE)
        return !rdn_ledger_flaw(l, RDN_LF_REPEATED);
    if (l->execs.n == EXEC_IDS)
        rdn_lmap_remove(&l->execs, l->exec_ring[l->exec_at]);
    l->exec_ring[l->exec_at] = rdn_lmap_add(&l->execs, k);
    l->exec_at = (l->exec_at + 1) % EXEC_IDS;
    return false;
}

static bool move_position(struct rdn_ledger *l, uint32_t a, uint32_t s, uint8_t side, int64_t qty, int64_t px) {
    uint32_t i = a == NONE || s == NONE ? NONE : rdn_ledger_pos(l, a, s);
    if (i == NONE)
        return rdn_ledger_flaw(l, RDN_LF_FULL);
    struct lpos *p = &l->pos[i];
    rdn_i128 signed_qty = side == BUY ? qty : -(rdn_i128)qty;
    p->counted = true;
    p->qty += signed_qty;
    p->cash = rdn_wide_sub(p->cash, rdn_wide_of(signed_qty * px));
    rdn_ledger_show_pos(l, i);
    rdn_ledger_touch(l, a);
    return true;
}

/* Of an order that is not known the position counts all the same, if the execution says whose it is. */
static int on_stray_fill(struct rdn_ledger *l, in_t *e) {
    rdn_ledger_flaw(l, RDN_LF_NO_ORDER);
    if (!e->has_account || !move_position(l, rdn_ledger_acct(l, e->account), rdn_ledger_sym(l, e->symbol), e->side, e->qty, e->px))
        return REDAN_E_INVAL;
    rdn_ledger_flush(l);
    TELL(l, Fill, e->ts, e->account, e->algo, e->symbol, e->side, e->qty, e->px);
    return 0;
}

static int on_fill(struct rdn_ledger *l, in_t *e) {
    struct lord *o = order_of(l, e->id);
    if (e->qty < 0)
        return rdn_ledger_flaw(l, RDN_LF_BAD), REDAN_E_INVAL;
    if (repeated(l, e->exec_id))
        return REDAN_E_INVAL;
    if (!o)
        return on_stray_fill(l, e);
    move_position(l, o->acct, o->sym, o->side, e->qty, e->px);
    uint32_t i = lift(l, o);
    o->filled = e->qty > INT64_MAX - o->filled ? INT64_MAX : o->filled + e->qty;
    settle(l, i, o->filled < total(l, o));
    rdn_ledger_flush(l);
    TELL(l, Fill, e->ts, l->accts.keys[o->acct].a, o->algo, l->syms.keys[o->sym].a, o->side, e->qty, e->px);
    return 0;
}

static int on_ack(struct rdn_ledger *l, in_t *e) { return (void)l, (void)e, 0; }
static int on_gone(struct rdn_ledger *l, in_t *e) {
    struct lord *o = order_of(l, e->id);
    if (!o)
        return rdn_ledger_flaw(l, RDN_LF_NO_ORDER), REDAN_E_INVAL;
    settle(l, lift(l, o), false);
    return 0;
}

static int on_replace_answer(struct rdn_ledger *l, in_t *e) {
    struct lord *o = order_of(l, e->id);
    uint32_t *at = o ? find_pend(l, o, e->id) : NULL;
    if (!at)
        return rdn_ledger_flaw(l, o && !o->live ? RDN_LF_NO_ORDER : RDN_LF_NO_REPLACE), REDAN_E_INVAL;
    uint32_t i = lift(l, o);
    bool done = e->kind == RDN_LK_REPLACED;
    if (done) {
        o->qty = l->pend[*at].qty;
        o->px = l->pend[*at].px;
    }
    drop_pend(l, at);
    settle(l, i, !done || o->filled < total(l, o));
    return 0;
}

/* ---- sessions, stops, releases ---- */
static int on_heartbeat(struct rdn_ledger *l, in_t *e) {
    struct lsession *s = session_of(l, e->session, true);
    if (!s)
        return rdn_ledger_flaw(l, RDN_LF_FULL), REDAN_E_INVAL;
    sign_of_life(l, s, e->ts);
    TELL(l, Heartbeat, e->ts, e->session);
    return 0;
}
static int on_disconnect(struct rdn_ledger *l, in_t *e) {
    struct lsession *s = session_of(l, e->session, true);
    if (s)
        s->alive = false;
    TELL(l, Disconnected, e->ts, e->session);
    return 0;
}
static int on_kill(struct rdn_ledger *l, in_t *e) {
    if (e->on)
        TELL(l, Kill, e->ts, e->scope, e->key);
    else
        TELL(l, Unkill, e->ts, e->scope, e->key);
    return 0;
}
static int on_release(struct rdn_ledger *l, in_t *e) {
    static const uint8_t event[] = { RDN_LE_ReleaseAlgo, RDN_LE_ReleaseVelocity, RDN_LE_ReleaseLoss };
    if (!e->on)
        return 0;
    if (e->release > RDN_LR_LOSS)
        return rdn_ledger_flaw(l, RDN_LF_BAD), REDAN_E_INVAL;
    l->release_no++;
    for (uint32_t a = 0; a < l->accts.used; a++)
        rdn_lbit_set(l->pnl_dirty, a);
    tell(l, event[e->release], e->ts, 2, (int64_t[]){ e->key, e->who });
    return 0;
}

/* ---- the market ---- */
static int on_status(struct rdn_ledger *l, in_t *e) { TELL(l, Status, e->ts, e->symbol, e->state); return 0; }
static int on_band(struct rdn_ledger *l, in_t *e) { TELL(l, Band, e->ts, e->symbol, e->lo, e->hi); return 0; }
static int on_index(struct rdn_ledger *l, in_t *e) { TELL(l, Index, e->ts, e->px, e->prev); return 0; }
static int on_ssr(struct rdn_ledger *l, in_t *e) { TELL(l, Ssr, e->ts, e->symbol, e->on); return 0; }

/* Trades, quotes, depth, gaps: of one symbol's state. */
static void take_depth(struct lsym *s, in_t *e) {
    s->has_depth = true;
    for (int i = 0; i < 2; i++) {
        s->ndepth[i] = e->ndepth[i] < RDN_LEDGER_LEVELS ? e->ndepth[i] : RDN_LEDGER_LEVELS;
        memcpy(s->depth[i], e->depth[i], sizeof s->depth[i]);
    }
}
static int on_book(struct rdn_ledger *l, in_t *e) {
    uint32_t i = rdn_ledger_sym(l, e->symbol);
    if (i == NONE)
        return rdn_ledger_flaw(l, RDN_LF_FULL), REDAN_E_INVAL;
    struct lsym *s = &l->sym[i];
    if (e->kind == RDN_LK_TRADE) {
        s->last = e->px;
        s->has_last = true;
    } else if (e->kind == RDN_LK_QUOTE) {
        s->valid = s->has_valid ? s->valid : true;
        s->has_quote = s->has_valid = true;
        s->has_bid = e->has_bid, s->bid = e->bid;
        s->has_ask = e->has_ask, s->ask = e->ask;
        s->at = e->ts;
    } else if (e->kind == RDN_LK_DEPTH) {
        take_depth(s, e);
    } else {
        s->valid = e->kind == RDN_LK_RESYNC;
        s->has_valid = true;
    }
    rdn_ledger_show_sym(l, i, false);
    if (e->kind == RDN_LK_TRADE || e->kind == RDN_LK_QUOTE)
        rdn_ledger_touch_sym(l, i);
    rdn_ledger_flush(l);
    if (e->kind == RDN_LK_TRADE)
        TELL(l, Trade, e->ts, e->symbol, e->px);
    return 0;
}

/* ---- people ---- */
static int on_permission(struct rdn_ledger *l, in_t *e) {
    int rc = rdn_ledger_permit(l, e->trader, e->account, e->algo, e->on);
    return rc < 0 ? rdn_ledger_flaw(l, RDN_LF_FULL), REDAN_E_INVAL : 0;
}
static int on_restrict(struct rdn_ledger *l, in_t *e) {
    struct rdn_lkey k = { e->scope, e->key, e->symbol };
    uint32_t i = rdn_lmap_find(&l->restricts, k);
    if (e->on && i == NONE && rdn_lmap_add(&l->restricts, k) == NONE)
        return rdn_ledger_flaw(l, RDN_LF_FULL), REDAN_E_INVAL;
    if (!e->on && i != NONE)
        rdn_lmap_remove(&l->restricts, i);
    rdn_ledger_put(l, RDN_LT_restricted, (int64_t[]){ k.a, k.b, k.c }, e->on ? (int64_t[]){ 1 } : NULL);
    return 0;
}
static int on_limit(struct rdn_ledger *l, in_t *e) {
    if (rdn_ledger_limit(l, e->account, NONE, e->limit, e->value) < 0)
        return rdn_ledger_flaw(l, RDN_LF_BAD), REDAN_E_INVAL;
    rdn_lbit_set(l->pnl_dirty, rdn_ledger_acct(l, e->account));
    return 0;
}
static int on_mode(struct rdn_ledger *l, in_t *e) {
    uint32_t a = rdn_ledger_acct(l, e->account);
    if (a == NONE)
        return rdn_ledger_flaw(l, RDN_LF_FULL), REDAN_E_INVAL;
    l->acct[a].reduce_only = e->on;
    rdn_lbit_set(l->value_dirty, a);
    return 0;
}
static int on_holding(struct rdn_ledger *l, in_t *e) {
    uint32_t a = rdn_ledger_acct(l, e->account), s = rdn_ledger_sym(l, e->symbol), i = a == NONE || s == NONE ? NONE : rdn_ledger_pos(l, a, s);
    if (i == NONE)
        return rdn_ledger_flaw(l, RDN_LF_FULL), REDAN_E_INVAL;
    struct lpos *p = &l->pos[i];
    if (e->kind == RDN_LK_LOCATE) {
        p->located += e->qty;
    } else {
        p->counted = true;
        p->qty += (rdn_i128)e->qty - p->start;
        p->start = e->qty;
        p->start_mark = e->mark;
        rdn_ledger_touch(l, a);
    }
    rdn_ledger_show_pos(l, i);
    return 0;
}

/* Two approvers, neither of them the requester, and only codes that may be lifted; else it is not issued. */
static bool ticket_good(in_t *e) {
    unsigned people = 0;
    for (uint32_t i = 0; i < e->napproved && i < 8; i++) {
        bool again = e->approved_by[i] == e->requested_by;
        if (again)
            return false;
        for (uint32_t k = 0; k < i; k++)
            again |= e->approved_by[k] == e->approved_by[i];
        people += !again;
    }
    return people >= 2 && !e->bad;
}
static int on_ticket(struct rdn_ledger *l, in_t *e) {
    struct rdn_lkey k = { e->account, e->symbol, 0 };
    uint32_t idx = rdn_lmap_find(&l->tickets_of, k), t;
    if (!ticket_good(e))
        return rdn_ledger_flaw(l, RDN_LF_NO_TICKET), REDAN_E_INVAL;
    if (e->uses <= 0)
        return 0;
    if (idx == NONE && (idx = rdn_lmap_add(&l->tickets_of, k)) != NONE)
        l->tickets[idx] = (struct ltickets){ .first = NONE, .last = NONE };
    if (idx == NONE || !TAKE(l->tickets_pool, l->ticket, t))
        return rdn_ledger_flaw(l, RDN_LF_FULL), REDAN_E_INVAL;
    struct ltickets *x = &l->tickets[idx];
    l->ticket[t] = (struct lticket){ NONE, e->codes, e->from, e->until, e->max_qty, e->uses };
    *(x->first != NONE ? &l->ticket[x->last].next : &x->first) = t;
    x->last = t;
    rdn_ledger_show_tickets(l, idx);
    return 0;
}

/* R25 trips on the event that changed the day's result, its limit or its latch, not on the next order. */
static void tell_pnl(struct rdn_ledger *l, int64_t ts) {
    for (uint32_t w = 0; w <= l->accts.used / 64; w++) {
        uint64_t dirty = l->pnl_dirty[w];
        l->pnl_dirty[w] = 0;
        for (uint64_t bits = dirty; bits; bits &= bits - 1) {
            uint32_t a = w * 64 + (uint32_t)__builtin_ctzll(bits);
            struct lacct *x = &l->acct[a];
            int64_t day, max_loss = rdn_ledger_limit_of(l, a, NULL, RDN_LL_max_loss);
            if (!x->known || !rdn_ledger_day(l, a, &day))
                continue;
            if (x->sent && x->sent_day == day && x->sent_max_loss == max_loss && x->sent_release == l->release_no)
                continue;
            x->sent = true;
            x->sent_day = day;
            x->sent_max_loss = max_loss;
            x->sent_release = l->release_no;
            TELL(l, Pnl, ts, l->accts.keys[a].a, day);
        }
    }
}

/* ---- any event ---- */
/* Texts that an event uses, a bit each. */
enum { ID = 1, ORIG_ID = 2, ACCOUNT = 4, TRADER = 8, ALGO = 16, SESSION = 32, VENUE = 64, SYMBOL = 128, SMP = 256, SCOPE = 512, KEY = 1024, STATE = 2048, WHO = 4096 };
static uint32_t texts_of(in_t *e) {
    static const uint16_t of[RDN_LK_COUNT] = {
        [RDN_LK_ORDER] = ID | ACCOUNT | TRADER | ALGO | SESSION | VENUE | SYMBOL | SMP, [RDN_LK_FILL] = ID, [RDN_LK_CANCELLED] = ID, [RDN_LK_EXPIRED] = ID,
        [RDN_LK_VENUE_REJECT] = ID, [RDN_LK_REPLACED] = ID, [RDN_LK_REPLACE_REJECT] = ID, [RDN_LK_HEARTBEAT] = SESSION, [RDN_LK_DISCONNECT] = SESSION,
        [RDN_LK_KILL] = SCOPE | KEY, [RDN_LK_RELEASE] = KEY | WHO, [RDN_LK_STATUS] = SYMBOL | STATE, [RDN_LK_BAND] = SYMBOL, [RDN_LK_SSR] = SYMBOL,
        [RDN_LK_TRADE] = SYMBOL, [RDN_LK_QUOTE] = SYMBOL, [RDN_LK_DEPTH] = SYMBOL, [RDN_LK_GAP] = SYMBOL, [RDN_LK_RESYNC] = SYMBOL,
        [RDN_LK_PERMISSION] = TRADER | ACCOUNT | ALGO, [RDN_LK_RESTRICT] = SCOPE | KEY | SYMBOL, [RDN_LK_LIMIT] = ACCOUNT, [RDN_LK_MODE] = ACCOUNT,
        [RDN_LK_POSITION] = ACCOUNT | SYMBOL, [RDN_LK_LOCATE] = ACCOUNT | SYMBOL, [RDN_LK_TICKET] = ACCOUNT | SYMBOL };
    if (e->kind == RDN_LK_ORDER && e->order != RDN_LO_NEW)
        return e->order == RDN_LO_CANCEL ? ID | ACCOUNT | SESSION : of[e->kind] | ORIG_ID;
    return of[e->kind] | (e->kind == RDN_LK_FILL && e->has_account ? ACCOUNT | SYMBOL | ALGO : 0);
}
_Static_assert(offsetof(struct rdn_ledger_in, who) == offsetof(struct rdn_ledger_in, id) + 12 * sizeof(uint32_t), "texts stand side by side, in the order of the bits");
/* They are in the symbol table. */
static bool texts_good(const struct rdn_ledger *l, in_t *e) {
    const uint32_t *v = (const uint32_t *)(const void *)((const char *)e + offsetof(struct rdn_ledger_in, id)), known = rdn_sym_count(l->o.syms);
    for (uint32_t uses = texts_of(e); uses; uses &= uses - 1)
        if (v[__builtin_ctz(uses)] >= known)
            return false;
    return true;
}

int rdn_ledger_begin(struct rdn_ledger *l, in_t *e) {
    static int (*const on[RDN_LK_COUNT])(struct rdn_ledger *, in_t *) = {
        [RDN_LK_ORDER] = on_order, [RDN_LK_ACK] = on_ack, [RDN_LK_FILL] = on_fill, [RDN_LK_CANCELLED] = on_gone, [RDN_LK_EXPIRED] = on_gone,
        [RDN_LK_VENUE_REJECT] = on_gone, [RDN_LK_REPLACED] = on_replace_answer, [RDN_LK_REPLACE_REJECT] = on_replace_answer,
        [RDN_LK_HEARTBEAT] = on_heartbeat, [RDN_LK_DISCONNECT] = on_disconnect, [RDN_LK_KILL] = on_kill, [RDN_LK_RELEASE] = on_release,
        [RDN_LK_STATUS] = on_status, [RDN_LK_BAND] = on_band, [RDN_LK_INDEX] = on_index, [RDN_LK_SSR] = on_ssr, [RDN_LK_TRADE] = on_book,
        [RDN_LK_QUOTE] = on_book, [RDN_LK_DEPTH] = on_book, [RDN_LK_GAP] = on_book, [RDN_LK_RESYNC] = on_book, [RDN_LK_PERMISSION] = on_permission,
        [RDN_LK_RESTRICT] = on_restrict, [RDN_LK_LIMIT] = on_limit, [RDN_LK_MODE] = on_mode, [RDN_LK_POSITION] = on_holding,
        [RDN_LK_LOCATE] = on_holding, [RDN_LK_TICKET] = on_ticket };
    if (e->kind >= RDN_LK_COUNT || e->side > SELL || e->ord_type > 1 || e->order > RDN_LO_CANCEL || !texts_good(l, e))
        return rdn_ledger_flaw(l, RDN_LF_BAD), REDAN_E_INVAL;
    lose_sessions(l, e->ts);
    int rc = on[e->kind](l, e);
    rdn_ledger_flush(l);
    if (e->kind != RDN_LK_ORDER)
        tell_pnl(l, e->ts);
    return rc;
}

uint32_t rdn_ledger_own(const struct rdn_ledger *l, uint32_t smp, uint32_t symbol, uint8_t side, int64_t reach, bool any_px, uint32_t *ids, uint32_t cap) {
    uint32_t n = 0, g = rdn_lmap_find(&l->groups, (struct rdn_lkey){ smp, symbol, side == BUY ? SELL : BUY });
    for (uint32_t i = g == NONE ? NONE : l->group[g].orders; i != NONE; i = l->ord[i].next) {
        const struct lord *o = &l->ord[i];
        if (!any_px && !(side == BUY ? reach >= o->near_px : reach <= o->near_px))
            continue;
        if (n < cap)
            ids[n] = o->newest;
        n++;
    }
    return n;
}
