/* SPDX-License-Identifier: Apache-2.0
 * win_driver.c: windows under a line protocol, for win_model.py. Answers one line to each command; "ALLOC" in front of an answer
 * means that something after open went to the allocator.
 *
 *   W slot agg vtype over events panes pane_ns exact warmup cap evict half ktype...   opens a window: its bytes of state
 *   U slot now span value key...     enters a value: 1, or 0 when refused
 *   R slot now key...                reads
 *   X slot key...                    resets        K slot    counts a skip
 *   C to from                        carries: 1 or 0            V to from   copies
 *   S slot now                       counters, then keys and values in order of insertion
 *   Z slot                           closes
 *   P 0 hash                         enters a hash (hex) into a sketch of its own
 *   E 0                              the sketch's estimate; it starts anew
 *
 * Types and values as in state_lines.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "state/hll.h"
#include "state/window.h"
#include "tests/unit/state/state_lines.h"

enum { SLOTS = 4, WORDS = 40 };
static uint64_t calls;
static void *counted(void *ctx, void *p, size_t was, size_t want) {
    (void)ctx, (void)was;
    calls++;
    if (want)
        return realloc(p, want);
    free(p);
    return NULL;
}
static const struct rdn_mem mem = { NULL, counted };
static struct slot {
    struct rdn_window def;
    struct rdn_type vtype, rtype, ktype[8];
    const struct rdn_type *ktypes[8];
    struct rdn_win *win;
} slots[SLOTS];

static void key_of(struct slot *s, char **w, struct rdn_key *k) {
    static char text[8][300];
    struct rdn_cell c;
    rdn_key_begin(k);
    for (uint32_t i = 0; i < s->def.nkeys; i++) {
        parse(s->ktypes[i], w[i], &c, text[i]);
        rdn_key_add(k, s->ktypes[i], &c);
    }
    rdn_key_end(k);
}

static void open_window(struct slot *s, char **w, int n) {
    static const char *aggs[] = { "count", "sum", "avg", "min", "max", "stddev", "distinct", "last", "first", "ewma", "zscore", "delta" };
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 12; i++)
        if (strcmp(w[0], aggs[i]) == 0)
            s->def.agg = (uint8_t)i;
    struct rdn_window *d = &s->def;
    s->vtype = type_of(w[1]);
    s->rtype = s->vtype;
    if (d->agg == RDN_AGG_COUNT || d->agg == RDN_AGG_DISTINCT)
        s->rtype.kind = RDN_K_INT;
    if (d->agg == RDN_AGG_AVG || d->agg == RDN_AGG_STDDEV || d->agg == RDN_AGG_ZSCORE || d->agg == RDN_AGG_EWMA)
        s->rtype.kind = RDN_K_FLOAT;
    if (d->agg == RDN_AGG_DELTA && s->vtype.kind == RDN_K_TIME)
        s->rtype.kind = RDN_K_DUR;
    d->name = "w";
    d->vtype = d->agg == RDN_AGG_COUNT ? NULL : &s->vtype;
    d->rtype = &s->rtype;
    d->over_ns = strtoll(w[2], NULL, 10);
    d->events = (uint32_t)atoi(w[3]);
    d->panes = (uint32_t)atoi(w[4]);
    d->pane_ns = strtoll(w[5], NULL, 10);
    d->exact = (uint32_t)atoi(w[6]);
    d->warmup = (uint32_t)atoi(w[7]);
    d->cap = (uint32_t)atoi(w[8]);
    d->evict = (uint8_t)atoi(w[9]);
    d->half_life = atoi(w[10]) != 0;
    d->ktypes = s->ktypes;
    for (int i = 11; i < n; i++) {
        s->ktype[d->nkeys] = type_of(w[i]);
        s->ktypes[d->nkeys] = &s->ktype[d->nkeys];
        d->nkeys++;
    }
    redan_error err;
    if (rdn_win_open(d, syms, &mem, false, NULL, &s->win, &err) < 0)
        exit(3);
    printf("%zu", rdn_win_bytes(d) / d->cap);
}

static void dump(struct slot *s, int64_t now) {
    struct rdn_win_stats st;
    struct rdn_key k;
    struct rdn_cell c;
    const uint64_t *words;
    uint32_t it = 0;
    rdn_win_stats(s->win, &st);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, st.keys, st.evicted, st.refused, st.skipped);
    while (rdn_win_next(s->win, &it, &words)) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->def.nkeys; i++) {
            putchar(i ? ',' : ' ');
            rdn_key_decode(words, s->ktypes, s->def.nkeys, i, &c);
            put(s->ktypes[i], &c);
            n += rdn_key_words(s->ktypes[i]);
        }
        rdn_key_load(&k, words, n);
        rdn_win_read(s->win, &k, now, &c);
        putchar('=');
        put(&s->rtype, &c);
    }
}

static void estimate(uint8_t *sketch) {
    uint8_t regs[RDN_HLL_REGS] = { 0 };
    rdn_hll_max(regs, sketch);
    printf("%" PRId64, rdn_hll_estimate(regs));
    memset(sketch, 0, RDN_HLL_BYTES);
}

static void command(char **w, int n) {
    static char text[300];
    static uint8_t sketch[RDN_HLL_BYTES];
    struct slot *s = &slots[atoi(w[1])];
    struct rdn_key k;
    struct rdn_cell c;
    switch (w[0][0]) {
    case 'W':
        open_window(s, w + 2, n - 2);
        return;
    case 'U':
        parse(&s->vtype, w[4], &c, text);
        key_of(s, w + 5, &k);
        printf("%d", rdn_win_update(s->win, &k, strtoll(w[2], NULL, 10), &c, strtoll(w[3], NULL, 10)));
        return;
    case 'R':
        key_of(s, w + 3, &k);
        rdn_win_prefetch(s->win, &k);
        rdn_win_read(s->win, &k, strtoll(w[2], NULL, 10), &c);
        put(&s->rtype, &c);
        return;
    case 'X':
        key_of(s, w + 2, &k);
        rdn_win_reset(s->win, &k);
        return;
    case 'K':
        rdn_win_skip(s->win);
        return;
    case 'C':
        printf("%d", rdn_win_carry(s->win, slots[atoi(w[2])].win));
        return;
    case 'V':
        printf("%d", rdn_win_copy(s->win, slots[atoi(w[2])].win));
        return;
    case 'S':
        dump(s, strtoll(w[2], NULL, 10));
        return;
    case 'Z':
        rdn_win_close(s->win);
        s->win = NULL;
        return;
    case 'P':
        rdn_hll_put(sketch, strtoull(w[2], NULL, 16));
        return;
    case 'E':
        estimate(sketch);
        return;
    }
    exit(4);
}

int main(void) {
    static char line[8192];
    if (rdn_syms_open(&syms, &rdn_libc_mem, 1 << 20) < 0)
        return 2;
    while (fgets(line, sizeof line, stdin)) {
        char *w[WORDS];
        int n = 0;
        for (char *p = strtok(line, " \n"); p && n < WORDS; p = strtok(NULL, " \n"))
            w[n++] = p;
        if (n < 2)
            continue;
        uint64_t before = calls;
        command(w, n);
        bool may = w[0][0] == 'W' || w[0][0] == 'Z';
        puts(calls != before && !may ? " ALLOC" : "");
    }
    for (int i = 0; i < SLOTS; i++)
        rdn_win_close(slots[i].win);
    rdn_syms_close(syms);
    return 0;
}
