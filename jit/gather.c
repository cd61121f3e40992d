/* SPDX-License-Identifier: Apache-2.0
 * gather.c: what C does for native code: operands, keys, gathers into slots, and the inputs of windows (run_impl.h). [hot] */
#include <math.h>
#include <string.h>
#include "base/tz.h"
#include "jit/run_impl.h"

#define TIME_FAR 9000000000ll                            /* seconds from 1970 that are int64 in ns */

/* ---- slots ---- */
bool rdn_slot_store(uint8_t *block, uint32_t slot, unsigned type, const struct rdn_cell *c) {
    int64_t *s = rdn_slot_at(block, slot);
    if (type != RDN_TY_D64)
        *s = c->i;                                       /* a float's bits, too */
    else if (rdn_fits_i64(c->d))
        *s = (int64_t)c->d;
    else
        return false;
    return true;
}

/* ---- operands ---- */
bool rdn_load_field(const struct rdn_frame *f, uint32_t field, struct rdn_cell *c) {
    const struct rdn_event *ev = &f->head.ir->events[f->head.event];
    const struct rdn_field *fd = &ev->fields[field];
    const uint8_t *p = f->head.row + fd->offset;
    if (fd->optional || fd->size > 8 || fd->type->kind == RDN_K_STR || fd->type->kind == RDN_K_ARR) {
        rdn_row_field(ev, fd, f->head.row, c);
        return !c->cause;
    }
    int64_t v;
    int32_t d;
    uint32_t s;
    if (fd->size == 8) {
        memcpy(&v, p, 8);
    } else if (fd->size == 1) {
        v = *p;
    } else if (fd->type->kind == RDN_K_DATE) {
        memcpy(&d, p, 4);
        v = d;
    } else {
        memcpy(&s, p, 4);
        v = s;
    }
    if (fd->type->kind == RDN_K_DEC)
        c->d = v;
    else
        c->i = v;                                        /* a float's bits, too */
    c->cause = RDN_DEFINED;
    return true;
}
/* Does an item have a value (RDN_SLOT_*)? */
static inline uint8_t item_state(const struct rdn_run *r, uint32_t bit) {
    if (!(r->taint[bit / 64] >> bit % 64 & 1))
        return RDN_SLOT_VALUE;
    return r->at->sure[bit / 64] >> bit % 64 & 1 ? RDN_SLOT_UNDEF : RDN_SLOT_ASK;
}
static inline uint8_t item_value(struct rdn_frame *f, uint32_t item, int64_t *ret) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    rdn_need_inputs(f);
    *ret = *rdn_slot_at(r->block, pl->nodes.v[pl->items.v[item]].slot);
    return item_state(r, pl->nrules + item);
}
static inline uint8_t slot_value(struct rdn_frame *f, uint32_t slot, int64_t *ret) {
    struct rdn_run *r = f->x;
    rdn_need_inputs(f);
    *ret = *rdn_slot_at(r->block, slot);
    return r->at->states[slot];
}

/* The value of a leaf, item or slot: RDN_SLOT_*. */
static __attribute__((noinline)) uint8_t operand_slow(struct rdn_frame *f, rdn_pid p, struct rdn_cell *c) {
    const struct rdn_pnode *n = &((struct rdn_run *)f->x)->ev->plan->nodes.v[p];
    uint8_t state = RDN_SLOT_VALUE;
    int64_t v;
    c->cause = RDN_DEFINED;
    switch (n->op) {
    case RDN_OP_FIELD: return rdn_load_field(f, n->aux, c) ? RDN_SLOT_VALUE : RDN_SLOT_UNDEF;
    case RDN_OP_PARAM: *c = f->head.params[n->aux]; return c->cause ? RDN_SLOT_UNDEF : RDN_SLOT_VALUE;
    case RDN_OP_NOW: v = f->head.now; break;
    case RDN_OP_TS: v = f->head.ts; break;
    case RDN_OP_CONST: v = n->lo; break;
    default: state = n->flags & RDN_P_SLOT ? slot_value(f, n->slot, &v) : item_value(f, n->gather, &v);
    }
    if (n->type == RDN_TY_D64)
        c->d = v;
    else
        c->i = v;
    return state;
}
static inline int64_t key_word(const uint8_t *row, const struct rdn_keyword *w) {
    int64_t v = 0;
    if (w->load == RDN_LOAD_TAIL)
        memcpy(&v, row + w->at, w->bytes);
    else if (w->load != RDN_LOAD_ZERO)
        v = rdn_row_word(row + w->at, w->load);
    return v;
}
/* The same as a 64-bit word: integers, decimals that fit, bits of floats. SLOW ones are not asked for. */
static inline uint8_t operand_word(struct rdn_frame *f, const struct rdn_operand *o, int64_t *ret) {
    if (o->load == RDN_LOAD_ITEM)
        return item_value(f, o->at, ret);
    if (o->load == RDN_LOAD_GATHER)
        return slot_value(f, o->at, ret);
    *ret = rdn_row_word(f->head.row + o->at, o->load);
    return RDN_SLOT_VALUE;
}
static inline uint8_t operand(struct rdn_frame *f, const struct rdn_operand *o, bool wide, struct rdn_cell *c) {
    int64_t v;
    if (o->load == RDN_LOAD_SLOW)
        return operand_slow(f, o->pid, c);
    uint8_t state = operand_word(f, o, &v);
    c->i = v;
    if (wide)
        c->d = v;
    c->cause = RDN_DEFINED;
    return state;
}

static void items_by_table(struct rdn_frame *f, uint32_t level) {
    struct rdn_run *r = f->x;
    const struct rdn_plan *pl = r->ev->plan;
    const uint8_t *states = *rdn_run_flags(r) & RDN_BLOCK_TAINT ? r->at->states : NULL;
    rdn_preds_run(r->ev->item_preds, &r->at->items, r->block, f->head.row, states, NULL);
    for (uint32_t i = 0; i < pl->items.n; i++) {
        uint32_t bit = pl->nrules + i;
        if (pl->nodes.v[pl->items.v[i]].level != level + 1 ||
            rdn_preds_item(r->ev->item_preds, &r->at->items, i, rdn_slot_at(r->block, pl->nodes.v[pl->items.v[i]].slot)))
            continue;
        r->taint[bit / 64] |= 1ull << bit % 64;
        *rdn_run_flags(r) |= RDN_BLOCK_TAINT;
    }
}

/* ---- keys ---- */
/* Some part is an item, may be undefined or is longer than its field: the key is made when first asked for. An item without a
 * value may have one for interp. */
static __attribute__((noinline)) uint8_t make_any_key(struct rdn_frame *f, const struct rdn_plan *pl, uint32_t k, struct rdn_key *key) {
    const struct rdn_keypart *part = &pl->parts.v[pl->keys.v[k].at], *end = part + pl->keys.v[k].n;
    rdn_key_begin(key);
    for (; part < end; part++) {
        struct rdn_cell c;
        uint8_t state;
        int64_t v;
        if (part->from.load == RDN_LOAD_SLOW) {
            state = operand_slow(f, part->from.pid, &c);
            if (state == RDN_SLOT_VALUE)
                rdn_key_add(key, part->type, &c);
        } else {
            state = operand_word(f, &part->from, &v);
            key->w[key->words++] = (uint64_t)v;
        }
        if (state != RDN_SLOT_VALUE)
            return state;
    }
    rdn_key_end(key);
    return RDN_SLOT_VALUE;
}
/* All keys whose words are words of the row: a valid row holds no unknown sym and no text that is not padded. */
static __attribute__((noinline)) void make_keys(struct rdn_run *r, const struct rdn_steps *s, const uint8_t *row) {
    for (const struct rdn_quickkey *k = s->quick, *end = k + s->nquick; k < end; k++) {
        const struct rdn_keyword *l = s->words + k->word;
        struct rdn_key *key = rdn_key_at(r->block, k->at);
        for (uint32_t i = 0; i < k->words; i++)
            key->w[i] = (uint64_t)key_word(row, &l[i]);
        key->hash = rdn_key_hash(key->w, k->words);
    }
}
static void run_turn(struct rdn_frame *f, const struct rdn_turn *t);
void rdn_run_inputs(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_unit_event *ev = r->ev;
    r->inputs_done = true;
    for (uint32_t level = 0; level < ev->plan->levels; level++) {
        if (level)
            run_turn(f, &ev->steps.turns[level]);
        if (ev->operands[level])
            rdn_run_native(f, ev->operands[level]);
        else if (ev->item_preds)
            items_by_table(f, level);
        if (!level && !ev->native_keys)
            make_keys(r, &ev->steps, f->head.row);
    }
}
static inline bool is_present(const struct rdn_frame *f, uint64_t bits) {
    uint64_t present;
    if (!bits)
        return true;
    memcpy(&present, f->head.row + 8, sizeof present);
    return (present & bits) == bits;
}
static inline struct rdn_key_memo *memo_of(struct rdn_key *key) { return (struct rdn_key_memo *)(void *)((uint8_t *)key - RDN_KEY_MEMO); }
static inline const struct rdn_key *key_of(struct rdn_frame *f, uint32_t k) {
    struct rdn_run *r = f->x;
    const struct rdn_keyform *form = &r->ev->steps.keys[k];
    struct rdn_key *key = rdn_key_at(r->block, form->at);
    if (form->quick) {
        rdn_need_inputs(f);
        return is_present(f, form->present) ? key : NULL;
    }
    struct rdn_key_memo *memo = memo_of(key);
    if (memo->gen != r->gen) {
        memo->gen = r->gen;
        memo->state = make_any_key(f, r->ev->plan, k, key);
    }
    return memo->state == RDN_SLOT_VALUE ? key : NULL;
}
/* Why there is no value at this key: the key has none, or nothing is there. */
static uint8_t nothing_at(const struct rdn_run *r, uint32_t k) {
    const struct rdn_keyform *form = &r->ev->steps.keys[k];
    return !form->quick && memo_of(rdn_key_at(r->block, form->at))->state == RDN_SLOT_ASK ? RDN_SLOT_ASK : RDN_SLOT_UNDEF;
}

/* ---- gathers ---- */
static uint8_t state_of(const struct rdn_cell *c) { return c->cause ? RDN_SLOT_UNDEF : RDN_SLOT_VALUE; }
static uint8_t read_window(struct rdn_frame *f, const struct rdn_gather *g, struct rdn_cell *c) {
    const struct rdn_key *k = key_of(f, g->key);
    if (!k)
        return nothing_at(f->x, g->key);
    f->helpers.wread(f->lane, g->index, k, g->kind == RDN_G_WPREV, c);
    return state_of(c);
}
/* Columns of one row stand together in most conditions: the last row found is kept. */
struct last_row { uint32_t table, key; const struct rdn_cell *vals; };
static inline const struct rdn_cell *row_at(struct rdn_frame *f, uint32_t table, uint32_t key, struct last_row *last) {
    if (last->table != table || last->key != key) {
        const struct rdn_key *k = key_of(f, key);
        last->table = table;
        last->key = key;
        last->vals = k ? f->helpers.tread(f->lane, table, k) : NULL;
    }
    return last->vals;
}
static uint8_t read_row(struct rdn_frame *f, const struct rdn_gather *g, struct last_row *last, struct rdn_cell *c) {
    const struct rdn_cell *row = row_at(f, g->index, g->key, last);
    if (!row)
        return nothing_at(f->x, g->key);
    *c = row[g->column];
    return state_of(c);
}
/* The value that a list or calendar is asked about. */
static uint8_t asked_value(struct rdn_frame *f, rdn_pid p, struct rdn_cell *x) {
    const struct rdn_pnode *n = &((struct rdn_run *)f->x)->ev->plan->nodes.v[p];
    uint8_t state = operand_slow(f, p, x);
    if (state != RDN_SLOT_VALUE)
        return state;
    return n->type == RDN_TY_F64 && x->f != x->f ? RDN_SLOT_UNDEF : RDN_SLOT_VALUE;
}
static uint8_t apply_op(struct rdn_frame *f, const struct rdn_gather *g, struct rdn_cell *c) {
    struct rdn_cell cells[RDN_APPLY_MAX];
    const struct rdn_cell *args[RDN_APPLY_MAX];
    uint8_t worst = RDN_SLOT_VALUE;
    for (uint32_t i = 0; i < g->nargs && worst != RDN_SLOT_UNDEF; i++) {
        uint8_t state = operand_slow(f, g->args[i], &cells[i]);
        worst = state == RDN_SLOT_VALUE ? worst : state;
        args[i] = &cells[i];
    }
    if (worst != RDN_SLOT_VALUE)
        return worst;
    c->cause = RDN_DEFINED;
    rdn_op_apply(f->head.ir, g->src, args, g->nargs, NULL, c);
    return state_of(c);
}
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
/* From when to when the local time shows the same hour, minute or day: until the clock is set at the latest. */
static void keep_time(const struct rdn_frame *f, const struct rdn_gather *g, int64_t ns, struct rdn_kept_time *ret) {
    const struct rdn_node *n = &f->head.ir->nodes.v[g->src];
    int64_t unit = n->op == RDN_OP_HOUR ? 3600 : n->op == RDN_OP_MINUTE ? 60 : 86400, s = floor_div(ns, 1000000000);
    struct rdn_tz_span span;
    struct rdn_cell x = {.i = ns}, c = {.cause = RDN_DEFINED};
    const struct rdn_cell *arg = &x;
    rdn_op_apply(f->head.ir, g->src, &arg, 1, NULL, &c);
    rdn_tz_span(f->head.ir->zones[n->aux], s, &span);
    int64_t from = floor_div(s + span.offset, unit) * unit - span.offset, until = from + unit;
    from = from < span.from ? span.from : from;
    until = until > span.until ? span.until : until;
    bool far = from < -TIME_FAR || until > TIME_FAR;
    *ret = (struct rdn_kept_time){far ? ns : from * 1000000000, far ? ns : until * 1000000000, c.i};
}
static inline struct rdn_kept_time *kept_time(const struct rdn_run *r, const struct rdn_gather *g) { return &r->at->times[g - r->ev->plan->gathers.v]; }
static uint8_t time_field(struct rdn_frame *f, const struct rdn_gather *g, struct rdn_cell *c) {
    const struct rdn_run *r = f->x;
    struct rdn_kept_time *t = kept_time(r, g);
    struct rdn_cell x;
    uint8_t state = operand_slow(f, g->operand, &x);
    if (state != RDN_SLOT_VALUE)
        return state;
    if (x.i < t->from || x.i >= t->until)
        keep_time(f, g, x.i, t);
    c->i = t->value;
    c->cause = RDN_DEFINED;
    return RDN_SLOT_VALUE;
}
static uint8_t gather_value(struct rdn_frame *f, const struct rdn_gather *g, struct last_row *last, struct rdn_cell *c) {
    struct rdn_cell x;
    uint8_t state;
    switch ((enum rdn_gather_kind)g->kind) {
    case RDN_G_FIELD: return rdn_load_field(f, g->index, c) ? RDN_SLOT_VALUE : RDN_SLOT_UNDEF;
    case RDN_G_WREAD: case RDN_G_WPREV: return read_window(f, g, c);
    case RDN_G_ROW: return read_row(f, g, last, c);
    case RDN_G_INLIST: case RDN_G_INCAL:
        state = asked_value(f, g->operand, &x);
        if (state == RDN_SLOT_VALUE)
            c->i = g->kind == RDN_G_INLIST ? f->helpers.inlist(f->lane, g->index, &x) : f->helpers.incal(f->lane, g->index, x.i);
        c->cause = RDN_DEFINED;
        return state;
    case RDN_G_APPLY: return apply_op(f, g, c);
    case RDN_G_TIME: return time_field(f, g, c);
    case RDN_G_INTERP:
        last->table = UINT32_MAX;                        /* it may read rows itself; a lane promises the last one only */
        rdn_interp_value(f, g->src, c);
        return state_of(c);
    }
    return RDN_SLOT_ASK;
}
/* `??` and defined() count NaN as missing. Whether what interp must be asked for has a value, they do not know. */
static uint8_t answer_else(struct rdn_frame *f, const struct rdn_gather *g, uint8_t state, struct rdn_cell *c) {
    bool good = state == RDN_SLOT_VALUE && !(g->nan_is_none && c->f != c->f);
    if (state == RDN_SLOT_ASK)
        return state;
    if (g->is_defined) {
        c->i = good;
        return RDN_SLOT_VALUE;
    }
    return good ? RDN_SLOT_VALUE : operand_slow(f, g->els, c);
}
static void no_value(struct rdn_run *r, const struct rdn_gather *g, uint8_t state) {
    *rdn_slot_at(r->block, g->slot) = 0;
    r->at->states[g->slot] = state;
    rdn_taint_set(r, g->dep);
    if (state == RDN_SLOT_UNDEF)
        rdn_sure_set(r, g->dep);
}
static __attribute__((noinline)) void any_fill(struct rdn_frame *f, const struct rdn_gather *g, struct last_row *last) {
    struct rdn_run *r = f->x;
    struct rdn_cell c;
    uint8_t state = gather_value(f, g, last, &c);
    if (g->has_else || g->is_defined)
        state = answer_else(f, g, state, &c);
    if (state == RDN_SLOT_VALUE && !rdn_slot_store(r->block, g->slot, g->type, &c))
        state = RDN_SLOT_ASK;
    if (state != RDN_SLOT_VALUE)
        no_value(r, g, state);
}
/* Something is missing without which the value is, too. */
static inline bool is_missing(const struct rdn_frame *f, const struct rdn_fill *s) {
    const struct rdn_run *r = f->x;
    bool missing = !is_present(f, s->present);
    for (uint32_t i = 0; i < s->nneeds; i++)
        missing |= r->at->states[s->needs[i]] == RDN_SLOT_UNDEF;
    return missing;
}
static inline void fill(struct rdn_frame *f, const struct rdn_fill *s, struct last_row *last) {
    const struct rdn_run *r = f->x;
    const uint8_t *at = f->head.row + s->at;
    const struct rdn_kept_time *t;
    struct rdn_cell x;
    int64_t v;
    switch (s->kind) {
    case RDN_FILL_WORD_IN:
        x.d = rdn_row_word(at, s->load);                 /* and its low word for what is no decimal */
        x.cause = RDN_DEFINED;
        v = f->helpers.inlist(f->lane, s->index, &x);
        break;
    case RDN_FILL_TEXT_IN:
        x.t.p = (const char *)at;
        x.t.len = (uint32_t)strnlen(x.t.p, s->n);
        x.cause = RDN_DEFINED;
        v = f->helpers.inlist(f->lane, s->index, &x);
        break;
    case RDN_FILL_INCAL:
        v = f->helpers.incal(f->lane, s->index, f->head.now);
        break;
    case RDN_FILL_TIME:
        t = kept_time(r, s->of);
        v = t->value;
        if (f->head.now >= t->from && f->head.now < t->until)
            break;
        any_fill(f, s->of, last);
        return;
    default:
        if (is_missing(f, s))
            no_value(f->x, s->of, RDN_SLOT_UNDEF);
        else
            any_fill(f, s->of, last);
        return;
    }
    *(int64_t *)(void *)(r->block + s->slot) = v;
}
/* Without the helper for many: one by one. */
static __attribute__((noinline)) uint64_t ask_each(struct rdn_frame *f, const struct rdn_ask *a, uint32_t n) {
    struct rdn_run *r = f->x;
    uint64_t none = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct rdn_gather *g = r->ev->steps.ask_of[a + i - r->ev->steps.asks];
        struct rdn_cell c;
        f->helpers.wread(f->lane, a[i].window, rdn_key_at(r->block, a[i].key), g->kind == RDN_G_WPREV, &c);
        if (c.cause && a[i].has_els)
            c = (struct rdn_cell){.d = a[i].els};
        if (!c.cause && rdn_slot_store(r->block, g->slot, g->type, &c))
            continue;
        *rdn_slot_at(r->block, g->slot) = !c.cause;
        none |= 1ull << i;
    }
    return none;
}
static inline void run_asks(struct rdn_frame *f, const struct rdn_steps *s, const struct rdn_turn *t) {
    struct rdn_run *r = f->x;
    for (uint32_t i = t->ask, end = t->ask + t->nasks; i < end; i += 64) {
        uint32_t n = end - i < 64 ? end - i : 64;
        uint64_t none = f->helpers.wasks ? f->helpers.wasks(f->head.wins, s->asks + i, s->asks + i + n, r->block, f->head.now)
                                         : ask_each(f, s->asks + i, n);
        for (; none; none &= none - 1) {
            const struct rdn_gather *g = s->ask_of[i + (unsigned)__builtin_ctzll(none)];
            no_value(r, g, *rdn_slot_at(r->block, g->slot) ? RDN_SLOT_ASK : RDN_SLOT_UNDEF);
        }
    }
}
/* A row gave nothing that the slot can hold. */
static __attribute__((noinline)) void no_column(struct rdn_run *r, const struct rdn_rowcolumn *c, uint32_t key, const struct rdn_cell *v) {
    uint8_t state = !v ? nothing_at(r, key) : v->cause ? RDN_SLOT_UNDEF : RDN_SLOT_ASK;
    if (state == RDN_SLOT_UNDEF && c->has_els)
        *(int64_t *)(void *)(r->block + c->slot) = c->els;
    else
        no_value(r, c->of, state);
}
static inline void run_rows(struct rdn_frame *f, const struct rdn_steps *s, const struct rdn_turn *t) {
    struct rdn_run *r = f->x;
    for (const struct rdn_rowread *row = s->rows + t->row, *end = row + t->nrows; row < end; row++) {
        const struct rdn_key *k = key_of(f, row->key);
        const struct rdn_cell *vals = k ? f->helpers.tread(f->lane, row->table, k) : NULL;
        for (const struct rdn_rowcolumn *c = s->columns + row->column, *last = c + row->columns; c < last; c++) {
            const struct rdn_cell *v = vals ? vals + c->column : NULL;
            if (!v || v->cause || (c->wide && !rdn_fits_i64(v->d)))
                no_column(r, c, row->key, v);
            else
                *(int64_t *)(void *)(r->block + c->slot) = v->i;     /* a float's bits and the word of a decimal, too */
        }
    }
}
static void run_turn(struct rdn_frame *f, const struct rdn_turn *t) {
    const struct rdn_steps *s = &((struct rdn_run *)f->x)->ev->steps;
    struct last_row last = {UINT32_MAX, UINT32_MAX, NULL};
    run_asks(f, s, t);
    run_rows(f, s, t);
    for (const struct rdn_fill *p = s->fills + t->fill, *end = p + t->nfills; p < end; p++)
        fill(f, p, &last);
}
void rdn_run_fills(struct rdn_frame *f) {
    const struct rdn_run *r = f->x;
    const struct rdn_steps *s = &r->ev->steps;
    struct last_row last = {UINT32_MAX, UINT32_MAX, NULL};
    rdn_need_inputs(f);
    for (uint32_t i = s->prevs.ask; !r->prevs_done && i < s->prevs.ask + s->prevs.nasks; i++)
        any_fill(f, s->ask_of[i], &last);
    run_turn(f, &s->turns[0]);
}

void rdn_run_late(struct rdn_frame *f, const uint32_t *gathers, uint32_t n) {
    struct rdn_run *r = f->x;
    struct last_row last = {UINT32_MAX, UINT32_MAX, NULL};
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *done = &r->at->late_gen[gathers[i]];
        if (*done != r->gen)
            any_fill(f, &r->ev->plan->gathers.v[gathers[i]], &last);
        *done = r->gen;
    }
}

/* ---- window inputs ---- */
static enum rdn_enter not_there(uint8_t state, bool *ask) {
    *ask |= state == RDN_SLOT_ASK;
    return RDN_ENTER_SKIP;
}
/* As rdn_interp_window; *ask: what cannot be said here goes to interp. */
static enum rdn_enter fast_window(struct rdn_frame *f, const struct rdn_winplan *wp, struct rdn_winput *ret, bool *ask) {
    struct rdn_cell c;
    uint8_t state = wp->where.pid ? operand(f, &wp->where, false, &c) : RDN_SLOT_VALUE;
    if (state != RDN_SLOT_VALUE)
        return not_there(state, ask);
    if (wp->where.pid && !c.i)
        return RDN_ENTER_NOT;
    ret->key = key_of(f, wp->key);
    if (!ret->key)
        return not_there(nothing_at(f->x, wp->key), ask);
    ret->val = (struct rdn_cell){.i = 1};
    state = wp->value.pid ? operand(f, &wp->value, !wp->is_float, &ret->val) : RDN_SLOT_VALUE;
    if (state != RDN_SLOT_VALUE)
        return not_there(state, ask);
    if (wp->is_float && !isfinite(ret->val.f))
        return RDN_ENTER_SKIP;
    state = wp->span.pid ? operand(f, &wp->span, false, &c) : RDN_SLOT_VALUE;
    if (state != RDN_SLOT_VALUE)
        return not_there(RDN_SLOT_ASK, ask);
    ret->span = wp->span.pid ? c.i : 0;
    return RDN_ENTER;
}

/* ---- quick windows ---- */
/* The low word of a value, or its text: RDN_SLOT_*. */
static inline __attribute__((always_inline)) uint8_t source(const struct rdn_run *r, const uint8_t *row, uint64_t present, const struct rdn_source *s, struct rdn_cell *ret) {
    uint32_t u;
    switch (s->load) {
    case RDN_LOAD_NONE:
        ret->i = s->imm;
        return RDN_SLOT_VALUE;
    case RDN_LOAD_64: memcpy(&ret->i, row + s->at, 8); break;
    case RDN_LOAD_U32:
        memcpy(&u, row + s->at, 4);
        ret->i = u;
        break;
    case RDN_LOAD_U8: ret->i = row[s->at]; break;
    case RDN_LOAD_ITEM:
        memcpy(&ret->i, r->block + s->at, sizeof ret->i);
        return item_state(r, s->bit);
    case RDN_LOAD_GATHER:
        memcpy(&ret->i, r->block + s->at, sizeof ret->i);
        return r->at->states[s->bit];
    case RDN_LOAD_SLOT:
        memcpy(&ret->i, r->block + s->at, sizeof ret->i);
        return RDN_SLOT_VALUE;
    case RDN_LOAD_TEXT:
        ret->t.p = (const char *)row + s->at;
        ret->t.len = (uint32_t)strnlen(ret->t.p, s->bit);
        break;
    default: ret->i = rdn_row_word(row + s->at, s->load);
    }
    return (present & s->present) == s->present ? RDN_SLOT_VALUE : RDN_SLOT_UNDEF;
}
/* What prev of the window will say is kept before it changes: the slot that holds it, or what the lane reads. */
static inline void keep_prev(struct rdn_frame *f, const struct rdn_put *p, const struct rdn_key *key) {
    const struct rdn_run *r = f->x;
    if (r->prevs_done && p->slot != RDN_NO_DEP && !r->at->states[p->slot])
        f->prevs[p->window] = (struct rdn_prev_word){f->head.seq, *rdn_slot_at(r->block, p->slot)};
    else
        f->helpers.wkeep(f->lane, p->window, key);
}
/* The exponent of an infinity or a NaN is all ones. */
static inline bool is_finite_word(int64_t bits) { return ((uint64_t)bits >> 52 & 0x7ff) != 0x7ff; }
/* RDN_SLOT_VALUE: it enters with that value and span; UNDEF: it is skipped; ASK: interp must say; OUT: it does not enter. */
enum { PUT_OUT = 3 };
static inline __attribute__((always_inline)) uint8_t put_state(const struct rdn_run *r, const uint8_t *row, uint64_t present, const struct rdn_put *p, struct rdn_cell *c, int64_t *span) {
    struct rdn_cell x;
    uint8_t state;
    if (p->where.load != RDN_LOAD_NONE) {
        state = source(r, row, present, &p->where, &x);
        if (state != RDN_SLOT_VALUE || !x.i)
            return state != RDN_SLOT_VALUE ? state : PUT_OUT;
    } else if (!p->where.imm) {
        return PUT_OUT;
    }
    if ((present & p->present) != p->present)
        return RDN_SLOT_UNDEF;
    state = source(r, row, present, &p->value, c);
    if (state != RDN_SLOT_VALUE || (p->is_float && !is_finite_word(c->i)))
        return state != RDN_SLOT_VALUE ? state : RDN_SLOT_UNDEF;
    *span = p->span.imm;
    if (__builtin_expect(p->span.load != RDN_LOAD_NONE, 0)) {
        if (source(r, row, present, &p->span, &x) != RDN_SLOT_VALUE)
            return RDN_SLOT_ASK;
        *span = x.i;
    }
    return RDN_SLOT_VALUE;
}
/* Those up to a SLOW one, or one of which something cannot be said here, or stored, which is interp's to say. */
static const struct rdn_put *put_all(struct rdn_frame *f, const struct rdn_put *p) {
    struct rdn_run *r = f->x;
    const uint8_t *row = f->head.row;
    uint64_t present = 0;
    int64_t span;
    struct rdn_cell c;                                   /* of a number the low word is all that a window takes */
    if (r->ev->steps.optional)
        memcpy(&present, row + 8, sizeof present);
    for (; p->how != RDN_PUT_SLOW; p++) {
        struct rdn_win *w = f->head.wins[p->window];
        struct rdn_key *key = rdn_key_at(r->block, p->key);
        if (p->how == RDN_PUT_IMM) {
            c.i = p->value.imm;
            f->helpers.wput(w, key, f->head.now, &c, p->span.imm);
            continue;
        }
        uint8_t state = put_state(r, row, present, p, &c, &span);
        if (state == RDN_SLOT_VALUE) {
            if (p->prev)
                keep_prev(f, p, key);
            f->helpers.wput(w, key, f->head.now, &c, span);
        } else if (state == RDN_SLOT_UNDEF) {
            f->helpers.wskip(w);
        } else if (state == RDN_SLOT_ASK) {
            break;
        }
    }
    return p;
}
/* Before any window changes. */
static inline void read_prevs(struct rdn_frame *f) {
    struct rdn_run *r = f->x;
    const struct rdn_steps *s = &r->ev->steps;
    if (s->prevs.nasks && !r->prevs_done)
        run_asks(f, s, &s->prevs);
    r->prevs_done = true;
}
uint32_t rdn_run_puts(struct rdn_frame *f, bool accepted, uint32_t from) {
    struct rdn_run *r = f->x;
    rdn_run_need_start(f);
    const struct rdn_put *first = r->ev->steps.puts[accepted], *p = first + from;
    if (!f->helpers.wput || !rdn_native_alive(r))
        return from;
    if (!accepted && !from) {
        rdn_need_inputs(f);
        read_prevs(f);
    }
    if (p->how == RDN_PUT_SLOW)
        return from;
    rdn_need_inputs(f);
    return (uint32_t)(put_all(f, p) - first);
}

enum rdn_enter rdn_run_window(struct rdn_frame *f, uint32_t window, struct rdn_winput *ret) {
    struct rdn_run *r = f->x;
    rdn_run_need_start(f);
    const struct rdn_winplan *wp = r->ev->window[window];
    bool ask = !wp || wp->how != RDN_WIN_FAST || !rdn_native_alive(r);
    enum rdn_enter how = ask ? RDN_ENTER_SKIP : fast_window(f, wp, ret, &ask);
    if (ask) {
        r->counts.windows_interp++;
        how = rdn_interp_window(f, window, ret);
    }
    return how;
}
