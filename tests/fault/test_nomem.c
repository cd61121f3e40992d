/* SPDX-License-Identifier: Apache-2.0
 * test_nomem.c: every allocation of an embedder's whole life with the engine fails once: open, bind, compile, activate, lane, events,
 * swap, rollback, close. Each time the call says NOMEM or FULL, nothing it should not have touched changed, the engine still works,
 * and every byte comes back. Allocations are counted by base/fault.h. */
#include "base/fault.h"
#include "host/host.h"
#include "host/testrun.h"
#include "tests/unit/host/engine_kit.h"

static const char first_rules[] = HEAD
    "param lim: int = 100 in 1..1000\nlist vip: sym = [\"A\", \"B\"]\ntable t by account: sym { credit: dec(2) } = { \"A\": 5.00  default: 1.00 }\n"
    "table h by account: sym { c: int } from host keys 100\ncalendar open tz \"America/New_York\" { mon..fri 09:30..16:00 }\n"
    "kernel sim(x: float) -> float deadline 1s default 0.0 { each i < 64 reduce mean(x) }\n"
    "let val on Order = px * qty\n"
    "window n = count() over 60s by account on Order\nwindow a = avg(f) over 10s by account on Order\nwindow d = distinct(tag) over 60s by account on Order\n"
    "window e = max(qty) over 10 events by account on Order keys 64 evict oldest\nwindow s = sum(val) by account on accepted Order\nwindow z = zscore(f) over 5s on Order exact 16\n"
    "rule r on Order { when qty > lim and account in vip reject BIG \"{qty} {val} {a} {upper(tag)}\" }\n"
    "rule c on Order { when s + val > t[account].credit or h[account].c > 3 or now in open flag CREDIT score POINTS n }\n"
    "rule k on Order { when d > 0 or sim(f) > 1.0 or z > 1.0 emit Seen { t: lower(tag), v: val, e: e } }\n"
    "test \"x\" { Order { account: \"A\", side: \"buy\", qty: 1, px: 1.00, tag: \"a\", f: 0.5, b: true, opt: 1 }  Order { qty: 500 } => reject BIG, CREDIT, POINTS score 2, emit Seen { t: \"a\" }, .. }\n";
static const char second_rules[] = HEAD "window n = count() over 60s by account on Order keys 100\nrule r on Order { when n > 1 flag MANY \"{n}\" }\n";
static const char broken_rules[] = HEAD "rule r on Order { when qty > 1.5 and zz flag A }\nrule s on Order { when tag flag B }\n";

/* One life. Stops at the first call that fails, and remembers its code; closes what is open. */
struct life {
    struct books books;
    redan_engine *eng;
    redan_ruleset *a, *b;
    redan_lane *lane;
    uint32_t order;
    struct order row;
    int rc;
    const char *at;
    uint64_t generation;
};

static bool step(struct life *x, const char *at, int rc) {
    x->at = at;
    x->rc = rc;
    return rc == 0;
}

static bool judge_some(struct life *x, int n) {
    redan_verdict v;
    char buf[64];
    for (int i = 0; i < n; i++) {
        x->row.ts += 1000000000;
        x->row.qty = i * 60;
        x->row.f = i % 5;
        x->row.tag[0] = (char)('a' + i % 7);
        if (!step(x, "eval", redan_eval(x->lane, x->order, &x->row, &v)))
            return false;
        for (uint32_t k = 0; k < v.ncodes; k++)
            check(redan_message(x->lane, k, buf, sizeof buf) >= 0, "message");
        for (uint32_t k = 0; k < v.nundefined; k++)
            check(redan_cause(x->lane, k, &(redan_undefined){ 0 }) == 0, "cause");
    }
    return true;
}

static bool live(struct life *x) {
    redan_options o = REDAN_OPTIONS_INIT;
    redan_lane_options lo = REDAN_LANE_OPTIONS_INIT;
    redan_ruleset *none = NULL;
    o.ctx = &x->books;
    o.realloc = book_realloc;
    o.backend = kit_backend;
    o.lanes = 2;
    lo.flags = REDAN_LANE_MAY_WAIT | REDAN_LANE_BATCHES;
    if (!step(x, "open", redan_open(&x->eng, &o, NULL)) || !step(x, "event", redan_event(x->eng, "Order", layout_of(ORDER_CANON), &x->order, NULL)) ||
        !step(x, "sym", redan_sym(x->eng, "A", 1, &x->row.account)) || !step(x, "compile", redan_compile(x->eng, "a", first_rules, sizeof first_rules - 1, NULL, &x->a, NULL)) ||
        !step(x, "activate", redan_activate(x->eng, x->a, NULL, &x->generation, NULL)) || !step(x, "lane", redan_lane_open(x->eng, &lo, &x->lane, NULL)) || !judge_some(x, 20))
        return false;
    struct rdn_test_sink sink = { 0 };
    if (!step(x, "the file's tests", rdn_tests_run(x->eng, x->a, 1, &sink, NULL)))
        return false;
    int rc = redan_compile(x->eng, "broken", broken_rules, sizeof broken_rules - 1, NULL, &none, NULL);
    if (!step(x, "compile a broken one", rc == REDAN_E_TYPE ? 0 : rc) || !step(x, "compile the second", redan_compile(x->eng, "b", second_rules, sizeof second_rules - 1, NULL, &x->b, NULL)) ||
        !step(x, "swap", redan_activate(x->eng, x->b, NULL, &x->generation, NULL)) || !judge_some(x, 5) ||
        !step(x, "plan again", redan_replan(x->eng, REDAN_REPLAN_NOW, &x->generation, NULL)) || !judge_some(x, 5) || !step(x, "rollback", redan_rollback(x->eng, &x->generation, NULL)))
        return false;
    return judge_some(x, 5);
}

static void end(struct life *x, uint64_t nth) {
    redan_lane_close(x->lane);
    redan_release(x->a);
    redan_release(x->b);
    redan_close(x->eng);
    check(x->books.blocks == 0 && x->books.bytes == 0 && !x->books.wrong, "allocation %llu (%s): %zu blocks, %zu bytes left%s", (unsigned long long)nth, x->at, x->books.blocks,
          x->books.bytes, x->books.wrong ? ", a size was wrong" : "");
}

/* After a failure the same engine does what it failed at: nothing half-made is left in it. */
static void go_on(struct life *x, uint64_t nth) {
    redan_error err = { 0 };
    redan_ruleset *rs = NULL;
    redan_verdict v;
    redan_lane_options lo = REDAN_LANE_OPTIONS_INIT;
    lo.flags = REDAN_LANE_MAY_WAIT | REDAN_LANE_BATCHES;
    unsigned long long n = nth;
    if (x->lane && x->generation) {                      /* the rules that were active still are */
        x->row.ts++;
        check(redan_eval(x->lane, x->order, &x->row, &v) == 0 && v.generation == x->generation, "allocation %llu (%s): eval after it", n, x->at);
    }
    check(redan_event(x->eng, "Order", layout_of(ORDER_CANON), &x->order, &err) == 0, "allocation %llu (%s): %s", n, x->at, err.text);
    check(redan_sym(x->eng, "A", 1, &x->row.account) == 0, "allocation %llu (%s): sym", n, x->at);
    check(redan_compile(x->eng, "a", first_rules, sizeof first_rules - 1, NULL, &rs, &err) == 0, "allocation %llu (%s): %s %s", n, x->at, err.id, err.text);
    check(redan_activate(x->eng, rs, NULL, &x->generation, &err) == 0, "allocation %llu (%s): %s %s", n, x->at, err.id, err.text);
    if (!x->lane)
        check(redan_lane_open(x->eng, &lo, &x->lane, &err) == 0, "allocation %llu (%s): %s %s", n, x->at, err.id, err.text);
    check(judge_some(x, 3), "allocation %llu (%s): %s: %d", n, x->at, x->at, x->rc);
    redan_release(rs);
}

static void every_allocation(void **state) {
    (void)state;
    struct life whole = { 0 };
    rdn_fault_arm(UINT64_MAX);
    check(live(&whole), "%s: %d", whole.at, whole.rc);
    uint64_t total = rdn_fault_seen();
    rdn_fault_arm(0);
    end(&whole, 0);
    check(total > 100, "only %llu allocations", (unsigned long long)total);
    uint64_t survived = 0;
    for (uint64_t nth = 1; nth <= total; nth++) {
        struct life x = { 0 };
        rdn_fault_arm(nth);
        bool lived = live(&x);
        rdn_fault_arm(0);
        if (lived) {
            survived++;                                  /* the callee did without it */
        } else {
            check(x.rc == REDAN_E_NOMEM, "allocation %llu (%s): %d", (unsigned long long)nth, x.at, x.rc);
            if (x.eng)
                go_on(&x, nth);
        }
        end(&x, nth);
    }
    print_message("%llu allocations failed, %llu of them unnoticed\n", (unsigned long long)total, (unsigned long long)survived);
    check(survived * 4 < total, "most failures were not noticed: %llu of %llu", (unsigned long long)survived, (unsigned long long)total);
}

/* The error object says the same as the code, and is not written on success. */
static void errors_are_whole(void **state) {
    (void)state;
    redan_engine *e = kit_engine(1, NULL);
    for (uint64_t nth = 1; nth < 100000; nth += nth / 8 + 1) {
        redan_ruleset *rs = NULL;
        redan_error err;
        memset(&err, 0x5a, sizeof err);
        rdn_fault_arm(nth);
        int rc = redan_compile(e, "a", first_rules, sizeof first_rules - 1, NULL, &rs, &err);
        bool hit = rdn_fault_seen() >= nth;
        rdn_fault_arm(0);
        if (rc == 0) {
            check(rs && err.code == 0x5a5a5a5a, "%llu: the error was written on success", (unsigned long long)nth);
            redan_release(rs);
            if (!hit)
                break;
        } else {
            check(rc == REDAN_E_NOMEM && err.code == rc && !rs && memchr(err.text, 0, sizeof err.text) && err.text[0], "%llu: %d %d", (unsigned long long)nth, rc, err.code);
        }
    }
    redan_close(e);
}

int main(void) {
    static const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation), cmocka_unit_test(errors_are_whole) };
    int failed = cmocka_run_group_tests_name("no memory, interp", tests, NULL, NULL);
    kit_backend = "x64";
    return failed + cmocka_run_group_tests_name("no memory, x64", tests, NULL, NULL);
}
