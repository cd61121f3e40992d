/* SPDX-License-Identifier: Apache-2.0
 * Every form of predicate with edge values on both sides: `table` and every other executor answer what interp answers, one event
 * at a time and in batches. Controls: every form is met, and a form turned into its neighbour is found out. */
#include "tests/unit/rows.h"
#include "jit/frame.h"
#include "jit/selfcheck.h"
#include "jit/unit.h"
#include "tests/unit/jit/batch_kit.h"
#include "tests/unit/jit/random_set.h"

enum { MOST_RULES = 4096, EVENTS = 484 };
static const uint8_t ops[6] = {RDN_OP_LT, RDN_OP_LE, RDN_OP_GT, RDN_OP_GE, RDN_OP_EQ, RDN_OP_NE};
static uint8_t *rows;
static struct fake lane;
static struct rdn_cell params[4];

static void add_rule(rdn_id when) {
    assert_true(ir->nrules < MOST_RULES);
    struct rdn_rule *r = &ir->rules[ir->nrules++];
    r->name = "r";
    r->when = when;
}
static rdn_id compare(unsigned op, rdn_id a, rdn_id b) { return node(op, RDN_TY_B1, 0, t_bool, a, b, 0, 0); }
static rdn_id f64(unsigned op, rdn_id a, rdn_id b) { return node(op, RDN_TY_F64, 0, t_float, a, b, 0, 0); }
static rdn_id dec(unsigned op, unsigned scale, rdn_id a, rdn_id b) { return node(op, RDN_TY_W128, scale, t_dec[scale], a, b, 0, 0); }

/* As many constants as make a run of the first field, fewer of the second. */
static void constants(unsigned op) {
    for each(i, edge_f64)
        if (!isnan(edge_f64[i])) {
            add_rule(compare(op, field(F_F0), c_f64(edge_f64[i])));
            add_rule(compare(op, c_f64(edge_f64[i]), field(F_F0)));
            if (i % 4 == 0)
                add_rule(compare(op, field(F_F1), c_f64(edge_f64[i])));
        }
    for each(i, edge_i64) {
        add_rule(compare(op, field(F_I0), c_int(edge_i64[i])));
        add_rule(compare(op, c_int(edge_i64[i]), field(F_I0)));
        if (i % 4 == 0)
            add_rule(compare(op, field(F_I1), c_int(edge_i64[i])));
    }
    add_rule(compare(op, field(F_F3), c_f64(0.5)));      /* optional ones, narrow ones */
    add_rule(compare(op, field(F_I2), c_int(7)));
    add_rule(compare(op, field(F_DU), field(F_DU)));
}
static void pairs(unsigned op) {
    static const double ks[] = {1.0, -0.5, 3.0, 1e308, -1e-300, 0.0};
    add_rule(compare(op, field(F_F0), field(F_F1)));
    add_rule(compare(op, field(F_I0), field(F_I1)));
    add_rule(compare(op, field(F_D0), field(F_D1)));
    add_rule(compare(op, dec(RDN_OP_MUL, 6, field(F_D0), field(F_D1)), field(F_D0)));
    add_rule(compare(op, dec(RDN_OP_ADD, 2, field(F_D0), field(F_D3)), field(F_D0)));
    for each(i, ks) {
        rdn_id x = f64(RDN_OP_MUL, field(F_F0), c_f64(ks[i])), y = f64(RDN_OP_MUL, field(F_F1), c_f64(ks[(i + 1) % N_OF(ks)]));
        add_rule(compare(op, x, y));
        add_rule(compare(op, x, field(F_F1)));
        for each(c, edge_f64) {
            if (isnan(edge_f64[c]) || c % 3 != i % 3)
                continue;
            double k = ks[i] * (1.0 + (double)c / 8 + op);   /* of its own: what rules share becomes a cell */
            rdn_id left = f64(RDN_OP_MUL, field(F_F0), c_f64(k)), right = f64(RDN_OP_MUL, field(F_F1), c_f64(k));
            add_rule(compare(op, f64(i % 2 ? RDN_OP_ADD : RDN_OP_SUB, left, field(F_F1)), c_f64(edge_f64[c])));
            add_rule(compare(op, c_f64(edge_f64[c]), f64(i % 2 ? RDN_OP_SUB : RDN_OP_ADD, field(F_F0), right)));
        }
    }
}
/* Of every width, with nothing and with one undefined operand among them. */
static void junctions(unsigned op) {
    for (unsigned n = 2; n <= 8; n++)
        for (unsigned first = 0; first < 3; first++) {
            rdn_id all = compare(RDN_OP_GT, field(first == 2 ? F_F3 : F_F0), c_f64(first));
            for (unsigned i = 1; i < n; i++)
                all = node(op, RDN_TY_B1, 0, t_bool, all, compare(ops[(i + n) % 6], field(i % 2 ? F_F1 : F_I0), i % 2 ? c_f64(i * 0.5) : c_int((int64_t)i)), 0, 0);
            add_rule(all);
            add_rule(node(RDN_OP_NOT, RDN_TY_B1, 0, t_bool, all, 0, 0, 0));
        }
}
static void truths(void) {
    rdn_id b0 = field(F_B0), b1 = field(F_B1), less = compare(RDN_OP_LT, field(F_F0), field(F_F1));
    add_rule(b0);
    add_rule(b1);
    add_rule(compare(RDN_OP_EQ, b0, less));
    add_rule(compare(RDN_OP_NE, b1, less));
    add_rule(node(RDN_OP_SEL, RDN_TY_B1, 0, t_bool, less, b0, b1, 0));
    add_rule(node(RDN_OP_SEL, RDN_TY_B1, 0, t_bool, b1, less, less, 0));
}
static void make_set(void) {
    start_ir();
    ir->rules = rdn_new_n(&arena, struct rdn_rule, MOST_RULES);
    for each(i, ops) {
        constants(ops[i]);
        pairs(ops[i]);
    }
    junctions(RDN_OP_AND);
    junctions(RDN_OP_OR);
    truths();
    rdn_ir_seal(ir);
    for (unsigned i = 0; i < 4; i++)
        params[i] = ir->params[i].val;
}
/* Every pair of float edges; integers and decimals go through theirs at other speeds. */
static void make_rows(void) {
    const struct rdn_event *ev = &ir->events[0];
    rows = calloc(EVENTS, ev->size);
    for (unsigned i = 0; i < EVENTS; i++) {
        uint8_t *row = rows + (size_t)i * ev->size;
        const int64_t wholes[] = {edge_i64[i % N_OF(edge_i64)], edge_i64[i / 7 % N_OF(edge_i64)]};
        fake_row(ir, ev, row);
        memcpy(row + ev->fields[F_F0].offset, &edge_f64[i % N_OF(edge_f64)], 8);
        memcpy(row + ev->fields[F_F1].offset, &edge_f64[i / N_OF(edge_f64) % N_OF(edge_f64)], 8);
        for (unsigned k = 0; k < 2; k++) {
            memcpy(row + ev->fields[F_I0 + k].offset, &wholes[k], 8);
            memcpy(row + ev->fields[F_D0 + k].offset, &wholes[1 - k], 8);
        }
    }
}

/* ---- one executor ---- */
struct pair { struct rdn_program *pi, *px; struct rdn_frame *fi, *fx; };
static void open_pair(struct pair *p, const char *backend) {
    redan_error err = {0};
    rdn_selfcheck_us = 0;
    check(!rdn_program_open(ir, "interp", &rdn_libc_mem, &p->pi, &err) && !rdn_program_open(ir, backend, &rdn_libc_mem, &p->px, &err), "%s", err.text);
    assert_int_equal(rdn_frame_open(p->pi, &fake_helpers, &lane, params, &rdn_libc_mem, &p->fi, &err), 0);
    assert_int_equal(rdn_frame_open(p->px, &fake_helpers, &lane, params, &rdn_libc_mem, &p->fx, &err), 0);
}
static void close_pair(struct pair *p) {
    rdn_frame_close(p->fi);
    rdn_frame_close(p->fx);
    rdn_program_close(p->pi);
    rdn_program_close(p->px);
}
/* Answers that differ, over all events; *ret_undef: undefined ones. */
static uint64_t differences(struct pair *p, uint64_t *ret_undef) {
    struct rdn_frame_head *a = rdn_frame_head(p->fi), *b = rdn_frame_head(p->fx);
    uint64_t n = 0;
    for (unsigned e = 0; e < EVENTS; e++) {
        const uint8_t *row = rows + (size_t)e * ir->events[0].size;
        rdn_exec_begin(p->fi, 0, row, 9, 9);
        rdn_exec_begin(p->fx, 0, row, 9, 9);
        rdn_exec_rules(p->fi, RDN_EARLY);
        rdn_exec_rules(p->fx, RDN_EARLY);
        for (uint32_t w = 0; w < (ir->nrules + 63) / 64; w++) {
            n += (unsigned)__builtin_popcountll((a->fired[w] ^ b->fired[w]) | (a->undef[w] ^ b->undef[w]));
            *ret_undef += (unsigned)__builtin_popcountll(a->undef[w]);
        }
    }
    return n;
}

#define EXEC(name, impl, doc) #name,
#define ABSENT(name, doc)
static const char *const executors[] = {
#include "jit/executors.def"
};
#undef EXEC
#undef ABSENT
static void test_edges(void **state) {
    (void)state;
    for each(i, executors) {
        struct rdn_program *probe = NULL;
        redan_error err = {0};
        if (rdn_program_open(ir, executors[i], &rdn_libc_mem, &probe, &err)) {
            print_message("without %s: %s %s\n", executors[i], err.id, err.text);
            continue;
        }
        rdn_program_close(probe);
        struct pair p;
        uint64_t undef = 0;
        open_pair(&p, executors[i]);
        check(differences(&p, &undef) == 0, "%s differs from interp", executors[i]);
        check(undef > EVENTS, "hardly anything is undefined");
        struct batch_kit k = {.ir = ir, .px = p.px, .fi = p.fi, .fx = p.fx, .what = executors[i]};
        static int64_t now[EVENTS];
        batch_compare(&k, 0, rows, ir->events[0].size, EVENTS, now);
        batch_compare(&k, 0, rows, ir->events[0].size, 71, now);
        close_pair(&p);
    }
}

static const char *const kind_text[] = {
#define KIND(name, doc) #name,
#define CODE(name, doc)
#include "jit/preds.def"
#undef KIND
#undef CODE
};
static struct rdn_pred_step *steps_of(const struct pair *p, uint32_t *ret_n) {
    const struct rdn_preds *preds = ((const struct rdn_unit *)p->px->x)->events[0].preds;
    *ret_n = preds->nsteps;
    return preds->steps;
}
static void test_controls(void **state) {
    (void)state;
    static const struct { uint8_t is, as; } turned[] = {
        {RDN_PRED_F_LT, RDN_PRED_F_LE}, {RDN_PRED_F_GT, RDN_PRED_F_GE}, {RDN_PRED_F_EQ, RDN_PRED_F_LE}, {RDN_PRED_I_LT, RDN_PRED_I_LE}, {RDN_PRED_I_GE, RDN_PRED_I_GT},
        {RDN_PRED_FX_LE, RDN_PRED_FX_LT}, {RDN_PRED_IX_LT, RDN_PRED_IX_LE}, {RDN_PRED_L_LT, RDN_PRED_L_LE}, {RDN_PRED_L_NE, RDN_PRED_L_LT},
        {RDN_PRED_P_LE, RDN_PRED_P_LT}, {RDN_PRED_II_LE, RDN_PRED_II_LT}, {RDN_PRED_WW_LE, RDN_PRED_WW_LT}, {RDN_PRED_AND2, RDN_PRED_OR2},
        {RDN_PRED_AND3, RDN_PRED_OR3}, {RDN_PRED_ANDN, RDN_PRED_ORN}, {RDN_PRED_OR3, RDN_PRED_AND3}};
    bool met[RDN_PRED_COUNT] = {0};
    struct pair p;
    uint32_t n;
    uint64_t undef = 0;
    open_pair(&p, "table");
    struct rdn_pred_step *steps = steps_of(&p, &n);
    for (uint32_t i = 0; i < n; i++)
        met[steps[i].kind] = true;
    for (unsigned k = 0; k < RDN_PRED_COUNT; k++)
        check(met[k], "no step of kind %s", kind_text[k]);
    for each(i, turned) {
        uint32_t at = 0;
        while (steps[at].kind != turned[i].is)
            at++;
        steps[at].kind = turned[i].as;
        check(differences(&p, &undef) > 0, "%s as %s is not noticed", kind_text[turned[i].is], kind_text[turned[i].as]);
        steps[at].kind = turned[i].is;
    }
    check(differences(&p, &undef) == 0, "not as before");
    close_pair(&p);
}

int main(void) {
    rdn_syms_open(&syms, &rdn_libc_mem, 100);
    set_syms();
    make_set();
    make_rows();
    lane.ir = ir;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges), cmocka_unit_test(test_controls)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(rows);
    rdn_arena_fini(&arena);
    rdn_syms_close(syms);
    return rc;
}
