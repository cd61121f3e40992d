/* SPDX-License-Identifier: Apache-2.0
 * ledger_rows.c: what is worked out of orders, positions and prices, and the rows rules read it from. Units: prices 10^-4, rates
 * 10^-6, values 10^-11, margins 10^-15. */
#include "market/ledger_impl.h"

bool rdn_ledger_put(struct rdn_ledger *l, unsigned table, const int64_t *keys, const int64_t *vals) {
    return l->o.sink.row(l->o.sink.ctx, table, keys, vals) || rdn_ledger_flaw(l, RDN_LF_NO_ROW);
}
static int64_t clip(rdn_i128 v) { return v > INT64_MAX ? INT64_MAX : v < -INT64_MAX ? -INT64_MAX : (int64_t)v; }

/* A sum as two columns: whole cents, and the rest in cents with 9 decimals. Beyond 64 bits: above every limit that can be written. */
static void two(struct rdn_wide sum, int64_t *ret) {
    rdn_i128 m;
    ret[1] = 0;
    if (!rdn_wide_fits(sum, &m)) {
        ret[0] = rdn_wide_negative(sum) ? -INT64_MAX : INT64_MAX;
        return;
    }
    rdn_i128 cents = rdn_wide_floor_div(m, 1000000000);
    ret[0] = clip(cents);
    if (ret[0] == cents)
        ret[1] = (int64_t)(m - cents * 1000000000);
}

/* ---- orders ---- */
static int64_t nearer(uint8_t side, int64_t a, int64_t b) { return (side == BUY) == (a > b) ? a : b; }

/* The largest of the shapes the order may take counts; the price nearest to the other side. */
static void shape(struct rdn_ledger *l, struct lord *o) {
    const struct lsym *s = &l->sym[o->sym];
    int64_t total = o->qty;
    struct rdn_wide most = rdn_wide_of(0);
    o->near_px = o->px;
    o->over = !s->has_rate;
    struct lpend now = { .next = o->pend, .qty = o->qty, .px = o->px };
    for (const struct lpend *p = &now;; p = &l->pend[p->next]) {
        int64_t left = p->qty > o->filled ? p->qty - o->filled : 0;
        rdn_i128 px = p->px < 0 ? -(rdn_i128)p->px : p->px;
        struct rdn_wide v = rdn_wide_mul(rdn_wide_of(px * left), s->rate);
        total = p->qty > total ? p->qty : total;
        o->near_px = nearer(o->side, p->px, o->near_px);
        if (!rdn_wide_negative(rdn_wide_sub(v, most)))
            most = v;
        if (p->next == NONE)
            break;
    }
    o->leaves = total > o->filled ? total - o->filled : 0;
    if (o->over || !rdn_wide_fits(rdn_wide_mul64(most, 10), &o->held)) {
        o->over = true;
        o->held = 0;
    }
}

static void count_order(struct rdn_ledger *l, const struct lord *o, bool in) {
    struct lacct *a = &l->acct[o->acct];
    uint32_t one = in ? 1 : UINT32_MAX;
    int64_t bps = l->sym[o->sym].in.margin_bps;
    struct rdn_wide held = rdn_wide_of(in ? o->held : -o->held);
    a->open_orders += one;
    l->pos[o->pos].open[o->side] += in ? o->leaves : -(rdn_i128)o->leaves;
    a->held[o->side] = rdn_wide_add(a->held[o->side], held);
    a->margin_orders = rdn_wide_add(a->margin_orders, rdn_wide_mul(held, bps));
    if (o->over) {
        a->over[o->side] += one;
        a->over_margin += bps ? one : 0;
    }
}
void rdn_ledger_order_in(struct rdn_ledger *l, uint32_t i) {
    shape(l, &l->ord[i]);
    count_order(l, &l->ord[i], true);
}
void rdn_ledger_order_out(struct rdn_ledger *l, uint32_t i) { count_order(l, &l->ord[i], false); }

/* ---- nearest own price ---- */
static void show_group(struct rdn_ledger *l, uint32_t g, bool any, int64_t best) {
    struct lgroup *x = &l->group[g];
    struct rdn_lkey k = l->groups.keys[g];
    if (x->shown == any && (!any || x->best == best))
        return;
    x->shown = any;
    x->best = best;
    rdn_ledger_put(l, RDN_LT_own, (int64_t[]){ k.a, k.b, k.c }, any ? &best : NULL);
}

bool rdn_ledger_group_in(struct rdn_ledger *l, uint32_t i) {
    struct lord *o = &l->ord[i];
    o->group = NONE;
    if (o->smp == l->empty)
        return true;
    struct rdn_lkey k = { o->smp, l->syms.keys[o->sym].a, o->side };
    uint32_t g = rdn_lmap_find(&l->groups, k);
    if (g == NONE) {
        if ((g = rdn_lmap_add(&l->groups, k)) == NONE)
            return false;
        l->group[g] = (struct lgroup){ .orders = NONE };
    }
    struct lgroup *x = &l->group[g];
    o->group = g;
    o->prev = NONE;
    o->next = x->orders;
    if (x->orders != NONE)
        l->ord[x->orders].prev = i;
    x->orders = i;
    show_group(l, g, true, x->shown ? nearer(o->side, o->near_px, x->best) : o->near_px);
    return true;
}

void rdn_ledger_group_out(struct rdn_ledger *l, uint32_t i) {
    struct lord *o = &l->ord[i];
    uint32_t g = o->group;
    if (g == NONE)
        return;
    struct lgroup *x = &l->group[g];
    if (o->next != NONE)
        l->ord[o->next].prev = o->prev;
    *(o->prev != NONE ? &l->ord[o->prev].next : &x->orders) = o->next;
    o->group = NONE;
    if (x->orders == NONE) {
        show_group(l, g, false, 0);
        rdn_lmap_remove(&l->groups, g);
        return;
    }
    if (o->near_px != x->best)
        return;
    int64_t best = l->ord[x->orders].near_px;
    for (uint32_t k = l->ord[x->orders].next; k != NONE; k = l->ord[k].next)
        best = nearer(o->side, l->ord[k].near_px, best);
    show_group(l, g, true, best);
}

/* ---- rows of orders ---- */
void rdn_ledger_show_id(struct rdn_ledger *l, uint32_t idx) {
    const struct lid *x = &l->id[idx];
    int64_t key = l->ids.keys[idx].a, v[4];
    const struct lord *o = x->order != NONE && l->ord[x->order].live ? &l->ord[x->order] : NULL;
    if (o) {
        v[0] = o->leaves;
        v[1] = o->filled;
        if (o->over)
            v[2] = INT64_MAX, v[3] = 0;
        else
            two(rdn_wide_of(o->held), v + 2);
    }
    rdn_ledger_put(l, RDN_LT_ord, &key, o ? v : NULL);
    rdn_ledger_put(l, RDN_LT_used_id, &key, o || x->seen ? (int64_t[]){ 1 } : NULL);
}

void rdn_ledger_show_pos(struct rdn_ledger *l, uint32_t i) {
    const struct lpos *p = &l->pos[i];
    int64_t key[] = { l->accts.keys[p->acct].a, l->syms.keys[p->sym].a };
    int64_t v[] = { clip(p->qty), p->start, clip(p->open[BUY]), clip(p->open[SELL]), clip(p->located) };
    rdn_ledger_put(l, RDN_LT_pos, key, v);
}

void rdn_ledger_show_order(struct rdn_ledger *l, uint32_t i) {
    struct lord *o = &l->ord[i];
    for (uint32_t n = o->ids; n != NONE; n = l->idnode[n].next)
        rdn_ledger_show_id(l, l->idnode[n].id);
    rdn_ledger_show_pos(l, o->pos);
    rdn_lbit_set(l->value_dirty, o->acct);
}

/* ---- accounts ---- */
static bool mark_of(const struct lsym *s, rdn_i128 *ret) {      /* 10^-5 */
    if (s->has_quote && s->has_bid && s->has_ask)
        return *ret = 5 * ((rdn_i128)s->bid + s->ask), true;
    return *ret = 10 * (rdn_i128)s->last, s->has_last;
}

void rdn_ledger_marks(struct rdn_ledger *l, uint32_t a) {
    struct lacct *x = &l->acct[a];
    rdn_i128 mark, v;
    x->gross = x->net = x->margin_positions = rdn_wide_of(0);
    x->marks_missing = false;
    for (uint32_t i = x->positions; i != NONE; i = l->pos[i].next_of_acct) {
        const struct lpos *p = &l->pos[i];
        const struct lsym *s = &l->sym[p->sym];
        if (!p->counted || !p->qty)
            continue;
        if (!mark_of(s, &mark) || !s->has_rate || !rdn_wide_fits(rdn_wide_mul(rdn_wide_mul(rdn_wide_of(p->qty), mark), s->rate), &v)) {
            x->marks_missing = true;
            return;
        }
        struct rdn_wide size = rdn_wide_of(v < 0 ? -v : v);
        x->net = rdn_wide_add(x->net, rdn_wide_of(v));
        x->gross = rdn_wide_add(x->gross, size);
        x->margin_positions = rdn_wide_add(x->margin_positions, rdn_wide_mul64(size, (uint64_t)s->in.margin_bps));
    }
}

bool rdn_ledger_day(const struct rdn_ledger *l, uint32_t a, int64_t *ret) {
    struct rdn_wide total = rdn_wide_of(0);
    rdn_i128 mark, m;
    for (uint32_t i = l->acct[a].positions; i != NONE; i = l->pos[i].next_of_acct) {
        const struct lpos *p = &l->pos[i];
        const struct lsym *s = &l->sym[p->sym];
        if (!p->counted)
            continue;
        struct rdn_wide v = rdn_wide_mul64(p->cash, 10);
        if (!s->has_rate || (p->qty && !mark_of(s, &mark)))
            return false;
        if (p->qty)
            v = rdn_wide_add(v, rdn_wide_mul(rdn_wide_of(p->qty), mark));
        v = rdn_wide_sub(v, rdn_wide_mul(rdn_wide_of(10 * (rdn_i128)p->start), p->start_mark));
        total = rdn_wide_add(total, rdn_wide_mul(v, s->rate));
    }
    if (!rdn_wide_fits(total, &m))
        return false;
    *ret = clip(rdn_wide_floor_div(m, 1000000000));
    return true;
}

static void show_exposure(struct rdn_ledger *l, uint32_t a) {
    const struct lacct *x = &l->acct[a];
    int64_t key = l->accts.keys[a].a, v[6];
    rdn_i128 gross, margin;
    bool good = !x->marks_missing && !x->over_margin && rdn_wide_fits(x->gross, &gross) &&
                rdn_wide_fits(rdn_wide_add(x->margin_positions, x->margin_orders), &margin);
    if (good) {
        two(x->gross, v);
        two(x->net, v + 2);
        two(rdn_wide_of(-rdn_wide_floor_div(-margin, 10000)), v + 4);      /* rounded up at the 11th decimal */
    }
    rdn_ledger_put(l, RDN_LT_exposure, &key, good ? v : NULL);
}

static void show_values(struct rdn_ledger *l, uint32_t a) {
    const struct lacct *x = &l->acct[a];
    int64_t key = l->accts.keys[a].a, v[6] = { x->reduce_only, x->open_orders };
    for (int s = 0; s < 2; s++) {
        two(x->held[s], v + 2 + 2 * s);
        if (x->over[s])
            v[2 + 2 * s] = INT64_MAX, v[3 + 2 * s] = 0;
    }
    rdn_ledger_put(l, RDN_LT_acct, &key, v);
    show_exposure(l, a);
}

void rdn_ledger_touch(struct rdn_ledger *l, uint32_t a) {
    rdn_ledger_marks(l, a);
    rdn_lbit_set(l->value_dirty, a);
    rdn_lbit_set(l->pnl_dirty, a);
}
void rdn_ledger_touch_sym(struct rdn_ledger *l, uint32_t s) {
    for (uint32_t i = l->sym[s].positions; i != NONE; i = l->pos[i].next_of_sym)
        if (l->pos[i].counted)
            rdn_ledger_touch(l, l->pos[i].acct);
}

void rdn_ledger_flush(struct rdn_ledger *l) {
    for (uint32_t w = 0; w <= l->accts.used / 64; w++) {
        uint64_t value = l->value_dirty[w], pnl = l->pnl_dirty[w];
        l->value_dirty[w] = 0;
        for (uint64_t bits = value; bits; bits &= bits - 1) {
            uint32_t a = w * 64 + (uint32_t)__builtin_ctzll(bits);
            int64_t key = l->accts.keys[a].a, day;
            if (!l->acct[a].known)
                continue;
            show_values(l, a);
            if (pnl >> (a % 64) & 1)
                rdn_ledger_put(l, RDN_LT_pnl, &key, rdn_ledger_day(l, a, &day) ? &day : NULL);
        }
    }
}

void rdn_ledger_show_limits(struct rdn_ledger *l, uint32_t a) {
    if (!l->acct[a].known)
        return;
    int64_t key[2] = { l->accts.keys[a].a, l->star }, v[RDN_LL_COUNT];
    for (unsigned i = 0; i < RDN_LL_COUNT; i++)
        v[i] = rdn_ledger_limit_of(l, a, NULL, i);
    rdn_ledger_put(l, RDN_LT_limits, key, v);
    rdn_ledger_put(l, RDN_LT_acct_limit, key, v + RDN_LL_rate_n);
    for (uint32_t x = l->acct[a].limits_by_symbol; x != NONE; x = l->limits_of[x].next) {
        for (unsigned i = 0; i < RDN_LL_rate_n; i++)
            v[i] = rdn_ledger_limit_of(l, a, &l->limits_of[x].lim, i);
        key[1] = l->by_symbol.keys[x].b;
        rdn_ledger_put(l, RDN_LT_limits, key, v);
    }
}

void rdn_ledger_show_acct(struct rdn_ledger *l, uint32_t a) {
    const struct lacct *x = &l->acct[a];
    int64_t key = l->accts.keys[a].a;
    rdn_ledger_put(l, RDN_LT_desk_of, &key, (int64_t[]){ x->desk });
    rdn_ledger_put(l, RDN_LT_capital, &key, x->has_capital ? &x->capital : NULL);
    rdn_ledger_show_limits(l, a);
}

/* ---- symbols and tickets ---- */
void rdn_ledger_show_sym(struct rdn_ledger *l, uint32_t i, bool reference) {
    const struct lsym *s = &l->sym[i];
    int64_t key = l->syms.keys[i].a;
    if (reference && s->known) {
        const struct rdn_linst *in = &s->in;
        rdn_ledger_put(l, RDN_LT_inst, &key, (int64_t[]){ in->lot, in->mult, in->ccy, in->margin_bps, in->bands, in->neg_ok });
        rdn_ledger_put(l, RDN_LT_prev_close, &key, in->has_close ? &in->prev_close : NULL);
        rdn_ledger_put(l, RDN_LT_adv, &key, in->has_adv ? &in->adv : NULL);
    }
    if (s->has_quote) {
        rdn_ledger_put(l, RDN_LT_book, &key, s->has_valid ? (int64_t[]){ s->at, s->valid, s->has_depth } : NULL);
        rdn_ledger_put(l, RDN_LT_bid, &key, s->has_bid ? &s->bid : NULL);
        rdn_ledger_put(l, RDN_LT_ask, &key, s->has_ask ? &s->ask : NULL);
    }
    if (s->has_last)
        rdn_ledger_put(l, RDN_LT_last_trade, &key, &s->last);
}

void rdn_ledger_show_tickets(struct rdn_ledger *l, uint32_t idx) {
    struct ltickets *x = &l->tickets[idx];
    struct rdn_lkey k = l->tickets_of.keys[idx];
    const struct lticket *t = x->first != NONE ? &l->ticket[x->first] : NULL;
    uint32_t codes = t ? t->codes : 0;
    int64_t key[3] = { k.a, k.b };
    rdn_ledger_put(l, RDN_LT_ticket, key, t ? (int64_t[]){ t->from, t->until, t->max_qty } : NULL);
    for (unsigned c = 0; c < RDN_LW_COUNT; c++) {
        key[2] = l->code_sym[c];
        if ((codes | x->codes) >> c & 1)
            rdn_ledger_put(l, RDN_LT_ticket_code, key, codes >> c & 1 ? (int64_t[]){ 1 } : NULL);
    }
    x->codes = codes;
}
