/* SPDX-License-Identifier: Apache-2.0
 * ledger_host.h: the ledger of a lane (market/ledger.h): its rows go to the host tables of the active rules, its events are judged.
 *
 * Tables are found by name when the lane adopts rules, which may happen in the middle of an event, and checked against ledger.def; those
 * that do not hold all rows then are written anew before anything is judged. What the rules do not declare they do not get.
 *
 * Nobody's silence accepts an order: one that the rules do not declare, that they cannot judge with every row there is, or whose
 * judgement failed is an error and reserves nothing. What happened at a venue counts whatever the rules are. On the lane's thread. */
#ifndef RDN_LEDGER_HOST_H
#define RDN_LEDGER_HOST_H
#include "host/host.h"
#include "market/ledger.h"

struct rdn_ledger_host;
/* An event was judged: the order in hand, or what follows from it. Emits are what a gateway is told. It may activate other rules. */
typedef void rdn_ledger_decided(void *ctx, redan_lane *, const struct rdn_ledger_out *, const redan_verdict *);
/* The sink and the symbols of `o` are not looked at. `decided` may be NULL. LAYOUT when a table or an event of the active rules has other
 * columns or fields than the ledger's; redan_activate refuses rules with other events from now on. One a lane. [setup] */
int  rdn_ledger_host_open(redan_lane *, const struct rdn_ledger_options *o, rdn_ledger_decided *decided, void *ctx, struct rdn_ledger_host **ret, redan_error *);
void rdn_ledger_host_close(struct rdn_ledger_host *);     /* before its lane */
struct rdn_ledger *rdn_ledger_host_ledger(struct rdn_ledger_host *);
/* All that follows from an event. Of an order *ret, which may be NULL, is the decision, borrowed as redan_eval's. Below 0 nobody judged
 * it: it is to be refused, while a request to cancel may pass. FULL: no room for the order, or the rules have none for a row. NOSUP: they
 * declare no such event. LAYOUT: a table of theirs is not the ledger's. INVAL: counted. Else what redan_eval says. Later events are not
 * concerned. [hot] but for the first event after a swap. */
int  rdn_ledger_host_event(struct rdn_ledger_host *, const struct rdn_ledger_in *, redan_verdict *ret);
#endif
