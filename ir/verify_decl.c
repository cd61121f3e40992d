/* SPDX-License-Identifier: Apache-2.0
 * verify_decl.c: constants, events, parameters, lists, tables, calendars, calls. Bounds are those of LANGUAGE.md 15. */
#include "base/tz.h"
#include "ir/verify.h"
#include <string.h>

static bool scalar(const struct rdn_type *t) { return t && t->kind <= RDN_K_ENUM; }
static bool key_type(const struct rdn_type *t) { return scalar(t) && t->kind != RDN_K_FLOAT; }
static bool storable(const struct rdn_type *t) { return scalar(t) || (t && t->kind == RDN_K_ARR); }

static bool consts_ok(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    for (uint32_t i = 0; i < ir->consts.n; i++) {
        const struct rdn_const *c = &ir->consts.v[i];
        bool dec = c->ltype->kind == RDN_K_DEC;
        bool agree = dec ? (c->type == RDN_TY_D64 || c->type == RDN_TY_W128) && c->scale == c->ltype->scale
                         : c->type == rdn_cell_of(c->ltype) && c->scale == 0;
        HOLDS(v, agree, "machine and language type agree", "constant", i);
        HOLDS(v, rdn_cell_valid(ir, c->ltype, &c->val), "constants are values of their type", "constant", i);
        HOLDS(v, c->type != RDN_TY_D64 || rdn_fits_i64(c->val.d), "constants are values of their type", "constant", i);
    }
    for (uint32_t i = 0; i < ir->nzones; i++)
        HOLDS(v, ir->zones[i] && ir->nzones == ir->nzone_names, "zones are known", "zone", i);
    return true;
}

static bool field_ok(const struct rdn_verify *v, const struct rdn_event *e, uint32_t i, uint32_t *at, uint64_t *bits) {
    const struct rdn_field *f = &e->fields[i];
    HOLDS(v, storable(f->type), "fields have stored types", "field", i);
    HOLDS(v, f->size == rdn_type_size(f->type) && f->offset % rdn_type_align(f->type) == 0, "fields have the layout of chapter 5", "field", i);
    HOLDS(v, f->offset >= *at && f->size <= e->size && f->offset <= e->size - f->size, "fields are in the row and apart", "field", i);
    *at = f->offset + f->size;
    if (f->optional) {
        HOLDS(v, e->has_present && f->present_bit < 64 && !(*bits >> f->present_bit & 1), "optional fields have a presence bit each", "field", i);
        *bits |= (uint64_t)1 << f->present_bit;
    }
    return true;
}

static bool events_ok(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    HOLDS(v, ir->nevents <= 255, "at most 255 events", "event", ir->nevents);
    for (uint32_t i = 0; i < ir->nevents; i++) {
        const struct rdn_event *e = &ir->events[i];
        uint32_t at = e->has_present ? 16 : 8;
        uint64_t bits = 0;
        HOLDS(v, e->nfields <= 256 && e->size >= at && e->size % 8 == 0, "events have the layout of chapter 5", "event", i);
        HOLDS(v, e->part_field >= -1 && e->part_field < (int32_t)e->nfields, "the partition field is a field", "event", i);
        for (uint32_t f = 0; f < e->nfields; f++)
            if (!field_ok(v, e, f, &at, &bits))
                return false;
    }
    return true;
}

static bool params_ok(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    for (uint32_t i = 0; i < ir->nparams; i++) {
        const struct rdn_param *p = &ir->params[i];
        HOLDS(v, scalar(p->type), "parameters are scalars", "param", i);
        HOLDS(v, rdn_cell_valid(ir, p->type, &p->val), "parameters have a value", "param", i);
        if (p->has_range)
            HOLDS(v, rdn_cell_valid(ir, p->type, &p->lo) && rdn_cell_valid(ir, p->type, &p->hi), "parameters have a range", "param", i);
        HOLDS(v, p->type->kind != RDN_K_DEC || rdn_fits_i64(p->val.d), "parameters have a value", "param", i);
    }
    return true;
}

static bool cells_ok(const struct rdn_ir *ir, const struct rdn_column *cols, uint32_t n, const struct rdn_cell *vals) {
    for (uint32_t i = 0; i < n; i++)
        if (!rdn_cell_valid(ir, cols[i].type, &vals[i]) || (cols[i].type->kind == RDN_K_DEC && !rdn_fits_i64(vals[i].d)))
            return false;
    return true;
}

static bool table_ok(const struct rdn_verify *v, uint32_t i) {
    const struct rdn_table *t = &v->ir->tables[i];
    HOLDS(v, t->nkeys >= 1 && t->nkeys <= 8 && t->ncols >= 1 && t->ncols <= 256, "tables have keys and columns", "table", i);
    for (uint32_t k = 0; k < t->nkeys; k++)
        HOLDS(v, key_type(t->keys[k].type), "keys have key types", "table", i);
    for (uint32_t c = 0; c < t->ncols; c++)
        HOLDS(v, storable(t->cols[c].type), "columns have stored types", "table", i);
    HOLDS(v, !t->host || (!t->nrows && !t->def && t->cap >= 1 && t->cap <= 16777216), "host tables are empty and bounded", "table", i);
    HOLDS(v, t->nrows <= 65536, "tables are not larger than chapter 15 allows", "table", i);
    for (uint32_t r = 0; r < t->nrows; r++)
        HOLDS(v, cells_ok(v->ir, t->keys, t->nkeys, t->rows[r].keys) && cells_ok(v->ir, t->cols, t->ncols, t->rows[r].vals),
              "rows are values of their columns", "table", i);
    HOLDS(v, !t->def || cells_ok(v->ir, t->cols, t->ncols, t->def), "rows are values of their columns", "table", i);
    return true;
}

static bool lists_ok(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    for (uint32_t i = 0; i < ir->nlists; i++) {
        const struct rdn_list *l = &ir->lists[i];
        HOLDS(v, scalar(l->type), "lists are of scalars", "list", i);
        for (uint32_t k = 0; k < l->n; k++)
            HOLDS(v, rdn_cell_valid(ir, l->type, &l->vals[k]) && (l->type->kind != RDN_K_DEC || rdn_fits_i64(l->vals[k].d)),
                  "elements are values of their list", "list", i);
    }
    return true;
}

static bool dates(const struct rdn_ir *ir, uint32_t list) { return list < ir->nlists && ir->lists[list].type->kind == RDN_K_DATE; }

static bool calendars_ok(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    for (uint32_t i = 0; i < ir->ncals; i++) {
        const struct rdn_calendar *c = &ir->cals[i];
        HOLDS(v, rdn_tz_find(c->zone, strlen(c->zone)), "zones are known", "calendar", i);
        HOLDS(v, c->n <= 256, "calendars have at most 256 sessions", "calendar", i);
        for (uint32_t k = 0; k < c->n; k++) {
            const struct rdn_session *s = &c->sessions[k];
            HOLDS(v, s->open <= 1440 && s->close <= 1440 && s->days <= 127, "sessions are times of a week", "calendar", i);
            HOLDS(v, s->list == -1 || (s->list >= 0 && dates(ir, (uint32_t)s->list) && !s->days), "sessions name days or a list of dates", "calendar", i);
            for (uint32_t x = 0; x < s->nexcept; x++)
                HOLDS(v, dates(ir, s->except[x]), "sessions name days or a list of dates", "calendar", i);
        }
    }
    return true;
}

static bool kernel_ok(const struct rdn_verify *v, uint32_t i) {
    const struct rdn_ir *ir = v->ir;
    const struct rdn_call *c = &ir->calls[i];
    HOLDS(v, c->paths >= 1 && c->paths <= 16777216, "kernels have 1 to 16,777,216 paths", "call", i);
    HOLDS(v, c->reduce <= RDN_RED_QUANTILE, "reductions are known", "call", i);
    HOLDS(v, c->reduce != RDN_RED_QUANTILE || (c->rank >= 1 && c->rank <= c->paths), "the rank of a quantile is a path", "call", i);
    HOLDS(v, c->rtype->kind == RDN_K_FLOAT, "kernels return float", "call", i);
    HOLDS(v, c->value >= c->first && c->value <= c->last && ir->nodes.v[c->value].type == RDN_TY_F64, "the reduced value is a float of the body", "call", i);
    for (uint32_t l = 0; l < c->nlets; l++)
        HOLDS(v, c->lets[l] >= c->first && c->lets[l] <= c->last, "lets of a kernel are in its body", "call", i);
    for (uint32_t p = 0; p < c->nparams; p++) {
        unsigned k = c->params[p].type->kind;
        HOLDS(v, k == RDN_K_INT || k == RDN_K_FLOAT || k == RDN_K_BOOL || k == RDN_K_ARR, "kernel parameters are numbers, bools or arrays", "call", i);
    }
    return true;
}

static bool calls_ok(const struct rdn_verify *v) {
    const struct rdn_ir *ir = v->ir;
    for (uint32_t i = 0; i < ir->ncalls; i++) {
        const struct rdn_call *c = &ir->calls[i];
        HOLDS(v, scalar(c->rtype), "calls return a scalar", "call", i);
        HOLDS(v, c->nparams <= 16, "calls have at most 16 parameters", "call", i);
        for (uint32_t p = 0; p < c->nparams; p++) {
            const struct rdn_type *t = c->params[p].type;
            HOLDS(v, storable(t) || (t->kind == RDN_K_EVENT && !c->kernel && t->n < ir->nevents), "parameters have stored types", "call", i);
        }
        HOLDS(v, !c->has_default || rdn_cell_valid(ir, c->rtype, &c->def), "defaults are values of their type", "call", i);
        if (c->kernel && !kernel_ok(v, i))
            return false;
    }
    return true;
}

bool rdn_verify_decls(const struct rdn_verify *v) {
    if (!consts_ok(v) || !events_ok(v) || !params_ok(v) || !lists_ok(v))
        return false;
    for (uint32_t i = 0; i < v->ir->ntables; i++)
        if (!table_ok(v, i))
            return false;
    return calendars_ok(v) && calls_ok(v);
}
