/* SPDX-License-Identifier: Apache-2.0
 * check_data.c: constants, and the declarations made of them: params, lists, tables, calendars (LANGUAGE.md 9).
 *
 * A constant is typed, folded (lower.c) and kept as the cell its place stores: symbols interned, enums as their index.
 * Literals, which is nearly all there is, are not lowered. */
#include "dsl/check.h"
#include <string.h>
#include "base/tz.h"

/* ---- values ---- */
static int member_index(rdn_ty t, const char *s, size_t n) {
    for (unsigned i = 0; i < t->n; i++)
        if (strlen(t->members[i]) == n && !memcmp(t->members[i], s, n))
            return (int)i;
    return -1;
}

bool rdn_ck_text_value(struct rdn_ck *k, rdn_ty t, const char *s, size_t n, struct rdn_cell *ret) {
    uint32_t id;
    int rc, m;
    *ret = (struct rdn_cell){ 0 };
    switch (t->kind) {
    case RDN_K_SYM:
        if (n > RDN_LIM_SYM_BYTES || memchr(s, 0, n))
            return false;
        if ((rc = rdn_sym_intern(k->c->syms, s, n, &id)) < 0)
            rdn_give_up(k->c, rc);
        ret->i = id;
        return true;
    case RDN_K_ENUM:
        ret->i = m = member_index(t, s, n);
        return m >= 0;
    default:
        ret->t.p = s;
        ret->t.len = (uint32_t)n;
        return t->kind != RDN_K_STR || (n <= t->n && !memchr(s, 0, n));
    }
}

void rdn_ck_const(struct rdn_ck *k, struct rdn_expr *x, rdn_ty t, struct rdn_what what, struct rdn_cell *ret) {
    struct rdn_deps deps = { 0 };
    struct rdn_ctx c = rdn_ck_ctx(k, RDN_CTX_CONST, NULL, &deps);
    rdn_ck_want(k, x, t, &c, what);
    if (rdn_is_num(x))
        *ret = x->val;
    else if (x->kind == RDN_X_LIT && rdn_type_is_text(t))
        rdn_ck_text_value(k, t, x->lit.v.t.p, x->lit.v.t.len, ret);
    else if (x->kind == RDN_X_LIT)
        *ret = x->lit.v;
    else
        rdn_const_eval(k->c, x, ret);
    if (ret->cause)
        rdn_raise(k->c, "E0417", x->pos, NULL, "%s%s%s is undefined (%s)", what.noun, what.name ? " " : "", what.name ? what.name : "",
                  rdn_cause_text((enum rdn_cause)ret->cause));
    if (t->kind == RDN_K_DEC && !rdn_fits_i64(ret->d))
        rdn_raise(k->c, "E0405", x->pos, NULL, "%s%s%s does not fit %s", what.noun, what.name ? " " : "", what.name ? what.name : "",
                  rdn_tn(k, t));
}

bool rdn_cell_le(rdn_ty t, const struct rdn_cell *a, const struct rdn_cell *b) {
    return t->kind == RDN_K_FLOAT ? a->f <= b->f : t->kind == RDN_K_DEC ? a->d <= b->d : a->i <= b->i;
}

void rdn_ck_key_bytes(struct rdn_ck *k, rdn_ty t, const struct rdn_cell *v) {
    int64_t word = v->i;
    if (t->kind == RDN_K_STR || t->kind == RDN_K_TEXT) {
        rdn_buf_put(&k->buf, (const char *)&v->t.len, sizeof v->t.len);
        rdn_buf_put(&k->buf, v->t.p, v->t.len);
        return;
    }
    if (t->kind == RDN_K_DEC)
        word = (int64_t)v->d;
    if (t->kind == RDN_K_FLOAT) {
        const double f = v->f + 0.0;                     /* -0.0 and 0.0 are one value */
        memcpy(&word, &f, sizeof word);
    }
    rdn_buf_put(&k->buf, (const char *)&word, sizeof word);
}

/* ---- params ---- */
void rdn_ck_scalar(struct rdn_ck *k, rdn_ty t, struct rdn_span pos, const char *what) {
    if (t->kind == RDN_K_ARR)
        rdn_raise(k->c, "E0401", pos, NULL, "%s cannot be an array", what);
}

void rdn_ck_param(struct rdn_ck *k, struct rdn_decl *d) {
    struct rdn_d_param *p = (struct rdn_d_param *)d;
    if (d->state)
        return;                                          /* an ewma asked for its range before */
    d->state = 3;
    rdn_ck_scalar(k, p->ty, p->tpos, "a parameter");
    rdn_ck_const(k, p->v, p->ty, RDN_WHAT("the default", NULL), &p->val);
    if (p->lo) {
        if (!rdn_is(p->ty, RDN_ORD_KINDS))
            rdn_raise(k->c, "E0401", p->lo->pos, NULL, "a parameter of type %s has no range", rdn_tn(k, p->ty));
        rdn_ck_const(k, p->lo, p->ty, RDN_WHAT("a range bound", NULL), &p->vlo);
        rdn_ck_const(k, p->hi, p->ty, RDN_WHAT("a range bound", NULL), &p->vhi);
        p->ranged = true;
        if (!rdn_cell_le(p->ty, &p->vlo, &p->vhi))
            rdn_raise(k->c, "E0707", p->lo->pos, NULL, "the range is empty");
        if (!rdn_cell_le(p->ty, &p->vlo, &p->val) || !rdn_cell_le(p->ty, &p->val, &p->vhi))
            rdn_raise(k->c, "E0707", p->v->pos, NULL, "the default is outside its range");
    }
    d->state = 2;
}

/* ---- lists ---- */
static void list_inline(struct rdn_ck *k, struct rdn_d_list *d) {
    struct rdn_map seen;
    rdn_map_init(&seen, k->c->work);
    for (uint32_t i = 0; i < d->xs.n; i++) {
        struct rdn_cell *v = rdn_push(k->c->arena, &d->vals);
        rdn_ck_const(k, d->xs.v[i], d->ty, RDN_WHAT("a list element", NULL), v);
        if (d->ty->kind == RDN_K_FLOAT && v->f != v->f)
            continue;                                    /* NaN equals nothing */
        k->buf.n = 0;
        rdn_ck_key_bytes(k, d->ty, v);
        char *key = rdn_arena_strndup(k->c->work, k->buf.p, k->buf.n);
        if (!rdn_map_put(&seen, key, k->buf.n, i))
            rdn_warn(k->c, "W0907", d->xs.v[i]->pos, NULL, "list element given twice");
    }
}

static void list_file(struct rdn_ck *k, struct rdn_d_list *d) {
    struct rdn_datafile f = rdn_datafile_open(k, d->from, d->from_len, d->spos);
    const char *s;
    size_t n;
    while (rdn_datafile_line(&f, &s, &n)) {
        if (d->vals.n == RDN_LIM_FILE_LIST)
            rdn_raise(k->c, "E0706", d->spos, NULL, "more than %d elements", RDN_LIM_FILE_LIST);
        rdn_datafile_cell(k, s, n, d->ty, d->spos, rdn_push(k->c->arena, &d->vals));
    }
}

void rdn_ck_list(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_list *d = (struct rdn_d_list *)decl;
    rdn_ck_scalar(k, d->ty, d->tpos, "a list element");
    if (d->from)
        list_file(k, d);
    else
        list_inline(k, d);
}

/* ---- tables ---- */
static rdn_name column_name(const struct rdn_d_table *d, uint32_t i) {
    return i < d->keys.n ? d->keys.v[i].name : d->cols.v[i - d->keys.n].name;
}

void rdn_ck_table_shape(struct rdn_ck *k, const struct rdn_d_table *d) {
    for (uint32_t i = 0; i < d->keys.n; i++)
        if (!rdn_is(d->keys.v[i].type, RDN_KEY_KINDS))
            rdn_raise(k->c, "E0506", d->keys.v[i].pos, NULL, "%s cannot be a table key", rdn_tn(k, d->keys.v[i].type));
    for (uint32_t i = 0; i < d->cols.n; i++)
        rdn_ck_scalar(k, d->cols.v[i].type, d->cols.v[i].pos, "a table column");
    for (uint32_t i = 0; i < d->keys.n + d->cols.n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (column_name(d, i) == column_name(d, j))
                rdn_raise(k->c, "E0302", d->d.pos, NULL, "'%s' is given twice in table %s", column_name(d, i), d->d.name);
}

/* The row of these keys: a new one, or the one that was there (*ret_old). */
static struct rdn_row *row_at(struct rdn_ck *k, struct rdn_d_table *d, struct rdn_map *map, const struct rdn_cell *keys, bool *ret_old) {
    struct rdn_arena *a = k->c->arena;
    k->buf.n = 0;
    for (uint32_t i = 0; i < d->keys.n; i++)
        rdn_ck_key_bytes(k, d->keys.v[i].type, &keys[i]);
    const uint32_t at = rdn_map_get(map, k->buf.p, k->buf.n);
    *ret_old = at != RDN_MAP_NONE;
    if (*ret_old)
        return &d->vals.v[at];
    rdn_map_put(map, rdn_arena_strndup(k->c->work, k->buf.p, k->buf.n), k->buf.n, d->vals.n);
    struct rdn_row *r = rdn_push(a, &d->vals);
    r->keys = rdn_new_n(a, struct rdn_cell, d->keys.n);
    r->vals = rdn_new_n(a, struct rdn_cell, d->cols.n);
    memcpy(r->keys, keys, d->keys.n * sizeof *keys);
    return r;
}

static void row_inline(struct rdn_ck *k, struct rdn_d_table *d, const struct rdn_d_rowx *x, struct rdn_map *map) {
    struct rdn_cell keys[RDN_LIM_KEYCOLS], *vals;
    if (!x->isdef && x->k.n != d->keys.n)
        rdn_raise(k->c, "E0409", x->pos, NULL, "row has %u keys, expected %u", x->k.n, d->keys.n);
    if (x->v.n != d->cols.n)
        rdn_raise(k->c, "E0409", x->pos, NULL, "row has %u values, expected %u", x->v.n, d->cols.n);
    bool twice = x->isdef && d->def;
    for (uint32_t i = 0; i < d->keys.n && !x->isdef; i++)
        rdn_ck_const(k, x->k.v[i], d->keys.v[i].type, RDN_WHAT("key", d->keys.v[i].name), &keys[i]);
    if (x->isdef)
        vals = d->def = rdn_new_n(k->c->arena, struct rdn_cell, d->cols.n);
    else
        vals = row_at(k, d, map, keys, &twice)->vals;
    if (twice)
        rdn_raise(k->c, "E0709", x->pos, NULL, "row given twice");
    for (uint32_t i = 0; i < d->cols.n; i++)
        rdn_ck_const(k, x->v.v[i], d->cols.v[i].type, RDN_WHAT("column", d->cols.v[i].name), &vals[i]);
}

/* One line of a data file: keys, then columns, no quoting of commas. A key that comes again replaces the row. */
static void row_line(struct rdn_ck *k, struct rdn_d_table *d, const char *s, size_t n, struct rdn_map *map) {
    struct rdn_cell cells[RDN_LIM_KEYCOLS + RDN_LIM_FIELDS];
    const uint32_t want = d->keys.n + d->cols.n;
    const char *end = s + n, *parts[RDN_LIM_KEYCOLS + RDN_LIM_FIELDS + 1];
    uint32_t got = 0;
    for (const char *p = s;; p++) {
        if (got < want)
            parts[got] = p;
        got++;
        p = memchr(p, ',', (size_t)(end - p));
        if (got <= want)
            parts[got] = p ? p + 1 : end + 1;
        if (!p)
            break;
    }
    if (got != want)
        rdn_raise(k->c, "E0711", d->spos, NULL, "a row of the data file has %u values, expected %u", got, want);
    for (uint32_t i = 0; i < want; i++) {
        rdn_ty t = i < d->keys.n ? d->keys.v[i].type : d->cols.v[i - d->keys.n].type;
        rdn_datafile_cell(k, parts[i], (size_t)(parts[i + 1] - parts[i] - 1), t, d->spos, &cells[i]);
    }
    bool old;
    struct rdn_row *r = row_at(k, d, map, cells, &old);
    memcpy(r->vals, cells + d->keys.n, d->cols.n * sizeof *cells);
}

void rdn_ck_table(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_table *d = (struct rdn_d_table *)decl;
    rdn_ck_table_shape(k, d);
    struct rdn_map map;
    rdn_map_init(&map, k->c->work);
    if (d->from) {
        struct rdn_datafile f = rdn_datafile_open(k, d->from, d->from_len, d->spos);
        const char *s;
        size_t n;
        while (rdn_datafile_line(&f, &s, &n)) {
            row_line(k, d, s, n, &map);
            if (d->vals.n > RDN_LIM_TABLE_ROWS)
                rdn_raise(k->c, "E0706", d->spos, NULL, "more than %d rows", RDN_LIM_TABLE_ROWS);
        }
    }
    for (uint32_t i = 0; i < d->rows.n; i++)
        row_inline(k, d, &d->rows.v[i], &map);
}

/* ---- calendars ---- */
static void date_list(struct rdn_ck *k, const struct rdn_d_listref *q) {
    struct rdn_d_list *l = rdn_ck_find(k, q->v, RDN_D_LIST);
    if (!l) {
        rdn_near_begin(k);
        rdn_near_kinds(k, RDN_BIT(RDN_D_LIST));
        static const char *const days[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun" };
        for (int i = 0; i < 7; i++)
            rdn_near_add(k, days[i]);
        rdn_raise(k->c, "E0311", q->pos, rdn_near_end(k, q->v), "unknown list '%s'", q->v);
    }
    if (l->ty != k->D)
        rdn_raise(k->c, "E0401", q->pos, NULL, "'%s' is not a list of dates", q->v);
    l->d.used = true;
}

void rdn_ck_calendar(struct rdn_ck *k, struct rdn_decl *decl) {
    struct rdn_d_calendar *d = (struct rdn_d_calendar *)decl;
    if (!rdn_tz_find(d->tz, d->tz_len))
        rdn_raise(k->c, "E0312", d->tzpos, "UTC, +02:00 or a name such as Europe/Paris", "unknown time zone '%.64s'", d->tz);
    for (uint32_t i = 0; i < d->ss.n; i++) {
        const struct rdn_d_session *s = &d->ss.v[i];
        if (s->list.v)
            date_list(k, &s->list);
        for (uint32_t j = 0; j < s->except.n; j++)
            date_list(k, &s->except.v[j]);
    }
}
