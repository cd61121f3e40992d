/* SPDX-License-Identifier: Apache-2.0
 * sample.c: see sample.h.
 *
 * Each slot has a state: odd while it is written, one more step each time. A reader copies a slot and keeps the copy when the state
 * was even and is the same afterwards. Words are released and acquired one by one: thread sanitizers know no fences. */
#include "jit/sample.h"
#include <string.h>
#include "base/hash.h"

enum { DENSE = 32, SPARSE = 1024, DENSE_EVENTS = 2 * RDN_REPLAN_EVENTS };
struct slot { uint64_t state, event, now, row[]; };
struct rdn_samples {
    const struct rdn_mem *mem;
    size_t bytes;
    uint64_t shape;                                      /* of the events: rings of one shape can be handed on */
    uint32_t nevents, nslots, words;                     /* words: of a slot */
    uint32_t *size;                                      /* by event: words of a row, 0: too long to be kept */
    uint64_t *seen, *slots, taken;                       /* read by other threads */
    uint64_t events, rnd; uint32_t step;                 /* the lane's alone; step: from the sample before to the next one */
};

static inline uint64_t load(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void store(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static struct slot *slot_at(const struct rdn_samples *s, uint32_t i) { return (struct slot *)(void *)(s->slots + (size_t)i * s->words); }

int rdn_samples_open(const struct rdn_ir *ir, const struct rdn_mem *mem, struct rdn_samples **ret) {
    enum { ROW_MAX = 4096 };                             /* longer events are not planned (RDN_PLAN_MAX_EVENT) */
    uint32_t row = 0, n = RDN_SAMPLE_RING;
    uint64_t shape = RDN_FNV64_INIT;
    for (uint32_t e = 0; e < ir->nevents; e++) {
        uint32_t size = ir->events[e].size;
        shape = rdn_mix64(shape ^ ir->events[e].layout_hash);
        row = size <= ROW_MAX && size > row ? size : row;
    }
    uint32_t words = (uint32_t)(sizeof(struct slot) / 8) + (row + 7) / 8;
    while (n > 16 && (size_t)n * words * 8 > RDN_SAMPLE_BYTES)
        n /= 2;
    size_t head = (sizeof(struct rdn_samples) + 15) & ~(size_t)15, seen = 8 * (size_t)(ir->nevents + 1), sizes = (4 * (size_t)ir->nevents + 15) & ~(size_t)7;
    size_t bytes = head + seen + sizes + (size_t)n * words * 8;
    struct rdn_samples *s = rdn_realloc(mem, NULL, 0, bytes);
    if (!s)
        return REDAN_E_NOMEM;
    memset(s, 0, head + seen + sizes);                   /* slots are written before they are read: most rings are handed on and never used */
    uint8_t *p = (uint8_t *)s + head;
    *s = (struct rdn_samples){.mem = mem, .bytes = bytes, .shape = shape, .nevents = ir->nevents, .nslots = n, .words = words, .rnd = shape, .step = RDN_SAMPLE_FIRST};
    s->seen = (uint64_t *)(void *)p;
    s->slots = (uint64_t *)(void *)(p + seen + sizes);
    s->size = (uint32_t *)(void *)(p + seen);
    for (uint32_t e = 0; e < ir->nevents; e++)
        s->size[e] = ir->events[e].size <= ROW_MAX ? (ir->events[e].size + 7) / 8 : 0;
    *ret = s;
    return 0;
}
void rdn_samples_close(struct rdn_samples *s) {
    if (s)
        rdn_free(s->mem, s, s->bytes);
}

bool rdn_samples_alike(const struct rdn_samples *a, const struct rdn_samples *b) { return a->shape == b->shape && a->bytes == b->bytes; }
uint64_t rdn_samples_seen(const struct rdn_samples *s, uint32_t event) { return load(&s->seen[event]); }

/* The lane alone writes. */
uint32_t rdn_samples_take(struct rdn_samples *s, uint32_t event, const uint8_t *row, int64_t now) {
    uint32_t n = s->size[event], mean = s->events < DENSE_EVENTS ? DENSE : SPARSE;
    if (n) {
        struct slot *to = slot_at(s, (uint32_t)(s->taken % s->nslots));
        uint64_t state = to->state | 1, w;               /* of a new slot: whatever was there */
        store(&to->state, state + 2);
        store(&to->event, event);
        store(&to->now, (uint64_t)now);
        for (uint32_t i = 0; i < n; i++) {               /* rows are whole words: their size is a multiple of 8 */
            memcpy(&w, row + 8 * i, 8);
            store(&to->row[i], w);
        }
        store(&to->state, state + 3);
        store(&s->taken, s->taken + 1);
    }
    store(&s->seen[event], s->seen[event] + s->step);
    s->events += s->step;
    s->rnd += 0x9e3779b97f4a7c15u;
    return s->step = mean / 2 + (uint32_t)(rdn_mix64(s->rnd) % mean);
}

/* False: it is being written, or was meanwhile, or holds another type. */
static bool copy_slot(const struct rdn_samples *s, uint32_t i, uint32_t event, uint8_t *row, int64_t *ret_now) {
    const struct slot *from = slot_at(s, i);
    uint64_t state = load(&from->state), w;
    if (state % 2 || load(&from->event) != event)
        return false;
    for (uint32_t k = 0; k < s->size[event]; k++) {
        w = load(&from->row[k]);
        memcpy(row + 8 * k, &w, 8);
    }
    *ret_now = (int64_t)load(&from->now);
    return load(&from->state) == state;
}
void rdn_samples_read(const struct rdn_samples *s, uint32_t event, uint32_t most, struct rdn_sampled *ret) {
    uint64_t taken = load(&s->taken);
    for (uint32_t i = 1; i <= s->nslots && i <= taken && most && ret->n < RDN_SAMPLE_MAX; i++)
        if (copy_slot(s, (uint32_t)((taken - i) % s->nslots), event, ret->rows + ret->n * ret->stride, &ret->now[ret->n])) {
            ret->n++;
            most--;
        }
}
