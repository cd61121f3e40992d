/* SPDX-License-Identifier: Apache-2.0
 * arrow.c: schemas, arrays and streams of the Arrow C data interface (arrow.h).
 *
 * A structure that is handed out has one block behind it, which holds its children's structures too: a child that a consumer moves out is
 * released by itself, so the block of an array counts who is left. */
#include "market/arrow.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "market/decimal.h"
#include "market/feed.h"

/* --- schemas --- */

enum { META_BYTES = 64, ARROW_NULLABLE = 2 };
struct schema_block {
    _Atomic uint32_t left;                               /* structures of this block that are not released yet */
    struct ArrowSchema *list[RDN_COLUMNS_MAX];
    struct ArrowSchema child[RDN_COLUMNS_MAX];
    char meta[RDN_COLUMNS_MAX][META_BYTES];
};

static const char *format_of(enum rdn_column_type t) {
    static const char *const formats[] = { "tsn:UTC", "l", "l", "L", "I", "S", "C", "d:38,9" };
    return formats[t];
}

static void drop_schema(struct schema_block *b) {
    if (atomic_fetch_sub_explicit(&b->left, 1, memory_order_acq_rel) == 1)
        rdn_free(&rdn_libc_mem, b, sizeof *b);
}

static void release_schema(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release)
            s->children[i]->release(s->children[i]);
    s->release = NULL;
    drop_schema(s->private_data);
}

/* What all instruments have in common; 0: they differ, or there is none. */
static int64_t common(const redan_feed *f, bool tick) {
    int64_t unit = 0;
    for (uint32_t i = 0; f && i < f->books.n; i++) {
        int64_t u = tick ? f->instruments[i].tick_nano : f->instruments[i].lot_nano;
        if (unit && u != unit)
            return 0;
        unit = u;
    }
    return unit;
}

/* One pair: the count, then each text behind its length. */
static const char *metadata(char out[META_BYTES], const char *key, const char *value) {
    int32_t n = 1, k = (int32_t)strlen(key), v = (int32_t)strlen(value);
    memcpy(out, &n, 4);
    memcpy(out + 4, &k, 4);
    memcpy(out + 8, key, (size_t)k);
    memcpy(out + 8 + k, &v, 4);
    memcpy(out + 12 + k, value, (size_t)v);
    return out;
}

static void fill_schema(struct schema_block *b, struct ArrowSchema *s, char meta[META_BYTES], const struct rdn_column_def *d, bool decimal, const redan_feed *f) {
    char unit[RDN_TEXT_MAX];
    bool amount = d->type == RDN_COL_PX || d->type == RDN_COL_QTY;
    int64_t nano = amount ? common(f, d->type == RDN_COL_PX) : 0;
    *s = (struct ArrowSchema){ .format = format_of(amount && decimal ? RDN_COL_DEC : d->type), .name = d->name, .flags = d->may_be_absent ? ARROW_NULLABLE : 0,
                               .release = release_schema, .private_data = b };
    if (nano) {
        rdn_decimal_text(unit, nano);
        s->metadata = metadata(meta, d->type == RDN_COL_PX ? "redan.tick" : "redan.lot", unit);
    }
    atomic_fetch_add_explicit(&b->left, 1, memory_order_relaxed);
}

bool rdn_arrow_schema(enum rdn_market_table t, bool decimal, const redan_feed *f, struct ArrowSchema *ret) {
    uint32_t n;
    const struct rdn_column_def *d = rdn_table_columns(t, &n);
    struct schema_block *b = rdn_zalloc(&rdn_libc_mem, sizeof *b);
    if (!b)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        fill_schema(b, &b->child[i], b->meta[i], &d[i], decimal, f);
        b->list[i] = &b->child[i];
    }
    atomic_fetch_add_explicit(&b->left, 1, memory_order_relaxed);
    *ret = (struct ArrowSchema){ .format = "+s", .name = rdn_table_name(t), .n_children = n, .children = b->list, .release = release_schema, .private_data = b };
    return true;
}

bool rdn_arrow_column_schema(enum rdn_market_table t, uint32_t column, bool decimal, const redan_feed *f, struct ArrowSchema *ret) {
    uint32_t n;
    const struct rdn_column_def *d = rdn_table_columns(t, &n);
    struct schema_block *b = rdn_zalloc(&rdn_libc_mem, sizeof *b);
    if (b)
        fill_schema(b, ret, b->meta[0], &d[column], decimal, f);
    return b != NULL;
}

/* --- arrays --- */

struct array_block {
    _Atomic uint32_t left;
    struct rdn_columns *c;
    const void *buffers[RDN_COLUMNS_MAX + 1][2];
    struct ArrowArray *list[RDN_COLUMNS_MAX];
    struct ArrowArray child[RDN_COLUMNS_MAX];
};

static void release_array(struct ArrowArray *a) {
    struct array_block *b = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release)
            a->children[i]->release(a->children[i]);
    a->release = NULL;
    if (atomic_fetch_sub_explicit(&b->left, 1, memory_order_acq_rel) > 1)
        return;
    rdn_columns_unref(b->c);
    rdn_free(&rdn_libc_mem, b, sizeof *b);
}

static struct array_block *array_block(struct rdn_columns *c) {
    struct array_block *b = rdn_zalloc(&rdn_libc_mem, sizeof *b);
    if (b)
        b->c = rdn_columns_ref(c);
    return b;
}

static void fill_array(struct array_block *b, struct ArrowArray *a, uint32_t column) {
    const struct rdn_columns *c = b->c;
    b->buffers[column][0] = c->absent[column] ? c->valid[column] : NULL;
    b->buffers[column][1] = c->data[column];
    *a = (struct ArrowArray){ .length = c->n, .null_count = (int64_t)c->absent[column], .n_buffers = 2, .buffers = b->buffers[column],
                              .release = release_array, .private_data = b };
    atomic_fetch_add_explicit(&b->left, 1, memory_order_relaxed);
}

bool rdn_arrow_array(struct rdn_columns *c, struct ArrowArray *ret) {
    struct array_block *b = array_block(c);
    if (!b)
        return false;
    for (uint32_t i = 0; i < c->ncols; i++) {
        fill_array(b, &b->child[i], i);
        b->list[i] = &b->child[i];
    }
    atomic_fetch_add_explicit(&b->left, 1, memory_order_relaxed);
    *ret = (struct ArrowArray){ .length = c->n, .n_buffers = 1, .buffers = b->buffers[RDN_COLUMNS_MAX], .n_children = c->ncols, .children = b->list,
                                .release = release_array, .private_data = b };
    return true;
}

bool rdn_arrow_column_array(struct rdn_columns *c, uint32_t column, struct ArrowArray *ret) {
    struct array_block *b = array_block(c);
    if (b)
        fill_array(b, ret, column);
    return b != NULL;
}

/* --- streams --- */

struct stream { struct rdn_cursor *cursor; redan_error why; };

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    struct stream *t = s->private_data;
    const struct rdn_cursor_options *o = rdn_cursor_of(t->cursor);
    struct rdn_reading *p = rdn_cursor_pass(t->cursor);
    pthread_mutex_lock(&p->lock);
    bool ok = rdn_arrow_schema(o->table, o->decimal, p->feed, out);
    pthread_mutex_unlock(&p->lock);
    return ok ? 0 : ENOMEM;
}

static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    struct stream *t = s->private_data;
    struct rdn_columns *c;
    if (rdn_cursor_next(t->cursor, &c, &t->why) < 0)
        return EIO;
    *out = (struct ArrowArray){ 0 };                     /* released: the end */
    bool ok = !c || rdn_arrow_array(c, out);
    rdn_columns_unref(c);
    return ok ? 0 : ENOMEM;
}

static const char *stream_why(struct ArrowArrayStream *s) {
    const struct stream *t = s->private_data;
    return t->why.text[0] ? t->why.text : NULL;
}

static void release_stream(struct ArrowArrayStream *s) {
    struct stream *t = s->private_data;
    rdn_cursor_unref(t->cursor);
    rdn_free(&rdn_libc_mem, t, sizeof *t);
    s->release = NULL;
}

bool rdn_arrow_stream(struct rdn_cursor *c, struct ArrowArrayStream *ret) {
    struct stream *t = rdn_zalloc(&rdn_libc_mem, sizeof *t);
    if (!t)
        return false;
    t->cursor = rdn_cursor_ref(c);
    *ret = (struct ArrowArrayStream){ stream_schema, stream_next, stream_why, release_stream, t };
    return true;
}
