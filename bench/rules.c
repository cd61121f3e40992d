/* SPDX-License-Identifier: Apache-2.0
 * rules.c: native conditions against the same conditions compiled by gcc, in one run. One JSON object a line.
 *
 *   bench-rules [--gates FILE] [--rounds N] [--set random|rare|keyed] [--rules N] [--backend NAME]
 *
 * Own and peer (the faster of its two forms) take turns in short slices; the smallest time of each counts, because only noise
 * makes a slice longer. `ns` is begin + rules of the executor, runner and undefined test included; `code_ns` the native function
 * alone. Every event's answers are compared with interp and with the peer. Exit: 0, 1 bar missed or answers differ, 77 no gcc. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench/peers/gcc_peer.h"
#include "bench/rule_sets.h"
#include "dsl/dsl.h"
#include "jit/frame.h"
#include "jit/unit.h"

struct options { const char *gates, *set, *backend; uint32_t rounds, rules; };
struct run {
    struct rdn_arena arena;
    struct rdn_syms *syms;
    struct rdn_ir *ir;
    struct rdn_program *prog, *ref;
    struct rdn_frame *frame, *ref_frame;
    struct set_event *events; uint32_t n;
    uint32_t words;
};
static volatile uint64_t sink;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
/* GHz of a chain of additions: what the clock is doing now. */
static double add_ghz(void) {
    uint64_t x = 1;
    double from = now_ns();
    for (int i = 0; i < 2000000; i++)
        __asm__ volatile("add $1, %0" : "+r"(x));
    return 2000000 / (now_ns() - from);
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
    rdn_arena_init(&r->arena, &rdn_libc_mem);
    rdn_syms_open(&r->syms, &rdn_libc_mem, 1000);
    for (int i = 0; i < SET_SYMBOLS; i++)                /* ids 0 .. 63 as the peer has them */
        rdn_sym_intern(r->syms, name, (size_t)snprintf(name, sizeof name, "S%d", i), &id);
    double from = now_ns();
    if (rdn_dsl_compile(&r->arena, r->syms, text, strlen(text), NULL, &res, &e) || !res.ir)
        die("rules", &e);
    r->ir = res.ir;
    if (rdn_program_open(r->ir, backend, &rdn_libc_mem, &r->prog, &e) || rdn_frame_open(r->prog, &helpers, NULL, NULL, &rdn_libc_mem, &r->frame, &e))
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

/* ---- bars ---- */
/* Lines `rules/random/100: 0.90` of the gates file; 0: none. */
static double bar_of(const char *path, const char *set, uint32_t rules) {
    char line[200], want[80];
    double bar = 0;
    snprintf(want, sizeof want, "rules/%s/%u:", set, rules);
    FILE *f = path ? fopen(path, "r") : NULL;
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, want, strlen(want)))
            bar = strtod(line + strlen(want), NULL);
    if (f)
        fclose(f);
    return bar;
}

struct times { double own, code, peer[2]; };
static void measure(struct run *r, struct gcc_peer *peers, uint32_t rounds, struct times *t) {
    const struct rdn_unit *u = !strcmp(rdn_program_info(r->prog)->backend, "x64") ? r->prog->x : NULL;
    const struct rdn_plan *pl = u ? u->events[0].plan : NULL;
    uint8_t *block = pl ? aligned_alloc(64, rdn_block_bytes(pl)) : NULL;
    if (block)
        memset(block, 0, rdn_block_bytes(pl));
    *t = (struct times){1e18, 1e18, {1e18, 1e18}};
    for (uint32_t k = 0; k < rounds; k++) {
        double v[4] = {slice_own(r), slice_peer(r, &peers[0]), slice_peer(r, &peers[1]), 1e18};
        if (block && u->events[0].rules)
            v[3] = slice_code(r, u->events[0].rules, block, (const uint64_t *)(const void *)(block + rdn_block_fired(pl)));
        t->own = v[0] < t->own ? v[0] : t->own;
        t->peer[0] = v[1] < t->peer[0] ? v[1] : t->peer[0];
        t->peer[1] = v[2] < t->peer[1] ? v[2] : t->peer[1];
        t->code = v[3] < t->code ? v[3] : t->code;
    }
    free(block);
}

/* 0 good, 1 bad, 77 no peer */
static int one(const struct options *o, enum set_kind kind, uint32_t rules) {
    struct run r = {.n = rules <= 10 ? 16384 : rules <= 100 ? 4096 : 1024};
    struct rule_set set;
    struct gcc_peer peers[2];
    const char *why;
    struct times t;
    uint64_t hash = 0;
    r.events = set_events(16384, 7);
    set_make(&set, kind, rules, r.events, 16384, 1 + kind);
    for (int flat = 0; flat < 2; flat++)
        if (!gcc_peer_open(&peers[flat], &set, flat, &why)) {
            fprintf(stderr, "bench-rules: skipped: %s\n", why);
            return 77;
        }
    char *text = set_as_rules(&set);
    double load = open_run(&r, text, o->backend);
    bool ok = answers_agree(&r, &peers[1], &hash);
    measure(&r, peers, o->rounds, &t);
    const struct rdn_program_info *info = rdn_program_info(r.prog);
    const struct rdn_unit *u = !strcmp(info->backend, "x64") ? r.prog->x : NULL;
    const struct rdn_plan *pl = u ? u->events[0].plan : NULL;
    int form = t.peer[1] < t.peer[0];
    double ratio = t.own / t.peer[form], bar = bar_of(o->gates, set_names[kind], rules);
    bool pass = ok && (bar == 0 || ratio <= bar);
    printf("{\"bench\":\"rules\",\"schema\":1,\"set\":\"%s\",\"rules\":%u,\"executor\":\"%s\",\"plan\":{\"index\":0,\"ladder\":0,\"kill\":0,\"branch\":%u,\"flat\":%u},"
           "\"ns\":%.1f,\"code_ns\":%.1f,\"rounds\":%u,\"load_us\":%.0f,\"plan_us\":%u,\"emit_us\":%u,\"selfcheck_us\":%u,\"code_bytes\":%u,\"hash\":\"%016llx\",\"ok\":%s,"
           "\"peer\":\"gcc-O3\",\"peer_form\":\"%s\",\"peer_ns\":%.1f,\"peer_compile_ms\":%.0f,\"ratio\":%.3f",
           set_names[kind], rules, info->backend, pl ? pl->nhow[RDN_RULE_BRANCH] : 0, pl ? pl->nhow[RDN_RULE_FLAT] : 0, t.own, t.code < 1e17 ? t.code : 0.0, o->rounds, load / 1e3, info->plan_us,
           info->emit_us, info->selfcheck_us, info->code_bytes, (unsigned long long)hash, ok ? "true" : "false", form ? "flat" : "branchy", t.peer[form],
           peers[form].compile_ms, ratio);
    if (bar != 0)
        printf(",\"bar\":%.2f", bar);
    printf(",\"pass\":%s}\n", pass ? "true" : "false");
    fflush(stdout);
    close_run(&r);
    gcc_peer_close(&peers[0]);
    gcc_peer_close(&peers[1]);
    set_free(&set);
    free(text);
    free(r.events);
    return pass ? 0 : 1;
}

static void print_machine(void) {
    char line[400], cpu[128] = "?";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %127[^\n]", cpu) == 1)
            break;
    if (f)
        fclose(f);
    printf("{\"bench\":\"machine\",\"cpu\":\"%s\",\"add_ghz\":%.2f}\n", cpu, add_ghz());
}

int main(int argc, char **argv) {
    struct options o = {.backend = "x64", .rounds = 40};
    static const uint32_t sizes[] = {10, 100, 1000};
    int worst = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--gates")) o.gates = argv[i + 1];
        else if (!strcmp(argv[i], "--set")) o.set = argv[i + 1];
        else if (!strcmp(argv[i], "--backend")) o.backend = argv[i + 1];
        else if (!strcmp(argv[i], "--rounds")) o.rounds = (uint32_t)atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--rules")) o.rules = (uint32_t)atoi(argv[i + 1]);
    }
    print_machine();
    for (int k = 0; k < 3; k++)
        for (int s = 0; s < 3; s++) {
            if ((o.set && strcmp(o.set, set_names[k])) || (o.rules && o.rules != sizes[s]))
                continue;
            int rc = one(&o, (enum set_kind)k, sizes[s]);
            if (rc == 77)
                return 77;
            worst |= rc;
        }
    return worst;
}
