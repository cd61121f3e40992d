/* SPDX-License-Identifier: Apache-2.0
 * unit_names.c: what profilers and debuggers are told of a unit: a row for each native function, with the lines of the rule text
 * its code is of. Costs nothing when nobody listens. */
#include <stdio.h>
#include <string.h>
#include "jit/jit.h"
#include "jit/unit.h"

enum { NAME_MAX_BYTES = 256 };
struct naming {
    const struct rdn_unit *u;
    struct rdn_arena *tmp;
    uint32_t e;
    const struct rdn_emitted *em;
    const uint8_t *code;                                 /* em->low stands here */
    RDN_VEC(uint32_t) newlines;                          /* offsets of the ends of lines */
    uint32_t mark;                                       /* first that is not used up */
};

static uint32_t line_of(const struct naming *n, uint32_t rule) {
    const struct rdn_ir *ir = n->u->ir;
    if (rule >= RDN_MARK_LEAVE)
        return 0;
    uint32_t at = ir->spans.v[ir->rules[ir->events[n->e].rules[rule]].when_span].a, lo = 0, hi = n->newlines.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (n->newlines.v[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo + 1;
}

/* The function [at, end), whose marks are the next ones. */
static void add_row(struct naming *n, struct rdn_code_row *row, const struct rdn_named *f, uint32_t end) {
    const struct rdn_ir *ir = n->u->ir;
    const struct rdn_mark *m = n->em->marks.list.v;
    uint32_t count = n->em->marks.list.n, first = n->mark;
    char *name = rdn_arena_alloc(n->tmp, NAME_MAX_BYTES), number[16] = "";
    if (f->number)
        snprintf(number, sizeof number, "-%u", f->number);
    snprintf(name, NAME_MAX_BYTES, "redan:%s@%u/%s/%s%s", ir->name, ir->version, ir->events[n->e].name, f->step, number);
    *row = (struct rdn_code_row){.code = n->code + (f->at - n->em->low), .bytes = end - f->at, .name = name, .file = ir->file};
    while (n->mark < count && m[n->mark].at < end)
        n->mark++;
    struct rdn_code_line *lines = rdn_new_n(n->tmp, struct rdn_code_line, n->mark - first + 1);
    for (uint32_t i = first; i < n->mark; i++) {
        uint32_t off = m[i].at - f->at, line = line_of(n, m[i].rule);
        if (m[i].rule == RDN_MARK_LEAVE)
            row->leave = off;
        if (row->nlines && lines[row->nlines - 1].at == off)
            row->nlines--;                               /* nothing was emitted for the last one */
        if (!row->nlines || lines[row->nlines - 1].line != line)
            lines[row->nlines++] = (struct rdn_code_line){off, line};
    }
    row->lines = lines;
}

void rdn_unit_name_all(const struct rdn_unit *u, struct rdn_arena *tmp, uint32_t e, const struct rdn_named *v, uint32_t count, const struct rdn_emitted *em,
                       const uint8_t *code) {
    struct naming n = {.u = u, .tmp = tmp, .e = e, .em = em, .code = code};
    if (!rdn_jit_wants_names(u->jit) || !count)
        return;
    struct rdn_code_row *rows = rdn_new_n(tmp, struct rdn_code_row, count);
    for (uint32_t i = 0; em->marks.list.n && i < u->ir->source_len; i++)
        if (u->ir->source[i] == '\n')
            rdn_push_val(tmp, &n.newlines, i);
    for (uint32_t i = 0; i < count; i++)
        add_row(&n, &rows[i], &v[i], i + 1 < count ? v[i + 1].at : em->end);
    rdn_jit_announce(u->jit, rows, count);
}

void rdn_unit_name(const struct rdn_unit *u, struct rdn_arena *tmp, uint32_t e, const struct rdn_emitted *em, const uint8_t *code) {
    uint32_t groups = u->events[e].plan->groups.n, n = 0;
    struct rdn_named *v = rdn_new_n(tmp, struct rdn_named, groups + RDN_LEVELS);
    for (uint32_t level = 0; level < RDN_LEVELS; level++)
        if (em->operands[level])
            v[n++] = (struct rdn_named){u->is_rest ? "rest-operands" : "operands", level, em->operands[level]};
    for (uint32_t g = 0; g < groups; g++)
        v[n++] = (struct rdn_named){u->is_rest ? "rest" : "rules", g, em->groups[g]};
    rdn_unit_name_all(u, tmp, e, v, n, em, code);
}
