/* SPDX-License-Identifier: Apache-2.0
 * rule_sets.h: seeded rule sets for bench-rules, as terms that print as rule text, as C and as JSON for the other peers.
 *
 * random    clauses that pass in 40 to 80 % of events: nothing to jump over
 * rare      the first clause passes in 2 %: a symbol or a threshold
 * keyed     the first clause is an equality on an account (60 %) or symbol (30 %)
 * shared-N  clauses out of a pool of N, each passing in 85 %
 * ladder    one clause: a threshold on one of eight fields
 * dec       random with dec(4) for float, and products of two fields
 * nan, nan-1  random, with NaN in every float of all events, of one in a hundred (bench-rules makes these)
 * Rules have 3 to 5 clauses; in three of ten the last two are joined by `or`. 13 floats, an account, a symbol, a side. */
#ifndef RDN_BENCH_RULE_SETS_H
#define RDN_BENCH_RULE_SETS_H
#include <stdint.h>

struct set_event {                                       /* the event's row; the offsets are checked against the compiled rule set */
    int64_t ts;
    double price, qty, notional;
    int64_t account;
    uint32_t symbol;
    uint8_t side, pad[3];
    double position, cap, pnl, vol, spread, mid, exposure, margin, drawdown, rate;
};
enum { SET_FLOATS = 13, SET_SYMBOLS = 64, SET_ACCOUNTS = 1000, SET_CLAUSES = 5 };
struct set_field { const char *name; uint32_t offset; double lo, hi; };
extern const struct set_field set_floats[SET_FLOATS];

enum set_form { SET_RANDOM, SET_RARE, SET_KEYED, SET_SHARED, SET_LADDER, SET_DEC };
struct set_kind { const char *name; enum set_form form; uint32_t pool, sizes[4]; };   /* sizes: to measure, 0 ends them */
enum { SET_KINDS = 8, SET_DIGITS = 4 };                  /* digits of the dec fields */
extern const struct set_kind set_kinds[SET_KINDS];

enum clause_form { C_FIELD, C_LINEAR, C_DIFFERENCE, C_PRODUCT, C_TIMES, C_ACCOUNT, C_SYMBOL, C_SIDE };   /* a ? c, a * k + b ? c, a - b ? c, a ? k * b, a * b ? c, ints */
struct set_clause { uint8_t form, a, b; char cmp[3]; char k[32], c[32]; int64_t i; };       /* k, c: decimal text, the same in all languages */
struct set_rule { uint32_t n; uint8_t last_or; struct set_clause c[SET_CLAUSES]; };
struct rule_set { uint32_t n; uint8_t dec; struct set_rule *rules; };

struct set_event *set_events(uint32_t n, uint64_t seed, int dec);                 /* malloc; dec: the cells of the floats hold dec(4) */
void set_make(struct rule_set *, const struct set_kind *, uint32_t rules, const struct set_event *, uint32_t nevents);
void set_free(struct rule_set *);
char *set_as_rules(const struct rule_set *);                                      /* malloc: a .rdn file */
/* malloc: C with `void judge(const struct set_event *, unsigned long long *bits)`; flat: & and |, else && and || and if */
char *set_as_c(const struct rule_set *, int flat);
/* malloc: [{"and":["$price < 1.5", …], "or":["…", "…"]}, …]; $ stands where a language puts what a field belongs to */
char *set_as_json(const struct rule_set *);
#endif
