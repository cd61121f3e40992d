/* SPDX-License-Identifier: Apache-2.0
 * interp.c: the reference interpreter: every executor must agree with it.
 *
 * a new event         [hot]  O(1): memos carry a stamp of the event
 * rdn_interp_eval     [hot]  O(code of the node), no recursion, no allocation
 *
 * Cells are copied only where a value is made or kept; operands are read where they stand. A field is decoded at its first use in
 * an event. Where a missing field becomes undefined depends on the use, so its position is filled in when it is taken. */
#include "jit/interp_code.h"
#include <assert.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct run {                                             /* what the loop and its helpers share */
    struct rdn_interp_state *st;
    const struct rdn_interp *in;
    const struct rdn_ir *ir;
    struct rdn_cell *temps;
    const struct rdn_cell *base[REF_TAGS];
    struct rdn_scratch *scratch;
    uint32_t pc, end, depth;
};

static void decode_field(const struct run *r, const struct rdn_cell *cell) {
    struct rdn_interp_state *st = r->st;
    const struct rdn_frame_head *h = &st->frame->head;
    uint32_t at = (uint32_t)(cell - st->fields);
    struct rdn_cell *c = &st->fields[at];
    c->cause = RDN_DEFINED;
    c->gen = st->gen;
    if (at < CTX_FIELDS) {
        c->i = at == CTX_NOW ? h->now : at == CTX_TS ? h->ts : at == CTX_SCORE ? h->score : 0;
        return;
    }
    const struct rdn_event *ev = &r->ir->events[h->event];
    rdn_row_field(ev, &ev->fields[at - CTX_FIELDS], h->row, c);
}

static inline const struct rdn_cell *fetch(const struct run *r, uint32_t ref) {
    const struct rdn_cell *c = r->base[ref >> REF_SHIFT] + (ref & REF_MASK);
    if (ref >= REF(REF_FIELD, 0) && unlikely(c->gen != r->st->gen))
        decode_field(r, c);
    return c;
}

/* Copies what `ref` holds; `id` is the node it stands for. */
static void take(const struct run *r, uint32_t ref, rdn_id id, struct rdn_cell *ret) {
    const struct rdn_cell *c = fetch(r, ref);
    if (ret != c)
        *ret = *c;
    if (unlikely(c->cause) && ref >= REF(REF_FIELD, 0))
        ret->span = r->ir->nodes.v[rdn_ir_leaf(r->ir, id)].span;
}

static __attribute__((noinline)) void take_operand(const struct run *r, const struct rdn_insn *in, uint32_t k, uint32_t ref,
                                                   struct rdn_cell *ret) {
    const struct rdn_node *n = &r->ir->nodes.v[in->node];
    rdn_id buf[3];
    uint32_t nargs;
    const rdn_id *args = rdn_node_args(r->ir, n, buf, &nargs);
    take(r, ref, args[k], ret);
}

static void set_cause(struct rdn_cell *c, const struct rdn_node *n, unsigned cause) {
    c->cause = (uint8_t)cause;
    c->span = n->span;
}

/* The leftmost undefined operand of a binary instruction is its value. */
static __attribute__((noinline)) void undefined2(const struct run *r, const struct rdn_insn *in, struct rdn_cell *d) {
    if (fetch(r, in->a)->cause)
        take_operand(r, in, 0, in->a, d);
    else
        take_operand(r, in, 1, in->b, d);
}

static __attribute__((noinline)) void fail(const struct run *r, const struct rdn_insn *in, struct rdn_cell *d, unsigned cause) {
    set_cause(d, &r->ir->nodes.v[in->node], cause);
}

/* ---- logic ---- */
/* `and` (stop 0), `or` (stop 1): 6.2. In a pre-pass a side that waits for a call leaves the other side's undefined open. */
static void kleene(const struct run *r, const struct rdn_insn *in, int64_t stop, struct rdn_cell *d) {
    const struct rdn_cell *a = fetch(r, in->a), *b = fetch(r, in->b);
    if (likely(!(a->cause | b->cause))) {
        d->i = stop ? a->i | b->i : a->i & b->i;
        d->cause = RDN_DEFINED;
    } else if ((!a->cause && a->i == stop) || (!b->cause && b->i == stop)) {
        d->i = stop;
        d->cause = RDN_DEFINED;
    } else if (a->cause == CAUSE_PENDING || b->cause == CAUSE_PENDING) {
        d->cause = CAUSE_PENDING;
    } else if (a->cause) {
        take_operand(r, in, 0, in->a, d);
    } else {
        take_operand(r, in, 1, in->b, d);
    }
}

static bool is_nan(const struct run *r, rdn_id id, const struct rdn_cell *c) {
    return r->ir->nodes.v[id].type == RDN_TY_F64 && c->f != c->f;
}

/* ---- instructions with lists of operands ---- */
static void gather(const struct run *r, const struct rdn_insn *in, uint32_t n) {
    const uint32_t *refs = r->in->refs + in->a;
    for (uint32_t i = 0; i < n; i++)
        r->st->argp[i] = fetch(r, refs[i]);
}

/* The first operand that is undefined, as the value. */
static bool first_undefined(const struct run *r, const struct rdn_insn *in, struct rdn_cell *d) {
    for (uint32_t i = 0; i < in->b; i++)
        if (unlikely(r->st->argp[i]->cause)) {
            take_operand(r, in, i, r->in->refs[in->a + i], d);
            return true;
        }
    return false;
}

static __attribute__((noinline)) void apply(const struct run *r, const struct rdn_insn *in, uint32_t nargs, struct rdn_cell *d) {
    const struct rdn_cell **argp = r->st->argp;
    struct rdn_cell ret = { .cause = RDN_DEFINED };
    gather(r, in, nargs);
    bool waits = false, undefined = false;
    for (uint32_t i = 0; i < nargs; i++) {
        waits |= argp[i]->cause == CAUSE_PENDING;
        undefined |= argp[i]->cause != RDN_DEFINED;
    }
    rdn_op_apply(r->ir, in->node, argp, nargs, r->scratch, &ret);
    if (undefined && ret.cause) {                        /* an operand's own: find it for the position */
        for (uint32_t i = 0; i < nargs; i++)
            if (argp[i]->cause && argp[i]->cause == ret.cause && r->in->refs[in->a + i] >= REF(REF_FIELD, 0)) {
                take_operand(r, in, i, r->in->refs[in->a + i], &ret);
                break;
            } else if (argp[i]->cause) {
                break;
            }
        if (waits && r->ir->nodes.v[in->node].op == RDN_OP_INSET)
            ret.cause = CAUSE_PENDING;
    }
    *d = ret;
}

static void read_window(const struct run *r, const struct rdn_node *n, const struct rdn_key *key, struct rdn_cell *d) {
    const struct rdn_frame *f = r->st->frame;
    d->cause = RDN_DEFINED;
    f->helpers.wread(f->lane, n->aux, key, n->op == RDN_OP_WPREV, d);
    if (unlikely(d->cause))
        d->span = n->span;
}

/* From the operands in argp; the types come from a window or from a table. */
static void make_key(const struct rdn_interp_state *st, struct rdn_key *key, const struct rdn_type *const *kt,
                     const struct rdn_column *cols, uint32_t n) {
    rdn_key_begin(key);
    for (uint32_t i = 0; i < n; i++)
        rdn_key_add(key, cols ? cols[i].type : kt[i], st->argp[i]);
    rdn_key_end(key);
}

static __attribute__((noinline)) void window_at(const struct run *r, const struct rdn_insn *in, struct rdn_cell *d) {
    const struct rdn_node *n = &r->ir->nodes.v[in->node];
    gather(r, in, in->b);
    if (first_undefined(r, in, d))
        return;
    make_key(r->st, r->st->key, r->ir->windows[n->aux].ktypes, NULL, in->b);
    read_window(r, n, r->st->key, d);
}

/* The reader stands on the window's own event: its key is made once an event. */
static __attribute__((noinline)) void window_own(const struct run *r, const struct rdn_insn *in, struct rdn_cell *d) {
    const struct rdn_node *n = &r->ir->nodes.v[in->node];
    struct rdn_interp_state *st = r->st;
    struct rdn_key_memo *memo = &st->key_memo[n->aux];
    struct rdn_key *key = rdn_own_key_slot(st, n->aux);
    if (memo->gen != st->gen) {
        gather(r, in, in->b);
        if (first_undefined(r, in, d))
            return;
        make_key(st, key, r->ir->windows[n->aux].ktypes, NULL, in->b);
        memo->gen = st->gen;
    }
    read_window(r, n, key, d);
}

static __attribute__((noinline)) void table_cell(const struct run *r, const struct rdn_insn *in, struct rdn_cell *d) {
    const struct rdn_node *n = &r->ir->nodes.v[in->node];
    const struct rdn_frame *f = r->st->frame;
    gather(r, in, in->b);
    if (first_undefined(r, in, d))
        return;
    make_key(r->st, r->st->key, NULL, r->ir->tables[n->aux].keys, in->b);
    const struct rdn_cell *row = f->helpers.tread(f->lane, n->aux, r->st->key);
    if (row)
        *d = row[n->c];
    else
        set_cause(d, n, RDN_CAUSE_MISSING);
}

static __attribute__((noinline)) void call(const struct run *r, const struct rdn_insn *in, struct rdn_cell *d) {
    const struct rdn_node *n = &r->ir->nodes.v[in->node];
    struct rdn_interp_state *st = r->st;
    gather(r, in, in->b);
    if (first_undefined(r, in, d))
        return;
    if (st->pending) {
        d->cause = CAUSE_PENDING;
        return;
    }
    for (uint32_t i = 0; i < in->b; i++)
        st->args[i] = *st->argp[i];
    d->cause = RDN_DEFINED;
    st->frame->helpers.call(st->frame->lane, n->aux, st->args, in->b, st->frame->head.row, d);
    if (d->cause)
        d->span = n->span;
}

static __attribute__((noinline)) void in_data(const struct run *r, const struct rdn_insn *in, struct rdn_cell *d) {
    const struct rdn_node *n = &r->ir->nodes.v[in->node];
    const struct rdn_frame *f = r->st->frame;
    const struct rdn_cell *a = fetch(r, in->a);
    if (a->cause) {
        take_operand(r, in, 0, in->a, d);
    } else if (is_nan(r, n->a, a)) {
        set_cause(d, n, RDN_CAUSE_NAN);
    } else {
        d->i = in->op == I_INLIST ? f->helpers.inlist(f->lane, n->aux, a) : f->helpers.incal(f->lane, n->aux, a->i);
        d->cause = RDN_DEFINED;
    }
}

/* ---- values evaluated once an event ---- */
static bool is_done(const struct run *r, uint32_t s) {
    const struct rdn_interp_state *st = r->st;
    return st->shared[s].gen == st->gen || (st->pending && st->shared[s].gen == st->pending);
}

static void enter(struct run *r, uint32_t s, uint32_t temps) {
    struct rdn_interp_state *st = r->st;
    const struct rdn_run_of *range = &r->in->ranges[r->in->shared[s].node];
    st->stack[r->depth++] = (struct rdn_pushed){ r->pc, r->end, s, r->temps, r->scratch };
    r->temps += temps;
    r->base[REF_TEMP] = r->temps;
    r->pc = range->start;
    r->end = range->end;
    r->scratch = st->pending && r->in->shared[s].calls ? &st->tmp : &st->keep;
}

static void leave(struct run *r) {
    struct rdn_interp_state *st = r->st;
    const struct rdn_pushed *p = &st->stack[--r->depth];
    rdn_id id = r->in->shared[p->shared].node;
    struct rdn_cell *c = &st->shared[p->shared];
    take(r, r->in->ranges[id].ref, id, c);
    c->gen = st->pending && r->in->shared[p->shared].calls ? st->pending : st->gen;
    r->pc = p->pc;
    r->end = p->end;
    r->temps = p->temps;
    r->base[REF_TEMP] = r->temps;
    r->scratch = p->scratch;
}

/* ---- the loop ---- */
/* Opens the case of a binary instruction: both operands are defined. */
#define BINARY(NAME)                                                                                                   \
    case NAME: {                                                                                                       \
        const struct rdn_cell *a = fetch(&r, in->a), *b = fetch(&r, in->b);                                            \
        if (unlikely(a->cause | b->cause)) {                                                                           \
            undefined2(&r, in, d);                                                                                     \
            break;                                                                                                     \
        }
#define COMPARE(NAME, get, op)                                                                                         \
    BINARY(NAME)                                                                                                       \
        d->i = a->get op b->get;                                                                                       \
        d->cause = RDN_DEFINED;                                                                                        \
        goto test;                                                                                                     \
    }
#define COMPARE_F(NAME, op)                                                                                            \
    BINARY(NAME)                                                                                                       \
        if (unlikely(__builtin_isunordered(a->f, b->f))) {                                                             \
            fail(&r, in, d, RDN_CAUSE_NAN);                                                                            \
            break;                                                                                                     \
        }                                                                                                              \
        d->i = a->f op b->f;                                                                                           \
        d->cause = RDN_DEFINED;                                                                                        \
        goto test;                                                                                                     \
    }
/* Operands in copies: gcc 12 reads operands that are const lvalues again after the result is stored, and d may be a. */
#define CHECKED(NAME, T, get, builtin)                                                                                 \
    BINARY(NAME)                                                                                                       \
        T x = a->get, y = b->get;                                                                                      \
        d->cause = RDN_DEFINED;                                                                                        \
        if (unlikely(builtin(x, y, &d->get)))                                                                          \
            fail(&r, in, d, RDN_CAUSE_OVERFLOW);                                                                       \
        break;                                                                                                         \
    }
#define FLOAT(NAME, op)                                                                                                \
    BINARY(NAME)                                                                                                       \
        d->f = a->f op b->f;                                                                                           \
        d->cause = RDN_DEFINED;                                                                                        \
        break;                                                                                                         \
    }

/* Runs the code of a node; a shared one that is not done yet is entered first. */
static void run_code(struct rdn_interp_state *st, const struct rdn_run_of *range, rdn_id id, struct rdn_cell *ret) {
    struct run r = { st, st->code, st->code->ir, st->temps, { st->temps, st->code->consts, st->frame->head.params, st->shared, st->fields },
                     &st->tmp, range->start, range->end, 0 };
    const struct rdn_insn *code = r.in->code;
    if (range->ref >> REF_SHIFT == REF_SHARED && range->start == range->end && !is_done(&r, range->ref & REF_MASK))
        enter(&r, range->ref & REF_MASK, 0);
    for (;;) {
        while (unlikely(r.pc >= r.end)) {
            if (!r.depth) {
                take(&r, range->ref, id, ret);
                return;
            }
            leave(&r);
        }
        const struct rdn_insn *in = &code[r.pc++];
        struct rdn_cell *d = &r.temps[in->dst];
        switch ((enum rdn_icode)in->op) {
        case I_END:
            break;
        case I_MOVE:
            take(&r, in->a, in->node, d);
            break;
        case I_ENSURE:
            if (!is_done(&r, in->a))
                enter(&r, in->a, in->dst);
            break;
        case I_JMP:
            r.pc = in->jmp;
            break;
        case I_JBOOL: {
            const struct rdn_cell *a = fetch(&r, in->a);
            if (!a->cause && (uint64_t)a->i == in->jval) {
                d->i = a->i;
                d->cause = RDN_DEFINED;
                r.pc = in->jmp;
            }
            break;
        }
        case I_JSEL: {
            const struct rdn_cell *a = fetch(&r, in->a);
            if (unlikely(a->cause)) {
                take(&r, in->a, in->node, d);
                r.pc = in->b;
            } else if (!a->i) {
                r.pc = in->jmp;
            }
            break;
        }
        case I_JCOAL: {
            const struct rdn_cell *a = fetch(&r, in->a);
            if (a->cause == CAUSE_PENDING || (!a->cause && !is_nan(&r, in->node, a)))
                r.pc = in->jmp;
            break;
        }
        case I_JUNDEF:
            if (unlikely(fetch(&r, in->a)->cause)) {
                take(&r, in->a, in->node, d);
                r.pc = in->jmp;
            }
            break;
        case I_INSTEP:
            apply(&r, in, in->b, d);
            if (!d->cause && d->i)
                r.pc = in->jmp;
            break;
        case I_AND:
            kleene(&r, in, 0, d);
            goto test;
        case I_OR:
            kleene(&r, in, 1, d);
            goto test;
        case I_NOT: {
            const struct rdn_cell *a = fetch(&r, in->a);
            if (unlikely(a->cause)) {
                take_operand(&r, in, 0, in->a, d);
                break;
            }
            d->i = !a->i;
            d->cause = RDN_DEFINED;
            goto test;
        }
        case I_DEFINED: {
            const struct rdn_cell *a = fetch(&r, in->a);
            d->i = !a->cause && !is_nan(&r, r.ir->nodes.v[in->node].a, a);
            d->cause = a->cause == CAUSE_PENDING ? CAUSE_PENDING : RDN_DEFINED;      /* last: d may be a */
            goto test;
        }
        COMPARE(I_EQ_I, i, ==) COMPARE(I_NE_I, i, !=) COMPARE(I_LT_I, i, <)
        COMPARE(I_LE_I, i, <=) COMPARE(I_GT_I, i, >)  COMPARE(I_GE_I, i, >=)
        COMPARE_F(I_EQ_F, ==)  COMPARE_F(I_NE_F, !=)  COMPARE_F(I_LT_F, <)
        COMPARE_F(I_LE_F, <=)  COMPARE_F(I_GT_F, >)   COMPARE_F(I_GE_F, >=)
        COMPARE(I_EQ_D, d, ==) COMPARE(I_NE_D, d, !=) COMPARE(I_LT_D, d, <)
        COMPARE(I_LE_D, d, <=) COMPARE(I_GT_D, d, >)  COMPARE(I_GE_D, d, >=)
        CHECKED(I_ADD_I, int64_t, i, __builtin_add_overflow)
        CHECKED(I_SUB_I, int64_t, i, __builtin_sub_overflow)
        CHECKED(I_MUL_I, int64_t, i, __builtin_mul_overflow)
        CHECKED(I_ADD_D, rdn_i128, d, __builtin_add_overflow)
        CHECKED(I_SUB_D, rdn_i128, d, __builtin_sub_overflow)
        CHECKED(I_MUL_D, rdn_i128, d, __builtin_mul_overflow)
        FLOAT(I_ADD_F, +) FLOAT(I_SUB_F, -) FLOAT(I_MUL_F, *) FLOAT(I_DIV_F, /)
        case I_APPLY:
            apply(&r, in, in->b, d);
            goto test;
        case I_WREAD:
            window_at(&r, in, d);
            goto test;
        case I_WOWN:
            window_own(&r, in, d);
            goto test;
        case I_TREAD:
            table_cell(&r, in, d);
            goto test;
        case I_INLIST:
        case I_INCAL:
            in_data(&r, in, d);
            goto test;
        case I_CALL:
            call(&r, in, d);
            break;
        }
        continue;
    test:
        if (in->jmp && (uint64_t)d->i == in->jval && !d->cause)
            r.pc = in->jmp;
    }
}

void rdn_interp_eval(struct rdn_interp_state *st, rdn_id id, struct rdn_cell *ret) {
    const struct rdn_interp *in = st->code;
    const struct rdn_node *n = &in->ir->nodes.v[id];
    rdn_interp_need_begin(st);
    st->tmp.used = 0;
    st->fields[CTX_SCORE].i = st->frame->head.score;
    while (n->op == RDN_OP_USE && !in->shared_of[id])
        n = &in->ir->nodes.v[id = n->a];
    uint32_t ref;
    if (in->shared_of[id]) {
        run_code(st, &(struct rdn_run_of){ 0, 0, REF(REF_SHARED, in->shared_of[id] - 1) }, id, ret);
    } else if (rdn_interp_leaf(n, &ref)) {
        run_code(st, &(struct rdn_run_of){ 0, 0, ref }, id, ret);
    } else {
        assert(in->ranges[id].end);                      /* not below any root: a kernel's body */
        run_code(st, &in->ranges[id], id, ret);
    }
}
