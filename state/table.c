/* SPDX-License-Identifier: Apache-2.0
 * table.c: rows by key (LANGUAGE.md chapter 9).
 *
 * File tables point at the values in the rule set. Host tables keep their rows, texts included, in the memory reserved for
 * their capacity: setting a row allocates nothing. rdn_tab_find is one hash look-up. */
#include "state/data.h"
#include "state/keytab.h"

struct rdn_tab {
    struct rdn_keytab rows;                              /* state: a pointer to the values, or (host) the values and their texts */
    const struct rdn_table *def;
    const struct rdn_mem *mem;
};

static uint32_t key_words(const struct rdn_table *d) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->nkeys; i++)
        n += rdn_key_words(d->keys[i].type);
    return n;
}

static size_t host_row_bytes(const struct rdn_table *d) {
    size_t n = d->ncols * sizeof(struct rdn_cell);
    for (uint32_t i = 0; i < d->ncols; i++)
        n += d->cols[i].type->kind == RDN_K_STR ? d->cols[i].type->n : 0;
    return n;
}

/* Of equal keys in a data file the last row counts. */
static void add_file_row(struct rdn_tab *t, const struct rdn_row *r) {
    struct rdn_key k;
    rdn_key_begin(&k);
    for (uint32_t i = 0; i < t->def->nkeys; i++)
        rdn_key_add(&k, t->def->keys[i].type, &r->keys[i]);
    rdn_key_end(&k);
    if (k.absent)
        return;
    uint32_t id = rdn_keytab_find(&t->rows, k.w, k.hash);
    if (id == RDN_KT_NONE)
        id = rdn_keytab_insert(&t->rows, k.w, k.hash);
    *(const struct rdn_cell **)rdn_keytab_state(&t->rows, id) = r->vals;
}

int rdn_tab_open(const struct rdn_table *d, const struct rdn_mem *mem, struct rdn_tab **ret) {
    struct rdn_tab *t = rdn_zalloc(mem, sizeof *t);
    if (!t)
        return REDAN_E_NOMEM;
    t->def = d;
    t->mem = mem;
    int rc = d->host ? rdn_keytab_open(&t->rows, d->cap, key_words(d), host_row_bytes(d), 16, mem, false, NULL)
                     : rdn_keytab_open(&t->rows, d->nrows, key_words(d), sizeof(struct rdn_cell *), 8, mem, false, NULL);
    if (rc < 0) {
        rdn_free(mem, t, sizeof *t);
        return rc;
    }
    for (uint32_t i = 0; !d->host && i < d->nrows; i++)
        add_file_row(t, &d->rows[i]);
    *ret = t;
    return 0;
}

void rdn_tab_close(struct rdn_tab *t) {
    if (!t)
        return;
    rdn_keytab_close(&t->rows);
    rdn_free(t->mem, t, sizeof *t);
}

const struct rdn_cell *rdn_tab_find(const struct rdn_tab *t, const struct rdn_key *k) {
    uint32_t id = k->absent ? RDN_KT_NONE : rdn_keytab_find(&t->rows, k->w, k->hash);
    if (id == RDN_KT_NONE)
        return t->def->def;
    void *st = rdn_keytab_state(&t->rows, id);
    return t->def->host ? st : *(const struct rdn_cell **)st;
}

/* `vals` may be the row itself. */
static void copy_row(const struct rdn_table *d, struct rdn_cell *row, const struct rdn_cell *vals) {
    char *text = (char *)(row + d->ncols);
    for (uint32_t i = 0; i < d->ncols; i++) {
        row[i] = vals[i];
        if (d->cols[i].type->kind != RDN_K_STR)
            continue;
        uint32_t len = vals[i].t.len < d->cols[i].type->n ? vals[i].t.len : d->cols[i].type->n;
        if (len)
            memmove(text, vals[i].t.p, len);
        row[i].t.p = text;
        row[i].t.len = len;
        text += d->cols[i].type->n;
    }
}

bool rdn_tab_set(struct rdn_tab *t, const struct rdn_key *k, const struct rdn_cell *vals) {
    uint32_t id = k->absent ? RDN_KT_NONE : rdn_keytab_find(&t->rows, k->w, k->hash);
    if (!vals) {
        if (id != RDN_KT_NONE)
            rdn_keytab_remove(&t->rows, id);
        return true;
    }
    if (id == RDN_KT_NONE) {
        if (k->absent || t->rows.n >= t->rows.cap)
            return false;
        id = rdn_keytab_insert(&t->rows, k->w, k->hash);
    }
    copy_row(t->def, rdn_keytab_state(&t->rows, id), vals);
    return true;
}

uint32_t rdn_tab_rows(const struct rdn_tab *t) { return t->rows.n; }

/* Key types, and names and types of the columns, in order; names of keys do not matter (chapter 13). */
static bool same_shape(const struct rdn_table *a, const struct rdn_table *b) {
    if (!a->host || !b->host || a->nkeys != b->nkeys || a->ncols != b->ncols)
        return false;
    for (uint32_t i = 0; i < a->nkeys; i++)
        if (!rdn_type_same(a->keys[i].type, b->keys[i].type))
            return false;
    for (uint32_t i = 0; i < a->ncols; i++)
        if (strcmp(a->cols[i].name, b->cols[i].name) != 0 || !rdn_type_same(a->cols[i].type, b->cols[i].type))
            return false;
    return true;
}

bool rdn_tab_carry(struct rdn_tab *to, const struct rdn_tab *from) {
    if (!same_shape(to->def, from->def) || from->rows.n > to->rows.cap)
        return false;
    rdn_keytab_clear(&to->rows);
    for (uint32_t id = rdn_keytab_next(&from->rows, RDN_KT_NONE); id != RDN_KT_NONE; id = rdn_keytab_next(&from->rows, id)) {
        const uint64_t *key = rdn_keytab_key(&from->rows, id);
        uint32_t copy = rdn_keytab_insert(&to->rows, key, rdn_key_hash(key, from->rows.words));
        copy_row(to->def, rdn_keytab_state(&to->rows, copy), rdn_keytab_state(&from->rows, id));
    }
    return true;
}
