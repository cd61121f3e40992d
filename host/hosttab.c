/* SPDX-License-Identifier: Apache-2.0
 * hosttab.c: rows of host tables through redan.h (LANGUAGE.md chapter 9).
 *
 * redan_table                     [setup]  a name becomes a number that stays, whatever rules are active
 * redan_row_put, redan_row_erase  [hot]    O(1): checks every value against the declaration, then one look-up and a copy
 *
 * A row belongs to one lane, whose thread writes it: no event of the lane can see half of a row or half of two. */
#include "base/text.h"
#include "host/host.h"
#include <string.h>

static int16_t find_table(const struct redan_ruleset *rs, const char *name) {
    uint32_t k = rdn_name_find(rs->host_tables, rs->nhost_tables, name);
    return k == UINT32_MAX ? -1 : (int16_t)k;
}

void rdn_active_map_tables(const struct redan_engine *e, struct rdn_active *a) {
    memset(a->tabmap, 0xff, sizeof a->tabmap);
    for (uint32_t i = 0; i < e->ntables; i++)
        a->tabmap[i] = find_table(a->rs, e->tables[i]);
}

static int bind_table(struct redan_engine *e, const char *name, uint32_t *ret, redan_error *reterr) {
    struct rdn_active *a = atomic_load_explicit(&e->active, memory_order_relaxed);
    uint32_t n = e->ntables;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(e->tables[i], name) == 0)
            return (int)(*ret = i, 0);
    if (n == RDN_TABLES_MAX)
        return rdn_fail(reterr, FULL, "R3017", "more than %u names of host tables", RDN_TABLES_MAX);
    const char *copy = rdn_arena_strndup(&e->names, name, strlen(name));
    if (!copy)
        return rdn_fail(reterr, NOMEM, "", "no memory for the name of a host table");
    e->tables[n] = copy;
    if (a)
        a->tabmap[n] = find_table(a->rs, name);
    atomic_store_explicit(&e->ntables, n + 1, memory_order_release);
    *ret = n;
    return 0;
}

int redan_table(redan_engine *e, const char *name, uint32_t *ret_table, redan_error *reterr) {
    if (!name || !ret_table)
        return rdn_fail(reterr, INVAL, "", "no name or no place for the number of a host table");
    rdn_tag_setup_begin(e, "redan_table");
    pthread_mutex_lock(&e->lock);
    int rc = bind_table(e, name, ret_table, reterr);
    pthread_mutex_unlock(&e->lock);
    rdn_tag_setup_end(e);
    return rc;
}

/* ---- values ---- */
static int take_text(const redan_value *v, const struct rdn_type *t, struct rdn_cell *ret) {
    if (v->type != REDAN_T_TEXT)
        return REDAN_E_LAYOUT;
    if (v->len && (!v->as.text || memchr(v->as.text, 0, v->len) || !rdn_utf8_valid(v->as.text, v->len)))
        return REDAN_E_INVAL;
    if (t->kind == RDN_K_STR) {
        ret->t.p = v->len ? v->as.text : "";
        ret->t.len = v->len;
        return v->len <= t->n ? 0 : REDAN_E_INVAL;
    }
    for (ret->i = 0; ret->i < t->n; ret->i++)
        if (strlen(t->members[ret->i]) == v->len && memcmp(t->members[ret->i], v->as.text, v->len) == 0)
            return 0;
    return REDAN_E_INVAL;
}

/* Exact at the column's scale and in 64 bits, or not at all. */
static int take_dec(const redan_value *v, const struct rdn_type *t, struct rdn_cell *ret) {
    rdn_i128 m = (rdn_i128)((rdn_u128)(uint64_t)v->as.dec.hi << 64 | v->as.dec.lo), back;
    if (v->type != REDAN_T_DEC)
        return REDAN_E_LAYOUT;
    if (v->scale == t->scale && rdn_fits_i64(m))
        return (void)(ret->d = m), 0;
    if (v->scale > 18 || !rdn_dec_rescale(m, v->scale, t->scale, &ret->d) || !rdn_fits_i64(ret->d))
        return REDAN_E_INVAL;
    return rdn_dec_rescale(ret->d, t->scale, v->scale, &back) && back == m ? 0 : REDAN_E_INVAL;
}

static int take_int(const redan_value *v, uint8_t type, int64_t low, int64_t high, struct rdn_cell *ret) {
    ret->i = v->as.i;
    return v->type != type ? REDAN_E_LAYOUT : low <= ret->i && ret->i <= high ? 0 : REDAN_E_INVAL;
}

static int take(const struct redan_engine *e, const redan_value *v, const struct rdn_type *t, struct rdn_cell *ret) {
    *ret = (struct rdn_cell){ 0 };
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL:
        return take_int(v, REDAN_T_BOOL, 0, 1, ret);
    case RDN_K_INT:
        return take_int(v, REDAN_T_INT, INT64_MIN, INT64_MAX, ret);
    case RDN_K_TIME:
        return take_int(v, REDAN_T_TIME, INT64_MIN, INT64_MAX, ret);
    case RDN_K_DUR:
        return take_int(v, REDAN_T_DUR, INT64_MIN, INT64_MAX, ret);
    case RDN_K_DATE:
        return take_int(v, REDAN_T_DATE, INT32_MIN, INT32_MAX, ret);
    case RDN_K_SYM:
        return take_int(v, REDAN_T_SYM, 0, (int64_t)rdn_sym_count(e->syms) - 1, ret);
    case RDN_K_ENUM:
        return v->type == REDAN_T_INT ? take_int(v, REDAN_T_INT, 0, (int64_t)t->n - 1, ret) : take_text(v, t, ret);
    case RDN_K_STR:
        return take_text(v, t, ret);
    case RDN_K_DEC:
        return take_dec(v, t, ret);
    case RDN_K_FLOAT:
        ret->f = v->as.f;
        return v->type == REDAN_T_FLOAT ? 0 : REDAN_E_LAYOUT;
    case RDN_K_TEXT: case RDN_K_ARR: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT:
        break;
    }
    return REDAN_E_LAYOUT;
}

static int take_all(const struct redan_engine *e, const redan_value *v, uint32_t n, const struct rdn_column *cols, uint32_t ncols, struct rdn_cell *ret) {
    if (n != ncols || !v)
        return REDAN_E_LAYOUT;
    for (uint32_t i = 0; i < n; i++) {
        int rc = take(e, &v[i], cols[i].type, &ret[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The table of the active rules behind an engine's number, or a negative code. */
static int enter_table(struct redan_lane *l, uint32_t table, const char *call) {
    rdn_tag_lane(l, call);
    if (!*l->eng->alive)
        return REDAN_E_CLOSED;
    if (table >= atomic_load_explicit(&l->eng->ntables, memory_order_acquire))
        return REDAN_E_INVAL;
    return rdn_lane_sync(l) && l->active->tabmap[table] >= 0 ? l->active->tabmap[table] : REDAN_E_NOSUP;
}

int redan_row_put(redan_lane *l, uint32_t table, const redan_value *keys, uint32_t nkeys, const redan_value *values, uint32_t nvalues) {
    struct rdn_cell k[RDN_TABLE_KEYS_MAX], v[RDN_TABLE_COLS_MAX];
    int x = enter_table(l, table, "redan_row_put");
    if (x < 0)
        return x;
    const struct rdn_table *t = &l->b->rs->ir->tables[x];
    int rc = take_all(l->eng, keys, nkeys, t->keys, t->nkeys, k);
    rc = rc < 0 ? rc : take_all(l->eng, values, nvalues, t->cols, t->ncols, v);
    return rc < 0 ? rc : rdn_lane_row(l, (uint32_t)x, k, v) ? 0 : REDAN_E_FULL;
}

int redan_row_erase(redan_lane *l, uint32_t table, const redan_value *keys, uint32_t nkeys) {
    struct rdn_cell k[RDN_TABLE_KEYS_MAX];
    int x = enter_table(l, table, "redan_row_erase");
    if (x < 0)
        return x;
    const struct rdn_table *t = &l->b->rs->ir->tables[x];
    int rc = take_all(l->eng, keys, nkeys, t->keys, t->nkeys, k);
    if (rc == 0)
        rdn_lane_row(l, (uint32_t)x, k, NULL);
    return rc;
}

int redan_row_count(redan_lane *l, uint32_t table, uint32_t *ret) {
    int x = enter_table(l, table, "redan_row_count");
    if (x >= 0)
        *ret = rdn_tab_rows(l->b->tabs[x]);
    return x < 0 ? x : 0;
}
