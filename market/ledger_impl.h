/* SPDX-License-Identifier: Apache-2.0
 * ledger_impl.h: the tables of the ledger and what its files share. Private to market/ledger*.c.
 *
 *   ledger.c        events: state, then what the rules see
 *   ledger_rows.c   values and the rows of host tables
 *   ledger_ref.c    memory, reference data, the check */
#ifndef RDN_LEDGER_IMPL_H
#define RDN_LEDGER_IMPL_H
#include "market/ledger.h"
#include "market/lmap.h"
#include "market/wide.h"

enum { NONE = RDN_LEDGER_NONE, BUY = 0, SELL = 1 };
enum { EXEC_IDS = 65536, CURRENCIES = 256, GRANTS = 65536, DEAD_ORDERS = 65536, ID_RECENT_MAX = 65536 };

struct limits { uint32_t has; int64_t v[RDN_LL_COUNT]; };
struct lsym {
    bool known, has_quote, has_bid, has_ask, has_last, has_valid, valid, has_depth, has_rate;
    uint8_t ndepth[2];
    uint32_t positions;                                   /* head of their list, by next_of_sym */
    int64_t bid, ask, at, last;
    rdn_i128 rate;                                        /* money of one share at price 1, 10^-6 */
    struct rdn_linst in;
    struct rdn_ledger_level depth[2][RDN_LEDGER_LEVELS];
};
struct lacct {
    bool known, reduce_only, has_capital, marks_missing, sent;
    uint32_t desk, open_orders, positions, limits_by_symbol;   /* heads of lists */
    int64_t capital;
    struct limits lim;
    uint32_t over[2], over_margin;                        /* live orders whose value has no 128 bits, by side; whose margin is not known */
    struct rdn_wide held[2], margin_orders;               /* 10^-11; 10^-15 */
    struct rdn_wide gross, net, margin_positions;         /* good unless marks_missing */
    int64_t sent_day, sent_max_loss; uint64_t sent_release;
};
struct lpos {
    uint32_t acct, sym, next_of_acct, next_of_sym;
    bool counted;                                         /* a fill or a start of the day: it is part of the account's value */
    rdn_i128 qty, located, open[2];
    int64_t start, start_mark;
    struct rdn_wide cash;                                 /* of today's fills, 10^-4 */
};
struct lord {
    uint32_t acct, sym, pos, algo, smp, group, prev, next;    /* of the group, or of the dead ones */
    uint32_t ids, newest, pend;
    uint8_t side; bool used, live, over;
    int64_t qty, px, filled, leaves, near_px;
    rdn_i128 held;                                        /* 10^-11 */
};
struct lidnode { uint32_t id, next; };                    /* index in idm */
struct lpend { uint32_t id, next; int64_t qty, px; };     /* a replace sent and not answered; id: a symbol */
struct lid { uint32_t order, seen; };
struct lgroup { uint32_t orders; bool shown; int64_t best; };
struct lby_symbol { uint32_t next; struct limits lim; };
struct ltickets { uint32_t first, last; bool shown; uint32_t codes; };   /* of an account and symbol, oldest first */
struct lticket { uint32_t next, codes; int64_t from, until, max_qty, uses; };
struct lsession { uint32_t name; bool alive; int64_t last; };
struct lpool { uint32_t used, free, n, cap; };            /* free: head of a list through the elements' own `next` */

struct rdn_ledger {
    struct rdn_ledger_options o;
    void *base; size_t bytes;
    uint64_t faults[RDN_LF_COUNT];
    uint32_t star, empty, live, dead_first, dead_last;
    struct limits lim;                                    /* of the firm */
    struct rdn_lmap accts, syms, poss, fxs, ids, groups, by_symbol, tickets_of, permits, restricts, execs;
    struct lacct *acct; struct lsym *sym; struct lpos *pos; int64_t *fx; struct lid *id; struct lgroup *group;
    struct lby_symbol *limits_of; struct ltickets *tickets; struct lticket *ticket;
    struct lord *ord; struct lidnode *idnode; struct lpend *pend;
    struct lpool ords, idnodes, pends, tickets_pool;
    struct lsession *session; uint32_t nsessions; int64_t next_due;
    uint32_t *seen; uint32_t seen_at, nseen;              /* ring of indices of ids */
    uint32_t *exec_ring; uint32_t exec_at;
    uint64_t *value_dirty, *pnl_dirty;                    /* by account: rows to write; Pnl to send */
    uint64_t release_no;
    uint32_t code_sym[RDN_LW_COUNT];
};

static inline void rdn_lbit_set(uint64_t *w, uint32_t i) { w[i / 64] |= (uint64_t)1 << (i % 64); }
static inline bool rdn_ledger_flaw(struct rdn_ledger *l, enum rdn_ledger_fault f) { l->faults[f]++; return false; }

/* ledger_ref.c: the index of a name, made when it is new; NONE when there is no room. */
uint32_t rdn_ledger_acct(struct rdn_ledger *, uint32_t account);
uint32_t rdn_ledger_sym(struct rdn_ledger *, uint32_t symbol);
uint32_t rdn_ledger_pos(struct rdn_ledger *, uint32_t acct, uint32_t sym);
int64_t  rdn_ledger_limit_of(const struct rdn_ledger *, uint32_t acct, const struct limits *by_symbol, unsigned limit);

/* ledger_rows.c: an order's share of the sums, added or taken out (members are not: group_in, group_out); rows of it. */
void rdn_ledger_order_in(struct rdn_ledger *, uint32_t order);
void rdn_ledger_order_out(struct rdn_ledger *, uint32_t order);
void rdn_ledger_show_order(struct rdn_ledger *, uint32_t order);      /* rows that the order is part of */
void rdn_ledger_show_id(struct rdn_ledger *, uint32_t idx);
void rdn_ledger_show_pos(struct rdn_ledger *, uint32_t pos);
void rdn_ledger_show_sym(struct rdn_ledger *, uint32_t sym, bool reference);
void rdn_ledger_show_limits(struct rdn_ledger *, uint32_t acct);
void rdn_ledger_show_tickets(struct rdn_ledger *, uint32_t idx);
void rdn_ledger_show_acct(struct rdn_ledger *, uint32_t acct);        /* desk, capital, limits */
bool rdn_ledger_group_in(struct rdn_ledger *, uint32_t order);        /* false: no room */
void rdn_ledger_group_out(struct rdn_ledger *, uint32_t order);
void rdn_ledger_marks(struct rdn_ledger *, uint32_t acct);            /* gross, net, margin of the positions */
bool rdn_ledger_day(const struct rdn_ledger *, uint32_t acct, int64_t *ret_cents);
void rdn_ledger_touch(struct rdn_ledger *, uint32_t acct);            /* its positions are worth something else */
void rdn_ledger_touch_sym(struct rdn_ledger *, uint32_t sym);         /* of everybody who holds some */
void rdn_ledger_flush(struct rdn_ledger *);                           /* writes rows of accounts that were touched */
bool rdn_ledger_put(struct rdn_ledger *, unsigned table, const int64_t *keys, const int64_t *vals);
#endif
