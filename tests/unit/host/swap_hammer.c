/* SPDX-License-Identifier: Apache-2.0
 * swap_hammer.c: thousands of swaps while two lanes judge. Each event must be judged once, by exactly one generation, with
 * that generation's answer, and the windows must count it once; keyed windows keep their sums while their capacity changes, host
 * tables their rows and parameters their values. The control frees retired rules at once: it must fail.
 *
 *   swap_hammer [SWAPS] [--no-control] */
#include "host/host.h"
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VARIANTS = 4, LANES = 2, KEYS = 50, SWAPS_MAX = 1 << 20 };
static const int64_t moduli[VARIANTS] = { 2, 3, 5, 7 };

struct event { int64_t ts, v; };
#define CANON "E;ts:time;v:int;"

static struct {
    redan_engine *eng;
    redan_ruleset *rules[VARIANTS];
    _Atomic uint8_t variant[SWAPS_MAX + 2];              /* by generation, written before it is published */
    atomic_bool stop;
    _Atomic uint64_t wrong, judged;
} g;

static uint64_t layout(void) {
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *s = CANON; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

__attribute__((noreturn)) static void die(const char *what, const redan_error *e) {
    fprintf(stderr, "swap_hammer: %s: %s\n", what, e ? e->text : "");
    exit(3);
}

static void compile_all(void) {
    redan_error err;
    for (int i = 0; i < VARIANTS; i++) {
        char text[1024];
        int n = snprintf(text, sizeof text,
                         "ruleset hammer version %d\n  undefined skip\nevent E { v: int }\nparam p: int = 1 in 1..%d\ntable h by k: int { c: int } from host keys %d\n"
                         "window n = count() on E\nwindow s = sum(v) on accepted E\nwindow w = sum(v) by v mod %d on E keys %d%s\n"
                         "let m on E = v mod %" PRId64 "\nrule hit on E { when m == 0 flag HIT_%d }\n"
                         "rule seen on E { when true emit Seen { n: n, s: s, w: w, p: p, c: h[7].c } }\n",
                         i + 1, 1000000000 + i, 4 + i, KEYS, KEYS << i, i % 2 ? " evict oldest" : "", moduli[i], i);
        if (redan_compile(g.eng, "hammer", text, (size_t)n, NULL, &g.rules[i], &err) < 0)
            die("compile", &err);
    }
}

/* What a lane has told and judged so far. */
struct tally { int64_t nth, sum, keyed[KEYS], p, c; };

/* Answers of the generation that judged, and one more event in the windows. */
static bool right(redan_lane *l, const redan_verdict *v, const struct event *e, struct tally *t) {
    int k = atomic_load_explicit(&g.variant[v->generation], memory_order_relaxed);
    char code[16];
    snprintf(code, sizeof code, "HIT_%d", k);
    bool hit = e->v % moduli[k] == 0;
    const int64_t want[] = { ++t->nth, t->sum, t->keyed[e->v % KEYS] += e->v, t->p, t->c };
    t->sum += e->v;
    if (v->ncodes != (uint32_t)hit || (hit && strcmp(redan_code_name(l, v->codes[0]), code) != 0) || v->nemits != 1)
        return false;
    for (int i = 0; i < 5; i++)
        if (v->emits[0].fields[i].as.i != want[i])
            return false;
    return true;
}

/* The host's side: a parameter and a row, between two events. */
static void tell(redan_lane *l, struct tally *t) {
    const struct rdn_cell key = { .i = 7 };
    struct rdn_cell val = { .i = t->nth % 1000000000 + 1 };
    t->p = t->c = val.i;
    if (!rdn_lane_param(l, 0, &val) || !rdn_lane_row(l, 0, &key, &val))
        die("param or row", NULL);
}

static void *lane_main(void *arg) {
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    redan_lane *l;
    redan_error err;
    redan_verdict v;
    struct event e = { 0, 0 };
    struct tally t = { .p = 1 };
    uint64_t last = 0;
    o.index = (uint32_t)(uintptr_t)arg;
    if (redan_lane_open(g.eng, &o, &l, &err) < 0)
        die("lane", &err);
    redan_lane_idle(l);
    while (!atomic_load_explicit(&g.stop, memory_order_relaxed)) {
        if (t.nth % 32 == 0)
            tell(l, &t);
        if (++e.ts % 256 == 0)
            sched_yield();                               /* the publisher may need this CPU */
        e.v = (e.v * 1103515245 + 12345) % 2147483648;
        if (redan_eval(l, 0, &e, &v) < 0)
            die("eval", NULL);
        atomic_fetch_add_explicit(&g.wrong, !right(l, &v, &e, &t) || v.generation < last, memory_order_relaxed);
        last = v.generation;
        atomic_fetch_add_explicit(&g.judged, 1, memory_order_relaxed);
    }
    redan_lane_close(l);
    return NULL;
}

static int hammer(uint32_t swaps, bool no_grace) {
    redan_options o = REDAN_OPTIONS_INIT;
    redan_error err;
    uint32_t event;
    pthread_t t[LANES];
    o.lanes = LANES;
    if (redan_open(&g.eng, &o, &err) < 0)
        die("open", &err);
    g.eng->no_grace = no_grace;
    compile_all();
    if (redan_activate(g.eng, g.rules[0], NULL, NULL, &err) < 0 || redan_event(g.eng, "E", layout(), &event, &err) < 0)
        die("activate", &err);
    for (uintptr_t i = 0; i < LANES; i++)
        if (pthread_create(&t[i], NULL, lane_main, (void *)i) != 0)
            die("thread", NULL);
    for (uint32_t i = 0; i < swaps && !(no_grace && g.wrong); i++) {
        uint64_t seen = atomic_load(&g.judged);
        atomic_store(&g.variant[i + 2], (uint8_t)((i + 1) % VARIANTS));
        if (redan_activate(g.eng, g.rules[(i + 1) % VARIANTS], NULL, NULL, &err) < 0)
            die("activate", &err);
        while (i % 16 == 0 && atomic_load(&g.judged) < seen + 8)
            sched_yield();                               /* the lanes may need this CPU */
    }
    atomic_store(&g.stop, true);
    for (int i = 0; i < LANES; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < VARIANTS; i++)
        redan_release(g.rules[i]);
    redan_close(g.eng);
    if (!no_grace)
        printf("%u swaps, %" PRIu64 " events, %" PRIu64 " judged wrongly\n", swaps, atomic_load(&g.judged), atomic_load(&g.wrong));
    return g.wrong ? 1 : 0;
}

/* Without grace the same run must go wrong: a wrong answer, a crash, or a report of ASan. */
static int control(void) {
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        alarm(60);
        _exit(hammer(200000, true));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    bool failed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
    printf("control without grace: %s\n", failed ? "fails, as it must" : "DID NOT FAIL");
    return failed ? 0 : 1;
}

int main(int argc, char **argv) {
    uint32_t swaps = argc > 1 ? (uint32_t)atoi(argv[1]) : 10000;
    bool with_control = !(argc > 2 && strcmp(argv[2], "--no-control") == 0);
    int rc = with_control ? control() : 0;
    return hammer(swaps < SWAPS_MAX ? swaps : SWAPS_MAX, false) | rc;
}
