/* SPDX-License-Identifier: Apache-2.0
 * ledger_ref.c: memory, reference data and the check of ledger.h. */
#include <string.h>
#include <sys/mman.h>
#include "base/err.h"
#include "market/ledger_impl.h"
#include "market/orders.h"

/* ---- memory: one reservation, committed by use ---- */
/* Called twice: with l->base NULL to count, then to place. */
static size_t place(struct rdn_ledger *l, bool place) {
    const struct rdn_ledger_options *o = &l->o;
    uint32_t orders = o->orders + DEAD_ORDERS, nodes = 2 * orders, ids = nodes + o->id_recent + 1;
    char *p = l->base;
    size_t n = 0;
    const struct { struct rdn_lmap *m; uint32_t cap; } maps[] = {
        { &l->accts, o->accounts }, { &l->syms, o->symbols }, { &l->poss, o->positions }, { &l->fxs, CURRENCIES }, { &l->ids, ids },
        { &l->groups, o->orders }, { &l->by_symbol, o->positions }, { &l->tickets_of, o->tickets }, { &l->permits, GRANTS },
        { &l->restricts, GRANTS }, { &l->execs, EXEC_IDS } };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        if (place)
            rdn_lmap_init(maps[i].m, p + n, maps[i].cap);
        n += rdn_lmap_bytes(maps[i].cap);
    }
    const struct { void *at; size_t size, cap; } arrays[] = {
        { &l->acct, sizeof *l->acct, o->accounts }, { &l->sym, sizeof *l->sym, o->symbols }, { &l->pos, sizeof *l->pos, o->positions },
        { &l->fx, sizeof *l->fx, CURRENCIES }, { &l->id, sizeof *l->id, ids }, { &l->group, sizeof *l->group, o->orders },
        { &l->limits_of, sizeof *l->limits_of, o->positions }, { &l->tickets, sizeof *l->tickets, o->tickets },
        { &l->ticket, sizeof *l->ticket, o->tickets }, { &l->ord, sizeof *l->ord, orders }, { &l->idnode, sizeof *l->idnode, nodes },
        { &l->pend, sizeof *l->pend, o->orders }, { &l->session, sizeof *l->session, o->sessions }, { &l->seen, sizeof *l->seen, o->id_recent + 1 },
        { &l->exec_ring, sizeof *l->exec_ring, EXEC_IDS }, { &l->value_dirty, 8, o->accounts / 64 + 1 }, { &l->pnl_dirty, 8, o->accounts / 64 + 1 } };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        char *here = p + n;
        if (place)
            memcpy(arrays[i].at, &here, sizeof here);
        n += (arrays[i].size * arrays[i].cap + 63) & ~(size_t)63;
    }
    l->ords = (struct lpool){ .free = NONE, .cap = orders };
    l->idnodes = (struct lpool){ .free = NONE, .cap = nodes };
    l->pends = (struct lpool){ .free = NONE, .cap = o->orders };
    l->tickets_pool = (struct lpool){ .free = NONE, .cap = o->tickets };
    return n;
}

static int bad_options(struct rdn_ledger_options *o, redan_error *reterr) {
    const struct { uint32_t *v, def, max; const char *name; } rows[] = {
        { &o->accounts, 1024, 1 << 20, "accounts" }, { &o->symbols, 4096, 1 << 20, "symbols" }, { &o->positions, 65536, 1 << 22, "positions" },
        { &o->orders, 65536, 1 << 22, "orders" }, { &o->tickets, 4096, 1 << 20, "tickets" }, { &o->sessions, 1024, 1 << 16, "sessions" } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!*rows[i].v)
            *rows[i].v = rows[i].def;
        if (*rows[i].v > rows[i].max)
            return rdn_fail(reterr, INVAL, "", "ledger: at most %u %s", rows[i].max, rows[i].name);
    }
    if (!o->syms || !o->sink.row || !o->sink.event || o->id_recent > ID_RECENT_MAX || o->silent_ns < 0)
        return rdn_fail(reterr, INVAL, "", "ledger: no symbols or no sink, more than %u ids or a negative time", ID_RECENT_MAX);
    return 0;
}

static bool intern_own(struct rdn_ledger *l) {
    static const char *const codes[] = {
#define LWAIVE(code) #code,
#include "market/ledger.def"
    };
    bool good = rdn_sym_intern(l->o.syms, "*", 1, &l->star) >= 0 && rdn_sym_intern(l->o.syms, "", 0, &l->empty) >= 0;
    for (unsigned i = 0; i < RDN_LW_COUNT; i++)
        good = good && rdn_sym_intern(l->o.syms, codes[i], strlen(codes[i]), &l->code_sym[i]) >= 0;
    return good;
}

int rdn_ledger_open(struct rdn_ledger **ret, const struct rdn_ledger_options *o, redan_error *reterr) {
    struct rdn_ledger *l = rdn_zalloc(&rdn_libc_mem, sizeof *l);
    if (!l)
        return rdn_fail(reterr, NOMEM, "", "no memory for a ledger");
    l->o = *o;
    int rc = bad_options(&l->o, reterr);
    if (rc == 0) {
        l->bytes = place(l, false);
        l->base = rdn_market_reserve(l->bytes);
        if (!l->base || !intern_own(l))
            rc = rdn_fail(reterr, NOMEM, "", "no memory for %zu bytes of a ledger, or no room for its symbols", l->bytes);
    }
    if (rc < 0) {
        rdn_ledger_close(l);
        return rc;
    }
    place(l, true);
    l->dead_first = l->dead_last = NONE;
    l->next_due = INT64_MAX;
    *ret = l;
    return 0;
}

void rdn_ledger_close(struct rdn_ledger *l) {
    if (!l)
        return;
    if (l->base)
        munmap(l->base, l->bytes);
    rdn_free(&rdn_libc_mem, l, sizeof *l);
}

/* ---- names ---- */
uint32_t rdn_ledger_acct(struct rdn_ledger *l, uint32_t account) {
    struct rdn_lkey k = { account, 0, 0 };
    uint32_t i = rdn_lmap_find(&l->accts, k);
    if (i != NONE || (i = rdn_lmap_add(&l->accts, k)) == NONE)
        return i;
    l->acct[i].positions = l->acct[i].limits_by_symbol = NONE;
    return i;
}

uint32_t rdn_ledger_sym(struct rdn_ledger *l, uint32_t symbol) {
    struct rdn_lkey k = { symbol, 0, 0 };
    uint32_t i = rdn_lmap_find(&l->syms, k);
    if (i == NONE && (i = rdn_lmap_add(&l->syms, k)) != NONE)
        l->sym[i].positions = NONE;
    return i;
}

uint32_t rdn_ledger_pos(struct rdn_ledger *l, uint32_t acct, uint32_t sym) {
    struct rdn_lkey k = { acct, sym, 0 };
    uint32_t i = rdn_lmap_find(&l->poss, k);
    if (i != NONE || (i = rdn_lmap_add(&l->poss, k)) == NONE)
        return i;
    l->pos[i] = (struct lpos){ .acct = acct, .sym = sym, .next_of_acct = l->acct[acct].positions, .next_of_sym = l->sym[sym].positions };
    l->acct[acct].positions = l->sym[sym].positions = i;
    return i;
}

/* ---- reference data ---- */
/* What an account has open, from its orders anew; returns how many there are. O(orders). */
static uint32_t open_anew(struct rdn_ledger *l, uint32_t a) {
    struct lacct *x = &l->acct[a];
    uint32_t n = 0;
    x->open_orders = x->over[BUY] = x->over[SELL] = x->over_margin = 0;
    x->held[BUY] = x->held[SELL] = x->margin_orders = rdn_wide_of(0);
    for (uint32_t p = x->positions; p != NONE; p = l->pos[p].next_of_acct)
        l->pos[p].open[BUY] = l->pos[p].open[SELL] = 0;
    for (uint32_t i = 0; i < l->ords.used; i++) {
        if (!l->ord[i].used || !l->ord[i].live || l->ord[i].acct != a)
            continue;
        rdn_ledger_order_in(l, i);
        n++;
    }
    return n;
}
/* A multiplier, a margin or a rate has changed: what is reserved and held is worth something else. */
static void recount(struct rdn_ledger *l) {
    for (uint32_t a = 0; a < l->accts.used; a++) {
        open_anew(l, a);
        rdn_ledger_touch(l, a);
    }
    for (uint32_t i = 0; i < l->ords.used; i++)
        if (l->ord[i].used && l->ord[i].live)
            rdn_ledger_show_order(l, i);
    rdn_ledger_flush(l);
}

static void set_rate(struct rdn_ledger *l, struct lsym *s) {
    uint32_t i = s->known ? rdn_lmap_find(&l->fxs, (struct rdn_lkey){ s->in.ccy, 0, 0 }) : NONE;
    s->has_rate = i != NONE;
    s->rate = s->has_rate ? (rdn_i128)s->in.mult * l->fx[i] : 0;
}

int rdn_ledger_instrument(struct rdn_ledger *l, uint32_t symbol, const struct rdn_linst *in) {
    if (in->mult < 0 || in->margin_bps < 0 || in->margin_bps > 1000000000 || in->nticks > sizeof in->ticks / sizeof *in->ticks)
        return REDAN_E_INVAL;
    uint32_t i = rdn_ledger_sym(l, symbol);
    if (i == NONE)
        return REDAN_E_FULL;
    l->sym[i].in = *in;
    l->sym[i].known = true;
    set_rate(l, &l->sym[i]);
    rdn_ledger_show_sym(l, i, true);
    if (l->live || l->poss.n)
        recount(l);
    return 0;
}

int rdn_ledger_currency(struct rdn_ledger *l, uint32_t ccy, int64_t rate) {
    struct rdn_lkey k = { ccy, 0, 0 };
    uint32_t i = rdn_lmap_find(&l->fxs, k);
    if (i == NONE && (i = rdn_lmap_add(&l->fxs, k)) == NONE)
        return REDAN_E_FULL;
    l->fx[i] = rate;
    rdn_ledger_put(l, RDN_LT_fx, (int64_t[]){ ccy }, (int64_t[]){ rate });
    for (uint32_t s = 0; s < l->syms.used; s++)
        set_rate(l, &l->sym[s]);
    if (l->live || l->poss.n)
        recount(l);
    return 0;
}

int rdn_ledger_account(struct rdn_ledger *l, uint32_t account, uint32_t desk, bool has_capital, int64_t capital) {
    uint32_t a = rdn_ledger_acct(l, account);
    if (a == NONE)
        return REDAN_E_FULL;
    struct lacct *x = &l->acct[a];
    x->known = true;
    x->desk = desk;
    x->has_capital = has_capital;
    x->capital = capital;
    rdn_ledger_show_acct(l, a);
    rdn_ledger_touch(l, a);
    rdn_ledger_flush(l);
    return 0;
}

static bool by_symbol(unsigned limit) {
    enum { SYMBOL, ACCOUNT };
    static const uint8_t by[] = {
#define LLIMIT(name, type, scale, by) by,
#include "market/ledger.def"
    };
    return by[limit] == SYMBOL;
}

static struct limits *limits_for(struct rdn_ledger *l, uint32_t account, uint32_t symbol) {
    if (account == NONE)
        return &l->lim;
    uint32_t a = rdn_ledger_acct(l, account);
    if (a == NONE || symbol == NONE)
        return a == NONE ? NULL : &l->acct[a].lim;
    struct rdn_lkey k = { account, symbol, 0 };
    uint32_t i = rdn_lmap_find(&l->by_symbol, k);
    if (i == NONE && (i = rdn_lmap_add(&l->by_symbol, k)) != NONE) {
        l->limits_of[i] = (struct lby_symbol){ .next = l->acct[a].limits_by_symbol };
        l->acct[a].limits_by_symbol = i;
    }
    return i == NONE ? NULL : &l->limits_of[i].lim;
}

int rdn_ledger_limit(struct rdn_ledger *l, uint32_t account, uint32_t symbol, enum rdn_ledger_limit limit, int64_t value) {
    if (limit >= RDN_LL_COUNT || (symbol != NONE && (account == NONE || !by_symbol(limit))))
        return REDAN_E_INVAL;
    struct limits *x = limits_for(l, account, symbol);
    if (!x)
        return REDAN_E_FULL;
    x->has |= 1u << limit;
    x->v[limit] = value;
    for (uint32_t a = 0; a < l->accts.used; a++)
        if (account == NONE || l->accts.keys[a].a == account)
            rdn_ledger_show_limits(l, a);
    return 0;
}

int64_t rdn_ledger_limit_of(const struct rdn_ledger *l, uint32_t acct, const struct limits *exact, unsigned limit) {
    const struct limits *from[] = { exact, &l->acct[acct].lim, &l->lim };
    for (int i = 0; i < 3; i++)
        if (from[i] && from[i]->has >> limit & 1)
            return from[i]->v[limit];
    return 0;                                             /* what nobody allowed */
}

int rdn_ledger_permit(struct rdn_ledger *l, uint32_t trader, uint32_t account, uint32_t algo, bool on) {
    struct rdn_lkey k = { trader, account, algo };
    uint32_t i = rdn_lmap_find(&l->permits, k);
    if (on && i == NONE && rdn_lmap_add(&l->permits, k) == NONE)
        return REDAN_E_FULL;
    if (!on && i != NONE)
        rdn_lmap_remove(&l->permits, i);
    rdn_ledger_put(l, RDN_LT_permitted, (int64_t[]){ trader, account, algo }, on ? (int64_t[]){ 1 } : NULL);
    return 0;
}

/* ---- all of it ---- */
static void publish_grants(struct rdn_ledger *l) {
    for (uint32_t i = 0; i < l->permits.used; i++) {
        struct rdn_lkey k = l->permits.keys[i];
        if (rdn_lmap_held(&l->permits, i))
            rdn_ledger_put(l, RDN_LT_permitted, (int64_t[]){ k.a, k.b, k.c }, (int64_t[]){ 1 });
    }
    for (uint32_t i = 0; i < l->restricts.used; i++) {
        struct rdn_lkey k = l->restricts.keys[i];
        if (rdn_lmap_held(&l->restricts, i))
            rdn_ledger_put(l, RDN_LT_restricted, (int64_t[]){ k.a, k.b, k.c }, (int64_t[]){ 1 });
    }
}

void rdn_ledger_publish(struct rdn_ledger *l) {
    for (uint32_t i = 0; i < l->fxs.used; i++)
        rdn_ledger_put(l, RDN_LT_fx, (int64_t[]){ l->fxs.keys[i].a }, (int64_t[]){ l->fx[i] });
    for (uint32_t i = 0; i < l->syms.used; i++)
        rdn_ledger_show_sym(l, i, true);
    publish_grants(l);
    for (uint32_t i = 0; i < l->tickets_of.used; i++)
        if (rdn_lmap_held(&l->tickets_of, i))
            rdn_ledger_show_tickets(l, i);
    for (uint32_t i = 0; i < l->ids.used; i++)
        if (rdn_lmap_held(&l->ids, i))
            rdn_ledger_show_id(l, i);
    for (uint32_t i = 0; i < l->groups.used; i++)
        if (rdn_lmap_held(&l->groups, i) && l->group[i].shown)
            rdn_ledger_put(l, RDN_LT_own, (int64_t[]){ l->groups.keys[i].a, l->groups.keys[i].b, l->groups.keys[i].c }, (int64_t[]){ l->group[i].best });
    for (uint32_t i = 0; i < l->poss.used; i++)
        rdn_ledger_show_pos(l, i);
    for (uint32_t a = 0; a < l->accts.used; a++) {
        if (l->acct[a].known)
            rdn_ledger_show_acct(l, a);
        rdn_ledger_touch(l, a);
    }
    rdn_ledger_flush(l);
}

/* ---- the check ---- */
static bool wide_same(struct rdn_wide a, struct rdn_wide b) { return memcmp(&a, &b, sizeof a) == 0; }

static const char *check_account(struct rdn_ledger *l, uint32_t a, const struct lacct *was) {
    struct lacct *x = &l->acct[a];
    if (x->open_orders != was->open_orders)
        return "number of open orders";
    for (int s = 0; s < 2; s++)
        if (!wide_same(x->held[s], was->held[s]) || x->over[s] != was->over[s])
            return "reserved value";
    if (!wide_same(x->margin_orders, was->margin_orders) || x->over_margin != was->over_margin)
        return "margin of the orders";
    bool missing = was->marks_missing;
    rdn_ledger_marks(l, a);
    if (missing != x->marks_missing)
        return "whether a mark is missing";
    return missing || (wide_same(x->gross, was->gross) && wide_same(x->net, was->net) && wide_same(x->margin_positions, was->margin_positions))
               ? NULL : "positions at their marks";
}

/* A group's members, its nearest price, and that each is its order's. */
static const char *check_groups(const struct rdn_ledger *l) {
    for (uint32_t g = 0; g < l->groups.used; g++) {
        const struct lgroup *x = &l->group[g];
        bool any = false;
        int64_t best = 0;
        for (uint32_t i = rdn_lmap_held(&l->groups, g) ? x->orders : NONE; i != NONE; i = l->ord[i].next) {
            const struct lord *o = &l->ord[i];
            if (!o->live || o->group != g || o->side != l->groups.keys[g].c)
                return "members of a group";
            best = !any || (o->side == BUY ? o->near_px > best : o->near_px < best) ? o->near_px : best;
            any = true;
        }
        if (rdn_lmap_held(&l->groups, g) && (any != x->shown || (any && best != x->best)))
            return "nearest own price";
    }
    return NULL;
}

static const char *check_ids(const struct rdn_ledger *l) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < l->ids.used; i++) {
        if (!rdn_lmap_held(&l->ids, i))
            continue;
        seen += l->id[i].seen;
        if (!l->id[i].seen && l->id[i].order == NONE)
            return "an id that nobody has";
        if (l->id[i].order != NONE && !l->ord[l->id[i].order].used)
            return "an id of no order";
    }
    return seen == l->nseen ? NULL : "number of ids seen";
}

/* A sum over the positions that tells which one is which. */
static void open_quantity(const struct rdn_ledger *l, uint32_t a, rdn_i128 ret[2]) {
    ret[BUY] = ret[SELL] = 0;
    for (uint32_t p = l->acct[a].positions; p != NONE; p = l->pos[p].next_of_acct)
        for (int s = 0; s < 2; s++)
            ret[s] = (rdn_i128)((rdn_u128)ret[s] * 0x9e3779b97f4a7c15u + (rdn_u128)l->pos[p].open[s]);
}

const char *rdn_ledger_check(struct rdn_ledger *l) {
    const char *why = check_groups(l);
    uint32_t live = 0;
    why = why ? why : check_ids(l);
    for (uint32_t a = 0; a < l->accts.used && !why; a++) {
        struct lacct was = l->acct[a];
        rdn_i128 before[2], after[2];
        open_quantity(l, a, before);
        live += open_anew(l, a);
        open_quantity(l, a, after);
        why = memcmp(before, after, sizeof before) != 0 ? "open quantity" : check_account(l, a, &was);
    }
    return why ? why : live != l->live ? "number of live orders" : NULL;
}

/* ---- reports ---- */
struct rdn_ledger_stats rdn_ledger_stats(const struct rdn_ledger *l) {
    struct rdn_ledger_stats s = { .live = l->live, .accounts = l->accts.n, .positions = l->poss.n, .ids = l->ids.n, .reserved = l->bytes };
    memcpy(s.faults, l->faults, sizeof s.faults);
    return s;
}

static const char *const faults[] = {
#define LFAULT(name, code, text) code,
#include "market/ledger.def"
};
const char *rdn_ledger_fault_code(enum rdn_ledger_fault f) { return faults[f]; }
