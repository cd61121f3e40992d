/* SPDX-License-Identifier: Apache-2.0
 * interp_layout.c: nodes to instructions, root by root, without recursion.
 *
 * rdn_layout_root   O(nodes of the root)
 *
 * A node's code leaves its value in the temporary its parent chose, or costs no code at all and is read where it stands (a leaf).
 * Operands follow each other in temporaries dst, dst + 1, ...; the left side of `and`/`or` lands in the result's own place, so
 * that a deciding left side can jump straight to the end of the whole chain. A jump that tests a boolean is folded into the
 * instruction that makes it, where that is the only way to reach it. */
#include "jit/interp_code.h"
#include <string.h>

#define EFFECT_READS 1u                                  /* the value depends on windows, through lets too */
#define EFFECT_LATER 2u                                  /* when it is evaluated can be told: the first use of such a let, or a call */

struct part {                                            /* a laid out operand */
    uint32_t ref;
    uint32_t exits; uint8_t exit_val;                    /* jumps to its end that carry this boolean: linked through .jmp */
    uint32_t fuse;                                       /* its last instruction, when that can take over a test; 0: none */
};
struct work {                                            /* a node in progress */
    rdn_id id;
    const rdn_id *args; rdn_id own_args[3];
    uint32_t nargs, k;                                   /* operands, next one */
    uint32_t dst, next;                                  /* temporaries: of the result, first free one */
    uint32_t start, parts;                               /* first instruction; first of its parts on the value stack */
    uint32_t ends, exits, other;                         /* jump lists: to the end; with a deciding boolean; to the else branch */
    bool stepwise;                                       /* `in [..]` whose elements must not all be evaluated */
};
struct rdn_layout {
    struct rdn_interp *in;
    uint8_t *effects;
    uint32_t *bytes;                                     /* scratch a node may take */
    struct work *work; uint32_t nwork, cap_work;
    struct part *parts; uint32_t nparts, cap_parts;
    uint32_t temps;                                      /* of the root in work */
    uint32_t *need, cap_need;                            /* temporaries by shared value, its own run alone */
    rdn_id root;
    uint32_t done;                                       /* shared values laid out */
};

static bool grow(const struct rdn_mem *mem, void *arr, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap)
        return true;
    uint32_t want = *cap ? *cap * 2 : 64;
    void **p = arr, *q = rdn_realloc(mem, *p, *cap * size, want * size);
    if (!q)
        return false;
    *p = q;
    *cap = want;
    return true;
}

static const struct rdn_node *node_of(const struct rdn_layout *l, rdn_id id) { return &l->in->ir->nodes.v[id]; }

/* An instruction more; 0 when memory is short. */
static uint32_t emit(struct rdn_layout *l, enum rdn_icode op, uint32_t dst, uint32_t a, uint32_t b, rdn_id node) {
    struct rdn_interp *in = l->in;
    if (!grow(in->mem, &in->code, in->ncode, &in->cap_code, sizeof *in->code))
        return 0;
    in->code[in->ncode] = (struct rdn_insn){ (uint8_t)op, 0, 0, dst, a, b, 0, node };
    if (dst + 1 > l->temps)
        l->temps = dst + 1;
    return in->ncode++;
}

static void chain(struct rdn_layout *l, uint32_t *list, uint32_t at) {
    l->in->code[at].jmp = *list;
    *list = at;
}

static void land(struct rdn_layout *l, uint32_t *list) {
    struct rdn_insn *code = l->in->code;
    for (uint32_t at = *list; at;) {
        uint32_t next = code[at].jmp;
        code[at].jmp = l->in->ncode;
        at = next;
    }
    *list = 0;
}

static void find_effects(struct rdn_layout *l) {
    const struct rdn_ir *ir = l->in->ir;
    for (rdn_id id = 1; id < ir->nodes.n; id++) {
        const struct rdn_node *n = &ir->nodes.v[id];
        rdn_id buf[3];
        uint32_t nargs;
        const rdn_id *args = rdn_node_args(ir, n, buf, &nargs);
        uint8_t e = n->op == RDN_OP_WREAD || n->op == RDN_OP_WPREV ? EFFECT_READS : 0;
        for (uint32_t i = 0; i < nargs; i++) {
            e |= l->effects[args[i]];
            if (ir->nodes.v[args[i]].flags & RDN_NODE_SHARED && l->effects[args[i]] & EFFECT_READS)
                e |= EFFECT_LATER;
            if ((n->op == RDN_OP_WREAD || n->op == RDN_OP_WPREV) && l->effects[args[i]] & EFFECT_READS)
                e |= EFFECT_LATER;                       /* the key itself is kept for the event */
        }
        if (n->op == RDN_OP_CALL)
            e |= EFFECT_LATER;
        l->effects[id] = e;
    }
}

/* ---- values evaluated once an event ---- */
/* Key expressions of windows are among them: rdn_layout_share. */
static bool is_shared(const struct rdn_layout *l, rdn_id id) {
    const struct rdn_node *n = node_of(l, id);
    return n->flags & RDN_NODE_SHARED || n->op == RDN_OP_CALL || l->in->shared_of[id];
}

static uint32_t shared_index(struct rdn_layout *l, rdn_id id)       /* UINT32_MAX: no memory */
{
    struct rdn_interp *in = l->in;
    if (in->shared_of[id])
        return in->shared_of[id] - 1;
    if (!grow(in->mem, &in->shared, in->nshared, &in->cap_shared, sizeof *in->shared))
        return UINT32_MAX;
    in->shared[in->nshared] = (struct rdn_shared){ id, (node_of(l, id)->flags & RDN_NODE_CALLS) || node_of(l, id)->op == RDN_OP_CALL };
    in->shared_of[id] = ++in->nshared;
    return in->nshared - 1;
}

/* The node a chain of uses ends at: a leaf, a shared node, or one with code. */
static rdn_id resolve(const struct rdn_layout *l, rdn_id id) {
    const struct rdn_node *n = node_of(l, id);
    while (n->op == RDN_OP_USE && !(n->flags & RDN_NODE_SHARED))
        n = node_of(l, id = n->a);
    return id;
}

/* ---- one node ---- */
bool rdn_interp_leaf(const struct rdn_node *n, uint32_t *ret) {
    switch (n->op) {
    case RDN_OP_CONST: *ret = REF(REF_CONST, n->aux); return true;
    case RDN_OP_PARAM: *ret = REF(REF_PARAM, n->aux); return true;
    case RDN_OP_FIELD: *ret = REF(REF_FIELD, CTX_FIELDS + n->aux); return true;
    case RDN_OP_NOW: *ret = REF(REF_FIELD, CTX_NOW); return true;
    case RDN_OP_TS: *ret = REF(REF_FIELD, CTX_TS); return true;
    case RDN_OP_SCORE: *ret = REF(REF_FIELD, CTX_SCORE); return true;
    case RDN_OP_EVROW: *ret = REF(REF_FIELD, CTX_ROW); return true;
    default: return false;
    }
}

static bool leaf_ref(const struct rdn_layout *l, rdn_id id, uint32_t *ret) { return rdn_interp_leaf(node_of(l, id), ret); }

static bool push_part(struct rdn_layout *l, struct part p) {
    if (!grow(l->in->mem, &l->parts, l->nparts, &l->cap_parts, sizeof *l->parts))
        return false;
    l->parts[l->nparts++] = p;
    return true;
}

static bool visit(struct rdn_layout *l, rdn_id id, uint32_t dst) {
    uint32_t ref;
    id = resolve(l, id);
    if (is_shared(l, id) && id != l->root) {
        uint32_t s = shared_index(l, id);
        return s != UINT32_MAX && emit(l, I_ENSURE, dst, s, 0, id) && push_part(l, (struct part){ .ref = REF(REF_SHARED, s) });
    }
    if (leaf_ref(l, id, &ref))
        return push_part(l, (struct part){ .ref = ref });
    if (!grow(l->in->mem, &l->work, l->nwork, &l->cap_work, sizeof *l->work))
        return false;
    struct work *w = &l->work[l->nwork++];
    *w = (struct work){ .id = id, .dst = dst, .next = dst, .start = l->in->ncode, .parts = l->nparts };
    const struct rdn_node *n = node_of(l, id);
    w->args = rdn_node_args(l->in->ir, n, w->own_args, &w->nargs);
    return true;
}

/* The arguments of an fn, of `in lo..hi` or of cross are evaluated before what stands for the call. They are shared or leaves: it
 * is enough to evaluate those whose time of evaluation matters. A call waits until it is wanted. */
static bool inline_args(struct rdn_layout *l, struct work *w) {
    for (uint32_t i = 0; i + 1 < w->nargs; i++) {
        rdn_id id = resolve(l, w->args[i]);
        const struct rdn_node *n = node_of(l, id);
        uint32_t ref, s;
        if (leaf_ref(l, id, &ref))
            continue;
        s = shared_index(l, id);
        if (s == UINT32_MAX)
            return false;
        if (l->effects[id] & (EFFECT_LATER | EFFECT_READS) && !(n->flags & RDN_NODE_CALLS) && !emit(l, I_ENSURE, w->dst, s, 0, id))
            return false;
    }
    w->args += w->nargs - 1;
    w->nargs = 1;
    return true;
}

/* Makes sure that the last part stands in temporary dst. */
static bool settle(struct rdn_layout *l, struct work *w, rdn_id from) {
    struct part *p = &l->parts[l->nparts - 1];
    if (p->ref != REF(REF_TEMP, w->dst) && !emit(l, I_MOVE, w->dst, p->ref, 0, from))
        return false;
    p->ref = REF(REF_TEMP, w->dst);
    return true;
}

static bool later_effect(const struct rdn_layout *l, const struct work *w, uint32_t from) {
    for (uint32_t i = from; i < w->nargs; i++) {
        rdn_id id = w->args[i];
        if (l->effects[id] & EFFECT_LATER || (is_shared(l, id) && l->effects[id] & EFFECT_READS))
            return true;
    }
    return false;
}

static bool gather(struct rdn_layout *l, const struct work *w, uint32_t *ret_first) {
    struct rdn_interp *in = l->in;
    *ret_first = in->nrefs;
    uint32_t n = l->nparts - w->parts;
    for (uint32_t i = 0; i < n; i++) {
        if (!grow(in->mem, &in->refs, in->nrefs, &in->cap_refs, sizeof *in->refs))
            return false;
        in->refs[in->nrefs++] = l->parts[w->parts + i].ref;
    }
    if (n > in->max_args)
        in->max_args = n;
    return true;
}

static bool before_bool(struct rdn_layout *l, struct work *w, uint8_t stop) {
    struct part *p = &l->parts[l->nparts - 1];
    if (p->exits && p->exit_val == stop)
        w->exits = p->exits;
    else
        land(l, &p->exits);
    p->exits = 0;
    uint32_t ref;
    rdn_id right = resolve(l, w->args[1]);
    if (!is_shared(l, right) && leaf_ref(l, right, &ref))
        return true;                                     /* nothing to skip */
    uint32_t at = p->fuse;
    if (!at) {
        at = emit(l, I_JBOOL, w->dst, p->ref, 0, resolve(l, w->args[0]));
        if (!at)
            return false;
    }
    l->in->code[at].jval = stop;
    chain(l, &w->exits, at);
    return true;
}

static bool jump(struct rdn_layout *l, enum rdn_icode op, struct work *w, uint32_t a, rdn_id node, uint32_t *list) {
    uint32_t at = emit(l, op, w->dst, a, 0, node);
    if (at)
        chain(l, list, at);
    return at != 0;
}

/* `in [..]` where a later element must not be evaluated once the answer is known. */
static bool before_element(struct rdn_layout *l, struct work *w) {
    if (w->k == 1)
        return jump(l, I_JUNDEF, w, l->parts[l->nparts - 1].ref, resolve(l, w->args[0]), &w->ends);
    if (!later_effect(l, w, w->k))
        return true;
    uint32_t first;
    if (!gather(l, w, &first))
        return false;
    uint32_t at = emit(l, I_INSTEP, w->dst, first, w->k, w->id);
    if (at)
        chain(l, &w->ends, at);
    return at != 0;
}

/* Operands 0 .. k-1 are laid out; what comes between them and the next. */
static bool before_operand(struct rdn_layout *l, struct work *w) {
    const struct part *last = &l->parts[l->nparts - 1];
    switch (node_of(l, w->id)->op) {
    case RDN_OP_AND: return before_bool(l, w, 0);
    case RDN_OP_OR: return before_bool(l, w, 1);
    case RDN_OP_SEL:
        if (w->k == 1) {
            uint32_t at = emit(l, I_JSEL, w->dst, last->ref, 0, resolve(l, w->args[0]));
            if (!at)
                return false;
            w->other = at;                               /* .jmp: else; .b: end, both known later */
            w->next = w->dst;
            return true;
        }
        if (!settle(l, w, resolve(l, w->args[1])) || !jump(l, I_JMP, w, 0, w->id, &w->ends))
            return false;
        l->in->code[w->other].jmp = l->in->ncode;
        w->next = w->dst;
        return true;
    case RDN_OP_COALESCE:
        w->next = w->dst;
        return settle(l, w, resolve(l, w->args[0])) && jump(l, I_JCOAL, w, last->ref, w->args[0], &w->ends);
    case RDN_OP_INSET:
        return !w->stepwise || before_element(l, w);
    default:
        return !later_effect(l, w, w->k) || jump(l, I_JUNDEF, w, last->ref, resolve(l, w->args[w->k - 1]), &w->ends);
    }
}

/* ---- which instruction ---- */
static bool is_dec(unsigned type) { return type == RDN_TY_D64 || type == RDN_TY_W128; }

static enum rdn_icode compare_code(const struct rdn_node *n, const struct rdn_node *a, const struct rdn_node *b) {
    unsigned k = n->op - RDN_OP_EQ;
    if (a->type == b->type && (a->type == RDN_TY_I64 || a->type == RDN_TY_B1))
        return I_EQ_I + k;
    if (a->type == RDN_TY_F64 && b->type == RDN_TY_F64)
        return I_EQ_F + k;
    if (is_dec(a->type) && is_dec(b->type) && a->scale == b->scale)
        return I_EQ_D + k;
    return I_APPLY;
}

static enum rdn_icode arith_code(const struct rdn_node *n, const struct rdn_node *a, const struct rdn_node *b) {
    unsigned k = n->op - RDN_OP_ADD;
    if (n->type == RDN_TY_I64 && n->op != RDN_OP_DIV)
        return I_ADD_I + k;
    if (n->type == RDN_TY_F64 && a->type == RDN_TY_F64 && b->type == RDN_TY_F64)
        return I_ADD_F + k;
    if (n->op != RDN_OP_DIV && is_dec(a->type) && is_dec(b->type) && (n->op == RDN_OP_MUL || a->scale == b->scale))
        return I_ADD_D + k;
    return I_APPLY;
}

static enum rdn_icode code_of(const struct rdn_layout *l, const struct work *w) {
    const struct rdn_node *n = node_of(l, w->id);
    switch (n->op) {
    case RDN_OP_AND: return I_AND;
    case RDN_OP_OR: return I_OR;
    case RDN_OP_NOT: return I_NOT;
    case RDN_OP_DEFINED: return I_DEFINED;
    case RDN_OP_EQ: case RDN_OP_NE: case RDN_OP_LT: case RDN_OP_LE: case RDN_OP_GT: case RDN_OP_GE:
        return compare_code(n, node_of(l, w->args[0]), node_of(l, w->args[1]));
    case RDN_OP_ADD: case RDN_OP_SUB: case RDN_OP_MUL: case RDN_OP_DIV:
        return arith_code(n, node_of(l, w->args[0]), node_of(l, w->args[1]));
    case RDN_OP_WREAD: case RDN_OP_WPREV: {
        const struct rdn_window *win = &l->in->ir->windows[n->aux];
        return w->nargs && w->nargs == win->nkeys && !memcmp(w->args, win->keys, w->nargs * sizeof *w->args) ? I_WOWN : I_WREAD;
    }
    case RDN_OP_TREAD: return I_TREAD;
    case RDN_OP_CALL: return I_CALL;
    case RDN_OP_INLIST: return I_INLIST;
    case RDN_OP_INCAL: return I_INCAL;
    default: return I_APPLY;
    }
}

static bool has_refs(enum rdn_icode op) { return op >= I_APPLY && op != I_INLIST && op != I_INCAL; }

/* Chooses the instruction and leaves the node's part on the value stack. */
static bool finish(struct rdn_layout *l, struct work *w) {
    const struct rdn_node *n = node_of(l, w->id);
    struct part *p = &l->parts[w->parts], done = { .ref = REF(REF_TEMP, w->dst) };
    if (n->op == RDN_OP_INLINE) {
        done = p[0];
    } else if (n->op == RDN_OP_SEL || n->op == RDN_OP_COALESCE) {
        if (!settle(l, w, resolve(l, w->args[w->nargs - 1])))
            return false;
        if (n->op == RDN_OP_SEL)
            l->in->code[w->other].b = l->in->ncode;
    } else {
        enum rdn_icode op = code_of(l, w);
        uint32_t a = w->nargs > 0 ? p[0].ref : 0, b = w->nargs > 1 ? p[1].ref : 0;
        if (has_refs(op)) {
            b = l->nparts - w->parts;
            if (!gather(l, w, &a))
                return false;
        }
        uint32_t at = emit(l, op, w->dst, a, b, w->id);
        if (!at)
            return false;
        if (n->type == RDN_TY_B1)
            done.fuse = at;
        done.exits = w->exits;
        done.exit_val = n->op == RDN_OP_OR;
    }
    land(l, &w->ends);
    l->in->ranges[w->id] = (struct rdn_run_of){ w->start, l->in->ncode, done.ref };
    l->nparts = w->parts;
    l->nwork--;
    return push_part(l, done);
}

/* One step of the node on top. */
static bool advance(struct rdn_layout *l) {
    struct work *w = &l->work[l->nwork - 1];
    const struct rdn_node *n = node_of(l, w->id);
    if (rdn_op_arity(n->op) != RDN_NARY)
        w->args = w->own_args;                           /* the block may have moved */
    if (!w->k && n->op == RDN_OP_INLINE && !inline_args(l, w))
        return false;
    if (!w->k && n->op == RDN_OP_INSET)
        w->stepwise = later_effect(l, w, 1);
    if (w->k) {
        struct part *p = &l->parts[l->nparts - 1];
        bool keeps_exits = (n->op == RDN_OP_AND || n->op == RDN_OP_OR) && w->k == 1;
        if (!keeps_exits && n->op != RDN_OP_INLINE)
            land(l, &p->exits);
        if (p->ref >> REF_SHIFT == REF_TEMP && (p->ref & REF_MASK) >= w->next)
            w->next = (p->ref & REF_MASK) + 1;
        if (w->k < w->nargs && !before_operand(l, w))
            return false;
    } else if (w->stepwise) {
        w->next = w->dst + 1;                            /* the steps answer in dst while the operands live on */
    }
    if (w->k == w->nargs)
        return finish(l, w);
    /* visit may move l->work */
    rdn_id arg = w->args[w->k++];
    return visit(l, arg, w->next);
}

/* The code of one root; its own temporaries in l->temps. */
static bool lay_out(struct rdn_layout *l, rdn_id id) {
    l->temps = 0;
    l->nwork = l->nparts = 0;
    l->root = id;
    uint32_t start = l->in->ncode;
    if (!visit(l, id, 0))
        return false;
    while (l->nwork)
        if (!advance(l))
            return false;
    struct part *p = &l->parts[0];
    land(l, &p->exits);
    l->in->ranges[id] = (struct rdn_run_of){ start, l->in->ncode, p->ref };
    return true;
}

/* ---- interface ---- */
int rdn_layout_open(struct rdn_interp *in, struct rdn_layout **ret) {
    struct rdn_layout *l = rdn_zalloc(in->mem, sizeof *l);
    if (!l)
        return REDAN_E_NOMEM;
    l->in = in;
    l->effects = rdn_zalloc(in->mem, in->ir->nodes.n);
    l->bytes = rdn_room(in->ir, in->mem);
    if (!l->effects || !l->bytes || !grow(in->mem, &in->code, 0, &in->cap_code, sizeof *in->code)) {
        rdn_layout_close(l);
        return REDAN_E_NOMEM;
    }
    in->code[0] = (struct rdn_insn){ .op = I_END };
    in->ncode = 1;
    find_effects(l);
    *ret = l;
    return 0;
}

void rdn_layout_close(struct rdn_layout *l) {
    if (!l)
        return;
    const struct rdn_mem *mem = l->in->mem;
    rdn_free(mem, l->effects, l->in->ir->nodes.n);
    rdn_free(mem, l->bytes, l->in->ir->nodes.n * sizeof *l->bytes);
    rdn_free(mem, l->work, l->cap_work * sizeof *l->work);
    rdn_free(mem, l->parts, l->cap_parts * sizeof *l->parts);
    rdn_free(mem, l->need, l->cap_need * sizeof *l->need);
    rdn_free(mem, l, sizeof *l);
}

static size_t scratch_of(const struct rdn_layout *l, const struct rdn_run_of *r) {
    size_t sum = 0;
    for (uint32_t i = r->start; i < r->end; i++)
        if (l->in->code[i].op == I_APPLY)
            sum += l->bytes[l->in->code[i].node];
    return sum;
}

static bool is_buffered(const struct rdn_node *n) { return n->type == RDN_TY_STR || n->type == RDN_TY_VEC || n->type == RDN_TY_IVEC; }

int rdn_layout_root(struct rdn_layout *l, rdn_id root, bool keep) {
    uint32_t ref;
    struct rdn_interp *in = l->in;
    root = resolve(l, root);
    const struct rdn_node *n = node_of(l, root);
    if (is_shared(l, root) || (keep && is_buffered(n) && !leaf_ref(l, root, &ref)))
        return shared_index(l, root) == UINT32_MAX ? REDAN_E_NOMEM : 0;
    if (leaf_ref(l, root, &ref) || in->ranges[root].end)
        return 0;
    if (!lay_out(l, root))
        return REDAN_E_NOMEM;
    if (l->temps > in->temps)
        in->temps = l->temps;
    size_t bytes = scratch_of(l, &in->ranges[root]);
    if (bytes > in->tmp_bytes)
        in->tmp_bytes = bytes;
    return 0;
}

int rdn_layout_share(struct rdn_layout *l, rdn_id root) {
    uint32_t ref;
    root = resolve(l, root);
    return leaf_ref(l, root, &ref) || shared_index(l, root) != UINT32_MAX ? 0 : REDAN_E_NOMEM;
}

/* Stack, temporaries and scratch: a shared value only enters ones with smaller node ids. */
static void add_up(struct rdn_layout *l, uint32_t *depth) {
    struct rdn_interp *in = l->in;
    for (rdn_id id = 1; id < in->ir->nodes.n; id++) {
        if (!in->shared_of[id])
            continue;
        uint32_t s = in->shared_of[id] - 1;
        const struct rdn_run_of *r = &in->ranges[id];
        for (uint32_t i = r->start; i < r->end; i++) {
            const struct rdn_insn *e = &in->code[i];
            if (e->op != I_ENSURE)
                continue;
            if (e->dst + l->need[e->a] > l->need[s])
                l->need[s] = e->dst + l->need[e->a];
            if (depth[e->a] + 1 > depth[s])
                depth[s] = depth[e->a] + 1;
        }
    }
    for (uint32_t i = 1; i < in->ncode; i++) {
        const struct rdn_insn *e = &in->code[i];
        if (e->op == I_ENSURE && e->dst + l->need[e->a] > in->temps)
            in->temps = e->dst + l->need[e->a];
    }
    for (uint32_t s = 0; s < in->nshared; s++) {
        if (depth[s] + 1 > in->depth)
            in->depth = depth[s] + 1;
        if (l->need[s] > in->temps)
            in->temps = l->need[s];
    }
}

int rdn_layout_end(struct rdn_layout *l) {
    struct rdn_interp *in = l->in;
    size_t calls = 0;
    for (; l->done < in->nshared; l->done++) {
        uint32_t s = l->done;
        if (!grow(in->mem, &l->need, s, &l->cap_need, sizeof *l->need) || !lay_out(l, in->shared[s].node))
            return REDAN_E_NOMEM;
        l->need[s] = l->temps;
        size_t bytes = scratch_of(l, &in->ranges[in->shared[s].node]);
        in->keep_bytes += bytes;
        calls += in->shared[s].calls ? bytes : 0;        /* a pre-pass evaluates these in the short-lived scratch */
    }
    in->tmp_bytes += calls;
    uint32_t *depth = rdn_zalloc(in->mem, (in->nshared + 1) * sizeof *depth);
    if (!depth)
        return REDAN_E_NOMEM;
    add_up(l, depth);
    rdn_free(in->mem, depth, (in->nshared + 1) * sizeof *depth);
    return 0;
}
