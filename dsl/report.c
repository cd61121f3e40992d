/* SPDX-License-Identifier: Apache-2.0
 * report.c: what `cost`, `layout` and `hash` print about a rule set (LANGUAGE.md 17.7). */
#include "dsl/dsl.h"

/* Picoseconds as nanoseconds with one decimal. */
static void put_ns(struct rdn_buf *b, uint64_t ps) {
    const unsigned long long t = (ps + 50) / 100;
    rdn_buf_printf(b, "%llu.%llu ns", t / 10, t % 10);
}

static void named_cost(struct rdn_buf *b, const char *what, const char *name, uint64_t ps) {
    rdn_buf_printf(b, "%s %s ", what, name);
    put_ns(b, ps);
}

static uint64_t put_bytes(struct rdn_buf *b, uint64_t each, const char *of, uint64_t count) {
    rdn_buf_printf(b, " %llu B/%s %llu B\n", (unsigned long long)each, of, (unsigned long long)(each * count));
    return each * count;
}

void rdn_dsl_cost(struct rdn_buf *b, const struct rdn_ir *ir) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ir->nevents; i++) {
        const struct rdn_event *e = &ir->events[i];
        named_cost(b, "event", e->name, e->cost_ps);
        rdn_buf_putc(b, '\n');
        for (uint32_t j = 0; j < e->nrules; j++) {
            const struct rdn_rule *r = &ir->rules[e->rules[j]];
            named_cost(b, "rule", r->name, r->cost_ps);
            rdn_buf_putc(b, '\n');
        }
    }
    for (uint32_t i = 0; i < ir->nwindows; i++) {
        const struct rdn_window *w = &ir->windows[i];
        named_cost(b, "window", w->name, w->cost_ps);
        sum += put_bytes(b, w->key_bytes, "key", w->cap);
    }
    for (uint32_t i = 0; i < ir->ntables; i++) {
        const struct rdn_table *t = &ir->tables[i];
        if (!t->host)
            continue;
        rdn_buf_printf(b, "table %s", t->name);
        sum += put_bytes(b, t->row_bytes, "row", t->cap);
    }
    rdn_buf_printf(b, "memory %llu B\n", (unsigned long long)sum);
}

void rdn_dsl_layout(struct rdn_buf *b, const struct rdn_ir *ir) {
    for (uint32_t i = 0; i < ir->nevents; i++) {
        const struct rdn_event *e = &ir->events[i];
        rdn_buf_printf(b, "event %s size %u hash %016llx ", e->name, e->size, (unsigned long long)e->layout_hash);
        rdn_buf_puts(b, e->canon);
        rdn_buf_puts(b, "\n  0 8 ts time\n");
        if (e->has_present)
            rdn_buf_puts(b, "  8 8 present bits\n");
        for (uint32_t j = 0; j < e->nfields; j++) {
            const struct rdn_field *f = &e->fields[j];
            rdn_buf_printf(b, "  %u %u %s ", f->offset, f->size, f->name);
            rdn_type_print(b, f->type);
            rdn_buf_puts(b, f->optional ? "?\n" : "\n");
        }
    }
}

void rdn_dsl_hash(struct rdn_buf *b, const struct rdn_ir *ir) {
    for (uint32_t i = 0; i < ir->nevents; i++)
        rdn_buf_printf(b, "event %s %016llx\n", ir->events[i].name, (unsigned long long)ir->events[i].layout_hash);
    for (uint32_t i = 0; i < ir->nwindows; i++) {
        rdn_buf_printf(b, "window %s %016llx ", ir->windows[i].name, (unsigned long long)ir->windows[i].hash);
        rdn_buf_puts(b, ir->windows[i].canon);
        rdn_buf_putc(b, '\n');
    }
}
