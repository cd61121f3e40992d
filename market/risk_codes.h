/* SPDX-License-Identifier: Apache-2.0
 * risk_codes.h: what a refusal of the standard pre-trade pack is called in FIX. [any] */
#ifndef RDN_RISK_CODES_H
#define RDN_RISK_CODES_H
#include <stdbool.h>
#include <stdint.h>

/* To a new order an ExecutionReport (35=8, 150=8, 39=8) with OrdRejReason 103, to a replace an OrderCancelReject (35=9, 434=2) with
 * CxlRejReason 102. FIX 4.4 has fewer numbers than 5.0 SP2: its 103 stops at 15 and 99, its 102 at 6. 58 is the code. */
struct rdn_fix_answer { const char *code; uint8_t reason, reason44; };
/* Of the codes of a decision the first one, in the order of the pack's rules, that refuses. False: none of them is the pack's. */
bool rdn_risk_answer(const char *const *codes, uint32_t n, bool replace, struct rdn_fix_answer *ret);
#endif
