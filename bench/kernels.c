/* SPDX-License-Identifier: Apache-2.0
 * kernels.c: kernels of bench/kernel.rdn on every build of the block functions, against the same kernels compiled by gcc in this run.
 *
 *   bench-kernel ROOT [--rounds N]              rows of bench/rows.py, one for each kernel and instruction set that runs here
 *   bench-kernel ROOT --serve                   the European call as a player of bench/duel.py
 *
 * Own and peer take turns; the smallest time of each counts. Before that, the answers for other seeds and odd numbers of paths are
 * compared bit by bit: with the peer, and with the reference. Exit: 0, 1 answers differ, 77 no gcc. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/ticks.h"
#include "dsl/dsl.h"
#include "ir/kernel.h"

enum { EUROPEAN, VALUE_AT_RISK, KERNELS, ARITHMETIC = KERNELS, CHECKS = 100 };
static const char *const kernel_names[] = { "european", "value_at_risk", "arithmetic" };
typedef double european_fn(uint32_t paths, int64_t seed, double s0, double strike, double rate, double vol, double years);
typedef double risk_fn(uint32_t paths, int64_t seed, const double *chol, const double *drift, const double *position, int64_t *room);
struct peer { void *dl; european_fn *european; risk_fn *risk; };

static const double euro[5] = { 100.0, 105.0, 0.03, 0.2, 1.0 };
static const double line[4] = { 0.999, 0.25, -3.0, 0.125 };
static double chol[64], drift[8], position[8];
static int64_t *room;

struct own { struct rdn_arena arena; struct rdn_syms *syms; struct rdn_ir *ir; struct rdn_kernel_state *state; };

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench-kernel: %s: %s\n", what, why);
    exit(1);
}

/* ---- the book: numbers as plain as a generator gives them ---- */
static void make_book(void) {
    uint32_t x = 7;
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j <= i; j++) {
            x = x * 1664525u + 1013904223u;
            chol[8 * i + j] = 0.02 * ((double)(x >> 8) / (1 << 24) - 0.3);
        }
        x = x * 1664525u + 1013904223u;
        drift[i] = -1e-4;
        position[i] = 1e6 * ((double)(x >> 8) / (1 << 24) - 0.5);
    }
}

/* ---- own ---- */
static void open_own(struct own *o, const char *root) {
    static char text[1 << 14], path[4096];
    redan_error err = { 0 };
    struct rdn_dsl_result res;
    snprintf(path, sizeof path, "%s/bench/kernel.rdn", root);
    FILE *f = fopen(path, "rb");
    if (!f)
        die(path, "cannot be read");
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    rdn_arena_init(&o->arena, &rdn_libc_mem);
    rdn_syms_open(&o->syms, &rdn_libc_mem, 1000);
    if (rdn_dsl_compile(&o->arena, o->syms, text, n, NULL, &res, &err) || !res.ir)
        die(path, err.text);
    o->ir = res.ir;
    if (rdn_kernel_open(o->ir, &rdn_libc_mem, &o->state) < 0)
        die(path, "no memory");
}

static double run_own(struct own *o, int kernel, int64_t seed) {
    struct rdn_cell args[6], ret;
    memset(args, 0, sizeof args);
    for (int i = 0; i < 5 && kernel == EUROPEAN; i++)
        args[i].f = euro[i];
    for (int i = 0; i < 4 && kernel == ARITHMETIC; i++)
        args[i].f = line[i];
    if (kernel == VALUE_AT_RISK) {
        args[0].v = chol;
        args[1].v = drift;
        args[2].v = position;
    }
    if (kernel != ARITHMETIC)
        args[kernel == EUROPEAN ? 5 : 3].i = seed;
    if (!rdn_kernel_run(o->state, o->ir, (uint32_t)kernel, args, NULL, 0, &ret) || ret.cause)
        die(kernel_names[kernel], "has no value");
    return ret.f;
}

/* ---- the peer ---- */
static double run_peer(const struct peer *p, int kernel, uint32_t paths, int64_t seed) {
    return kernel == EUROPEAN ? p->european(paths, seed, euro[0], euro[1], euro[2], euro[3], euro[4])
                              : p->risk(paths, seed, chol, drift, position, room);
}

static bool open_peer(struct peer *p, const char *root, const char *flags) {
    char so[] = "/tmp/redan-bench-XXXXXX", cmd[8600];
    int fd = mkstemp(so);
    if (fd < 0)
        return false;
    close(fd);
    snprintf(cmd, sizeof cmd, "gcc -O3 %s -ffp-contract=off -fno-math-errno -fno-trapping-math -shared -fPIC -I'%s' -o %s '%s/bench/peers/kernel_gcc.c' -lm",
             flags, root, so, root);
    int rc = system(cmd);
    p->dl = rc == 0 ? dlopen(so, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(so);
    if (!p->dl)
        return false;
    p->european = (european_fn *)(uintptr_t)dlsym(p->dl, "european");
    p->risk = (risk_fn *)(uintptr_t)dlsym(p->dl, "value_at_risk");
    return true;
}

/* ---- rows ---- */
static uint64_t bits_of(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

/* Answers of CHECKS seeds that differ from the reference's or from the peer's. */
static unsigned compare(struct own *o, const struct rdn_block *block, const struct peer *p, int kernel) {
    unsigned differ = 0;
    uint32_t was = o->ir->calls[kernel].paths;
    for (int i = 0; i < CHECKS; i++) {
        uint32_t paths = 1 + (uint32_t)i * 37;
        o->ir->calls[kernel].paths = paths;
        o->ir->calls[kernel].rank = (paths + 99) / 100;
        rdn_kernel_use(o->state, block);
        uint64_t own = bits_of(run_own(o, kernel, 1000 + i));
        rdn_kernel_use(o->state, NULL);
        differ += own != bits_of(run_own(o, kernel, 1000 + i)) || own != bits_of(run_peer(p, kernel, paths, 1000 + i));
    }
    o->ir->calls[kernel].paths = was;
    o->ir->calls[kernel].rank = (was + 99) / 100;
    return differ;
}

/* The smallest ns a path of a few calls. */
static void slice(struct own *o, const struct peer *p, int kernel, int calls, double *best) {
    uint32_t paths = o->ir->calls[kernel].paths;
    for (int i = 0; i < calls; i++) {
        int64_t from = now_ns();
        double v = p ? run_peer(p, kernel, paths, i) : run_own(o, kernel, i);
        double ns = (double)(now_ns() - from) / paths;
        *best = ns < *best && v == v ? ns : *best;
    }
}

struct isa { const char *name, *flags[2]; };
static const struct isa isas[] = {
    { "avx512", { "-march=native", "-march=native -mprefer-vector-width=512" } },
    { "avx2", { "-march=x86-64-v3", "-march=x86-64-v3 -fno-tree-slp-vectorize" } },
};
static const struct form { const char *peer, *flags; } forms[] = { { "gcc", "" }, { "gcc-inlined", " -DINLINED" } };

static void open_peers(struct peer p[2], const char *root, const struct isa *isa, const struct form *form) {
    char flags[200];
    for (int f = 0; f < 2; f++) {
        snprintf(flags, sizeof flags, "%s%s", isa->flags[f], form->flags);
        if (open_peer(&p[f], root, flags))
            continue;
        fprintf(stderr, "gcc not found or it failed\n");
        exit(77);
    }
}

static bool play(struct own *o, const char *root, const struct isa *isa, const struct form *form, int rounds) {
    const struct rdn_block *block = rdn_block_find(isa->name);
    struct peer p[2];
    bool good = true;
    if (!block)
        return true;
    open_peers(p, root, isa, form);
    for (int k = 0; k < KERNELS; k++) {
        unsigned differ = compare(o, block, &p[0], k);
        double own = 1e30, peer[2] = { 1e30, 1e30 };
        rdn_kernel_use(o->state, block);
        for (int r = 0; r < rounds; r++) {
            slice(o, NULL, k, 4, &own);
            slice(o, &p[0], k, 4, &peer[0]);
            slice(o, &p[1], k, 4, &peer[1]);
        }
        int faster = peer[1] < peer[0];
        good &= differ == 0;
        printf("{\"bench\":\"kernel\",\"schema\":1,\"set\":\"%s/%s\",\"unit\":\"ns/path\",\"ns_min\":%.3f,\"paths_s\":%.0f,\"rounds\":%d,"
               "\"differ\":%u,\"checks\":%d,\"ok\":%s,\"peer\":\"%s\",\"note\":\"%s%s\",\"peer_ns\":%.3f,\"ratio\":%.3f}\n",
               kernel_names[k], isa->name, own, 1e9 / own, rounds, differ, CHECKS, differ ? "false" : "true", form->peer,
               isa->flags[faster], form->flags, peer[faster], own / peer[faster]);
        fflush(stdout);
    }
    for (int f = 0; f < 2; f++)
        dlclose(p[f].dl);
    return good;
}

/* ---- 64 operations: two at once, and one at a time ---- */
static double one_at_a_time(const struct rdn_block *b, uint32_t paths) {
    static double columns[6][RDN_BLOCK_PATHS] __attribute__((aligned(64))), sums[1 << 12];
    static int64_t path[RDN_BLOCK_PATHS] __attribute__((aligned(64)));
    double *x = columns[4];
    uint32_t n = 0;
    for (int k = 0; k < 4; k++)
        for (uint32_t i = 0; i < RDN_BLOCK_PATHS; i++)
            columns[k][i] = line[k];
    for (uint32_t start = 0; start < paths; start += RDN_BLOCK_PATHS) {
        for (uint32_t i = 0; i < RDN_BLOCK_PATHS; i++)
            path[i] = (int64_t)start + i;
        b->op[RDN_BLK_I2F](x, path, path, path, RDN_BLOCK_PATHS, 0);
        for (int turn = 0; turn < 16; turn++) {
            b->op[RDN_BLK_MULF](x, x, columns[0], x, RDN_BLOCK_PATHS, 0);
            b->op[RDN_BLK_ADDF](x, x, columns[1], x, RDN_BLOCK_PATHS, 0);
            b->op[RDN_BLK_MAXF](x, x, columns[2], x, RDN_BLOCK_PATHS, 0);
            b->op[RDN_BLK_SUBF](x, x, columns[3], x, RDN_BLOCK_PATHS, 0);
        }
        sums[n++] = b->sum(x, RDN_BLOCK_PATHS);
    }
    for (; n > 1; n /= 2)                                /* a power of two */
        for (uint32_t i = 0; i < n; i += 2)
            sums[i / 2] = sums[i] + sums[i + 1];
    return sums[0];
}

static bool play_arithmetic(struct own *o, const struct isa *isa, int rounds) {
    const struct rdn_block *block = rdn_block_find(isa->name);
    uint32_t paths = o->ir->calls[ARITHMETIC].paths;
    double own = 1e30, single = 1e30, v = 0;
    if (!block)
        return true;
    rdn_kernel_use(o->state, block);
    for (int r = 0; r < 4 * rounds; r++) {
        slice(o, NULL, ARITHMETIC, 4, &own);
        int64_t from = now_ns();
        v = one_at_a_time(block, paths);
        double ns = (double)(now_ns() - from) / paths;
        single = ns < single ? ns : single;
    }
    bool same = bits_of(v) == bits_of(run_own(o, ARITHMETIC, 0));
    printf("{\"bench\":\"kernel\",\"schema\":1,\"set\":\"arithmetic/%s\",\"unit\":\"ns/path\",\"ns_min\":%.3f,\"paths_s\":%.0f,\"rounds\":%d,\"ok\":%s,"
           "\"peer\":\"unfused\",\"note\":\"one operation a pass\",\"peer_ns\":%.3f,\"ratio\":%.3f}\n",
           isa->name, own, 1e9 / own, rounds, same ? "true" : "false", single, own / single);
    fflush(stdout);
    return same;
}

/* ---- a player ---- */
static int serve(struct own *o) {
    char line[256];
    printf("{\"executor\":\"%s\",\"paths\":%u}\n", rdn_block() ? rdn_block()->name : "reference", o->ir->calls[EUROPEAN].paths);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        double best = 1e30;
        if (!strcmp(line, "clock\n")) {
            uint64_t x = 1;
            int64_t from = now_ns();
            for (int i = 0; i < 2000000; i++, x++)
                __asm__ volatile("" : "+r"(x));
            printf("{\"ghz\":%.3f}\n", 2000000.0 / (double)(now_ns() - from));
        } else {
            slice(o, NULL, EUROPEAN, 20, &best);
            printf("{\"ns\":%.4f,\"value\":%.9g}\n", best, run_own(o, EUROPEAN, 42));
        }
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    struct own o;
    bool good = true;
    int rounds = argc > 3 && !strcmp(argv[2], "--rounds") ? atoi(argv[3]) : 5;
    if (argc < 2 || rounds < 1) {
        fprintf(stderr, "usage: bench-kernel ROOT [--rounds N | --serve]\n");
        return 2;
    }
    make_book();
    open_own(&o, argv[1]);
    room = calloc(o.ir->calls[VALUE_AT_RISK].paths, sizeof *room);
    if (!room)
        die("room", "no memory");
    if (argc > 2 && !strcmp(argv[2], "--serve"))
        return serve(&o);
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        good &= play_arithmetic(&o, &isas[i], rounds);
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
            good &= play(&o, argv[1], &isas[i], &forms[f], rounds);
    free(room);
    rdn_kernel_close(o.state);
    rdn_syms_close(o.syms);
    rdn_arena_fini(&o.arena);
    return !good;
}
