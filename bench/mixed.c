/* SPDX-License-Identifier: Apache-2.0
 * mixed.c: a rule set of which a batch can judge a part: rules that depend on the event alone, and beside them rules that read windows.
 * Whole events through redan_eval_batch, against redan_eval for one after the other. One row of bench/rows.py a line.
 *
 *   bench-mixed [EVENT-RULES WINDOW-RULES]...        default 100 10 1000 10
 *
 * Event rules: the set `rare` of rule_sets.h, so that most events are of rules that do not hold. ns an event: the smallest of nine rounds, both sides taking turns; `ok`: the same codes. */
#include "bench/rule_sets.h"
#include "bench/ticks.h"
#include <redan/redan.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 1 << 13, ROUNDS = 9, CALL = 512 };
static const char canon[] =
    "E;ts:time;price:float;qty:float;notional:float;account:int;symbol:sym;side:enum(buy,sell);position:float;cap:float;pnl:float;vol:float;"
    "spread:float;mid:float;exposure:float;margin:float;drawdown:float;rate:float;";
static const char windows[] =
    "window n = count() over 1s by account on E keys 1000\nwindow s = sum(qty) over 60s by symbol on E keys 64\n";

__attribute__((noreturn)) static void die(const char *what, const redan_error *e) {
    fprintf(stderr, "bench-mixed: %s: %s %u:%u %s\n", what, e ? e->id : "", e ? e->line : 0, e ? e->column : 0, e ? e->text : "");
    exit(1);
}
/* Window rules that rarely hold: what is measured is asking. */
static char *rules_text(uint32_t event_rules, uint32_t window_rules, const struct set_event *v) {
    struct rule_set set;
    set_make(&set, &set_kinds[1], event_rules, v, EVENTS);
    char *own = set_as_rules(&set), *text = malloc(strlen(own) + sizeof windows + 128 * (size_t)window_rules);
    size_t at = (size_t)sprintf(text, "%s%s", own, windows);
    for (uint32_t i = 0; i < window_rules; i++)
        at += (size_t)sprintf(text + at, i % 2 ? "rule w%u on E { when s > %u000000000.0 and price > 1.0 flag HIT }\n" : "rule w%u on E { when n > %u000000 and qty > 1.0 flag HIT }\n", i, i + 1);
    set_free(&set);
    free(own);
    return text;
}
struct side { redan_engine *engine; redan_lane *lane; uint32_t event; };
static struct side open_side(const char *text) {
    struct side s;
    redan_options opt = REDAN_OPTIONS_INIT;
    redan_lane_options batches = REDAN_LANE_OPTIONS_INIT;
    redan_ruleset *rs;
    redan_error err;
    uint64_t h = 0xcbf29ce484222325u;
    char name[16];
    uint32_t id;
    batches.flags = REDAN_LANE_BATCHES;
    for (const char *c = canon; *c; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    if (redan_open(&s.engine, &opt, &err) < 0 || redan_compile(s.engine, "mixed", text, strlen(text), NULL, &rs, &err) < 0 ||
        redan_activate(s.engine, rs, NULL, NULL, &err) < 0 || redan_event(s.engine, "E", h, &s.event, &err) < 0 ||
        redan_lane_open(s.engine, &batches, &s.lane, &err) < 0)
        die("rules", &err);
    for (uint32_t i = 0; i < SET_SYMBOLS; i++) {         /* every symbol that an event has is known */
        snprintf(name, sizeof name, "more%u", i);
        redan_sym(s.engine, name, strlen(name), &id);
    }
    redan_release(rs);
    return s;
}

static double singly(const struct side *s, const struct set_event *v, uint64_t *codes) {
    redan_verdict r;
    int64_t from = now_ns();
    for (uint32_t i = 0; i < EVENTS; i++) {
        if (redan_eval(s->lane, s->event, &v[i], &r) < 0)
            die("an event was refused", NULL);
        *codes += r.ncodes;
    }
    return (double)(now_ns() - from) / EVENTS;
}
static double batched(const struct side *s, const struct set_event *v, uint64_t *codes) {
    static redan_verdict r[CALL];
    int64_t from = now_ns();
    for (size_t i = 0, done; i < EVENTS; i += done) {
        if (redan_eval_batch(s->lane, s->event, &v[i], sizeof *v, EVENTS - i < CALL ? EVENTS - i : CALL, r, &done) < 0 || !done)
            die("a batch was refused", NULL);
        for (size_t k = 0; k < done; k++)
            *codes += r[k].ncodes;
    }
    return (double)(now_ns() - from) / EVENTS;
}
static void one(uint32_t event_rules, uint32_t window_rules) {
    struct set_event *v = set_events(EVENTS, 7, 0);
    char *text = rules_text(event_rules, window_rules, v);
    struct side a = open_side(text), b = open_side(text);
    double best[2] = {1e18, 1e18}, ns;
    uint64_t codes[2] = {0, 0};
    for (int round = 0; round < ROUNDS; round++) {
        ns = batched(&a, v, &codes[0]);
        best[0] = ns < best[0] ? ns : best[0];
        ns = singly(&b, v, &codes[1]);
        best[1] = ns < best[1] ? ns : best[1];
        int64_t span = v[EVENTS - 1].ts - v[0].ts + 1000;
        for (uint32_t i = 0; i < EVENTS; i++)
            v[i].ts += span;
    }
    printf("{\"bench\":\"batch\",\"schema\":1,\"set\":\"mixed-%u\",\"rules\":%u,\"ns_min\":%.1f,\"peer\":\"one by one\",\"peer_ns\":%.1f,\"ratio\":%.3f,\"ok\":%s}\n",
           window_rules, event_rules + window_rules, best[0], best[1], best[0] / best[1], codes[0] == codes[1] ? "true" : "false");
    fflush(stdout);
    redan_lane_close(a.lane), redan_close(a.engine);
    redan_lane_close(b.lane), redan_close(b.engine);
    free(text);
    free(v);
}
int main(int argc, char **argv) {
    if (argc % 2 == 0) {
        fprintf(stderr, "usage: bench-mixed [EVENT-RULES WINDOW-RULES]...\n");
        return 2;
    }
    for (int i = 1; i < argc; i += 2)
        one((uint32_t)strtoul(argv[i], NULL, 10), (uint32_t)strtoul(argv[i + 1], NULL, 10));
    if (argc == 1)
        one(100, 10), one(1000, 10);
    return 0;
}
