/* SPDX-License-Identifier: Apache-2.0
 * riskpack.c: orders through the ledger and the 35 rules of the standard pre-trade pack. One JSON line a result.
 *
 *   riskpack PACK.rdn [--rounds N] [--backend NAME]
 *
 * 8 accounts, 64 symbols with quotes, trades, limits, positions and 256 resting orders; every order is new, within all limits and
 * accepted. Timed is what an order costs from its arrival to its decision, reservation and rows written (`hot`), and the ledger alone
 * with nobody behind it (`ledger`). The peer is hand-written C with arrays instead of tables and 22 of the checks, no codes, no tickets, no
 * exits, no windows but a counter a second, money in 64 bits (`hand-written-c`). */
#include "bench/ticks.h"
#include "host/ledger_host.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNTS = 8, SYMBOLS = 64, RESTING = 256, BLOCK = 32, IDS = 8192 };
#define T0 1772550000000000000
#define PX 1000000                                        /* 100.0000 */

struct desk {
    redan_engine *eng;
    redan_ruleset *rs;
    redan_lane *lane;
    struct rdn_ledger_host *host;
    uint32_t account[ACCOUNTS], symbol[SYMBOLS], id[IDS], trader, algo, session, venue, usd, empty, next_id;
    int64_t now;
    uint64_t accepted, judged;
    struct rdn_ledger_in block[BLOCK];
};

__attribute__((noreturn)) static void die(const char *what, const redan_error *e) {
    fprintf(stderr, "riskpack: %s: %s %s\n", what, e ? e->id : "", e ? e->text : "");
    exit(1);
}
static uint32_t sym(struct desk *d, const char *head, int n) {
    char text[32];
    uint32_t id = 0;
    int len = n < 0 ? snprintf(text, sizeof text, "%s", head) : snprintf(text, sizeof text, "%s%d", head, n);
    if (redan_sym(d->eng, text, (size_t)len, &id) < 0)
        die("symbols", NULL);
    return id;
}

/* ---- the desk ---- */
static void names(struct desk *d) {
    for (int i = 0; i < ACCOUNTS; i++)
        d->account[i] = sym(d, "ACC", i);
    for (int i = 0; i < SYMBOLS; i++)
        d->symbol[i] = sym(d, "SYM", i);
    for (int i = 0; i < IDS; i++)
        d->id[i] = sym(d, "order-", i);
    d->trader = sym(d, "T1", -1), d->algo = sym(d, "ALG1", -1), d->session = sym(d, "S1", -1), d->venue = sym(d, "XV1", -1);
    d->usd = sym(d, "USD", -1), d->empty = sym(d, "", -1);
}

static void reference(struct desk *d, struct rdn_ledger *l) {
    static const int64_t limits[RDN_LL_COUNT] = { 1000000, 100000000, 1000, 1000000, 1000000, 200, 1000, 10000, 5000000000, 5000000000,
                                                  5000000000, 5000000000, 100000000, 10000000 };   /* an account of 50 million */
    const struct rdn_linst in = { .ccy = d->usd, .has_close = true, .has_adv = true, .lot = 1, .mult = 1, .margin_bps = 2000, .prev_close = PX,
                                  .adv = 100000000, .nticks = 1, .ticks = { { 0, 100 } } };
    rdn_ledger_currency(l, d->usd, 1000000);
    for (unsigned i = 0; i < RDN_LL_COUNT; i++)
        rdn_ledger_limit(l, RDN_LEDGER_NONE, RDN_LEDGER_NONE, i, limits[i]);
    for (int i = 0; i < SYMBOLS; i++)
        rdn_ledger_instrument(l, d->symbol[i], &in);
    for (int i = 0; i < ACCOUNTS; i++) {
        rdn_ledger_account(l, d->account[i], sym(d, "D", i / 4), true, 10000000000);
        rdn_ledger_permit(l, d->trader, d->account[i], d->algo, true);
    }
}

typedef int take(struct desk *, const struct rdn_ledger_in *);
static int take_host(struct desk *d, const struct rdn_ledger_in *e) {
    redan_verdict v;
    int rc = rdn_ledger_host_event(d->host, e, &v);
    if (e->kind == RDN_LK_ORDER && rc == 0) {
        d->judged++;
        d->accepted += v.verdict == REDAN_ACCEPT;
    }
    return rc;
}

static struct rdn_ledger_in event(const struct desk *d, enum rdn_ledger_kind kind) {
    return (struct rdn_ledger_in){ .kind = (uint8_t)kind, .ts = d->now, .session = d->session, .state = 0, .has_bid = true, .has_ask = true, .bid = PX - 100,
        .ask = PX + 100, .px = PX, .has_px = true, .qty = 10, .mark = PX, .id = d->empty, .orig_id = d->empty, .smp = d->empty, .key = d->empty, .scope = d->empty,
        .account = d->account[0], .symbol = d->symbol[0], .trader = d->trader, .algo = d->algo, .venue = d->venue };
}

/* A second of trading spread over 5 ms an order, as eight accounts would send them. */
static struct rdn_ledger_in order(struct desk *d, uint32_t n) {
    struct rdn_ledger_in e = event(d, RDN_LK_ORDER);
    e.id = d->id[d->next_id];                             /* resting orders keep theirs */
    d->next_id = d->next_id + 1 < IDS ? d->next_id + 1 : RESTING;
    e.account = d->account[n % ACCOUNTS];
    e.symbol = d->symbol[n * 7 % SYMBOLS];
    e.side = n / ACCOUNTS % 2;
    e.px = e.side ? PX + 200 + 100 * (int64_t)(n % 5) : PX - 200 - 100 * (int64_t)(n % 5);
    e.qty = 100 + n % 50;
    e.ts = d->now += 5000000;
    return e;
}

static void begin_day(struct desk *d, take *to) {
    d->now = T0;
    struct rdn_ledger_in e = event(d, RDN_LK_HEARTBEAT);
    to(d, &e);
    for (int i = 0; i < SYMBOLS; i++) {
        static const uint8_t kinds[] = { RDN_LK_STATUS, RDN_LK_QUOTE, RDN_LK_TRADE };
        for (int k = 0; k < 3; k++) {
            e = event(d, kinds[k]);
            e.symbol = d->symbol[i];
            e.state = sym(d, "open", -1);
            to(d, &e);
        }
    }
    for (int i = 0; i < ACCOUNTS * 8; i++) {
        e = event(d, RDN_LK_POSITION);
        e.account = d->account[i % ACCOUNTS], e.symbol = d->symbol[i], e.qty = 1000;
        to(d, &e);
        e.kind = RDN_LK_LOCATE, e.qty = 1000000;
        to(d, &e);
    }
    for (int i = 0; i < SYMBOLS * ACCOUNTS; i++) {
        e = event(d, RDN_LK_LOCATE);
        e.account = d->account[i % ACCOUNTS], e.symbol = d->symbol[i / ACCOUNTS], e.qty = 1000000;
        to(d, &e);
    }
    for (uint32_t i = 0; i < RESTING; i++) {
        e = order(d, i);
        to(d, &e);
    }
}

/* Quotes are fresh, sessions alive; then a block of orders, timed, and all of them cancelled by the venue. */
static uint64_t block(struct desk *d, take *to, uint32_t n) {
    struct rdn_ledger_in e = event(d, RDN_LK_HEARTBEAT);
    to(d, &e);
    for (int i = 0; i < SYMBOLS; i++) {
        e = event(d, RDN_LK_QUOTE);
        e.symbol = d->symbol[i];
        to(d, &e);
    }
    for (uint32_t i = 0; i < BLOCK; i++)
        d->block[i] = order(d, n * BLOCK + i);
    uint64_t start = (uint64_t)now_ns();
    for (uint32_t i = 0; i < BLOCK; i++)
        to(d, &d->block[i]);
    uint64_t took = (uint64_t)now_ns() - start;
    for (uint32_t i = 0; i < BLOCK; i++) {
        e = event(d, RDN_LK_CANCELLED);
        e.id = d->block[i].id;
        to(d, &e);
    }
    return took;
}

static int by_u64(const void *a, const void *b) { return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b; }
static double figure(const char *set, uint64_t *took, uint32_t rounds) {
    qsort(took, rounds, sizeof *took, by_u64);
    printf("{\"bench\":\"riskpack\",\"figure\":\"riskpack/%s/ns_per_order\",\"value\":%.1f,\"unit\":\"ns\",\"p99\":%.1f}\n", set,
           (double)took[rounds / 2] / BLOCK, (double)took[rounds - 1 - rounds / 100] / BLOCK);
    return (double)took[rounds / 2] / BLOCK;
}

/* ---- nobody behind the ledger ---- */
static struct rdn_ledger *bare;
static bool no_row(void *ctx, unsigned table, const int64_t *keys, const int64_t *vals) { return (void)ctx, (void)table, (void)keys, (void)vals, true; }
static void no_event(void *ctx, const struct rdn_ledger_out *o) { (void)ctx, (void)o; }
static int take_bare(struct desk *d, const struct rdn_ledger_in *e) {
    int rc = rdn_ledger_begin(bare, e);
    if (e->kind == RDN_LK_ORDER)
        rdn_ledger_end(bare, e, true, false);
    return (void)d, rc;
}

static void bare_day(struct desk *d) {
    const struct rdn_ledger_options o = { .syms = d->eng->syms, .sink = { NULL, no_row, no_event }, .id_recent = 1000, .silent_ns = 30000000000 };
    redan_error e = { 0 };
    if (rdn_ledger_open(&bare, &o, &e) < 0)
        die("ledger", &e);
    reference(d, bare);
    begin_day(d, take_bare);
}

/* ---- hand-written C ---- */
static struct hand {
    int64_t pos[ACCOUNTS][SYMBOLS], open[2][ACCOUNTS][SYMBOLS], value[2][ACCOUNTS], gross[ACCOUNTS], net[ACCOUNTS], pnl[ACCOUNTS], credit[ACCOUNTS];
    int64_t bid[SYMBOLS], ask[SYMBOLS], close[SYMBOLS], adv[SYMBOLS], at[SYMBOLS];
    uint32_t orders[ACCOUNTS], second[ACCOUNTS];
    int64_t second_at[ACCOUNTS];
    bool stopped[ACCOUNTS], halted[SYMBOLS], permitted[ACCOUNTS], restricted[SYMBOLS], reduce[ACCOUNTS], latched[ACCOUNTS], alive;
} hand;
static uint64_t hand_refused;
static int take_hand(struct desk *d, const struct rdn_ledger_in *e) {
    struct hand *h = &hand;
    if (e->kind != RDN_LK_ORDER)
        return 0;
    uint32_t a = e->account - d->account[0], s = e->symbol - d->symbol[0], side = e->side;
    int64_t value = e->px * e->qty, pos = h->pos[a][s], worst = (side ? -pos : pos) + h->open[side][a][s] + e->qty, ref = side ? h->bid[s] : h->ask[s];
    if (e->ts - h->second_at[a] > 1000000000)
        h->second_at[a] = e->ts, h->second[a] = 0;
    bool bad = h->stopped[a] | !h->permitted[a] | h->restricted[s] | h->halted[s] | (e->qty <= 0) | (e->px <= 0) | (e->px % 100 != 0) | (e->qty > 1000000) |
               (value > 1000000000000) | (e->qty * 10000 > 1000 * h->adv[s]) | (llabs(e->px - h->close[s]) * 10000 > h->close[s] * 1000) |
               (side ? e->px * 10000 < ref * 9500 : e->px * 10000 > ref * 10500) | (e->ts - h->at[s] > 5000000000) | (++h->second[a] > 200) |
               (h->orders[a] + 1 > 10000) | (h->value[0][a] + h->value[1][a] + value > 100000000000000000) | (worst > 1000000) |
               (h->gross[a] + h->value[0][a] + h->value[1][a] + value > 100000000000000000) | ((side ? h->value[1][a] - h->net[a] : h->net[a] + h->value[0][a]) + value > 100000000000000000) |
               (h->credit[a] + value / 5 > 100000000000000000) | (h->pnl[a] < -1000000000000) | h->reduce[a] | h->latched[a] | !h->alive;
    hand_refused += bad;
    if (!bad) {
        h->orders[a]++;
        h->open[side][a][s] += e->qty;
        h->value[side][a] += value;
    }
    return 0;
}
static void hand_day(struct desk *d) {
    memset(&hand, 0, sizeof hand);
    hand.alive = true;
    for (int a = 0; a < ACCOUNTS; a++)
        hand.permitted[a] = true;
    for (int s = 0; s < SYMBOLS; s++)
        hand.bid[s] = PX - 100, hand.ask[s] = PX + 100, hand.close[s] = PX, hand.adv[s] = 100000000, hand.at[s] = INT64_MAX / 2;
    d->now = T0;
}
/* Orders and nothing else: the peer has no cancels, so what is open is taken back by hand. */
static uint64_t hand_block(struct desk *d, uint32_t n) {
    for (uint32_t i = 0; i < BLOCK; i++)
        d->block[i] = order(d, n * BLOCK + i);
    uint64_t start = (uint64_t)now_ns();
    for (uint32_t i = 0; i < BLOCK; i++)
        take_hand(d, &d->block[i]);
    uint64_t took = (uint64_t)now_ns() - start;
    memset(hand.open, 0, sizeof hand.open);
    memset(hand.value, 0, sizeof hand.value);
    memset(hand.orders, 0, sizeof hand.orders);
    return took;
}

/* ---- main ---- */
static void open_desk(struct desk *d, const char *pack, const char *backend) {
    static char text[1 << 20];
    redan_options o = REDAN_OPTIONS_INIT;
    redan_lane_options lo = REDAN_LANE_OPTIONS_INIT;
    const struct rdn_ledger_options led = { .id_recent = 1000, .silent_ns = 30000000000 };
    redan_error e = { 0 };
    FILE *f = fopen(pack, "rb");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (!f)
        die(pack, NULL);
    fclose(f);
    o.backend = backend;
    if (redan_open(&d->eng, &o, &e) < 0 || redan_compile(d->eng, "pretrade35", text, n, NULL, &d->rs, &e) < 0 ||
        redan_activate(d->eng, d->rs, NULL, NULL, &e) < 0 || redan_lane_open(d->eng, &lo, &d->lane, &e) < 0 ||
        rdn_ledger_host_open(d->lane, &led, NULL, NULL, &d->host, &e) < 0)
        die("open", &e);
    names(d);
    for (uint32_t i = 0; i < d->rs->ir->nparams; i++) {  /* nobody trades here, so every ratio of messages to executions is passed */
        const struct rdn_cell most = { .i = 1000000000 };
        if (strncmp(d->rs->ir->params[i].name, "otr_", 4) == 0)
            rdn_lane_param(d->lane, i, &most);
    }
    reference(d, rdn_ledger_host_ledger(d->host));
}

int main(int argc, char **argv) {
    static struct desk d;
    const char *backend = NULL;
    uint32_t rounds = 2000;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = (uint32_t)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--backend") == 0)
            backend = argv[i + 1];
    }
    if (argc < 2 || rounds < 10)
        die("PACK.rdn [--rounds 10...] [--backend NAME]", NULL);
    uint64_t *took = malloc(rounds * sizeof *took);
    open_desk(&d, argv[1], backend);
    begin_day(&d, take_host);
    for (uint32_t i = 0; i < rounds; i++) {
        took[i] = block(&d, take_host, i);
        if (i % 100 == 99)
            redan_replan(d.eng, 0, NULL, NULL);
    }
    double hot = figure("hot", took, rounds);
    printf("{\"bench\":\"riskpack\",\"figure\":\"riskpack/hot/refused\",\"value\":%" PRIu64 ",\"unit\":\"orders\"}\n", d.judged - d.accepted);
    redan_jit_stats stats = { .size = sizeof stats };
    redan_jit_stats_read(d.eng, &stats);
    printf("{\"bench\":\"riskpack\",\"figure\":\"riskpack/hot/cold_rules_per_order\",\"value\":%.2f,\"unit\":\"rules\"}\n",
           (double)stats.cold_rules / (double)d.judged);
    bare_day(&d);
    for (uint32_t i = 0; i < rounds; i++)
        took[i] = block(&d, take_bare, i);
    figure("ledger", took, rounds);
    rdn_ledger_close(bare);
    hand_day(&d);
    for (uint32_t i = 0; i < rounds; i++)
        took[i] = hand_block(&d, i);
    qsort(took, rounds, sizeof *took, by_u64);
    double peer = (double)took[rounds / 2] / BLOCK;
    printf("{\"bench\":\"riskpack\",\"set\":\"hot\",\"ns_min\":%.1f,\"peer\":\"hand-written-c\",\"peer_ns\":%.1f,\"ratio\":%.2f,\"ok\":%s,\"note\":\"22 checks\"}\n",
           hot, peer, hot / peer, hand_refused ? "false" : "true");
    rdn_ledger_host_close(d.host);
    redan_lane_close(d.lane);
    redan_release(d.rs);
    redan_close(d.eng);
    free(took);
    return 0;
}
