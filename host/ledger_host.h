/* SPDX-License-Identifier: Apache-2.0
 * ledger_host.h: the ledger of a lane (market/ledger.h): its rows go to the host tables of the active rules, its events are judged.
 *
 * Tables and events are found by name and checked against ledger.def when rules are adopted; what the rules do not declare they do not
 * get. After a swap that left a table empty all rows are written again. On the lane's thread. */
#ifndef RDN_LEDGER_HOST_H
#define RDN_LEDGER_HOST_H
#include "host/host.h"
#include "market/ledger.h"

struct rdn_ledger_host;
/* An event was judged: the order in hand, or what follows from it. Emits are what a gateway is told. */
typedef void rdn_ledger_decided(void *ctx, redan_lane *, const struct rdn_ledger_out *, const redan_verdict *);
/* The sink and the symbols of `o` are not looked at. `decided` may be NULL. LAYOUT when a table or an event of the active rules has other
 * columns or fields than the ledger's. */
int  rdn_ledger_host_open(redan_lane *, const struct rdn_ledger_options *o, rdn_ledger_decided *decided, void *ctx, struct rdn_ledger_host **ret, redan_error *);
void rdn_ledger_host_close(struct rdn_ledger_host *);
struct rdn_ledger *rdn_ledger_host_ledger(struct rdn_ledger_host *);
/* All that follows from an event. Of an order *ret, which may be NULL, is the decision, borrowed as redan_eval's. 0; FULL: an order that
 * nobody judged, to be refused; INVAL: counted; else what redan_eval said. [hot] but for the first event after a swap. */
int  rdn_ledger_host_event(struct rdn_ledger_host *, const struct rdn_ledger_in *, redan_verdict *ret);
#endif
