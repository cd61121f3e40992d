/* SPDX-License-Identifier: Apache-2.0
 * sandbox.c: what confinement costs. Rows of rows.py, one JSON line each.
 *
 *   sandbox reload [--numpy|--lua] [--one-core]   fork to ready, reload to first answer; Python beside a cold start of python3 in the same run
 *   sandbox call                              round trips: scalar and 256 rows of NumPy, spinning; scalar by futex on one core
 *   sandbox kill [--lua]                      a call that has to be killed: worker gone after the deadline, the next one ready
 *   sandbox lane                              p99 of a lane's calls while another plugin is reloaded, against without
 *
 * --rounds N. A round has its own percentiles; p50 is that of the best round, because other work only adds; p99 the median of theirs. Exit 77: plugins cannot run here. */
#include <sched.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "plugins/worker.h"

enum { MOST = 20000, ROUNDS = 5, RELOADS = 40, COLD = 8, KILLS = 20 };
#define MS 1000000LL
static struct rdn_plugins *ps;
static char folder[] = "/tmp/redan-bench-XXXXXX";
static int rounds = ROUNDS;

__attribute__((noreturn)) static void die(const char *what, const redan_error *e) {
    fprintf(stderr, "%s: %s %s\n", what, e ? e->id : "", e ? e->text : "");
    exit(1);
}

/* ---- files and plugins ---- */
static const char *write_file(const char *name, const char *text) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        die(path, NULL);
    return path;
}

/* A plugin f() -> int of each kind; %d is what it answers. */
enum kind { STDLIB, NUMPY, LUA };
static const struct { const char *name, *file, *text, *endless; } kinds[] = {
    [STDLIB] = { "stdlib", "plugin.py", "import redan\n@redan.plugin\ndef f() -> int:\n    return %d\n",
                 "import redan\n@redan.plugin\ndef f() -> int:\n    return sum(range(10**12))\n" },
    [NUMPY] = { "numpy", "plugin.py", "import redan\nimport numpy\n@redan.plugin\ndef f() -> int:\n    return %d\n", NULL },
    [LUA] = { "lua", "plugin.lua", "redan.plugin(\"f() -> int\", function() return %d end)\n",
              "redan.plugin(\"f() -> int\", function() local n = 0 while true do n = n + 1 end end)\n" },
};

static struct rdn_plugin *open_plugin(struct rdn_plugin_spec s, enum kind kind, const char *text) {
    static const char *const preload[] = { "numpy" };
    struct rdn_plugin *p;
    redan_error e = { 0 };
    s.name = "f";
    s.file = write_file(kinds[kind].file, text);
    s.group = kinds[kind].name;
    s.preload = preload;
    s.npreload = kind == NUMPY;
    s.load_cap_ms = 5000;
    s.time_cap_ns = 2000 * MS;                          /* a busy machine is slow, not wrong */
    if (rdn_plugin_open(ps, &s, &p, &e) < 0)
        die("open", &e);
    return p;
}

static void close_all(void) {
    char command[160];
    rdn_plugins_close(ps);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command))
        die(command, NULL);
}

static void open_all(bool spin_off) {
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .spin_off = spin_off };
    redan_error e = { 0 };
    int rc = rdn_plugins_open(&o, &ps, &e);
    if (rc < 0)
        fprintf(stderr, "%s %s\n", e.id, e.text);
    if (rc < 0)
        exit(rc == REDAN_E_NOSUP ? 77 : 1);
    if (!mkdtemp(folder))
        die(folder, NULL);
}

/* ---- percentiles and rows ---- */
static int rising(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct series { int64_t p50[64], p99[64]; int n; };
static void add_round(struct series *s, int64_t *v, int n) {
    qsort(v, (size_t)n, sizeof *v, rising);
    s->p50[s->n] = v[n / 2];
    s->p99[s->n++] = v[(n - 1) * 99 / 100];
}

static double median(int64_t *v, int n) {
    qsort(v, (size_t)n, sizeof *v, rising);
    return (double)v[n / 2];
}

static double best(const int64_t *v, int n) {
    int64_t least = v[0];
    for (int i = 1; i < n; i++)
        least = v[i] < least ? v[i] : least;
    return (double)least;
}

static void print_figures(const char *what, struct series *s, const char *unit, double per) {
    printf("{\"bench\":\"sandbox\",\"schema\":1,\"figure\":\"sandbox/%s/%s_p50\",\"value\":%.3f,\"unit\":\"%s\"}\n", what, unit, best(s->p50, s->n) / per, unit);
    printf("{\"bench\":\"sandbox\",\"schema\":1,\"figure\":\"sandbox/%s/%s_p99\",\"value\":%.3f,\"unit\":\"%s\"}\n", what, unit, median(s->p99, s->n) / per, unit);
}

static void print_peer(const char *what, double own, const char *peer, double theirs, const char *unit) {
    printf("{\"bench\":\"sandbox\",\"schema\":1,\"set\":\"%s\",\"ns_min\":%.0f,\"peer\":\"%s\",\"peer_ns\":%.0f,\"ratio\":%.4f,\"unit\":\"%s\"}\n", what, own, peer,
           theirs, own / theirs, unit);
}

/* ---- reload ---- */
/* What a zygote has imported before it forks (python/redan/_worker.py). */
#define STANDARD "import abc,array,bisect,collections,contextlib,copy,csv,dataclasses,datetime,decimal,enum,fractions,functools,gc,hashlib,heapq,io," \
    "itertools,json,logging,math,numbers,operator,random,re,statistics,string,struct,threading,time,traceback,types,typing,warnings,zlib"
static int64_t cold_start(bool numpy) {
    const char *argv[] = { "python3", "-I", "-c", numpy ? STANDARD ",numpy" : STANDARD, NULL };
    static const char *const env[] = { "OPENBLAS_NUM_THREADS=1", NULL };
    pid_t pid;
    int st;
    int64_t start = rdn_mono_ns();
    if (posix_spawn(&pid, "/usr/bin/python3", NULL, NULL, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env) || waitpid(pid, &st, 0) < 0 || st)
        die("python3", NULL);
    return rdn_mono_ns() - start;
}

static int64_t reload_once(struct rdn_plugin *p, enum kind kind, int i, int64_t *ret_ready) {
    char text[256];
    struct rdn_plugin_status *s = calloc(1, sizeof *s);
    struct rdn_wire_value got = { .i = 0 };
    redan_error e = { 0 };
    snprintf(text, sizeof text, kinds[kind].text, i);
    const char *file = write_file(kinds[kind].file, text);
    int64_t start = rdn_mono_ns();
    if (rdn_plugin_reload(p, file, NULL, &e) < 0)
        die("reload", &e);
    if (rdn_plugin_call(p, 0, NULL, 0, 0, start + 1000 * MS, &got) != RDN_OUT_VALUE || got.i != i || !s)
        die("no answer of the new text", NULL);
    int64_t took = rdn_mono_ns() - start;
    rdn_plugin_status(p, s);
    *ret_ready = s->load_ns;
    free(s);
    return took;
}

static void bench_reload(enum kind kind, bool one_core) {
    struct series ready = { .n = 0 }, whole = { .n = 0 };
    static int64_t cold[COLD * 64];
    int64_t a[RELOADS], b[RELOADS];
    char name[64], first[256];
    const char *set = kinds[kind].name, *cores = one_core ? "-one-core" : "";
    int ncold = 0, n = 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (one_core && sched_setaffinity(0, sizeof one, &one) < 0)
        die("sched_setaffinity", NULL);
    open_all(false);
    snprintf(first, sizeof first, kinds[kind].text, -1);
    struct rdn_plugin *p = open_plugin((struct rdn_plugin_spec){ .ret = { .kind = RDN_WIRE_INT } }, kind, first);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; kind != LUA && i < COLD; i++)
            cold[ncold++] = cold_start(kind == NUMPY);
        for (int i = 0; i < RELOADS; i++)
            b[i] = reload_once(p, kind, n++, &a[i]);
        add_round(&ready, a, RELOADS);
        add_round(&whole, b, RELOADS);
    }
    rdn_plugin_close(p);
    close_all();
    snprintf(name, sizeof name, "fork-to-ready-%s%s", set, cores);
    print_figures(name, &ready, "ms", 1e6);
    snprintf(name, sizeof name, "reload-%s%s", set, cores);
    print_figures(name, &whole, "ms", 1e6);
    if (ncold)
        print_peer(name, best(whole.p50, whole.n), "cold-python3", best(cold, ncold), "ms");
}

/* ---- calls ---- */
static void round_trips(struct rdn_plugin *p, uint32_t nrows, struct series *s, int n) {
    static struct rdn_wire_value args[RDN_PLUGIN_ROWS], ret[RDN_PLUGIN_ROWS];
    static uint8_t outs[RDN_PLUGIN_ROWS];
    static int64_t v[MOST];
    for (uint32_t i = 0; i < nrows; i++)
        args[i].f = i;
    for (int round = 0; round < rounds; round++) {
        for (int i = -n / 10; i < n; i++) {
            int64_t start = rdn_mono_ns();
            enum rdn_outcome out = rdn_plugin_call_rows(p, 0, args, 1, nrows, 0, start + 1000 * MS, ret, outs);
            int64_t took = rdn_mono_ns() - start;
            if (out != RDN_OUT_VALUE || ret[nrows - 1].f != 2 * args[nrows - 1].f)
                die(rdn_outcome_text(out), NULL);
            if (i >= 0)
                v[i] = took;
        }
        add_round(s, v, n);
    }
}

static const struct rdn_wire_param x_float = { "x", { .kind = RDN_WIRE_FLOAT } };
static struct rdn_plugin_spec float_spec(void) { return (struct rdn_plugin_spec){ .params = &x_float, .nparams = 1, .ret = { .kind = RDN_WIRE_FLOAT } }; }
static const char scalar_text[] = "import redan\n@redan.plugin\ndef f(x: float) -> float:\n    return 2.0 * x\n";

static void bench_call(int n) {
    struct series scalar = { .n = 0 }, batch = { .n = 0 }, slept = { .n = 0 };
    open_all(false);
    struct rdn_plugin *p = open_plugin(float_spec(), STDLIB, scalar_text);
    round_trips(p, 1, &scalar, n);
    rdn_plugin_close(p);
    if (access("/usr/lib/python3/dist-packages/numpy/__init__.py", R_OK) == 0) {
        p = open_plugin(float_spec(), NUMPY, "import redan\n@redan.plugin(batch=True)\ndef f(x: redan.Floats) -> redan.Floats:\n    return x + x\n");
        round_trips(p, RDN_PLUGIN_ROWS, &batch, n);
        rdn_plugin_close(p);
    }
    rdn_plugins_close(ps);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (sched_setaffinity(0, sizeof one, &one) < 0)
        die("sched_setaffinity", NULL);
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .spin_off = true };
    redan_error e = { 0 };
    if (rdn_plugins_open(&o, &ps, &e) < 0)
        die("open", &e);
    p = open_plugin(float_spec(), STDLIB, scalar_text);
    round_trips(p, 1, &slept, n);
    rdn_plugin_close(p);
    close_all();
    print_figures("call-scalar", &scalar, "us", 1e3);
    if (batch.n)
        print_figures("call-numpy-256-rows", &batch, "us", 1e3);
    print_figures("call-scalar-futex-one-core", &slept, "us", 1e3);
}

/* ---- kill ---- */
static void bench_kill(enum kind kind) {
    struct series gone = { .n = 0 }, fresh = { .n = 0 };
    int64_t a[KILLS], b[KILLS];
    struct rdn_plugin_status *s = calloc(1, sizeof *s);
    open_all(false);
    struct rdn_plugin *p = open_plugin((struct rdn_plugin_spec){ .ret = { .kind = RDN_WIRE_INT } }, kind, kinds[kind].endless);
    for (int round = 0; s && round < rounds; round++) {
        for (int i = 0; i < KILLS;) {
            struct rdn_wire_value got;
            int64_t deadline = rdn_mono_ns() + 5 * MS;
            rdn_plugin_call(p, 0, NULL, 0, 0, deadline, &got);
            enum rdn_outcome end = rdn_plugin_settle(p, 0, 2000 * MS);
            int64_t now = rdn_mono_ns();
            rdn_plugin_status(p, s);
            rdn_plugin_resume(p);
            if (end != RDN_OUT_KILLED)                  /* stopped before it began: a busy machine */
                continue;
            a[i] = s->gone_ns - deadline;
            b[i++] = now - s->gone_ns;
        }
        add_round(&gone, a, KILLS);
        add_round(&fresh, b, KILLS);
    }
    rdn_plugin_close(p);
    close_all();
    free(s);
    print_figures(kind == LUA ? "kill-gone-after-deadline-lua" : "kill-gone-after-deadline", &gone, "ms", 1e6);
    print_figures(kind == LUA ? "kill-to-next-ready-lua" : "kill-to-next-ready", &fresh, "ms", 1e6);
}

/* ---- a lane beside reloads ---- */
struct reloader { struct rdn_plugin *p; _Atomic bool stop; int n; };
static void *reload_on(void *arg) {
    struct reloader *r = arg;
    int64_t ready;
    while (!atomic_load(&r->stop)) {
        reload_once(r->p, STDLIB, r->n++, &ready);
        usleep(20000);                                  /* 40 a second or so */
    }
    return NULL;
}

static void bench_lane(int n) {
    struct series alone = { .n = 0 }, beside = { .n = 0 };
    struct reloader r = { .n = 0 };
    pthread_t thread;
    open_all(false);
    struct rdn_plugin *p = open_plugin(float_spec(), STDLIB, scalar_text);
    round_trips(p, 1, &alone, n);
    r.p = open_plugin((struct rdn_plugin_spec){ .ret = { .kind = RDN_WIRE_INT } }, STDLIB, "import redan\n@redan.plugin\ndef f() -> int:\n    return -1\n");
    if (pthread_create(&thread, NULL, reload_on, &r))
        die("pthread_create", NULL);
    round_trips(p, 1, &beside, n);
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    rdn_plugin_close(r.p);
    rdn_plugin_close(p);
    close_all();
    printf("{\"bench\":\"sandbox\",\"schema\":1,\"reloads_beside\":%d}\n", r.n);
    print_peer("lane-p99", median(beside.p99, beside.n), "no-reloads", median(alone.p99, alone.n), "us");
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    bool one_core = false;
    enum kind kind = STDLIB;
    for (int i = 2; i < argc; i++) {
        kind = !strcmp(argv[i], "--numpy") ? NUMPY : !strcmp(argv[i], "--lua") ? LUA : kind;
        one_core = one_core || !strcmp(argv[i], "--one-core");
        if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
            rounds = atoi(argv[++i]);
    }
    rounds = rounds < 1 ? 1 : rounds > 60 ? 60 : rounds;
    if (!strcmp(what, "reload"))
        bench_reload(kind, one_core);
    else if (!strcmp(what, "call"))
        bench_call(MOST);
    else if (!strcmp(what, "kill"))
        bench_kill(kind);
    else if (!strcmp(what, "lane"))
        bench_lane(MOST);
    else
        die("sandbox reload|call|kill|lane", NULL);
    return 0;
}
