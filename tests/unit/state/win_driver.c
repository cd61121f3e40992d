/* SPDX-License-Identifier: Apache-2.0
 * win_driver.c: windows under a line protocol, for win_model.py. Answers one line to each command; "ALLOC" in front of an answer
 * means that something after open went to the allocator.
 *
 *   W slot agg vtype over events panes pane_ns exact warmup cap evict half ktype...   opens a window: its bytes of state
 *   U slot now span value key...     enters a value: 1, or 0 when refused
 *   R slot now key...                reads
 *   X slot key...                    resets        K slot    counts a skip
 *   C to from                        carries: 1 or 0
 *   S slot now                       counters, then keys and values in order of insertion
 *   Z slot                           closes
 *   P 0 hash                         enters a hash (hex) into a sketch of its own
 *   E 0                              the sketch's estimate; it starts anew
 *
 * Types: b i f t u a(date) y(sym) d<scale> s<bytes> e(enum), - for none. Floats are 16 hex digits, texts x and hex bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sym.h"
#include "state/hll.h"
#include "state/window.h"

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
static struct rdn_syms *syms;
static struct slot {
    struct rdn_window def;
    struct rdn_type vtype, rtype, ktype[8];
    const struct rdn_type *ktypes[8];
    struct rdn_win *win;
} slots[SLOTS];

static struct rdn_type type_of(const char *s) {
    static const struct { char c; uint8_t kind; } kinds[] = {
        { 'b', RDN_K_BOOL }, { 'i', RDN_K_INT }, { 'f', RDN_K_FLOAT }, { 't', RDN_K_TIME }, { 'u', RDN_K_DUR }, { 'a', RDN_K_DATE },
        { 'y', RDN_K_SYM }, { 'd', RDN_K_DEC }, { 's', RDN_K_STR }, { 'e', RDN_K_ENUM },
    };
    struct rdn_type t = { .kind = RDN_K_NONE };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].c == *s)
            t.kind = kinds[i].kind;
    if (t.kind == RDN_K_DEC)
        t.scale = (uint8_t)atoi(s + 1);
    if (t.kind == RDN_K_STR)
        t.n = (uint16_t)atoi(s + 1);
    return t;
}

/* Texts live until the next line. */
static void parse(const struct rdn_type *t, const char *s, struct rdn_cell *c, char *text) {
    memset(c, 0, sizeof *c);
    if (t->kind == RDN_K_FLOAT) {
        uint64_t bits = strtoull(s, NULL, 16);
        memcpy(&c->f, &bits, 8);
    } else if (t->kind == RDN_K_DEC) {
        c->d = strtoll(s, NULL, 10);
    } else if (t->kind == RDN_K_SYM || t->kind == RDN_K_STR) {
        uint32_t n = 0, id;
        for (s++; s[0] && s[1]; s += 2)
            sscanf(s, "%2hhx", (unsigned char *)&text[n++]);
        c->t.p = text;
        c->t.len = n;
        if (t->kind == RDN_K_SYM) {
            rdn_sym_intern(syms, text, n, &id);
            c->i = id;
        }
    } else {
        c->i = strtoll(s, NULL, 10);
    }
}

static void put_text(const char *p, uint32_t n) {
    putchar('x');
    for (uint32_t i = 0; i < n; i++)
        printf("%02x", (unsigned char)p[i]);
}

static void put(const struct rdn_type *t, const struct rdn_cell *c) {
    uint64_t bits;
    uint32_t n;
    if (c->cause) {
        printf("%s", c->cause == RDN_CAUSE_COLD ? "cold" : c->cause == RDN_CAUSE_FULL ? "full" : c->cause == RDN_CAUSE_DIV0 ? "div0" : "overflow");
    } else if (t->kind == RDN_K_FLOAT) {
        memcpy(&bits, &c->f, 8);
        if (isnan(c->f))
            printf("nan");
        else
            printf("%016" PRIx64, bits);
    } else if (t->kind == RDN_K_DEC) {                   /* up to 128 bits: high and low half in hex */
        printf("%016" PRIx64 "%016" PRIx64, (uint64_t)((rdn_u128)c->d >> 64), (uint64_t)c->d);
    } else if (t->kind == RDN_K_SYM) {
        const char *p = rdn_sym_text(syms, (uint32_t)c->i, &n);
        put_text(p, n);
    } else if (t->kind == RDN_K_STR) {
        put_text(c->t.p, c->t.len);
    } else {
        printf("%" PRId64, c->i);
    }
}

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
    if (rdn_win_open(d, syms, &mem, false, &s->win, &err) < 0)
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
