/* SPDX-License-Identifier: Apache-2.0
 * test_ir.c: a rule set with one of everything is built, sealed, printed and read back; each broken invariant is refused by
 * its name. */
#include "tests/unit/rows.h"
#include "base/tz.h"
#include "ir/ir.h"

static struct rdn_arena arena;
static struct rdn_syms *syms;
static jmp_buf oom;

static int setup(void **state) {
    (void)state;
    rdn_arena_init(&arena, &rdn_libc_mem);
    arena.oom = &oom;
    return setjmp(oom) || rdn_syms_open(&syms, &rdn_libc_mem, 100);
}

static int teardown(void **state) {
    (void)state;
    rdn_syms_close(syms);
    rdn_arena_fini(&arena);
    return 0;
}

static const struct rdn_type *simple(struct rdn_ir *ir, enum rdn_kind k) { return rdn_type_simple(ir->types, k); }

static rdn_id int_const(struct rdn_ir *ir, int64_t v) {
    struct rdn_cell c = { .i = v };
    const struct rdn_type *t = simple(ir, RDN_K_INT);
    return rdn_ir_node(ir, RDN_OP_CONST, RDN_TY_I64, 0, t, 0, 0, 0, rdn_ir_const(ir, RDN_TY_I64, 0, t, &c), 0, 0);
}

static rdn_id float_const(struct rdn_ir *ir, double v) {
    struct rdn_cell c = { .f = v };
    const struct rdn_type *t = simple(ir, RDN_K_FLOAT);
    return rdn_ir_node(ir, RDN_OP_CONST, RDN_TY_F64, 0, t, 0, 0, 0, rdn_ir_const(ir, RDN_TY_F64, 0, t, &c), 0, 0);
}

static rdn_id node(struct rdn_ir *ir, enum rdn_op op, const struct rdn_type *t, rdn_id a, rdn_id b, uint32_t aux) {
    unsigned scale = t->kind == RDN_K_DEC ? t->scale : 0;
    enum rdn_cell_type cell = t->kind == RDN_K_DEC && op != RDN_OP_FIELD ? RDN_TY_W128 : rdn_cell_of(t);
    return rdn_ir_node(ir, op, cell, scale, t, a, b, 0, aux, rdn_ir_span(ir, 3, 9), 0);
}

static struct rdn_cell sym(const char *s) {
    uint32_t id;
    assert_int_equal(rdn_sym_intern(syms, s, strlen(s), &id), 0);
    return (struct rdn_cell){ .i = id };
}

static void put_events(struct rdn_ir *ir) {
    const char *sides[] = { "buy", "sell" };
    struct rdn_field order[] = {
        { "account", simple(ir, RDN_K_SYM), 16, 4, false, 0 }, { "side", rdn_type_enum(ir->types, sides, 2), 20, 1, false, 0 },
        { "qty", simple(ir, RDN_K_INT), 24, 8, false, 0 },     { "px", rdn_type_dec(ir->types, 4), 32, 8, false, 0 },
        { "tag", rdn_type_str(ir->types, 5), 40, 5, true, 0 }, { "w", rdn_type_arr(ir->types, RDN_K_FLOAT, 2, 2, 2), 48, 32, false, 0 },
    };
    struct rdn_field cancel[] = { { "account", simple(ir, RDN_K_SYM), 8, 4, false, 0 } };
    ir->events = rdn_new_n(&arena, struct rdn_event, 2);
    ir->nevents = 2;
    ir->events[0] = (struct rdn_event){ .name = "Order", .canon = "Order;ts:time;", .nfields = 6, .size = 80, .has_present = true,
                                        .layout_hash = 0xd6b62966c9dc9ba2u, .part_field = 0, .cost_ps = 222300 };
    ir->events[0].fields = rdn_new_n(&arena, struct rdn_field, 6);
    memcpy(ir->events[0].fields, order, sizeof order);
    ir->events[1] = (struct rdn_event){ .name = "Cancel", .canon = "Cancel;", .nfields = 1, .size = 16, .part_field = -1 };
    ir->events[1].fields = rdn_new_n(&arena, struct rdn_field, 1);
    memcpy(ir->events[1].fields, cancel, sizeof cancel);
}

static void put_data(struct rdn_ir *ir) {
    const struct rdn_type *tsym = simple(ir, RDN_K_SYM), *tdate = simple(ir, RDN_K_DATE), *tdec = rdn_type_dec(ir->types, 2);
    ir->params = rdn_new_n(&arena, struct rdn_param, 1);
    ir->nparams = 1;
    ir->params[0] = (struct rdn_param){ "max_qty", simple(ir, RDN_K_INT), { .i = 1000 }, { .i = 1 }, { .i = 100000 }, true };
    ir->lists = rdn_new_n(&arena, struct rdn_list, 2);
    ir->nlists = 2;
    ir->lists[0] = (struct rdn_list){ "blocked", tsym, rdn_new_n(&arena, struct rdn_cell, 2), 2 };
    ir->lists[0].vals[0] = sym("EVIL \"co\"\n");
    ir->lists[0].vals[1] = sym("\xc3\xa9t\xc3\xa9");
    ir->lists[1] = (struct rdn_list){ "holidays", tdate, rdn_new_n(&arena, struct rdn_cell, 1), 1 };
    ir->lists[1].vals[0].i = 20000;
    ir->tables = rdn_new_n(&arena, struct rdn_table, 2);
    ir->ntables = 2;
    struct rdn_table *t = &ir->tables[0];
    *t = (struct rdn_table){ .name = "limits", .nkeys = 1, .ncols = 2, .nrows = 1, .cap = 1 };
    t->keys = rdn_new_n(&arena, struct rdn_column, 1);
    t->keys[0] = (struct rdn_column){ "account", tsym };
    t->cols = rdn_new_n(&arena, struct rdn_column, 2);
    t->cols[0] = (struct rdn_column){ "credit", tdec };
    t->cols[1] = (struct rdn_column){ "rate", simple(ir, RDN_K_FLOAT) };
    t->rows = rdn_new_n(&arena, struct rdn_row, 1);
    t->rows[0] = (struct rdn_row){ rdn_new_n(&arena, struct rdn_cell, 1), rdn_new_n(&arena, struct rdn_cell, 2) };
    t->rows[0].keys[0] = sym("ACME");
    t->rows[0].vals[0].d = -5000000;
    t->rows[0].vals[1].f = -0.0;
    t->def = rdn_new_n(&arena, struct rdn_cell, 2);
    t->def[0].d = 1000000;
    t->def[1].f = 0.1;
    ir->tables[1] = (struct rdn_table){ .name = "pos", .keys = t->keys, .nkeys = 1, .cols = t->cols, .ncols = 2, .host = true, .cap = 64, .row_bytes = 56 };
    ir->cals = rdn_new_n(&arena, struct rdn_calendar, 1);
    ir->ncals = 1;
    ir->cals[0] = (struct rdn_calendar){ "us", "America/New_York", rdn_new_n(&arena, struct rdn_session, 2), 2 };
    ir->cals[0].sessions[0] = (struct rdn_session){ 31, -1, 570, 960, rdn_new_n(&arena, uint32_t, 1), 1 };
    ir->cals[0].sessions[0].except[0] = 1;
    ir->cals[0].sessions[1] = (struct rdn_session){ 0, 1, 0, 1440, NULL, 0 };
    ir->zones = rdn_new_n(&arena, const struct rdn_tz *, 2);
    ir->zone_names = rdn_new_n(&arena, const char *, 2);
    ir->zones[0] = rdn_tz_find("UTC", 3);
    ir->zones[1] = rdn_tz_find("+05:30", 6);
    ir->zone_names[0] = "UTC";
    ir->zone_names[1] = "+05:30";
    ir->nzones = ir->nzone_names = 2;
}

static void put_window(struct rdn_ir *ir, rdn_id account, rdn_id notional) {
    ir->windows = rdn_new_n(&arena, struct rdn_window, 2);
    ir->nwindows = 2;
    struct rdn_window *w = &ir->windows[0];
    *w = (struct rdn_window){ .name = "sent", .agg = RDN_AGG_SUM, .accepted = true, .event = 0, .vtype = rdn_type_dec(ir->types, 4),
                              .rtype = rdn_type_dec(ir->types, 4), .nkeys = 1, .value = notional, .cap = 65536, .canon = "window1|sum",
                              .hash = 7, .cost_ps = 24800, .key_bytes = 64, .nresets = 1, .evict = RDN_EVICT_IDLE };
    w->ktypes = rdn_new_n(&arena, const struct rdn_type *, 1);
    w->ktypes[0] = simple(ir, RDN_K_SYM);
    w->keys = rdn_new_n(&arena, rdn_id, 1);
    w->keys[0] = account;
    w->resets = rdn_new_n(&arena, struct rdn_reset, 1);
    w->resets[0] = (struct rdn_reset){ 1, rdn_new_n(&arena, uint32_t, 1) };
    ir->windows[1] = (struct rdn_window){ .name = "msgs", .agg = RDN_AGG_COUNT, .event = 0, .rtype = simple(ir, RDN_K_INT), .over_ns = 1000000000,
                                          .panes = 60, .pane_ns = 16666667, .cap = 1, .canon = "window1|count", .hash = 9, .nkeys = 0 };
}

static void put_kernel(struct rdn_ir *ir) {
    const struct rdn_type *tf = simple(ir, RDN_K_FLOAT), *ti = simple(ir, RDN_K_INT), *tv = rdn_type_arr(ir->types, RDN_K_FLOAT, 1, 2, 1);
    rdn_id first = node(ir, RDN_OP_KPARAM, ti, 0, 0, 0), i = node(ir, RDN_OP_EACH, ti, 0, 0, 0), zero = int_const(ir, 0);
    rdn_id v = rdn_ir_node(ir, RDN_OP_NORMAL, RDN_TY_VEC, 0, tv, first, i, 2, 0, 0, 0);
    rdn_id x = rdn_ir_node(ir, RDN_OP_ELEM, RDN_TY_F64, 0, tf, v, zero, 0, 0, 0, RDN_NODE_SHARED), use = node(ir, RDN_OP_USE, tf, x, 0, 0);
    ir->calls = rdn_new_n(&arena, struct rdn_call, 2);
    ir->ncalls = 2;
    struct rdn_call *c = &ir->calls[0];
    *c = (struct rdn_call){ .name = "var", .kernel = true, .nparams = 1, .rtype = tf, .deadline_ns = 1000000, .paths = 1000, .reduce = RDN_RED_QUANTILE,
                            .rank = 990, .first = first, .last = use, .nlets = 1, .value = use };
    c->params = rdn_new_n(&arena, struct rdn_column, 1);
    c->params[0] = (struct rdn_column){ "seed", ti };
    c->lets = rdn_new_n(&arena, rdn_id, 1);
    c->lets[0] = x;
    ir->calls[1] = (struct rdn_call){ .name = "impact", .nparams = 2, .rtype = tf, .deadline_ns = 5, .has_default = true, .def = { .f = 0.5 } };
    ir->calls[1].params = rdn_new_n(&arena, struct rdn_column, 2);
    ir->calls[1].params[0] = (struct rdn_column){ "o", rdn_type_event(ir->types, "Order", 0) };
    ir->calls[1].params[1] = (struct rdn_column){ "x", tf };
}

static void put_rules(struct rdn_ir *ir, rdn_id when, rdn_id score_when, rdn_id points, rdn_id qty) {
    ir->codes = rdn_new_n(&arena, const char *, 2);
    ir->ncodes = 2;
    ir->codes[0] = "CREDIT";
    ir->codes[1] = "NOVALUE";
    ir->emits = rdn_new_n(&arena, struct rdn_emit_def, 1);
    ir->nemits = 1;
    ir->emits[0] = (struct rdn_emit_def){ "Alert", rdn_new_n(&arena, struct rdn_column, 1), 1 };
    ir->emits[0].cols[0] = (struct rdn_column){ "n", simple(ir, RDN_K_INT) };
    struct rdn_action *undef = rdn_new_n(&arena, struct rdn_action, 1), *acts = rdn_new_n(&arena, struct rdn_action, 3);
    *undef = (struct rdn_action){ .verb = RDN_V_REJECT, .code = 1 };
    acts[0] = (struct rdn_action){ .verb = RDN_V_HOLD, .code = 0, .for_ns = 250, .has_msg = true, .nmsg = 2 };
    acts[0].msg = rdn_new_n(&arena, struct rdn_part, 2);
    acts[0].msg[0] = (struct rdn_part){ "qty ; \\ \t", 9, 0 };
    acts[0].msg[1] = (struct rdn_part){ NULL, 0, qty };
    acts[1] = (struct rdn_action){ .verb = RDN_V_EMIT, .code = 0, .nfields = 1 };
    acts[1].fields = rdn_new_n(&arena, struct rdn_emit_field, 1);
    acts[1].fields[0] = (struct rdn_emit_field){ "n", qty, simple(ir, RDN_K_INT) };
    acts[2] = (struct rdn_action){ .verb = RDN_V_SCORE, .code = 0, .points = points };
    ir->rules = rdn_new_n(&arena, struct rdn_rule, 2);
    ir->nrules = 2;
    ir->rules[0] = (struct rdn_rule){ .name = "credit", .priority = -3, .when = when, .when_span = 1, .acts = acts, .nacts = 3, .undef = undef, .cost_ps = 9 };
    ir->rules[1] = (struct rdn_rule){ .name = "late", .shadow = true, .when = score_when, .acts = acts, .nacts = 1, .undef = undef };
}

/* One of everything. */
static struct rdn_ir *sample(void) {
    struct rdn_ir *ir = rdn_ir_new(&arena, syms);
    const struct rdn_type *tb = simple(ir, RDN_K_BOOL), *ti = simple(ir, RDN_K_INT), *tf = simple(ir, RDN_K_FLOAT), *tx = simple(ir, RDN_K_TEXT);
    ir->name = "sample";
    ir->version = 7;
    ir->file = "a file.rdn";
    ir->source = "rule \"x\"\n  when";
    ir->source_len = 15;
    ir->partition = "account";
    ir->budget_ns = 2000;
    ir->memory_bytes = 4096;
    put_events(ir);
    put_data(ir);
    put_kernel(ir);
    rdn_id account = node(ir, RDN_OP_FIELD, simple(ir, RDN_K_SYM), 0, 0, 0), qty = node(ir, RDN_OP_FIELD, ti, 0, 0, 2);
    rdn_id px = node(ir, RDN_OP_FIELD, rdn_type_dec(ir->types, 4), 0, 0, 3), notional = node(ir, RDN_OP_MUL, rdn_type_dec(ir->types, 4), qty, px, 0);
    put_window(ir, account, notional);
    rdn_id sent = rdn_ir_node_n(ir, RDN_OP_WREAD, RDN_TY_W128, 4, rdn_type_dec(ir->types, 4), &account, 1, 0, 0, 0, RDN_NODE_TRACE);
    rdn_id credit = rdn_ir_node_n(ir, RDN_OP_TREAD, RDN_TY_D64, 2, rdn_type_dec(ir->types, 2), &account, 1, 0, 0, 0, 0);
    rdn_id over = node(ir, RDN_OP_GT, tb, sent, credit, 0), msgs = rdn_ir_node_n(ir, RDN_OP_WREAD, RDN_TY_I64, 0, ti, NULL, 0, 0, 1, 0, 0);
    rdn_id limit = node(ir, RDN_OP_PARAM, ti, 0, 0, 0), busy = node(ir, RDN_OP_GE, tb, msgs, limit, 0), listed = node(ir, RDN_OP_INLIST, tb, account, 0, 0);
    rdn_id open = node(ir, RDN_OP_INCAL, tb, node(ir, RDN_OP_NOW, simple(ir, RDN_K_TIME), 0, 0, 0), 0, 0), seed = int_const(ir, 42);
    rdn_id var = rdn_ir_node_n(ir, RDN_OP_CALL, RDN_TY_F64, 0, tf, &seed, 1, 0, 0, 0, 0), x = float_const(ir, 0x1.8p-3);
    rdn_id args[2] = { node(ir, RDN_OP_EVROW, rdn_type_event(ir->types, "Order", 0), 0, 0, 0), x };
    rdn_id impact = rdn_ir_node_n(ir, RDN_OP_CALL, RDN_TY_F64, 0, tf, args, 2, 0, 1, 0, 0), worse = node(ir, RDN_OP_LT, tb, var, impact, 0);
    struct rdn_cell c = { .t = { "a\0b", 3 } };
    rdn_id text = rdn_ir_node(ir, RDN_OP_CONST, RDN_TY_STR, 0, tx, 0, 0, 0, rdn_ir_const(ir, RDN_TY_STR, 0, tx, &c), 0, 0);
    rdn_id tag = node(ir, RDN_OP_FIELD, rdn_type_str(ir->types, 5), 0, 0, 4), same = node(ir, RDN_OP_EQ, tb, tag, text, 0);
    rdn_id hour = node(ir, RDN_OP_HOUR, ti, node(ir, RDN_OP_TS, simple(ir, RDN_K_TIME), 0, 0, 0), 0, 1), early = node(ir, RDN_OP_LT, tb, hour, limit, 0);
    rdn_id all = over, parts[] = { busy, listed, open, worse, same, early };
    for (unsigned i = 0; i < 6; i++)
        all = node(ir, i & 1 ? RDN_OP_OR : RDN_OP_AND, tb, all, parts[i], 0);
    rdn_id high = node(ir, RDN_OP_GT, tb, node(ir, RDN_OP_SCORE, ti, 0, 0, 0), limit, 0);
    put_rules(ir, all, high, hour, qty);
    return ir;
}

static char *text_of(const struct rdn_ir *ir) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_ir_print(&b, ir);
    assert_false(b.failed);
    char *s = rdn_arena_strndup(&arena, b.p, b.n);
    rdn_buf_fini(&b);
    return s;
}

static void builder_shares_constants_and_keeps_order(void **state) {
    (void)state;
    struct rdn_ir *ir = rdn_ir_new(&arena, syms);
    rdn_id a = int_const(ir, 5), b = int_const(ir, 5), f = float_const(ir, 0.0), g = float_const(ir, -0.0);
    assert_int_equal(ir->nodes.v[a].aux, ir->nodes.v[b].aux);
    assert_int_not_equal(ir->nodes.v[f].aux, ir->nodes.v[g].aux);    /* equal, but not the same bits */
    assert_int_not_equal(a, b);                                      /* uses keep their own node and span */
    rdn_id args[3] = { b, a, b }, buf[3];
    rdn_id m = rdn_ir_node_n(ir, RDN_OP_MIN, RDN_TY_I64, 0, simple(ir, RDN_K_INT), args, 3, 0, 0, 0, 0);
    uint32_t n;
    const rdn_id *got = rdn_node_args(ir, &ir->nodes.v[m], buf, &n);
    assert_int_equal(n, 3);
    assert_memory_equal(got, args, sizeof args);
    const struct { uint32_t at, line, col; } rows[] = { { 0, 1, 1 }, { 4, 1, 5 }, { 8, 1, 9 }, { 9, 2, 1 }, { 15, 2, 7 } };
    ir->source = "rule \"x\"\n  when";
    ir->source_len = 15;
    for each(i, rows) {
        uint32_t line, col;
        rdn_ir_linecol(ir, rdn_ir_span(ir, rows[i].at, rows[i].at), &line, &col);
        check(line == rows[i].line && col == rows[i].col, "byte %u is %u:%u", rows[i].at, line, col);
    }
}

static void sealing_indexes_and_inherits(void **state) {
    (void)state;
    struct rdn_ir *ir = sample();
    rdn_ir_seal(ir);
    const struct rdn_event *order = &ir->events[0], *cancel = &ir->events[1];
    assert_int_equal(order->nobserved, 1);
    assert_int_equal(order->observed[0], 1);
    assert_int_equal(order->naccepted, 1);
    assert_int_equal(order->accepted[0], 0);
    assert_int_equal(order->nresets, 0);
    assert_int_equal(cancel->nresets, 1);
    assert_int_equal(cancel->resets[0], 0);
    assert_int_equal(order->nrules, 2);
    assert_true(ir->rules[0].calls && !ir->rules[0].late);
    assert_true(ir->rules[1].late && !ir->rules[1].calls);
    assert_true(ir->nodes.v[ir->calls[0].value].flags & RDN_NODE_EACH);
}

static bool same_identity(const struct rdn_ir *a, const struct rdn_ir *b) {
    uint8_t x[32], y[32];
    rdn_ir_hash(a, x);
    rdn_ir_hash(b, y);
    return memcmp(x, y, sizeof x) == 0;
}

static void text_round_trip(void **state) {
    (void)state;
    struct rdn_ir *ir = sample(), *back;
    redan_error err = { 0 };
    check(rdn_ir_verify(ir, &err) == 0, "%s", err.text);
    rdn_ir_seal(ir);
    char *text = text_of(ir);
    check(rdn_ir_read(&arena, syms, text, strlen(text), &back, &err) == 0, "%s\n%s", err.text, text);
    assert_string_equal(text_of(back), text);
    assert_true(same_identity(back, ir));
    assert_string_equal(back->source, ir->source);
    assert_int_equal(back->consts.v[back->consts.n - 1].val.t.len, 3);
    /* Another symbol table gives the same identity. */
    struct rdn_syms *other;
    assert_int_equal(rdn_syms_open(&other, &rdn_libc_mem, 100), 0);
    uint32_t id;
    rdn_sym_intern(other, "shift", 5, &id);
    assert_int_equal(rdn_ir_read(&arena, other, text, strlen(text), &back, &err), 0);
    assert_true(same_identity(back, ir));
    rdn_syms_close(other);
}

static void hash_tells_rule_sets_apart(void **state) {
    (void)state;
    struct rdn_ir *ir = sample();
    uint8_t was[32], now[32];
    rdn_ir_hash(ir, was);
    ir->file = "elsewhere.rdn";
    rdn_ir_hash(ir, now);
    assert_memory_equal(was, now, 32);
    ir->spans.v[1].a++;                                  /* positions are part of an answer */
    rdn_ir_hash(ir, now);
    assert_memory_not_equal(was, now, 32);
    ir->spans.v[1].a--;
    ir->params[0].val.i++;
    rdn_ir_hash(ir, now);
    assert_memory_not_equal(was, now, 32);
}

/* Each row changes the text of the sample in one place; the first occurrence of `from`. */
static const struct { const char *from, *to, *says; } broken[] = {
    { "ruleset", "rulesets", "'ruleset' expected" },
    { "\nend\n", "\nend\nmore", "text after the end" },
    { "\nend\n", "\n", "'end' expected" },
    { "version 7", "version -7", "not a number" },
    { "hash d6b6", "hash D6B6", "hex digits" },
    { " field \"qty\" int", " field \"qty\" integer", "unknown type" },
    { "enum(buy,sell)", "enum(buy,,sell)", "bad enum" },
    { "float[2,2]", "float[2,9999]", "out of range" },
    { "float[2,2]", "float[64,65]", "bad array" },
    { "param \"max_qty\" int = 1000", "param \"max_qty\" int = 1000 1000", "more than the line" },
    { "\"EVIL \\\"co\\\"\\x0a\"", "\"EVIL", "does not end" },
    { "zone \"+05:30\"", "zone \"Mars/Base\"", "unknown time zone" },
    { "size 80", "size 81", "events have the layout of chapter 5" },
    { "part 0", "part 6", "the partition field is a field" },
    { "at 24 size 8", "at 28 size 8", "fields have the layout of chapter 5" },
    { "at 24 size 8", "at 24 size 4", "fields have the layout of chapter 5" },
    { "at 24 size 8", "at 16 size 8", "fields are in the row and apart" },
    { "at 48 size 32", "at 56 size 32", "fields are in the row and apart" },
    { "optional 0", "optional 64", "out of range" },
    { "size 80 present", "size 80", "optional fields have a presence bit each" },
    { "in 1 100000", "in !1 100000", "parameters have a range" },
    { "int = 1000", "int = !3", "parameters have a value" },
    { "list \"holidays\" date\n item 20000", "list \"holidays\" date\n item 2147483648", "elements are values of their list" },
    { "table \"pos\" host cap 64", "table \"pos\" host cap 0", "host tables are empty and bounded" },
    { "row_bytes 56\n key \"account\" sym", "row_bytes 56\n key \"account\" float", "keys have key types" },
    { "zone \"America/New_York\"", "zone \"America/Nowhere\"", "zones are known" },
    { "open 570", "open 1441", "out of range" },
    { "list 1 open", "list 0 open", "sessions name days or a list of dates" },
    { "  except 1", "  except 2", "sessions name days or a list of dates" },
    { "span 3 9", "span 9 3", "spans are in the source" },
    { "span 3 9", "span 3 99", "spans are in the source" },
    { "const i64 int 42", "const f64 int 42", "machine and language type agree" },
    { "normal vec float[2] 1 2 c 2", "normal vec float[2] 1 2 c 3", "operands fit the operation" },
    { "normal vec float[2] 1 2 c 2", "normal vec float[2] 1 4 c 2", "operands have smaller ids" },
    { "normal vec float[2] 1 2 c 2", "normal vec float[2] 1 0 c 2", "operands have smaller ids" },
    { "mul w128 scale 4 dec(4)", "mul w128 scale 3 dec(3)", "operands fit the operation" },
    { "mul w128 scale 4 dec(4)", "mul w128 scale 4 dec(3)", "machine and language type agree" },
    { "mul w128", "mux w128", "unknown word" },
    { "field i64 int aux 2", "field i64 int aux 1", "operands fit the operation" },
    { "field i64 int aux 2", "field i64 int aux 9", "operands fit the operation" },
    { "field i64 int aux 2", "field i64 int c 1 aux 2", "places without an operand are empty" },
    { "wread w128 scale 4 dec(4) of 1 7", "wread w128 scale 4 dec(4) of 1 8", "operands fit the operation" },
    { "wread w128 scale 4 dec(4) of 1 7", "wread w128 scale 4 dec(4) of 0", "operands fit the operation" },
    { "wread w128 scale 4 dec(4) of 1 7", "wread w128 scale 4 dec(4) of 4000000000 7", "not a number" },
    { "param i64 int", "param i64 int aux 1", "operands fit the operation" },
    { "hour i64 int 29 aux 1", "hour i64 int 29 aux 2", "operands fit the operation" },
    { "evrow row @0", "evrow row @1", "operands fit the operation" },
    { "evrow row @0", "evrow row @9", "no such event" },
    { "flags 1 ", "flags 32 ", "out of range" },
    { " at 1\n", " at 2\n", "spans are in the table" },
    { "window \"sent\" sum event 0", "window \"sent\" sum event 2", "windows are on an event" },
    { "window \"sent\" sum", "window \"sent\" avg", "aggregates fit their types" },
    { "window \"sent\" sum event 0 accepted evict idle of dec(4) to dec(4) value 10", "window \"sent\" sum event 0 accepted evict idle of dec(4) to dec(4) value 8",
      "windows have a value of their type" },
    { "cap 65536", "cap 0", "windows have a capacity" },
    { "panes 60", "panes 1025", "panes divide a time span" },
    { "over_ns 1000000000 panes 60 pane_ns 16666667", "over_ns 1000000000", "time windows are in panes or exact" },
    { " key 7 sym\n", " key 8 sym\n", "windows have keys of their types" },
    { " reset 1 0", " reset 0 0", "resets are on another event" },
    { " reset 1 0", " reset 1 1", "resets name a field for each key" },
    { "paths 1000", "paths 0", "kernels have 1 to" },
    { "rank 990", "rank 1001", "the rank of a quantile is a path" },
    { "first 1 last 6", "first 6 last 1", "kernel bodies are ranges of nodes" },
    { "first 1 last 6", "first 2 last 6", "operands fit the operation" },
    { "first 1 last 6", "first 1 last 9", "kernel bodies are closed" },
    { "value 6\n", "value 4\n", "the reduced value is a float of the body" },
    { " let 5", " let 7", "lets of a kernel are in its body" },
    { "when 37", "when 8", "conditions are bools of their event" },
    { "when 37", "when 99", "conditions are bools of their event" },
    { "rule \"credit\" event 0", "rule \"credit\" event 1", "operands fit the operation" },
    { "score code 0 points 30", "score code 0 points 31", "only score has points" },
    { "score code 0 points 30", "flag code 2", "codes are in the table" },
    { "emit code 0", "emit code 1", "emits are declared" },
    { "  set \"n\" int 8", "  set \"n\" int 9", "fields of an emit have a value of their type" },
    { " undefined reject code 1\nrule", "rule", "rules say what an undefined condition does" },
};

static void broken_texts_are_refused_by_name(void **state) {
    (void)state;
    struct rdn_ir *ir = sample(), *back;
    rdn_ir_seal(ir);
    const char *text = text_of(ir);
    for each(i, broken) {
        const char *at = strstr(text, broken[i].from);
        check(at, "row %zu is not in the sample:\n%s", i, text);
        char *bad = rdn_arena_printf(&arena, "%.*s%s%s", (int)(at - text), text, broken[i].to, at + strlen(broken[i].from));
        redan_error err = { 0 };
        int rc = rdn_ir_read(&arena, syms, bad, strlen(bad), &back, &err);
        check(rc == REDAN_E_CORRUPT && !strcmp(err.id, "R2109") && strstr(err.text, broken[i].says), "row %zu \"%s\" -> \"%s\": %d %s %s", i,
              broken[i].from, broken[i].to, rc, err.id, err.text);
    }
}

/* Every prefix, and every byte changed: never a crash, never a rule set that does not verify. */
static void damaged_texts_never_crash(void **state) {
    (void)state;
    struct rdn_ir *ir = sample(), *back;
    rdn_ir_seal(ir);
    const char *text = text_of(ir);
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        struct rdn_arena own;
        rdn_arena_init(&own, &rdn_libc_mem);
        redan_error err = { 0 };
        char *copy = rdn_arena_strndup(&own, text, n);
        copy[i] = (char)(copy[i] ^ (1 << i % 7));
        if (rdn_ir_read(&own, syms, copy, n, &back, &err) == 0)
            check(rdn_ir_verify(back, &err) == 0, "byte %zu: %s", i, err.text);
        if (i % 5 == 0)
            check(rdn_ir_read(&own, syms, text, i, &back, &err) == REDAN_E_CORRUPT, "prefix %zu", i);
        rdn_arena_fini(&own);
    }
}

static void op_facts(void **state) {
    (void)state;
    static const struct { enum rdn_op op; const char *text; unsigned arity; } rows[] = {
        { RDN_OP_CONST, "const", 0 }, { RDN_OP_WREAD, "wread", RDN_NARY }, { RDN_OP_SEL, "sel", 3 }, { RDN_OP_NOT, "not", 1 }, { RDN_OP_UNIFORM, "uniform", 2 },
    };
    for each(i, rows)
        check(rdn_op_arity(rows[i].op) == rows[i].arity && !strcmp(rdn_op_text(rows[i].op), rows[i].text), "%s", rows[i].text);
    assert_string_equal(rdn_cause_text(RDN_CAUSE_DIV0), "div0");
    assert_string_equal(rdn_cause_text((enum rdn_cause)8), "plugin");
    assert_string_equal(rdn_verb_text(RDN_V_THROTTLE), "throttle");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(builder_shares_constants_and_keeps_order, setup, teardown),
        cmocka_unit_test_setup_teardown(sealing_indexes_and_inherits, setup, teardown),
        cmocka_unit_test_setup_teardown(text_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(hash_tells_rule_sets_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_texts_are_refused_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_texts_never_crash, setup, teardown),
        cmocka_unit_test(op_facts),
    };
    return cmocka_run_group_tests_name("ir", tests, NULL, NULL);
}
