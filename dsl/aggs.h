/* SPDX-License-Identifier: Apache-2.0
 * aggs.h: the aggregates of windows, from aggs.def, by enum rdn_agg. [any] */
#ifndef RDN_AGGS_H
#define RDN_AGGS_H
#include <stdint.h>

enum rdn_agg_gives { RDN_GIVES_INT, RDN_GIVES_FLOAT, RDN_GIVES_VALUE, RDN_GIVES_SPAN };
struct rdn_agg_row { const char *name; uint8_t args, gives, adv, unit, warmup, least; uint32_t takes; const char *doc; };
#define RDN_AGG_COUNT_ 12
extern const struct rdn_agg_row rdn_aggs[RDN_AGG_COUNT_];
#endif
