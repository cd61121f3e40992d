/* SPDX-License-Identifier: Apache-2.0
 * testrun.c: see testrun.h. */
#include "host/testrun.h"
#include "host/answer.h"
#include "host/line.h"
#include <stdio.h>
#include <string.h>

struct runner {
    redan_engine *eng;
    redan_ruleset *rs;
    redan_lane *lane;
    const struct rdn_ir *ir;
    const struct rdn_test_sink *sink;
    const struct rdn_test *test;
    int64_t now;
    uint8_t **rows;                                      /* the last row of each event type */
    struct rdn_arena arena;
    bool bad, nomem;                                     /* of the test at hand */
};

__attribute__((format(printf, 3, 4))) static void fail(struct runner *r, uint32_t span, const char *fmt, ...) {
    char why[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    r->bad = true;
    uint32_t line, col;
    rdn_ir_linecol(r->ir, span, &line, &col);
    if (r->sink->failed)
        r->sink->failed(r->sink->ctx, r->test, line, why);
}

static void value_of(struct runner *r, rdn_id node, int64_t now, struct rdn_cell *ret) {
    rdn_exec_begin_none(r->lane->b->frame, now, r->now);
    rdn_exec_value(r->lane->b->frame, node, ret);
}

static void put_value(struct rdn_buf *b, struct runner *r, rdn_id node, const struct rdn_cell *c) {
    if (c->cause)
        rdn_buf_printf(b, "undefined(%s)", rdn_cause_text(c->cause));
    else
        rdn_value_text(b, r->eng->syms, rdn_ir_ltype(r->ir, node), c);
}

static void step_expect(struct runner *r, const struct rdn_step *s) {
    struct rdn_cell c;
    int64_t now = r->lane->has_high_water && r->lane->high_water > r->now ? r->lane->high_water : r->now;
    r->lane->b->gen++;                                   /* prev values of the last event are over */
    value_of(r, s->expect, now, &c);
    if (s->cause ? c.cause == s->cause : !c.cause && c.i)
        return;
    struct rdn_buf b;
    rdn_buf_init(&b, &r->eng->mem);
    put_value(&b, r, s->expect, &c);
    if (s->cause)
        fail(r, s->span, "expected undefined(%s), got %s", rdn_cause_text(s->cause), rdn_buf_str(&b));
    else
        fail(r, s->span, "expect gave %s", rdn_buf_str(&b));
    rdn_buf_fini(&b);
}

/* ---- events ---- */
/* Without a value: absent, or (when it is undefined, which fails the test, but the event still runs) zeros. */
static void zero_field(const struct rdn_field *f, uint8_t *row, bool present) {
    const uint64_t bit = (uint64_t)1 << f->present_bit;
    uint64_t bits;
    memset(row + f->offset, 0, f->size);
    if (!f->optional)
        return;
    memcpy(&bits, row + 8, sizeof bits);
    bits = present ? bits | bit : bits & ~bit;
    memcpy(row + 8, &bits, sizeof bits);
}

static void set_fields(struct runner *r, const struct rdn_step *s, uint8_t *row) {
    const struct rdn_event *e = &r->ir->events[s->index];
    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct rdn_field *f = &e->fields[s->fields[i].field];
        struct rdn_cell c;
        if (!s->fields[i].node) {
            zero_field(f, row, false);
            continue;
        }
        value_of(r, s->fields[i].node, r->now, &c);
        if (!c.cause && f->type->kind == RDN_K_DEC && !rdn_fits_i64(c.d))
            c.cause = RDN_CAUSE_OVERFLOW;
        if (c.cause) {
            fail(r, r->ir->nodes.v[s->fields[i].node].span, "field %s is undefined (%s)", f->name, rdn_cause_text(c.cause));
            zero_field(f, row, true);
        } else {
            rdn_row_put(f, row, &c);
        }
    }
}

static bool same_value(struct runner *r, const struct rdn_step_field *want, const redan_value *got) {
    struct rdn_cell c;
    redan_value w;
    value_of(r, want->node, r->now, &c);
    if (c.cause)
        return false;
    rdn_value_of_cell(r->eng, rdn_ir_ltype(r->ir, want->node), &c, &w);
    switch (got->type) {
    case REDAN_T_FLOAT:
        return w.as.f == got->as.f;
    case REDAN_T_DEC:
        return w.as.dec.lo == got->as.dec.lo && w.as.dec.hi == got->as.dec.hi;
    case REDAN_T_TEXT:
        return w.len == got->len && memcmp(w.as.text, got->as.text, w.len) == 0;
    case REDAN_T_INTS:
        return w.len == got->len && memcmp(w.as.ints, got->as.ints, w.len * sizeof *w.as.ints) == 0;
    case REDAN_T_FLOATS:
        for (uint32_t i = 0; i < got->len; i++)
            if (!(w.as.floats[i] == got->as.floats[i]))
                return false;
        return w.len == got->len;
    default:
        return w.as.i == got->as.i;
    }
}

static bool emit_fits(struct runner *r, const struct rdn_step_emit *want, const redan_emit *got) {
    if (strcmp(r->ir->emits[want->emit].name, got->name) != 0)
        return false;
    for (uint32_t i = 0; i < want->nfields; i++)
        if (!same_value(r, &want->fields[i], &got->fields[want->fields[i].field]))
            return false;
    return true;
}

/* Each expected emit takes the first one left that fits; with nothing else allowed, none may be left. */
static bool emits_fit(struct runner *r, const struct rdn_step *s, const redan_verdict *v) {
    bool *taken = rdn_new_n(&r->arena, bool, v->nemits + 1);
    if (!taken)
        return !(r->nomem = true);
    uint32_t left = v->nemits;
    for (uint32_t i = 0; i < s->nemits; i++) {
        uint32_t k = 0;
        while (k < v->nemits && (taken[k] || !emit_fits(r, &s->emits[i], &v->emits[k])))
            k++;
        if (k == v->nemits)
            return false;
        taken[k] = true;
        left--;
    }
    return s->more || left == 0;
}

static bool has_code(const uint32_t *codes, uint32_t n, uint32_t code) {
    for (uint32_t i = 0; i < n; i++)
        if (codes[i] == code)
            return true;
    return false;
}

static bool codes_fit(const struct rdn_step *s, const redan_verdict *v) {
    for (uint32_t i = 0; i < s->ncodes; i++)
        if (!has_code(v->codes, v->ncodes, s->codes[i]))
            return false;
    for (uint32_t i = 0; !s->more && i < v->ncodes; i++)
        if (!has_code(s->codes, s->ncodes, v->codes[i]))
            return false;
    return true;
}

static bool undefined_fit(const struct rdn_step *s, const redan_verdict *v) {
    for (uint32_t i = 0; i < s->nundef; i++) {
        bool found = false;
        for (uint32_t k = 0; k < v->nundefined && !found; k++)
            found = v->undefined[k] == s->undef[i];
        if (!found)
            return false;
    }
    return true;
}

static void count_rules(struct runner *r, const struct rdn_event *e) {
    const struct rdn_frame_head *f = rdn_frame_head(r->lane->b->frame);
    for (uint32_t i = 0; r->sink->cover && i < e->nrules; i++) {
        struct rdn_coverage *c = &r->sink->cover[e->rules[i]];
        if (f->undef[i / 64] >> i % 64 & 1)
            c->undefined++;
        else if (f->fired[i / 64] >> i % 64 & 1)
            c->fired++;
        else
            c->not_fired++;
    }
}

static void check_answer(struct runner *r, const struct rdn_step *s, const redan_verdict *v) {
    struct rdn_buf got, want;
    rdn_buf_init(&got, &r->eng->mem);
    rdn_buf_init(&want, &r->eng->mem);
    /* The line first: comparing evaluates other expressions in the same frame. */
    rdn_answer_decision(&got, r->lane, v, r->lane->seq, r->ir->events[s->index].name, false);
    bool ok = v->verdict == s->verdict && codes_fit(s, v) && (!s->has_score || s->score == v->score) && undefined_fit(s, v) && emits_fit(r, s, v);
    if (!ok) {
        rdn_buf_puts(&want, rdn_verb_text(s->verdict));
        for (uint32_t i = 0; i < s->ncodes; i++)
            rdn_buf_printf(&want, " %s", r->ir->codes[s->codes[i]]);
        if (s->has_score)
            rdn_buf_printf(&want, " score %lld", (long long)s->score);
        fail(r, s->span, "expected %s, got %s", rdn_buf_str(&want), rdn_buf_str(&got));
    }
    rdn_buf_fini(&got);
    rdn_buf_fini(&want);
}

/* Emitted texts and arrays may lie in the frame's scratch, which the expected values reuse. */
static bool keep_emits(struct runner *r, redan_verdict *v) {
    redan_emit *emits = rdn_new_n(&r->arena, redan_emit, v->nemits + 1);
    for (uint32_t i = 0; emits && i < v->nemits; i++) {
        emits[i] = v->emits[i];
        redan_value *vals = rdn_new_n(&r->arena, redan_value, emits[i].nfields + 1);
        if (!vals)
            return false;
        for (uint32_t k = 0; k < emits[i].nfields; k++) {
            vals[k] = v->emits[i].fields[k];
            size_t n = vals[k].type == REDAN_T_TEXT ? vals[k].len : vals[k].type >= REDAN_T_INTS ? vals[k].len * 8u : 0;
            char *copy = n ? rdn_arena_alloc(&r->arena, n) : NULL;
            if (n && !copy)
                return false;
            if (copy)
                vals[k].as.text = memcpy(copy, vals[k].as.text, n);
        }
        emits[i].fields = vals;
    }
    v->emits = emits;
    return emits != NULL;
}

static void step_event(struct runner *r, const struct rdn_step *s) {
    const struct rdn_event *e = &r->ir->events[s->index];
    uint8_t *row = r->rows[s->index];
    redan_verdict v = { 0 };
    set_fields(r, s, row);
    for (uint32_t i = 0; i < s->repeat; i++) {
        if (s->at_ns > 0 && __builtin_add_overflow(r->now, s->at_ns, &r->now))
            r->now = INT64_MAX;                          /* the clock stops at the last time there is */
        memcpy(row, &r->now, sizeof r->now);
        int64_t now = r->lane->has_high_water && r->lane->high_water > r->now ? r->lane->high_water : r->now;
        rdn_judge_start(r->lane);
        rdn_lane_judge(r->lane, s->index, row, now, NULL, &v);
        count_rules(r, e);
    }
    if (s->judged && keep_emits(r, &v))
        check_answer(r, s, &v);
    else if (s->judged)
        r->nomem = true;
}

static void run_step(struct runner *r, const struct rdn_step *s) {
    switch ((enum rdn_step_kind)s->kind) {
    case RDN_STEP_AT:
        r->now = s->at_ns;
        break;
    case RDN_STEP_PARAM:
        rdn_lane_param(r->lane, s->index, &s->val);
        break;
    case RDN_STEP_MOCK:
        rdn_lane_mock(r->lane, s->index, s->none ? NULL : &s->val);
        break;
    case RDN_STEP_ROW:
        rdn_lane_row(r->lane, s->index, s->keys, s->none ? NULL : s->vals);
        break;
    case RDN_STEP_EXPECT:
        step_expect(r, s);
        break;
    case RDN_STEP_EVENT:
        step_event(r, s);
        break;
    }
}

static int run_test(struct runner *r, uint32_t index, redan_error *reterr) {
    redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
    o.flags = REDAN_LANE_MAY_WAIT;
    o.index = index;
    int rc = redan_lane_open(r->eng, &o, &r->lane, reterr);
    if (rc < 0)
        return rc;
    rdn_arena_init(&r->arena, &r->eng->mem);
    r->rows = rdn_new_n(&r->arena, uint8_t *, r->ir->nevents + 1);
    bool whole = r->rows != NULL;
    for (uint32_t i = 0; whole && i < r->ir->nevents; i++)
        whole = (r->rows[i] = rdn_arena_alloc(&r->arena, r->ir->events[i].size)) != NULL;
    r->now = 0;
    r->bad = r->nomem = false;
    for (uint32_t i = 0; whole && !r->nomem && i < r->test->n && !(r->bad && r->sink->stop_at_first); i++)
        run_step(r, &r->test->steps[i]);
    rdn_arena_fini(&r->arena);
    redan_lane_close(r->lane);
    return whole && !r->nomem ? r->bad : rdn_fail(reterr, NOMEM, "", "no memory for a test");
}

int rdn_tests_run(redan_engine *e, redan_ruleset *rs, uint32_t index, const struct rdn_test_sink *sink, redan_error *reterr) {
    struct runner r = { .eng = e, .rs = rs, .ir = rs->ir, .sink = sink };
    int failed = 0;
    for (uint32_t i = 0; i < rs->ir->ntests && !(failed && sink->stop_at_first); i++) {
        r.test = &rs->ir->tests[i];
        int rc = run_test(&r, index, reterr);
        if (rc < 0)
            return rc;
        failed += rc;
    }
    return failed;
}
