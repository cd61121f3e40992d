/* SPDX-License-Identifier: Apache-2.0
 * explain_text.c: why a decision came out as it did, in the form of LANGUAGE.md 17.6. */
#include "host/answer.h"
#include "base/map.h"
#include "base/text.h"
#include <string.h>

struct teller {
    struct rdn_buf *o;
    struct redan_lane *l;
    struct rdn_arena arena;                              /* lines seen of the rule at hand */
    struct rdn_map seen;
};

/* Characters below U+0020 as \u00xx. */
static void put_plain(struct rdn_buf *o, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 0x20)
            rdn_buf_printf(o, "\\u%04x", (unsigned char)s[i]);
        else
            rdn_buf_putc(o, s[i]);
}

/* Source text of a span; each run of white space is one space. */
static void put_source(struct rdn_buf *o, const struct rdn_ir *ir, uint32_t span) {
    struct rdn_span s = ir->spans.v[span];
    bool space = false;
    for (uint32_t i = s.a; i < s.b; i++) {
        char c = ir->source[i];
        bool white = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        if (!white)
            rdn_buf_putc(o, c);
        else if (!space)
            rdn_buf_putc(o, ' ');
        space = white;
    }
}

static void put_cell(struct rdn_buf *o, struct teller *t, const struct rdn_type *type, const struct rdn_cell *c) {
    struct rdn_buf text;
    rdn_buf_init(&text, &t->l->eng->mem);
    rdn_value_text(&text, t->l->eng->syms, type, c);
    put_plain(o, rdn_buf_str(&text), text.n);
    rdn_buf_fini(&text);
}

static void tell_value(void *ctx, const struct rdn_ir *ir, rdn_id id, const struct rdn_cell *c) {
    struct teller *t = ctx;
    struct rdn_buf line;
    rdn_buf_init(&line, &t->l->eng->mem);
    rdn_buf_puts(&line, "      ");
    put_source(&line, ir, ir->nodes.v[id].span);
    rdn_buf_puts(&line, " = ");
    if (c->cause)
        rdn_buf_printf(&line, "undefined(%s)", rdn_cause_text(c->cause));
    else
        put_cell(&line, t, rdn_ir_ltype(ir, id), c);
    rdn_buf_putc(&line, '\n');
    const char *key = rdn_arena_strndup(&t->arena, rdn_buf_str(&line), line.n);
    if (key && rdn_map_put(&t->seen, key, line.n, 0))
        rdn_buf_put(t->o, line.p, line.n);
    rdn_buf_fini(&line);
}

static void tell_emit(struct teller *t, const struct rdn_action *a) {
    rdn_buf_puts(t->o, " {");
    for (uint32_t i = 0; i < a->nfields; i++) {
        struct rdn_cell c;
        rdn_exec_value(t->l->b->frame, a->fields[i].node, &c);
        rdn_buf_printf(t->o, "%s%s: ", i ? ", " : "", a->fields[i].name);
        put_cell(t->o, t, a->fields[i].type, &c);
    }
    rdn_buf_putc(t->o, '}');
}

/* Points and emit fields that are undefined: the action had no effect. */
static bool took_effect(struct teller *t, const struct rdn_action *a, const struct rdn_cell *points) {
    if (a->verb == RDN_V_SKIP || (a->verb == RDN_V_SCORE && points->cause))
        return false;
    for (uint32_t i = 0; a->verb == RDN_V_EMIT && i < a->nfields; i++) {
        struct rdn_cell c;
        rdn_exec_value(t->l->b->frame, a->fields[i].node, &c);
        if (c.cause)
            return false;
    }
    return true;
}

static void tell_action(struct teller *t, const struct rdn_action *a, const struct rdn_cell *points) {
    const struct rdn_ir *ir = t->l->b->rs->ir;
    char text[RDN_TEXT_MAX], msg[1025];
    if (!took_effect(t, a, points))
        return;
    rdn_buf_printf(t->o, "    -> %s %s", rdn_verb_text(a->verb), a->verb == RDN_V_EMIT ? ir->emits[a->code].name : ir->codes[a->code]);
    if (a->verb == RDN_V_SCORE)
        rdn_buf_printf(t->o, " %lld", (long long)points->i);
    if (a->for_ns) {
        rdn_text_dur(text, a->for_ns);
        rdn_buf_printf(t->o, " for %s", text);
    }
    if (a->has_msg) {
        rdn_buf_putc(t->o, ' ');
        rdn_buf_json(t->o, msg, rdn_render(t->l->b, a, msg, sizeof msg));
    }
    if (a->verb == RDN_V_EMIT)
        tell_emit(t, a);
    rdn_buf_putc(t->o, '\n');
}

static void tell_rule(struct teller *t, uint32_t rule) {
    struct rdn_binding *b = t->l->b;
    const struct rdn_ir *ir = b->rs->ir;
    const struct rdn_rule *r = &ir->rules[rule];
    const struct rdn_cell *points = b->points + b->rs->rules[rule].points;
    struct rdn_buf subs, *out = t->o;
    struct rdn_cell when;
    rdn_buf_init(&subs, &t->l->eng->mem);
    rdn_arena_init(&t->arena, &t->l->eng->mem);
    rdn_map_init(&t->seen, &t->arena);
    t->o = &subs;
    rdn_exec_trace(b->frame, rule, tell_value, t, &when);
    t->o = out;
    rdn_buf_printf(out, "  rule %s%s: when ", r->name, r->shadow ? " shadow" : "");
    put_source(out, ir, r->when_span);
    if (when.cause) {
        uint32_t line, col;
        rdn_ir_linecol(ir, when.span, &line, &col);
        rdn_buf_printf(out, " = undefined(%s) at %u:%u\n", rdn_cause_text(when.cause), line, col);
    } else {
        rdn_buf_puts(out, when.i ? " = true\n" : " = false\n");
    }
    rdn_buf_put(out, rdn_buf_str(&subs), subs.n);
    if (when.cause && r->undef)
        tell_action(t, r->undef, points + r->nacts);
    for (uint32_t i = 0; !when.cause && when.i && i < r->nacts; i++)
        tell_action(t, &r->acts[i], points + i);
    rdn_arena_fini(&t->arena);
    rdn_buf_fini(&subs);
}

void rdn_explain(struct rdn_buf *o, struct redan_lane *l, const redan_verdict *v, uint32_t event, uint64_t n) {
    const struct rdn_ir *ir = l->b->rs->ir;
    const struct rdn_event *e = &ir->events[event];
    char text[RDN_TEXT_MAX];
    rdn_text_time(text, v->now_ns);
    rdn_buf_printf(o, "decision %llu: %s at %s%s -> %s", (unsigned long long)n, e->name, text, v->flags & REDAN_LATE ? " (late)" : "", rdn_verb_text(v->verdict));
    if (v->for_ns) {
        rdn_text_dur(text, v->for_ns);
        rdn_buf_printf(o, " for %s", text);
    }
    if (v->score)
        rdn_buf_printf(o, ", score %lld", (long long)v->score);
    rdn_buf_putc(o, '\n');
    struct teller t = { .o = o, .l = l };
    for (int late = 0; late <= 1; late++)
        for (uint32_t i = 0; i < e->nrules; i++)
            if (ir->rules[e->rules[i]].late == late)
                tell_rule(&t, e->rules[i]);
}
