/* SPDX-License-Identifier: Apache-2.0
 * answer.h: the lines and texts a judged event becomes (LANGUAGE.md 17.2, 17.6), written the same way by `redan run`, replay,
 * explain and the daemon. Off the hot path; on the lane's thread, before its next call. */
#ifndef RDN_ANSWER_H
#define RDN_ANSWER_H
#include "host/host.h"

/* A decision line without LF. n: sequence in the stream; type: the event; full: with msgs. */
void rdn_answer_decision(struct rdn_buf *, struct redan_lane *, const redan_verdict *, uint64_t n, const char *type, bool full);
/* {"error":TEXT} */
void rdn_answer_error(struct rdn_buf *, const char *why);
/* The state line: every window's keys and values at H. */
void rdn_answer_state(struct rdn_buf *, struct redan_lane *);
/* The swap line; cold: one flag a window of the new rules. */
void rdn_answer_swap(struct rdn_buf *, const struct rdn_ir *, const uint8_t *cold);

/* 17.6 for the event just judged with rdn_judge_rules: reads values as they are before accepted windows change. */
void rdn_explain(struct rdn_buf *, struct redan_lane *, const redan_verdict *, uint32_t event, uint64_t n);
#endif
