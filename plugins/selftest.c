/* SPDX-License-Identifier: Apache-2.0
 * selftest.c: golden rows in the workers of a generation before it goes live, every lane's worker: a plugin that answers otherwise
 * than its author promised never takes a call. Rows of one function travel as one batch, as they will later. */
#include <string.h>
#include "base/clock.h"
#include "plugins/parts.h"

/* All rows of all workers together: a plugin whose every row is slow would hold the opener for as long as it has rows. */
enum { LOAD_CAPS = 10 };

struct rdn_trial {
    struct rdn_wlane *lane;                             /* a lane of its own: the real one may be answering with the old text */
    struct rdn_wire_value *ret, *args;
    uint8_t *outs;
    int64_t until_ns;                                   /* of the whole selftest */
};

static int fail_row(struct rdn_gen *g, const struct rdn_golden *row, const char *file, enum rdn_outcome out, const struct rdn_wire_value *v, redan_error *reterr) {
    const struct rdn_wfunc *f = &g->plugin->fns[row->fn];
    struct rdn_buf b;
    rdn_buf_init(&b, g->plugin->ps->mem);
    if (out == RDN_OUT_VALUE)
        rdn_wire_print(&b, &f->ret, v);
    else
        rdn_buf_puts(&b, rdn_outcome_text(out));
    rdn_buf_puts(&b, ", expected ");
    if (row->undefined)
        rdn_buf_puts(&b, "undefined");
    else
        rdn_wire_print(&b, &f->ret, &row->want);
    char answer[160];
    rdn_message_clean(answer, sizeof answer, rdn_buf_str(&b), b.n);
    int rc = rdn_fail(reterr, PLUGIN, "R4224", "golden row: %.64s answers %s", f->name, answer);
    rdn_buf_fini(&b);
    reterr->line = row->line;
    snprintf(reterr->where, sizeof reterr->where, "%.95s", file);
    return rc;
}

static int fail_time(struct rdn_gen *g, const struct rdn_golden *row, const char *file, redan_error *reterr) {
    int rc = rdn_fail(reterr, PLUGIN, "R4325", "selftest: the golden rows take longer than %lld ms in all, %d times the load cap",
                      (long long)(LOAD_CAPS * g->plugin->load_ns / 1000000), LOAD_CAPS);
    reterr->line = row->line;
    snprintf(reterr->where, sizeof reterr->where, "%.95s", file);
    return rc;
}

/* The whole call failed: say why, with the author's line. */
static int fail_call(struct rdn_gen *g, struct rdn_work *w, const struct rdn_golden *row, const char *file, enum rdn_outcome out, redan_error *reterr) {
    struct rdn_note_body b;
    char error[512];
    rdn_note_take(&b, w->res, out);
    rdn_message_error(g->plugin, &b, error, sizeof error);
    int rc = rdn_fail(reterr, PLUGIN, "R4325", "selftest of %.64s: %s%s%.150s", g->plugin->fns[row->fn].name, rdn_outcome_text(out), *error ? ", " : "", error);
    reterr->line = row->line;
    snprintf(reterr->where, sizeof reterr->where, "%.95s", file);
    return rc;
}

static enum rdn_outcome one_call(struct rdn_trial *t, struct rdn_gen *g, struct rdn_work *w, const struct rdn_golden *rows, uint32_t n) {
    struct rdn_wlane *l = t->lane;
    const struct rdn_wfunc *f = &g->plugin->fns[rows->fn];
    for (uint32_t i = 0; i < n; i++)
        memcpy(&t->args[(size_t)i * f->ncols], rows[i].args, sizeof *t->args * f->ncols);
    l->fn = f;
    if (!rdn_values_put(f, w->req, t->args, n))
        return RDN_OUT_REFUSED;
    l->deadline_ns = rdn_mono_ns() + g->plugin->load_ns;
    l->deadline_ns = l->deadline_ns < t->until_ns ? l->deadline_ns : t->until_ns;
    atomic_store(&w->req->waiting, 1u);
    rdn_call_send(l, w, n, 0);
    uint32_t want = atomic_load(&w->posted), seq;
    while ((seq = atomic_load_explicit(&w->res->seq, memory_order_acquire)) != want) {
        if (rdn_mono_ns() >= l->deadline_ns)
            return RDN_OUT_TIMEOUT;
        if (atomic_load(&w->state) == RDN_W_DEAD)
            return RDN_OUT_DIED;
        rdn_futex_wait(&w->res->seq, seq, rdn_mono_ns() + 10000000);
    }
    return rdn_values_take(l, w->res, t->ret, t->outs);
}

static int run_worker(struct rdn_gen *g, struct rdn_work *w, const char *file, redan_error *reterr) {
    const struct rdn_golden *rows = g->golden;
    struct rdn_trial *t = g->trial;
    uint32_t n = g->ngolden;
    for (uint32_t at = 0, k; at < n; at += k) {
        const struct rdn_wfunc *f = &g->plugin->fns[rows[at].fn];
        for (k = 1; at + k < n && k < f->max_rows && k < g->max_rows && rows[at + k].fn == rows[at].fn; k++)
            ;
        enum rdn_outcome out = one_call(t, g, w, &rows[at], k);
        if (out == RDN_OUT_TIMEOUT && rdn_mono_ns() >= t->until_ns)
            return fail_time(g, &rows[at], file, reterr);
        if (out == RDN_OUT_TIMEOUT || out == RDN_OUT_DIED || out == RDN_OUT_MEMORY || out == RDN_OUT_BAD_REPLY || out == RDN_OUT_REFUSED)
            return fail_call(g, w, &rows[at], file, out, reterr);
        for (uint32_t i = 0; i < k; i++)
            if (!rdn_golden_fits(&f->ret, &rows[at + i], (enum rdn_outcome)t->outs[i], &t->ret[i]))
                return t->outs[i] == RDN_OUT_EXCEPTION || t->outs[i] == RDN_OUT_BAD_VALUE
                           ? fail_call(g, w, &rows[at + i], file, (enum rdn_outcome)t->outs[i], reterr)
                           : fail_row(g, &rows[at + i], file, (enum rdn_outcome)t->outs[i], &t->ret[i], reterr);
    }
    return 0;
}

static struct rdn_trial *make_trial(struct rdn_arena *a, struct rdn_plugin *p) {
    struct rdn_trial *t = rdn_new(a, struct rdn_trial);
    size_t copy = 0, rows = 0, cells = 0;
    for (const struct rdn_wfunc *f = p->fns; f < p->fns + p->nfns; f++) {
        size_t bytes = (size_t)(f->ret_width + 1) * f->max_rows;
        copy = bytes > copy ? bytes : copy;
        rows = f->max_rows > rows ? f->max_rows : rows;
        cells = (size_t)f->max_rows * (f->ncols + 1) > cells ? (size_t)f->max_rows * (f->ncols + 1) : cells;
    }
    if (!t)
        return NULL;
    t->lane = rdn_new(a, struct rdn_wlane);
    t->ret = rdn_new_n(a, struct rdn_wire_value, rows);
    t->args = rdn_new_n(a, struct rdn_wire_value, cells);
    t->outs = rdn_arena_alloc(a, rows);
    if (!t->lane || !t->ret || !t->args || !t->outs)
        return NULL;
    t->lane->plugin = p;
    t->lane->seat = t->lane;
    t->lane->copy = rdn_arena_alloc(a, copy);
    t->lane->text = rdn_arena_alloc(a, sizeof *t->lane->text * rows);
    return t->lane->copy && t->lane->text ? t : NULL;
}

int rdn_selftest_run(struct rdn_gen *g, const char *file, redan_error *reterr) {
    struct rdn_plugins *ps = g->plugin->ps;
    g->trial = make_trial(&g->arena, g->plugin);
    int rc = g->trial ? 0 : rdn_fail(reterr, NOMEM, "", "golden rows");
    if (rc == 0)
        g->trial->until_ns = rdn_mono_ns() + LOAD_CAPS * g->plugin->load_ns;
    for (uint32_t lane = 0; rc == 0 && lane < g->plugin->nseats; lane++) {
        pthread_mutex_lock(&ps->mu);                    /* the list of workers is the supervisor's */
        struct rdn_work *w = ps->works;
        while (w && (w->gen != g || w->lane != &g->plugin->lanes[lane] || w->phase != RDN_WP_SERVING))
            w = w->next;
        pthread_mutex_unlock(&ps->mu);
        rc = w ? run_worker(g, w, file, reterr) : rdn_fail(reterr, PLUGIN, "R4325", "a worker ended before its selftest");
    }
    return rc;
}

int64_t rdn_trial_post(struct rdn_gen *g, struct rdn_work *w, uint32_t row, int64_t now) {
    const struct rdn_golden *r = &g->golden[row];
    struct rdn_wlane *l = g->trial->lane;
    l->fn = &g->plugin->fns[r->fn];
    l->deadline_ns = now + rdn_call_allowed(g->plugin, l->fn);
    rdn_values_put(l->fn, w->req, r->args, 1);          /* they fitted when the text went live */
    rdn_call_send(l, w, 1, 0);
    return l->deadline_ns;
}

bool rdn_trial_good(struct rdn_gen *g, struct rdn_work *w, uint32_t row) {
    const struct rdn_golden *r = &g->golden[row];
    struct rdn_trial *t = g->trial;
    t->lane->fn = &g->plugin->fns[r->fn];
    t->lane->nrows = 1;
    rdn_values_take(t->lane, w->res, t->ret, t->outs);
    return rdn_golden_fits(&t->lane->fn->ret, r, (enum rdn_outcome)t->outs[0], &t->ret[0]);
}
