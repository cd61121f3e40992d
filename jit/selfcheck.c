/* SPDX-License-Identifier: Apache-2.0
 * selfcheck.c: see selfcheck.h. */
#include "jit/selfcheck.h"
#include <string.h>
#include "base/clock.h"
#include "base/hash.h"
#include "jit/exec_impl.h"
#include "jit/run.h"

uint32_t rdn_selfcheck_us = 500;

enum { EDGES = 6, EVENTS_MIN = 8, EVENTS_MAX = 48, COLUMNS = 64, POOL = 256 };
struct check {
    struct rdn_program *prog;
    const struct rdn_ir *ir;
    struct rdn_frame *frame;
    uint64_t seed;
    struct rdn_cell row[COLUMNS];                        /* of the table read last */
    uint8_t *event;                                      /* the row in work */
    uint64_t *fired, *undef;
    int64_t pool[POOL]; uint32_t npool;                  /* constants of the event's conditions: bits of floats, values of others */
};

static uint64_t rnd(struct check *k) { return rdn_mix64(k->seed += 0x9e3779b97f4a7c15u); }

/* ---- stand-ins for windows and tables: a function of what is asked ---- */
static void cell_from(const struct rdn_type *t, uint64_t h, struct rdn_cell *ret) {
    static const double f64[] = {0.0, -1.5, 3.25, 1e9, -1e-9, 12345.0, __builtin_inf(), __builtin_nan("")};
    static const int64_t i64[] = {0, 1, -1, 50, 1000, -70000, INT64_MAX, INT64_MIN};
    memset(ret, 0, sizeof *ret);
    switch (rdn_cell_of(t)) {
    case RDN_TY_F64: ret->f = f64[h >> 8 & 7]; break;
    case RDN_TY_B1: ret->i = h >> 8 & 1; break;
    case RDN_TY_D64: case RDN_TY_W128: ret->d = h >> 16 & 7 ? i64[h >> 8 & 7] : (rdn_i128)i64[h >> 8 & 7] * 4; break;
    case RDN_TY_I64: ret->i = t->kind == RDN_K_ENUM ? (int64_t)((h >> 8) % (t->n ? t->n : 1)) : t->kind == RDN_K_SYM ? 0 : i64[h >> 8 & 7]; break;
    case RDN_TY_STR: ret->t.p = ""; break;
    case RDN_TY_VEC: case RDN_TY_IVEC: case RDN_TY_ROW: case RDN_TY_COUNT: ret->cause = RDN_CAUSE_MISSING; break;
    }
}
static uint64_t key_hash(uint32_t which, const struct rdn_key *key) { return rdn_mix64(rdn_fnv64(key->w, 8 * (size_t)key->words) ^ which); }

static void wread(void *lane, uint32_t window, const struct rdn_key *key, bool prev, struct rdn_cell *ret) {
    struct check *k = lane;
    uint64_t h = key_hash(window * 2 + prev, key);
    cell_from(k->ir->windows[window].rtype, h, ret);
    if (!(h & 7))
        ret->cause = RDN_CAUSE_COLD;
}
static const struct rdn_cell *tread(void *lane, uint32_t table, const struct rdn_key *key) {
    struct check *k = lane;
    uint64_t h = key_hash(table + 1000, key);
    if (!(h & 7) || k->ir->tables[table].ncols > COLUMNS)
        return NULL;
    for (uint32_t i = 0; i < k->ir->tables[table].ncols; i++)
        cell_from(k->ir->tables[table].cols[i].type, rdn_mix64(h + i), &k->row[i]);
    return k->row;
}
static bool inlist(void *lane, uint32_t list, const struct rdn_cell *c) {
    (void)lane;
    return rdn_mix64((uint64_t)c->i + list) & 1;
}
static bool incal(void *lane, uint32_t cal, int64_t now) {
    (void)lane;
    return rdn_mix64((uint64_t)now + cal) & 1;
}
static void call(void *lane, uint32_t c, const struct rdn_cell *args, uint32_t n, const uint8_t *row, struct rdn_cell *ret) {
    (void)lane, (void)c, (void)args, (void)n, (void)row;
    memset(ret, 0, sizeof *ret);
    ret->cause = RDN_CAUSE_PLUGIN;
}

/* ---- events ---- */
static void collect_constants(struct check *k, const struct rdn_plan *pl) {
    k->npool = 0;
    for (rdn_pid p = 1; p < pl->nodes.n && k->npool < POOL; p++) {
        const struct rdn_pnode *n = &pl->nodes.v[p];
        if (n->op == RDN_OP_CONST && (n->flags & RDN_P_NATIVE) && n->uses)
            k->pool[k->npool++] = n->lo;
    }
}
/* A double: at an edge, at a constant of the rules or beside it, or anywhere. */
static double any_f64(struct check *k, unsigned edge) {
    static const double edges[EDGES] = {0.0, 1e308, -0.0, __builtin_nan(""), 4.9e-324, -__builtin_inf()};
    double d;
    int64_t bits;
    if (edge < EDGES)
        return edges[edge];
    if (k->npool && rnd(k) & 1) {
        bits = (int64_t)((uint64_t)k->pool[rnd(k) % k->npool] + rnd(k) % 3 - 1);
        memcpy(&d, &bits, 8);
        if (d - d == 0 && (d > 1e-9 || d < -1e-9))
            return d;
    }
    return ((double)(int64_t)rnd(k) / 9.2e18) * (rnd(k) & 1 ? 1000.0 : 1.0);
}
static int64_t any_i64(struct check *k, unsigned edge) {
    static const int64_t edges[EDGES] = {0, INT64_MAX, INT64_MIN, -1, (1ll << 53) + 1, 1ll << 31};
    if (edge < EDGES)
        return edges[edge];
    if (k->npool && rnd(k) & 1)
        return (int64_t)((uint64_t)k->pool[rnd(k) % k->npool] + rnd(k) % 3 - 1);
    return (int64_t)(rnd(k) >> (rnd(k) % 64));
}
static void fill_field(struct check *k, const struct rdn_field *f, unsigned edge) {
    uint8_t *p = k->event + f->offset;
    int64_t v = any_i64(k, edge);
    int32_t d = (int32_t)v;
    uint32_t nsyms = rdn_sym_count(k->ir->syms), s = nsyms ? (uint32_t)((uint64_t)v % nsyms) : 0;
    double x = any_f64(k, edge);
    switch ((enum rdn_kind)f->type->kind) {
    case RDN_K_BOOL: *p = v & 1; break;
    case RDN_K_ENUM: *p = (uint8_t)((uint64_t)v % (f->type->n ? f->type->n : 1)); break;
    case RDN_K_FLOAT: memcpy(p, &x, 8); break;
    case RDN_K_INT: case RDN_K_DEC: case RDN_K_TIME: case RDN_K_DUR: memcpy(p, &v, 8); break;
    case RDN_K_DATE: memcpy(p, &d, 4); break;
    case RDN_K_SYM: memcpy(p, &s, 4); break;
    case RDN_K_STR: memset(p, 0, f->size); p[0] = (uint8_t)('a' + (uint64_t)v % 26); break;
    case RDN_K_ARR: memset(p, 0, f->size); break;
    case RDN_K_TEXT: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT: break;
    }
}
static void fill_event(struct check *k, const struct rdn_event *ev, unsigned edge) {
    uint64_t present = edge == 0 ? 0 : edge < EDGES ? UINT64_MAX : rnd(k);
    int64_t ts = 1700000000000000000 + (int64_t)(rnd(k) >> 12);
    memset(k->event, 0, ev->size);
    memcpy(k->event, &ts, 8);
    if (ev->has_present)
        memcpy(k->event + 8, &present, 8);
    for (uint32_t i = 0; i < ev->nfields; i++)
        fill_field(k, &ev->fields[i], edge);
}

/* ---- comparison ---- */
static bool same_input(const struct rdn_window *w, enum rdn_enter a, const struct rdn_winput *x, enum rdn_enter b, const struct rdn_winput *y) {
    if (a != b)
        return false;
    if (a != RDN_ENTER)
        return true;
    if (x->key->words != y->key->words || x->key->absent != y->key->absent || memcmp(x->key->w, y->key->w, 8 * (size_t)x->key->words) || x->span != y->span)
        return false;
    if (!w->vtype)
        return true;
    switch (rdn_cell_of(w->vtype)) {
    case RDN_TY_D64: case RDN_TY_W128: return x->val.d == y->val.d;
    case RDN_TY_STR: return x->val.t.len == y->val.t.len && !memcmp(x->val.t.p, y->val.t.p, x->val.t.len);
    default: return x->val.i == y->val.i;
    }
}
/* Which rules of an event are asked of interp: all while there is time, then every EVENTS_MIN-th, another one each time. */
struct share { uint32_t from, step; };
/* -1: all equal; else the rule of the event that differs. */
static int differing_rule(struct check *k, const struct rdn_event *ev, struct share of) {
    struct rdn_frame_head *h = rdn_frame_head(k->frame);
    for (uint32_t i = of.from; i < ev->nrules; i += of.step) {
        const struct rdn_rule *r = &k->ir->rules[ev->rules[i]];
        bool fired = h->fired[i / 64] >> i % 64 & 1, undef = h->undef[i / 64] >> i % 64 & 1;
        struct rdn_cell c;
        if (r->late)
            continue;                                    /* the score is not there yet */
        rdn_interp_rule(k->frame, ev->rules[i], &c);
        if (undef != (c.cause != 0) || fired != (!c.cause && c.i))
            return (int)i;
    }
    return -1;
}
static int judge(struct check *k, uint32_t e, unsigned nth, struct share of, redan_error *reterr) {
    const struct rdn_event *ev = &k->ir->events[e];
    const char *kind = nth < EDGES ? "edge" : "random";
    unsigned number = nth < EDGES ? nth : nth - EDGES;
    int64_t ts;
    fill_event(k, ev, nth);
    memcpy(&ts, k->event, 8);
    rdn_exec_begin(k->frame, e, k->event, ts, ts);
    for (uint32_t i = 0; i < ev->nobserved + ev->naccepted; i++) {
        uint32_t w = i < ev->nobserved ? ev->observed[i] : ev->accepted[i - ev->nobserved];
        struct rdn_winput x, y;
        enum rdn_enter a = rdn_run_window(k->frame, w, &x), b = rdn_interp_window(k->frame, w, &y);
        if (!same_input(&k->ir->windows[w], a, &x, b, &y))
            return rdn_fail(reterr, NOSUP, "R2105", "%s and interp differ on window %s, %s event %u", k->prog->impl->name,
                            k->ir->windows[w].name, kind, number);
    }
    rdn_run_rules(k->frame, RDN_EARLY);
    int bad = differing_rule(k, ev, of);
    if (bad >= 0)
        return rdn_fail(reterr, NOSUP, "R2105", "%s and interp differ on rule %s, %s event %u", k->prog->impl->name,
                        k->ir->rules[ev->rules[bad]].name, kind, number);
    return 0;
}

static int batch_differs(const struct check *k, const struct rdn_event *ev, uint32_t w, uint64_t bad, redan_error *reterr) {
    return rdn_fail(reterr, NOSUP, "R2105", "%s and its batches differ on rule %s", k->prog->impl->name,
                    k->ir->rules[ev->rules[w * 64 + (unsigned)__builtin_ctzll(bad)]].name);
}
/* A row of a batch, begun with its answers and without. early: the event's rules that are no late ones; both: room for words. */
static int check_answers(struct check *k, const struct rdn_batch *b, unsigned i, const uint64_t *mask, const uint64_t *early, uint64_t *both, redan_error *reterr) {
    const struct rdn_event *ev = &k->ir->events[b->event];
    struct rdn_frame_head *h = rdn_frame_head(k->frame);
    uint32_t words = (ev->nrules + 63) / 64;
    const uint64_t *got = b->fired + (size_t)i * words;
    const uint8_t *row = b->rows + (size_t)i * b->stride;
    rdn_exec_begin(k->frame, b->event, row, b->now[i], b->now[i]);
    rdn_run_rules(k->frame, RDN_EARLY);
    for (uint32_t w = 0; w < words; w++) {
        if ((got[w] ^ h->fired[w]) & mask[w])
            return batch_differs(k, ev, w, (got[w] ^ h->fired[w]) & mask[w], reterr);
        both[w] = h->fired[w];
        both[words + w] = h->undef[w];
    }
    rdn_exec_begin_known(k->frame, b->event, row, b->now[i], b->now[i], got);
    rdn_exec_rules(k->frame, RDN_EARLY);
    for (uint32_t w = 0; w < words; w++) {
        uint64_t bad = ((both[w] ^ h->fired[w]) | (both[words + w] ^ h->undef[w])) & early[w];
        if (bad)
            return batch_differs(k, ev, w, bad, reterr);
    }
    return 0;
}
/* Some events as one batch: the answers of the code for single events, which has been compared. */
static int check_batch(struct check *k, struct rdn_arena *a, uint32_t e, redan_error *reterr) {
    enum { ROWS = 19 };                                  /* two blocks and some */
    const struct rdn_event *ev = &k->ir->events[e];
    const uint64_t *mask = rdn_exec_batch_rules(k->prog, e);
    if (!mask)
        return 0;
    uint32_t words = (ev->nrules + 63) / 64;
    int64_t now[ROWS];
    uint8_t mark[ROWS], *rows = rdn_arena_alloc(a, (size_t)ROWS * ev->size), *event = k->event;
    struct rdn_batch b = {.event = e, .n = ROWS, .now = now, .rows = rows, .stride = ev->size, .fired = rdn_new_n(a, uint64_t, (size_t)ROWS * words), .mark = mark};
    for (unsigned i = 0; i < ROWS; i++) {
        k->event = rows + (size_t)i * ev->size;
        fill_event(k, ev, i % 2 ? EDGES : i / 2);        /* one lane's edge beside another's plain values */
        memcpy(&now[i], k->event, 8);
    }
    k->event = event;
    rdn_exec_batch(k->frame, &b);
    uint64_t *early = rdn_new_n(a, uint64_t, words), *both = rdn_new_n(a, uint64_t, 2 * (size_t)words);
    for (uint32_t i = 0; i < ev->nrules; i++)
        early[i / 64] |= (uint64_t)!k->ir->rules[ev->rules[i]].late << i % 64;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < ROWS; i++)
        rc = mark[i] ? 0 : check_answers(k, &b, i, mask, early, both, reterr);
    return rc;
}
static int check_batches(struct check *k, struct rdn_arena *a, redan_error *reterr) {
    int rc = 0;
    for (uint32_t e = 0; rc == 0 && e < k->ir->nevents; e++)
        rc = check_batch(k, a, e, reterr);
    return rc;
}

static int check_all(struct check *k, int64_t end, redan_error *reterr) {
    const struct rdn_unit *u = k->prog->x;
    int64_t now = rdn_mono_ns(), longest = 0;            /* of an event */
    for (unsigned nth = 0; nth < EVENTS_MAX; nth++)      /* a round over all types before the next: time is shared fairly */
        for (uint32_t e = 0; e < k->ir->nevents; e++) {
            if (!u->events[e].rules && !u->events[e].preds && !u->events[e].plan->items.n && !u->events[e].plan->keys.n)
                continue;
            bool late = now > end;
            if (nth >= EVENTS_MIN && now + longest > end)
                return 0;                                /* the next one would take longer than there is time */
            if (nth == EDGES || k->ir->nevents > 1)
                collect_constants(k, u->events[e].plan);
            int rc = judge(k, e, nth, late ? (struct share){nth, EVENTS_MIN} : (struct share){0, 1}, reterr);
            if (rc)
                return rc;
            int64_t then = now;
            now = rdn_mono_ns();
            longest = now - then > longest ? now - then : longest;
        }
    return 0;
}

/* end 0: batches alone. */
static int check_with(struct rdn_program *p, int64_t end, struct rdn_arena *a, struct rdn_frame *volatile *kept, redan_error *reterr) {
    static const struct rdn_helpers helpers = {.wread = wread, .tread = tread, .inlist = inlist, .incal = incal, .call = call};
    struct check *k = rdn_new(a, struct check);
    uint32_t most = 16;
    for (uint32_t e = 0; e < p->ir->nevents; e++)
        most = p->ir->events[e].size > most ? p->ir->events[e].size : most;
    struct rdn_cell *params = rdn_new_n(a, struct rdn_cell, p->ir->nparams + 1);
    for (uint32_t i = 0; i < p->ir->nparams; i++)
        params[i] = p->ir->params[i].val;
    k->prog = p;
    k->ir = p->ir;
    k->event = rdn_arena_alloc(a, most);
    int rc = rdn_frame_open(p, &helpers, k, params, p->mem, &k->frame, reterr);
    if (rc)
        return rc;
    *kept = k->frame;
    rc = end ? check_all(k, end, reterr) : 0;
    return rc ? rc : check_batches(k, a, reterr);
}
static int check(struct rdn_program *p, int64_t end, redan_error *reterr) {
    struct rdn_arena a;
    struct rdn_frame *volatile kept = NULL;
    jmp_buf oom;
    rdn_arena_init(&a, p->mem);
    a.oom = &oom;
    int rc = setjmp(oom) ? rdn_fail(reterr, NOMEM, "", "self-check") : check_with(p, end, &a, &kept, reterr);
    rdn_frame_close(kept);
    rdn_arena_fini(&a);
    return rc;
}
int rdn_selfcheck(struct rdn_program *p, uint32_t budget_us, redan_error *reterr) {
    int64_t t0 = rdn_mono_ns();
    int rc = budget_us ? check(p, t0 + (int64_t)budget_us * 1000, reterr) : 0;
    p->info.selfcheck_us = (uint32_t)((rdn_mono_ns() - t0) / 1000);
    return rc;
}
int rdn_selfcheck_batches(struct rdn_program *p, redan_error *reterr) { return check(p, 0, reterr); }
