/* SPDX-License-Identifier: Apache-2.0
 * Plans made from events: redan_replan once and only once, at compile time when rules change, static plans that are the same code
 * each time; answers that never depend on it; rings that are read while lanes write them. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host/host.h"
#include "jit/frame.h"
#include "jit/unit.h"
#include "tests/unit/host/engine_kit.h"

enum { RULES = 20 };
/* Each rule has a clause that seldom holds on our events, which the text does not tell: qty > 900 on numbers below 1,000. */
static const char *rules_text(unsigned version, bool window) {
    static char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text, "ruleset kit version %u\n  undefined skip\n" ORDER_EVENT "%s", version, window ? "window n = count() on Order\n" : "");
    for (unsigned i = 0; i < RULES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "rule r%u on Order { when qty + %u > 980 and f * 2.0 + %u.5 > 20.0 and px > %u.25 flag C%u }\n", i, i, i, i, i);
    if (window)
        snprintf(text + n, sizeof text - n, "rule seen on Order { when true emit Seen { n: n } }\n");
    return text;
}
/* rules by technique, of the newest plan */
static uint32_t count(const redan_ruleset *rs, const char *technique) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < RULES; i++) {
        struct rdn_rule_plan p;
        check(rdn_program_rule_plan(rs->prog, 0, i, &p), "no plan");
        n += strcmp(p.technique, technique) == 0;
    }
    return n;
}
static const struct rdn_code *code_of(const redan_ruleset *rs) { return &((const struct rdn_unit *)rs->prog->x)->code; }
static bool has_code(const redan_engine *e, const char *text) {
    redan_ruleset *rs = kit_compile((redan_engine *)(uintptr_t)e, text);
    bool has = rdn_program_info(rs->prog)->code_bytes != 0;
    redan_release(rs);
    return has;
}
static void judge_many(struct kit *k, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        k->row.f = (double)(k->row.ts % 97);
        k->row.px = k->row.ts % 50 * 10000;
        kit_judge(k, k->row.ts * 7919 % 1000);
    }
}
static uint64_t replan(struct kit *k, uint32_t flags) {
    uint64_t generation = 77;
    redan_error err = { 0 };
    check(redan_replan(k->eng, flags, &generation, &err) == 0, "%s %s", err.id, err.text);
    return generation;
}
static bool start(struct kit *k, bool window) {
    kit_start(k, rules_text(1, window));
    if (has_code(k->eng, rules_text(1, window)))
        return true;
    kit_stop(k);
    return false;
}

static void once_and_only_once(void **state) {
    struct kit k, ref;
    (void)state;
    if (!start(&k, false))
        skip();
    kit_backend = "interp";
    kit_start(&ref, rules_text(1, false));
    kit_backend = "auto";
    uint64_t found = 0, codes = 0;
    for (unsigned i = 0; i < 60; i++) {
        judge_many(&k, 997);
        judge_many(&ref, 997);
        check(k.v.ncodes == ref.v.ncodes && !memcmp(k.v.codes, ref.v.codes, 4 * k.v.ncodes), "another answer after %u events", 997 * (i + 1));
        codes += k.v.ncodes;
        uint64_t g = replan(&k, 0);
        if (i < 2)
            check(g == 0 && count(k.rs, "flat") == RULES, "planned again after %u events", 997 * (i + 1));
        if (i > 12)
            check(found, "not planned again");
        if (g) {
            check(!found && g == k.v.generation, "generation %llu", (unsigned long long)g);
            found = g;
            check(count(k.rs, "flat") == 0, "%u rules are still flat", count(k.rs, "flat"));
        }
    }
    check(k.v.generation == found && found && codes, "generation %llu", (unsigned long long)k.v.generation);
    check(replan(&ref, 0) == 0, "interp plans nothing");
    check(replan(&k, REDAN_REPLAN_NOW) == found, "when told to, again");
    check(redan_replan(k.eng, 4, NULL, NULL) == REDAN_E_INVAL, "unknown flag");
    kit_stop(&k);
    kit_stop(&ref);
}

/* What the planner thinks of clauses: on 128 rows, qty 0 to 127, the others by it. */
static void pass_rates(void **state) {
    static const struct { const char *clause; int of_128; } table[] = {
        { "qty < 3", 3 }, { "qty <= 3", 4 }, { "qty > 124", 3 }, { "qty >= 124", 4 }, { "qty == 7", 1 }, { "not (qty >= 3)", 3 },
        { "px < 3.0", 3 }, { "px * 2 < 6.0000", 3 }, { "px - 1.5 < 1.25", 3 }, { "f < 0.02", 3 }, { "f * 2.0 + 1.0 < 1.04", 3 }, { "1.0 / (f + 0.001) > 100.0", 2 },
        { "abs(qty - 64) < 2", 3 }, { "min(qty, 100) < 3", 3 }, { "max(qty, 2) < 4", 4 }, { "qty mod 64 == 1", 2 }, { "qty / 2 == 10", 2 }, { "(qty < 2 or qty == 100)", 3 },
        { "(qty < 9 and side == \"sell\" or qty == 100)", 5 }, { "qty in [1, 5, 9]", 3 }, { "account == \"ACME\"", 4 }, { "floor(f * 10.0) == 0.0 and qty < 5", 5 },
        { "sqrt(f) < 0.1", 2 }, { "qty < few", 3 }, { "now < 1970-01-01T00:00:00.000000003Z", 3 }, { "(if b then qty else 50) < 6", 3 },
        { "opt < 3", 2 }, { "not (opt < 61)", 3 }, { "(opt < 3 or qty == 100)", 3 },  /* optional: rows up to 63 have it, but for number 1 */
        { "min(opt, 100) < 3", 2 }, { "(opt ?? 50) < 3", -1 }, { "last_f < 0.1", -1 } };      /* the row alone does not tell */
    (void)state;
    for each (i, table) {
        struct order rows[RDN_SAMPLE_MAX] = { 0 };
        int64_t now[RDN_SAMPLE_MAX];
        struct rdn_sampled s = { RDN_SAMPLE_MAX, sizeof *rows, (uint8_t *)rows, now };
        struct rdn_program *p;
        struct rdn_rule_plan plan;
        struct kit k;
        char text[512];
        redan_error err;
        snprintf(text, sizeof text, HEAD "param few: int = 3 in 1..9\nwindow last_f = last(f) by account on Order\nrule r on Order { when %s and (f + 3.0) / (f + 2.0) / (f + 1.5) / (f + 1.1) / (f + 1.2) > 0.01 flag C }\n", table[i].clause);
        kit_start(&k, text);
        for (int64_t n = 0; n < RDN_SAMPLE_MAX; n++) {
            int64_t r = n * 37 % RDN_SAMPLE_MAX;         /* few of the first would say too much in order */
            rows[n] = (struct order){ .ts = r, .account = r % 32 == 5 ? k.row.account : 9999, .side = (uint8_t)(r % 2), .qty = r, .px = r * 10000, .f = (double)r / 128, .b = r % 2, .present = r < 64 && r != 1, .opt = r };
            now[n] = r;
        }
        check(rdn_program_open_sampled(NULL, k.rs->ir, "auto", &s, &rdn_libc_mem, &p, &err) == 0, "%s", err.text);
        if (!rdn_program_info(p)->code_bytes)
            skip();
        check(rdn_program_rule_plan(p, 0, 0, &plan), "no plan");
        double of = plan.pass * (RDN_SAMPLE_MAX + 1);
        if (table[i].of_128 >= 0)
            check(strcmp(plan.technique, "branch") == 0 && of >= table[i].of_128 && of <= table[i].of_128 + 1, "%s: %s at %.2f of 128", table[i].clause, plan.technique, of);
        else
            check(strcmp(plan.technique, "flat") == 0, "%s: %s", table[i].clause, plan.technique);
        rdn_program_close(p);
        kit_stop(&k);
    }
}

/* Rules on what a window's value makes, shared by them. `away`: rows do not tell how often its thresholds hold; they once did: never, from
 * the second rule on. `turn`: rules go by its value, so nothing that it is made of may be read later than that; it was once, and they saw
 * what an earlier event had left. */
static const char *shared_text(bool turn) {
    enum { TURNS = 6 * RULES };                          /* so many that jumping over each costs more than one look-up */
    static char text[16384];
    size_t n = (size_t)snprintf(text, sizeof text, HEAD "window mean = avg(f) over 10m by account on Order\nlet away on Order = abs(f / mean - 1.0)\n"
                                                        "window sent = count() over 10m by account on Order\nlet turn on Order = sent mod %u\n", TURNS);
    for (unsigned i = 0; i < (turn ? TURNS : RULES); i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "rule r%u on Order { when ", i);
        if (turn)
            n += (size_t)snprintf(text + n, sizeof text - n, "turn == %u and f * 2.0 + %u.5 > 20.0 and px > %u.25 flag C%u }\n", i, i, i % 20, i);
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "away > 0.%02u and qty > %u and f * 2.0 + %u.5 > 20.0 and px > %u.25 flag C%u }\n", 4 * i, 10 * i, i, i, i);
    }
    return text;
}
static void shared_values(void **state) {
    static const struct { bool turn; const char *backend, *technique; } rows[] = { { false, "auto", "flat" }, { true, "auto", "index" }, { true, "table", NULL } };
    (void)state;
    for each (i, rows) {
        struct kit k, ref;
        uint64_t codes = 0;
        kit_backend = rows[i].backend;
        kit_start(&k, shared_text(rows[i].turn));
        kit_backend = "interp";
        kit_start(&ref, shared_text(rows[i].turn));
        kit_backend = "auto";
        judge_many(&k, 4096);
        judge_many(&ref, 4096);
        replan(&k, REDAN_REPLAN_NOW);
        for (unsigned n = 0; n < 500; n++) {
            judge_many(&k, 1);
            judge_many(&ref, 1);
            check(k.v.ncodes == ref.v.ncodes && !memcmp(k.v.codes, ref.v.codes, 4 * k.v.ncodes), "row %zu: another answer to event %u", i, n);
            codes += k.v.ncodes;
        }
        check(codes, "row %zu: no rule fired", i);
        check(!*rdn_program_info(k.rs->prog)->note, "row %zu: %s", i, rdn_program_info(k.rs->prog)->note);
        for (uint32_t r = 0; rows[i].technique && rdn_program_info(k.rs->prog)->code_bytes && r < RULES; r++) {
            struct rdn_rule_plan p;
            check(rdn_program_rule_plan(k.rs->prog, 0, r, &p) && strcmp(p.technique, rows[i].technique) == 0, "row %zu: r%u is %s", i, r, p.technique);
        }
        kit_stop(&k);
        kit_stop(&ref);
    }
}

/* A new plan is no new rule set: windows go on, and going back leads where it led before. */
static void keeps_state(void **state) {
    struct kit k;
    uint64_t g = 0;
    redan_error err;
    (void)state;
    kit_start(&k, rules_text(1, true));
    redan_ruleset *next = kit_compile(k.eng, rules_text(2, true));
    judge_many(&k, 100);
    kit_activate(k.eng, next);
    judge_many(&k, 10000);
    g = replan(&k, REDAN_REPLAN_NOW);
    check(g == k.v.generation, "generation %llu", (unsigned long long)g);
    judge_many(&k, 1);
    check(k.v.generation == g && k.v.emits[0].fields[0].as.i == 10101, "n %lld", (long long)k.v.emits[0].fields[0].as.i);
    check(redan_rollback(k.eng, &g, &err) == 0 && k.eng->active->rs == k.rs, "back to the first: %s", err.text);
    check(redan_rollback(k.eng, &g, &err) == REDAN_E_INVAL, "and no further");
    kit_activate(k.eng, next);
    judge_many(&k, 1);
    check(k.v.emits[0].fields[0].as.i == 10102, "n %lld", (long long)k.v.emits[0].fields[0].as.i);
    redan_release(next);
    kit_stop(&k);
}

/* Who wrote the rules sees nothing of it: `expect` holds the generation of the verdicts, before and after. */
static void same_generation(void **state) {
    struct kit k;
    redan_activation a = REDAN_ACTIVATION_INIT;
    redan_error err;
    (void)state;
    if (!start(&k, false))
        skip();
    judge_many(&k, 8192);
    uint64_t before = k.v.generation, after = 0;
    const struct rdn_program *first = k.eng->active->prog;
    check(replan(&k, REDAN_REPLAN_NOW) == before && k.eng->active->prog != first, "other code under generation %llu", (unsigned long long)before);
    judge_many(&k, 1);
    check(k.v.generation == before && k.lane->active == k.eng->active, "a verdict of generation %llu", (unsigned long long)k.v.generation);
    redan_ruleset *next = kit_compile(k.eng, rules_text(2, false));
    a.expect = before;
    check(redan_activate(k.eng, next, &a, &after, &err) == 0 && after == before + 1, "generation %llu: %s %s", (unsigned long long)after, err.id, err.text);
    check(redan_activate(k.eng, next, &a, &after, &err) == REDAN_E_STALE, "of generation %llu", (unsigned long long)before);
    redan_release(next);
    kit_stop(&k);
}

/* Code memory that the rule sets kept for going back fill is theirs: a new plan that finds no room is none. */
static uint64_t code_room(const struct kit *k) {
    redan_jit_stats s = { .size = sizeof s };
    check(redan_jit_stats_read(k->eng, &s) == 0, "no statistics");
    return s.arena_bytes - s.code_bytes;
}
static void keeps_history(void **state) {
    enum { HELD = 400 };
    struct kit k;
    redan_error err = { 0 };
    redan_ruleset *held[HELD];
    uint64_t one = 0, left;
    uint32_t n = 0;
    (void)state;
    setenv("REDAN_JIT", "arena_mib=1,keep_units=4", 1);
    bool native = start(&k, false);
    unsetenv("REDAN_JIT");
    if (!native)
        skip();
    judge_many(&k, 100);
    for (unsigned i = 0; i < 4; i++) {
        redan_ruleset *next = kit_compile(k.eng, rules_text(i + 2, false));
        kit_activate(k.eng, next);
        redan_release(next);
        judge_many(&k, 1);
    }
    for (left = code_room(&k); left >= one && n < HELD - 1; left = code_room(&k)) {     /* the arena, with rule sets of one rule */
        held[n++] = kit_compile(k.eng, HEAD "rule r on Order { when qty > 7 and f > 2.0 flag C }\n");
        one = left - code_room(&k);
    }
    check(n && n < HELD - 1 && k.eng->nhistory == 4, "%u rule sets beside %u that are kept", n, k.eng->nhistory);
    int rc = redan_replan(k.eng, REDAN_REPLAN_NOW, NULL, &err);
    check(rc == REDAN_E_FULL && strcmp(err.id, "R2103") == 0, "%d %s %s", rc, err.id, err.text);
    check(k.eng->nhistory == 4, "%u rule sets are still kept", k.eng->nhistory);
    check(rdn_program_info(k.eng->active->prog)->code_bytes, "the active rules lost their code");
    held[n] = kit_compile(k.eng, rules_text(100 + n, false));   /* other rules may have that room */
    check(rdn_program_info(held[n]->prog)->code_bytes && k.eng->nhistory < 4, "%u rule sets are kept", k.eng->nhistory);
    for (n++; n--;)
        redan_release(held[n]);
    kit_stop(&k);
}

/* Rules compiled beside running ones are planned by what those have seen, at once. */
static void at_compile_time(void **state) {
    struct kit k;
    (void)state;
    if (!start(&k, false))
        skip();
    judge_many(&k, 8192);
    redan_ruleset *next = kit_compile(k.eng, rules_text(2, false));
    check(count(k.rs, "flat") == RULES && count(next, "flat") == 0, "%u of the new rules are flat", count(next, "flat"));
    kit_activate(k.eng, next);
    judge_many(&k, 20000);
    check(replan(&k, 0) == 0, "planned already");
    redan_release(next);
    kit_stop(&k);
}

static bool same_code(const redan_ruleset *a, const redan_ruleset *b) {
    return code_of(a)->bytes == code_of(b)->bytes && memcmp(code_of(a)->rx, code_of(b)->rx, code_of(a)->bytes) == 0;
}
static void static_plans(void **state) {
    static const struct { const char *jit; bool same, again; } rows[] = { { "static_plan", true, false }, { "no_replan", false, false }, { "", false, true } };
    (void)state;
    for each (i, rows) {
        struct kit k;
        setenv("REDAN_JIT", rows[i].jit, 1);
        if (!start(&k, false))
            skip();
        redan_ruleset *before = kit_compile(k.eng, rules_text(1, false));
        check(same_code(k.rs, before), "%s: compiled twice", rows[i].jit);
        judge_many(&k, 16384);
        redan_ruleset *after = kit_compile(k.eng, rules_text(1, false));
        check(same_code(k.rs, after) == rows[i].same, "%s: after events", rows[i].jit);
        check((replan(&k, 0) != 0) == rows[i].again, "%s", rows[i].jit);
        redan_release(before);
        redan_release(after);
        kit_stop(&k);
    }
    unsetenv("REDAN_JIT");
}

static void in_a_child(void **state) {
    struct kit k;
    int status = 0;
    redan_error err = { 0 };
    (void)state;
    kit_start(&k, rules_text(1, false));
    judge_many(&k, 8192);
    pid_t pid = fork();
    if (!pid)
        _exit(redan_replan(k.eng, REDAN_REPLAN_NOW, NULL, &err) == REDAN_E_CLOSED && strcmp(err.id, "R2108") == 0 ? 0 : 1);
    check(waitpid(pid, &status, 0) == pid && status == 0, "status %d", status);
    check(replan(&k, REDAN_REPLAN_NOW) != 0, "the parent goes on");
    judge_many(&k, 1);
    kit_stop(&k);
}

/* ---- threads ---- */
enum { LANES = 2 };
static struct { redan_engine *eng; uint32_t order; atomic_bool stop; _Atomic uint64_t judged, wrong; } g;
static void *lane_main(void *arg) {
    struct order row = { .ts = 1 };
    redan_lane *l = kit_lane(g.eng, (uint32_t)(uintptr_t)arg, 0);
    redan_verdict v;
    int64_t n = 0;
    if (redan_sym(g.eng, "ACME", 4, &row.account))
        g.wrong++;
    while (!atomic_load(&g.stop)) {
        row.ts++;
        row.qty = row.ts * 7919 % 1000;
        g.wrong += redan_eval(l, g.order, &row, &v) != 0 || v.nemits != 1 || v.emits[0].fields[0].as.i != ++n;
        atomic_fetch_add(&g.judged, 1);
    }
    redan_lane_close(l);
    return NULL;
}
static void beside_lanes(void **state) {
    pthread_t t[LANES];
    redan_error err = { 0 };
    uint64_t made = 0;
    (void)state;
    memset(&g, 0, sizeof g);
    g.eng = kit_engine(LANES, NULL);
    redan_ruleset *rs = kit_compile(g.eng, rules_text(1, true));
    kit_activate(g.eng, rs);
    g.order = kit_bind(g.eng);
    for (uintptr_t i = 0; i < LANES; i++)
        check(pthread_create(&t[i], NULL, lane_main, (void *)i) == 0, "thread");
    for (unsigned i = 0; i < 2000 && (i < 20 || atomic_load(&g.judged) < 200000); i++) {
        uint64_t generation = 0;
        check(redan_replan(g.eng, i % 4 ? 0 : REDAN_REPLAN_NOW, &generation, &err) == 0, "%s", err.text);
        made += generation != 0;
        usleep(1000);
    }
    atomic_store(&g.stop, true);
    for (int i = 0; i < LANES; i++)
        pthread_join(t[i], NULL);
    redan_release(rs);
    redan_close(g.eng);
    check(!g.wrong && g.judged && made, "%llu wrong of %llu, planned %llu times", (unsigned long long)g.wrong, (unsigned long long)g.judged, (unsigned long long)made);
}

/* ---- the ring alone ---- */
enum { WORDS = 512 };                                    /* of a row: few rows make a ring, and copying one takes long enough to be met */
static struct { struct rdn_samples *s; atomic_bool stop; } ring;
static void *ring_main(void *arg) {
    uint64_t row[WORDS];
    (void)arg;
    for (uint64_t k = 1; !atomic_load(&ring.stop); k++) {
        for (size_t i = 0; i < WORDS; i++)
            row[i] = k * (i + 1);
        rdn_samples_take(ring.s, 0, (const uint8_t *)row, (int64_t)k);
    }
    return NULL;
}
static void read_while_written(void **state) {
    static uint64_t rows[RDN_SAMPLE_MAX * WORDS];
    static int64_t now[RDN_SAMPLE_MAX];
    struct rdn_event big = { .name = "Big", .size = 8 * WORDS };
    struct rdn_ir ir = { .events = &big, .nevents = 1 };
    pthread_t t;
    uint64_t got = 0;
    (void)state;
    check(rdn_samples_open(&ir, &rdn_libc_mem, &ring.s) == 0, "no ring");
    check(pthread_create(&t, NULL, ring_main, NULL) == 0, "thread");
    for (int n = 0; n < 5000 || got < 2000; n++) {
        struct rdn_sampled s = { 0, 8 * WORDS, (uint8_t *)rows, now };
        rdn_samples_read(ring.s, 0, RDN_SAMPLE_MAX, &s);
        check(s.n <= RDN_SAMPLE_MAX, "%u", s.n);
        for (uint32_t i = 0; i < s.n; i++)
            for (size_t w = 0; w < WORDS; w++)
                check(rows[i * WORDS + w] == (uint64_t)now[i] * (w + 1), "row %u is two rows", i);
        got += s.n;
    }
    atomic_store(&ring.stop, true);
    pthread_join(t, NULL);
    rdn_samples_close(ring.s);
}

int main(void) {
    static const struct CMUnitTest tests[] = { cmocka_unit_test(pass_rates), cmocka_unit_test(shared_values), cmocka_unit_test(once_and_only_once), cmocka_unit_test(keeps_state), cmocka_unit_test(same_generation), cmocka_unit_test(keeps_history), cmocka_unit_test(at_compile_time),
        cmocka_unit_test(static_plans), cmocka_unit_test(in_a_child), cmocka_unit_test(beside_lanes), cmocka_unit_test(read_while_written) };
    kit_backend = "auto";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
