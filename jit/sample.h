/* SPDX-License-Identifier: Apache-2.0
 * sample.h: events a lane has judged, kept for the planner, which asks how often clauses hold on them (plan_pass.c).
 *
 * rdn_samples_open    [setup]  the ring of one lane for one rule set: at most RDN_SAMPLE_BYTES
 * rdn_samples_take    [hot]    copies an event over the oldest one
 * rdn_samples_read    [any]    copies events out while the lane goes on: an event that is being overwritten is left out
 *
 * One event in 32 is kept at first, later one in 1,024; distances vary, so that no rhythm of the stream is met. A ring belongs to the
 * event layouts of a rule set; rule sets with the same layouts hand it on. */
#ifndef RDN_SAMPLE_H
#define RDN_SAMPLE_H
#include "ir/ir.h"

#define RDN_SAMPLE_RING 256u                             /* events a lane keeps, of all types */
#define RDN_SAMPLE_MAX 128u                              /* events of a type that the planner looks at */
#define RDN_SAMPLE_BYTES ((size_t)128 << 10)             /* of a ring: large events are fewer */
#define RDN_REPLAN_EVENTS 4096u                          /* events of a type after which its rules are planned again, once */

struct rdn_samples;
int  rdn_samples_open(const struct rdn_ir *, const struct rdn_mem *, struct rdn_samples **ret);
void rdn_samples_close(struct rdn_samples *);
/* Made for the same layouts, so that one can stand for the other. [hot] */
bool rdn_samples_alike(const struct rdn_samples *, const struct rdn_samples *);
/* How many events further on the next one is due; the first is due so many after the ring is taken into use. */
uint32_t rdn_samples_take(struct rdn_samples *, uint32_t event, const uint8_t *row, int64_t now);
#define RDN_SAMPLE_FIRST 16u
/* About how many events of the type went past since the ring was new. */
uint64_t rdn_samples_seen(const struct rdn_samples *, uint32_t event);

/* Of one event type: rows `stride` bytes apart, and their times. n 0: nothing is known. */
struct rdn_sampled { uint32_t n; size_t stride; uint8_t *rows; int64_t *now; };
/* Adds the newest `most` at most, while there is room for RDN_SAMPLE_MAX. */
void rdn_samples_read(const struct rdn_samples *, uint32_t event, uint32_t most, struct rdn_sampled *);
#endif
