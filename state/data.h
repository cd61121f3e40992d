/* SPDX-License-Identifier: Apache-2.0
 * data.h: lists, tables and calendars of a rule set, made ready for look-up.
 *
 * Lists, file tables and calendars are immutable once opened and shared by lanes. A host table belongs to one lane, reserves its
 * capacity at open and never allocates after. Look-ups are [hot]: O(1) hashing (list, table), O(sessions) (calendar),
 * or two compares while the answer cannot change. */
#ifndef RDN_DATA_H
#define RDN_DATA_H
#include "ir/ir.h"
#include "state/window.h"

struct rdn_listset;                                      /* list.c */
int  rdn_listset_open(const struct rdn_list *, const struct rdn_mem *, struct rdn_listset **ret);
void rdn_listset_close(struct rdn_listset *);
bool rdn_listset_has(const struct rdn_listset *, const struct rdn_cell *);   /* cell of the list's element type; sym by id; -0.0 == 0.0 */

struct rdn_tab;                                          /* table.c */
int  rdn_tab_open(const struct rdn_table *, const struct rdn_mem *, struct rdn_tab **ret);   /* host tables start empty */
void rdn_tab_close(struct rdn_tab *);
/* Column values of the row, or the default row, or NULL. */
const struct rdn_cell *rdn_tab_find(const struct rdn_tab *, const struct rdn_key *);
/* Host tables: sets a row (copies texts) or deletes it (vals NULL). False: full. */
bool rdn_tab_set(struct rdn_tab *, const struct rdn_key *, const struct rdn_cell *vals);
uint32_t rdn_tab_rows(const struct rdn_tab *);
/* Takes over the rows of `from` if keys, columns and capacity allow (chapter 13). */
bool rdn_tab_carry(struct rdn_tab *to, const struct rdn_tab *from);

struct rdn_cal;                                          /* calendar.c */
int  rdn_cal_open(const struct rdn_calendar *, const struct rdn_list *lists, const struct rdn_mem *, struct rdn_cal **ret);
void rdn_cal_close(struct rdn_cal *);
/* Open at that time; the answer is the same in [from_ns, until_ns), which contains it (but for the first and last second of int64). */
struct rdn_cal_span { int64_t from_ns, until_ns; bool open; };
bool rdn_cal_span_at(const struct rdn_cal *, int64_t now_ns, struct rdn_cal_span *ret);
/* The same through a span kept between events, {0} at first: a change of day, session or clock is what it costs. */
static inline bool rdn_cal_open_at(const struct rdn_cal *c, int64_t now_ns, struct rdn_cal_span *kept) {
    if (__builtin_expect(now_ns >= kept->from_ns && now_ns < kept->until_ns, 1))
        return kept->open;
    return rdn_cal_span_at(c, now_ns, kept);
}
#endif
