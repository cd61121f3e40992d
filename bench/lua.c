/* SPDX-License-Identifier: Apache-2.0
 * lua.c: a strategy of two moving averages in Lua against the same in C, each in a confined worker, in batches of 1,024 ticks.
 *
 *   lua TWO_AVERAGE.lua TWO_AVERAGE.so [--rounds N]      one JSON line each (rows.py)
 *
 *   two-average          inside the worker, from the call to its answer: what the language costs
 *   two-average-call     from the host's side: columns written, called, answers checked
 *   two-average-signal   inside the worker, with the decision in it: a branch in Lua, none in C
 *
 * The two take turns; the best call of each counts, because other work only adds. Every answer of both is compared. Exit 77: plugins
 * cannot run here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "plugins/parts.h"

enum { TICKS = 1024, CALLS = 100, ROUNDS = 40, WARM = 20 };
enum { GAP, SIGNAL, FNS };
struct side { const char *lib; struct rdn_plugins *ps; struct rdn_plugin *p; int64_t inside[FNS], whole[FNS], first[FNS]; struct rdn_wire_value got[TICKS]; };
static struct rdn_wire_value ticks[TICKS * 2];
static uint8_t outs[TICKS];
static char folder[] = "/tmp/redan-lua-XXXXXX";

__attribute__((noreturn)) static void die(const char *what, const redan_error *e) {
    fprintf(stderr, "%s: %s %s\n", what, e ? e->id : "", e ? e->text : "");
    exit(e && e->code == REDAN_E_NOSUP ? 77 : 1);
}

/* plugin.yaml and the one file, in a folder of their own. */
static const char *project(const struct side *s, const char *kind, char *path, size_t cap) {
    char command[4600];
    const char *slash = strrchr(s->lib, '/'), *file = slash ? slash + 1 : s->lib;
    snprintf(path, cap, "%s/%s", folder, kind);
    snprintf(command, sizeof command, "mkdir %s && cp %s %s && printf 'schema: 1\\nplugin: {id: org.example.averages, version: 1.0.0, kind: %s, entry: %s}\\nfunctions:\\n"
             "  gap: {signature: \"(bid: float, ask: float) -> float\"}\\n  signal: {signature: \"(bid: float, ask: float) -> int\"}\\nlimits: {time_cap_ms: 1000, max_rows: %d}\\n' > %s/plugin.yaml",
             path, s->lib, path, kind, file, TICKS, path);
    if (system(command))
        die(command, NULL);
    return path;
}

static void open_side(struct side *s, const char *kind) {
    static const struct rdn_wire_param params[] = { { "bid", { .kind = RDN_WIRE_FLOAT } }, { "ask", { .kind = RDN_WIRE_FLOAT } } };
    static const struct rdn_function_spec fns[FNS] = { [GAP] = { "gap", params, 2, { .kind = RDN_WIRE_FLOAT }, 0 },
                                                       [SIGNAL] = { "signal", params, 2, { .kind = RDN_WIRE_INT }, 0 } };
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_CONTAINER };
    char path[64];
    struct rdn_plugin_spec spec = { .name = "averages", .file = project(s, kind, path, sizeof path), .fns = fns, .nfns = FNS };
    redan_error e = { 0 };
    for (int f = 0; f < FNS; f++)
        s->inside[f] = s->whole[f] = INT64_MAX;
    if (rdn_plugins_open(&o, &s->ps, &e) < 0 || rdn_plugin_open(s->ps, &spec, &s->p, &e) < 0)
        die(kind, &e);
}

static void call_once(struct side *s, uint32_t f) {
    int64_t start = rdn_mono_ns();
    enum rdn_outcome out = rdn_plugin_call_fn(s->p, f, 0, ticks, 2, TICKS, 0, start + INT64_C(1000000000), s->got, outs);
    int64_t whole = rdn_mono_ns() - start;
    struct rdn_work *w = atomic_load(&s->p->lanes[0].cur);
    if (out != RDN_OUT_VALUE || !w)
        die(rdn_outcome_text(out), NULL);
    int64_t inside = w->res->t_end_ns - w->res->t_start_ns;
    s->first[f] = s->first[f] ? s->first[f] : inside;
    s->whole[f] = whole < s->whole[f] ? whole : s->whole[f];
    s->inside[f] = inside < s->inside[f] ? inside : s->inside[f];
}

/* A walk that goes on from one batch to the next. */
static void walk(uint64_t *x, double *price) {
    for (int i = 0; i < TICKS; i++) {
        *x = *x * 6364136223846793005u + 1442695040888963407u;
        *price += ((double)(*x >> 33) - 1073741823.5) / 1e10;
        ticks[2 * i].f = *price - 0.01;
        ticks[2 * i + 1].f = *price + 0.01;
    }
}

static void print(const char *set, int64_t first, int64_t own, int64_t theirs) {
    printf("{\"bench\":\"lua\",\"schema\":1,\"set\":\"%s\",\"ns_min\":%.3f,\"peer\":\"c\",\"peer_ns\":%.3f,\"ratio\":%.4f,\"unit\":\"ns/tick\",\"first_batch_ns\":%.1f}\n", set,
           (double)own / TICKS, (double)theirs / TICKS, (double)own / (double)theirs, (double)first / TICKS);
}

int main(int argc, char **argv) {
    static struct side lua, c;
    uint64_t x = 1;
    double price = 100.0;
    int rounds = argc > 4 && !strcmp(argv[3], "--rounds") ? atoi(argv[4]) : ROUNDS;
    if (argc < 3)
        die("lua TWO_AVERAGE.lua TWO_AVERAGE.so", NULL);
    if (!mkdtemp(folder))
        die(folder, NULL);
    lua.lib = argv[1];
    c.lib = argv[2];
    open_side(&lua, "lua");
    open_side(&c, "native");
    uint64_t signals = 0;
    for (int k = 0; k < rounds * CALLS + WARM; k++) {
        walk(&x, &price);
        for (uint32_t f = 0; f < FNS; f++) {
            call_once(&lua, f);
            call_once(&c, f);
            for (int i = 0; i < TICKS; i++) {
                signals += f == SIGNAL && c.got[i].i;
                if (lua.got[i].i != c.got[i].i)         /* of a float: its bits */
                    die("the answers differ", NULL);
            }
        }
    }
    if (!signals)
        die("no signal at all", NULL);
    print("two-average", lua.first[GAP], lua.inside[GAP], c.inside[GAP]);
    print("two-average-call", lua.first[GAP], lua.whole[GAP], c.whole[GAP]);
    print("two-average-signal", lua.first[SIGNAL], lua.inside[SIGNAL], c.inside[SIGNAL]);
    rdn_plugin_close(lua.p);
    rdn_plugin_close(c.p);
    rdn_plugins_close(lua.ps);
    rdn_plugins_close(c.ps);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0;
}
