/* SPDX-License-Identifier: Apache-2.0
 * batch.c: many rows of one event in a call: redan_eval_batch and redan_eval_columns. [hot]
 *
 * Where the executor has batches, what depends on no state is judged for a chunk of rows ahead of their turn (jit/exec.h); then each
 * row takes its turn as in redan_eval. A row that no rule fires for, of an event that feeds nothing, needs no more than a verdict; from
 * columns a row is put together only when something has to read it. */
#include "host/host.h"
#include <string.h>

/* Rows by the caller's stride, or columns: ts, presence words, fields, elements as in the row. */
struct source { uint32_t event; const uint8_t *rows; size_t stride; const redan_columns *columns; };

/* ---- reading ---- */
static int64_t ts_of(const struct source *s, size_t i) {
    int64_t ts;
    memcpy(&ts, s->rows ? s->rows + i * s->stride : (const uint8_t *)s->columns->ts + 8 * i, 8);
    return ts;
}
/* Row i: the caller's, or one put together in the binding. */
static const uint8_t *row_of(struct rdn_binding *b, const struct rdn_event *e, const struct source *s, size_t i) {
    const redan_columns *c = s->columns;
    uint8_t *row = b->ahead.row;
    if (s->rows)
        return s->rows + i * s->stride;
    memset(row, 0, e->size);
    memcpy(row, (const uint8_t *)c->ts + 8 * i, 8);
    if (e->has_present)
        memcpy(row + 8, (const uint8_t *)c->present + 8 * i, 8);
    for (uint32_t k = 0; k < e->nfields; k++)
        memcpy(row + e->fields[k].offset, (const uint8_t *)c->fields[k] + i * e->fields[k].size, e->fields[k].size);
    return row;
}
static bool columns_whole(const struct rdn_event *e, const redan_columns *c) {
    bool whole = c->nfields == e->nfields && c->ts && (c->present || !e->has_present);
    for (uint32_t k = 0; whole && k < e->nfields; k++)
        whole = c->fields[k] != NULL;
    return whole;
}
static void point_columns(const struct rdn_event *e, const struct source *s, size_t at, const void **ret) {
    const redan_columns *c = s->columns;
    ret[RDN_COL_TS] = (const uint8_t *)c->ts + 8 * at;
    ret[RDN_COL_PRESENT] = e->has_present ? (const uint8_t *)c->present + 8 * at : NULL;
    for (uint32_t k = 0; k < e->nfields; k++)
        ret[RDN_COL_FIELDS + k] = (const uint8_t *)c->fields[k] + at * e->fields[k].size;
}

/* ---- ahead ---- */
/* How many rows from `at` on are valid, of at most n. */
static uint32_t valid_rows(struct redan_lane *l, const struct rdn_event *e, const struct source *s, size_t at, uint32_t n) {
    uint32_t nsyms = rdn_sym_count(l->eng->syms), i = 0;
    if (!s->rows)
        return rdn_columns_valid(e, l->b->ahead.columns, n, nsyms);
    while (i < n && rdn_row_valid(e, s->rows + (at + i) * s->stride, nsyms))
        i++;
    return i;
}
/* The rows whose answers are in b->ahead now; 0: judge one row without. */
static uint32_t look_ahead(struct redan_lane *l, uint32_t x, const struct source *s, size_t at, size_t left) {
    struct rdn_ahead *h = &l->b->ahead;
    const struct rdn_event *e = &l->b->rs->ir->events[x];
    uint32_t n = left < h->rows[x] ? (uint32_t)left : h->rows[x];
    if (n < RDN_BATCH_MIN)
        return 0;
    if (!s->rows)
        point_columns(e, s, at, h->columns);
    n = valid_rows(l, e, s, at, n);
    if (n < RDN_BATCH_MIN)
        return 0;
    int64_t high = l->has_high_water ? l->high_water : INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        int64_t ts = ts_of(s, at + i);
        high = ts > high ? ts : high;
        h->now[i] = high;
    }
    const struct rdn_batch b = {.event = x, .n = n, .now = h->now, .rows = s->rows ? s->rows + at * s->stride : NULL, .stride = s->stride,
                                .columns = h->columns, .fired = h->fired, .mark = h->mark};
    rdn_exec_batch(l->b->frame, &b);
    return n;
}
static bool fires(const uint64_t *fired, const uint64_t *mask, uint32_t words) {
    uint64_t any = 0;
    for (uint32_t w = 0; w < words; w++)
        any |= fired[w] & mask[w];
    return any != 0;
}
/* Row number i of those looked at, `at + i` of the source. */
static void judge_ahead(struct redan_lane *l, uint32_t x, const struct source *s, size_t at, uint32_t i, redan_verdict *ret) {
    struct rdn_binding *b = l->b;
    const struct rdn_event *e = &b->rs->ir->events[x];
    uint32_t words = (e->nrules + 63) / 64;
    const uint64_t *fired = b->ahead.fired + (size_t)i * words;
    if (!b->ahead.mark[i] && b->ahead.quiet[x] && !rdn_judge_samples_next(l) && !fires(fired, b->ahead.mask[x], words))
        rdn_judge_quiet(l, ts_of(s, at + i), b->ahead.now[i], ret);
    else
        rdn_lane_judge(l, x, row_of(b, e, s, at + i), b->ahead.now[i], b->ahead.mark[i] ? NULL : fired, ret);
}

uint32_t rdn_ahead_look(struct redan_lane *l, uint32_t x, const uint8_t *rows, size_t stride, uint32_t n) {
    const struct source s = {x, rows, stride, NULL};
    return l->b->ahead.mask[x] ? look_ahead(l, x, &s, 0, n) : 0;
}
void rdn_ahead_judge(struct redan_lane *l, uint32_t x, const uint8_t *rows, size_t stride, uint32_t i, redan_verdict *ret) {
    const struct source s = {x, rows, stride, NULL};
    rdn_judge_start(l);
    judge_ahead(l, x, &s, 0, i, ret);
}

/* ---- the calls ---- */
static int judge_all(struct redan_lane *l, const struct source *s, size_t n, redan_verdict *ret, size_t *ret_done) {
    struct rdn_binding *b = l->b;
    int32_t x = rdn_lane_event(l, s->event);
    size_t done = 0;
    uint32_t ahead = 0, i = 0;
    int rc = x < 0 && n ? REDAN_E_INVAL : 0;
    if (rc == 0 && n && s->columns && !columns_whole(&b->rs->ir->events[x], s->columns))
        rc = REDAN_E_INVAL;
    /* Emitted texts may lie in the frame's scratch, which the next event reuses: such a row ends the batch. */
    for (bool more = true; rc == 0 && more && done < n && rdn_judge_has_room(b);) {
        if (i == ahead) {
            i = 0;
            ahead = b->ahead.mask && b->ahead.mask[x] ? look_ahead(l, (uint32_t)x, s, done, n - done) : 0;
        }
        if (i < ahead)
            judge_ahead(l, (uint32_t)x, s, done - i, i, &ret[done]), i++;
        else
            rc = rdn_judge_row(l, s->event, row_of(b, &b->rs->ir->events[x], s, done), &ret[done]);
        more = rc < 0 || !ret[done].nemits;
        done += rc == 0;
    }
    *ret_done = done;
    return rc;
}
static int judge_in_mode(struct redan_lane *l, const struct source *s, size_t n, redan_verdict *ret, size_t *ret_done) {
    uint32_t mode;
    bool good = rdn_judge_mode(l, &mode);
    rdn_judge_start(l);
    int rc = judge_all(l, s, n, ret, ret_done);
    if (!good)
        rdn_judge_mode_back(l, mode, *ret_done);
    return rc;
}

int redan_eval_batch(redan_lane *l, uint32_t event, const void *base, size_t stride, size_t n, redan_verdict *ret, size_t *ret_done) {
    struct source s = {event, base, stride, NULL};
    int rc = rdn_judge_enter(l, base);
    *ret_done = 0;
    return rc < 0 ? rc : judge_in_mode(l, &s, n, ret, ret_done);
}
int redan_eval_columns(redan_lane *l, uint32_t event, const redan_columns *columns, size_t n, redan_verdict *ret, size_t *ret_done) {
    struct source s = {event, NULL, 0, columns};
    int rc = rdn_judge_enter(l, columns);
    *ret_done = 0;
    return rc < 0 ? rc : judge_in_mode(l, &s, n, ret, ret_done);
}
