/* SPDX-License-Identifier: Apache-2.0
 * interp_open.c: interp's code for a whole rule set, and its working memory in a frame.
 *
 * Every part that can be asked for is a root: conditions, points, message and emit parts, window parts, what tests say. Kernel
 * bodies are not: ir/kernel.h runs those. All memory a frame ever needs is sized here. */
#include "jit/interp_code.h"
#include <stddef.h>

/* ---- roots ---- */
static int lay_action(struct rdn_layout *l, const struct rdn_action *a) {
    int rc = a->points ? rdn_layout_root(l, a->points, true) : 0;
    for (uint32_t i = 0; !rc && i < a->nmsg; i++)
        rc = a->msg[i].node ? rdn_layout_root(l, a->msg[i].node, true) : 0;
    for (uint32_t i = 0; !rc && i < a->nfields; i++)
        rc = rdn_layout_root(l, a->fields[i].node, true);
    return rc;
}

static int lay_rule(struct rdn_layout *l, const struct rdn_rule *r) {
    int rc = rdn_layout_root(l, r->when, false);
    for (uint32_t i = 0; !rc && i < r->nacts; i++)
        rc = lay_action(l, &r->acts[i]);
    return !rc && r->undef ? lay_action(l, r->undef) : rc;
}

static int lay_window(struct rdn_layout *l, const struct rdn_window *w) {
    int rc = w->where ? rdn_layout_root(l, w->where, false) : 0;
    if (!rc && w->value)
        rc = rdn_layout_root(l, w->value, true);
    if (!rc && w->span)
        rc = rdn_layout_root(l, w->span, false);
    return rc;
}

static int lay_step(struct rdn_layout *l, const struct rdn_step *s) {
    int rc = s->expect ? rdn_layout_root(l, s->expect, false) : 0;
    for (uint32_t i = 0; !rc && i < s->nfields; i++)
        rc = s->fields[i].node ? rdn_layout_root(l, s->fields[i].node, true) : 0;
    for (uint32_t i = 0; !rc && i < s->nemits; i++)
        for (uint32_t k = 0; !rc && k < s->emits[i].nfields; k++)
            rc = s->emits[i].fields[k].node ? rdn_layout_root(l, s->emits[i].fields[k].node, true) : 0;
    return rc;
}

static int lay_all(struct rdn_layout *l, const struct rdn_ir *ir) {
    int rc = 0;
    for (uint32_t i = 0; !rc && i < ir->nwindows; i++)
        for (uint32_t k = 0; !rc && k < ir->windows[i].nkeys; k++)
            rc = rdn_layout_share(l, ir->windows[i].keys[k]);
    for (uint32_t i = 0; !rc && i < ir->nwindows; i++)
        rc = lay_window(l, &ir->windows[i]);
    for (uint32_t i = 0; !rc && i < ir->nrules; i++)
        rc = lay_rule(l, &ir->rules[i]);
    for (uint32_t i = 0; !rc && i < ir->ntests; i++)
        for (uint32_t k = 0; !rc && k < ir->tests[i].n; k++)
            rc = lay_step(l, &ir->tests[i].steps[k]);
    return rc ? rc : rdn_layout_end(l);
}

/* ---- the program's part ---- */
static uint32_t key_words(const struct rdn_window *w) {
    uint32_t words = 0;
    for (uint32_t i = 0; i < w->nkeys; i++)
        words += (uint32_t)(rdn_type_size(w->ktypes[i]) + 7) / 8;
    return words;
}

static int interp_fill(struct rdn_interp *in) {
    const struct rdn_ir *ir = in->ir;
    in->ranges = rdn_zalloc(in->mem, ir->nodes.n * sizeof *in->ranges);
    in->shared_of = rdn_zalloc(in->mem, ir->nodes.n * sizeof *in->shared_of);
    in->consts = rdn_zalloc(in->mem, (ir->consts.n + 1) * sizeof *in->consts);
    in->key_at = rdn_zalloc(in->mem, (ir->nwindows + 1) * sizeof *in->key_at);
    if (!in->ranges || !in->shared_of || !in->consts || !in->key_at)
        return REDAN_E_NOMEM;
    for (uint32_t i = 0; i < ir->consts.n; i++)
        in->consts[i] = ir->consts.v[i].val;
    for (uint32_t i = 0; i < ir->nwindows; i++) {
        in->key_at[i] = (uint32_t)in->key_bytes;
        in->key_bytes += (offsetof(struct rdn_key, w) + 8 * (key_words(&ir->windows[i]) + 1) + 15) & ~(size_t)15;
    }
    for (uint32_t i = 0; i < ir->nevents; i++)
        if (ir->events[i].nfields > in->fields)
            in->fields = ir->events[i].nfields;
    in->fields += CTX_FIELDS;
    in->max_args = 16;
    struct rdn_layout *l;
    int rc = rdn_layout_open(in, &l);
    if (rc)
        return rc;
    rc = lay_all(l, ir);
    rdn_layout_close(l);
    return rc;
}

int rdn_interp_open(const struct rdn_ir *ir, const struct rdn_mem *mem, struct rdn_interp **ret, redan_error *reterr) {
    struct rdn_interp *in = rdn_zalloc(mem, sizeof *in);
    if (!in)
        return rdn_fail(reterr, NOMEM, "", "interpreter");
    in->ir = ir;
    in->mem = mem;
    if (interp_fill(in)) {
        rdn_interp_close(in);
        return rdn_fail(reterr, NOMEM, "", "interpreter of %u nodes", ir->nodes.n);
    }
    *ret = in;
    return 0;
}

void rdn_interp_close(struct rdn_interp *in) {
    if (!in)
        return;
    const struct rdn_mem *mem = in->mem;
    const struct rdn_ir *ir = in->ir;
    rdn_free(mem, in->code, in->cap_code * sizeof *in->code);
    rdn_free(mem, in->refs, in->cap_refs * sizeof *in->refs);
    rdn_free(mem, in->shared, in->cap_shared * sizeof *in->shared);
    rdn_free(mem, in->ranges, ir->nodes.n * sizeof *in->ranges);
    rdn_free(mem, in->shared_of, ir->nodes.n * sizeof *in->shared_of);
    rdn_free(mem, in->consts, (ir->consts.n + 1) * sizeof *in->consts);
    rdn_free(mem, in->key_at, (ir->nwindows + 1) * sizeof *in->key_at);
    rdn_free(mem, in, sizeof *in);
}

/* ---- the frame's part ---- */
/* One block a frame: where each part begins. */
struct carve { size_t temps, shared, fields, stack, argp, args, key, keys, key_memo, tmp, keep, all; };

static size_t take_bytes(size_t *at, size_t bytes) {
    size_t was = *at;
    *at += (bytes + 63) & ~(size_t)63;
    return was;
}

static size_t capped(size_t bytes) { return bytes > RDN_ROOM_MAX ? RDN_ROOM_MAX : bytes; }

static struct carve carve_of(const struct rdn_interp *in) {
    struct carve c;
    size_t at = (sizeof(struct rdn_interp_state) + 63) & ~(size_t)63;
    c.temps = take_bytes(&at, (in->temps + 1) * sizeof(struct rdn_cell));
    c.fields = take_bytes(&at, in->fields * sizeof(struct rdn_cell));
    c.shared = take_bytes(&at, (in->nshared + 1) * sizeof(struct rdn_cell));
    c.stack = take_bytes(&at, (in->depth + 1) * sizeof(struct rdn_pushed));
    c.argp = take_bytes(&at, in->max_args * sizeof(void *));
    c.args = take_bytes(&at, in->max_args * sizeof(struct rdn_cell));
    c.key_memo = take_bytes(&at, (in->ir->nwindows + 1) * sizeof(struct rdn_key_memo));
    c.keys = take_bytes(&at, in->key_bytes);
    c.key = take_bytes(&at, sizeof(struct rdn_key));
    c.tmp = take_bytes(&at, capped(in->tmp_bytes + 256));
    c.keep = take_bytes(&at, capped(2 * in->keep_bytes + 256));
    c.all = at;
    return c;
}

int rdn_interp_frame_open(struct rdn_frame *f, redan_error *reterr) {
    const struct rdn_interp *in = f->prog->interp;
    struct carve c = carve_of(in);
    char *block = rdn_zalloc(f->mem, c.all);
    if (!block)
        return rdn_fail(reterr, NOMEM, "", "frame of %zu bytes", c.all);
    struct rdn_interp_state *st = (struct rdn_interp_state *)(void *)block;
    st->code = in;
    st->frame = f;
    st->temps = (struct rdn_cell *)(void *)(block + c.temps);
    st->shared = (struct rdn_cell *)(void *)(block + c.shared);
    st->fields = (struct rdn_cell *)(void *)(block + c.fields);
    st->stack = (struct rdn_pushed *)(void *)(block + c.stack);
    st->argp = (const struct rdn_cell **)(void *)(block + c.argp);
    st->args = (struct rdn_cell *)(void *)(block + c.args);
    st->key_memo = (struct rdn_key_memo *)(void *)(block + c.key_memo);
    st->keys = block + c.keys;
    st->key = (struct rdn_key *)(void *)(block + c.key);
    st->tmp = (struct rdn_scratch){ block + c.tmp, c.keep - c.tmp, 0 };
    st->keep = (struct rdn_scratch){ block + c.keep, c.all - c.keep, 0 };
    f->interp = st;
    return 0;
}

void rdn_interp_frame_close(struct rdn_frame *f) {
    if (!f->interp)
        return;
    rdn_free(f->mem, f->interp, carve_of(f->prog->interp).all);
    f->interp = NULL;
}
