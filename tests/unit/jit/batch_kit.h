/* SPDX-License-Identifier: Apache-2.0
 * batch_kit.h: batches of an executor against interp, event by event: as rows and as columns, columns on odd addresses that end where
 * the process's memory ends, any number of events, and events begun with a batch's answers. */
#ifndef RDN_BATCH_KIT_H
#define RDN_BATCH_KIT_H
#include <stdlib.h>
#include <sys/mman.h>
#include "tests/unit/rows.h"
#include "tests/unit/jit/jit_fake.h"

struct batch_counts { uint64_t events, marked, rules, fired; };
struct batch_kit {
    const struct rdn_ir *ir;
    struct rdn_program *px;
    struct rdn_frame *fi, *fx;                           /* interp, and the executor */
    const char *what;
    void (*show)(const uint8_t *row, uint32_t rule);     /* about a difference; may be NULL */
    struct batch_counts counts;
};

/* `size` bytes that end where the process's memory ends. */
static inline uint8_t *guarded(size_t size, uint8_t **ret_map, size_t *ret_len) {
    size_t page = 4096, n = (size + page - 1) / page * page;
    uint8_t *p = mmap(NULL, n + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED && !mprotect(p + page, n, PROT_READ | PROT_WRITE));
    *ret_map = p;
    *ret_len = n + 2 * page;
    return p + page + n - size;
}
enum { BATCH_COLUMNS = 80 };
struct batch_columns { const void *col[BATCH_COLUMNS]; uint8_t *map[BATCH_COLUMNS]; size_t len[BATCH_COLUMNS]; unsigned n; };
static inline void columns_open(struct batch_columns *c, const struct rdn_event *ev, const uint8_t *rows, size_t stride, uint32_t n) {
    c->n = RDN_COL_FIELDS + ev->nfields;
    assert_true(c->n <= BATCH_COLUMNS);
    for (unsigned k = 0; k < c->n; k++) {
        uint32_t size = k < RDN_COL_FIELDS ? 8 : ev->fields[k - RDN_COL_FIELDS].size;
        uint32_t at = k < RDN_COL_FIELDS ? 8 * k : ev->fields[k - RDN_COL_FIELDS].offset;
        uint8_t *p = guarded((size_t)size * n, &c->map[k], &c->len[k]);
        c->col[k] = p;
        for (uint32_t i = 0; i < n; i++)
            memcpy(p + (size_t)size * i, rows + stride * i + at, size);
    }
    if (!ev->has_present)
        c->col[RDN_COL_PRESENT] = NULL;
}
static inline void columns_close(struct batch_columns *c) {
    for (unsigned k = 0; k < c->n; k++)
        munmap(c->map[k], c->len[k]);
}

static inline void batch_differs(const struct batch_kit *k, const uint8_t *row, uint32_t i, uint32_t rule, bool want, bool undef, bool got) {
    if (k->show)
        k->show(row, rule);
    check(false, "%s: event %u rule %u: interp fired %d undef %d, the batch fired %d", k->what, i, rule, want, undef, got);
}
/* One event of the batch against interp, then begun with the batch's answers. */
static inline void batch_event(struct batch_kit *k, const struct rdn_batch *b, const uint8_t *row, uint32_t i, const uint64_t *mask) {
    const struct rdn_event *ev = &k->ir->events[b->event];
    struct rdn_frame_head *a = rdn_frame_head(k->fi), *x = rdn_frame_head(k->fx);
    uint32_t words = (ev->nrules + 63) / 64;
    const uint64_t *got = b->fired + (size_t)i * words;
    int64_t ts;
    memcpy(&ts, row, 8);
    rdn_exec_begin(k->fi, b->event, row, b->now[i], ts);
    rdn_exec_rules(k->fi, RDN_EARLY);
    k->counts.events++;
    if (b->mark[i]) {
        k->counts.marked++;
        return;
    }
    for (uint32_t r = 0; r < ev->nrules; r++) {
        bool want = a->fired[r / 64] >> r % 64 & 1, undef = a->undef[r / 64] >> r % 64 & 1, is = got[r / 64] >> r % 64 & 1;
        if (!(mask[r / 64] >> r % 64 & 1))
            continue;
        k->counts.rules++;
        k->counts.fired += is;
        if (is != want || undef)
            batch_differs(k, row, i, r, want, undef, is);
    }
    rdn_exec_begin_known(k->fx, b->event, row, b->now[i], ts, got);
    rdn_exec_rules(k->fx, RDN_EARLY);
    for (uint32_t w = 0; w < words; w++)
        check(a->fired[w] == x->fired[w] && a->undef[w] == x->undef[w], "%s: event %u begun with the batch's answers", k->what, i);
}
/* `n` rows, `stride` apart. Rows and columns must answer the same. */
static inline void batch_compare(struct batch_kit *k, uint32_t event, const uint8_t *rows, size_t stride, uint32_t n, const int64_t *now) {
    const struct rdn_event *ev = &k->ir->events[event];
    const uint64_t *mask = rdn_exec_batch_rules(k->px, event);
    uint32_t words = (ev->nrules + 63) / 64;
    struct batch_columns cols;
    if (!mask)
        return;
    uint64_t *fired[2] = {malloc(8 * (size_t)words * n), malloc(8 * (size_t)words * n)};
    uint8_t *mark[2] = {malloc(n), malloc(n)};
    columns_open(&cols, ev, rows, stride, n);
    for (unsigned c = 0; c < 2; c++) {
        struct rdn_batch b = {.event = event, .n = n, .now = now, .rows = c ? NULL : rows, .stride = stride, .columns = cols.col, .fired = fired[c], .mark = mark[c]};
        rdn_exec_batch(k->fx, &b);
        if (c)
            for (uint32_t i = 0; i < n; i++)
                batch_event(k, &b, rows + stride * i, i, mask);
    }
    check(!memcmp(mark[0], mark[1], n), "%s: rows and columns mark other events", k->what);
    for (uint32_t i = 0; i < n * words; i++)
        check(mark[0][i / words] || !((fired[0][i] ^ fired[1][i]) & mask[i % words]), "%s: rows and columns answer differently in event %u", k->what, i / words);
    columns_close(&cols);
    for (unsigned c = 0; c < 2; c++) {
        free(fired[c]);
        free(mark[c]);
    }
}
#endif
