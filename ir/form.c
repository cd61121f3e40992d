/* SPDX-License-Identifier: Apache-2.0
 * form.c: every part of a rule set in the order of its text form (form.h). To add a part, name it here; print and read
 * follow. The reader checks nothing but the form: whether numbers make sense together is verify's part. */
#include "ir/form.h"
#include <string.h>

/* The assignments are left out when writing: a sealed rule set is shared. */
#define U(f, key, lv, max)                                    \
    do {                                                      \
        uint64_t u_ = (uint64_t)(lv);                         \
        (f)->ops->u64((f), (key), &u_, (max));                \
        if ((f)->reading)                                     \
            (lv) = (__typeof__(lv))u_;                        \
    } while (0)
#define I(f, key, lv)                                         \
    do {                                                      \
        int64_t i_ = (int64_t)(lv);                           \
        (f)->ops->i64((f), (key), &i_);                       \
        if ((f)->reading)                                     \
            (lv) = (__typeof__(lv))i_;                        \
    } while (0)
#define HEX(f, key, lv)                                       \
    do {                                                      \
        uint64_t h_ = (lv);                                   \
        (f)->ops->hex((f), (key), &h_);                       \
        if ((f)->reading)                                     \
            (lv) = h_;                                        \
    } while (0)
#define FLAG(f, key, lv)                                      \
    do {                                                      \
        bool b_ = (f)->ops->opt((f), (key), (lv));            \
        if ((f)->reading)                                     \
            (lv) = b_;                                        \
    } while (0)
#define OPT_U(f, key, lv, max)                                \
    do {                                                      \
        if ((f)->ops->opt((f), (key), (lv) != 0))             \
            U((f), NULL, (lv), (max));                        \
    } while (0)
#define OPT_I(f, key, lv)                                     \
    do {                                                      \
        if ((f)->ops->opt((f), (key), (lv) != 0))             \
            I((f), NULL, (lv));                               \
    } while (0)
#define NEXT(f, kw, list, n, i)                                                                            \
    ((f)->reading ? (void)((list) = (f)->ops->next((f), (kw), (void *)(list), &(n), (i), sizeof *(list)))   \
                  : (void)(f)->ops->next((f), (kw), (void *)(list), &(n), (i), sizeof *(list)),             \
     (f)->more)
#define LINES(f, kw, list, n, i) for (uint32_t i = 0; NEXT((f), (kw), (list), (n), i); i++)
#define U32 UINT32_MAX

static const char *const op_words[RDN_OP_COUNT] = {
#define OP(name, text, arity, cls, doc) [RDN_OP_##name] = text,
#include "ir/ops.def"
#undef OP
};
static const char *const cell_words[RDN_TY_COUNT] = {
#define CELL(name, text, doc) [RDN_TY_##name] = text,
#include "ir/types.def"
#undef CELL
};
static const char *const agg_words[] = { "count", "sum", "avg", "min", "max", "stddev", "distinct", "last", "first", "ewma", "zscore", "delta" };
static const char *const evict_words[] = { "none", "oldest", "idle" };
static const char *const reduce_words[] = { "sum", "mean", "min", "max", "quantile" };
static const char *const verb_words[] = { "accept", "throttle", "hold", "reject", "flag", "score", "emit", "skip" };
_Static_assert(sizeof agg_words / sizeof *agg_words == RDN_AGG_DELTA + 1, "an aggregate lacks its word");
_Static_assert(sizeof verb_words / sizeof *verb_words == RDN_V_SKIP + 1, "a verb lacks its word");
#define WORD(f, key, table, lv) ((f)->ops->word((f), (key), (table), sizeof(table) / sizeof *(table), &(lv)))

static void str(struct rdn_form *f, const char *key, const char **s) { f->ops->str(f, key, s, NULL); }

/* ---- declarations ---- */

static void form_column(struct rdn_form *f, struct rdn_column *c) {
    str(f, NULL, &c->name);
    f->ops->type(f, NULL, &c->type, false);
}

static void form_event(struct rdn_form *f, struct rdn_event *e) {
    str(f, NULL, &e->name);
    U(f, "size", e->size, U32);
    FLAG(f, "present", e->has_present);
    HEX(f, "hash", e->layout_hash);
    I(f, "part", e->part_field);
    U(f, "cost", e->cost_ps, UINT64_MAX);
    str(f, "canon", &e->canon);
    LINES(f, " field", e->fields, e->nfields, i) {
        struct rdn_field *d = &e->fields[i];
        str(f, NULL, &d->name);
        f->ops->type(f, NULL, &d->type, false);
        U(f, "at", d->offset, U32);
        U(f, "size", d->size, U32);
        FLAG(f, "optional", d->optional);
        if (d->optional)
            U(f, NULL, d->present_bit, 63);
    }
}

static void form_param(struct rdn_form *f, struct rdn_param *p) {
    str(f, NULL, &p->name);
    f->ops->type(f, NULL, &p->type, false);
    f->ops->value(f, "=", p->type, &p->val);
    FLAG(f, "in", p->has_range);
    if (p->has_range) {
        f->ops->value(f, NULL, p->type, &p->lo);
        f->ops->value(f, NULL, p->type, &p->hi);
    }
}

static void form_list(struct rdn_form *f, struct rdn_list *l) {
    str(f, NULL, &l->name);
    f->ops->type(f, NULL, &l->type, false);
    LINES(f, " item", l->vals, l->n, i)
        f->ops->value(f, NULL, l->type, &l->vals[i]);
}

static void form_values(struct rdn_form *f, struct rdn_cell **vals, const struct rdn_column *cols, uint32_t n) {
    if (f->reading)
        *vals = rdn_new_n(f->ir->arena, struct rdn_cell, n ? n : 1);
    for (uint32_t i = 0; i < n; i++)
        f->ops->value(f, NULL, cols[i].type, &(*vals)[i]);
}

static void form_table(struct rdn_form *f, struct rdn_table *t) {
    str(f, NULL, &t->name);
    FLAG(f, "host", t->host);
    U(f, "cap", t->cap, U32);
    U(f, "row_bytes", t->row_bytes, UINT64_MAX);
    LINES(f, " key", t->keys, t->nkeys, k)
        form_column(f, &t->keys[k]);
    LINES(f, " column", t->cols, t->ncols, c)
        form_column(f, &t->cols[c]);
    LINES(f, " row", t->rows, t->nrows, r) {
        form_values(f, &t->rows[r].keys, t->keys, t->nkeys);
        form_values(f, &t->rows[r].vals, t->cols, t->ncols);
    }
    uint32_t has = t->def != NULL, one = 0;
    struct rdn_cell *none = NULL;
    for (; f->ops->next(f, " default", none, &has, one, 0), f->more; one++)
        form_values(f, &t->def, t->cols, t->ncols);
}

static void form_calendar(struct rdn_form *f, struct rdn_calendar *c) {
    str(f, NULL, &c->name);
    str(f, "zone", &c->zone);
    LINES(f, " session", c->sessions, c->n, i) {
        struct rdn_session *s = &c->sessions[i];
        U(f, "days", s->days, 127);
        I(f, "list", s->list);
        U(f, "open", s->open, 1440);
        U(f, "close", s->close, 1440);
        LINES(f, "  except", s->except, s->nexcept, x)
            U(f, NULL, s->except[x], U32);
    }
}

static void form_window(struct rdn_form *f, struct rdn_window *w) {
    str(f, NULL, &w->name);
    WORD(f, NULL, agg_words, w->agg);
    U(f, "event", w->event, U32);
    FLAG(f, "accepted", w->accepted);
    FLAG(f, "local", w->local);
    FLAG(f, "half_life", w->half_life);
    FLAG(f, "prev", w->prev_used);
    WORD(f, "evict", evict_words, w->evict);
    f->ops->type(f, "of", &w->vtype, true);
    f->ops->type(f, "to", &w->rtype, false);
    OPT_U(f, "where", w->where, U32);
    OPT_U(f, "value", w->value, U32);
    OPT_U(f, "span", w->span, U32);
    OPT_I(f, "over_ns", w->over_ns);
    OPT_U(f, "events", w->events, U32);
    OPT_U(f, "panes", w->panes, U32);
    OPT_I(f, "pane_ns", w->pane_ns);
    OPT_U(f, "exact", w->exact, U32);
    OPT_U(f, "warmup", w->warmup, U32);
    U(f, "cap", w->cap, U32);
    HEX(f, "hash", w->hash);
    U(f, "cost", w->cost_ps, UINT64_MAX);
    U(f, "key_bytes", w->key_bytes, UINT64_MAX);
    str(f, "canon", &w->canon);
    LINES(f, " key", w->keys, w->nkeys, k) {
        U(f, NULL, w->keys[k], U32);
        if (f->reading)
            w->ktypes = rdn_form_grow(f->ir->arena, (void *)w->ktypes, k, sizeof *w->ktypes);
        f->ops->type(f, NULL, &w->ktypes[k], false);
    }
    LINES(f, " reset", w->resets, w->nresets, r) {
        U(f, NULL, w->resets[r].event, U32);
        if (f->reading)
            w->resets[r].fields = rdn_new_n(f->ir->arena, uint32_t, w->nkeys + 1);
        for (uint32_t k = 0; k < w->nkeys; k++)
            U(f, NULL, w->resets[r].fields[k], U32);
    }
}

static void form_call(struct rdn_form *f, struct rdn_call *c) {
    str(f, NULL, &c->name);
    FLAG(f, "kernel", c->kernel);
    f->ops->type(f, NULL, &c->rtype, false);
    I(f, "deadline_ns", c->deadline_ns);
    FLAG(f, "default", c->has_default);
    if (c->has_default)
        f->ops->value(f, NULL, c->rtype, &c->def);
    if (c->kernel) {
        U(f, "paths", c->paths, U32);
        WORD(f, "reduce", reduce_words, c->reduce);
        OPT_U(f, "rank", c->rank, U32);
        U(f, "first", c->first, U32);
        U(f, "last", c->last, U32);
        U(f, "value", c->value, U32);
    }
    LINES(f, " param", c->params, c->nparams, p)
        form_column(f, &c->params[p]);
    LINES(f, " let", c->lets, c->nlets, l)
        U(f, NULL, c->lets[l], U32);
}

/* ---- rules ---- */

static void form_action(struct rdn_form *f, struct rdn_action *a) {
    WORD(f, NULL, verb_words, a->verb);
    U(f, "code", a->code, U32);
    OPT_I(f, "for_ns", a->for_ns);
    OPT_U(f, "points", a->points, U32);
    FLAG(f, "msg", a->has_msg);
    LINES(f, "  part", a->msg, a->nmsg, m) {
        OPT_U(f, "node", a->msg[m].node, U32);
        if (!a->msg[m].node)
            f->ops->str(f, NULL, &a->msg[m].text, &a->msg[m].len);
    }
    LINES(f, "  set", a->fields, a->nfields, i) {
        str(f, NULL, &a->fields[i].name);
        f->ops->type(f, NULL, &a->fields[i].type, false);
        U(f, NULL, a->fields[i].node, U32);
    }
}

static void form_rule(struct rdn_form *f, struct rdn_rule *r) {
    str(f, NULL, &r->name);
    U(f, "event", r->event, U32);
    I(f, "priority", r->priority);
    FLAG(f, "shadow", r->shadow);
    FLAG(f, "late", r->late);
    FLAG(f, "calls", r->calls);
    U(f, "when", r->when, U32);
    OPT_U(f, "at", r->when_span, U32);
    U(f, "cost", r->cost_ps, UINT64_MAX);
    LINES(f, " act", r->acts, r->nacts, a)
        form_action(f, &r->acts[a]);
    uint32_t has = r->undef != NULL;
    for (uint32_t i = 0; NEXT(f, " undefined", r->undef, has, i); i++)
        form_action(f, &r->undef[i]);
}

/* ---- nodes ---- */

static const char *note_of(const struct rdn_ir *ir, const struct rdn_node *n) {
    switch (n->op) {
    case RDN_OP_PARAM: return n->aux < ir->nparams ? ir->params[n->aux].name : NULL;
    case RDN_OP_WREAD: case RDN_OP_WPREV: return n->aux < ir->nwindows ? ir->windows[n->aux].name : NULL;
    case RDN_OP_TREAD: return n->aux < ir->ntables ? ir->tables[n->aux].name : NULL;
    case RDN_OP_CALL: return n->aux < ir->ncalls ? ir->calls[n->aux].name : NULL;
    case RDN_OP_INLIST: return n->aux < ir->nlists ? ir->lists[n->aux].name : NULL;
    case RDN_OP_INCAL: return n->aux < ir->ncals ? ir->cals[n->aux].name : NULL;
    }
    return NULL;
}

static void form_operands(struct rdn_form *f, struct rdn_node *n) {
    unsigned arity = rdn_op_arity((enum rdn_op)n->op);
    struct rdn_ir *ir = f->ir;
    if (arity != RDN_NARY) {
        rdn_id *const operand[3] = { &n->a, &n->b, &n->c };
        for (unsigned i = 0; i < arity; i++)
            U(f, NULL, *operand[i], U32);
        return;
    }
    uint32_t count = n->b, first = f->reading ? ir->args.n : n->a;
    U(f, "of", count, U32);
    for (uint32_t i = 0; i < count; i++) {
        if (f->reading)
            rdn_push_val(ir->arena, &ir->args, 0);       /* one at a time: the count is the text's claim */
        U(f, NULL, ir->args.v[first + i], U32);
    }
    if (f->reading) {
        n->a = first;
        n->b = count;
    }
}

static void form_node(struct rdn_form *f, uint32_t id) {
    struct rdn_ir *ir = f->ir;
    struct rdn_node *n = &ir->nodes.v[id];
    uint64_t own = id;
    f->ops->u64(f, NULL, &own, id);
    WORD(f, NULL, op_words, n->op);
    WORD(f, NULL, cell_words, n->type);
    OPT_U(f, "scale", n->scale, 255);
    const struct rdn_type *t = f->reading ? NULL : rdn_ir_ltype(ir, id);
    f->ops->type(f, NULL, &t, false);
    if (f->reading)
        ir->ltypes.v[id] = t->index;
    form_operands(f, n);
    if (rdn_op_arity((enum rdn_op)n->op) != 3)
        OPT_U(f, "c", n->c, U32);
    OPT_U(f, "aux", n->aux, U32);
    OPT_U(f, "at", n->span, U32);
    OPT_U(f, "flags", n->flags, 31);
    const char *note = f->reading || !f->notes ? NULL : note_of(ir, n);
    if (note)
        f->ops->note(f, note);
}

static void form_spans(struct rdn_form *f) {
    struct rdn_ir *ir = f->ir;
    for (uint32_t i = 1; NEXT(f, "span", ir->spans.v, ir->spans.n, i); i++) {
        U(f, NULL, ir->spans.v[i].a, U32);
        U(f, NULL, ir->spans.v[i].b, U32);
    }
}

static void form_consts(struct rdn_form *f) {
    struct rdn_ir *ir = f->ir;
    LINES(f, "const", ir->consts.v, ir->consts.n, i) {
        struct rdn_const *c = &ir->consts.v[i];
        WORD(f, NULL, cell_words, c->type);
        OPT_U(f, "scale", c->scale, 255);
        f->ops->type(f, NULL, &c->ltype, false);
        f->ops->value(f, NULL, c->ltype, &c->val);
    }
}

static void form_nodes(struct rdn_form *f) {
    struct rdn_ir *ir = f->ir;
    for (uint32_t i = 1; NEXT(f, "node", ir->nodes.v, ir->nodes.n, i); i++) {
        if (f->reading)
            rdn_push_val(ir->arena, &ir->ltypes, 0);
        form_node(f, i);
    }
}

/* ---- the rule set ---- */

static void form_head(struct rdn_form *f) {
    struct rdn_ir *ir = f->ir;
    f->ops->line(f, "ruleset");
    str(f, NULL, &ir->name);
    U(f, "version", ir->version, U32);
    OPT_I(f, "budget_ns", ir->budget_ns);
    OPT_U(f, "memory", ir->memory_bytes, UINT64_MAX);
    if (f->ops->opt(f, "partition", ir->partition != NULL))
        str(f, NULL, &ir->partition);
}

static void form_zone(struct rdn_form *f, uint32_t i) {
    str(f, NULL, &f->ir->zone_names[i]);
}

/* Events come before everything that names their types; tables of numbers before the nodes that use them. */
void rdn_form_ruleset(struct rdn_form *f) {
    struct rdn_ir *ir = f->ir;
    form_head(f);
    LINES(f, "event", ir->events, ir->nevents, e) form_event(f, &ir->events[e]);
    LINES(f, "zone", ir->zone_names, ir->nzone_names, z) form_zone(f, z);
    LINES(f, "param", ir->params, ir->nparams, p) form_param(f, &ir->params[p]);
    LINES(f, "list", ir->lists, ir->nlists, l) form_list(f, &ir->lists[l]);
    LINES(f, "table", ir->tables, ir->ntables, t) form_table(f, &ir->tables[t]);
    LINES(f, "calendar", ir->cals, ir->ncals, c) form_calendar(f, &ir->cals[c]);
    if (f->reading || f->nodes)
        form_spans(f);
    form_consts(f);
    if (f->reading || f->nodes)
        form_nodes(f);
    LINES(f, "window", ir->windows, ir->nwindows, w) form_window(f, &ir->windows[w]);
    LINES(f, "call", ir->calls, ir->ncalls, c) form_call(f, &ir->calls[c]);
    LINES(f, "code", ir->codes, ir->ncodes, c) str(f, NULL, &ir->codes[c]);
    LINES(f, "emit", ir->emits, ir->nemits, e) {
        str(f, NULL, &ir->emits[e].name);
        LINES(f, " column", ir->emits[e].cols, ir->emits[e].ncols, c) form_column(f, &ir->emits[e].cols[c]);
    }
    LINES(f, "rule", ir->rules, ir->nrules, r) form_rule(f, &ir->rules[r]);
    if (f->reading || f->source) {
        f->ops->line(f, "file");
        str(f, NULL, &ir->file);
        f->ops->line(f, "source");
        f->ops->str(f, NULL, &ir->source, &ir->source_len);
    }
    f->ops->line(f, "end");
}
