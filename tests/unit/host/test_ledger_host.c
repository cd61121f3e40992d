/* SPDX-License-Identifier: Apache-2.0
 * test_ledger_host.c: the ledger behind rules that change: in the middle of an event, with their tables and events in another order, with
 * some of them missing, too small or not the ledger's. Every order is judged by rows that are right, or not at all. */
#include <pthread.h>
#include <stdatomic.h>
#include "host/ledger_host.h"
#include "tests/unit/host/engine_kit.h"

/* ---- packs put together from these ---- */
#define ORDER_OF(sides)                                                                                                                      \
    "event Order { kind: enum(new, replace)  id: sym  orig_id: sym  account: sym  trader: sym  algo: sym  session: sym  venue: sym  symbol: sym  " \
    "side: enum(" sides ")  ord_type: enum(limit, market)  qty: int  px: dec(4)?  short: bool  short_exempt: bool  smp: sym  tick: dec(4)?  sweep_px: dec(4)? }\n"
#define ORDER ORDER_OF("buy, sell")
#define CANCEL "event CancelReq { account: sym }\n"
#define FILL "event Fill { account: sym  algo: sym  symbol: sym  side: enum(buy, sell)  qty: int  px: dec(4) }\n"
#define BEAT "event Heartbeat { session: sym }\n"
#define GONE "event Disconnected { session: sym }\n"
#define KILL "event Kill { scope: sym  key: sym }\n"
#define POS_OF(more) "table pos by account: sym, symbol: sym { qty: int  start: int  open_buy: int  open_sell: int  located: " more " } from host\n"
#define POS POS_OF("int")
#define ACCT "table acct by account: sym { reduce_only: bool  open_orders: int  buy_value: dec(2)  buy_value_x: dec(9)  sell_value: dec(2)  sell_value_x: dec(9) } from host\n"
#define BID "table bid by symbol: sym { px: dec(4) } from host\n"
#define USED "table used_id by id: sym { on: bool } from host\n"
#define STOP "table restricted by scope: sym, key: sym, symbol: sym { on: bool } from host\n"
#define OWN "table own by smp: sym, symbol: sym, side: enum(buy, sell) { px: dec(4) } from host\n"
#define RULES(name) "ruleset " name " version 1\n  undefined skip\n"
/* What an order sees; rules that lack a table leave its fields out. */
#define SEE(fields) "rule see on Order { when true emit Seen { n: qty" fields " } }\n"
#define SEE_POS ", pos: pos[account, symbol].qty ?? 0, buy: pos[account, symbol].open_buy ?? 0"
#define SEE_ACCT ", open: acct[account].open_orders ?? -1"
#define SEE_BID ", bid: bid[symbol].px ?? -1.0"
#define SEE_USED ", used: used_id[id].on ?? false"
#define SEE_STOP ", stop: restricted[\"firm\", \"\", symbol].on ?? false"
#define TELL "rule gone on Disconnected { when true emit Left { session: session } }\n"

static const char all_text[] = RULES("all") ORDER CANCEL FILL BEAT GONE KILL POS BID USED STOP OWN ACCT SEE(SEE_POS SEE_ACCT SEE_BID SEE_USED SEE_STOP) TELL;
static const char turned_text[] = RULES("turned") KILL GONE FILL ORDER BEAT CANCEL OWN ACCT STOP USED BID POS SEE(SEE_POS SEE_ACCT SEE_BID SEE_USED SEE_STOP) TELL;
static const char two_text[] = RULES("two") GONE ORDER CANCEL ACCT BID SEE(SEE_BID SEE_ACCT) TELL;
static const char other_text[] = RULES("other") BEAT CANCEL ORDER STOP POS FILL SEE(SEE_STOP SEE_POS);
static const char bare_text[] = RULES("bare") BEAT "rule b on Heartbeat { when false flag B }\n";

/* ---- a desk of two accounts and two symbols ---- */
enum { ACCOUNTS = 2, SYMBOLS = 2, IDS = 64, USD = 100, SESSION, OTHER_SESSION, FIRM, EMPTY, NAMES };
struct desk {
    redan_engine *eng;
    redan_lane *lane;
    struct rdn_ledger_host *host;
    redan_verdict v;
    uint32_t sym[NAMES], ids;
    int64_t now;
    redan_ruleset *next;                                  /* to be activated when a session is lost */
};

static void decided(void *ctx, redan_lane *lane, const struct rdn_ledger_out *o, const redan_verdict *v) {
    struct desk *d = ctx;
    (void)lane, (void)v;
    if (o->event == RDN_LE_Disconnected && d->next)
        kit_activate(d->eng, d->next);
    if (o->event == RDN_LE_Disconnected)
        d->next = NULL;
}

static uint32_t sym_of(redan_engine *e, const char *text) {
    uint32_t id = 0;
    check(redan_sym(e, text, strlen(text), &id) == 0, "sym %s", text);
    return id;
}
static void name_all(struct desk *d) {
    char text[16];
    for (int i = 0; i < USD; i++) {
        snprintf(text, sizeof text, "%s%d", i < 10 ? "A" : i < 20 ? "S" : "o", i);
        d->sym[i] = sym_of(d->eng, text);
    }
    d->sym[USD] = sym_of(d->eng, "USD"), d->sym[SESSION] = sym_of(d->eng, "s1"), d->sym[OTHER_SESSION] = sym_of(d->eng, "s2");
    d->sym[FIRM] = sym_of(d->eng, "firm"), d->sym[EMPTY] = sym_of(d->eng, "");
}
static void reference(struct desk *d) {
    struct rdn_ledger *l = rdn_ledger_host_ledger(d->host);
    const struct rdn_linst in = { .ccy = d->sym[USD], .lot = 1, .mult = 1, .margin_bps = 1000, .nticks = 1, .ticks = { { 0, 100 } } };
    check(rdn_ledger_currency(l, d->sym[USD], 1000000) == 0, "currency");
    for (int i = 0; i < SYMBOLS; i++)
        check(rdn_ledger_instrument(l, d->sym[10 + i], &in) == 0, "instrument");
    for (int i = 0; i < ACCOUNTS; i++)
        check(rdn_ledger_account(l, d->sym[i], d->sym[EMPTY], false, 0) == 0, "account");
}
static redan_ruleset *desk_open(struct desk *d, const char *text) {
    struct rdn_ledger_options o = { .id_recent = 4, .silent_ns = 1000000000 };
    redan_error err = { 0 };
    memset(d, 0, sizeof *d);
    d->eng = kit_engine(1, NULL);
    redan_ruleset *rs = kit_compile(d->eng, text);
    kit_activate(d->eng, rs);
    d->lane = kit_lane(d->eng, 0, 0);
    check(rdn_ledger_host_open(d->lane, &o, decided, d, &d->host, &err) == 0, "%s %s", err.id, err.text);
    name_all(d);
    reference(d);
    d->now = 1000000000000;
    return rs;
}
static void desk_close(struct desk *d) {
    const char *why = rdn_ledger_check(rdn_ledger_host_ledger(d->host));
    check(!why, "%s", why);
    rdn_ledger_host_close(d->host);
    redan_lane_close(d->lane);
    redan_close(d->eng);
}
static redan_ruleset *swap(struct desk *d, const char *text) {
    redan_ruleset *rs = kit_compile(d->eng, text);
    kit_activate(d->eng, rs);
    redan_release(rs);
    return rs;
}

static struct rdn_ledger_in event(struct desk *d, uint8_t kind) {
    struct rdn_ledger_in e = { .kind = kind, .ts = d->now += 1000 };
    e.id = e.orig_id = e.trader = e.algo = e.session = e.venue = e.smp = e.scope = e.key = e.state = e.who = d->sym[EMPTY];
    e.account = d->sym[0];
    e.symbol = d->sym[10];
    return e;
}
static struct rdn_ledger_in new_order(struct desk *d) {
    struct rdn_ledger_in e = event(d, RDN_LK_ORDER);
    e.id = d->sym[20 + d->ids++ % IDS];
    e.session = d->sym[SESSION];
    e.qty = 10, e.px = 1000000, e.has_px = true;
    return e;
}
static int take(struct desk *d, const struct rdn_ledger_in *e) {
    memset(&d->v, 0xa5, sizeof d->v);
    return rdn_ledger_host_event(d->host, e, &d->v);
}
static int order(struct desk *d) {
    struct rdn_ledger_in e = new_order(d);
    return take(d, &e);
}
static int fill(struct desk *d, int64_t qty) {
    struct rdn_ledger_in e = event(d, RDN_LK_FILL);
    e.has_account = true, e.qty = qty, e.px = 1000000;
    return take(d, &e);
}
static int restrict_symbol(struct desk *d, uint32_t symbol, bool on) {
    struct rdn_ledger_in e = event(d, RDN_LK_RESTRICT);
    e.scope = d->sym[FIRM], e.symbol = symbol, e.on = on;
    return take(d, &e);
}
static int quote(struct desk *d, int64_t bid) {
    struct rdn_ledger_in e = event(d, RDN_LK_QUOTE);
    e.has_bid = e.has_ask = true, e.bid = bid, e.ask = bid + 100;
    return take(d, &e);
}

/* A field of what the last order saw; -1000 when its rules do not look. */
static int64_t seen_by(const redan_verdict *v, const char *name) {
    for (uint32_t i = 0; i < v->nemits; i++)
        for (uint32_t f = 0; f < v->emits[i].nfields; f++)
            if (strcmp(v->emits[i].names[f], name) == 0)
                return v->emits[i].fields[f].type == REDAN_T_DEC ? (int64_t)v->emits[i].fields[f].as.dec.lo : v->emits[i].fields[f].as.i;
    return -1000;
}
static int64_t seen(struct desk *d, const char *name) { return seen_by(&d->v, name); }
static uint32_t live(struct desk *d) { return rdn_ledger_stats(rdn_ledger_host_ledger(d->host)).live; }

/* ---- one after another ---- */
/* Two sessions are lost before the order is judged; the first one's loss activates other rules, the second one's is judged by them. */
static void rules_change_within_an_event(void **state) {
    (void)state;
    static const char *const next[] = { turned_text, two_text, other_text, all_text };
    struct desk d;
    redan_release(desk_open(&d, all_text));
    check(quote(&d, 990000) == 0 && fill(&d, 5) == 0 && restrict_symbol(&d, d.sym[10], true) == 0, "a start");
    int64_t open = 0;
    for each (i, next) {
        for (int s = SESSION; s <= OTHER_SESSION; s++) {
            struct rdn_ledger_in beat = event(&d, RDN_LK_HEARTBEAT);
            beat.session = d.sym[s];
            check(take(&d, &beat) == 0, "beat %zu", i);
        }
        redan_ruleset *rs = d.next = kit_compile(d.eng, next[i]);
        d.now += 10000000000;
        check(order(&d) == 0 && d.v.verdict == REDAN_ACCEPT, "order %zu", i);
        check(!d.next || next[i] == all_text, "rules %zu were activated in the middle", i);
        redan_release(rs);
        const int64_t want[] = { 5, 10 * open, open, 990000, 0, 1 }, none = -1000;
        const char *const names[] = { "pos", "buy", "open", "bid", "used", "stop" };
        for each (k, names)
            check(seen(&d, names[k]) == want[k] || (seen(&d, names[k]) == none && (next[i] == two_text || next[i] == other_text)), "rules %zu: %s is %lld", i, names[k],
                  (long long)seen(&d, names[k]));
        open++;
        d.next = NULL;
        swap(&d, all_text);
        check(order(&d) == 0 && seen(&d, "open") == open && seen(&d, "pos") == 5 && seen(&d, "buy") == 10 * open && seen(&d, "bid") == 990000, "after rules %zu", i);
        open++;
    }
    desk_close(&d);
}

/* A table comes back that was not there while its rows changed, none at first. */
static void tables_that_come_back(void **state) {
    (void)state;
    struct desk d;
    redan_release(desk_open(&d, all_text));
    swap(&d, two_text);
    check(order(&d) == 0 && fill(&d, 7) == 0 && restrict_symbol(&d, d.sym[10], true) == 0, "without tables pos and restricted");
    swap(&d, other_text);
    check(order(&d) == 0 && seen(&d, "pos") == 7 && seen(&d, "buy") == 10 && seen(&d, "stop") == 1, "with them: %lld %lld", (long long)seen(&d, "pos"), (long long)seen(&d, "stop"));
    check(restrict_symbol(&d, d.sym[10], false) == 0 && restrict_symbol(&d, d.sym[11], true) == 0, "one goes, one comes: as many rows as before");
    swap(&d, two_text);
    check(restrict_symbol(&d, d.sym[11], false) == 0 && restrict_symbol(&d, d.sym[10], true) == 0 && quote(&d, 980000) == 0, "and again, unseen");
    swap(&d, turned_text);
    check(order(&d) == 0 && seen(&d, "stop") == 1 && seen(&d, "bid") == 980000 && seen(&d, "open") == 2, "they are right");
    desk_close(&d);
}

/* Somebody else adopts the rules, and reference data are written before the next event. */
static void rules_change_between_events(void **state) {
    (void)state;
    struct desk d;
    redan_release(desk_open(&d, all_text));
    check(fill(&d, 3) == 0, "a start");
    swap(&d, two_text);
    redan_lane_idle(d.lane);
    reference(&d);
    swap(&d, turned_text);
    redan_lane_idle(d.lane);
    reference(&d);
    check(order(&d) == 0 && seen(&d, "pos") == 3 && seen(&d, "open") == 0, "pos %lld open %lld", (long long)seen(&d, "pos"), (long long)seen(&d, "open"));
    desk_close(&d);
}

static void nobody_judges(void **state) {
    (void)state;
    struct desk d;
    redan_release(desk_open(&d, all_text));
    check(order(&d) == 0 && d.v.verdict == REDAN_ACCEPT && live(&d) == 1, "accepted");
    swap(&d, bare_text);
    check(order(&d) == REDAN_E_NOSUP && live(&d) == 1, "rules without the event accept nothing");
    struct rdn_ledger_in e = event(&d, RDN_LK_ORDER);
    e.order = RDN_LO_CANCEL;
    check(take(&d, &e) == REDAN_E_NOSUP, "nor do they judge a cancel");
    check(fill(&d, 2) == 0 && quote(&d, 970000) == 0, "what they do not want to hear is no mistake");
    swap(&d, all_text);
    check(order(&d) == 0 && seen(&d, "open") == 1 && seen(&d, "pos") == 2 && live(&d) == 2, "judged again");
    desk_close(&d);
}

static void one_mistake_is_one_event(void **state) {
    (void)state;
    struct desk d;
    redan_release(desk_open(&d, all_text));
    struct rdn_ledger_in e = event(&d, RDN_LK_KILL);
    e.on = true, e.scope = 4000000000u;                   /* no symbol: no row that could be judged */
    check(take(&d, &e) == REDAN_E_INVAL, "refused");
    check(fill(&d, 4) == 0 && order(&d) == 0 && seen(&d, "pos") == 4, "the next ones are not");
    e = new_order(&d);
    e.account = 4000000000u;
    check(take(&d, &e) == REDAN_E_INVAL && order(&d) == 0 && live(&d) == 2, "an order of no account");
    desk_close(&d);
}

/* ---- rules that do not fit ---- */
static void tables_of_another_shape(void **state) {
    (void)state;
    static const char *const bad[] = { POS_OF("float"), "table own by smp: sym, symbol: sym, side: enum(sell, buy) { px: dec(4) } from host\n" };
    char text[2048];
    for each (i, bad) {
        struct desk d;
        redan_release(desk_open(&d, all_text));
        check(order(&d) == 0, "a start");
        snprintf(text, sizeof text, RULES("bad") ORDER CANCEL FILL "%s" SEE(""), bad[i]);
        swap(&d, text);
        struct rdn_ledger_in cancel = event(&d, RDN_LK_ORDER);
        cancel.order = RDN_LO_CANCEL;
        check(order(&d) == REDAN_E_LAYOUT && live(&d) == 1 && take(&d, &cancel) == 0, "orders are refused, cancels are not");
        check(fill(&d, 6) == 0, "what happened at a venue counts");
        swap(&d, turned_text);
        check(order(&d) == 0 && seen(&d, "pos") == 6 && seen(&d, "open") == 1, "pos %lld", (long long)seen(&d, "pos"));
        desk_close(&d);
    }
}

/* Events of another shape: not even opened; and not activated later. */
static void events_of_another_shape(void **state) {
    (void)state;
    static const char sides_turned[] = RULES("bad") ORDER_OF("sell, buy") SEE("");
    struct rdn_ledger_options o = { .id_recent = 4 };
    struct desk d = { 0 };
    redan_error err = { 0 };
    d.eng = kit_engine(1, NULL);
    redan_ruleset *rs = kit_compile(d.eng, sides_turned);
    kit_activate(d.eng, rs);
    redan_release(rs);
    d.lane = kit_lane(d.eng, 0, 0);
    check(rdn_ledger_host_open(d.lane, &o, NULL, NULL, &d.host, &err) == REDAN_E_LAYOUT, "a buy would be a sale");
    redan_lane_close(d.lane);
    redan_close(d.eng);
    redan_release(desk_open(&d, two_text));
    rs = kit_compile(d.eng, sides_turned);
    check(redan_activate(d.eng, rs, NULL, NULL, &err) == REDAN_E_LAYOUT, "nor later");
    redan_release(rs);
    check(order(&d) == 0, "the others go on");
    desk_close(&d);
}

/* A row without room: nobody knows what it would have said, so no order is judged until it is there. */
static void tables_that_are_full(void **state) {
    (void)state;
    static const char small[] = RULES("small") ORDER FILL "table restricted by scope: sym, key: sym, symbol: sym { on: bool } from host keys 1\n" SEE(SEE_STOP);
    struct desk d;
    redan_release(desk_open(&d, small));
    check(restrict_symbol(&d, d.sym[11], true) == 0 && order(&d) == 0 && seen(&d, "stop") == 0, "one fits");
    restrict_symbol(&d, d.sym[10], true);
    check(order(&d) == REDAN_E_FULL && order(&d) == REDAN_E_FULL && live(&d) == 1, "the second does not");
    check(fill(&d, 1) == 0 && restrict_symbol(&d, d.sym[11], false) == 0, "the first one goes");
    check(order(&d) == 0 && seen(&d, "stop") == 1, "and the second is there");
    restrict_symbol(&d, d.sym[11], true);
    check(order(&d) == REDAN_E_FULL, "again");
    swap(&d, all_text);
    check(order(&d) == 0 && seen(&d, "stop") == 1 && seen(&d, "pos") == 1, "rules with more room");
    swap(&d, small);
    check(order(&d) == REDAN_E_FULL, "and back");
    desk_close(&d);
}

/* ---- at once ---- */
enum { PACKS = 5 };
static struct { redan_engine *eng; redan_ruleset *rs[PACKS]; atomic_bool stop; _Atomic uint64_t events, judged, swaps, refused; } g;
static void *swap_main(void *arg) {
    (void)arg;
    for (uint32_t i = 1; !atomic_load(&g.stop); i++) {
        redan_error err = { 0 };
        uint64_t was = atomic_load(&g.events);
        atomic_fetch_add(redan_activate(g.eng, g.rs[i * 7 % PACKS], NULL, NULL, &err) == 0 ? &g.swaps : &g.refused, 1);
        while (i % 4 == 0 && atomic_load(&g.events) < was + 2 && !atomic_load(&g.stop))
            sched_yield();
    }
    return NULL;
}

/* What the desk holds, kept by hand. */
struct model { int64_t pos[SYMBOLS], open, bid[SYMBOLS]; int64_t buy[SYMBOLS]; bool stop[SYMBOLS]; uint32_t id[IDS], at[IDS], n; };
static void check_order(struct desk *d, const struct model *m, uint32_t s) {
    const struct { const char *name; int64_t want; } rows[] = { { "pos", m->pos[s] }, { "buy", m->buy[s] }, { "open", m->open }, { "bid", m->bid[s] },
                                                                { "stop", m->stop[s] } };
    check(d->v.nemits == 1 && seen(d, "n") == 10, "judged once, %u emits", d->v.nemits);
    for each (i, rows)
        check(seen(d, rows[i].name) == rows[i].want || seen(d, rows[i].name) == -1000, "%s is %lld, not %lld", rows[i].name, (long long)seen(d, rows[i].name),
              (long long)rows[i].want);
}
static void order_at(struct desk *d, struct model *m, uint32_t s) {
    struct rdn_ledger_in e = new_order(d);
    e.symbol = d->sym[10 + s];
    e.id = d->sym[20 + m->n];
    int rc = take(d, &e);
    check(rc == 0 || rc == REDAN_E_NOSUP, "%d", rc);
    atomic_fetch_add(&g.judged, rc == 0);
    if (rc < 0)
        return;
    check_order(d, m, s);
    m->id[m->n] = e.id, m->at[m->n++] = s;
    m->open++;
    m->buy[s] += 10;
}
static void gone_at(struct desk *d, struct model *m, bool filled) {
    struct rdn_ledger_in e = event(d, filled ? RDN_LK_FILL : RDN_LK_CANCELLED);
    uint32_t s = m->at[--m->n];
    e.id = m->id[m->n];
    e.qty = 10, e.px = 1000000;
    check(take(d, &e) == 0, "gone");
    m->pos[s] += filled ? 10 : 0;
    m->open--;
    m->buy[s] -= 10;
}
static void rules_change_from_another_thread(void **state) {
    (void)state;
    static const char *const texts[PACKS] = { all_text, two_text, turned_text, other_text, bare_text };
    struct desk d;
    struct model m = { .bid = { -10000, -10000 } };
    pthread_t t;
    g.rs[0] = desk_open(&d, texts[0]);
    g.eng = d.eng;
    for (int i = 1; i < PACKS; i++)
        g.rs[i] = kit_compile(d.eng, texts[i]);
    check(pthread_create(&t, NULL, swap_main, NULL) == 0, "thread");
    for (uint64_t i = 0, x = 88172645463325252u; i < 200000 && (i < 20000 || atomic_load(&g.swaps) < 2000); i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        if (atomic_fetch_add(&g.events, 1) % 16 == 0)
            sched_yield();                                /* the publisher may need this CPU */
        uint32_t s = x >> 20 & 1;
        struct rdn_ledger_in beat = event(&d, RDN_LK_HEARTBEAT);
        beat.session = d.sym[x >> 21 & 1 ? SESSION : OTHER_SESSION];
        d.now += x % 64 == 0 ? 3000000000 : 0;
        if (x % 8 < 4 && m.n < IDS - 10)
            order_at(&d, &m, s);
        else if (x % 8 < 6 && m.n)
            gone_at(&d, &m, x >> 22 & 1);
        else if (x % 8 == 6)
            restrict_symbol(&d, d.sym[10 + s], m.stop[s] = !m.stop[s]);
        else if (x >> 23 & 1)
            take(&d, &beat);
        else if (quote(&d, 900000 + (int64_t)(i % 1000) * 100) == 0)
            m.bid[0] = 900000 + (int64_t)(i % 1000) * 100;
    }
    atomic_store(&g.stop, true);
    pthread_join(t, NULL);
    print_message("%llu swaps, %llu orders judged\n", (unsigned long long)g.swaps, (unsigned long long)g.judged);
    check(g.swaps >= 300 && g.judged > 1000 && !g.refused, "too little happened");
    for (int i = 0; i < PACKS; i++)
        redan_release(g.rs[i]);
    desk_close(&d);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(rules_change_within_an_event), cmocka_unit_test(tables_that_come_back), cmocka_unit_test(rules_change_between_events),
        cmocka_unit_test(nobody_judges), cmocka_unit_test(one_mistake_is_one_event), cmocka_unit_test(tables_of_another_shape),
        cmocka_unit_test(events_of_another_shape), cmocka_unit_test(tables_that_are_full), cmocka_unit_test(rules_change_from_another_thread) };
    kit_backend = "auto";
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
