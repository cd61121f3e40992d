/* SPDX-License-Identifier: Apache-2.0
 * ledger.h: orders, positions, reservations and books of one lane: the state that no rule should rebuild. It takes the events of a
 * gateway and of the market and gives rows of host tables and events for the rules (ledger.def). It knows no limit and takes no
 * decision, but for what is the host's by nature: when a session is silent, how many ids are remembered, which tickets are valid.
 *
 *   rdn_ledger_begin    state first, then rows, then what the rules are to judge; an order is judged inside
 *   rdn_ledger_end      the decision on that order: an accepted one reserves at once
 *
 * Costs: an order O(1), a quote or trade O(accounts with a position in the symbol x their symbols), a fill O(symbols of the account).
 * The nearest own price is looked for among the resting orders of the group when the nearest one goes.
 *
 * Sums of money are exact in 320 bits; what rules read saturates at 64. All memory is reserved by rdn_ledger_open; an order beyond it is
 * refused (FULL, R3402), nothing live is ever evicted. Texts are numbers of the symbol table. One thread. */
#ifndef RDN_LEDGER_H
#define RDN_LEDGER_H
#include <redan/redan.h>
#include <stdbool.h>
#include "base/sym.h"

#define RDN_LEDGER_NONE UINT32_MAX
#define RDN_LEDGER_FIELDS 18u
enum rdn_ledger_table {
#define LTABLE(name, nkeys, ncols, text) RDN_LT_##name,
#include "market/ledger.def"
    RDN_LT_COUNT
};
enum rdn_ledger_event {
#define LEVENT(name, nfields, text) RDN_LE_##name,
#include "market/ledger.def"
    RDN_LE_COUNT
};
enum rdn_ledger_limit {
#define LLIMIT(name, type, scale, by) RDN_LL_##name,
#include "market/ledger.def"
    RDN_LL_COUNT
};
enum rdn_ledger_waive {
#define LWAIVE(code) RDN_LW_##code,
#include "market/ledger.def"
    RDN_LW_COUNT
};
enum rdn_ledger_fault {
#define LFAULT(name, code, text) RDN_LF_##name,
#include "market/ledger.def"
    RDN_LF_COUNT
};
enum rdn_ledger_type {
    RDN_LY_SYM, RDN_LY_INT, RDN_LY_BOOL, RDN_LY_TIME, RDN_LY_DEC, RDN_LY_OPT_DEC,
#define LENUM(type, first, second) RDN_LY_##type,
#include "market/ledger.def"
    RDN_LY_COUNT
};

/* Where rows and events go. Values in the order of ledger.def: numbers of symbols, indices of members, decimals at their scale. */
struct rdn_ledger_out { uint8_t event; uint32_t present; int64_t ts; int64_t v[RDN_LEDGER_FIELDS]; };   /* present: a bit a field */
struct rdn_ledger_sink {
    void *ctx;
    bool (*row)(void *ctx, unsigned table, const int64_t *keys, const int64_t *vals);    /* vals NULL: delete; false: no room */
    void (*event)(void *ctx, const struct rdn_ledger_out *);         /* judged before it returns */
};

struct rdn_ledger_options {
    struct rdn_syms *syms;                                /* borrowed */
    struct rdn_ledger_sink sink;
    uint32_t accounts, symbols, positions, orders, tickets, sessions;    /* 0: 1,024, 4,096, 65,536, 65,536 live ones, 4,096, 1,024 */
    uint32_t id_recent;                                   /* ids remembered besides those of live orders; at most 65,536 */
    int64_t silent_ns;                                    /* a session is lost after so long without a message */
};
struct rdn_ledger;
int  rdn_ledger_open(struct rdn_ledger **ret, const struct rdn_ledger_options *, redan_error *);     /* NOMEM, INVAL */
void rdn_ledger_close(struct rdn_ledger *);

/* ---- reference data: before the first event, or between events ---- */
struct rdn_tick_band { int64_t from, tick; };             /* from this price on, without its sign */
struct rdn_linst {
    uint32_t ccy;
    bool bands, neg_ok, has_close, has_adv;
    int64_t lot, mult, margin_bps, prev_close, adv;       /* mult 0 ... , margin_bps 0 ... 10^9 */
    uint32_t nticks; struct rdn_tick_band ticks[8];       /* the last one that begins at or below the price counts; [0] from 0 */
};
int rdn_ledger_instrument(struct rdn_ledger *, uint32_t symbol, const struct rdn_linst *);           /* INVAL, FULL */
int rdn_ledger_currency(struct rdn_ledger *, uint32_t ccy, int64_t rate);                            /* 10^-6 */
int rdn_ledger_account(struct rdn_ledger *, uint32_t account, uint32_t desk, bool has_capital, int64_t capital);     /* 10^-2 */
/* account and symbol: the most exact one that names the limit counts; NONE: of any. Symbols only for limits by SYMBOL. */
int rdn_ledger_limit(struct rdn_ledger *, uint32_t account, uint32_t symbol, enum rdn_ledger_limit, int64_t value);
int rdn_ledger_permit(struct rdn_ledger *, uint32_t trader, uint32_t account, uint32_t algo, bool on);

/* ---- events ---- */
enum rdn_ledger_kind {
    RDN_LK_ORDER, RDN_LK_ACK, RDN_LK_FILL, RDN_LK_CANCELLED, RDN_LK_EXPIRED, RDN_LK_VENUE_REJECT, RDN_LK_REPLACED, RDN_LK_REPLACE_REJECT,
    RDN_LK_HEARTBEAT, RDN_LK_DISCONNECT, RDN_LK_KILL, RDN_LK_RELEASE, RDN_LK_STATUS, RDN_LK_BAND, RDN_LK_INDEX, RDN_LK_SSR, RDN_LK_TRADE,
    RDN_LK_QUOTE, RDN_LK_DEPTH, RDN_LK_GAP, RDN_LK_RESYNC, RDN_LK_PERMISSION, RDN_LK_RESTRICT, RDN_LK_LIMIT, RDN_LK_MODE, RDN_LK_POSITION,
    RDN_LK_LOCATE, RDN_LK_TICKET, RDN_LK_COUNT
};
enum { RDN_LO_NEW, RDN_LO_REPLACE, RDN_LO_CANCEL };
enum { RDN_LR_ALGO, RDN_LR_VELOCITY, RDN_LR_LOSS };
enum { RDN_LEDGER_LEVELS = 16 };
struct rdn_ledger_level { int64_t px, qty; };
struct rdn_ledger_in {                                    /* what a kind does not use is not looked at; texts as symbols */
    uint8_t kind, order, release, side, ord_type;         /* RDN_LK_*, RDN_LO_*, RDN_LR_*; side 0 buy, 1 sell; type 0 limit, 1 market */
    bool on, has_px, has_bid, has_ask, has_account, is_short, short_exempt;      /* on: kill, restrict, permission, mode, ssr, authorised */
    int64_t ts;
    uint32_t id, orig_id, account, trader, algo, session, venue, symbol, smp, scope, key, state, who;
    int64_t qty, px, bid, ask, lo, hi, prev, mark;
    uint64_t exec_id;                                     /* 0: none */
    uint32_t limit; int64_t value;                        /* RDN_LL_* */
    int64_t from, until, max_qty, uses; uint32_t codes;   /* ticket; codes: a bit an RDN_LW_*; bad: asks for another one as well */
    bool bad; uint32_t requested_by, approved_by[8], napproved;
    struct rdn_ledger_level depth[2][RDN_LEDGER_LEVELS]; uint8_t ndepth[2];      /* [0] bids, [1] asks */
};
/* 0; FULL: an order for which there is no room, judged by nobody; INVAL: counted as a fault, nothing changed. Texts that a kind uses are in
 * the symbol table: a number beyond it, NONE too, is such a fault. */
int  rdn_ledger_begin(struct rdn_ledger *, const struct rdn_ledger_in *);
void rdn_ledger_end(struct rdn_ledger *, const struct rdn_ledger_in *order, bool accepted, bool override_used);

/* What `cancel_own` of R27 means: newest ids of own resting orders on the other side of `side` that `reach` touches. Returns how many
 * there are; writes at most cap. */
uint32_t rdn_ledger_own(const struct rdn_ledger *, uint32_t smp, uint32_t symbol, uint8_t side, int64_t reach, bool any_px, uint32_t *ids, uint32_t cap);

/* All rows again: for rules whose tables are empty. */
void rdn_ledger_publish(struct rdn_ledger *);
/* Works out everything that is kept up to date from orders, positions and prices alone; NULL, or the first thing that differs. */
const char *rdn_ledger_check(struct rdn_ledger *);

struct rdn_ledger_stats { uint32_t live, accounts, positions, ids; uint64_t faults[RDN_LF_COUNT]; size_t reserved; };
struct rdn_ledger_stats rdn_ledger_stats(const struct rdn_ledger *);
const char *rdn_ledger_fault_code(enum rdn_ledger_fault);
#endif
