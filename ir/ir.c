/* SPDX-License-Identifier: Apache-2.0
 * ir.c: the builder of a rule set, its sealing, and the small facts about operations that everybody asks for.
 *
 * rdn_ir_node     O(1) amortised        rdn_ir_const   O(1) amortised, equal constants share one entry
 * rdn_ir_seal     O(nodes + windows + rules + printing for the hash); after it nothing changes any more
 * rdn_ir_linecol  O(bytes before the span): for messages, never on a lane */
#include "ir/ir.h"
#include <string.h>

#define N RDN_NARY
#define OP(name, text, arity, cls, doc) [RDN_OP_##name] = arity,
const uint8_t rdn_op_arities[RDN_OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP
#undef N
const char *rdn_op_text(enum rdn_op op) {
#define OP(name, text, arity, cls, doc) [RDN_OP_##name] = text,
    static const char *const texts[RDN_OP_COUNT] = {
#include "ir/ops.def"
    };
#undef OP
    return texts[op];
}

const char *rdn_cause_text(enum rdn_cause cause) {
    switch (cause) {
    case RDN_DEFINED: return "defined";
#define CAUSE(name, number, text) case RDN_CAUSE_##name: return text;
#include "ir/causes.def"
#undef CAUSE
    }
    return "?";
}

const char *rdn_verb_text(enum rdn_verb verb) {
    switch (verb) {
    case RDN_V_ACCEPT: return "accept";
    case RDN_V_THROTTLE: return "throttle";
    case RDN_V_HOLD: return "hold";
    case RDN_V_REJECT: return "reject";
    case RDN_V_FLAG: return "flag";
    case RDN_V_SCORE: return "score";
    case RDN_V_EMIT: return "emit";
    case RDN_V_SKIP: return "skip";
    }
    return "?";
}

enum rdn_cell_type rdn_cell_of(const struct rdn_type *t) {
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL: return RDN_TY_B1;
    case RDN_K_FLOAT: return RDN_TY_F64;
    case RDN_K_DEC: return RDN_TY_D64;
    case RDN_K_STR: case RDN_K_TEXT: return RDN_TY_STR;
    case RDN_K_ARR: return t->elem == RDN_K_INT ? RDN_TY_IVEC : RDN_TY_VEC;
    case RDN_K_EVENT: return RDN_TY_ROW;
    case RDN_K_INT: case RDN_K_TIME: case RDN_K_DUR: case RDN_K_DATE: case RDN_K_SYM: case RDN_K_ENUM:
    case RDN_K_NONE: case RDN_K_COUNT: break;
    }
    return RDN_TY_I64;
}

struct rdn_ir *rdn_ir_new(struct rdn_arena *arena, struct rdn_syms *syms) { return rdn_ir_new_in(arena, arena, syms); }
struct rdn_ir *rdn_ir_new_in(struct rdn_arena *arena, struct rdn_arena *work, struct rdn_syms *syms) {
    struct rdn_ir *ir = rdn_new(arena, struct rdn_ir);
    ir->arena = arena;
    ir->work = work;
    ir->syms = syms;
    ir->types = rdn_types_new(arena);
    ir->interned = rdn_new(work, struct rdn_map);
    rdn_map_init(ir->interned, work);
    ir->name = ir->file = ir->source = "";
    rdn_push(work, &ir->nodes);                          /* ids and spans count from 1, so that 0 can mean none */
    rdn_push_val(work, &ir->ltypes, rdn_type_simple(ir->types, RDN_K_NONE)->index);
    rdn_push(work, &ir->spans);
    return ir;
}

void rdn_ir_reserve(struct rdn_ir *ir, uint32_t nodes) {
    uint32_t n = nodes + nodes / 8 + 64;                 /* conversions, constants of fns */
    rdn_reserve(ir->work, &ir->nodes, n);
    rdn_reserve(ir->work, &ir->ltypes, n);
    rdn_reserve(ir->work, &ir->spans, n);
}

uint32_t rdn_ir_span(struct rdn_ir *ir, uint32_t a, uint32_t b) {
    /* Parts of one expression often stand at the same place: remember the last. */
    const struct rdn_span *last = &ir->spans.v[ir->spans.n - 1];
    if (ir->spans.n > 1 && last->a == a && last->b == b)
        return ir->spans.n - 1;
    struct rdn_span *s = rdn_push(ir->work, &ir->spans);
    s->a = a;
    s->b = b;
    return ir->spans.n - 1;
}

/* The bytes two constants must share to be one: type, scale, language type, cause, value. */
struct const_key { uint32_t ltype; uint8_t type, scale, cause, zero; unsigned char val[16]; };

static const void *const_payload(enum rdn_cell_type type, const struct rdn_type *ltype, const struct rdn_cell *c, size_t *ret_len) {
    *ret_len = 0;
    switch (type) {
    case RDN_TY_STR: *ret_len = c->t.len; return c->t.p;
    case RDN_TY_VEC: *ret_len = sizeof(double) * rdn_type_elems(ltype); return c->v;
    case RDN_TY_IVEC: *ret_len = sizeof(int64_t) * rdn_type_elems(ltype); return c->w;
    case RDN_TY_B1: case RDN_TY_I64: case RDN_TY_F64: case RDN_TY_D64: case RDN_TY_W128: case RDN_TY_ROW: case RDN_TY_COUNT: break;
    }
    return NULL;
}

/* Copies the payload into the arena, terminated, and points the cell at it. */
static void const_own(struct rdn_arena *arena, enum rdn_cell_type type, const void *data, size_t len, struct rdn_cell *c) {
    char *copy = rdn_arena_alloc(arena, len + 1);
    if (len)
        memcpy(copy, data, len);
    if (type == RDN_TY_STR)
        c->t.p = copy;
    else if (type == RDN_TY_VEC)
        c->v = (const double *)(void *)copy;
    else
        c->w = (const int64_t *)(void *)copy;
}

uint32_t rdn_ir_const(struct rdn_ir *ir, enum rdn_cell_type type, unsigned scale, const struct rdn_type *ltype, const struct rdn_cell *val) {
    size_t len;
    const void *data = val->cause ? (len = 0, NULL) : const_payload(type, ltype, val, &len);
    struct const_key head = { ltype->index, (uint8_t)type, (uint8_t)scale, val->cause, 0, { 0 } };
    if (!data && !val->cause) {
        if (type == RDN_TY_W128 || type == RDN_TY_D64)
            memcpy(head.val, &val->d, sizeof val->d);
        else
            memcpy(head.val, &val->i, sizeof val->i);
    }
    unsigned char few[128], *key = sizeof head + len <= sizeof few ? few : rdn_arena_alloc(ir->work, sizeof head + len);
    memcpy(key, &head, sizeof head);
    if (len)
        memcpy(key + sizeof head, data, len);
    uint32_t at = rdn_map_get(ir->interned, key, sizeof head + len);
    if (at != RDN_MAP_NONE)
        return at;
    struct rdn_const *c = rdn_push(ir->work, &ir->consts);
    *c = (struct rdn_const){ (uint8_t)type, (uint8_t)scale, ltype, *val };
    c->val.gen = 0;
    c->val.span = 0;
    if (data || type == RDN_TY_STR)
        const_own(ir->arena, type, data, len, &c->val);
    if (key == few)
        key = memcpy(rdn_arena_alloc(ir->work, sizeof head + len), few, sizeof head + len);
    rdn_map_put(ir->interned, key, sizeof head + len, ir->consts.n - 1);
    return ir->consts.n - 1;
}

rdn_id rdn_ir_node(struct rdn_ir *ir, enum rdn_op op, enum rdn_cell_type type, unsigned scale, const struct rdn_type *ltype,
                   rdn_id a, rdn_id b, rdn_id c, uint32_t aux, uint32_t span, unsigned flags) {
    struct rdn_node *n = rdn_push(ir->work, &ir->nodes);
    *n = (struct rdn_node){ (uint8_t)op, (uint8_t)type, (uint8_t)scale, (uint8_t)flags, a, b, c, aux, span };
    rdn_push_val(ir->work, &ir->ltypes, ltype->index);
    return ir->nodes.n - 1;
}

rdn_id rdn_ir_node_n(struct rdn_ir *ir, enum rdn_op op, enum rdn_cell_type type, unsigned scale, const struct rdn_type *ltype,
                     const rdn_id *args, uint32_t nargs, uint32_t c, uint32_t aux, uint32_t span, unsigned flags) {
    uint32_t first = ir->args.n;
    for (uint32_t i = 0; i < nargs; i++)
        rdn_push_val(ir->work, &ir->args, args[i]);
    return rdn_ir_node(ir, op, type, scale, ltype, first, nargs, c, aux, span, flags);
}

void rdn_ir_linecol(const struct rdn_ir *ir, uint32_t span, uint32_t *line, uint32_t *col) {
    uint32_t at = span < ir->spans.n ? ir->spans.v[span].a : 0, bol = 0;
    if (at > ir->source_len)
        at = ir->source_len;
    *line = 1;
    for (uint32_t i = 0; i < at; i++)
        if (ir->source[i] == '\n') {
            ++*line;
            bol = i + 1;
        }
    *col = at - bol + 1;
}

/* ---- sealing ---- */

/* LATE, CALLS and EACH of every operand belong to the node too. Operands come first, so one pass is enough. */
static void inherit_flags(struct rdn_ir *ir) {
    const unsigned pass = RDN_NODE_LATE | RDN_NODE_CALLS | RDN_NODE_EACH;
    for (rdn_id id = 1; id < ir->nodes.n; id++) {
        struct rdn_node *n = &ir->nodes.v[id];
        rdn_id buf[3];
        uint32_t k;
        const rdn_id *args = rdn_node_args(ir, n, buf, &k);
        for (uint32_t i = 0; i < k; i++)
            n->flags |= ir->nodes.v[args[i]].flags & pass;
        if (n->op == RDN_OP_SCORE)
            n->flags |= RDN_NODE_LATE;
        else if (n->op == RDN_OP_CALL)
            n->flags |= RDN_NODE_CALLS;
        else if (n->op == RDN_OP_EACH)
            n->flags |= RDN_NODE_EACH;
    }
}

/* Two rounds over one list: count, then fill. `at` finds the slot of an event's list. */
struct lists { uint32_t *v, n; };
static void list_add(struct rdn_ir *ir, struct lists *l, uint32_t index, bool fill) {
    if (fill) {
        if (!l->v)
            l->v = rdn_new_n(ir->arena, uint32_t, l->n ? l->n : 1), l->n = 0;
        l->v[l->n] = index;
    }
    l->n++;
}

static void index_events(struct rdn_ir *ir, struct lists (*by)[4], bool fill) {
    for (uint32_t w = 0; w < ir->nwindows; w++) {
        const struct rdn_window *win = &ir->windows[w];
        list_add(ir, &by[win->event][win->accepted ? 1 : 0], w, fill);
        for (uint32_t r = 0; r < win->nresets; r++)
            list_add(ir, &by[win->resets[r].event][2], w, fill);
    }
    for (uint32_t r = 0; r < ir->nrules; r++)
        list_add(ir, &by[ir->rules[r].event][3], r, fill);
}

static unsigned action_flags(const struct rdn_ir *ir, const struct rdn_action *a) {
    const struct rdn_node *nodes = ir->nodes.v;
    unsigned f = nodes[a->points].flags;
    for (uint32_t i = 0; i < a->nmsg; i++)
        f |= nodes[a->msg[i].node].flags;
    for (uint32_t i = 0; i < a->nfields; i++)
        f |= nodes[a->fields[i].node].flags;
    return f;
}

/* A rule is late when anything of it reads score, be it only a message. */
static void rule_flags(const struct rdn_ir *ir, struct rdn_rule *r) {
    unsigned f = ir->nodes.v[r->when].flags;
    for (uint32_t i = 0; i < r->nacts; i++)
        f |= action_flags(ir, &r->acts[i]);
    if (r->undef)
        f |= action_flags(ir, r->undef);
    r->late |= (f & RDN_NODE_LATE) != 0;
    r->calls |= (f & RDN_NODE_CALLS) != 0;
}

static void list_checked(struct rdn_ir *ir, struct rdn_event *ev) {
    ev->checked = rdn_arena_alloc(ir->arena, sizeof *ev->checked * (ev->nfields + 1));
    ev->bytes = rdn_arena_alloc(ir->arena, sizeof *ev->bytes * (ev->nfields + 1));
    ev->sym_at = rdn_arena_alloc(ir->arena, sizeof *ev->sym_at * (ev->nfields + 1));
    ev->texts = rdn_arena_alloc(ir->arena, sizeof *ev->texts * (ev->nfields + 1));
    ev->nchecked = ev->nbytes = ev->nsym_at = ev->ntexts = 0;
    for (uint32_t i = 0; i < ev->nfields; i++) {
        unsigned k = ev->fields[i].type->kind;
        if (k == RDN_K_STR)
            ev->texts[ev->ntexts++] = (struct rdn_text_check){ev->fields[i].offset, ev->fields[i].type->n, ev->fields[i].optional ? 1ull << ev->fields[i].present_bit : 0};
        if (k == RDN_K_BOOL || k == RDN_K_ENUM)
            ev->bytes[ev->nbytes++] = (struct rdn_byte_check){ev->fields[i].offset, k == RDN_K_BOOL ? 2 : ev->fields[i].type->n};
        if (k == RDN_K_SYM)
            ev->sym_at[ev->nsym_at++] = ev->fields[i].offset;
        if (k == RDN_K_BOOL || k == RDN_K_ENUM || k == RDN_K_SYM || k == RDN_K_STR)
            ev->checked[ev->nchecked++] = i;
    }
}

/* The grown arrays leave the work arena. */
static void move_out(struct rdn_ir *ir) {
    rdn_settle(ir->arena, &ir->nodes);
    rdn_settle(ir->arena, &ir->ltypes);
    rdn_settle(ir->arena, &ir->args);
    rdn_settle(ir->arena, &ir->spans);
    rdn_settle(ir->arena, &ir->consts);
    ir->work = ir->arena;
    ir->interned = NULL;
}

void rdn_ir_seal(struct rdn_ir *ir) {
    inherit_flags(ir);
    if (ir->work != ir->arena)
        move_out(ir);
    struct lists (*by)[4] = rdn_arena_alloc(ir->arena, sizeof *by * (ir->nevents + 1));
    index_events(ir, by, false);
    index_events(ir, by, true);
    for (uint32_t e = 0; e < ir->nevents; e++) {
        struct rdn_event *ev = &ir->events[e];
        ev->observed = by[e][0].v, ev->nobserved = by[e][0].n;
        ev->accepted = by[e][1].v, ev->naccepted = by[e][1].n;
        ev->resets = by[e][2].v, ev->nresets = by[e][2].n;
        ev->rules = by[e][3].v, ev->nrules = by[e][3].n;
    }
    for (uint32_t e = 0; e < ir->nevents; e++)
        list_checked(ir, &ir->events[e]);
    for (uint32_t r = 0; r < ir->nrules; r++)
        rule_flags(ir, &ir->rules[r]);
}
