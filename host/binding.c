/* SPDX-License-Identifier: Apache-2.0
 * binding.c: one lane's memory for one rule set, made by the publisher and carried over by the lane.
 *
 * rdn_binding_open   [setup]  allocates and reserves everything judging will touch
 * rdn_binding_carry  [hot]    moves window memory, host rows, run-time parameters and mocks; no allocation */
#include "host/host.h"
#include <string.h>

/* All arrays come from one block: one allocation, one free, and neighbours stay neighbours. Those that are written before they are
 * read are zeroed no further than a lane's first events go: their pages are there then, and half a megabyte is not cleared at each swap. */
struct carver { char *base; size_t used; bool brief; };
static void *carve(struct carver *c, size_t size, size_t n) {
    enum { FIRST = 4096 };
    size_t at = (c->used + 15) & ~(size_t)15, bytes = size * n;
    c->used = at + bytes;
    return c->base ? memset(c->base + at, 0, c->brief && bytes > FIRST ? FIRST : bytes) : NULL;
}
/* Answers of at most 64 KiB, or of 64 rows. */
static uint32_t rows_ahead(const struct rdn_event *e) {
    uint32_t words = (e->nrules + 63) / 64, n = words ? 8192 / words : 0;
    return n > RDN_BATCH_MAX ? RDN_BATCH_MAX : n < 64 ? 64 : n;
}
static void lay_out_ahead(struct rdn_binding *b, struct carver *c) {
    const struct rdn_ir *ir = b->rs->ir;
    uint32_t rows = 0, words = 0, size = 16, fields = 0;
    for (uint32_t e = 0; e < ir->nevents; e++) {
        const struct rdn_event *v = &ir->events[e];
        size = v->size > size ? v->size : size;
        fields = v->nfields > fields ? v->nfields : fields;
        if (!rdn_exec_batch_rules(b->prog, e))
            continue;
        uint32_t n = rows_ahead(v), w = n * ((v->nrules + 63) / 64);
        rows = n > rows ? n : rows;
        words = w > words ? w : words;
    }
    b->ahead.mask = carve(c, sizeof *b->ahead.mask, ir->nevents);
    b->ahead.rows = carve(c, sizeof *b->ahead.rows, ir->nevents);
    b->ahead.quiet = carve(c, sizeof *b->ahead.quiet, ir->nevents);
    c->brief = !(b->rs->eng->opt.flags & REDAN_PREFAULT);    /* from here on: written first */
    b->ahead.now = carve(c, sizeof *b->ahead.now, rows);
    b->ahead.fired = carve(c, sizeof *b->ahead.fired, words);
    b->ahead.mark = carve(c, 1, rows);
    b->ahead.row = carve(c, 1, size);
    b->ahead.columns = carve(c, sizeof *b->ahead.columns, RDN_COL_FIELDS + fields);
}
static bool leaves_open(const struct rdn_event *e, const uint64_t *mask) {
    bool open = false;
    for (uint32_t i = 0; i < e->nrules; i++)
        open |= !(mask[i / 64] >> i % 64 & 1);
    return open;
}
static void open_ahead(struct rdn_binding *b) {
    const struct rdn_ir *ir = b->rs->ir;
    for (uint32_t e = 0; e < ir->nevents; e++) {
        const struct rdn_event *v = &ir->events[e];
        const uint64_t *mask = rdn_exec_batch_rules(b->prog, e);
        if (!mask)
            continue;
        b->ahead.mask[e] = mask;
        b->ahead.rows[e] = rows_ahead(v);
        b->ahead.quiet[e] = !v->nobserved && !v->naccepted && !v->nresets && !leaves_open(v, mask);
    }
}
/* Called twice: without a block to learn the size, with one to lay it out. */
static size_t lay_out(struct rdn_binding *b, char *block) {
    const struct rdn_ir *ir = b->rs->ir;
    struct carver c = { .base = block };
    b->wins = carve(&c, sizeof *b->wins, ir->nwindows);
    b->tabs = carve(&c, sizeof *b->tabs, ir->ntables);
    b->cal_spans = carve(&c, sizeof *b->cal_spans, ir->ncals);
    b->params = carve(&c, sizeof *b->params, ir->nparams);
    b->param_set = carve(&c, sizeof *b->param_set, ir->nparams);
    b->param_text = carve(&c, sizeof *b->param_text, ir->nparams);
    b->mocks = carve(&c, sizeof *b->mocks, ir->ncalls);
    b->prev = carve(&c, sizeof *b->prev, ir->nwindows);
    b->prev_gen = carve(&c, sizeof *b->prev_gen, ir->nwindows);
    b->prev_text = carve(&c, sizeof *b->prev_text, ir->nwindows);
    b->accepts = carve(&c, sizeof *b->accepts, ir->nwindows);
    b->win_is = carve(&c, sizeof *b->win_is, ir->nwindows);
    b->cold = carve(&c, sizeof *b->cold, ir->nwindows);
    b->code_seen = carve(&c, sizeof *b->code_seen, ir->ncodes);
    b->shadow_seen = carve(&c, sizeof *b->shadow_seen, ir->ncodes);
    b->msg_gen = carve(&c, sizeof *b->msg_gen, b->cap_codes);
    b->emit_names = carve(&c, sizeof *b->emit_names, ir->nemits);
    lay_out_ahead(b, &c);
    b->points = carve(&c, sizeof *b->points, b->rs->npoints);
    b->sums = carve(&c, sizeof *b->sums, ir->nrules);
    b->codes = carve(&c, sizeof *b->codes, b->cap_codes);
    b->shadow = carve(&c, sizeof *b->shadow, b->cap_codes);
    b->src = carve(&c, sizeof *b->src, b->cap_codes);
    b->msg_at = carve(&c, sizeof *b->msg_at, b->cap_codes);
    b->msg_len = carve(&c, sizeof *b->msg_len, b->cap_codes);
    b->undefined = carve(&c, sizeof *b->undefined, b->cap_undefined);
    b->causes = carve(&c, sizeof *b->causes, b->cap_undefined);
    b->emits = carve(&c, sizeof *b->emits, b->cap_emits);
    b->values = carve(&c, sizeof *b->values, b->cap_values);
    return c.used;
}

static size_t name_bytes(const struct rdn_ir *ir) {
    size_t n = 0;
    for (uint32_t i = 0; i < ir->nemits; i++)
        n += ir->emits[i].ncols;
    return n * sizeof(char *);
}

/* Room for one event at its worst, and for a batch of ordinary ones. */
static void size_arrays(struct rdn_binding *b) {
    enum { BATCH_CODES = 4096 };
    b->cap_codes = b->rs->max_codes + BATCH_CODES;
    b->cap_undefined = b->rs->max_codes + b->rs->max_emits + b->rs->ir->nrules + BATCH_CODES;
    b->cap_emits = b->rs->max_emits + BATCH_CODES;
    b->cap_values = b->rs->max_values + BATCH_CODES;
}

static int reserve(struct rdn_binding *b, redan_error *reterr) {
    size_arrays(b);
    size_t size = lay_out(b, NULL);
    size_t names = name_bytes(b->rs->ir);
    char *block = rdn_realloc(&b->rs->eng->mem, NULL, 0, size + names);
    if (!block)
        return rdn_fail(reterr, NOMEM, "R3004", "no memory for a lane of '%.60s'", b->rs->ir->name);
    b->bytes = size + names;
    lay_out(b, block);
    open_ahead(b);
    const char **name = (const char **)(void *)(block + size);
    for (uint32_t i = 0; i < b->rs->ir->nemits; i++) {
        b->emit_names[i] = name;
        for (uint32_t k = 0; k < b->rs->ir->emits[i].ncols; k++)
            *name++ = b->rs->ir->emits[i].cols[k].name;
    }
    b->texts = b->lane->texts;
    return 0;
}

static int open_state(struct rdn_binding *b, redan_error *reterr) {
    const struct rdn_ir *ir = b->rs->ir;
    struct redan_engine *e = b->rs->eng;
    int rc = 0;
    for (uint32_t i = 0; i < ir->nwindows && rc == 0; i++)
        rc = rdn_win_open(&ir->windows[i], e->syms, &e->mem, e->opt.flags & REDAN_PREFAULT, &e->spares, &b->wins[i], reterr);
    for (uint32_t i = 0; i < ir->nwindows; i++)
        b->win_is[i] = (ir->windows[i].rtype->kind == RDN_K_STR ? RDN_WIN_IS_TEXT : 0) | (ir->windows[i].prev_used ? RDN_WIN_IS_PREV : 0);
    for (uint32_t i = 0; i < ir->ntables && rc == 0; i++) {
        b->tabs[i] = b->rs->tables[i];
        if (ir->tables[i].host && rdn_tab_open(&ir->tables[i], &e->mem, &b->tabs[i]) < 0)
            rc = rdn_fail(reterr, NOMEM, "R3004", "no memory for host table %.60s", ir->tables[i].name);
    }
    for (uint32_t i = 0; i < ir->nparams; i++)
        b->params[i] = ir->params[i].val;
    memset(b->cold, 1, ir->nwindows);
    if (rc == 0 && rdn_kernel_open(ir, &e->mem, &b->kernels) < 0)
        rc = rdn_fail(reterr, NOMEM, "R3004", "no memory for kernels");
    return rc;
}

/* Points that are constants are worked out once; an event takes their sum. */
static void know_points(struct rdn_binding *b) {
    const struct rdn_ir *ir = b->rs->ir;
    rdn_exec_begin_none(b->frame, 0, 0);
    for (uint32_t i = 0; i < ir->nrules; i++) {
        const struct rdn_rule *r = &ir->rules[i];
        const struct rdn_rule_info *info = &b->rs->rules[i];
        b->sums[i] = 0;
        for (uint32_t k = 0; info->scores && info->known && k < r->nacts; k++)
            if (r->acts[k].verb == RDN_V_SCORE) {
                rdn_exec_value(b->frame, r->acts[k].points, &b->points[info->points + k]);
                b->sums[i] += r->shadow ? 0 : b->points[info->points + k].i;
            }
    }
}

int rdn_binding_open(struct rdn_active *a, struct redan_lane *lane, struct rdn_binding **ret, redan_error *reterr) {
    struct redan_ruleset *rs = a->rs;
    struct rdn_binding *b = rdn_zalloc(&rs->eng->mem, sizeof *b);
    if (!b)
        return rdn_fail(reterr, NOMEM, "", "no memory for a lane");
    b->rs = rs;
    b->prog = a->prog;
    b->lane = lane;
    int rc = lane->flags & REDAN_LANE_BATCHES ? rdn_engine_batches(a->prog, reterr) : 0;
    if (rc == 0)
        rc = reserve(b, reterr);
    if (rc == 0)
        rc = open_state(b, reterr);
    if (rc == 0 && rdn_samples_open(rs->ir, &rs->eng->mem, &b->samples) < 0)
        rc = rdn_fail(reterr, NOMEM, "R3004", "no memory for the samples of a lane");
    if (rc == 0)
        rc = rdn_frame_open(a->prog, &rdn_lane_helpers, b, b->params, &rs->eng->mem, &b->frame, reterr);
    if (rc < 0) {
        rdn_binding_close(b);
        return rc;
    }
    rdn_frame_head(b->frame)->wins = b->wins;
    know_points(b);
    *ret = b;
    return 0;
}

void rdn_binding_close(struct rdn_binding *b) {
    if (!b)
        return;
    const struct rdn_ir *ir = b->rs->ir;
    const struct rdn_mem *mem = &b->rs->eng->mem;
    rdn_engine_binding_done(b->rs->eng, b);
    rdn_frame_close(b->frame);
    rdn_samples_close(b->samples);
    rdn_kernel_close(b->kernels);
    for (uint32_t i = 0; b->wins && i < ir->nwindows; i++)
        rdn_win_close(b->wins[i]);
    for (uint32_t i = 0; b->tabs && i < ir->ntables; i++)
        if (ir->tables[i].host)
            rdn_tab_close(b->tabs[i]);
    rdn_free(mem, b->wins, b->bytes);
    rdn_free(mem, b, sizeof *b);
}

/* The first window of `from` with that structural hash. */
static struct rdn_win *same_hash(struct rdn_binding *from, uint64_t hash) {
    const struct rdn_hash_row *rows = from->rs->by_hash;
    uint32_t lo = 0, hi = from->rs->ir->nwindows;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (rows[mid].hash < hash)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < from->rs->ir->nwindows && rows[lo].hash == hash ? from->wins[rows[lo].window] : NULL;
}

/* Windows of one hash stand together: all but the last copy the state, the last may take the memory itself. */
static void carry_windows(struct rdn_binding *to, struct rdn_binding *from) {
    const struct rdn_hash_row *rows = to->rs->by_hash;
    for (uint32_t i = 0; i < to->rs->ir->nwindows; i++) {
        struct rdn_win *src = same_hash(from, rows[i].hash);
        bool again = i + 1 < to->rs->ir->nwindows && rows[i + 1].hash == rows[i].hash;
        struct rdn_win *dst = to->wins[rows[i].window];
        if (src)
            to->cold[rows[i].window] = !(again ? rdn_win_copy(dst, src) : rdn_win_carry(dst, src));
    }
}

static const char *copy_text(char *buf, struct rdn_cell *c) {
    memcpy(buf, c->t.p, c->t.len);
    return c->t.p = buf;
}

static bool in_range(const struct rdn_param *p, const struct rdn_cell *v) {
    if (!p->has_range)
        return p->type->kind != RDN_K_FLOAT || v->f == v->f;
    if (p->type->kind == RDN_K_FLOAT)
        return p->lo.f <= v->f && v->f <= p->hi.f;
    if (p->type->kind == RDN_K_DEC)
        return p->lo.d <= v->d && v->d <= p->hi.d;
    return p->lo.i <= v->i && v->i <= p->hi.i;
}

static bool set_param(struct rdn_binding *b, uint32_t i, const struct rdn_cell *v) {
    const struct rdn_param *p = &b->rs->ir->params[i];
    if (!in_range(p, v))
        return false;
    b->params[i] = *v;
    if (p->type->kind == RDN_K_STR)
        copy_text(b->param_text[i], &b->params[i]);
    b->param_set[i] = true;
    return true;
}

static void carry_params(struct rdn_binding *to, struct rdn_binding *from) {
    const struct rdn_ir *a = from->rs->ir, *b = to->rs->ir;
    for (uint32_t i = 0; i < a->nparams; i++) {
        uint32_t k = from->param_set[i] ? rdn_name_find(to->rs->params, b->nparams, a->params[i].name) : UINT32_MAX;
        if (k != UINT32_MAX && rdn_type_same(a->params[i].type, b->params[k].type))
            set_param(to, k, &from->params[i]);
    }
}

static void set_mock(struct rdn_mock *m, const struct rdn_type *t, const struct rdn_cell *v) {
    m->state = v ? RDN_MOCK_VALUE : RDN_MOCK_FAIL;
    if (!v)
        return;
    m->val = *v;
    if (t->kind == RDN_K_STR)
        copy_text(m->text, &m->val);
}

static void carry_mocks(struct rdn_binding *to, struct rdn_binding *from) {
    const struct rdn_ir *a = from->rs->ir, *b = to->rs->ir;
    for (uint32_t i = 0; i < a->ncalls; i++) {
        uint32_t k = from->mocks[i].state ? rdn_name_find(to->rs->calls, b->ncalls, a->calls[i].name) : UINT32_MAX;
        if (k != UINT32_MAX && rdn_type_same(a->calls[i].rtype, b->calls[k].rtype))
            set_mock(&to->mocks[k], b->calls[k].rtype, from->mocks[i].state == RDN_MOCK_VALUE ? &from->mocks[i].val : NULL);
    }
}

static void carry_tables(struct rdn_binding *to, struct rdn_binding *from) {
    for (uint32_t i = 0; i < from->rs->nhost_tables; i++) {
        const struct rdn_name_row *row = &from->rs->host_tables[i];
        uint32_t k = rdn_name_find(to->rs->host_tables, to->rs->nhost_tables, row->name);
        if (k != UINT32_MAX)
            rdn_tab_carry(to->tabs[k], from->tabs[row->at]);
    }
}

void rdn_binding_carry(struct rdn_binding *to, struct rdn_binding *from) {
    if (!from)
        return;
    carry_windows(to, from);
    carry_params(to, from);
    carry_mocks(to, from);
    carry_tables(to, from);
    rdn_frame_params_changed(to->frame);
}

/* ---- between events ---- */
bool rdn_lane_param(struct redan_lane *l, uint32_t param, const struct rdn_cell *val) {
    if (!set_param(l->b, param, val))
        return false;
    rdn_frame_params_changed(l->b->frame);
    return true;
}

void rdn_lane_mock(struct redan_lane *l, uint32_t call, const struct rdn_cell *val) {
    set_mock(&l->b->mocks[call], l->b->rs->ir->calls[call].rtype, val);
}

bool rdn_lane_row(struct redan_lane *l, uint32_t table, const struct rdn_cell *keys, const struct rdn_cell *vals) {
    struct rdn_binding *b = l->b;
    const struct rdn_table *t = &b->rs->ir->tables[table];
    rdn_key_begin(&b->key);
    for (uint32_t i = 0; i < t->nkeys; i++)
        rdn_key_add(&b->key, t->keys[i].type, &keys[i]);
    rdn_key_end(&b->key);
    return rdn_tab_set(b->tabs[table], &b->key, vals);
}
