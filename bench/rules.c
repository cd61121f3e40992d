/* SPDX-License-Identifier: Apache-2.0
 * rules.c: native conditions against the same conditions compiled by gcc, in one run. One JSON object a line.
 *
 *   bench-rules [--rounds N] [--set NAME] [--rules N] [--backend NAME]
 *   bench-rules --file FILE                              own time and plan of rules on the sets' event, no peer (bench/plan.py)
 *   bench-rules --serve DIR --set NAME --rules N [--backend NAME] [--batch columns|structs]
 *   bench-rules --clock MS                               {"ghz":…}: the median over that time of what a chain of additions runs at
 *
 * Own and peer (the faster of its two forms) take turns in short slices; the smallest time of each counts, because only noise
 * makes a slice longer. A round during which the clock of a chain of additions moved more than 8 % is repeated. `ns_min` is begin + rules
 * of the executor, runner and undefined test included; `code_ns` the native function alone. Every event's answers are compared
 * with interp and with the peer. Exit: 0, 1 answers differ, 77 no gcc. Bars are bench/run.py's.
 *
 * --serve plays against a peer of another language (bench/duel.py has the protocol): DIR gets rules.json, events.bin and own.bin, the
 * fired words of the first ANSWERS events (of batches with --batch); then each line `slice` is answered by {"ns":…} and `clock` by {"ghz":…}. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench/batches.h"
#include "bench/peers/gcc_peer.h"
#include "bench/rule_sets.h"
#include "dsl/dsl.h"
#include "jit/frame.h"
#include "jit/unit.h"

struct options { const char *file, *serve, *set, *backend, *batch, *plan; uint32_t rounds, rules, clock_ms; };
enum { EVENTS = 16384, ANSWERS = 2048 };
struct run {
    struct rdn_arena arena;
    struct rdn_syms *syms;
    struct rdn_ir *ir;
    struct rdn_program *prog, *ref;
    struct rdn_frame *frame, *ref_frame;
    struct set_event *events; uint32_t n;
    uint32_t words;
    bool prior;                                          /* plan without looking at events */
    struct batches *batches;                             /* NULL: one event at a time */
};
static volatile uint64_t sink;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
/* GHz of a chain of additions: what the clock is doing now. The best of four, so that being preempted is not a slower clock. */
static double add_ghz(void) {
    uint64_t x = 1;
    double best = 1e18;
    for (int k = 0; k < 4; k++) {
        double from = now_ns();
        for (int i = 0; i < 500000; i++)
            __asm__ volatile("add $1, %0" : "+r"(x));
        double took = now_ns() - from;
        best = took < best ? took : best;
    }
    return 500000 / best;
}

/* ---- opening ---- */
static void no_window(void *l, uint32_t w, const struct rdn_key *k, bool prev, struct rdn_cell *ret) { (void)l, (void)w, (void)k, (void)prev, ret->cause = RDN_CAUSE_COLD; }
static const struct rdn_cell *no_row(void *l, uint32_t t, const struct rdn_key *k) { (void)l, (void)t, (void)k; return NULL; }
static const struct rdn_helpers helpers = {.wread = no_window, .tread = no_row};

static void die(const char *what, const redan_error *e) {
    fprintf(stderr, "bench-rules: %s: %s %s\n", what, e->id, e->text);
    exit(1);
}
static double open_run(struct run *r, const char *text, const char *backend) {
    redan_error e = {0};
    struct rdn_dsl_result res;
    char name[16];
    uint32_t id;
    int64_t now[RDN_SAMPLE_MAX] = {0};
    rdn_arena_init(&r->arena, &rdn_libc_mem);
    rdn_syms_open(&r->syms, &rdn_libc_mem, 1000);
    for (int i = 0; i < SET_SYMBOLS; i++)                /* ids 0 .. 63 as the peer has them */
        rdn_sym_intern(r->syms, name, (size_t)snprintf(name, sizeof name, "S%d", i), &id);
    double from = now_ns();
    if (rdn_dsl_compile(&r->arena, r->syms, text, strlen(text), NULL, &res, &e) || !res.ir)
        die("rules", &e);
    r->ir = res.ir;
    const struct rdn_sampled sampled = {RDN_SAMPLE_MAX, sizeof(struct set_event), (uint8_t *)r->events, now};
    if (rdn_program_open_sampled(NULL, r->ir, backend, r->prior ? NULL : &sampled, &rdn_libc_mem, &r->prog, &e) || rdn_frame_open(r->prog, &helpers, NULL, NULL, &rdn_libc_mem, &r->frame, &e))
        die(backend, &e);
    double took = now_ns() - from;
    if (rdn_program_open(r->ir, "interp", &rdn_libc_mem, &r->ref, &e) || rdn_frame_open(r->ref, &helpers, NULL, NULL, &rdn_libc_mem, &r->ref_frame, &e))
        die("interp", &e);
    const struct rdn_event *ev = &r->ir->events[0];
    if (ev->size != sizeof(struct set_event) || ev->fields[4].offset != offsetof(struct set_event, symbol) || ev->fields[15].offset != offsetof(struct set_event, rate))
        die("the event's layout is not the peer's", &e);
    r->words = (r->ir->nrules + 63) / 64;
    return took;
}
static void close_run(struct run *r) {
    rdn_frame_close(r->frame);
    rdn_frame_close(r->ref_frame);
    rdn_program_close(r->prog);
    rdn_program_close(r->ref);
    rdn_syms_close(r->syms);
    rdn_arena_fini(&r->arena);
}

/* ---- one slice each ---- */
static double slice_own(struct run *r) {
    struct rdn_frame_head *h = rdn_frame_head(r->frame);
    uint64_t x = 0;
    double from = now_ns();
    for (uint32_t i = 0; i < r->n; i++) {
        rdn_exec_begin(r->frame, 0, (const uint8_t *)&r->events[i], r->events[i].ts, r->events[i].ts);
        rdn_exec_rules(r->frame, RDN_EARLY);
        x += h->fired[0] ^ h->fired[r->words - 1];
    }
    sink = x;
    return (now_ns() - from) / r->n;
}
/* The same in batches, all events of the set. */
static double slice_batches(struct run *r) {
    double from = now_ns();
    batches_judge(r->batches, r->frame, 0, EVENTS);
    sink = *batches_words(r->batches, EVENTS - 1);
    return (now_ns() - from) / EVENTS;
}
static double slice_code(struct run *r, rdn_native *code, uint8_t *block, const uint64_t *fired) {
    uint64_t x = 0;
    double from = now_ns();
    for (uint32_t i = 0; i < r->n; i++) {
        code(block, (const uint8_t *)&r->events[i]);
        x += fired[0] ^ fired[r->words - 1];
    }
    sink = x;
    return (now_ns() - from) / r->n;
}
static double slice_peer(struct run *r, const struct gcc_peer *p) {
    unsigned long long bits[64] = {0};
    uint64_t x = 0;
    double from = now_ns();
    for (uint32_t i = 0; i < r->n; i++) {
        p->judge(&r->events[i], bits);
        x += bits[0] ^ bits[r->words - 1];
    }
    sink = x;
    return (now_ns() - from) / r->n;
}

static bool answers_agree(struct run *r, const struct gcc_peer *p, uint64_t *ret_hash) {
    const struct rdn_frame_head *h = rdn_frame_head(r->frame), *ref = rdn_frame_head(r->ref_frame);
    uint64_t hash = 1;
    for (uint32_t i = 0; i < r->n && i < 2048; i++) {
        unsigned long long bits[64] = {0};
        const uint8_t *row = (const uint8_t *)&r->events[i];
        rdn_exec_begin(r->frame, 0, row, 1, 1);
        rdn_exec_rules(r->frame, RDN_EARLY);
        rdn_exec_begin(r->ref_frame, 0, row, 1, 1);
        rdn_exec_rules(r->ref_frame, RDN_EARLY);
        p->judge(&r->events[i], bits);
        for (uint32_t w = 0; w < r->words; w++) {
            hash = (hash ^ h->fired[w]) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 29;
            if (h->fired[w] != ref->fired[w] || h->fired[w] != bits[w] || h->undef[w] != ref->undef[w])
                return false;
        }
    }
    *ret_hash = hash;
    return true;
}

/* ---- against gcc ---- */
struct times { double own, own_p50, code, peer[2]; uint32_t rounds, repeated; };
static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}
static void less(double *best, double v) { *best = v < *best ? v : *best; }
/* One turn of everybody; false when the machine's clock changed meanwhile. */
static bool round_of(struct run *r, struct gcc_peer *peers, rdn_native *code, uint8_t *block, const uint64_t *fired, double v[4]) {
    double before = add_ghz();
    v[0] = slice_own(r);
    v[1] = slice_peer(r, &peers[0]);
    v[2] = slice_peer(r, &peers[1]);
    v[3] = code ? slice_code(r, code, block, fired) : 1e18;
    double ratio = add_ghz() / before;
    return ratio > .92 && ratio < 1.08;
}
static void measure(struct run *r, struct gcc_peer *peers, uint32_t rounds, struct times *t) {
    const struct rdn_unit *u = !strcmp(rdn_program_info(r->prog)->backend, "x64") ? r->prog->x : NULL;
    const struct rdn_plan *pl = u ? u->events[0].plan : NULL;
    uint8_t *block = pl ? aligned_alloc(64, rdn_block_bytes(pl)) : NULL;
    const uint64_t *fired = block ? (const uint64_t *)(const void *)(block + rdn_block_fired(pl)) : NULL;
    double *own = malloc(rounds * sizeof *own), v[4];
    if (block)
        memset(block, 0, rdn_block_bytes(pl));
    *t = (struct times){1e18, 0, 1e18, {1e18, 1e18}, 0, 0};
    while (t->rounds < rounds) {
        /* On a clock that never holds still it settles for what it gets. */
        if (!round_of(r, peers, block ? u->events[0].rules : NULL, block, fired, v) && t->repeated < 2 * rounds) {
            t->repeated++;
            continue;
        }
        own[t->rounds++] = v[0];
        less(&t->own, v[0]);
        less(&t->peer[0], v[1]);
        less(&t->peer[1], v[2]);
        less(&t->code, v[3]);
    }
    qsort(own, t->rounds, sizeof *own, by_value);
    t->own_p50 = own[rounds / 2];
    free(own);
    free(block);
}

/* {"ns":70.1,"flat":88,…}: the time the planner expects of an event, rules by technique as it names them. */
static void print_plan(const struct rdn_plan *pl) {
    static const char *const names[] = {
#define TECHNIQUE(name, text, doc) text,
#include "jit/technique.def"
#undef TECHNIQUE
    };
    printf("\"plan\":{\"ns\":%.1f", pl ? pl->ns : 0.0);
    for (uint32_t i = 0; pl && i < RDN_RULE_COUNT; i++)
        printf(",\"%s\":%u", names[i], pl->nhow[i]);
    printf("},");
}
static void print_row(struct run *r, const struct set_kind *kind, const struct times *t, double load, uint64_t hash, bool ok, double compile_ms) {
    const struct rdn_program_info *info = rdn_program_info(r->prog);
    const struct rdn_unit *u = !strcmp(info->backend, "x64") ? r->prog->x : NULL;
    const struct rdn_plan *pl = u ? u->events[0].plan : NULL;
    int form = t->peer[1] < t->peer[0];
    printf("{\"bench\":\"rules\",\"schema\":1,\"set\":\"%s\",\"rules\":%u,\"executor\":\"%s\",", kind->name, r->ir->nrules, info->backend);
    print_plan(pl);
    printf("\"ns_min\":%.1f,\"ns_p50\":%.1f,\"code_ns\":%.1f,\"rounds\":%u,\"repeated\":%u,\"load_us\":%.0f,\"plan_us\":%u,\"emit_us\":%u,\"selfcheck_us\":%u,"
           "\"code_bytes\":%u,\"hash\":\"%016llx\",\"ok\":%s,\"peer\":\"gcc\",\"peer_form\":\"%s\",\"peer_ns\":%.1f,\"peer_compile_ms\":%.0f,\"ratio\":%.3f}\n",
           t->own, t->own_p50, t->code < 1e17 ? t->code : 0.0, t->rounds, t->repeated,
           load / 1e3, info->plan_us, info->emit_us, info->selfcheck_us, info->code_bytes, (unsigned long long)hash, ok ? "true" : "false",
           form ? "flat" : "branchy", t->peer[form], compile_ms, t->own / t->peer[form]);
    fflush(stdout);
}

static double open_set(struct run *r, struct rule_set *set, const struct options *o, const struct set_kind *kind, uint32_t rules) {
    *r = (struct run){.n = rules <= 10 ? EVENTS : rules <= 100 ? EVENTS / 4 : EVENTS / 16};
    r->prior = o->plan && !strcmp(o->plan, "static");
    r->events = set_events(EVENTS, 7, kind->form == SET_DEC);
    set_make(set, kind, rules, r->events, EVENTS);
    char *text = set_as_rules(set);
    double load = open_run(r, text, o->backend);
    free(text);
    return load;
}
static void close_set(struct run *r, struct rule_set *set) {
    close_run(r);
    set_free(set);
    free(r->events);
}

/* 0 good, 1 bad, 77 no peer */
static int one(const struct options *o, const struct set_kind *kind, uint32_t rules) {
    struct run r;
    struct rule_set set;
    struct gcc_peer peers[2];
    const char *why = NULL;
    struct times t;
    uint64_t hash = 0;
    double load = open_set(&r, &set, o, kind, rules);
    bool have = gcc_peer_open(&peers[0], &set, 0, &why) && gcc_peer_open(&peers[1], &set, 1, &why);
    bool ok = have && answers_agree(&r, &peers[1], &hash);
    if (have) {
        measure(&r, peers, o->rounds, &t);
        print_row(&r, kind, &t, load, hash, ok, peers[t.peer[1] < t.peer[0]].compile_ms);
        gcc_peer_close(&peers[0]);
        gcc_peer_close(&peers[1]);
    } else {
        fprintf(stderr, "bench-rules: skipped: %s\n", why);
    }
    close_set(&r, &set);
    return !have ? 77 : !ok;
}

/* ---- undefined inputs: against its own time on defined events ---- */
static const struct nan_kind { const char *name; uint32_t percent; } nan_kinds[] = {{"nan-1", 1}, {"nan", 100}};
enum { NAN_RULES = 1000 };

/* Every float of so many events in a hundred. */
static struct set_event *with_nans(const struct set_event *from, uint32_t percent) {
    const double nan = strtod("nan", NULL);
    struct set_event *v = malloc(EVENTS * sizeof *v);
    memcpy(v, from, EVENTS * sizeof *v);
    for (uint32_t i = 0; i < EVENTS; i++)
        for (int f = 0; f < SET_FLOATS && i % 100 < percent; f++)
            memcpy((char *)&v[i] + set_floats[f].offset, &nan, sizeof nan);
    return v;
}
static bool agrees_with_interp(struct run *r, uint64_t *ret_undef) {
    const struct rdn_frame_head *h = rdn_frame_head(r->frame), *ref = rdn_frame_head(r->ref_frame);
    bool same = true;
    for (uint32_t i = 0; i < 256; i++) {
        const uint8_t *row = (const uint8_t *)&r->events[i];
        rdn_exec_begin(r->frame, 0, row, 1, 1);
        rdn_exec_rules(r->frame, RDN_EARLY);
        rdn_exec_begin(r->ref_frame, 0, row, 1, 1);
        rdn_exec_rules(r->ref_frame, RDN_EARLY);
        for (uint32_t w = 0; w < r->words; w++) {
            same = same && h->fired[w] == ref->fired[w] && h->undef[w] == ref->undef[w];
            *ret_undef += (unsigned)__builtin_popcountll(h->undef[w]);
        }
    }
    return same;
}
static int one_nan(const struct options *o, const struct nan_kind *kind) {
    struct run r;
    struct rule_set set;
    double own = 1e18, defined = 1e18;
    uint64_t undef = 0;
    open_set(&r, &set, o, &set_kinds[0], NAN_RULES);
    struct set_event *plain = r.events, *nans = with_nans(plain, kind->percent);
    for (uint32_t k = 0; k < o->rounds; k++) {
        r.events = nans;
        less(&own, slice_own(&r));
        r.events = plain;
        less(&defined, slice_own(&r));
    }
    r.events = nans;
    bool ok = agrees_with_interp(&r, &undef) && undef;
    printf("{\"bench\":\"rules\",\"schema\":1,\"set\":\"%s\",\"rules\":%d,\"executor\":\"%s\",\"ns_min\":%.1f,\"rounds\":%u,\"ok\":%s,\"peer\":\"defined\",\"peer_ns\":%.1f,"
           "\"ratio\":%.3f}\n", kind->name, NAN_RULES, rdn_program_info(r.prog)->backend, own, o->rounds, ok ? "true" : "false", defined, own / defined);
    fflush(stdout);
    r.events = plain;
    free(nans);
    close_set(&r, &set);
    return !ok;
}

/* ---- against others ---- */
static bool save(const char *dir, const char *name, const void *p, size_t n) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(p, 1, n, f) == n;
    return f ? !fclose(f) && good : false;
}
static bool export_set(const char *dir, struct run *r, const struct rule_set *set) {
    const struct rdn_frame_head *h = rdn_frame_head(r->frame);
    uint64_t *bits = calloc((size_t)ANSWERS * r->words, sizeof *bits);
    char *json = set_as_json(set);
    if (r->batches)
        batches_judge(r->batches, r->frame, 0, ANSWERS);
    for (uint32_t i = 0; i < ANSWERS; i++) {
        if (!r->batches) {
            rdn_exec_begin(r->frame, 0, (const uint8_t *)&r->events[i], 1, 1);
            rdn_exec_rules(r->frame, RDN_EARLY);
        }
        memcpy(bits + (size_t)i * r->words, r->batches ? batches_words(r->batches, i) : h->fired, r->words * sizeof *bits);
    }
    bool good = save(dir, "own.bin", bits, (size_t)ANSWERS * r->words * sizeof *bits) && save(dir, "rules.json", json, strlen(json)) &&
                save(dir, "events.bin", r->events, EVENTS * sizeof *r->events);
    free(bits);
    free(json);
    return good;
}
/* The best of the slices that fit into 20 ms: a peer's slice is about as long. */
static double best_slice(struct run *r) {
    double best = 1e18, until = now_ns() + 2e7;
    do
        less(&best, r->batches ? slice_batches(r) : slice_own(r));
    while (now_ns() < until);
    return best;
}
static int serve(const struct options *o, const struct set_kind *kind) {
    struct run r;
    struct rule_set set;
    char line[64];
    double load = open_set(&r, &set, o, kind, o->rules);
    const struct rdn_program_info *info = rdn_program_info(r.prog);
    r.batches = NULL;
    if (o->batch && !rdn_exec_batch_rules(r.prog, 0)) {
        fprintf(stderr, "bench-rules: %s judges no batches of this set\n", info->backend);
        return 77;
    }
    if (o->batch && !(r.batches = batches_open(r.ir, r.events, EVENTS, !strcmp(o->batch, "columns"))))
        return 1;
    if (!export_set(o->serve, &r, &set)) {
        perror(o->serve);
        return 1;
    }
    printf("{\"executor\":\"%s\",\"batch\":\"%s\",\"load_us\":%.0f}\n", info->backend, r.batches && info->batch ? info->batch : "", load / 1e3);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "slice\n"))
            printf("{\"ns\":%.2f}\n", best_slice(&r));
        else if (!strcmp(line, "clock\n"))
            printf("{\"ghz\":%.4f}\n", add_ghz());
        else
            break;
        fflush(stdout);
    }
    close_set(&r, &set);
    return 0;
}

/* ---- rules of a file, for the planner's constants ---- */
static int of_file(const struct options *o) {
    struct run r = {.n = EVENTS / 4, .prior = o->plan && !strcmp(o->plan, "static")};
    double own = 1e18;
    FILE *f = fopen(o->file, "r");
    char *text = NULL;
    size_t cap = 0;
    if (!f || getdelim(&text, &cap, 0, f) < 0) {
        perror(o->file);
        return 2;
    }
    fclose(f);
    r.events = set_events(EVENTS, 7, 0);
    open_run(&r, text, o->backend);
    for (uint32_t k = 0; k < o->rounds; k++)
        less(&own, slice_own(&r));
    printf("{\"rules\":%u,", r.ir->nrules);
    print_plan(((const struct rdn_unit *)r.prog->x)->events[0].plan);
    printf("\"ns_min\":%.2f}\n", own);
    free(text);
    free(r.events);
    close_run(&r);
    return 0;
}

static int print_clock(uint32_t ms) {
    double v[1000], until = now_ns() + ms * 1e6;
    uint32_t n = 0;
    do
        v[n++] = add_ghz();
    while (n < 1000 && now_ns() < until);
    qsort(v, n, sizeof *v, by_value);
    printf("{\"ghz\":%.3f}\n", v[n / 2]);
    return 0;
}

static bool take(struct options *o, const char *name, const char *value) {
    if (!strcmp(name, "--serve")) o->serve = value;
    else if (!strcmp(name, "--set")) o->set = value;
    else if (!strcmp(name, "--backend")) o->backend = value;
    else if (!strcmp(name, "--batch")) o->batch = value;
    else if (!strcmp(name, "--plan")) o->plan = value;
    else if (!strcmp(name, "--file")) o->file = value;
    else if (!strcmp(name, "--rounds")) o->rounds = (uint32_t)atoi(value);
    else if (!strcmp(name, "--clock")) o->clock_ms = (uint32_t)atoi(value);
    else if (!strcmp(name, "--rules")) o->rules = (uint32_t)atoi(value);
    else return false;
    return true;
}

int main(int argc, char **argv) {
    struct options o = {.backend = "x64", .rounds = 40};
    int worst = 0, seen = 0;
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !take(&o, argv[i], argv[i + 1])) {
            fprintf(stderr, "usage: bench-rules [--serve DIR] [--set NAME] [--rules N] [--backend NAME] [--rounds N] [--batch columns|structs]\n");
            return 2;
        }
    if (o.file)
        return of_file(&o);
    if (o.clock_ms)
        return print_clock(o.clock_ms);
    for (const struct set_kind *k = set_kinds; k < set_kinds + SET_KINDS; k++) {
        if (o.set && strcmp(o.set, k->name))
            continue;
        if (o.serve)
            return serve(&o, k);
        for (const uint32_t *size = k->sizes; *size; size++) {
            if (o.rules && o.rules != *size)
                continue;
            int rc = one(&o, k, *size);
            if (rc == 77)
                return 77;
            seen = 1;
            worst |= rc;
        }
    }
    for (size_t i = 0; !o.serve && i < sizeof nan_kinds / sizeof *nan_kinds; i++)
        if ((!o.set || !strcmp(o.set, nan_kinds[i].name)) && (!o.rules || o.rules == NAN_RULES)) {
            worst |= one_nan(&o, &nan_kinds[i]);
            seen = 1;
        }
    if (!seen)
        fprintf(stderr, "bench-rules: no such set or size\n");
    return seen ? worst : 2;
}
