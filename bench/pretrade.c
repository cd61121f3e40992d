/* SPDX-License-Identifier: Apache-2.0
 * pretrade.c: the pretrade example at full speed, and its rules changed under load. One JSON line a result.
 *
 *   pretrade RULES.rdn judge [--flow FILE] [--backend NAME] [--rounds N] [--hot N]
 *   pretrade RULES.rdn swap  [--flow FILE] [--backend NAME] [--swaps N]       two lanes, a threshold changed N times
 *
 * --hot N goes round the orders among the first N events of the flow, so that rules, windows and keys stay in the caches; with
 * credit for all of them, or after some rounds every order would be a rejected one and nothing would enter `sent`.
 * RULES "generated": a file of --rules N rules (100).
 *
 * judge   ns per event over whole rounds, and p50 and p99 of single orders by the time-stamp counter
 * swap    text to last adoption, events judged by each lane against events offered, generations seen in order */
#include "bench/ticks.h"
#include "bench/order_flow.h"
#include "host/host.h"
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options { const char *rules, *mode, *flow, *backend; uint32_t rounds, swaps, hot, rules_n; };

__attribute__((noreturn)) static void die(const char *what, const redan_error *err) {
    fprintf(stderr, "pretrade: %s: %s %u:%u %s\n", what, err ? err->id : "", err ? err->line : 0, err ? err->column : 0, err ? err->text : "");
    exit(1);
}

static char *read_text(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    char *p = f ? malloc(1 << 22) : NULL;
    if (!p)
        die(path, NULL);
    *len = fread(p, 1, (1 << 22) - 1, f);
    p[*len] = 0;
    fclose(f);
    return p;
}

static char *rules_text(const struct options *o, size_t *len) {
    if (strcmp(o->rules, "generated") != 0)
        return read_text(o->rules, len);
    char *text = flow_rules(o->rules_n, len);
    if (!text)
        die("memory", NULL);
    return text;
}

static redan_engine *open_engine(const struct options *o, uint32_t lanes) {
    redan_options opt = REDAN_OPTIONS_INIT;
    redan_engine *e;
    redan_error err;
    opt.lanes = lanes;
    opt.backend = o->backend;
    if (redan_open(&e, &opt, &err) < 0)
        die("open", &err);
    return e;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}
static int64_t percentile(int64_t *v, size_t n, double p) {
    qsort(v, n, sizeof *v, by_value);
    return v[(size_t)((double)(n - 1) * p)];
}

/* Swaps the one number of "max_qty:       int   = 50_000" between two values. */
static void set_threshold(char *text, int which) {
    char *p = strstr(text, "param max_qty:");
    p = p ? strchr(p, '=') : NULL;
    p = p ? p + strcspn(p, "0123456789\n") : NULL;
    if (!p || (strncmp(p, "50_000 ", 7) != 0 && strncmp(p, "40_000 ", 7) != 0))
        die("the rules have no max_qty = 50_000", NULL);
    *p = which ? '4' : '5';
}

/* The default credit grows from 2 million to what no round uses up. read_text left room. */
static void raise_credit(char *text) {
    static const char was[] = " 2_000_000.00", now[] = " 9_000_000_000_000.00";
    char *p = strstr(text, was);
    if (!p)
        die("the rules have no default credit of 2_000_000.00", NULL);
    memmove(p + sizeof now - 1, p + sizeof was - 1, strlen(p + sizeof was - 1) + 1);
    memcpy(p, now, sizeof now - 1);
}

/* ---- judge ---- */
enum { CODES = 64 };
struct totals { uint64_t verdicts[4], codes[CODES]; };

static double run_round(redan_lane *l, const struct flow *f, struct totals *t) {
    redan_verdict v;
    int64_t from = now_ns();
    for (uint32_t i = 0; i < f->n; i++) {
        if (redan_eval(l, f->events[i].event, &f->events[i].order, &v) < 0)
            die("an event was refused", NULL);
        if (!t || f->events[i].event != f->order)
            continue;
        t->verdicts[v.verdict]++;
        for (uint32_t k = 0; k < v.ncodes; k++)
            t->codes[v.codes[k] % CODES]++;
    }
    return (double)(now_ns() - from) / f->n;
}

/* Moves a round's times behind the last one's, so that no event of a later round is late. */
static void shift(struct flow *f) {
    int64_t by = f->events[f->n - 1].order.ts - f->events[0].order.ts + 1000;
    for (uint32_t i = 0; i < f->n; i++)
        f->events[i].order.ts += by;
}

/* The prices have been seen: what is left to time is orders. */
static void drop_trades(struct flow *f) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->events[i].event == f->order)
            f->events[n++] = f->events[i];
    f->n = n;
}

static void time_orders(redan_lane *l, struct flow *f, double ghz, int64_t *p50, int64_t *p99, double *mean) {
    int64_t *took = malloc(sizeof *took * f->n), empty[101];
    size_t n = 0;
    redan_verdict v;
    for (int i = 0; i < 101; i++) {
        uint64_t a = ticks();
        empty[i] = (int64_t)(ticks() - a);
    }
    int64_t idle = percentile(empty, 101, 0.5), sum = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        uint64_t a = ticks();
        redan_eval(l, f->events[i].event, &f->events[i].order, &v);
        int64_t t = (int64_t)(ticks() - a) - idle;
        if (f->events[i].event == f->order) {
            took[n++] = t;
            sum += t;
        }
    }
    *mean = (double)sum / (double)n / ghz;
    *p50 = (int64_t)((double)percentile(took, n, 0.5) / ghz);
    *p99 = (int64_t)((double)percentile(took, n, 0.99) / ghz);
    free(took);
}

static int judge(const struct options *o) {
    size_t len;
    char *text = rules_text(o, &len);
    if (o->hot && strcmp(o->rules, "generated") != 0) {
        raise_credit(text);
        len = strlen(text);
    }
    redan_engine *e = open_engine(o, 1);
    redan_ruleset *rs;
    redan_lane *l;
    redan_error err;
    struct flow f;
    struct totals t = { 0 };
    int64_t from = now_ns();
    if (redan_compile(e, "pretrade", text, len, NULL, &rs, &err) < 0)
        die("compile", &err);
    double compile_ms = (double)(now_ns() - from) * 1e-6;
    if (redan_activate(e, rs, NULL, NULL, &err) < 0 || redan_lane_open(e, NULL, &l, &err) < 0)
        die("activate", &err);
    if (!flow_open(&f, e, o->flow, 50000, 1))
        return 1;
    f.n = o->hot && o->hot < f.n ? o->hot : f.n;
    run_round(l, &f, &t);
    if (o->hot)
        drop_trades(&f);
    double best = 1e18;
    for (uint32_t i = 0; i < o->rounds; i++) {
        shift(&f);
        double ns = run_round(l, &f, NULL);
        best = ns < best ? ns : best;
    }
    int64_t p50, p99;
    double mean;
    shift(&f);
    time_orders(l, &f, ticks_per_ns(), &p50, &p99, &mean);
    uint32_t orders = 0;
    for (uint32_t i = 0; i < f.n; i++)
        orders += f.events[i].event == f.order;
    printf("{\"bench\":\"pretrade\",\"flow\":\"%s\",\"events\":%u,\"orders\":%u,\"compile_ms\":%.3f,\"events_per_s\":%.0f,\"ns_per_event\":%.1f,"
           "\"order_ns_mean\":%.1f,\"order_ns_p50\":%" PRId64 ",\"order_ns_p99\":%" PRId64 ",\"verdicts\":{\"accept\":%" PRIu64 ",\"throttle\":%" PRIu64
           ",\"hold\":%" PRIu64 ",\"reject\":%" PRIu64 "},\"codes\":{",
           f.source, f.n, orders, compile_ms, 1e9 / best, best, mean, p50, p99, t.verdicts[0], t.verdicts[1], t.verdicts[2], t.verdicts[3]);
    for (uint32_t i = 0, k = 0; i < CODES; i++)
        if (t.codes[i] && redan_code_name(l, i))
            printf("%s\"%s\":%" PRIu64, k++ ? "," : "", redan_code_name(l, i), t.codes[i]);
    printf("}}\n");
    flow_close(&f);
    redan_lane_close(l);
    redan_release(rs);
    redan_close(e);
    free(text);
    return 0;
}

/* ---- swap ---- */
struct worker {
    pthread_t thread;
    redan_engine *eng;
    const struct flow *flow;
    uint32_t index;
    _Atomic uint64_t generation;                         /* of the last verdict */
    atomic_bool *stop;
    uint64_t offered, judged, counted, backwards;        /* counted: by the lane itself */
    uint32_t cold;                                       /* windows of the last generation that started cold */
};

/* Lanes are paced at a rate a busy day has, so that the machine's cores are not all taken by waiting. */
enum { PACE_EVENTS = 32, PACE_NS = 320000 };             /* 100,000 events a second and lane */
static void pause_until(int64_t *due) {
    int64_t now = now_ns();
    *due = *due + PACE_NS > now ? *due + PACE_NS : now;
    if (*due > now)
        nanosleep(&(struct timespec){ .tv_nsec = *due - now }, NULL);
}

/* Its share of the accounts, over and over; a print goes to every lane. Counts what it offered and what came back. */
static void *lane_main(void *arg) {
    struct worker *w = arg;
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    redan_lane *l;
    redan_error err;
    redan_verdict v;
    uint64_t last = 0;
    int64_t shift_ns = 0, due = now_ns();
    o.index = w->index;
    if (redan_lane_open(w->eng, &o, &l, &err) < 0)
        die("lane", &err);
    while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
        for (uint32_t i = 0; i < w->flow->n && !atomic_load_explicit(w->stop, memory_order_relaxed); i++) {
            struct flow_event x = w->flow->events[i];
            if (x.event == w->flow->order && x.account % 2 != w->index)
                continue;
            x.order.ts += shift_ns;
            w->offered++;
            if (redan_eval(l, x.event, &x.order, &v) == 0)
                w->judged++;
            w->backwards += v.generation < last;
            last = v.generation;
            atomic_store_explicit(&w->generation, last, memory_order_release);
            if (w->offered % PACE_EVENTS == 0)
                pause_until(&due);
        }
        shift_ns += w->flow->events[w->flow->n - 1].order.ts - w->flow->events[0].order.ts + 1000;
    }
    w->counted = l->seq;
    for (uint32_t i = 0; i < l->b->rs->ir->nwindows; i++)
        w->cold += l->b->cold[i];
    redan_lane_close(l);
    return NULL;
}

static bool all_on(struct worker *w, uint64_t generation) {
    for (int i = 0; i < 2; i++)
        if (atomic_load_explicit(&w[i].generation, memory_order_acquire) < generation)
            return false;
    return true;
}

/* Text to the last lane's first verdict by the new rules, in ns; the parts go to ret. */
static int64_t change(redan_engine *e, const char *text, size_t len, struct worker *w, int64_t *compile_ns, int64_t *publish_ns) {
    redan_ruleset *rs;
    redan_error err;
    uint64_t generation;
    int64_t a = now_ns();
    if (redan_compile(e, "changed", text, len, NULL, &rs, &err) < 0)
        die("compile", &err);
    int64_t b = now_ns();
    if (redan_activate(e, rs, NULL, &generation, &err) < 0)
        die("activate", &err);
    int64_t c = now_ns();
    while (!all_on(w, generation))
        sched_yield();
    int64_t d = now_ns();
    *compile_ns = b - a;
    *publish_ns = c - b;
    redan_release(rs);
    return d - a;
}

static void start_lanes(redan_engine *e, const struct flow *f, struct worker *w, atomic_bool *stop) {
    for (uint32_t i = 0; i < 2; i++) {
        w[i] = (struct worker){ .eng = e, .flow = f, .index = i, .stop = stop };
        if (pthread_create(&w[i].thread, NULL, lane_main, &w[i]) != 0)
            die("thread", NULL);
    }
    while (!all_on(w, 1))
        sched_yield();
}

static int swap(const struct options *o) {
    size_t len;
    char *text = rules_text(o, &len);
    redan_engine *e = open_engine(o, 2);
    redan_ruleset *rs;
    redan_error err;
    struct flow f;
    struct worker w[2];
    atomic_bool stop = false;
    if (redan_compile(e, "pretrade", text, len, NULL, &rs, &err) < 0 || redan_activate(e, rs, NULL, NULL, &err) < 0)
        die("compile", &err);
    if (!flow_open(&f, e, o->flow, 50000, 1))
        return 1;
    start_lanes(e, &f, w, &stop);
    int64_t *total = malloc(sizeof *total * o->swaps), *compile = malloc(sizeof *compile * o->swaps), *publish = malloc(sizeof *publish * o->swaps);
    for (uint32_t i = 0; i < o->swaps; i++) {
        set_threshold(text, i % 2 == 0);
        total[i] = change(e, text, len, w, &compile[i], &publish[i]);
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(w[i].thread, NULL);
    uint64_t offered = w[0].offered + w[1].offered, judged = w[0].judged + w[1].judged, counted = w[0].counted + w[1].counted;
    uint32_t windows = rs->ir->nwindows, cold = w[0].cold > w[1].cold ? w[0].cold : w[1].cold;
    printf("{\"bench\":\"pretrade_swap\",\"swaps\":%u,\"total_us_p50\":%.1f,\"total_us_p99\":%.1f,\"compile_us_p50\":%.1f,\"publish_us_p50\":%.1f,"
           "\"offered\":%" PRIu64 ",\"judged\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"twice\":%" PRIu64 ",\"out_of_order\":%" PRIu64
           ",\"windows\":%u,\"carried\":%u}\n",
           o->swaps, (double)percentile(total, o->swaps, 0.5) * 1e-3, (double)percentile(total, o->swaps, 0.99) * 1e-3,
           (double)percentile(compile, o->swaps, 0.5) * 1e-3, (double)percentile(publish, o->swaps, 0.5) * 1e-3, offered, judged, offered - judged,
           counted - judged, w[0].backwards + w[1].backwards, windows, windows - cold);
    flow_close(&f);
    redan_release(rs);
    redan_close(e);
    free(total), free(compile), free(publish), free(text);
    return 0;
}

/* ---- options ---- */
static bool take(const char *arg, const char *value, struct options *o) {
    if (!value)
        return false;
    if (strcmp(arg, "--flow") == 0)
        o->flow = value;
    else if (strcmp(arg, "--backend") == 0)
        o->backend = value;
    else if (strcmp(arg, "--rounds") == 0)
        o->rounds = (uint32_t)atoi(value);
    else if (strcmp(arg, "--swaps") == 0)
        o->swaps = (uint32_t)atoi(value);
    else if (strcmp(arg, "--rules") == 0)
        o->rules_n = (uint32_t)atoi(value);
    else if (strcmp(arg, "--hot") == 0)
        o->hot = (uint32_t)atoi(value);
    else
        return false;
    return true;
}

int main(int argc, char **argv) {
    struct options o = { .rounds = 5, .swaps = 200, .rules_n = 100 };
    bool good = argc >= 3;
    if (good) {
        o.rules = argv[1];
        o.mode = argv[2];
    }
    for (int i = 3; i < argc && good; i += 2)
        good = take(argv[i], i + 1 < argc ? argv[i + 1] : NULL, &o);
    if (good && strcmp(o.mode, "judge") == 0)
        return judge(&o);
    if (good && strcmp(o.mode, "swap") == 0)
        return swap(&o);
    fprintf(stderr, "usage: pretrade RULES.rdn judge|swap [--flow FILE] [--backend NAME] [--rounds N] [--hot N] [--swaps N] [--rules N]\n");
    return 2;
}
