/* SPDX-License-Identifier: Apache-2.0
 * verify_node.c: one node: are its operands, its types and what it names of the right kind? Executors rely on every line of
 * this and test nothing again. */
#include "ir/verify.h"
#include <string.h>

/* Machine types as letters, so that a signature is a short text: b i f d s v w r; D: d or i; x: one of the numeric ones. */
static char letter(unsigned type) {
    switch ((enum rdn_cell_type)type) {
    case RDN_TY_B1: return 'b';
    case RDN_TY_I64: return 'i';
    case RDN_TY_F64: return 'f';
    case RDN_TY_D64: case RDN_TY_W128: return 'd';
    case RDN_TY_STR: return 's';
    case RDN_TY_VEC: return 'v';
    case RDN_TY_IVEC: return 'w';
    case RDN_TY_ROW: return 'r';
    case RDN_TY_COUNT: break;
    }
    return '?';
}

struct view { const struct rdn_verify *v; const struct rdn_node *n; rdn_id id; const rdn_id *args; uint32_t k; };

static const struct rdn_node *arg(const struct view *w, uint32_t i) { return &w->v->ir->nodes.v[w->args[i]]; }
static const struct rdn_type *arg_type(const struct view *w, uint32_t i) { return rdn_ir_ltype(w->v->ir, w->args[i]); }

/* "fff f": operands, a blank, the result. */
static bool sig(const struct view *w, const char *s) {
    for (uint32_t i = 0; i < w->k; i++)
        if (s[i] != letter(arg(w, i)->type))
            return false;
    return s[w->k] == ' ' && s[w->k + 1] == letter(w->n->type);
}

static bool sig_any(const struct view *w, const char *const *sigs) {
    for (; *sigs; sigs++)
        if (sig(w, *sigs))
            return true;
    return false;
}

/* Same machine type, scale and meaning: what may flow through a node unchanged. Decimals differ in width only. */
static bool same_value(const struct view *w, uint32_t i) {
    const struct rdn_node *a = arg(w, i);
    const struct rdn_type *t = rdn_ir_ltype(w->v->ir, w->id), *u = arg_type(w, i);
    if (letter(a->type) != letter(w->n->type) || a->scale != w->n->scale)
        return false;
    if (w->n->type == RDN_TY_STR)
        return true;
    return t->kind == u->kind && (t->kind == RDN_K_DEC || t == u);
}

static bool all_same(const struct view *w, uint32_t from) {
    for (uint32_t i = from; i < w->k; i++)
        if (!same_value(w, i))
            return false;
    return true;
}

static bool comparable(const struct view *w, uint32_t i, uint32_t j) {
    char a = letter(arg(w, i)->type), b = letter(arg(w, j)->type);
    bool num = (a == 'd' || a == 'i') && (b == 'd' || b == 'i');
    return num || (a == b && strchr("bfs", a) && a);
}

static bool arith_ok(const struct view *w) {
    static const char *const plain[] = { "ii i", "ff f", NULL };
    unsigned op = w->n->op, sa = arg(w, 0)->scale, sb = arg(w, 1)->scale, s = w->n->scale;
    if (w->n->type != RDN_TY_W128)
        return sig_any(w, plain) && !(op == RDN_OP_MOD && w->n->type == RDN_TY_F64);
    if (!(sig(w, "dd d") || ((sig(w, "di d") || sig(w, "id d")) && op != RDN_OP_MOD)))
        return false;
    if (op == RDN_OP_MUL)
        return s == sa + sb;
    if (op == RDN_OP_MOD)
        return sa == sb && s == sa;
    return op != RDN_OP_DIV && s >= sa && s >= sb;
}

static bool is_array(const struct rdn_type *t) { return t->kind == RDN_K_ARR; }

static bool elementwise_ok(const struct view *w) {
    static const char *const sigs[] = { "vv v", "vf v", "fv v", NULL };
    const struct rdn_type *t = rdn_ir_ltype(w->v->ir, w->id);
    if (w->n->op == RDN_OP_VNEG)
        return (sig(w, "v v") || sig(w, "w w")) && t == arg_type(w, 0);
    if (!sig_any(w, sigs))
        return false;
    return (!is_array(arg_type(w, 0)) || arg_type(w, 0) == t) && (!is_array(arg_type(w, 1)) || arg_type(w, 1) == t);
}

static bool elem_ok(const struct view *w) {
    static const char *const one[] = { "vi f", "wi i", "vi v", "wi w", NULL }, *const two[] = { "vii f", "wii i", NULL };
    const struct rdn_type *a = arg_type(w, 0), *t = rdn_ir_ltype(w->v->ir, w->id);
    if (w->k == 3)
        return sig_any(w, two) && a->ndim == 2;
    if (!sig_any(w, one))
        return false;
    bool row = is_array(t);
    return row ? a->ndim == 2 && t->ndim == 1 && t->dim[0] == a->dim[1] && t->elem == a->elem : a->ndim == 1;
}

static bool vec_ok(const struct view *w) {
    const struct rdn_type *t = rdn_ir_ltype(w->v->ir, w->id);
    uint64_t elems = 0;
    if (!w->k || !is_array(t))
        return false;
    for (uint32_t i = 0; i < w->k; i++) {
        char c = letter(arg(w, i)->type);
        bool fits = t->elem == RDN_K_FLOAT ? c == 'f' || c == 'v' : c == 'i' || c == 'w';
        if (!fits)
            return false;
        elems += rdn_type_elems(arg_type(w, i));
    }
    return elems == rdn_type_elems(t);
}

static bool product_ok(const struct view *w) {
    const struct rdn_type *a = arg_type(w, 0), *b = arg_type(w, 1), *t = rdn_ir_ltype(w->v->ir, w->id);
    if (w->n->op == RDN_OP_DOT)
        return sig(w, "vv f") && rdn_type_elems(a) == rdn_type_elems(b);
    return sig(w, "vv v") && a->ndim == 2 && b->ndim == 1 && t->ndim == 1 && t->dim[0] == a->dim[0] && a->dim[1] == b->dim[0];
}

static bool in_set_ok(const struct view *w) {
    if (w->k < 1 || w->n->type != RDN_TY_B1)
        return false;
    for (uint32_t i = 1; i < w->k; i++)
        if (!comparable(w, 0, i))
            return false;
    return true;
}

/* Nodes whose kind of text or number the language type must tell. */
static bool named_kind_ok(const struct view *w) {
    enum rdn_kind k = (enum rdn_kind)arg_type(w, 0)->kind;
    switch (w->n->op) {
    case RDN_OP_ENUMTEXT: return sig(w, "i s") && k == RDN_K_ENUM;
    case RDN_OP_SYMTEXT: return sig(w, "i s") && k == RDN_K_SYM;
    case RDN_OP_BUCKET: return w->n->type == RDN_TY_I64 && k != RDN_K_ARR && k < RDN_K_EVENT;
    }
    return w->n->type == RDN_TY_STR && k != RDN_K_ARR && k < RDN_K_EVENT;    /* totext */
}

static bool random_ok(const struct view *w) {
    return sig(w, "ii v") && rdn_type_elems(rdn_ir_ltype(w->v->ir, w->id)) == w->n->c && w->n->c > 0 && w->v->body[w->id] >= 0;
}

/* ---- sources ---- */

static bool is_type(const struct view *w, const struct rdn_type *t) { return rdn_node_fits(w->v->ir, w->id, t); }

static bool keys_fit(const struct view *w, const struct rdn_type *const *types, uint32_t n) {
    if (w->k != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!rdn_node_fits(w->v->ir, w->args[i], types[i]))
            return false;
    return true;
}

static bool columns_fit(const struct view *w, const struct rdn_column *cols, uint32_t n) {
    if (w->k != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!rdn_node_fits(w->v->ir, w->args[i], cols[i].type))
            return false;
    return true;
}

static bool field_ok(const struct view *w) {
    int32_t on = w->v->on[w->id];
    if (on == RDN_ON_NONE)
        return true;                                     /* no expression reaches it */
    const struct rdn_ir *ir = w->v->ir;
    return on >= 0 && w->n->aux < ir->events[on].nfields && is_type(w, ir->events[on].fields[w->n->aux].type);
}

static bool source_ok(const struct view *w) {
    const struct rdn_ir *ir = w->v->ir;
    uint32_t x = w->n->aux;
    int32_t on = w->v->on[w->id], body = w->v->body[w->id];
    switch ((enum rdn_op)w->n->op) {
    case RDN_OP_CONST:
        return x < ir->consts.n && ir->consts.v[x].ltype == rdn_ir_ltype(ir, w->id) && ir->consts.v[x].type == w->n->type &&
               ir->consts.v[x].scale == w->n->scale;
    case RDN_OP_FIELD: return field_ok(w);
    case RDN_OP_PARAM: return x < ir->nparams && is_type(w, ir->params[x].type);
    case RDN_OP_NOW: case RDN_OP_TS: case RDN_OP_SCORE: return w->n->type == RDN_TY_I64;
    case RDN_OP_WREAD: case RDN_OP_WPREV:
        return x < ir->nwindows && is_type(w, ir->windows[x].rtype) &&
               keys_fit(w, (const struct rdn_type *const *)ir->windows[x].ktypes, ir->windows[x].nkeys);
    case RDN_OP_TREAD:
        return x < ir->ntables && w->n->c < ir->tables[x].ncols && is_type(w, ir->tables[x].cols[w->n->c].type) &&
               columns_fit(w, ir->tables[x].keys, ir->tables[x].nkeys);
    case RDN_OP_CALL: return x < ir->ncalls && is_type(w, ir->calls[x].rtype) && columns_fit(w, ir->calls[x].params, ir->calls[x].nparams);
    case RDN_OP_EVROW: {
        const struct rdn_type *t = rdn_ir_ltype(ir, w->id);
        return w->n->type == RDN_TY_ROW && t->kind == RDN_K_EVENT && (on == RDN_ON_NONE || on == (int32_t)t->n);
    }
    case RDN_OP_INLIST: return x < ir->nlists && w->n->type == RDN_TY_B1 && rdn_node_fits(ir, w->args[0], ir->lists[x].type);
    case RDN_OP_INCAL: return x < ir->ncals && sig(w, "i b");
    case RDN_OP_EACH: return body >= 0 && w->n->type == RDN_TY_I64;
    case RDN_OP_KPARAM: return body >= 0 && x < ir->calls[body].nparams && is_type(w, ir->calls[body].params[x].type);
    default: return false;
    }
}

/* ---- all operations ---- */

static const char *const sign_sigs[] = { "i i", "d i", "f f", NULL }, *const neg_sigs[] = { "i i", "d d", "f f", NULL };
static const char *const ratio_sigs[] = { "dd f", "di f", "id f", "ii f", NULL }, *const d2f_sigs[] = { "d f", "i f", NULL };
static const char *const rdiv_sigs[] = { "dd d", "di d", "id d", "ii d", NULL }, *const dec_sigs[] = { "d d", "i d", NULL };

static bool operation_ok(const struct view *w) {
    switch ((enum rdn_op)w->n->op) {
    case RDN_OP_CONST: case RDN_OP_FIELD: case RDN_OP_PARAM: case RDN_OP_NOW: case RDN_OP_TS: case RDN_OP_SCORE: case RDN_OP_WREAD:
    case RDN_OP_WPREV: case RDN_OP_TREAD: case RDN_OP_CALL: case RDN_OP_EVROW: case RDN_OP_INLIST: case RDN_OP_INCAL: case RDN_OP_EACH:
    case RDN_OP_KPARAM: return source_ok(w);
    case RDN_OP_USE: return same_value(w, 0);
    case RDN_OP_INLINE: return w->k > 0 && same_value(w, w->k - 1);
    case RDN_OP_AND: case RDN_OP_OR: return sig(w, "bb b");
    case RDN_OP_NOT: return sig(w, "b b");
    case RDN_OP_SEL: return arg(w, 0)->type == RDN_TY_B1 && all_same(w, 1);
    case RDN_OP_COALESCE: return all_same(w, 0);
    case RDN_OP_DEFINED: return w->n->type == RDN_TY_B1;
    case RDN_OP_INSET: return in_set_ok(w);
    case RDN_OP_EQ: case RDN_OP_NE: return w->n->type == RDN_TY_B1 && comparable(w, 0, 1);
    case RDN_OP_LT: case RDN_OP_LE: case RDN_OP_GT: case RDN_OP_GE:
        return w->n->type == RDN_TY_B1 && comparable(w, 0, 1) && arg(w, 0)->type != RDN_TY_B1;
    case RDN_OP_ADD: case RDN_OP_SUB: case RDN_OP_MUL: case RDN_OP_DIV: case RDN_OP_MOD: return arith_ok(w);
    case RDN_OP_NEG: case RDN_OP_ABS: return sig_any(w, neg_sigs) && arg(w, 0)->scale == w->n->scale;
    case RDN_OP_SIGN: return sig_any(w, sign_sigs);
    case RDN_OP_MIN: case RDN_OP_MAX: return w->k > 0 && all_same(w, 0) && strchr("ifd", letter(w->n->type));
    case RDN_OP_CLAMP: return all_same(w, 0) && strchr("ifd", letter(w->n->type));
    case RDN_OP_RATIO: return sig_any(w, ratio_sigs);
    case RDN_OP_IRATIO: return sig(w, "ii f");
    case RDN_OP_RDIV: return sig_any(w, rdiv_sigs);
    case RDN_OP_RESCALE: return sig_any(w, dec_sigs);
    case RDN_OP_NARROW: return sig_any(w, dec_sigs) && arg(w, 0)->scale == w->n->scale;
    case RDN_OP_I2F: return sig(w, "i f");
    case RDN_OP_D2F: return sig_any(w, d2f_sigs);
    case RDN_OP_F2I: return sig(w, "f i");
    case RDN_OP_D2I: return sig(w, "d i");
    case RDN_OP_F2D: return sig(w, "f d");
    case RDN_OP_B2I: return sig(w, "b i");
    case RDN_OP_T2S: return sig(w, "i i");
    case RDN_OP_STR2I: case RDN_OP_STR2T: case RDN_OP_STR2U: case RDN_OP_SYMFIND: case RDN_OP_LEN: return sig(w, "s i");
    case RDN_OP_STR2F: return sig(w, "s f");
    case RDN_OP_SYMTEXT: case RDN_OP_ENUMTEXT: case RDN_OP_TOTEXT: case RDN_OP_BUCKET: return named_kind_ok(w);
    case RDN_OP_CONCAT: return sig(w, "ss s");
    case RDN_OP_STARTS: case RDN_OP_ENDS: case RDN_OP_CONTAINS: return sig(w, "ss b");
    case RDN_OP_FIND: return sig(w, "ss i");
    case RDN_OP_LOWER: case RDN_OP_UPPER: case RDN_OP_TRIM: return sig(w, "s s");
    case RDN_OP_HOUR: case RDN_OP_MINUTE: case RDN_OP_SECOND: case RDN_OP_MILLI: case RDN_OP_DAY: case RDN_OP_MONTH: case RDN_OP_YEAR:
    case RDN_OP_WEEKDAY: case RDN_OP_YEARDAY: case RDN_OP_DATE: return sig(w, "i i") && w->n->aux < w->v->ir->nzones;
    case RDN_OP_FLOOR: case RDN_OP_CEIL: case RDN_OP_TRUNC: case RDN_OP_ROUND: case RDN_OP_SQRT: case RDN_OP_EXP: case RDN_OP_LOG:
    case RDN_OP_NORMCDF: case RDN_OP_INVNORM: case RDN_OP_LOG2: case RDN_OP_LOG10: case RDN_OP_SIN: case RDN_OP_COS: case RDN_OP_TAN:
    case RDN_OP_ASIN: case RDN_OP_ACOS: case RDN_OP_ATAN: case RDN_OP_SINH: case RDN_OP_COSH: case RDN_OP_TANH: return sig(w, "f f");
    case RDN_OP_POW: case RDN_OP_ATAN2: case RDN_OP_HYPOT: return sig(w, "ff f");
    case RDN_OP_DISTKM: return w->k == 4 && sig(w, "ffff f");
    case RDN_OP_ISNAN: case RDN_OP_ISINF: case RDN_OP_ISFINITE: return sig(w, "f b");
    case RDN_OP_BAND: case RDN_OP_BOR: case RDN_OP_BXOR: case RDN_OP_SHL: case RDN_OP_SHR: return sig(w, "ii i");
    case RDN_OP_BNOT: return sig(w, "i i");
    case RDN_OP_ELEM: return elem_ok(w);
    case RDN_OP_VEC: return vec_ok(w);
    case RDN_OP_VADD: case RDN_OP_VSUB: case RDN_OP_VMUL: case RDN_OP_VDIV: case RDN_OP_VNEG: return elementwise_ok(w);
    case RDN_OP_DOT: case RDN_OP_MATVEC: return product_ok(w);
    case RDN_OP_VSUM: case RDN_OP_VMIN: case RDN_OP_VMAX: return sig(w, "v f");
    case RDN_OP_NORMAL: case RDN_OP_UNIFORM: return random_ok(w);
    case RDN_OP_COUNT: break;
    }
    return false;
}

/* What a kernel body may hold (12.5): its values fit the columns of kernel.c, and nothing in it needs an event. */
static bool in_body_ok(const struct view *w) {
    unsigned op = w->n->op;
    const struct rdn_call *c = &w->v->ir->calls[w->v->body[w->id]];
    bool outside = op == RDN_OP_FIELD || op == RDN_OP_NOW || op == RDN_OP_TS || op == RDN_OP_SCORE || (op >= RDN_OP_WREAD && op <= RDN_OP_INCAL);
    for (uint32_t i = 0; i < w->k; i++)
        if (w->args[i] < c->first || w->args[i] > c->last)
            return false;
    return !outside && letter(w->n->type) != 0 && strchr("bifvw", letter(w->n->type));
}

static bool shape_ok(const struct rdn_verify *v, rdn_id id) {
    const struct rdn_ir *ir = v->ir;
    const struct rdn_node *n = &ir->nodes.v[id];
    unsigned arity = rdn_op_arity((enum rdn_op)n->op);
    rdn_id buf[3];
    uint32_t k;
    if (arity == RDN_NARY)
        HOLDS(v, n->a <= ir->args.n && n->b <= ir->args.n - n->a, "operands are in args", "node", id);
    const rdn_id *args = rdn_node_args(ir, n, buf, &k);
    for (uint32_t i = 0; i < k; i++)
        HOLDS(v, args[i] > 0 && args[i] < id, "operands have smaller ids", "node", id);
    bool c_is_data = n->op == RDN_OP_TREAD || n->op == RDN_OP_NORMAL || n->op == RDN_OP_UNIFORM;
    HOLDS(v, (arity > 0 || !n->a) && (arity > 1 || !n->b) && (arity == 3 || c_is_data || !n->c), "places without an operand are empty", "node", id);
    return true;
}

bool rdn_verify_node(const struct rdn_verify *v, rdn_id id) {
    const struct rdn_ir *ir = v->ir;
    const struct rdn_node *n = &ir->nodes.v[id];
    HOLDS(v, n->op < RDN_OP_COUNT, "operations are known", "node", id);
    HOLDS(v, n->type < RDN_TY_COUNT, "machine types are known", "node", id);
    HOLDS(v, ir->ltypes.v[id] < rdn_types_count(ir->types), "language types are in the table", "node", id);
    HOLDS(v, n->span < ir->spans.n, "spans are in the table", "node", id);
    HOLDS(v, n->flags < 32, "flags are known", "node", id);
    HOLDS(v, rdn_node_fits(ir, id, rdn_ir_ltype(ir, id)), "machine and language type agree", "node", id);
    HOLDS(v, letter(n->type) == 'd' ? n->scale <= 18 : n->scale == 0, "scales are of decimals, at most 18", "node", id);
    if (!shape_ok(v, id))
        return false;
    struct view w = { v, n, id, NULL, 0 };
    rdn_id buf[3];
    w.args = rdn_node_args(ir, n, buf, &w.k);
    HOLDS(v, operation_ok(&w), "operands fit the operation", rdn_op_text((enum rdn_op)n->op), id);
    if (v->body[id] >= 0)
        HOLDS(v, in_body_ok(&w), "kernel bodies are closed", "node", id);
    else
        for (uint32_t i = 0; i < w.k; i++)
            HOLDS(v, v->body[w.args[i]] < 0, "kernel bodies are closed", "node", id);
    return true;
}
