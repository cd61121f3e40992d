/* SPDX-License-Identifier: Apache-2.0
 * swap.c: what a change of rules costs, and what many rules cost. One row of bench/rows.py a line.
 *
 *   bench-swap change [--rules N] [--swaps N] [--rounds N]   from text, and from checked rules, to the lane's first verdict by them
 *   bench-swap lane   [--rules N] [--swaps N] [--rounds N]   an event's time on a lane, without swaps and with 500 a second
 *   bench-swap scale  [--rules N]                            load time, ns an event and memory of N rules; one too many is refused
 *
 * The rules are those of flow_rules: three windows carried at each swap. A lane polls, so it has a core of its own; new rules are
 * compiled from text on the other core, also while events are timed. p50 is the smallest of the rounds, percentiles above it and the maximum
 * are the median of theirs. `swap_us` leaves out what depends on the text (reading, checking): plan, emission, self-check, publication, adoption. */
#include "bench/ticks.h"
#include "bench/order_flow.h"
#include "host/host.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options { const char *mode; uint32_t rules, swaps, rounds; };
enum { MAX_ROUNDS = 32, SWAP_NS = 2000000, EVENTS = 20000 };

__attribute__((noreturn)) static void die(const char *what, const redan_error *err) {
    fprintf(stderr, "bench-swap: %s: %s %s\n", what, err ? err->id : "", err ? err->text : "");
    exit(1);
}
static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double percentile(double *v, size_t n, double p) {
    qsort(v, n, sizeof *v, by_value);
    return n ? v[(size_t)((double)(n - 1) * p)] : 0;
}
static void figure(const char *name, uint32_t rules, const char *what, double value, const char *unit) {
    char size[16] = "";
    if (rules)
        snprintf(size, sizeof size, "/%u", rules);
    printf("{\"bench\":\"%s\",\"schema\":1,\"figure\":\"%s%s/%s\",\"value\":%.2f,\"unit\":\"%s\"}\n", name, name, size, what, value, unit);
    fflush(stdout);
}

/* ---- an engine with rules and events ---- */
struct bench { redan_engine *e; char *text; size_t len; struct flow flow; uint64_t generation; };

static void set_threshold(char *text, uint32_t which) {
    char *p = strstr(text, which ? "= 50_000" : "= 40_000");
    if (p)
        p[2] = which ? '4' : '5';
}
static void open_bench(struct bench *b, uint32_t rules) {
    redan_options opt = REDAN_OPTIONS_INIT;
    redan_error err;
    *b = (struct bench){0};
    opt.lanes = 1;
    if (redan_open(&b->e, &opt, &err) < 0)
        die("open", &err);
    b->text = flow_rules(rules, &b->len);
    if (!b->text)
        die("memory", NULL);
}
/* Text to publication. The parts go to ret: the whole, and without reading and checking. */
static void publish(struct bench *b, double *ret_text_us, double *ret_swap_us) {
    redan_ruleset *rs;
    redan_error err;
    int64_t from = now_ns();
    if (redan_compile(b->e, "bench", b->text, b->len, NULL, &rs, &err) < 0)
        die("compile", &err);
    int64_t compiled = now_ns();
    if (redan_activate(b->e, rs, NULL, &b->generation, &err) < 0)
        die("activate", &err);
    int64_t done = now_ns();
    const struct rdn_program_info *info = rdn_program_info(rs->prog);
    *ret_text_us = (double)(done - from) * 1e-3;
    *ret_swap_us = (double)(done - compiled) * 1e-3 + info->plan_us + info->emit_us + info->selfcheck_us;
    redan_release(rs);
}
static void close_bench(struct bench *b) {
    flow_close(&b->flow);
    redan_close(b->e);
    free(b->text);
}

/* ---- the lane ---- */
/* Ticks of single events: 64 buckets an octave, so a percentile is within 1.6 %. */
enum { OCTAVE = 64, BUCKETS = OCTAVE * 40, FIRSTS = 16384 };
enum side { QUIET, STILL, SWAPPING, SIDES };
struct lane_run {
    pthread_t thread;
    struct bench *b;
    atomic_bool stop;
    _Atomic uint64_t generation;
    _Atomic int side;
    uint64_t hist[SIDES][BUCKETS], max[SIDES];
    double first[FIRSTS]; uint32_t nfirst;               /* ticks of the first event on new rules */
};
static uint32_t bucket(uint64_t t) {
    if (t < OCTAVE)
        return (uint32_t)t;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(t);
    uint32_t i = (log - 5) * OCTAVE + (uint32_t)(t >> (log - 6)) - OCTAVE;
    return i < BUCKETS ? i : BUCKETS - 1;
}
static double bucket_ticks(uint32_t i) { return i < OCTAVE ? i : (double)((uint64_t)(i % OCTAVE + OCTAVE) << (i / OCTAVE - 1)); }
static double hist_percentile(const uint64_t *h, double p) {
    uint64_t n = 0, seen = 0;
    for (uint32_t i = 0; i < BUCKETS; i++)
        n += h[i];
    for (uint32_t i = 0; i < BUCKETS; i++)
        if ((seen += h[i]) > (uint64_t)((double)n * p))
            return bucket_ticks(i);
    return 0;
}
static void judge_timed(struct lane_run *w, redan_lane *l, uint32_t event, const void *row, uint64_t *last) {
    redan_verdict v;
    int side = atomic_load_explicit(&w->side, memory_order_relaxed);
    uint64_t from = ticks();
    if (redan_eval(l, event, row, &v) < 0)
        die("an event was refused", NULL);
    uint64_t took = ticks() - from;
    w->hist[side][bucket(took)]++;
    w->max[side] = took > w->max[side] ? took : w->max[side];
    if (v.generation == *last)
        return;
    if (*last && w->nfirst < FIRSTS)
        w->first[w->nfirst++] = (double)took;
    *last = v.generation;
    atomic_store_explicit(&w->generation, v.generation, memory_order_release);
}
static void *lane_main(void *arg) {
    struct lane_run *w = arg;
    redan_lane *l;
    redan_error err;
    uint64_t last = 0;
    int64_t shift = 0;
    const struct flow *f = &w->b->flow;
    if (redan_lane_open(w->b->e, NULL, &l, &err) < 0)
        die("lane", &err);
    while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
        for (uint32_t i = 0; i < f->n && !atomic_load_explicit(&w->stop, memory_order_relaxed); i++) {
            struct flow_event x = f->events[i];
            x.order.ts += shift;
            judge_timed(w, l, x.event, &x.order, &last);
        }
        shift += f->events[f->n - 1].order.ts - f->events[0].order.ts + 1000;
    }
    redan_lane_close(l);
    return NULL;
}
static void adopted(struct lane_run *w) {
    while (atomic_load_explicit(&w->generation, memory_order_acquire) < w->b->generation)
        ;
}
static struct lane_run *start(struct bench *b, uint32_t rules) {
    double t;
    struct lane_run *w = calloc(1, sizeof *w);
    open_bench(b, rules);
    publish(b, &t, &t);
    if (!w || !flow_open(&b->flow, b->e, NULL, EVENTS, 1))
        die("memory", NULL);
    w->b = b;
    if (pthread_create(&w->thread, NULL, lane_main, w) != 0)
        die("thread", NULL);
    adopted(w);
    return w;
}
static void finish(struct lane_run *w) {
    atomic_store(&w->stop, true);
    pthread_join(w->thread, NULL);
    close_bench(w->b);
    free(w);
}
static void sleep_until(int64_t due) {
    int64_t now = now_ns();
    if (due > now)
        nanosleep(&(struct timespec){.tv_nsec = due - now}, NULL);
}

/* ---- change ---- */
struct changes { double text[2][MAX_ROUNDS], swap[2][MAX_ROUNDS], first[MAX_ROUNDS]; };   /* p50 and p99 of each round, in us */
static void one_round(struct lane_run *w, const struct options *o, double ghz, uint32_t k, struct changes *c) {
    double *text = malloc(o->swaps * sizeof *text), *swap = malloc(o->swaps * sizeof *swap);
    w->nfirst = 0;
    for (uint32_t i = 0; i < o->swaps; i++) {
        set_threshold(w->b->text, i % 2 == 0);
        int64_t from = now_ns();
        publish(w->b, &text[i], &swap[i]);
        double published = (double)(now_ns() - from) * 1e-3;
        adopted(w);
        double adoption = (double)(now_ns() - from) * 1e-3 - published;
        text[i] += adoption;
        swap[i] += adoption;
        sleep_until(from + SWAP_NS);
    }
    for (int p = 0; p < 2; p++) {
        c->text[p][k] = percentile(text, o->swaps, p ? .99 : .5);
        c->swap[p][k] = percentile(swap, o->swaps, p ? .99 : .5);
    }
    c->first[k] = percentile(w->first, w->nfirst, .5) / ghz * 1e-3;
    free(text);
    free(swap);
}
static int change(const struct options *o) {
    struct bench b;
    struct changes c;
    double ghz = ticks_per_ns();
    struct lane_run *w = start(&b, o->rules);
    for (uint32_t k = 0; k < o->rounds; k++)
        one_round(w, o, ghz, k, &c);
    finish(w);
    figure("swap", o->rules, "swap_us_p50", percentile(c.swap[0], o->rounds, 0), "us");
    figure("swap", o->rules, "swap_us_p99", percentile(c.swap[1], o->rounds, .5), "us");
    figure("swap", o->rules, "text_us_p50", percentile(c.text[0], o->rounds, 0), "us");
    figure("swap", o->rules, "text_us_p99", percentile(c.text[1], o->rounds, .5), "us");
    figure("swap", o->rules, "first_event_us", percentile(c.first, o->rounds, .5), "us");
    return 0;
}

/* ---- lane ---- */
static const struct { const char *name; double p; } points[] = {{"p50", .5}, {"p99", .99}, {"p999", .999}, {"max", 1}};
enum { POINTS = 4 };
static void watch(struct lane_run *w, const struct options *o, enum side side, double ret[POINTS], double *ret_swaps_per_s) {
    int64_t from = now_ns();
    memset(w->hist[side], 0, sizeof w->hist[side]);
    w->max[side] = 0;
    atomic_store(&w->side, (int)side);
    for (uint32_t i = 0; side == SWAPPING && i < o->swaps; i++) {
        double t;
        set_threshold(w->b->text, i % 2 == 0);
        publish(w->b, &t, &t);
        adopted(w);
        sleep_until(from + (int64_t)(i + 1) * SWAP_NS);
    }
    sleep_until(from + (int64_t)o->swaps * SWAP_NS);
    *ret_swaps_per_s = o->swaps / ((double)(now_ns() - from) * 1e-9);
    atomic_store(&w->side, QUIET);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);     /* the lane has seen it */
    for (int p = 0; p < POINTS; p++)
        ret[p] = p == POINTS - 1 ? (double)w->max[side] : hist_percentile(w->hist[side], points[p].p);
}
static int lane(const struct options *o) {
    struct bench b;
    double v[SIDES][POINTS][MAX_ROUNDS], at[POINTS], rate[MAX_ROUNDS], ghz = ticks_per_ns();
    struct lane_run *w = start(&b, o->rules);
    for (uint32_t k = 0; k < o->rounds; k++)
        for (int side = STILL; side < SIDES; side++) {
            watch(w, o, side, at, &rate[k]);
            for (int p = 0; p < POINTS; p++)
                v[side][p][k] = at[p] / ghz;
        }
    finish(w);
    figure("swap", o->rules, "swaps_per_s", percentile(rate, o->rounds, .5), "/s");
    for (int p = 0; p < POINTS; p++) {
        double still = percentile(v[STILL][p], o->rounds, .5), swapping = percentile(v[SWAPPING][p], o->rounds, .5);
        printf("{\"bench\":\"swap\",\"schema\":1,\"set\":\"lane-%s\",\"rules\":%u,\"ns_min\":%.1f,\"rounds\":%u,\"peer\":\"no-swaps\",\"peer_ns\":%.1f,\"ratio\":%.3f}\n",
               points[p].name, o->rules, swapping, o->rounds, still, swapping / still);
    }
    return 0;
}

/* ---- scale ---- */
static double rss_mib(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        die("statm", NULL);
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}
static double ns_per_event(struct bench *b, redan_lane *l) {
    redan_verdict v;
    int64_t from = now_ns();
    for (uint32_t i = 0; i < b->flow.n; i++)
        if (redan_eval(l, b->flow.events[i].event, &b->flow.events[i].order, &v) < 0)
            die("an event was refused", NULL);
    double ns = (double)(now_ns() - from) / b->flow.n;
    int64_t by = b->flow.events[b->flow.n - 1].order.ts - b->flow.events[0].order.ts + 1000;
    for (uint32_t i = 0; i < b->flow.n; i++)
        b->flow.events[i].order.ts += by;
    return ns;
}
/* From the text to the first verdict, on this thread; the smallest of five. */
static double text_ms(struct bench *b, redan_lane *l) {
    double best = 1e18;
    for (uint32_t i = 0; i < 5; i++) {
        double t;
        redan_verdict v;
        set_threshold(b->text, i % 2 == 0);
        int64_t from = now_ns();
        publish(b, &t, &t);
        redan_eval(l, b->flow.events[0].event, &b->flow.events[0].order, &v);
        if (v.generation != b->generation)
            die("the lane did not adopt", NULL);
        double ms = (double)(now_ns() - from) * 1e-6;
        best = ms < best ? ms : best;
    }
    return best;
}
static void one_too_many(void) {
    size_t len;
    redan_ruleset *rs;
    redan_error err;
    struct bench b;
    open_bench(&b, 1);
    char *text = flow_rules(16385, &len);
    if (!text || redan_compile(b.e, "bench", text, len, NULL, &rs, &err) >= 0 || strcmp(err.id, "E0703") != 0)
        die("16,385 rules were not refused with E0703", NULL);
    free(text);
    close_bench(&b);
}
static int scale(const struct options *o) {
    struct bench b;
    redan_lane *l;
    redan_error err;
    size_t len;
    double t;
    open_bench(&b, 1);
    publish(&b, &t, &t);
    if (!flow_open(&b.flow, b.e, NULL, EVENTS, 1) || redan_lane_open(b.e, NULL, &l, &err) < 0)
        die("lane", &err);
    ns_per_event(&b, l);
    double before = rss_mib();                           /* a rule set of one rule, its windows filled */
    free(b.text);
    b.text = flow_rules(o->rules, &b.len);
    len = b.len;
    publish(&b, &t, &t);
    double best = ns_per_event(&b, l);
    figure("scale", o->rules, "rss_mib_per_1000", (rss_mib() - before - (double)len / 1048576) * 1000 / o->rules, "MiB");
    for (int i = 0; i < 4; i++) {
        double ns = ns_per_event(&b, l);
        best = ns < best ? ns : best;
    }
    figure("scale", o->rules, "ns_per_event", best, "ns");
    figure("scale", o->rules, "text_to_adoption_ms", text_ms(&b, l), "ms");
    redan_lane_close(l);
    close_bench(&b);
    one_too_many();
    return 0;
}

static bool take(struct options *o, const char *name, const char *value) {
    uint32_t n = (uint32_t)atoi(value);
    if (!strcmp(name, "--rules")) o->rules = n;
    else if (!strcmp(name, "--swaps")) o->swaps = n;
    else if (!strcmp(name, "--rounds")) o->rounds = n;
    else return false;
    return n > 0;
}
int main(int argc, char **argv) {
    static const struct { const char *name; int (*run)(const struct options *); } modes[] = {{"change", change}, {"lane", lane}, {"scale", scale}};
    struct options o = {argc > 1 ? argv[1] : "", 100, 100, 5};
    bool good = argc > 1 && argc % 2 == 0;
    for (int i = 2; i < argc && good; i += 2)
        good = take(&o, argv[i], argv[i + 1]);
    for (int m = 0; m < 3 && good && o.rounds <= MAX_ROUNDS; m++)
        if (!strcmp(o.mode, modes[m].name))
            return modes[m].run(&o);
    fprintf(stderr, "usage: bench-swap change|lane|scale [--rules N] [--swaps N] [--rounds N, at most 32]\n");
    return 2;
}
