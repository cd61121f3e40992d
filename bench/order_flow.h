/* SPDX-License-Identifier: Apache-2.0
 * order_flow.h: orders and prints for the pretrade example: LOBSTER messages when a file is given, else a seeded generator of the
 * same shape (a random walk of the best price, sizes around round lots, bursts, cancels left out). */
#ifndef RDN_ORDER_FLOW_H
#define RDN_ORDER_FLOW_H
#include <redan/redan.h>
#include <stdbool.h>

/* Rows of examples/pretrade/pretrade.rdn, as `redan bindgen` prints them; their layout is checked when the events are bound. */
struct flow_order { int64_t ts; uint64_t present; uint32_t account, symbol; uint8_t side; int64_t qty, px; uint8_t tif; } __attribute__((aligned(8)));
struct flow_trade { int64_t ts; uint32_t symbol; int64_t px, qty; } __attribute__((aligned(8)));
struct flow_event { uint32_t event; uint32_t account; union { struct flow_order order; struct flow_trade trade; }; };
struct flow {
    struct flow_event *events; uint32_t n;
    uint32_t order, trade;                               /* event ids */
    const char *source;                                  /* "LOBSTER" or "generated" */
};
/* Reads `path` (NULL: generates `n` events). False after a message. Event ids are bound on the engine, whose rules are active. */
bool flow_open(struct flow *, redan_engine *, const char *path, uint32_t n, uint64_t seed);
void flow_close(struct flow *);
/* A file of n rules on these events, as a desk writes them: limits, reference prices, rates. malloc'ed, with room to change a
 * character; NULL without memory. */
char *flow_rules(uint32_t n, size_t *ret_len);
#endif
