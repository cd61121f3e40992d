/* SPDX-License-Identifier: Apache-2.0
 * keyed.c: keyed window updates and reads, without rules around them. One JSON line a result.
 *
 *   bench-keyed [KEYS...]                 default 1000 1000000
 *
 * Blocks of 64 events: their keys are made and their index lines prefetched, then all enter (or are read). The figure is CPU
 * time per event, making the key included, the least of many short rounds. Bars: 25 ns at 1,000 keys, 220 ns at 1,000,000 for
 * the count (JIT.md). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "state/window.h"

enum { BLOCK = 64, BLOCKS = 50, ROUNDS = 100 };
static const struct rdn_type t_int = { .kind = RDN_K_INT }, t_float = { .kind = RDN_K_FLOAT };
static const struct rdn_type *by[] = { &t_int };
static const struct { const char *name; enum rdn_agg agg; const struct rdn_type *vtype, *rtype; int64_t over; uint32_t panes, events; } kinds[] = {
    { "sum over all time", RDN_AGG_SUM, &t_float, &t_float, 0, 0, 0 },
    { "count over 60s", RDN_AGG_COUNT, NULL, &t_int, 60000000000, 60, 0 },
    { "sum over 60s", RDN_AGG_SUM, &t_float, &t_float, 60000000000, 60, 0 },
    { "stddev over 60s", RDN_AGG_STDDEV, &t_float, &t_float, 60000000000, 60, 0 },
    { "avg over 20 events", RDN_AGG_AVG, &t_float, &t_float, 0, 0, 20 },
    { "distinct over 60s", RDN_AGG_DISTINCT, &t_float, &t_int, 60000000000, 60, 0 },
};

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void make_key(struct rdn_key *k, int64_t v) {
    struct rdn_cell c = { .i = v };
    rdn_key_begin(k);
    rdn_key_add(k, &t_int, &c);
    rdn_key_end(k);
}

/* The least ns per event over the rounds; time moves by `step` an event. */
static double measure(struct rdn_win *w, uint32_t keys, int64_t *now, int64_t step, bool update) {
    static struct rdn_key k[BLOCK];
    static uint64_t random;
    struct rdn_cell v = { .f = 1.5 };
    double best = 1e18;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        double start = cpu_ns();
        for (uint32_t b = 0; b < BLOCKS; b++) {
            for (uint32_t i = 0; i < BLOCK; i++) {
                make_key(&k[i], (int64_t)(rdn_mix64(random++) % keys));
                rdn_win_prefetch(w, &k[i]);
            }
            for (uint32_t i = 0; i < BLOCK; i++, *now += step) {
                if (update)
                    rdn_win_update(w, &k[i], *now, &v, 0);
                else
                    rdn_win_read(w, &k[i], *now, &v);
            }
            v.f = 1.5;
        }
        double ns = (cpu_ns() - start) / (BLOCK * BLOCKS);
        best = ns < best ? ns : best;
    }
    return best;
}

static void bench(size_t kind, uint32_t keys) {
    struct rdn_window d = { .name = kinds[kind].name, .agg = (uint8_t)kinds[kind].agg, .vtype = kinds[kind].vtype, .rtype = kinds[kind].rtype,
                            .over_ns = kinds[kind].over, .panes = kinds[kind].panes, .events = kinds[kind].events, .ktypes = by, .nkeys = 1, .cap = keys };
    d.pane_ns = d.panes ? d.over_ns / d.panes : 0;
    struct rdn_win *w;
    redan_error err;
    if (rdn_win_open(&d, NULL, &rdn_libc_mem, true, NULL, &w, &err) < 0) {
        fprintf(stderr, "bench-keyed: %s\n", err.text);
        exit(1);
    }
    int64_t now = 1770000000000000000;
    struct rdn_key k;
    struct rdn_cell v = { .f = 1.5 };
    for (uint32_t i = 0; i < keys; i++) {
        make_key(&k, i);
        rdn_win_update(w, &k, now, &v, 0);
    }
    double update = measure(w, keys, &now, 1000, true), read = measure(w, keys, &now, 0, false);
    printf("{\"bench\":\"window\",\"window\":\"%s\",\"keys\":%u,\"update_ns\":%.1f,\"read_ns\":%.1f,\"bytes_per_key\":%zu}\n", d.name, keys, update,
           read, rdn_win_bytes(&d) / keys);
    rdn_win_close(w);
}

int main(int argc, char **argv) {
    static char *usual[] = { "", "1000", "1000000" };
    if (argc < 2) {
        argv = usual;
        argc = 3;
    }
    for (int a = 1; a < argc; a++) {
        long keys = strtol(argv[a], NULL, 10);
        if (keys < 1 || keys > 1 << 24) {
            fprintf(stderr, "usage: bench-keyed [KEYS...]   1 to 16777216\n");
            return 2;
        }
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            bench(i, (uint32_t)keys);
    }
    return 0;
}
