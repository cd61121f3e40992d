/* SPDX-License-Identifier: Apache-2.0
 * verify.h: what the parts of the verifier share. Private to ir/. */
#ifndef RDN_VERIFY_H
#define RDN_VERIFY_H
#include "ir/ir.h"

enum { RDN_ON_NONE = -1, RDN_ON_MANY = -2, RDN_ON_TEST = -3 };   /* of an expression: no event; several; a test's */
struct rdn_verify {
    const struct rdn_ir *ir;
    redan_error *reterr;
    int32_t *on;                                         /* by node: the event whose expressions reach it, or RDN_ON_* */
    int32_t *body;                                       /* by node: the call whose kernel body it is in, -1 */
    uint32_t *height;
    uint32_t *seen; rdn_id *stack;                       /* scratch of the walk through what a window reads */
};
/* Reports the invariant by name and what broke it; always false. */
bool rdn_broken(const struct rdn_verify *, const char *invariant, const char *what, uint32_t index);
#define HOLDS(v, cond, invariant, what, index)                          \
    do {                                                                \
        if (!(cond))                                                    \
            return rdn_broken((v), (invariant), (what), (index));       \
    } while (0)

bool rdn_verify_node(const struct rdn_verify *, rdn_id);                  /* verify_node.c: operands, types, aux */
bool rdn_verify_decls(const struct rdn_verify *);                         /* verify_decl.c: events ... calendars, calls, constants */
bool rdn_verify_rules(const struct rdn_verify *);                         /* verify_rule.c: windows, emits, rules */
/* The value of a node may stand where a value of type t is stored or handed on: same machine type (dec: any width), same scale,
 * same kind of text, same array. */
bool rdn_node_fits(const struct rdn_ir *, rdn_id, const struct rdn_type *t);
bool rdn_cell_valid(const struct rdn_ir *, const struct rdn_type *t, const struct rdn_cell *);   /* a defined constant of type t */
static inline bool rdn_node_id_ok(const struct rdn_ir *ir, rdn_id id) { return id > 0 && id < ir->nodes.n; }
static inline bool rdn_on_event(const struct rdn_verify *v, rdn_id id, uint32_t event) {
    return v->on[id] == RDN_ON_NONE || v->on[id] == (int32_t)event;
}
#endif
