/* SPDX-License-Identifier: Apache-2.0
 * judge.c: one event through the order of LANGUAGE.md 11.2. Everything here is [hot]: no lock, no allocation, no system call
 * (but for the plugins and kernels a rule set declares). */
#include "base/fpmode.h"
#include "host/host.h"
#include <stdio.h>
#include <string.h>

/* ---- what a program may reach ---- */
/* A text read from a window would change under the reader at the next update: it is copied. */
static void keep_text(struct rdn_binding *b, struct rdn_cell *c) {
    if (b->texts_used + c->t.len > RDN_TEXTS_BYTES)
        return;
    char *p = memcpy(b->texts + b->texts_used, c->t.p, c->t.len);
    b->texts_used += c->t.len;
    c->t.p = p;
}

static void read_window(void *ctx, uint32_t w, const struct rdn_key *key, bool prev, struct rdn_cell *ret) {
    struct rdn_binding *b = ctx;
    int64_t word;
    if (prev && b->prev_gen[w] == b->gen) {
        *ret = b->prev[w];
        return;
    }
    if (prev && rdn_exec_prev(b->frame, w, &word)) {
        *ret = (struct rdn_cell){ .i = word };
        if (b->rs->ir->windows[w].rtype->kind == RDN_K_DEC)
            ret->d = word;
        return;
    }
    rdn_win_read(b->wins[w], key, rdn_frame_head(b->frame)->now, ret);
    if (b->win_is[w] & RDN_WIN_IS_TEXT && !ret->cause)
        keep_text(b, ret);
}

static const struct rdn_cell *read_table(void *ctx, uint32_t t, const struct rdn_key *key) {
    return rdn_tab_find(((struct rdn_binding *)ctx)->tabs[t], key);
}
static bool in_list(void *ctx, uint32_t l, const struct rdn_cell *c) { return rdn_listset_has(((struct rdn_binding *)ctx)->rs->lists[l], c); }
static bool in_calendar(void *ctx, uint32_t c, int64_t t) {
    struct rdn_binding *b = ctx;
    return rdn_cal_open_at(b->rs->cals[c], t, &b->cal_spans[c]);
}

static void keep_prev(void *ctx, uint32_t w, const struct rdn_key *key) {
    struct rdn_binding *b = ctx;
    rdn_win_read(b->wins[w], key, rdn_frame_head(b->frame)->now, &b->prev[w]);
    if (b->win_is[w] & RDN_WIN_IS_TEXT && !b->prev[w].cause) {
        memcpy(b->prev_text[w], b->prev[w].t.p, b->prev[w].t.len);
        b->prev[w].t.p = b->prev_text[w];
    }
    b->prev_gen[w] = b->gen;
}

const struct rdn_helpers rdn_lane_helpers = { read_window, read_table, in_list, in_calendar, rdn_dispatch_call, rdn_win_asks, rdn_win_put, rdn_win_skip, keep_prev };

/* ---- windows ---- */
static void reset_windows(struct rdn_binding *b, const struct rdn_event *e, uint32_t event, const uint8_t *row) {
    const struct rdn_ir *ir = b->rs->ir;
    for (uint32_t i = 0; i < e->nresets; i++) {
        const struct rdn_window *w = &ir->windows[e->resets[i]];
        const struct rdn_reset *r = w->resets;
        while (r->event != event)
            r++;
        bool whole = true;
        rdn_key_begin(&b->key);
        for (uint32_t k = 0; k < w->nkeys && whole; k++) {
            struct rdn_cell c;
            rdn_row_field(e, &e->fields[r->fields[k]], row, &c);
            whole = !c.cause;
            if (whole)
                rdn_key_add(&b->key, w->ktypes[k], &c);
        }
        rdn_key_end(&b->key);
        if (whole)
            rdn_win_reset(b->wins[e->resets[i]], &b->key);
    }
}

static void update_window(struct rdn_binding *b, uint32_t w, int64_t now) {
    struct rdn_winput in;
    switch (rdn_exec_window(b->frame, w, &in)) {
    case RDN_ENTER:
        if (b->win_is[w] & RDN_WIN_IS_PREV)
            keep_prev(b, w, in.key);
        rdn_win_update(b->wins[w], in.key, now, &in.val, in.span);
        return;
    case RDN_ENTER_SKIP:
        rdn_win_skip(b->wins[w]);
        return;
    case RDN_ENTER_NOT:
        return;
    }
}
static void update_observed(struct rdn_binding *b, const struct rdn_event *e, int64_t now) {
    for (uint32_t i = 0; i < e->nobserved && (i = rdn_exec_puts(b->frame, false, i)) < e->nobserved; i++)
        update_window(b, e->observed[i], now);
}

/* All conditions, keys and values are read before any of them changes (10.4). */
static void update_accepted(struct rdn_binding *b, const struct rdn_event *e, int64_t now) {
    uint32_t n = 0;
    for (uint32_t i = rdn_exec_puts(b->frame, true, 0); i < e->naccepted; i++) {
        struct rdn_accept *x = &b->accepts[n];
        x->window = e->accepted[i];
        enum rdn_enter how = rdn_exec_window(b->frame, x->window, &x->in);
        if (how == RDN_ENTER_SKIP)
            rdn_win_skip(b->wins[x->window]);
        n += how == RDN_ENTER;
    }
    for (uint32_t i = 0; i < n; i++)
        rdn_win_update(b->wins[b->accepts[i].window], b->accepts[i].in.key, now, &b->accepts[i].in.val, b->accepts[i].in.span);
}

/* ---- score ---- */
static rdn_i128 add_points(struct rdn_binding *b, const struct rdn_rule *r, uint32_t points, const struct rdn_action *acts, uint32_t n) {
    rdn_i128 sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (acts[i].verb != RDN_V_SCORE)
            continue;
        struct rdn_cell *c = &b->points[points + i];
        rdn_exec_value(b->frame, acts[i].points, c);
        if (!c->cause && !r->shadow)
            sum += c->i;
    }
    return sum;
}

static int64_t score_of(struct rdn_binding *b, const struct rdn_event *e, uint32_t event) {
    const struct rdn_event_info *info = &b->rs->events[event];
    const struct rdn_frame_head *f = rdn_frame_head(b->frame);
    rdn_i128 sum = 0;
    for (uint32_t w = 0; w * 64 < e->nrules; w++)
        for (uint64_t bits = (f->fired[w] & ~f->undef[w] & info->scorers[w]) | (f->undef[w] & info->none_scorers[w]); bits; bits &= bits - 1) {
            unsigned at = (unsigned)__builtin_ctzll(bits);
            uint32_t rule = e->rules[w * 64 + at], points = b->rs->rules[rule].points;
            const struct rdn_rule *r = &b->rs->ir->rules[rule];
            if (f->undef[w] >> at & 1)
                sum += add_points(b, r, points + r->nacts, r->undef, 1);
            else
                sum += b->rs->rules[rule].known ? b->sums[rule] : add_points(b, r, points, r->acts, r->nacts);
        }
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

/* ---- an event ---- */
static void take_turn(struct redan_lane *l, int64_t now) {
    struct rdn_binding *b = l->b;
    b->gen++;
    b->texts_used = 0;
    b->defaulted = false;
    l->high_water = now;
    l->has_high_water = true;
    l->seq++;
}
static __attribute__((noinline)) void keep_sample(struct redan_lane *l, uint32_t event, const uint8_t *row, int64_t now) {
    l->sample_at = l->seq + rdn_samples_take(l->b->samples, event, row, now);
}
bool rdn_judge_samples_next(const struct redan_lane *l) { return l->seq + 1 == l->sample_at; }

/* In line: a call less between the lane and its verdict. */
static inline __attribute__((always_inline)) void judge_rules(struct redan_lane *l, uint32_t event, const uint8_t *row, int64_t now, const uint64_t *fired, redan_verdict *ret) {
    struct rdn_binding *b = l->b;
    const struct rdn_event *e = &b->rs->ir->events[event];
    const struct rdn_event_info *info = &b->rs->events[event];
    struct rdn_frame_head *f = rdn_frame_head(b->frame);
    int64_t ts;
    memcpy(&ts, row, sizeof ts);
    take_turn(l, now);
    if (__builtin_expect(l->seq == l->sample_at, 0))
        keep_sample(l, event, row, now);
    if (fired)
        rdn_exec_begin_known(b->frame, event, row, now, ts, fired);
    else
        rdn_exec_begin(b->frame, event, row, now, ts);
    if (e->nresets)
        reset_windows(b, e, event, row);
    update_observed(b, e, now);
    rdn_exec_rules(b->frame, RDN_EARLY);
    f->score = info->scores ? score_of(b, e, event) : 0;
    if (info->has_late)
        rdn_exec_rules(b->frame, RDN_LATE);
    rdn_decide(b, e, ret);
    ret->now_ns = now;
    ret->score = f->score;
    ret->flags = (uint8_t)((ts < now ? REDAN_LATE : 0) | (ret->nundefined ? REDAN_UNDEFINED : 0) | (b->defaulted ? REDAN_DEFAULTED : 0));
    ret->generation = l->active->generation;
    ret->journal_seq = 0;
}

void rdn_judge_rules(struct redan_lane *l, uint32_t event, const uint8_t *row, int64_t now, redan_verdict *ret) {
    judge_rules(l, event, row, now, NULL, ret);
}

void rdn_judge_quiet(struct redan_lane *l, int64_t ts, int64_t now, redan_verdict *ret) {
    struct rdn_binding *b = l->b;
    take_turn(l, now);
    b->last_codes = b->ncodes;
    b->last_undefined = b->nundefined;
    *ret = (redan_verdict){ .verdict = REDAN_ACCEPT, .flags = ts < now ? REDAN_LATE : 0, .now_ns = now, .codes = b->codes + b->ncodes,
        .shadow = b->shadow + b->nshadow, .undefined = b->undefined + b->nundefined, .emits = b->emits + b->nemits, .generation = l->active->generation };
}

static inline void judge_accept(struct redan_lane *l, uint32_t event, const redan_verdict *v) {
    const struct rdn_event *e = &l->b->rs->ir->events[event];
    if (v->verdict == REDAN_ACCEPT && e->naccepted)
        update_accepted(l->b, e, v->now_ns);
}
void rdn_judge_accept(struct redan_lane *l, uint32_t event, const redan_verdict *v) { judge_accept(l, event, v); }

void rdn_lane_judge(struct redan_lane *l, uint32_t event, const uint8_t *row, int64_t now, const uint64_t *fired, redan_verdict *ret) {
    judge_rules(l, event, row, now, fired, ret);
    judge_accept(l, event, ret);
}

void rdn_judge_start(struct redan_lane *l) {
    struct rdn_binding *b = l->b;
    b->ncodes = b->nshadow = b->nundefined = b->nemits = b->nvalues = 0;
}

int32_t rdn_lane_event(const struct redan_lane *l, uint32_t event) {
    return event >= atomic_load_explicit(&l->eng->nevents, memory_order_acquire) ? -1 : l->active->evmap[event];
}
/* The event of the active rules for an engine's id, or -1: unknown, or the row is not valid. */
static int32_t admit(struct redan_lane *l, uint32_t event, const uint8_t *row) {
    int32_t x = rdn_lane_event(l, event);
    return x >= 0 && rdn_row_valid(&l->b->rs->ir->events[x], row, rdn_sym_count(l->eng->syms)) ? x : -1;
}

/* The time it is judged at: never before the row's, nor before the last event's. */
static inline int64_t moment(const struct redan_lane *l, const uint8_t *row, bool stamped, int64_t now) {
    int64_t ts;
    memcpy(&ts, row, sizeof ts);
    if (!stamped || now < ts)
        now = ts;
    return l->has_high_water && l->high_water > now ? l->high_water : now;
}

/* The report comes once an engine. */
static void count_mode(struct redan_lane *l, size_t events) {
    if (l->b)
        __atomic_store_n(&l->b->mode_resets, l->b->mode_resets + events, __ATOMIC_RELAXED);
}
static __attribute__((noinline)) void replace_mode(struct redan_lane *l, uint32_t was) {
    char line[160];
    if (!atomic_exchange_explicit(&l->eng->mode_reported, true, memory_order_relaxed)) {
        snprintf(line, sizeof line, "R2107 thread runs with %s; reset during evaluation", rdn_fpmode_text(was));
        l->eng->opt.log(l->eng->opt.ctx, 1, line);
    }
    rdn_fpmode_set(RDN_FPMODE);
}
bool rdn_judge_mode(struct redan_lane *l, uint32_t *ret_was) {
    *ret_was = rdn_fpmode_get();
    bool good = rdn_fpmode_ok(*ret_was);
    if (__builtin_expect(!good, 0))
        replace_mode(l, *ret_was);
    return good;
}
void rdn_judge_mode_back(struct redan_lane *l, uint32_t was, size_t events) {
    count_mode(l, events);
    rdn_fpmode_set(was);
}

static inline __attribute__((always_inline)) int judge(struct redan_lane *l, uint32_t event, const uint8_t *row, bool stamped, int64_t now, redan_verdict *ret) {
    uint32_t mode;
    rdn_fpmode_store(&mode);                             /* read back late: what this instruction stores takes long to load */
    int32_t x = admit(l, event, row);
    if (x < 0)
        return REDAN_E_INVAL;
    now = moment(l, row, stamped, now);
    bool good = rdn_fpmode_ok(mode);
    if (__builtin_expect(!good, 0))
        replace_mode(l, mode);
    judge_rules(l, (uint32_t)x, row, now, NULL, ret);
    judge_accept(l, (uint32_t)x, ret);
    if (__builtin_expect(!good, 0))
        rdn_judge_mode_back(l, mode, 1);
    return 0;
}
int rdn_judge_row(struct redan_lane *l, uint32_t event, const uint8_t *row, redan_verdict *ret) {
    int32_t x = admit(l, event, row);
    if (x < 0)
        return REDAN_E_INVAL;
    rdn_lane_judge(l, (uint32_t)x, row, moment(l, row, false, 0), NULL, ret);
    return 0;
}

int rdn_judge_enter(struct redan_lane *l, const void *data) {
    rdn_tag_lane(l, "redan_eval");
    if (!*l->eng->alive)
        return REDAN_E_CLOSED;
    return data && rdn_lane_sync(l) ? 0 : REDAN_E_INVAL;
}

int redan_eval(redan_lane *l, uint32_t event, const void *data, redan_verdict *ret) {
    int rc = rdn_judge_enter(l, data);
    if (rc < 0)
        return rc;
    rdn_judge_start(l);
    return judge(l, event, data, false, 0, ret);
}

int redan_eval_at(redan_lane *l, uint32_t event, const void *data, int64_t now_ns, redan_verdict *ret) {
    int rc = rdn_judge_enter(l, data);
    if (rc < 0)
        return rc;
    rdn_judge_start(l);
    return judge(l, event, data, true, now_ns, ret);
}

bool rdn_judge_has_room(const struct rdn_binding *b) {
    const struct redan_ruleset *rs = b->rs;
    return b->ncodes + rs->max_codes <= b->cap_codes && b->nshadow + rs->max_codes <= b->cap_codes && b->nemits + rs->max_emits <= b->cap_emits &&
           b->nvalues + rs->max_values <= b->cap_values && b->nundefined + rs->max_codes + rs->max_emits + rs->ir->nrules <= b->cap_undefined;
}
