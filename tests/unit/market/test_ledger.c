/* SPDX-License-Identifier: Apache-2.0
 * test_ledger.c: what the ledger keeps up to date is what comes out when it is worked out anew, after any stream of events; rows that
 * were written one by one are the rows that are written all at once; every bound holds. */
#include <stdlib.h>
#include "market/ledger.h"
#include "market/lmap.h"
#include "market/wide.h"
#include "tests/unit/rows.h"

/* ---- who is written to: rows by table and key ---- */
enum { SLOTS = 1 << 16, VALS = 10 };
struct shadow_row { bool used, there; unsigned table; int64_t k[3], v[VALS]; };
static const uint8_t nkeys[] = {
#define LTABLE(name, nkeys, ncols, text) nkeys,
#include "market/ledger.def"
};
static const uint8_t ncols[] = {
#define LTABLE(name, nkeys, ncols, text) ncols,
#include "market/ledger.def"
};
static const char *const names[] = {
#define LTABLE(name, nkeys, ncols, text) #name,
#include "market/ledger.def"
};
struct shadow { struct shadow_row row[SLOTS]; uint64_t writes, events, pnl; uint32_t room; };

static struct shadow_row *at(struct shadow *s, unsigned table, const int64_t *k) {
    uint64_t h = table * 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < nkeys[table]; i++)
        h = (h ^ (uint64_t)k[i]) * 0xff51afd7ed558ccdu ^ h >> 29;
    for (uint32_t i = (uint32_t)(h >> 40) % SLOTS;; i = (i + 1) % SLOTS) {
        struct shadow_row *r = &s->row[i];
        if (!r->used || (r->table == table && memcmp(r->k, k, nkeys[table] * sizeof *k) == 0))
            return r;
    }
}
static bool take_row(void *ctx, unsigned table, const int64_t *k, const int64_t *v) {
    struct shadow *s = ctx;
    struct shadow_row *r = at(s, table, k);
    s->writes++;
    if (!r->used) {
        if (!s->room)
            return false;
        s->room--;
        *r = (struct shadow_row){ .used = true, .table = table };
        memcpy(r->k, k, nkeys[table] * sizeof *k);
    }
    r->there = v != NULL;
    if (v)
        memcpy(r->v, v, ncols[table] * sizeof *v);
    return true;
}
static void take_event(void *ctx, const struct rdn_ledger_out *o) {
    struct shadow *s = ctx;
    s->events++;
    s->pnl += o->event == RDN_LE_Pnl;
}

/* ---- a desk ---- */
struct desk { struct rdn_syms *syms; struct rdn_ledger *l; struct shadow *s; uint32_t name[400]; uint64_t seed; int64_t now; };
enum { ACCOUNT = 0, SYMBOL = 10, ID = 30, SESSION = 300, OTHER = 310 };

static uint64_t any(struct desk *d, uint64_t below) {
    d->seed ^= d->seed << 13, d->seed ^= d->seed >> 7, d->seed ^= d->seed << 17;
    return d->seed % below;
}
static void desk_open(struct desk *d, const struct rdn_ledger_options *more) {
    struct rdn_ledger_options o = *more;
    char text[16];
    memset(d, 0, sizeof *d);
    d->seed = 88172645463325252u;
    d->s = calloc(1, sizeof *d->s);
    assert_non_null(d->s);
    d->s->room = SLOTS / 2;
    assert_int_equal(rdn_syms_open(&d->syms, &rdn_libc_mem, 4096), 0);
    assert_true(rdn_sym_intern(d->syms, "", 0, &d->name[OTHER]) >= 0);
    for (int i = 0; i < OTHER; i++) {
        snprintf(text, sizeof text, "n%d", i);
        assert_true(rdn_sym_intern(d->syms, text, strlen(text), &d->name[i]) >= 0);
    }
    o.syms = d->syms;
    o.sink = (struct rdn_ledger_sink){ d->s, take_row, take_event };
    redan_error err = { 0 };
    check(rdn_ledger_open(&d->l, &o, &err) == 0, "%s", err.text);
    d->now = 1000000000000;
}
static void desk_close(struct desk *d) {
    rdn_ledger_close(d->l);
    rdn_syms_close(d->syms);
    free(d->s);
}
static void reference(struct desk *d, int64_t mult) {
    rdn_ledger_currency(d->l, d->name[OTHER], 1000000);
    for (unsigned i = 0; i < RDN_LL_COUNT; i++)
        assert_int_equal(rdn_ledger_limit(d->l, RDN_LEDGER_NONE, RDN_LEDGER_NONE, i, 1000 + i), 0);
    for (int i = 0; i < 8; i++) {
        struct rdn_linst in = { .ccy = d->name[OTHER], .lot = 1, .mult = mult + i, .margin_bps = 1000 * i, .nticks = 1, .ticks = { { 0, 100 } } };
        assert_int_equal(rdn_ledger_instrument(d->l, d->name[SYMBOL + i], &in), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(rdn_ledger_account(d->l, d->name[ACCOUNT + i], d->name[OTHER], true, 1), 0);
}

static struct rdn_ledger_in event(struct desk *d, uint8_t kind) {
    struct rdn_ledger_in e = { .kind = kind, .ts = d->now };
    e.id = e.orig_id = e.account = e.trader = e.algo = e.session = e.venue = e.symbol = e.smp = e.scope = e.key = e.state = e.who = d->name[OTHER];
    return e;
}
static int64_t price(struct desk *d, bool wild) {
    return wild && any(d, 4) == 0 ? (int64_t)(any(d, UINT64_MAX) >> 1) : 1000000 + 100 * (int64_t)any(d, 20);
}
static int64_t quantity(struct desk *d, bool wild) { return wild && any(d, 4) == 0 ? (int64_t)(any(d, UINT64_MAX) >> any(d, 40)) : 1 + (int64_t)any(d, 500); }

/* Anything a gateway and a market may say, sensible or not. wild: numbers that need all bits. */
static struct rdn_ledger_in random_event(struct desk *d, bool wild) {
    static const uint8_t often[] = { RDN_LK_ORDER, RDN_LK_ORDER, RDN_LK_ORDER, RDN_LK_ORDER, RDN_LK_FILL, RDN_LK_FILL, RDN_LK_QUOTE, RDN_LK_TRADE,
                                     RDN_LK_CANCELLED, RDN_LK_REPLACED, RDN_LK_REPLACE_REJECT };
    struct rdn_ledger_in e = event(d, any(d, 3) ? often[any(d, sizeof often)] : (uint8_t)any(d, RDN_LK_COUNT));
    e.ts = d->now += (int64_t)any(d, 1000000);
    e.order = (uint8_t)any(d, 3);
    e.side = any(d, 2);
    e.ord_type = any(d, 8) == 0;
    e.release = (uint8_t)any(d, 3);
    e.on = any(d, 2);
    e.id = d->name[ID + any(d, 200)];
    e.orig_id = d->name[ID + any(d, 200)];
    e.account = d->name[ACCOUNT + any(d, 6)];
    e.symbol = d->name[SYMBOL + any(d, e.account == d->name[ACCOUNT + 3] ? 10 : 8)];     /* two that have no instrument */
    e.session = d->name[SESSION + any(d, 4)];
    e.smp = any(d, 2) ? d->name[OTHER] : d->name[any(d, 3)];
    e.px = price(d, wild), e.bid = price(d, wild), e.ask = price(d, wild), e.mark = price(d, wild);
    e.has_px = any(d, 16) != 0, e.has_bid = any(d, 8) != 0, e.has_ask = any(d, 8) != 0;
    e.qty = quantity(d, wild);
    e.exec_id = any(d, 3) ? 0 : any(d, 5000);
    e.limit = (uint32_t)any(d, RDN_LL_COUNT);
    e.value = (int64_t)any(d, 100000);
    e.uses = (int64_t)any(d, 3), e.codes = (uint32_t)any(d, 1 << RDN_LW_COUNT), e.max_qty = 100;
    e.approved_by[0] = d->name[1], e.approved_by[1] = d->name[any(d, 3)], e.napproved = 2, e.requested_by = d->name[5];
    e.has_account = any(d, 2);
    e.ndepth[0] = 1, e.depth[0][0] = (struct rdn_ledger_level){ e.bid, 10 };
    return e;
}

/* A second ledger's sink cannot be had from the first, so all rows go to a shadow that is empty. */
static void compare_anew(struct desk *d, uint64_t n) {
    struct shadow *old = malloc(sizeof *old), *anew;
    assert_non_null(old);
    memcpy(old, d->s, sizeof *old);
    anew = d->s;
    memset(anew->row, 0, sizeof anew->row);
    anew->room = SLOTS / 2;
    rdn_ledger_publish(d->l);
    for (int way = 0; way < 2; way++) {
        struct shadow *a = way ? anew : old, *b = way ? old : anew;
        for (uint32_t i = 0; i < SLOTS; i++) {
            if (!a->row[i].there)
                continue;
            struct shadow_row *r = at(b, a->row[i].table, a->row[i].k);
            check(r->there && memcmp(r->v, a->row[i].v, ncols[r->table] * sizeof *r->v) == 0, "event %llu: a row of %s %s", (unsigned long long)n,
                  names[a->row[i].table], way ? "was not written" : "should be gone, or is another");
        }
    }
    memcpy(d->s, old, sizeof *old);
    free(old);
}

static void anew(bool wild, uint64_t events, const struct rdn_ledger_options *o) {
    struct desk d;
    desk_open(&d, o);
    reference(&d, wild ? (int64_t)1 << 40 : 1);
    for (uint64_t n = 1; n <= events; n++) {
        struct rdn_ledger_in e = random_event(&d, wild);
        int rc = rdn_ledger_begin(d.l, &e);
        if (e.kind == RDN_LK_ORDER && rc == 0)
            rdn_ledger_end(d.l, &e, any(&d, 3) != 0, any(&d, 8) == 0);
        if (n % 499 == 0) {
            const char *why = rdn_ledger_check(d.l);
            check(!why, "event %llu: %s", (unsigned long long)n, why);
        }
        if (n % 4999 == 0)
            compare_anew(&d, n);
    }
    struct rdn_ledger_stats s = rdn_ledger_stats(d.l);
    check(s.faults[RDN_LF_NO_ORDER] && s.faults[RDN_LF_NO_REPLACE] && s.faults[RDN_LF_NO_TICKET], "the stream holds every kind of nonsense");
    check(!s.faults[RDN_LF_NO_ROW] && d.s->pnl > (wild ? 5 : 50) && d.s->events > events / 2, "%llu events, %llu Pnl", (unsigned long long)d.s->events, (unsigned long long)d.s->pnl);
    desk_close(&d);
}
static void property(void **state) { (void)state; anew(false, 100000, &(struct rdn_ledger_options){ .id_recent = 50, .silent_ns = 5000000 }); }
static void property_wild(void **state) { (void)state; anew(true, 30000, &(struct rdn_ledger_options){ .id_recent = 0, .silent_ns = 0 }); }
static void property_tight(void **state) {
    (void)state;
    anew(false, 30000, &(struct rdn_ledger_options){ .id_recent = 3, .silent_ns = 5000000, .orders = 20, .tickets = 8, .sessions = 2 });
}

/* ---- bounds ---- */
static struct rdn_ledger_in order(struct desk *d, uint32_t id) {
    struct rdn_ledger_in e = event(d, RDN_LK_ORDER);
    e.account = d->name[ACCOUNT], e.symbol = d->name[SYMBOL], e.id = d->name[ID + id], e.px = 1000000, e.has_px = true, e.qty = 10;
    return e;
}
static void full(void **state) {
    (void)state;
    struct desk d;
    desk_open(&d, &(struct rdn_ledger_options){ .orders = 3, .id_recent = 10, .silent_ns = 1 });
    reference(&d, 1);
    for (uint32_t i = 0; i < 5; i++) {
        struct rdn_ledger_in e = order(&d, i);
        int rc = rdn_ledger_begin(d.l, &e);
        check(rc == (i < 3 ? 0 : REDAN_E_FULL), "order %u: %d", i, rc);
        if (rc == 0)
            rdn_ledger_end(d.l, &e, true, false);
    }
    struct rdn_ledger_stats s = rdn_ledger_stats(d.l);
    check(s.live == 3 && s.faults[RDN_LF_FULL] == 2, "%u live", s.live);
    struct rdn_ledger_in e = event(&d, RDN_LK_CANCELLED);
    e.id = d.name[ID];
    check(rdn_ledger_begin(d.l, &e) == 0, "one goes");
    e = order(&d, 7);
    check(rdn_ledger_begin(d.l, &e) == 0, "and there is room again");
    rdn_ledger_end(d.l, &e, true, false);
    check(!rdn_ledger_check(d.l) && strcmp(rdn_ledger_fault_code(RDN_LF_FULL), "R3402") == 0, "check");
    desk_close(&d);
}

/* An execution that comes late, twice, or for nobody. */
static void late_fills(void **state) {
    (void)state;
    struct desk d;
    desk_open(&d, &(struct rdn_ledger_options){ .id_recent = 10, .silent_ns = 1 });
    reference(&d, 1);
    struct rdn_ledger_in o = order(&d, 0), gone = event(&d, RDN_LK_CANCELLED), fill = event(&d, RDN_LK_FILL);
    gone.id = fill.id = o.id;
    fill.qty = 4, fill.px = 1000000, fill.exec_id = 77;
    rdn_ledger_begin(d.l, &o);
    rdn_ledger_end(d.l, &o, true, false);
    rdn_ledger_begin(d.l, &gone);
    check(rdn_ledger_begin(d.l, &fill) == 0 && rdn_ledger_begin(d.l, &fill) == REDAN_E_INVAL, "once of a closed order, then repeated");
    struct shadow_row *pos = at(d.s, RDN_LT_pos, (int64_t[]){ d.name[ACCOUNT], d.name[SYMBOL] });
    check(pos->there && pos->v[0] == 4 && pos->v[2] == 0, "position %lld", (long long)pos->v[0]);
    fill.id = d.name[ID + 9], fill.exec_id = 78;
    check(rdn_ledger_begin(d.l, &fill) == REDAN_E_INVAL, "of nobody");
    fill.has_account = true, fill.account = d.name[ACCOUNT], fill.symbol = d.name[SYMBOL], fill.exec_id = 79;
    check(rdn_ledger_begin(d.l, &fill) == 0 && pos->v[0] == 8, "it says whose it is: the position counts, %lld", (long long)pos->v[0]);
    struct rdn_ledger_stats s = rdn_ledger_stats(d.l);
    check(s.faults[RDN_LF_NO_ORDER] == 2 && s.faults[RDN_LF_REPEATED] == 1, "counted");
    desk_close(&d);
}

static void refusals(void **state) {
    (void)state;
    struct desk d;
    struct rdn_ledger *l = NULL;
    redan_error err = { 0 };
    desk_open(&d, &(struct rdn_ledger_options){ .silent_ns = 1 });
    struct rdn_ledger_options o = { .syms = d.syms, .sink = { NULL, take_row, take_event }, .id_recent = 65537 };
    check(rdn_ledger_open(&l, &o, &err) == REDAN_E_INVAL && !l, "too many ids");
    o.id_recent = 0, o.accounts = UINT32_MAX;
    check(rdn_ledger_open(&l, &o, &err) == REDAN_E_INVAL && strstr(err.text, "accounts"), "%s", err.text);
    struct rdn_linst in = { .mult = -1 };
    check(rdn_ledger_instrument(d.l, 1, &in) == REDAN_E_INVAL, "negative multiplier");
    check(rdn_ledger_limit(d.l, RDN_LEDGER_NONE, 1, RDN_LL_max_qty, 1) == REDAN_E_INVAL && rdn_ledger_limit(d.l, 1, 1, RDN_LL_credit, 1) == REDAN_E_INVAL, "limits");
    struct rdn_ledger_in e = event(&d, RDN_LK_COUNT);
    check(rdn_ledger_begin(d.l, &e) == REDAN_E_INVAL, "no such kind");
    e = event(&d, RDN_LK_FILL), e.side = 2;
    check(rdn_ledger_begin(d.l, &e) == REDAN_E_INVAL, "no such side");
    rdn_ledger_close(NULL);
    desk_close(&d);
}

/* Each text of each kind as a number that no text has: refused, whatever else it says, and nothing is changed. */
static void texts_of_nobody(void **state) {
    (void)state;
    static const struct { uint8_t kind, order; size_t at; } rows[] = {
#define AT(kind, text) { RDN_LK_##kind, RDN_LO_NEW, offsetof(struct rdn_ledger_in, text) }
        AT(ORDER, id), AT(ORDER, account), AT(ORDER, trader), AT(ORDER, algo), AT(ORDER, session), AT(ORDER, venue), AT(ORDER, symbol), AT(ORDER, smp),
        { RDN_LK_ORDER, RDN_LO_REPLACE, offsetof(struct rdn_ledger_in, orig_id) }, { RDN_LK_ORDER, RDN_LO_CANCEL, offsetof(struct rdn_ledger_in, session) },
        AT(FILL, id), AT(FILL, account), AT(FILL, symbol), AT(FILL, algo), AT(CANCELLED, id), AT(EXPIRED, id), AT(VENUE_REJECT, id), AT(REPLACED, id),
        AT(REPLACE_REJECT, id), AT(HEARTBEAT, session), AT(DISCONNECT, session), AT(KILL, scope), AT(KILL, key), AT(RELEASE, key), AT(RELEASE, who), AT(STATUS, symbol),
        AT(STATUS, state), AT(BAND, symbol), AT(SSR, symbol), AT(TRADE, symbol), AT(QUOTE, symbol), AT(DEPTH, symbol), AT(GAP, symbol), AT(RESYNC, symbol),
        AT(PERMISSION, trader), AT(PERMISSION, account), AT(PERMISSION, algo), AT(RESTRICT, scope), AT(RESTRICT, key), AT(RESTRICT, symbol), AT(LIMIT, account),
        AT(MODE, account), AT(POSITION, account), AT(POSITION, symbol), AT(LOCATE, account), AT(LOCATE, symbol), AT(TICKET, account), AT(TICKET, symbol) };
    for (int full = 0; full < 2; full++)
        for each (i, rows) {
            struct desk d;
            desk_open(&d, &(struct rdn_ledger_options){ .id_recent = 10, .silent_ns = 1, .accounts = full ? 4 : 100, .symbols = full ? 8 : 100 });
            reference(&d, 1);
            struct rdn_ledger_in e = event(&d, rows[i].kind);
            e.order = rows[i].order;
            e.on = e.has_account = e.has_px = true, e.qty = 1, e.px = 1000000, e.uses = 1;
            e.approved_by[0] = d.name[1], e.approved_by[1] = d.name[2], e.napproved = 2;
            uint64_t writes = d.s->writes, told = d.s->events;
            memcpy((char *)&e + rows[i].at, full ? &(uint32_t){ RDN_LEDGER_NONE } : &(uint32_t){ rdn_sym_count(d.syms) }, 4);
            int rc = rdn_ledger_begin(d.l, &e);
            check(rc == REDAN_E_INVAL && d.s->writes == writes && d.s->events == told && rdn_ledger_stats(d.l).faults[RDN_LF_BAD] == 1, "row %zu: %d", i, rc);
            desk_close(&d);
        }
}

/* ---- what it stands on ---- */
static void wide_numbers(void **state) {
    (void)state;
    struct desk d = { .seed = 1234567 };
    for (int i = 0; i < 20000; i++) {
        rdn_i128 a = (rdn_i128)((rdn_u128)any(&d, UINT64_MAX) << any(&d, 60)) - (rdn_i128)any(&d, UINT64_MAX), b = (int64_t)any(&d, UINT64_MAX), back;
        struct rdn_wide p = rdn_wide_mul(rdn_wide_of(a), b), q = rdn_wide_mul(rdn_wide_of(b), a);
        check(memcmp(&p, &q, sizeof p) == 0, "a product");
        rdn_i128 exact;
        bool fits = !__builtin_mul_overflow(a, b, &exact) && exact != RDN_I128_MIN;
        check(rdn_wide_fits(p, &back) == fits && (!fits || back == exact), "in 128 bits");
        struct rdn_wide none = rdn_wide_sub(rdn_wide_add(p, rdn_wide_of(a)), rdn_wide_add(rdn_wide_of(a), q));
        check(rdn_wide_fits(none, &back) && back == 0, "sum and difference");
        check(rdn_wide_negative(p) == ((a < 0) != (b < 0) && a && b), "sign");
    }
    check(rdn_wide_floor_div(-1, 1000) == -1 && rdn_wide_floor_div(-1000, 1000) == -1 && rdn_wide_floor_div(999, 1000) == 0, "floor");
}

static void keys(void **state) {
    (void)state;
    enum { CAP = 300 };
    struct rdn_lmap m;
    struct desk d = { .seed = 99 };
    uint32_t of[1000];
    void *room = calloc(1, rdn_lmap_bytes(CAP));
    assert_non_null(room);
    check((char *)rdn_lmap_init(&m, room, CAP) - (char *)room == (ptrdiff_t)rdn_lmap_bytes(CAP), "bytes");
    memset(of, 0xff, sizeof of);
    for (int i = 0; i < 200000; i++) {
        uint32_t k = (uint32_t)any(&d, 1000);
        struct rdn_lkey key = { k, k / 2, k % 3 };
        check(rdn_lmap_find(&m, key) == of[k], "key %u", k);
        if (of[k] != RDN_LMAP_NONE) {
            rdn_lmap_remove(&m, of[k]);
            of[k] = RDN_LMAP_NONE;
        } else {
            bool was_full = m.n == CAP;
            of[k] = rdn_lmap_add(&m, key);
            check((of[k] == RDN_LMAP_NONE) == was_full && (was_full || rdn_lmap_held(&m, of[k])), "added");
        }
    }
    free(room);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(wide_numbers), cmocka_unit_test(keys), cmocka_unit_test(refusals), cmocka_unit_test(texts_of_nobody), cmocka_unit_test(full),
        cmocka_unit_test(late_fills), cmocka_unit_test(property), cmocka_unit_test(property_wild), cmocka_unit_test(property_tight) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
