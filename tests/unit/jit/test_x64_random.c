/* SPDX-License-Identifier: Apache-2.0
 * Random typed rule sets x events: every executor answers what interp answers, for rules and for window inputs.
 * Arguments: number of rule sets, seed. A difference prints the rule's tree and the event. */
#include "tests/unit/rows.h"
#include <stdlib.h>
#include "ir/ir.h"
#include "jit/run.h"
#include "jit/selfcheck.h"
#include "tests/unit/jit/batch_forms.h"
#include "tests/unit/jit/batch_kit.h"
#include "tests/unit/jit/random_set.h"

enum { EVENTS = 24 };

static struct rdn_frame *shown;                          /* print_tree asks it for values */
static void print_tree(rdn_id id, int depth) {
    const struct rdn_node *n = &ir->nodes.v[id];
    rdn_id buf[3];
    uint32_t k;
    const rdn_id *args = rdn_node_args(ir, n, buf, &k);
    print_error("%*s%s t%u s%u aux %u", depth * 2, "", rdn_op_text(n->op), n->type, n->scale, n->aux);
    if (n->op == RDN_OP_CONST)
        print_error(" = %lld / %g", (long long)ir->consts.v[n->aux].val.i, ir->consts.v[n->aux].val.f);
    if (n->op == RDN_OP_FIELD)
        print_error(" = %s", ir->events[0].fields[n->aux].name);
    struct rdn_cell c;
    rdn_exec_value(shown, id, &c);
    print_error(c.cause ? " -> undefined %s" : " -> %s%lld / %.17g", c.cause ? rdn_cause_text(c.cause) : "", (long long)c.i, c.f);
    print_error("\n");
    for (uint32_t i = 0; i < k; i++)
        print_tree(args[i], depth + 1);
}
static void print_row(const uint8_t *row) {
    for (uint32_t i = 0; i < ir->events[0].nfields; i++) {
        const struct rdn_field *f = &ir->events[0].fields[i];
        struct rdn_cell c = {0};
        rdn_row_field(&ir->events[0], f, row, &c);
        print_error("  %s = %s%lld / %.17g\n", f->name, c.cause ? "undefined " : "", (long long)c.i, c.f);
    }
}

static uint64_t fired_total, undef_total, pairs, tainted, set_seed;
static const char *backend;
static void judge(struct rdn_frame *fi, struct rdn_frame *fx, const uint8_t *row, int64_t now) {
    struct rdn_frame_head *a = rdn_frame_head(fi), *b = rdn_frame_head(fx);
    rdn_exec_begin(fi, 0, row, now, now);
    rdn_exec_begin(fx, 0, row, now, now);
    for (uint32_t w = 0; w < ir->nwindows; w++) {
        struct rdn_winput x = {0}, y = {0};
        enum rdn_enter p = rdn_exec_window(fi, w, &x), q = rdn_exec_window(fx, w, &y);
        check(p == q, "window %u: interp enters %d, %s %d", w, p, backend, q);
        if (p != RDN_ENTER)
            continue;
        check(x.key->words == y.key->words && !memcmp(x.key->w, y.key->w, 8 * (size_t)x.key->words) && x.key->hash == y.key->hash, "window %u: key", w);
        check(w == 2 ? x.val.d == y.val.d : x.val.i == y.val.i, "window %u: value %lld, %lld", w, (long long)x.val.i, (long long)y.val.i);
    }
    rdn_exec_rules(fi, RDN_EARLY);
    rdn_exec_rules(fx, RDN_EARLY);
    for (uint32_t i = 0; i < RULES; i++) {
        bool f1 = a->fired[0] >> i & 1, f2 = b->fired[0] >> i & 1, u1 = a->undef[0] >> i & 1, u2 = b->undef[0] >> i & 1;
        fired_total += f1;
        undef_total += u1;
        pairs++;
        if (f1 == f2 && u1 == u2)
            continue;
        shown = fi;
        print_error("seed of the set: %llu\n", (unsigned long long)set_seed);
        print_tree(ir->rules[i].when, 0);
        print_row(row);
        for (uint32_t k = 0; k < ir->nparams; k++)
            print_error("  %s = %lld / %.17g\n", ir->params[k].name, (long long)a->params[k].i, a->params[k].f);
        check(false, "rule %u: interp fired %d undef %d, %s fired %d undef %d", i, f1, u1, backend, f2, u2);
    }
    check(a->any_undef == b->any_undef, "any_undef");
}

static uint64_t given_back(const struct rdn_frame *f) {
    struct rdn_run_counts c;
    uint64_t n = 0;
    rdn_run_counts(f, &c);
    for each(i, c.cold)
        n += c.cold[i];
    return n;
}
static void show(const uint8_t *row, uint32_t rule) {
    print_error("seed of the set: %llu\n", (unsigned long long)set_seed);
    print_tree(ir->rules[rule].when, 0);
    print_row(row);
}
/* Batches of a few sizes, rows apart or not. */
static struct batch_counts batched;
static uint64_t rests;                                   /* sets of which a batch leaves something */
static void batches(struct rdn_program *px, struct rdn_frame *fi, struct rdn_frame *fx) {
    struct batch_kit k = {.ir = ir, .px = px, .fi = fi, .fx = fx, .what = backend, .show = show, .counts = batched};
    rests += px->rest != NULL;
    uint32_t n = below(8) ? 1 + below(70) : RDN_BATCH_MAX - below(20);
    size_t stride = ir->events[0].size + 8 * below(3);
    uint8_t *rows = calloc(n, stride);
    int64_t now[RDN_BATCH_MAX];
    for (uint32_t i = 0; i < n; i++) {
        fake_row(ir, &ir->events[0], rows + stride * i);
        now[i] = (int64_t)rnd() >> 2;
    }
    shown = fi;
    batch_compare(&k, 0, rows, stride, n, now);
    batched = k.counts;
    free(rows);
}
static unsigned sets = 150;
/* Rules by technique. REDAN_JIT_FORCE asks for one of them wherever it is possible: then there must be some: one in four sets. */
static uint64_t rules_by[RDN_RULE_COUNT];
static void count_techniques(const struct rdn_program *p) {
    const struct rdn_plan *pl = ((const struct rdn_unit *)p->x)->events[0].plan;
    for (unsigned t = 0; t < RDN_RULE_COUNT; t++)
        rules_by[t] += pl->nhow[t];
}
static void check_forced(void) {
    static const char *const names[] = {
#define TECHNIQUE(name, text, doc) text,
#include "jit/technique.def"
#undef TECHNIQUE
    };
    const char *force = getenv("REDAN_JIT_FORCE");
    for (unsigned t = 0; t < RDN_RULE_COUNT; t++) {
        print_message("%s %llu%s", names[t], (unsigned long long)rules_by[t], t + 1 < RDN_RULE_COUNT ? ", " : " rules\n");
        check(!force || strcmp(force, names[t]) || rules_by[t] >= sets / 4, "no rule was %s", names[t]);
    }
}
/* The set in `ir` on `backend` beside interp; its batches as it has them, or as the form says. */
static void one_set(unsigned k, uint64_t event_seed, struct batch_form *form) {
    struct rdn_program *pi, *px;
    struct rdn_frame *fi, *fx;
    redan_error err = {0};
    rdn_selfcheck_us = k % 2 ? 500 : 0;                  /* every second set is compared here first, where a difference prints more */
    if (form && !(px = batch_form_open(ir, backend, 500, form)))
        return;
    int rc = form ? 0 : rdn_program_open(ir, backend, &rdn_libc_mem, &px, &err);
    check(!rc, "set %u (seed %llu): %s %s", k, (unsigned long long)set_seed, err.id, err.text);
    check(!rdn_program_open(ir, "interp", &rdn_libc_mem, &pi, &err), "%s", err.text);
    struct rdn_cell params[4];
    for (int i = 0; i < 4; i++)
        params[i] = ir->params[i].val;
    struct fake lane = {.ir = ir}, lane2 = {.ir = ir};
    assert_int_equal(rdn_frame_open(pi, &fake_helpers, &lane, params, &rdn_libc_mem, &fi, &err), 0);
    assert_int_equal(rdn_frame_open(px, &fake_helpers, &lane2, params, &rdn_libc_mem, &fx, &err), 0);
    uint8_t *row = malloc(ir->events[0].size);
    fake_seed = event_seed;                              /* the same events for every executor */
    for (int e = 0; e < EVENTS; e++) {
        if (e == EVENTS / 2) {
            params[0].i = any_i64();
            params[2].d = (int64_t)any_i64();
            rdn_frame_params_changed(fi);
            rdn_frame_params_changed(fx);
        }
        fake_row(ir, &ir->events[0], row);
        judge(fi, fx, row, (int64_t)rnd() >> 2);
    }
    free(row);
    tainted += given_back(fx);
    count_techniques(px);
    batches(px, fi, fx);
    rdn_frame_close(fi);
    rdn_frame_close(fx);
    rdn_program_close(pi);
    if (form)
        batch_form_close(form, px);
    else
        rdn_program_close(px);
}

#define EXEC(name, impl, doc) #name,
#define ABSENT(name, doc)
static const char *const executors[] = {
#include "jit/executors.def"
};
#undef EXEC
#undef ABSENT
static const char *usable[N_OF(executors)];
static unsigned nusable;
static void test_random(void **state) {
    (void)state;
    for (unsigned k = 0; k < sets; k++) {
        set_seed = fake_seed;
        make_ir();
        uint64_t event_seed = fake_seed;
        for (unsigned b = 0; b < nusable; b++) {
            backend = usable[b];
            one_set(k, event_seed, NULL);
        }
        for (unsigned i = 0; i < BATCH_FORMS; i++)       /* beside machine code and beside tables */
            one_set(k, event_seed, &batch_forms[i]);
        rdn_arena_fini(&arena);
    }
    print_message("%llu pairs, %llu fired, %llu undefined, %llu given back to interp\n", (unsigned long long)pairs, (unsigned long long)fired_total,
                  (unsigned long long)undef_total, (unsigned long long)tainted);
    print_message("batches: %llu events, %llu marked, %llu answers, %llu fired\n", (unsigned long long)batched.events, (unsigned long long)batched.marked,
                  (unsigned long long)batched.rules, (unsigned long long)batched.fired);
    batch_forms_end();
    print_message("%llu programs with a rest\n", (unsigned long long)rests);
    check_forced();
    check(rests > sets / 2, "too few sets of which a batch leaves something");
    check(fired_total > pairs / 20 && undef_total > pairs / 50 && fired_total + undef_total < pairs && tainted < pairs / 4 * 3, "the generator is one-sided");
}

int main(int argc, char **argv) {
    struct rdn_program *probe = NULL;
    redan_error err = {0};
    if (argc > 1)
        sets = (unsigned)atoi(argv[1]);
    if (argc > 2)
        fake_seed = strtoull(argv[2], NULL, 0);
    rdn_syms_open(&syms, &rdn_libc_mem, 100);
    set_syms();
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    struct rdn_ir *none = rdn_ir_new(&a, syms);
    rdn_ir_seal(none);
    for each(i, executors) {
        if (!strcmp(executors[i], "interp"))
            continue;
        if (!rdn_program_open(none, executors[i], &rdn_libc_mem, &probe, &err))
            usable[nusable++] = executors[i];
        else
            printf("without %s: %s %s\n", executors[i], err.id, err.text);
        rdn_program_close(probe);
        probe = NULL;
    }
    rdn_arena_fini(&a);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    rdn_syms_close(syms);
    return rc;
}
