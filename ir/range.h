/* SPDX-License-Identifier: Apache-2.0
 * range.h: what can be said about every node before any event: may it be undefined, which integers can it be, may a float
 * be NaN or infinite. Emitters use it to leave out tests and 128-bit arithmetic; it is conservative, never wrong: a node is
 * in its range whatever the event, the parameters (within their ranges), the windows and the calls say. */
#ifndef RDN_RANGE_H
#define RDN_RANGE_H
#include "ir/ir.h"

struct rdn_range {
    bool undef;                                          /* may be undefined, of any cause, its operands' included */
    bool fails;                                          /* may become undefined here, although all operands are defined */
    bool nan, inf;                                       /* f64, and elements of a float array: when defined */
    /* b1, i64: value. d64, w128: mantissa at the node's scale. ivec: elements. When defined; lo > hi never happens. */
    rdn_i128 lo, hi;
};
/* One forward pass: `ret` has ir->nodes.n entries, [0] included. A FIELD is taken as a field of `event`; what is said about nodes of
 * other events means nothing. RDN_RANGE_ANY: of any event, so a field may be absent. O(nodes and operands), allocates nothing. [any] */
#define RDN_RANGE_ANY UINT32_MAX
void rdn_range_of(const struct rdn_ir *, uint32_t event, struct rdn_range *ret);
static inline bool rdn_range_fits_i64(const struct rdn_range *r) { return rdn_fits_i64(r->lo) && rdn_fits_i64(r->hi); }
#endif
