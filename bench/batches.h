/* SPDX-License-Identifier: Apache-2.0
 * batches.h: the events of bench-rules as batches: structs as they are, or one array a field. */
#ifndef RDN_BENCH_BATCHES_H
#define RDN_BENCH_BATCHES_H
#include <stdbool.h>
#include "bench/rule_sets.h"
#include "jit/exec.h"

struct batches;
/* Columns of the events when `columns`, else the events themselves, which are borrowed. NULL: no memory. */
struct batches *batches_open(const struct rdn_ir *, const struct set_event *, uint32_t n, bool columns);
void batches_close(struct batches *);
/* Judges events [at, at + n) in batches; n words of each event, marked events singly. Returns how many were marked. */
uint32_t batches_judge(struct batches *, struct rdn_frame *, uint32_t at, uint32_t n);
/* Words of event i, of the last call. */
const uint64_t *batches_words(const struct batches *, uint32_t i);
#endif
