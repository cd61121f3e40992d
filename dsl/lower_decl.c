/* SPDX-License-Identifier: Apache-2.0
 * lower_decl.c: events, parameters, data, windows, plugins and kernels of a rule set. */
#include "dsl/lower.h"
#include <string.h>

static struct rdn_decl *find(struct rdn_low *l, rdn_name name) {
    uint32_t at = rdn_map_get(&l->globals, name, strlen(name));
    return at == RDN_MAP_NONE ? NULL : l->c->file->decls.v[at];
}

static uint32_t count(const struct rdn_low *l, enum rdn_d_kind kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->c->file->decls.n; i++)
        n += l->c->file->decls.v[i]->kind == kind;
    return n;
}

static void event(struct rdn_low *l, const struct rdn_d_event *d) {
    struct rdn_event *e = &l->ir->events[d->d.index];
    rdn_schema_layout(l->c, d, e);
    e->part_field = -1;
    e->cost_ps = d->cost_ps;
    for (uint32_t i = 0; l->ir->partition && i < d->fields.n; i++)
        if (d->fields.v[i].name == l->ir->partition)
            e->part_field = (int32_t)i;
}

static void param(struct rdn_low *l, const struct rdn_d_param *d) {
    l->ir->params[d->d.index] = (struct rdn_param){ d->d.name, d->ty, d->val, d->vlo, d->vhi, d->lo != NULL };
}

static void list(struct rdn_low *l, const struct rdn_d_list *d) {
    l->ir->lists[d->d.index] = (struct rdn_list){ d->d.name, d->ty, d->vals.v, d->vals.n };
}

static struct rdn_column *columns(struct rdn_low *l, const rdn_fields *fs) {
    struct rdn_column *v = rdn_new_n(l->c->arena, struct rdn_column, fs->n + 1);
    for (uint32_t i = 0; i < fs->n; i++)
        v[i] = (struct rdn_column){ fs->v[i].name, fs->v[i].type };
    return v;
}

static void table(struct rdn_low *l, const struct rdn_d_table *d) {
    l->ir->tables[d->d.index] = (struct rdn_table){
        .name = d->d.name, .keys = columns(l, &d->keys), .cols = columns(l, &d->cols), .nkeys = d->keys.n, .ncols = d->cols.n,
        .rows = d->vals.v, .nrows = d->vals.n, .def = d->def, .host = d->host, .cap = d->cap, .row_bytes = d->row_bytes };
    if (d->host)
        l->ir->memory_bytes += d->row_bytes * d->cap;
}

static void calendar(struct rdn_low *l, const struct rdn_d_calendar *d) {
    struct rdn_session *v = rdn_new_n(l->c->arena, struct rdn_session, d->ss.n + 1);
    for (uint32_t i = 0; i < d->ss.n; i++) {
        const struct rdn_d_session *s = &d->ss.v[i];
        v[i] = (struct rdn_session){ .days = s->days, .list = -1, .open = s->open, .close = s->close, .nexcept = s->except.n };
        if (s->list.v)
            v[i].list = (int32_t)find(l, s->list.v)->index;
        v[i].except = rdn_new_n(l->c->arena, uint32_t, s->except.n + 1);
        for (uint32_t k = 0; k < s->except.n; k++)
            v[i].except[k] = find(l, s->except.v[k].v)->index;
    }
    const char *zone = rdn_arena_strndup(l->c->arena, d->tz, d->tz_len);
    l->ir->cals[d->d.index] = (struct rdn_calendar){ d->d.name, zone, v, d->ss.n };
}

/* ---- windows ---- */
static struct rdn_reset reset(struct rdn_low *l, const struct rdn_d_window *d, uint32_t event) {
    const struct rdn_event *e = &l->ir->events[event];
    struct rdn_reset r = { event, rdn_new_n(l->c->arena, uint32_t, d->by.n + 1) };
    for (uint32_t i = 0; i < d->by.n; i++)
        for (uint32_t f = 0; f < e->nfields; f++)
            if (!strcmp(e->fields[f].name, d->by.v[i]->name.v))
                r.fields[i] = f;
    return r;
}

static void window(struct rdn_low *l, struct rdn_d_window *d) {
    struct rdn_window *w = &l->ir->windows[d->d.index];
    *w = (struct rdn_window){
        .name = d->d.name, .agg = d->aggk, .evict = d->evict, .accepted = d->accepted, .local = d->local, .half_life = d->half,
        .prev_used = d->prev_used, .event = d->event, .vtype = d->vt, .rtype = d->t, .nkeys = d->by.n, .over_ns = d->over_ns,
        .events = d->events, .panes = d->P, .exact = d->exact, .warmup = d->wmin, .cap = d->cap, .pane_ns = d->p_ns,
        .nresets = d->resets.n, .canon = d->canon, .hash = d->hash, .cost_ps = d->cost_ps, .key_bytes = d->key_bytes };
    struct rdn_low_place was = rdn_low_enter(l, d->event, NULL, false);
    w->ktypes = rdn_new_n(l->c->arena, const struct rdn_type *, d->by.n + 1);
    for (uint32_t i = 0; i < d->by.n; i++)
        w->ktypes[i] = d->by.v[i]->t;
    if (d->where)
        w->where = rdn_low(l, d->where);
    w->keys = (rdn_id *)rdn_low_window_keys(l, d);
    if (d->xs.n > 0)
        w->value = rdn_low(l, d->xs.v[0]);
    if (d->xs.n > 1)
        w->span = rdn_low(l, d->xs.v[1]);
    rdn_low_leave(l, was);
    w->resets = rdn_new_n(l->c->arena, struct rdn_reset, d->resets.n + 1);
    for (uint32_t i = 0; i < d->resets.n; i++)
        w->resets[i] = reset(l, d, d->reset_events[i]);
    l->ir->memory_bytes += d->key_bytes * d->cap;
}

/* ---- plugins, kernels ---- */
/* The body is contiguous; parameters, counter and lets are read by index. */
static void kernel_body(struct rdn_low *l, const struct rdn_d_call *d, struct rdn_call *c) {
    rdn_id *loc = rdn_new_n(l->c->work, rdn_id, d->ps.n + 1 + d->lets.n);
    c->lets = rdn_new_n(l->c->arena, rdn_id, d->lets.n + 1);
    c->nlets = d->lets.n;
    c->first = l->ir->nodes.n;
    struct rdn_low_place was = rdn_low_enter(l, RDN_LOW_NO_EVENT, loc, false);
    uint32_t span = rdn_ir_span(l->ir, d->varpos.a, d->varpos.b);
    for (uint32_t i = 0; i < d->ps.n; i++)
        loc[i] = rdn_ir_node(l->ir, RDN_OP_KPARAM, rdn_cell_of(d->ps.v[i].type), 0, d->ps.v[i].type, 0, 0, 0, i, span, 0);
    loc[d->ps.n] = rdn_ir_node(l->ir, RDN_OP_EACH, RDN_TY_I64, 0, l->I, 0, 0, 0, 0, span, RDN_NODE_EACH);
    for (uint32_t i = 0; i < d->lets.n; i++) {
        struct rdn_low_bound b = rdn_low_bind(l, rdn_low(l, d->lets.v[i].x));
        c->lets[i] = b.lead;
        loc[d->ps.n + 1 + i] = b.use;
    }
    c->value = rdn_low(l, d->rx.v[d->rx.n - 1]);
    rdn_low_leave(l, was);
    c->last = l->ir->nodes.n - 1;
}

static void call(struct rdn_low *l, const struct rdn_d_call *d) {
    bool kernel = d->d.kind == RDN_D_KERNEL;
    struct rdn_call *c = &l->ir->calls[kernel ? l->kernel_at[d->d.index] : l->plugin_at[d->d.index]];
    *c = (struct rdn_call){ .name = d->d.name, .kernel = kernel, .nparams = d->ps.n, .rtype = d->ty, .deadline_ns = d->deadline_ns,
                            .has_default = d->def != NULL, .def = d->dval, .paths = d->cnt, .reduce = d->redk, .rank = d->rank };
    c->params = rdn_new_n(l->c->arena, struct rdn_column, d->ps.n + 1);
    for (uint32_t i = 0; i < d->ps.n; i++) {
        const struct rdn_d_param_ *p = &d->ps.v[i];
        const struct rdn_type *t = p->event ? rdn_type_event(l->c->types, p->event, find(l, p->event)->index) : p->type;
        c->params[i] = (struct rdn_column){ p->name, t };
    }
    if (kernel)
        kernel_body(l, d, c);
}

static void reserve(struct rdn_low *l) {
    struct rdn_ir *ir = l->ir;
    struct rdn_arena *a = l->c->arena;
    ir->events = rdn_new_n(a, struct rdn_event, (ir->nevents = count(l, RDN_D_EVENT)) + 1);
    ir->params = rdn_new_n(a, struct rdn_param, (ir->nparams = count(l, RDN_D_PARAM)) + 1);
    ir->lists = rdn_new_n(a, struct rdn_list, (ir->nlists = count(l, RDN_D_LIST)) + 1);
    ir->tables = rdn_new_n(a, struct rdn_table, (ir->ntables = count(l, RDN_D_TABLE)) + 1);
    ir->cals = rdn_new_n(a, struct rdn_calendar, (ir->ncals = count(l, RDN_D_CALENDAR)) + 1);
    ir->windows = rdn_new_n(a, struct rdn_window, (ir->nwindows = count(l, RDN_D_WINDOW)) + 1);
    ir->calls = rdn_new_n(a, struct rdn_call, (ir->ncalls = l->ncalls) + 1);
}

void rdn_low_decls(struct rdn_low *l) {
    struct rdn_file *f = l->c->file;
    reserve(l);
    for (int round = 0; round < 2; round++)              /* expressions look at what the first round puts down */
        for (uint32_t i = 0; i < f->decls.n; i++) {
            struct rdn_decl *d = f->decls.v[i];
            bool has_expr = d->kind == RDN_D_WINDOW || d->kind == RDN_D_KERNEL || d->kind == RDN_D_PLUGIN;
            if (has_expr != (round == 1))
                continue;
            switch ((enum rdn_d_kind)d->kind) {
            case RDN_D_EVENT: event(l, (struct rdn_d_event *)(void *)d); break;
            case RDN_D_PARAM: param(l, (struct rdn_d_param *)(void *)d); break;
            case RDN_D_LIST: list(l, (struct rdn_d_list *)(void *)d); break;
            case RDN_D_TABLE: table(l, (struct rdn_d_table *)(void *)d); break;
            case RDN_D_CALENDAR: calendar(l, (struct rdn_d_calendar *)(void *)d); break;
            case RDN_D_WINDOW: window(l, (struct rdn_d_window *)(void *)d); break;
            case RDN_D_PLUGIN: case RDN_D_KERNEL: call(l, (struct rdn_d_call *)(void *)d); break;
            case RDN_D_FN: case RDN_D_LET: case RDN_D_RULE: case RDN_D_TEST: break;
            }
        }
}
