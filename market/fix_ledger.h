/* SPDX-License-Identifier: Apache-2.0
 * fix_ledger.h: FIX 4.4 messages as events of the ledger, and refusals as FIX messages. Texts become symbols; nothing is kept. [any] */
#ifndef RDN_FIX_LEDGER_H
#define RDN_FIX_LEDGER_H
#include "market/fix.h"
#include "market/ledger.h"
#include "market/risk_codes.h"

/* D, G and F are a new order, a replace and a request to cancel; 8 and 9 what a venue did. The session is the sender, the trader 116 or
 * else 50. INVAL: a quantity that is not whole, an order's price of more than 4 decimals. NOSUP: an order that is neither limit nor market, a report
 * that changes nothing here. FULL: no room for a text. */
int  rdn_fix_event(struct rdn_syms *, const redan_fix *, struct rdn_ledger_in *ret);
/* The answer to a D (an ExecutionReport) or a G (an OrderCancelReject) that is refused, in the numbers of FIX 4.4 or of 5.0 SP2. Texts are
 * borrowed from the order and the answer. */
void rdn_fix_refusal(const redan_fix *order, const struct rdn_fix_answer *, bool in_44, redan_fix *ret);
#endif
