/* SPDX-License-Identifier: Apache-2.0
 * room.c: how much memory texts and arrays need on the way to a value, so that no evaluation runs short of it.
 *
 * rdn_room        bytes each node may take;  rdn_fold_room  the scratch of rdn_fold for every constant node of a rule set
 *
 * O(nodes). The longest text is known from the operands: an operation makes at most their sum. */
#include "ir/ir.h"

static uint32_t enum_text(const struct rdn_type *t) {
    size_t most = 0;
    for (unsigned i = 0; t->kind == RDN_K_ENUM && i < t->n; i++) {
        size_t n = 0;
        while (t->members[i][n])
            n++;
        if (n > most)
            most = n;
    }
    return (uint32_t)most;
}

static uint32_t own_text(const struct rdn_ir *ir, const struct rdn_node *n, const struct rdn_type *t) {
    if (n->op == RDN_OP_CONST)
        return n->type == RDN_TY_STR ? ir->consts.v[n->aux].val.t.len : 0;
    switch (t->kind) {
    case RDN_K_STR: return t->n;
    case RDN_K_ENUM: return enum_text(t);
    default: return 255;                                 /* a symbol, or text from a window or table */
    }
}

/* The longest text a node can give, from those of its operands. */
static uint32_t text_bound(const struct rdn_ir *ir, const struct rdn_node *n, const struct rdn_type *t, const uint32_t *len) {
    rdn_id buf[3];
    uint32_t nargs, sum = 0, most = 0;
    const rdn_id *args = rdn_node_args(ir, n, buf, &nargs);
    for (uint32_t i = 0; i < nargs; i++) {
        sum += len[args[i]];
        if (len[args[i]] > most)
            most = len[args[i]];
    }
    switch (n->op) {
    case RDN_OP_CONCAT: return sum > 1u << 20 ? 1u << 20 : sum;
    case RDN_OP_TOTEXT: return most < 64 ? 64 : most;
    case RDN_OP_LOWER: case RDN_OP_UPPER: case RDN_OP_TRIM: case RDN_OP_USE: case RDN_OP_INLINE: case RDN_OP_SEL:
    case RDN_OP_COALESCE: case RDN_OP_SYMTEXT: case RDN_OP_ENUMTEXT: return most;
    default: return own_text(ir, n, t);
    }
}

uint32_t *rdn_room(const struct rdn_ir *ir, const struct rdn_mem *mem) {
    uint32_t *ret = rdn_zalloc(mem, ir->nodes.n * sizeof *ret), *len = rdn_zalloc(mem, ir->nodes.n * sizeof *len);
    for (rdn_id id = 1; ret && len && id < ir->nodes.n; id++) {
        const struct rdn_node *n = &ir->nodes.v[id];
        const struct rdn_type *t = rdn_ir_ltype(ir, id);
        if (rdn_type_is_text(t))
            len[id] = text_bound(ir, n, t, len);
        if (n->type == RDN_TY_STR)
            ret[id] = len[id] + 96;
        else if (n->type == RDN_TY_VEC || n->type == RDN_TY_IVEC)
            ret[id] = rdn_type_elems(t) * 8 + 32;
    }
    if (!len) {
        rdn_free(mem, ret, ir->nodes.n * sizeof *ret);
        ret = NULL;
    }
    rdn_free(mem, len, ir->nodes.n * sizeof *len);
    return ret;
}

bool rdn_fold_room(const struct rdn_ir *ir, struct rdn_arena *arena, struct rdn_scratch *ret) {
    uint32_t *room = rdn_room(ir, arena->mem);
    size_t sum = 0;
    *ret = (struct rdn_scratch){ 0 };
    if (!room)
        return false;
    for (rdn_id id = 1; id < ir->nodes.n; id++)
        sum += ir->nodes.v[id].op == RDN_OP_CONST ? 0 : room[id];
    rdn_free(arena->mem, room, ir->nodes.n * sizeof *room);
    ret->size = sum > RDN_ROOM_MAX ? RDN_ROOM_MAX : sum;
    ret->base = sum ? rdn_arena_alloc(arena, ret->size) : NULL;
    return !sum || ret->base;
}
