/* SPDX-License-Identifier: Apache-2.0
 * redan_eval_batch and redan_eval_columns answer what redan_eval answers row by row, on every executor, however the rows are cut into
 * calls: verdict, codes, score, undefined rules and their causes, emits, messages, times, and what the windows say afterwards. */
#include "tests/unit/host/engine_kit.h"
#include "host/host.h"
#include "jit/frame.h"

enum { N = 700 };
static uint64_t seed = 1;
static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static const struct { const char *why, *text; } sets[] = {
    {"stateless: nothing is left after the batch",
     HEAD "rule a on Order { when qty > 900 and side == \"buy\" reject BIG \"qty {qty}\" }\nrule b on Order { when f * 2.0 > float(px) and qty < 500 hold F for 3s }\n"
          "rule c on Order { when account in [\"ACME\", \"BETA\"] and not b flag C }\nrule d on Order shadow { when qty > 500 flag D }\n"},
    {"an optional field, with a default and without",
     HEAD "rule a on Order { when opt > 10 flag A undefined flag U }\nrule b on Order { when (opt ?? 7) == 7 and qty > 300 flag B }\nrule c on Order { when defined(opt) and b flag C }\n"},
    {"decimals and integers at the edge of 64 bits",
     HEAD "rule a on Order { when px * qty > 1_000_000.0 flag A }\nrule b on Order { when qty * qty * qty > 5 flag B }\nrule c on Order { when qty + 9223372036854775000 > 0 flag C undefined reject OVER }\n"},
    {"a parameter", HEAD "param most: int = 700\nrule a on Order { when qty > most throttle A }\nrule b on Order { when now - ts > 2ms flag OLD }\n"},
    {"windows, score and a late rule",
     HEAD "window n = count() by account on Order\nwindow s = sum(qty) on accepted Order\nrule a on Order { when qty > 500 score A 3 }\nrule b on Order { when n > 20 score B qty }\n"
          "rule c on Order { when score > 400 reject S }\nrule d on Order { when s > 100000 flag SUM }\n"},
    {"a stateless rule that feeds a window", HEAD "window s = sum(qty) on accepted Order\nrule a on Order { when qty > 600 reject A \"{s}\" }\n"},
    {"emits end a call", HEAD "rule a on Order { when qty > 900 emit At { q: qty, t: upper(account) } flag E }\nrule b on Order { when side == \"sell\" flag S }\n"},
    {"a late rule and nothing else that is left", HEAD "rule a on Order { when qty > 500 score A 3 }\nrule b on Order { when b score B 4 }\nrule c on Order { when score > 5 reject S }\n"},
    {"rules for vectors and others beside them: windows, texts, calls of functions, optional fields",
     HEAD "param most: int = 700\nwindow n = count() by account on Order\nwindow s = sum(qty) by account on accepted Order\n"
          "rule a on Order { when tag == \"ab\" and qty > most flag A }\nrule b on Order { when n > 20 and f > 0.1 flag B }\n"
          "rule c on Order { when sqrt(f) > 2.0 flag C }\nrule d on Order { when log2(f) > 3.0 and qty < most flag D }\n"
          "rule e on Order { when s > 5000 and qty * qty > 10000 flag E undefined flag U }\nrule f on Order { when opt > 10 flag F }\n"
          "rule g on Order { when (opt ?? 3) < n flag G }\nrule h on Order { when f / 3.0 < 50.0 and f * f > 5.0 and f + 1.0 > 2.0 and f - 7.5 < 100.0 flag H }\n"
          "rule i on Order { when f / 7.0 < 50.0 and f * 3.0 > 5.0 and f + 2.0 > 2.0 and sqrt(f) < 100.0 flag I }\n"
          "rule j on Order { when f / 9.0 < 50.0 and f * 4.0 > 5.0 and f + 3.0 > 2.0 and sqrt(f) < 200.0 flag J }\n"
          "rule k on Order { when qty > 600 score K 3 }\nrule l on Order { when score > 2 and n > 3 flag L }\n"},
    {"texts are not for vectors", HEAD "rule a on Order { when tag == \"ab\" flag A }\nrule b on Order { when qty > 400 flag B }\n"},
};

struct side { struct kit k; size_t calls; };
static void start(struct side *s, const char *text) {
    uint32_t id;
    kit_start(&s->k, text);
    check(redan_sym(s->k.eng, "BETA", 4, &id) == 0 && redan_sym(s->k.eng, "CETA", 4, &id) == 0, "syms");
    s->calls = 0;
}
static void fill(struct order *rows, uint32_t first_sym) {
    static const double floats[] = {0.5, -3.0, 200.0, 1e300, 0.0};
    memset(rows, 0, N * sizeof *rows);
    for (uint32_t i = 0; i < N; i++) {
        struct order *o = &rows[i];
        o->ts = 1000 + i - (below(9) ? 0 : below(20));
        o->present = below(4) != 0;
        o->account = first_sym + below(3);
        o->side = (uint8_t)below(2);
        o->qty = below(12) ? below(1000) : below(2) ? INT64_MAX - below(900) : -(int64_t)below(50);
        o->px = below(12) ? below(10000) : INT64_MAX;
        o->tag[0] = 'a';
        o->tag[1] = (char)(below(2) ? 'b' : 0);
        o->f = below(12) ? floats[below(5)] : below(2) ? __builtin_nan("") : __builtin_inf();
        o->b = (uint8_t)below(2);
        o->opt = below(20);
    }
}

static bool same_value(const redan_value *a, const redan_value *b) {
    return a->type == b->type && a->len == b->len && (a->type == REDAN_T_TEXT ? !memcmp(a->as.text, b->as.text, a->len) : a->as.i == b->as.i);
}
static bool same_emits(const redan_verdict *a, const redan_verdict *b) {
    bool same = a->nemits == b->nemits;
    for (uint32_t i = 0; same && i < a->nemits; i++)
        for (uint32_t k = 0; same && k < a->emits[i].nfields; k++)
            same = same_value(&a->emits[i].fields[k], &b->emits[i].fields[k]);
    return same;
}
static bool same_u32(const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb) { return na == nb && (!na || !memcmp(a, b, na * sizeof *a)); }
/* All that one verdict says of another's row. */
static void same_verdict(const char *what, size_t i, const redan_verdict *a, const redan_verdict *b) {
    check(a->verdict == b->verdict && a->flags == b->flags && a->now_ns == b->now_ns && a->for_ns == b->for_ns && a->score == b->score &&
          a->generation == b->generation && a->journal_seq == b->journal_seq, "%s: row %zu: verdict %d %d flags %d %d score %lld %lld", what, i, a->verdict,
          b->verdict, a->flags, b->flags, (long long)a->score, (long long)b->score);
    check(same_u32(a->codes, a->ncodes, b->codes, b->ncodes) && same_u32(a->shadow, a->nshadow, b->shadow, b->nshadow), "%s: row %zu: codes", what, i);
    check(a->nundefined == b->nundefined && (!a->nundefined || !memcmp(a->undefined, b->undefined, 2 * (size_t)a->nundefined)), "%s: row %zu: undefined", what, i);
    check(same_emits(a, b), "%s: row %zu: emits", what, i);
}
/* Messages and causes of the last row judged. */
static void same_words(const char *what, size_t i, redan_lane *a, redan_lane *b, const redan_verdict *v) {
    char x[64], y[64];
    redan_undefined p, q;
    for (uint32_t k = 0; k < v->ncodes; k++)
        check(redan_message(a, k, x, sizeof x) == redan_message(b, k, y, sizeof y) && !strcmp(x, y), "%s: row %zu: '%s' '%s'", what, i, x, y);
    for (uint32_t k = 0; k < v->nundefined; k++)
        check(redan_cause(a, k, &p) == 0 && redan_cause(b, k, &q) == 0 && !memcmp(&p, &q, sizeof p), "%s: row %zu: cause", what, i);
    check(redan_message(b, v->ncodes, y, sizeof y) == REDAN_E_INVAL && redan_cause(b, v->nundefined, &q) == REDAN_E_INVAL, "%s: row %zu: past the end", what, i);
    check(((struct redan_lane *)a)->seq == ((struct redan_lane *)b)->seq, "%s: row %zu: seq", what, i);
}

struct columns { redan_columns c; const void *field[8]; int64_t ts[N]; uint64_t present[N]; uint8_t bytes[8][N * 8 + 1]; };
#define COLUMN(i, member)                                                                          \
    do {                                                                                           \
        for (uint32_t r = 0; r < n; r++)                                                           \
            memcpy(c->bytes[i] + 1 + r * sizeof rows->member, &rows[r].member, sizeof rows->member); \
        c->field[i] = c->bytes[i] + 1;                                                             \
    } while (0)
static void split(struct columns *c, const struct order *rows, uint32_t n) {
    for (uint32_t r = 0; r < n; r++) {
        c->ts[r] = rows[r].ts;
        c->present[r] = rows[r].present;
    }
    COLUMN(0, account);
    COLUMN(1, side);
    COLUMN(2, qty);
    COLUMN(3, px);
    COLUMN(4, tag);
    COLUMN(5, f);
    COLUMN(6, b);
    COLUMN(7, opt);
    c->c = (redan_columns){c->ts, c->present, c->field, 8, 0};
}

static struct order rows[N];
static redan_verdict out[N];
static struct columns cols;
/* Rows at .. at + n of the lane under test, in one call; returns how many it judged. */
static size_t call(struct side *s, bool columns, size_t at, size_t n) {
    size_t done = 0;
    int rc;
    if (columns) {
        split(&cols, rows + at, (uint32_t)n);
        rc = redan_eval_columns(s->k.lane, s->k.order, &cols.c, n, out, &done);
    } else {
        rc = redan_eval_batch(s->k.lane, s->k.order, rows + at, sizeof *rows, n, out, &done);
    }
    s->calls++;
    check(rc == 0 && done > 0 && done <= n, "rc %d, %zu of %zu", rc, done, n);
    return done;
}
static void one(const char *text, const char *why, const char *backend, bool columns) {
    struct side one_by_one, many;
    char what[200];
    snprintf(what, sizeof what, "%s, %s, %s", why, backend, columns ? "columns" : "rows");
    kit_backend = "interp";
    start(&one_by_one, text);
    kit_backend = backend;
    start(&many, text);
    fill(rows, one_by_one.k.row.account);
    for (size_t at = 0; at < N;) {
        size_t n = below(4) ? 1 + below(100) : N;
        size_t done = call(&many, columns, at, n > N - at ? N - at : n);
        for (size_t i = 0; i < done; i++) {
            redan_verdict v;
            check(redan_eval(one_by_one.k.lane, one_by_one.k.order, &rows[at + i], &v) == 0, "row %zu", at + i);
            same_verdict(what, at + i, &v, &out[i]);
            if (i + 1 == done)
                same_words(what, at + i, one_by_one.k.lane, many.k.lane, &v);
        }
        at += done;
    }
    check(many.calls < N / 3, "%s: %zu calls", what, many.calls);
    kit_stop(&one_by_one.k);
    kit_stop(&many.k);
}

/* Executors, how they judge batches, and in which instruction set. */
static const struct form { const char *backend, *jit, *vectors; } forms[] = {
    {"interp", "", ""}, {"table", "", ""}, {"table", "", "avx2"}, {"table", "", "scalar"}, {"x64", "", ""}, {"x64v", "", ""}, {"x64v", "", "avx2"},
    {"x64v", "batch=x64v", ""}, {"x64v", "batch=x64v", "avx2"}, {"x64", "batch=table", ""}, {"table", "batch=table", ""}, {"table", "batch=x64v", ""},
    {"auto", "", ""}, {"auto", "batch=off", ""},
};
static void use(const struct form *f) {
    setenv("REDAN_JIT", f ? f->jit : "", 1);
    setenv("REDAN_JIT_VECTORS", f ? f->vectors : "", 1);
}
static bool usable(const char *backend) {
    redan_options o = REDAN_OPTIONS_INIT;
    redan_engine *e = NULL;
    redan_ruleset *rs = NULL;
    redan_error err = { 0 };
    o.backend = backend;
    check(redan_open(&e, &o, &err) == 0, "%s", err.text);
    bool good = redan_compile(e, "kit", sets[0].text, strlen(sets[0].text), NULL, &rs, &err) == 0;
    redan_release(rs);
    redan_close(e);
    check(good || !strncmp(err.id, "R21", 3), "%s %u:%u %s", err.id, err.line, err.column, err.text);
    if (!good)
        print_message("without %s: %s %s\n", backend, err.id, err.text);
    return good;
}
static void same_as_one_by_one(void **state) {
    (void)state;
    for each(b, forms) {
        use(&forms[b]);
        if (!usable(forms[b].backend))
            continue;
        for each(i, sets) {
            one(sets[i].text, sets[i].why, forms[b].backend, false);
            one(sets[i].text, sets[i].why, forms[b].backend, true);
        }
    }
    use(NULL);
}

/* The first set is judged in batches where there are any: else the comparisons above compare one thing with itself. */
static void ahead_is_used(void **state) {
    (void)state;
    struct kit k;
    kit_backend = "x64v";
    if (!usable("x64v"))
        skip();
    kit_start(&k, sets[0].text);
    check(k.lane->b->ahead.mask[0] && k.lane->b->ahead.quiet[0], "the stateless set has no batches");
    kit_stop(&k);
    kit_start(&k, sets[5].text);
    check(k.lane->b->ahead.mask[0] && !k.lane->b->ahead.quiet[0], "a set that feeds a window is not quiet");
    kit_stop(&k);
    use(&(struct form){"x64v", "batch=x64v", ""});
    kit_start(&k, sets[8].text);
    check(k.lane->b->ahead.mask[0] && !k.lane->b->ahead.quiet[0], "a set of which something is left has no batches");
    check(k.rs->prog->rest, "nothing is left of a set with windows");
    kit_stop(&k);
    use(&(struct form){"x64v", "batch=off", ""});
    kit_start(&k, sets[0].text);
    check(!k.lane->b->ahead.mask[0], "batches that nobody wants");
    kit_stop(&k);
    use(NULL);
    kit_start(&k, sets[9].text);
    check(!k.lane->b->ahead.mask[0], "a text in a vector");
    kit_stop(&k);
}

/* A lane that is opened for batches while another judges by the same rules: that one goes on without, and both answer the same. */
static void asked_for_late(void **state) {
    (void)state;
    kit_backend = "auto";
    for each(i, sets) {
        redan_engine *e = kit_engine(2, NULL);
        redan_ruleset *rs = kit_compile(e, sets[i].text);
        kit_activate(e, rs);
        uint32_t order = kit_bind(e), acme = 0, more;
        check(redan_sym(e, "ACME", 4, &acme) == 0 && redan_sym(e, "B", 1, &more) == 0 && redan_sym(e, "C", 1, &more) == 0, "sym");
        redan_lane *plain = kit_lane(e, 0, 0);
        check(!rdn_exec_batch_rules(plain->b->prog, 0), "set %zu: batches nobody asked for", i);
        fill(rows, acme);
        redan_verdict v;
        check(redan_eval(plain, order, &rows[0], &v) == 0, "set %zu", i);
        redan_lane *many = kit_lane(e, 1, REDAN_LANE_BATCHES);
        check(!plain->b->ahead.mask[0] && many->b->ahead.mask[0] == rdn_exec_batch_rules(many->b->prog, 0), "set %zu", i);
        for (size_t at = 0, done; at < N; at += done) {
            check(redan_eval_batch(many, order, rows + at, sizeof *rows, N - at, out, &done) == 0 && done > 0, "set %zu", i);
            for (size_t k = 0; k < done; k++) {
                check(at + k == 0 || redan_eval(plain, order, &rows[at + k], &v) == 0, "set %zu", i);
                check(at + k == 0 || (v.verdict == out[k].verdict && v.ncodes == out[k].ncodes), "set %zu, row %zu", i, at + k);
            }
        }
        redan_lane_close(plain);
        redan_lane_close(many);
        redan_release(rs);
        redan_close(e);
    }
}

static void invalid_columns(void **state) {
    (void)state;
    struct kit k;
    size_t done = 9;
    kit_backend = "auto";
    kit_start(&k, sets[0].text);
    fill(rows, k.row.account);
    for (uint32_t i = 0; i < N; i++)
        rows[i].account = k.row.account;
    rows[77].side = 2;
    split(&cols, rows, N);
    check(redan_eval_columns(k.lane, k.order, &cols.c, N, out, &done) == REDAN_E_INVAL && done == 77, "%zu rows before the one that is not valid", done);
    check(redan_eval_columns(k.lane, k.order, &cols.c, 0, out, &done) == 0 && done == 0, "none");
    check(redan_eval_columns(k.lane, 77, &cols.c, 1, out, &done) == REDAN_E_INVAL && done == 0, "unknown event");
    cols.c.nfields = 7;
    check(redan_eval_columns(k.lane, k.order, &cols.c, 1, out, &done) == REDAN_E_INVAL && done == 0, "seven fields");
    cols.c.nfields = 8;
    cols.field[4] = NULL;
    check(redan_eval_columns(k.lane, k.order, &cols.c, 1, out, &done) == REDAN_E_INVAL && done == 0, "a field is missing");
    cols.field[4] = cols.bytes[4] + 1;
    cols.c.present = NULL;
    check(redan_eval_columns(k.lane, k.order, &cols.c, 1, out, &done) == REDAN_E_INVAL && done == 0, "no presence words");
    kit_stop(&k);
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_one_by_one), cmocka_unit_test(ahead_is_used), cmocka_unit_test(asked_for_late), cmocka_unit_test(invalid_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
