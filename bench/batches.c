/* SPDX-License-Identifier: Apache-2.0
 * batches.c: see batches.h. */
#include "bench/batches.h"
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 16 };
struct batches {
    const struct rdn_event *ev;
    const struct set_event *events;
    uint8_t *columns[RDN_COL_FIELDS + FIELDS];           /* all NULL: structs */
    bool is_columns;
    int64_t *now;
    uint64_t *fired;
    uint8_t *mark;
    uint32_t words;
};

static bool split(struct batches *b, uint32_t n) {
    for (uint32_t c = 0; c < RDN_COL_FIELDS + b->ev->nfields; c++) {
        uint32_t size = c < RDN_COL_FIELDS ? 8 : b->ev->fields[c - RDN_COL_FIELDS].size;
        uint32_t at = c == RDN_COL_TS ? 0 : c == RDN_COL_PRESENT ? 8 : b->ev->fields[c - RDN_COL_FIELDS].offset;
        if (c == RDN_COL_PRESENT && !b->ev->has_present)
            continue;
        if (!(b->columns[c] = aligned_alloc(64, ((size_t)size * n + 63) & ~(size_t)63)))
            return false;
        for (uint32_t i = 0; i < n; i++)
            memcpy(b->columns[c] + (size_t)size * i, (const uint8_t *)&b->events[i] + at, size);
    }
    return true;
}
struct batches *batches_open(const struct rdn_ir *ir, const struct set_event *events, uint32_t n, bool columns) {
    struct batches *b = calloc(1, sizeof *b);
    if (!b || ir->events[0].nfields > FIELDS)
        return NULL;
    b->ev = &ir->events[0];
    b->events = events;
    b->is_columns = columns;
    b->words = (b->ev->nrules + 63) / 64;
    b->now = malloc(n * sizeof *b->now);
    b->fired = aligned_alloc(64, ((size_t)n * b->words * 8 + 63) & ~(size_t)63);
    b->mark = malloc(n);
    if (!b->now || !b->fired || !b->mark || (columns && !split(b, n)))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        b->now[i] = events[i].ts;
    return b;
}
void batches_close(struct batches *b) {
    for (uint32_t c = 0; b && c < RDN_COL_FIELDS + FIELDS; c++)
        free(b->columns[c]);
    if (b) {
        free(b->now);
        free(b->fired);
        free(b->mark);
    }
    free(b);
}

static void singly(struct batches *b, struct rdn_frame *f, uint32_t i) {
    rdn_exec_begin(f, 0, (const uint8_t *)&b->events[i], b->now[i], b->now[i]);
    rdn_exec_rules(f, RDN_EARLY);
    memcpy(b->fired + (size_t)i * b->words, rdn_frame_head(f)->fired, 8 * (size_t)b->words);
}
uint32_t batches_judge(struct batches *b, struct rdn_frame *f, uint32_t at, uint32_t n) {
    uint32_t marked = 0;
    for (uint32_t end = at + n; at < end; at += n) {
        const void *columns[RDN_COL_FIELDS + FIELDS] = {NULL};
        n = end - at < RDN_BATCH_MAX ? end - at : RDN_BATCH_MAX;
        for (uint32_t c = 0; b->is_columns && c < RDN_COL_FIELDS + b->ev->nfields; c++)
            columns[c] = b->columns[c] ? b->columns[c] + (size_t)at * (c < RDN_COL_FIELDS ? 8 : b->ev->fields[c - RDN_COL_FIELDS].size) : NULL;
        struct rdn_batch k = {.event = 0, .n = n, .now = b->now + at, .rows = b->is_columns ? NULL : (const uint8_t *)&b->events[at],
                              .stride = sizeof *b->events, .columns = columns, .fired = b->fired + (size_t)at * b->words, .mark = b->mark + at};
        rdn_exec_batch(f, &k);
        for (uint32_t i = at; i < at + n; i++)
            if (b->mark[i]) {
                singly(b, f, i);
                marked++;
            }
    }
    return marked;
}
const uint64_t *batches_words(const struct batches *b, uint32_t i) { return b->fired + (size_t)i * b->words; }
