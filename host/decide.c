/* SPDX-License-Identifier: Apache-2.0
 * decide.c: from fired and undefined rules to one verdict (LANGUAGE.md 11.3 to 11.6), and the names and messages of the
 * last verdict. rdn_decide is [hot]; redan_message and its kind are asked for after it. */
#include "base/fpmode.h"
#include "base/text.h"
#include "host/host.h"
#include <string.h>

struct tally {                                           /* the winning verdict so far */
    struct rdn_binding *b;
    redan_verdict *v;
    bool any;
    int32_t priority;
    uint8_t verb;
    bool has_messages;                                   /* of some action that acts */
};

/* Cause and place of a condition are worked out when asked for, or before accepted windows change under them. */
enum { CAUSE_LATER = 255 };
static void add_later(struct rdn_binding *b, uint32_t rule) {
    b->undefined[b->nundefined] = (uint16_t)rule;
    b->causes[b->nundefined++].cause = CAUSE_LATER;
}
static void find_cause(struct rdn_binding *b, uint32_t i) {
    if (b->causes[i].cause == CAUSE_LATER)
        rdn_exec_cause(b->frame, b->undefined[i], &b->causes[i]);
}
static void add_undefined(struct rdn_binding *b, uint32_t rule, const struct rdn_cell *c) {
    b->undefined[b->nundefined] = (uint16_t)rule;
    b->causes[b->nundefined++] = *c;
}

static void add_code(struct tally *t, const struct rdn_rule *r, const struct rdn_action *a) {
    struct rdn_binding *b = t->b;
    uint64_t *seen = r->shadow ? b->shadow_seen : b->code_seen;
    if (seen[a->code] == b->gen)
        return;
    seen[a->code] = b->gen;
    if (r->shadow) {
        b->shadow[b->nshadow++] = a->code;
        return;
    }
    b->src[b->ncodes] = (struct rdn_code_src){ r, a };
    b->codes[b->ncodes++] = a->code;
}

static void add_verdict(struct tally *t, const struct rdn_rule *r, const struct rdn_action *a) {
    bool better = !t->any || r->priority > t->priority || (r->priority == t->priority && a->verb > t->verb);
    if (better) {
        t->any = true;
        t->priority = r->priority;
        t->verb = a->verb;
        t->v->for_ns = a->for_ns;
    } else if (r->priority == t->priority && a->verb == t->verb && a->for_ns > t->v->for_ns) {
        t->v->for_ns = a->for_ns;
    }
}

/* NaN leaves the rules with one bit pattern, whatever the processor made (JIT.md section 5). */
static double canonical(double x) {
    uint64_t canon = 0x7ff8000000000000u;
    if (x != x)
        memcpy(&x, &canon, sizeof x);
    return x;
}

void rdn_value_of_cell(const struct redan_engine *e, const struct rdn_type *t, const struct rdn_cell *c, redan_value *ret) {
    static const uint8_t kinds[] = { [RDN_K_BOOL] = REDAN_T_BOOL, [RDN_K_INT] = REDAN_T_INT, [RDN_K_FLOAT] = REDAN_T_FLOAT,
        [RDN_K_DEC] = REDAN_T_DEC, [RDN_K_TIME] = REDAN_T_TIME, [RDN_K_DUR] = REDAN_T_DUR, [RDN_K_DATE] = REDAN_T_DATE,
        [RDN_K_SYM] = REDAN_T_TEXT, [RDN_K_STR] = REDAN_T_TEXT, [RDN_K_ENUM] = REDAN_T_TEXT, [RDN_K_TEXT] = REDAN_T_TEXT,
        [RDN_K_ARR] = REDAN_T_FLOATS };
    *ret = (redan_value){ .type = kinds[t->kind], .scale = t->scale };
    switch (ret->type) {
    case REDAN_T_FLOAT:
        ret->as.f = canonical(c->f);
        return;
    case REDAN_T_DEC:
        ret->as.dec.lo = (uint64_t)c->d;
        ret->as.dec.hi = (int64_t)(c->d >> 64);
        return;
    case REDAN_T_FLOATS:
        ret->len = rdn_type_elems(t);
        ret->rows = t->ndim == 2 ? t->dim[0] : 0;
        ret->as.floats = c->v;
        if (t->elem == RDN_K_INT) {
            ret->type = REDAN_T_INTS;
            ret->as.ints = c->w;
        }
        return;
    case REDAN_T_TEXT:
        if (t->kind == RDN_K_SYM) {
            ret->as.text = rdn_sym_text(e->syms, (uint32_t)c->i, &ret->len);
        } else if (t->kind == RDN_K_ENUM) {
            ret->as.text = t->members[c->i];
            ret->len = (uint32_t)strlen(ret->as.text);
        } else {
            ret->as.text = c->t.p;
            ret->len = c->t.len;
        }
        return;
    default:
        ret->as.i = c->i;
    }
}

/* False, with the cause noted, if a field is undefined: the whole emit is dropped. */
static bool add_emit(struct rdn_binding *b, uint32_t rule, const struct rdn_rule *r, const struct rdn_action *a) {
    redan_value *vals = b->values + b->nvalues;
    for (uint32_t i = 0; i < a->nfields; i++) {
        struct rdn_cell c;
        rdn_exec_value(b->frame, a->fields[i].node, &c);
        if (c.cause) {
            add_undefined(b, rule, &c);
            return false;
        }
        if (!r->shadow)
            rdn_value_of_cell(b->rs->eng, a->fields[i].type, &c, &vals[i]);
    }
    if (!r->shadow) {
        b->emits[b->nemits++] = (redan_emit){ b->rs->ir->emits[a->code].name, a->nfields, b->emit_names[a->code], vals };
        b->nvalues += a->nfields;
    }
    return true;
}

static void take_action(struct tally *t, uint32_t rule, const struct rdn_rule *r, const struct rdn_action *a, const struct rdn_cell *points) {
    struct rdn_binding *b = t->b;
    if (a->verb == RDN_V_EMIT) {
        add_emit(b, rule, r, a);
        return;
    }
    if (a->verb == RDN_V_SCORE && points->cause) {
        add_undefined(b, rule, points);
        return;
    }
    if (a->verb <= RDN_V_REJECT && !r->shadow)
        add_verdict(t, r, a);
    t->has_messages |= a->has_msg && !r->shadow;
    add_code(t, r, a);
}

static void take_rule(struct tally *t, uint32_t rule, bool undefined) {
    struct rdn_binding *b = t->b;
    const struct rdn_rule *r = &b->rs->ir->rules[rule];
    if (undefined) {
        add_later(b, rule);
        if (r->undef && r->undef->verb != RDN_V_SKIP)
            take_action(t, rule, r, r->undef, b->points + b->rs->rules[rule].points + r->nacts);
        return;
    }
    const struct rdn_cell *points = b->points + b->rs->rules[rule].points;
    for (uint32_t i = 0; i < r->nacts; i++)
        take_action(t, rule, r, &r->acts[i], points + i);
}

/* Messages are built when asked for, except where an accepted window is about to change under them. */
static void keep_messages(struct rdn_binding *b, uint32_t from) {
    for (uint32_t i = from; i < b->ncodes; i++) {
        char buf[1025];
        if (!b->src[i].act->has_msg)
            continue;
        size_t n = rdn_render(b, b->src[i].act, buf, sizeof buf);
        if (b->texts_used + n > RDN_TEXTS_BYTES)
            continue;
        memcpy(b->texts + b->texts_used, buf, n);
        b->msg_at[i] = (uint32_t)b->texts_used;
        b->msg_len[i] = (uint32_t)n;
        b->msg_gen[i] = b->gen;
        b->texts_used += n;
    }
}

static __attribute__((noinline)) void take_rules(struct rdn_binding *b, const struct rdn_event *e, redan_verdict *ret) {
    const struct rdn_frame_head *f = rdn_frame_head(b->frame);
    struct tally t = { .b = b, .v = ret };
    for (uint32_t w = 0; w * 64 < e->nrules; w++) {
        for (uint64_t bits = f->fired[w] | f->undef[w]; bits; bits &= bits - 1) {
            unsigned i = (unsigned)__builtin_ctzll(bits);
            take_rule(&t, e->rules[w * 64 + i], f->undef[w] >> i & 1);
        }
    }
    ret->verdict = t.any ? t.verb : REDAN_ACCEPT;
    ret->ncodes = b->ncodes - b->last_codes;
    ret->nshadow = (uint32_t)(b->shadow + b->nshadow - ret->shadow);
    ret->nundefined = b->nundefined - b->last_undefined;
    ret->nemits = (uint32_t)(b->emits + b->nemits - ret->emits);
    if (ret->verdict != REDAN_ACCEPT || !e->naccepted)
        return;
    for (uint32_t i = b->last_undefined; i < b->nundefined; i++)
        find_cause(b, i);
    if (t.has_messages)
        keep_messages(b, b->last_codes);
}

void rdn_decide(struct rdn_binding *b, const struct rdn_event *e, redan_verdict *ret) {
    const struct rdn_frame_head *f = rdn_frame_head(b->frame);
    uint64_t any = 0;
    for (uint32_t w = 0; w * 64 < e->nrules; w++)
        any |= f->fired[w] | f->undef[w];
    ret->verdict = REDAN_ACCEPT;
    memset(ret->zero, 0, sizeof ret->zero);
    ret->ncodes = ret->nshadow = ret->nundefined = ret->nemits = 0;
    ret->for_ns = 0;
    ret->codes = b->codes + b->ncodes;
    ret->shadow = b->shadow + b->nshadow;
    ret->undefined = b->undefined + b->nundefined;
    ret->emits = b->emits + b->nemits;
    b->last_codes = b->ncodes;
    b->last_undefined = b->nundefined;
    if (any)                                             /* most events of a gate go through */
        take_rules(b, e, ret);
}

/* ---- after the verdict ---- */
static void *no_growth(void *ctx, void *p, size_t was, size_t want) { return (void)ctx, (void)p, (void)was, (void)want, NULL; }
static const struct rdn_mem fixed_mem = { NULL, no_growth };

/* Into the caller's buffer, cut before a character that does not fit whole, and terminated. */
static size_t hand_out(const char *text, size_t n, char *buf, size_t cap) {
    if (!cap)
        return n;
    size_t fit = rdn_utf8_cut(text, n, cap - 1);
    memcpy(buf, text, fit);
    buf[fit] = 0;
    return n;
}

size_t rdn_render(struct rdn_binding *b, const struct rdn_action *a, char *buf, size_t cap) {
    enum { MSG_MAX = 1024 };
    char room[8192];                                     /* longer than any cut message and one more text */
    struct rdn_buf out = { .mem = &fixed_mem, .p = room, .cap = sizeof room };
    for (uint32_t i = 0; i < a->nmsg && out.n <= MSG_MAX; i++) {
        if (!a->msg[i].node) {
            rdn_buf_put(&out, a->msg[i].text, a->msg[i].len);
            continue;
        }
        struct rdn_cell c;
        rdn_exec_value(b->frame, a->msg[i].node, &c);
        rdn_value_text(&out, b->rs->eng->syms, rdn_ir_ltype(b->rs->ir, a->msg[i].node), &c);
    }
    size_t n = rdn_utf8_cut(room, out.n, MSG_MAX);
    return hand_out(room, n, buf, cap);
}

const char *redan_code_name(redan_lane *l, uint32_t code) {
    rdn_tag_lane(l, "redan_code_name");
    return l->b && code < l->b->rs->ir->ncodes ? l->b->rs->ir->codes[code] : NULL;
}

const char *redan_rule_name(redan_lane *l, uint16_t rule) {
    rdn_tag_lane(l, "redan_rule_name");
    return l->b && rule < l->b->rs->ir->nrules ? l->b->rs->ir->rules[rule].name : NULL;
}

int redan_message(redan_lane *l, uint32_t i, char *buf, size_t cap) {
    struct rdn_binding *b = l->b;
    rdn_tag_lane(l, "redan_message");
    if (!b || b->last_codes > b->ncodes || i >= b->ncodes - b->last_codes)
        return REDAN_E_INVAL;
    i += b->last_codes;
    if (b->msg_gen[i] == b->gen)
        return (int)hand_out(b->texts + b->msg_at[i], b->msg_len[i], buf, cap);
    if (!b->src[i].act->has_msg)
        return (int)hand_out("", 0, buf, cap);
    uint32_t mode = rdn_fpmode_enter();                  /* what {…} says is worked out now, in the mode of the decision */
    size_t n = rdn_render(b, b->src[i].act, buf, cap);
    rdn_fpmode_leave(mode);
    return (int)n;
}

int redan_cause(redan_lane *l, uint32_t i, redan_undefined *ret) {
    struct rdn_binding *b = l->b;
    rdn_tag_lane(l, "redan_cause");
    if (!b || b->last_undefined > b->nundefined || i >= b->nundefined - b->last_undefined)
        return REDAN_E_INVAL;
    i += b->last_undefined;
    uint32_t mode = rdn_fpmode_enter();
    find_cause(b, i);
    rdn_fpmode_leave(mode);
    *ret = (redan_undefined){ .rule = b->undefined[i], .cause = b->causes[i].cause };
    rdn_ir_linecol(b->rs->ir, b->causes[i].span, &ret->line, &ret->col);
    return 0;
}
