/* SPDX-License-Identifier: Apache-2.0
 * engine_kit.h: an embedder's side of the engine for tests: one event row, an allocator that checks the sizes it is told, and a
 * rule set brought to life in one call. Each test binary includes it once. */
#ifndef RDN_TEST_ENGINE_KIT_H
#define RDN_TEST_ENGINE_KIT_H
#include <redan/redan.h>
#include <stdlib.h>
#include "tests/unit/rows.h"

/* The row of ORDER_EVENT, as `redan bindgen` would print it. */
struct order {
    int64_t ts;
    uint64_t present;
    uint32_t account;
    uint8_t side;
    int64_t qty;
    int64_t px;
    char tag[5];
    double f;
    uint8_t b;
    int64_t opt;
} __attribute__((aligned(8)));
#define ORDER_EVENT "event Order { account: sym  side: enum(buy, sell)  qty: int  px: dec(4)  tag: str(5)  f: float  b: bool  opt: int? }\n"
#define ORDER_CANON "Order;ts:time;account:sym;side:enum(buy,sell);qty:int;px:dec(4);tag:str(5);f:float;b:bool;opt:int?;"
_Static_assert(sizeof(struct order) == 72, "layout of Order");
#define HEAD "ruleset kit version 1\n  undefined skip\n" ORDER_EVENT

static uint64_t layout_of(const char *canon) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *canon; canon++)
        h = (h ^ (unsigned char)*canon) * 0x100000001b3u;
    return h;
}

/* ---- an allocator that keeps books ---- */
struct books { size_t blocks, bytes, calls; bool wrong; };
static void *book_realloc(void *ctx, void *p, size_t was, size_t want) {
    struct books *k = ctx;
    size_t *head = p ? (size_t *)p - 2 : NULL;
    __atomic_fetch_add(&k->calls, 1, __ATOMIC_RELAXED);
    if ((head ? head[0] : 0) != was)
        k->wrong = true;
    if (head && !want) {
        k->blocks--;
        k->bytes -= was;
        free(head);
        return NULL;
    }
    size_t *q = realloc(head, want + 2 * sizeof *q);
    if (!q)
        return NULL;
    k->blocks += !head;
    k->bytes += want - was;
    q[0] = want;
    return q + 2;
}

/* ---- a rule set with one lane ---- */
static const char *kit_backend = "interp";
struct kit {
    redan_engine *eng;
    redan_ruleset *rs;
    redan_lane *lane;
    uint32_t order;
    struct order row;
    redan_verdict v;
};

static redan_ruleset *kit_compile(redan_engine *e, const char *text) {
    redan_ruleset *rs = NULL;
    redan_error err = { 0 };
    check(redan_compile(e, "kit", text, strlen(text), NULL, &rs, &err) == 0, "%s %u:%u %s in\n%s", err.id, err.line, err.column, err.text, text);
    return rs;
}

static uint64_t kit_activate(redan_engine *e, redan_ruleset *rs) {
    uint64_t generation = 0;
    redan_error err = { 0 };
    check(redan_activate(e, rs, NULL, &generation, &err) == 0, "%s %s", err.id, err.text);
    return generation;
}

static redan_lane *kit_lane(redan_engine *e, uint32_t index, uint32_t flags) {
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    redan_lane *l = NULL;
    redan_error err = { 0 };
    o.index = index;
    o.flags = flags;
    check(redan_lane_open(e, &o, &l, &err) == 0, "lane %u: %s %s", index, err.id, err.text);
    return l;
}

static redan_engine *kit_engine(uint32_t lanes, struct books *books) {
    redan_options o = REDAN_OPTIONS_INIT;
    redan_engine *e = NULL;
    redan_error err = { 0 };
    o.lanes = lanes;
    o.backend = kit_backend;
    if (books) {
        o.ctx = books;
        o.realloc = book_realloc;
    }
    check(redan_open(&e, &o, &err) == 0, "%s", err.text);
    return e;
}

static uint32_t kit_bind(redan_engine *e) {
    uint32_t id = 99;
    redan_error err = { 0 };
    check(redan_event(e, "Order", layout_of(ORDER_CANON), &id, &err) == 0, "%s", err.text);
    return id;
}

__attribute__((unused)) static void kit_start(struct kit *k, const char *text) {
    memset(k, 0, sizeof *k);
    k->eng = kit_engine(1, NULL);
    k->rs = kit_compile(k->eng, text);
    kit_activate(k->eng, k->rs);
    k->order = kit_bind(k->eng);
    k->lane = kit_lane(k->eng, 0, REDAN_LANE_BATCHES);
    check(redan_sym(k->eng, "ACME", 4, &k->row.account) == 0, "sym");
}

__attribute__((unused)) static void kit_stop(struct kit *k) {
    redan_lane_close(k->lane);
    redan_release(k->rs);
    redan_close(k->eng);
}

/* Judges the row one ns later. */
__attribute__((unused)) static void kit_judge(struct kit *k, int64_t qty) {
    k->row.ts++;
    k->row.qty = qty;
    check(redan_eval(k->lane, k->order, &k->row, &k->v) == 0, "qty %lld", (long long)qty);
}
#endif
