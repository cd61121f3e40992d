/* SPDX-License-Identifier: Apache-2.0
 * windows.c: whole events through rules that read keyed windows. One figure of bench/rows.py a line.
 *
 *   bench-windows KEYS…
 *
 * Three windows by account (count over a second, sum over a minute, sum of what was accepted), ten rules that read them, accounts drawn
 * evenly from KEYS. The windows know all keys before the clock starts. ns an event: the smallest of five rounds. */
#include "bench/ticks.h"
#include <redan/redan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row { int64_t ts, account; double amount; };
static const char canon[] = "Pay;ts:time;account:int;amount:float;";
static const char head[] =
    "ruleset windows version 1\n  undefined skip\n"
    "event Pay { account: int  amount: float }\n"
    "window n = count() over 1s by account on Pay keys %u\n"
    "window s = sum(amount) over 60s by account on Pay keys %u\n"
    "window t = sum(amount) by account on accepted Pay keys %u\n";
static const char *const rules[] = {
    "rule r%u on Pay { when n > %u and amount > 10.0 flag HIT }\n",
    "rule r%u on Pay { when s + amount > %u00000.0 flag HIT }\n",
    "rule r%u on Pay { when t > %u000000.0 and amount > s * 0.5 flag HIT }\n",
};
enum { EVENTS = 1 << 20, ROUNDS = 5, START_NS = 1000000000 };

__attribute__((noreturn)) static void die(const char *what, const redan_error *e) {
    fprintf(stderr, "bench-windows: %s: %s %u:%u %s\n", what, e ? e->id : "", e ? e->line : 0, e ? e->column : 0, e ? e->text : "");
    exit(1);
}
static size_t write_rules(char *text, size_t cap, uint32_t keys) {
    size_t n = (size_t)snprintf(text, cap, head, keys, keys, keys);
    for (uint32_t i = 0; i < 10; i++)
        n += (size_t)snprintf(text + n, cap - n, rules[i % 3], i, 20 + i);
    return n;
}
static redan_lane *open_lane(redan_engine **e, uint32_t keys, uint32_t *ret_event) {
    redan_options opt = REDAN_OPTIONS_INIT;
    redan_ruleset *rs;
    redan_lane *l;
    redan_error err;
    char text[4096];
    uint64_t h = 0xcbf29ce484222325u;
    opt.lanes = 1;
    size_t n = write_rules(text, sizeof text, keys);
    for (const char *s = canon; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    if (redan_open(e, &opt, &err) < 0 || redan_compile(*e, "windows", text, n, NULL, &rs, &err) < 0 || redan_activate(*e, rs, NULL, NULL, &err) < 0 ||
        redan_event(*e, "Pay", h, ret_event, &err) < 0 || redan_lane_open(*e, NULL, &l, &err) < 0)
        die("rules", &err);
    redan_release(rs);
    return l;
}
static uint64_t draw(uint64_t *x) {                      /* xorshift64* */
    *x ^= *x >> 12;
    *x ^= *x << 25;
    *x ^= *x >> 27;
    return *x * 0x2545f4914f6cdd1du;
}
static double judge(redan_lane *l, uint32_t event, struct row *v, uint32_t n) {
    redan_verdict verdict;
    int64_t from = now_ns(), span = v[n - 1].ts - v[0].ts + 1000;
    for (uint32_t i = 0; i < n; i++)
        if (redan_eval(l, event, &v[i], &verdict) < 0)
            die("an event was refused", NULL);
    double ns = (double)(now_ns() - from) / n;
    for (uint32_t i = 0; i < n; i++)
        v[i].ts += span;
    return ns;
}
static void one(uint32_t keys) {
    redan_engine *e;
    uint32_t event;
    uint64_t x = 42;
    double best = 1e18;
    redan_lane *l = open_lane(&e, keys, &event);
    struct row *v = calloc(EVENTS > keys ? EVENTS : keys, sizeof *v);
    if (!v)
        die("memory", NULL);
    for (uint32_t i = 0; i < keys; i++)
        v[i] = (struct row){START_NS + 1000 * (int64_t)i, i, 1};
    judge(l, event, v, keys);
    for (uint32_t i = 0; i < EVENTS; i++)
        v[i] = (struct row){v[0].ts + 1000 * (int64_t)i, (int64_t)(draw(&x) % keys), (double)(draw(&x) % 100000) / 100};
    for (int i = 0; i < ROUNDS; i++) {
        double ns = judge(l, event, v, EVENTS);
        best = ns < best ? ns : best;
    }
    printf("{\"bench\":\"windows\",\"schema\":1,\"figure\":\"windows/%u/ns_per_event\",\"value\":%.1f,\"unit\":\"ns\"}\n", keys, best);
    fflush(stdout);
    redan_lane_close(l);
    redan_close(e);
    free(v);
}
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        one((uint32_t)strtoul(argv[i], NULL, 10));
    if (argc < 2)
        fprintf(stderr, "usage: bench-windows KEYS...\n");
    return argc < 2 ? 2 : 0;
}
