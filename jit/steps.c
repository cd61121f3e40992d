/* SPDX-License-Identifier: Apache-2.0
 * steps.c: see steps.h. */
#include "jit/steps.h"

struct making { struct rdn_steps *s; const struct rdn_plan *pl; struct rdn_arena *arena; };

static const struct rdn_field *field_of(const struct rdn_plan *pl, rdn_pid p) {
    const struct rdn_pnode *n = &pl->nodes.v[p];
    return n->op == RDN_OP_FIELD ? &pl->ir->events[pl->event].fields[n->aux] : NULL;
}

/* ---- keys ---- */
/* How C loads a number out of the row, whether it is there or not; false: it is none. */
static bool word_load(const struct rdn_field *f, uint8_t *ret) {
    if (!f || f->type->kind == RDN_K_STR || f->type->kind == RDN_K_ARR)
        return false;
    *ret = f->size == 8 ? RDN_LOAD_64 : f->size == 1 ? RDN_LOAD_U8 : f->type->kind == RDN_K_DATE ? RDN_LOAD_I32 : RDN_LOAD_U32;
    return true;
}
static uint64_t present_of(const struct rdn_field *f) { return f && f->optional ? 1ull << f->present_bit : 0; }
/* The words of one part, or false: some is not a word of the row. A text of a valid row is padded with zeros, as in a key. */
static bool part_words(const struct rdn_plan *pl, const struct rdn_keypart *part, struct rdn_keyword **w) {
    const struct rdn_field *f = field_of(pl, part->from.pid);
    uint8_t load = part->from.load;
    if (part->type->kind != RDN_K_STR) {
        bool good = word_load(f, &load) || (load != RDN_LOAD_SLOW && load != RDN_LOAD_ITEM && load != RDN_LOAD_GATHER);
        *(*w)++ = (struct rdn_keyword){part->from.at, load, 0};
        return good;
    }
    if (!f || f->type->kind != RDN_K_STR || f->type->n > part->type->n)
        return false;
    for (uint32_t i = 0; i < rdn_key_words(part->type); i++) {
        uint32_t from = i * 8, left = f->type->n > from ? f->type->n - from : 0;
        unsigned load_of = left >= 8 ? RDN_LOAD_64 : left ? RDN_LOAD_TAIL : RDN_LOAD_ZERO;
        *(*w)++ = (struct rdn_keyword){f->offset + from, (uint8_t)load_of, (uint8_t)(left < 8 ? left : 8)};
    }
    return true;
}
static void make_keys(struct making *m) {
    const struct rdn_plan *pl = m->pl;
    uint32_t words = 0;
    for (uint32_t k = 0; k < pl->keys.n; k++)
        words += pl->keys.v[k].words;
    m->s->keys = rdn_new_n(m->arena, struct rdn_keyform, pl->keys.n + 1);
    m->s->quick = rdn_new_n(m->arena, struct rdn_quickkey, pl->keys.n + 1);
    m->s->words = rdn_new_n(m->arena, struct rdn_keyword, words + 1);
    struct rdn_keyword *w = m->s->words;
    for (uint32_t k = 0; k < pl->keys.n; k++) {
        const struct rdn_keyplan *kp = &pl->keys.v[k];
        struct rdn_keyword *first = w;
        struct rdn_keyform *form = &m->s->keys[k];
        *form = (struct rdn_keyform){rdn_block_keys(pl) + kp->place, true, 0};
        for (uint32_t i = 0; i < kp->n && form->quick; i++) {
            form->quick = part_words(pl, &pl->parts.v[kp->at + i], &w);
            form->present |= present_of(field_of(pl, pl->parts.v[kp->at + i].from.pid));
        }
        if (form->quick)
            m->s->quick[m->s->nquick++] = (struct rdn_quickkey){form->at, (uint32_t)(first - m->s->words), kp->words};
        else
            w = first;
    }
}

/* ---- gathers ---- */
static bool in_place(const struct rdn_plan *pl, rdn_pid p, struct rdn_fill *s) {
    const struct rdn_field *f = field_of(pl, p);
    struct rdn_operand o = rdn_plan_operand_of(pl, p);
    s->load = o.load;
    s->at = o.at;
    if (f && f->type->kind == RDN_K_STR && !f->optional) {
        s->load = RDN_LOAD_TEXT;
        s->n = f->type->n;
        return true;
    }
    return f && f->type->kind != RDN_K_FLOAT && o.load != RDN_LOAD_SLOW;
}
static void add_ask(struct making *m, struct rdn_turn *t, const struct rdn_gather *g, int64_t els) {
    uint32_t i = t->ask + t->nasks++;
    m->s->ask_of[i] = g;
    m->s->asks[i] = (struct rdn_ask){g->index, m->s->keys[g->key].at, rdn_block_slot(g->slot), g->has_else, els};
}
/* Columns of one row stand together; the gathers of the same row elsewhere in the plan join them. */
static void add_row(struct making *m, struct rdn_turn *t, uint32_t from, uint8_t *taken, uint32_t *ncolumns) {
    const struct rdn_gather *first = &m->pl->gathers.v[from];
    struct rdn_rowread *r = &m->s->rows[t->row + t->nrows++];
    *r = (struct rdn_rowread){first->index, first->key, *ncolumns, 0};
    for (uint32_t i = from; i < m->pl->gathers.n; i++) {
        const struct rdn_gather *g = &m->pl->gathers.v[i];
        if (taken[i] != RDN_G_ROW || g->index != first->index || g->key != first->key || g->level != first->level)
            continue;
        m->s->columns[(*ncolumns)++] = (struct rdn_rowcolumn){g->column, rdn_block_slot(g->slot), g->type == RDN_TY_D64, g->has_else,
                                                              m->pl->nodes.v[g->els].lo, g};
        r->columns++;
        taken[i] = UINT8_MAX;
    }
}
/* An operation on something that is missing is not worth a look at the rest. */
static void add_needs(struct making *m, struct rdn_fill *s, const struct rdn_gather *g) {
    s->needs = rdn_new_n(m->arena, uint32_t, g->nargs + 1);
    for (uint32_t i = 0; i < g->nargs; i++) {
        const struct rdn_pnode *n = &m->pl->nodes.v[g->args[i]];
        const struct rdn_field *f = field_of(m->pl, g->args[i]);
        s->present |= present_of(f);
        if (!rdn_pnode_leaf(n) && n->flags & RDN_P_SLOT)
            s->needs[s->nneeds++] = n->slot;
    }
}
static void add_fill(struct making *m, struct rdn_turn *t, const struct rdn_gather *g, bool bare) {
    struct rdn_fill *s = &m->s->fills[t->fill + t->nfills++];
    *s = (struct rdn_fill){.kind = RDN_FILL_ANY, .slot = rdn_block_slot(g->slot), .index = g->index, .of = g};
    if (bare && (g->kind == RDN_G_INCAL || g->kind == RDN_G_TIME) && m->pl->nodes.v[g->operand].op == RDN_OP_NOW)
        s->kind = g->kind == RDN_G_TIME ? RDN_FILL_TIME : RDN_FILL_INCAL;
    if (bare && (g->kind == RDN_G_WREAD || g->kind == RDN_G_WPREV) && m->s->keys[g->key].quick)
        s->present = m->s->keys[g->key].present;
    if (bare && g->kind == RDN_G_APPLY)
        add_needs(m, s, g);
    if (bare && g->kind == RDN_G_INLIST && in_place(m->pl, g->operand, s))
        s->kind = s->load == RDN_LOAD_TEXT ? RDN_FILL_TEXT_IN : RDN_FILL_WORD_IN;
}
/* Its key needs no other gather of the same round: fills are made in order, rows before them. */
static bool key_stands(const struct making *m, const struct rdn_gather *g) {
    const struct rdn_keyplan *k = &m->pl->keys.v[g->key];
    for (uint32_t i = 0; i < k->n; i++) {
        const struct rdn_operand *o = &m->pl->parts.v[k->at + i].from;
        if (o->load == RDN_LOAD_GATHER && m->pl->gathers.v[m->pl->nodes.v[o->pid].gather].level == g->level)
            return false;
    }
    return true;
}
/* The gathers of one round; after the windows those that are not late. Reads of prev are a round of their own: before the windows
 * change if the lane lets us put their values, else they are asked of it. */
static void make_turn(struct making *m, struct rdn_turn *t, uint32_t level, uint8_t *kind, uint32_t *ncolumns) {
    const struct rdn_plan *pl = m->pl;
    for (uint32_t i = 0; i < pl->gathers.n; i++) {
        const struct rdn_gather *g = &pl->gathers.v[i];
        bool there = kind[i] == RDN_G_WREAD || kind[i] == RDN_G_WPREV ? m->s->keys[g->key].quick && !m->s->keys[g->key].present : false;
        if (g->level != level || kind[i] == UINT8_MAX)
            continue;
        if (kind[i] == RDN_G_WREAD && there)
            add_ask(m, t, g, pl->nodes.v[g->els].lo);
        else if (kind[i] == RDN_G_WPREV && there)
            continue;
        else if (kind[i] == RDN_G_ROW && key_stands(m, g))
            add_row(m, t, i, kind, ncolumns);
        else
            add_fill(m, t, g, kind[i] != RDN_G_INTERP && !g->has_else);
    }
}
static void make_prevs(struct making *m, struct rdn_turn *t, const uint8_t *kind) {
    for (uint32_t i = 0; i < m->pl->gathers.n; i++) {
        const struct rdn_gather *g = &m->pl->gathers.v[i];
        if (kind[i] == RDN_G_WPREV && m->s->keys[g->key].quick && !m->s->keys[g->key].present)
            add_ask(m, t, g, m->pl->nodes.v[g->els].lo);
    }
}
static struct rdn_turn behind(const struct rdn_turn *t) { return (struct rdn_turn){t->ask + t->nasks, 0, t->row + t->nrows, 0, t->fill + t->nfills, 0}; }
static void make_gathers(struct making *m) {
    const struct rdn_plan *pl = m->pl;
    uint32_t n = pl->gathers.n, ncolumns = 0;
    uint8_t *kind = rdn_new_n(m->arena, uint8_t, n + 1);
    m->s->asks = rdn_new_n(m->arena, struct rdn_ask, n + 1);
    m->s->ask_of = rdn_new_n(m->arena, const struct rdn_gather *, n + 1);
    m->s->rows = rdn_new_n(m->arena, struct rdn_rowread, n + 1);
    m->s->columns = rdn_new_n(m->arena, struct rdn_rowcolumn, n + 1);
    m->s->fills = rdn_new_n(m->arena, struct rdn_fill, n + 1);
    for (uint32_t i = 0; i < n; i++) {                   /* which of them are whole: no default, or one that is a constant; late ones are made elsewhere */
        const struct rdn_gather *g = &pl->gathers.v[i];
        bool plain = !g->is_defined && !g->nan_is_none && (!g->has_else || pl->nodes.v[g->els].op == RDN_OP_CONST);
        kind[i] = g->late ? UINT8_MAX : plain ? g->kind : (uint8_t)RDN_G_INTERP;
    }
    for (uint32_t level = 0; level < pl->levels; level++) {
        if (level)
            m->s->turns[level] = behind(&m->s->turns[level - 1]);
        make_turn(m, &m->s->turns[level], level, kind, &ncolumns);
    }
    m->s->prevs = behind(&m->s->turns[pl->levels - 1]);
    make_prevs(m, &m->s->prevs, kind);
}

/* ---- values of windows ---- */
static bool source_of(const struct making *m, const struct rdn_operand *o, int64_t imm, struct rdn_source *ret) {
    const struct rdn_pnode *n = &m->pl->nodes.v[o->pid];
    const struct rdn_field *f = field_of(m->pl, o->pid);
    *ret = (struct rdn_source){.load = o->load, .at = o->at, .imm = imm, .present = present_of(f)};
    if (o->load == RDN_LOAD_ITEM || o->load == RDN_LOAD_GATHER) {
        ret->at = rdn_block_slot(n->slot);
        ret->bit = o->load == RDN_LOAD_ITEM ? m->pl->nrules + o->at : n->slot;
    } else if (!o->pid || n->op == RDN_OP_CONST) {
        ret->load = RDN_LOAD_NONE;
        ret->imm = o->pid ? n->lo : imm;
    } else if (f && f->type->kind == RDN_K_STR) {
        ret->load = RDN_LOAD_TEXT;
        ret->bit = f->type->n;
    } else if (n->op == RDN_OP_TS || n->op == RDN_OP_NOW) {
        ret->load = n->op == RDN_OP_TS ? RDN_LOAD_64 : RDN_LOAD_SLOT;
        ret->at = n->op == RDN_OP_TS ? 0 : RDN_BLOCK_NOW; /* ts is the row's first word */
    } else if (!word_load(f, &ret->load)) {
        return false;
    }
    return true;
}
/* The slot that prev of the window stands in before it changes. */
static uint32_t prev_slot(const struct making *m, uint32_t window, uint32_t key) {
    const struct rdn_turn *t = &m->s->prevs;
    for (uint32_t i = t->ask; i < t->ask + t->nasks; i++)
        if (m->s->asks[i].window == window && !m->s->asks[i].has_els && m->s->ask_of[i]->key == key)
            return m->s->ask_of[i]->slot;
    return RDN_NO_DEP;
}
static struct rdn_put put_of(const struct making *m, uint32_t window) {
    const struct rdn_winplan *wp = m->pl->windows.v;
    while (wp->window != window)
        wp++;
    struct rdn_put p = {.window = window, .is_float = wp->is_float, .prev = m->pl->ir->windows[window].prev_used, .slot = RDN_NO_DEP};
    bool good = wp->how == RDN_WIN_FAST && m->s->keys[wp->key].quick;
    if (good) {
        p.key = m->s->keys[wp->key].at;
        p.present = m->s->keys[wp->key].present;
        p.slot = p.prev ? prev_slot(m, window, wp->key) : RDN_NO_DEP;
    }
    good = good && source_of(m, &wp->where, 1, &p.where) && source_of(m, &wp->value, 1, &p.value) && source_of(m, &wp->span, 0, &p.span);
    bool constant = p.where.load == RDN_LOAD_NONE && p.value.load == RDN_LOAD_NONE && p.span.load == RDN_LOAD_NONE;
    p.how = !good ? RDN_PUT_SLOW : constant && p.where.imm && !p.is_float && !p.prev && !p.present ? RDN_PUT_IMM : RDN_PUT_QUICK;
    return p;
}
static void make_puts(struct making *m, bool accepted, const uint32_t *windows, uint32_t n) {
    struct rdn_put *p = m->s->puts[accepted] = rdn_new_n(m->arena, struct rdn_put, n + 1);
    bool all = true;
    for (uint32_t i = 0; i < n; i++) {
        p[i] = put_of(m, windows[i]);
        all &= p[i].how != RDN_PUT_SLOW;
    }
    /* The input of a slow one may depend on a window: all are read before one changes. */
    for (uint32_t i = 0; accepted && !all && i < n; i++)
        p[i].how = RDN_PUT_SLOW;
}

void rdn_steps_make(struct rdn_steps *s, const struct rdn_plan *pl, struct rdn_arena *arena) {
    struct making m = {s, pl, arena};
    const struct rdn_event *ev = &pl->ir->events[pl->event];
    *s = (struct rdn_steps){0};
    for (uint32_t i = 0; i < ev->nfields; i++)
        s->optional |= ev->fields[i].optional;
    make_keys(&m);
    make_gathers(&m);
    make_puts(&m, false, ev->observed, ev->nobserved);
    make_puts(&m, true, ev->accepted, ev->naccepted);
}
