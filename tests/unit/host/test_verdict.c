/* SPDX-License-Identifier: Apache-2.0
 * test_verdict.c: what a verdict holds (LANGUAGE.md 11.3 to 11.6, 17.3) through redan.h, and how rows, routing and batches reach
 * the rules. Runs on each executor. */
#include "tests/unit/host/engine_kit.h"

static const char *names_of(redan_lane *l, const uint32_t *codes, uint32_t n) {
    static char text[512];
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < n && at < sizeof text; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? " " : "", redan_code_name(l, codes[i]));
    return text;
}

/* ---- decision ---- */
#define DECISION                                                                                                      \
    HEAD "rule slow on Order { when qty > 10 throttle SLOW for 5s flag EXTRA }\n"                                     \
         "rule slower on Order { when qty > 20 throttle SLOWER for 9s }\n"                                            \
         "rule stop on Order { when qty > 30 reject STOP flag EXTRA flag SLOW }\n"                                    \
         "rule vip on Order priority 5 { when qty > 40 accept VIP }\n"                                                \
         "rule wait on Order priority 5 { when qty > 50 hold WAIT for 1m }\n"                                         \
         "rule ghost on Order priority 9 shadow { when qty > 5 hold GHOST for 1h flag SLOW score G 7 emit No { q: qty } }\n" \
         "rule low on Order priority -1 { when qty > 0 hold LOW for 2h }\n"

static void decision(void **state) {
    (void)state;
    static const struct { int64_t qty; uint8_t verdict; int64_t for_ns; const char *codes, *shadow; } rows[] = {
        { 0, REDAN_ACCEPT, 0, "", "" },
        { 1, REDAN_HOLD, 7200000000000, "LOW", "" },
        { 6, REDAN_HOLD, 7200000000000, "LOW", "GHOST SLOW G" },
        { 11, REDAN_THROTTLE, 5000000000, "SLOW EXTRA LOW", "GHOST SLOW G" },                       /* priority 0 beats a hold at -1 */
        { 21, REDAN_THROTTLE, 9000000000, "SLOW EXTRA SLOWER LOW", "GHOST SLOW G" },                /* the longest of the winners */
        { 31, REDAN_REJECT, 0, "SLOW EXTRA SLOWER STOP LOW", "GHOST SLOW G" },                      /* each code once; throttles lost */
        { 41, REDAN_ACCEPT, 0, "SLOW EXTRA SLOWER STOP VIP LOW", "GHOST SLOW G" },
        { 51, REDAN_HOLD, 60000000000, "SLOW EXTRA SLOWER STOP VIP WAIT LOW", "GHOST SLOW G" },
    };
    struct kit k;
    kit_start(&k, DECISION);
    for each (i, rows) {
        memset(&k.v, 0xee, sizeof k.v);
        kit_judge(&k, rows[i].qty);
        check(k.v.verdict == rows[i].verdict && k.v.for_ns == rows[i].for_ns, "qty %lld: %u for %lld", (long long)rows[i].qty, k.v.verdict, (long long)k.v.for_ns);
        check(strcmp(names_of(k.lane, k.v.codes, k.v.ncodes), rows[i].codes) == 0, "qty %lld: %s", (long long)rows[i].qty, names_of(k.lane, k.v.codes, k.v.ncodes));
        check(strcmp(names_of(k.lane, k.v.shadow, k.v.nshadow), rows[i].shadow) == 0, "qty %lld: shadow %s", (long long)rows[i].qty, names_of(k.lane, k.v.shadow, k.v.nshadow));
        check(k.v.nemits == 0 && k.v.score == 0 && k.v.flags == 0 && k.v.nundefined == 0 && k.v.journal_seq == 0, "qty %lld: the rest", (long long)rows[i].qty);
        check(memcmp(k.v.zero, (uint8_t[6]){ 0 }, 6) == 0 && k.v.now_ns == k.row.ts && k.v.generation == 1, "qty %lld: frame", (long long)rows[i].qty);
    }
    kit_stop(&k);
}

static void score(void **state) {
    (void)state;
    static const struct { int64_t qty; double f; int64_t score; const char *codes; } rows[] = {
        { 1, 0, 1, "A" },
        { INT64_MAX, 1, INT64_MAX, "A B HIGH" },         /* the exact sum is beyond int64 */
        { INT64_MIN, 1, INT64_MIN, "A B" },
        { INT64_MIN, 2, INT64_MAX - 2, "A B C C2 C3 HIGH" },   /* 2 * -2^63 + 3 * (2^63 - 1): clamped only at the end */
    };
    struct kit k;
    kit_start(&k, HEAD "rule a on Order { when true score A qty }\nrule b on Order { when f >= 1.0 score B qty }\n"
                       "rule c on Order { when f == 2.0 score C 9223372036854775807 score C2 9223372036854775807 score C3 9223372036854775807 }\n"
                       "rule high on Order { when score > 1000 flag HIGH }\n");
    for each (i, rows) {
        k.row.f = rows[i].f;
        kit_judge(&k, rows[i].qty);
        check(k.v.score == rows[i].score, "row %zu: score %lld", i, (long long)k.v.score);
        check(strcmp(names_of(k.lane, k.v.codes, k.v.ncodes), rows[i].codes) == 0, "row %zu: %s", i, names_of(k.lane, k.v.codes, k.v.ncodes));
    }
    kit_stop(&k);
}

/* ---- undefined ---- */
static void undefined(void **state) {
    (void)state;
    struct kit k;
    static const char text[] = "ruleset kit version 1\n  undefined hold NOVALUE \"no value\"\n" ORDER_EVENT /* lines 1 to 3 */
        "rule absent on Order { when opt > 1 flag A }\n"                                   /* 4: missing at 4:30 */
        "rule own on Order { when 10 / qty > 1 flag B undefined throttle OWN for 3s }\n"   /* 5: div0 */
        "rule skips on Order { when f < 1.0 flag C undefined skip }\n"                     /* 6: nan */
        "rule points on Order { when true score P opt }\n"                                 /* 7: missing, no effect */
        "rule out on Order { when true emit E { o: opt  } flag SENT }\n"                   /* 8: missing, dropped */
        "rule dark on Order shadow { when qty * 9223372036854775807 > 0 flag D }\n";       /* 9: overflow when qty is 2 */
    static const struct { int64_t qty; const char *rules; uint8_t causes[8]; uint32_t lines[8], cols[8]; uint8_t verdict; const char *codes; } rows[] = {
        { 0, "absent own skips points out", { 1, 5, 3, 1, 1 }, { 4, 5, 6, 7, 8 }, { 29, 26, 28, 0, 0 }, REDAN_HOLD, "NOVALUE OWN SENT" },
        { 2, "absent skips points out dark", { 1, 3, 1, 1, 4 }, { 4, 6, 7, 8, 9 }, { 29, 28, 0, 0, 34 }, REDAN_HOLD, "NOVALUE B SENT" },
    };
    kit_start(&k, text);
    k.row.f = __builtin_nan("");
    for each (i, rows) {
        char rules[256] = "";
        kit_judge(&k, rows[i].qty);
        for (uint32_t n = 0; n < k.v.nundefined; n++) {
            redan_undefined u = { 0 };
            check(redan_cause(k.lane, n, &u) == 0 && u.rule == k.v.undefined[n], "cause %u", n);
            check(u.cause == rows[i].causes[n] && u.line == rows[i].lines[n] && (!rows[i].cols[n] || u.col == rows[i].cols[n]), "row %zu, %u: cause %u at %u:%u", i, n,
                  u.cause, u.line, u.col);
            strcat(strcat(rules, n ? " " : ""), redan_rule_name(k.lane, u.rule));
        }
        check(strcmp(rules, rows[i].rules) == 0, "row %zu: %s", i, rules);
        check(k.v.flags == REDAN_UNDEFINED && k.v.verdict == rows[i].verdict && k.v.score == 0 && k.v.nemits == 0, "row %zu", i);
        check(strcmp(names_of(k.lane, k.v.codes, k.v.ncodes), rows[i].codes) == 0, "row %zu: %s", i, names_of(k.lane, k.v.codes, k.v.ncodes));
        redan_undefined u = { .rule = 7 };
        check(redan_cause(k.lane, k.v.nundefined, &u) == REDAN_E_INVAL && redan_cause(k.lane, UINT32_MAX, &u) == REDAN_E_INVAL && u.rule == 7, "past the end");
    }
    k.row.present = 1;
    k.row.opt = 3;
    k.row.f = 0;
    kit_judge(&k, 1);
    check(k.v.nundefined == 0 && k.v.flags == 0 && k.v.score == 3 && k.v.nemits == 1, "all defined");
    kit_stop(&k);
}

/* ---- messages ---- */
static void messages(void **state) {
    (void)state;
    static const struct { const char *msg, *want; } rows[] = {
        { "plain", "plain" }, { "", "" }, { "{qty} of {px} {f} {b} {side} {account} {tag}", "-7 of 1.2500 0.5 true sell ACME ab" },
        { "{opt} {now}", "undefined 1970-01-01T00:00:01Z" }, { "\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac" } };
    for each (i, rows) {
        struct kit k;
        char text[1024], buf[256];
        snprintf(text, sizeof text, HEAD "rule r on Order { when true flag NONE reject A \"%s\" }\nrule again on Order { when true flag A \"second\" }\n", rows[i].msg);
        kit_start(&k, text);
        k.row = (struct order){ .ts = 999999999, .account = k.row.account, .side = 1, .px = 12500, .tag = "ab", .f = 0.5, .b = 1 };
        kit_judge(&k, -7);
        size_t n = strlen(rows[i].want);
        check(redan_message(k.lane, 1, buf, sizeof buf) == (int)n && strcmp(buf, rows[i].want) == 0, "'%s': '%s'", rows[i].msg, buf);
        check(redan_message(k.lane, 0, buf, sizeof buf) == 0 && !*buf, "no message");
        check(redan_message(k.lane, 2, buf, sizeof buf) == REDAN_E_INVAL && redan_message(k.lane, UINT32_MAX, buf, sizeof buf) == REDAN_E_INVAL, "past the end");
        for (size_t cap = 0; cap <= n + 1; cap++) {      /* every room: what fits is a prefix of whole characters */
            memset(buf, 'x', sizeof buf);
            check(redan_message(k.lane, 1, cap ? buf : NULL, cap) == (int)n, "cap %zu", cap);
            size_t got = cap ? strlen(buf) : 0;
            check(!cap || (got < cap && cap - got <= 4 && memcmp(buf, rows[i].want, got) == 0 && (rows[i].want[got] & 0xc0) != 0x80), "cap %zu: '%s'", cap, buf);
            check(buf[cap ? cap : 0] == 'x', "cap %zu: wrote past the room", cap);
        }
        kit_stop(&k);
    }
}

/* 1,024 bytes at most, before a character that would be cut in two. */
static void long_messages(void **state) {
    (void)state;
    for (int pad = 0; pad < 4; pad++) {
        struct kit k;
        char text[4096], buf[2048];
        size_t n = (size_t)snprintf(text, sizeof text, HEAD "rule r on Order { when true flag A \"");
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s", pad, "xyz");
        for (int i = 0; i < 300; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "\xf0\x9f\x98\x80{b}");   /* 4 bytes and "true" */
        snprintf(text + n, sizeof text - n, "\" }\n");
        kit_start(&k, text);
        k.row.b = 1;
        kit_judge(&k, 1);
        int got = redan_message(k.lane, 0, buf, sizeof buf);
        int want = 1024;
        while (want > pad && (want - pad) % 8 > 0 && (want - pad) % 8 < 4)
            want--;
        check(got == want && (int)strlen(buf) == want, "pad %d: %d bytes, %d wanted", pad, got, want);
        kit_stop(&k);
    }
}

/* Asked for after the accepted windows took the event in, a message still says what the rule saw. */
static void late_messages(void **state) {
    (void)state;
    struct kit k;
    char buf[128];
    static const struct { const char *tag, *sum, *last, *len; } rows[] = { { "one", "sum 0", "last undefined", "" }, { "", "sum 5", "last one", "" }, { "two", "sum 10", "last ", "" } };
    kit_start(&k, HEAD "window s = sum(qty) by account on accepted Order\nwindow t = last(tag) by account on accepted Order\n"
                       "rule a on Order { when true flag A \"sum {s}\" }\nrule b on Order { when true flag B \"last {t}\" }\nrule c on Order { when true flag C \"{t}\" }\n");
    for each (i, rows) {
        memset(k.row.tag, 0, sizeof k.row.tag);
        memcpy(k.row.tag, rows[i].tag, strlen(rows[i].tag));
        kit_judge(&k, 5);
        check(redan_message(k.lane, 0, buf, sizeof buf) >= 0 && strcmp(buf, rows[i].sum) == 0, "row %zu: '%s'", i, buf);
        check(redan_message(k.lane, 1, buf, sizeof buf) >= 0 && strcmp(buf, rows[i].last) == 0, "row %zu: '%s'", i, buf);
        check(redan_message(k.lane, 2, buf, sizeof buf) >= 0 && strcmp(buf, rows[i].last + 5) == 0, "row %zu: '%s'", i, buf);
    }
    kit_stop(&k);
}

/* ---- emits ---- */
static void emits(void **state) {
    (void)state;
    static const char text[] = "ruleset kit version 1\n  undefined skip\n"
        "event E { b: bool  i: int  f: float  d: dec(3)  t: time  u: dur  y: date  s: sym  r: str(4)  m: enum(red, green)  v: float[2]  w: int[2, 3] }\n"
        "rule r on E { when true emit All { b: b, i: i, f: f, d: d, big: d * d, t: t, u: u, y: y, s: s, r: r, m: m, low: lower(s), v: v, w: w, lit: \"abc\" }\n"
        "  reject STOP emit Two { i: i + 1 } }\n";
    static const char canon[] = "E;ts:time;b:bool;i:int;f:float;d:dec(3);t:time;u:dur;y:date;s:sym;r:str(4);m:enum(red,green);v:float[2];w:int[2,3];";
    struct __attribute__((aligned(8))) { int64_t ts; uint8_t b; int64_t i; double f; int64_t d, t, u; int32_t y; uint32_t s; char r[4]; uint8_t m; double v[2]; int64_t w[6]; }
        row = { 5, 1, -9, -0.0, -1500, 123, -456, 20000, 0, "wxyz", 1, { 1.5, 2.5 }, { 1, 2, 3, 4, 5, 6 } };
    redan_engine *e = kit_engine(1, NULL);
    redan_ruleset *rs = kit_compile(e, text);
    kit_activate(e, rs);
    uint32_t id;
    redan_error err = { 0 };
    redan_verdict v;
    check(redan_event(e, "E", layout_of(canon), &id, &err) == 0, "%s", err.text);
    redan_lane *l = kit_lane(e, 0, 0);
    redan_sym(e, "AbC", 3, &row.s);
    check(redan_eval(l, id, &row, &v) == 0 && v.nemits == 2 && v.verdict == REDAN_REJECT, "%u emits", v.nemits);
    const redan_emit *m = &v.emits[0];
    static const char *const names[] = { "b", "i", "f", "d", "big", "t", "u", "y", "s", "r", "m", "low", "v", "w", "lit" };
    static const struct { uint8_t type, scale; int64_t i; const char *text; uint32_t len; uint16_t rows; } want[] = {
        { REDAN_T_BOOL, 0, 1, NULL, 0, 0 }, { REDAN_T_INT, 0, -9, NULL, 0, 0 }, { REDAN_T_FLOAT, 0, INT64_MIN, NULL, 0, 0 }, { REDAN_T_DEC, 3, -1500, NULL, 0, 0 },
        { REDAN_T_DEC, 6, 2250000, NULL, 0, 0 }, { REDAN_T_TIME, 0, 123, NULL, 0, 0 }, { REDAN_T_DUR, 0, -456, NULL, 0, 0 }, { REDAN_T_DATE, 0, 20000, NULL, 0, 0 },
        { REDAN_T_TEXT, 0, 0, "AbC", 3, 0 }, { REDAN_T_TEXT, 0, 0, "wxyz", 4, 0 }, { REDAN_T_TEXT, 0, 0, "green", 5, 0 }, { REDAN_T_TEXT, 0, 0, "abc", 3, 0 },
        { REDAN_T_FLOATS, 0, 0, NULL, 2, 0 }, { REDAN_T_INTS, 0, 0, NULL, 6, 2 }, { REDAN_T_TEXT, 0, 0, "abc", 3, 0 } };
    assert_string_equal(m->name, "All");
    assert_int_equal(m->nfields, 15);
    for each (i, want) {
        const redan_value *x = &m->fields[i];
        check(strcmp(m->names[i], names[i]) == 0, "field %zu is %s", i, m->names[i]);
        check(x->type == want[i].type && x->scale == want[i].scale && x->len == want[i].len && x->rows == want[i].rows, "%s: type %u scale %u len %u rows %u", names[i], x->type,
              x->scale, x->len, x->rows);
        if (want[i].text)
            check(memcmp(x->as.text, want[i].text, want[i].len) == 0, "%s: %.*s", names[i], (int)x->len, x->as.text);
        else if (x->type == REDAN_T_DEC)
            check((int64_t)x->as.dec.lo == want[i].i && x->as.dec.hi == (want[i].i < 0 ? -1 : 0), "%s", names[i]);
        else if (x->type == REDAN_T_INTS)
            check(memcmp(x->as.ints, row.w, sizeof row.w) == 0, "%s", names[i]);
        else if (x->type == REDAN_T_FLOATS)
            check(memcmp(x->as.floats, row.v, sizeof row.v) == 0, "%s", names[i]);
        else
            check(x->as.i == want[i].i, "%s: %lld", names[i], (long long)x->as.i);
    }
    check(strcmp(v.emits[1].name, "Two") == 0 && v.emits[1].fields[0].as.i == -8, "the second");
    redan_lane_close(l);
    redan_release(rs);
    redan_close(e);
}

/* ---- the thread's floating-point mode ---- */
enum { FTZ = 0x8000, DAZ = 0x0040, UPWARDS = 0x4000 };
static void float_mode(void **state) {
    (void)state;
    static const char text[] = HEAD "window s = sum(f) by account on Order\nwindow a = ewma(f, 7) by account on Order\n"
        "rule r on Order { when f > -1.0 flag ON \"{f * 0.1} {s}\" emit Out { half: f * 0.5, sum: s, avg: a, third: f / 3.0 } }\n";
    static const uint32_t modes[] = { 0, FTZ | DAZ, UPWARDS, FTZ | UPWARDS };
    static const double inputs[] = { 5e-324, 1e-310, 0.1, 3.0, 1e-308 };
    double want[5][4], got[4];
    char first[5][128], msg[128];
    for each (m, modes) {
        struct kit k;
        kit_start(&k, text);
        uint32_t was = __builtin_ia32_stmxcsr(), now = was | modes[m];
        for each (i, inputs) {
            k.row.ts++;
            k.row.f = inputs[i];
            __builtin_ia32_ldmxcsr(now);
            int rc = redan_eval(k.lane, k.order, &k.row, &k.v);
            redan_message(k.lane, 0, m ? msg : first[i], sizeof msg);
            uint32_t after = __builtin_ia32_stmxcsr();
            __builtin_ia32_ldmxcsr(was);
            check(rc == 0 && k.v.nemits == 1, "mode %zu, row %zu", m, i);
            check((after & 0xffc0) == (now & 0xffc0), "mode %zu came back as %x", m, after);
            for (int f = 0; f < 4; f++)
                (m ? got : want[i])[f] = k.v.emits[0].fields[f].as.f;
            check(!m || memcmp(got, want[i], sizeof got) == 0, "mode %zu, row %zu: other bits", m, i);
            check(!m || strcmp(msg, first[i]) == 0, "mode %zu, row %zu: %s, not %s", m, i, msg, first[i]);
        }
        kit_stop(&k);
    }
}

/* ---- rows ---- */
static void invalid_rows(void **state) {
    (void)state;
    struct kit k;
    kit_start(&k, HEAD "window n = count() on Order\nrule r on Order { when true emit N { n: n } }\n");
    static const struct { size_t at; uint8_t bytes[8]; size_t n; const char *what; } rows[] = {
        { 20, { 2 }, 1, "enum member 2 of 2" },
        { 20, { 255 }, 1, "enum member 255" },
        { 56, { 2 }, 1, "bool 2" },
        { 16, { 0xff, 0xff, 0xff, 0xff }, 4, "unknown symbol" },
        { 40, { 'a', 0, 'b' }, 3, "bytes after the zero of a str" },
        { 40, { 0, 0, 0, 0, 1 }, 5, "bytes after the zero of a str" },
    };
    int64_t n = 0;
    for each (i, rows) {
        struct order bad = k.row;
        bad.ts = 1 << 30;                                /* would raise the high-water time */
        memcpy((char *)&bad + rows[i].at, rows[i].bytes, rows[i].n);
        memset(&k.v, 0x77, sizeof k.v);
        check(redan_eval(k.lane, k.order, &bad, &k.v) == REDAN_E_INVAL && k.v.verdict == 0x77, "%s", rows[i].what);
        check(redan_eval_at(k.lane, k.order, &bad, 1, &k.v) == REDAN_E_INVAL && k.v.verdict == 0x77, "%s", rows[i].what);
        uint32_t lane = 55;
        int64_t now = 66;
        check(redan_route(k.eng, k.order, &bad, &lane, &now) == REDAN_E_INVAL && lane == 55 && now == 66, "%s: route", rows[i].what);
        kit_judge(&k, 1);
        check(k.v.emits[0].fields[0].as.i == ++n && k.v.now_ns == k.row.ts && k.v.flags == 0, "%s changed something", rows[i].what);
    }
    check(redan_eval(k.lane, k.order, NULL, &k.v) == REDAN_E_INVAL, "no row");
    k.row.present = ~(uint64_t)1;                        /* bits of no field, and bytes of an absent one: ignored */
    k.row.opt = 7;
    memset((char *)&k.row + 21, 0xaa, 3);                /* padding */
    kit_judge(&k, 1);
    kit_stop(&k);
}

/* ---- time and lanes ---- */
static void high_water(void **state) {
    (void)state;
    struct kit k;
    kit_start(&k, HEAD "rule r on Order { when now != ts flag LATE }\n");
    static const struct { int64_t ts, at; bool stamped; int64_t now; } rows[] = {
        { -50, 0, false, -50 }, { -60, 0, false, -50 }, { 10, 0, false, 10 }, { 5, 0, false, 10 }, { 10, 0, false, 10 },
        { 20, 30, true, 30 }, { 25, 0, false, 30 }, { 40, 35, true, 40 }, { 1, 2, true, 40 }, { INT64_MAX, 0, false, INT64_MAX } };
    for each (i, rows) {
        k.row.ts = rows[i].ts;
        int rc = rows[i].stamped ? redan_eval_at(k.lane, k.order, &k.row, rows[i].at, &k.v) : redan_eval(k.lane, k.order, &k.row, &k.v);
        bool late = rows[i].now != rows[i].ts;
        check(rc == 0 && k.v.now_ns == rows[i].now && k.v.flags == (late ? REDAN_LATE : 0) && k.v.ncodes == (uint32_t)late, "row %zu: now %lld", i, (long long)k.v.now_ns);
    }
    kit_stop(&k);
}

#define ROUTED "ruleset p version 1\n  undefined skip\n  partition by account\n" ORDER_EVENT "event Tick { v: int }\n" \
               "window n = count() by account on Order\nwindow m = count() on Tick\n" \
               "rule r on Order { when true emit N { n: n, m: m } }\nrule t on Tick { when true emit M { m: m } }\n"

static void routing(void **state) {
    (void)state;
    enum { LANES = 8 };
    redan_engine *e = kit_engine(LANES, NULL);
    redan_ruleset *rs = kit_compile(e, ROUTED);
    uint32_t order = kit_bind(e), tick, lane = 99;
    int64_t now = 0;
    struct order row = { .ts = 100 };
    struct { int64_t ts, v; } t = { 50, 1 };
    redan_verdict v;
    redan_lane *l[LANES];
    check(redan_event(e, "Tick", layout_of("Tick;ts:time;v:int;"), &tick, NULL) == 0, "bind");
    redan_sym(e, "ACME", 4, &row.account);
    check(redan_route(e, order, &row, &lane, &now) == REDAN_E_INVAL, "nothing is active");
    kit_activate(e, rs);
    check(redan_route(e, 99, &row, &lane, &now) == REDAN_E_INVAL && redan_route(e, order, NULL, &lane, &now) == REDAN_E_INVAL && lane == 99, "refused");
    check(redan_route(e, order, &row, &lane, &now) == 0 && lane == 7 && now == 100, "lane %u now %lld", lane, (long long)now);   /* appendix A: ACME among 8 */
    check(redan_route(e, tick, &t, &lane, &now) == 0 && lane == REDAN_ALL_LANES && now == 100, "lane %u now %lld", lane, (long long)now);
    for (uint32_t i = 0; i < LANES; i++) {
        l[i] = kit_lane(e, i, 0);
        check(redan_eval_at(l[i], tick, &t, now, &v) == 0 && v.now_ns == 100 && v.flags == REDAN_LATE && v.emits[0].fields[0].as.i == 1, "lane %u", i);
    }
    row.ts = 90;
    check(redan_route(e, order, &row, &lane, &now) == 0 && now == 100 && redan_eval_at(l[lane], order, &row, now, &v) == 0, "late");
    check(v.now_ns == 100 && v.emits[0].fields[0].as.i == 1 && v.emits[0].fields[1].as.i == 1, "windows of both");
    for (uint32_t i = 0; i < LANES; i++)
        redan_lane_close(l[i]);
    redan_release(rs);
    redan_close(e);
}

/* ---- batches ---- */
static void batches(void **state) {
    (void)state;
    enum { N = 6000 };
    struct kit k;
    static struct order rows[N];
    static redan_verdict v[N];
    size_t done = 99;
    kit_start(&k, HEAD "window n = count() on Order\nrule r on Order { when qty >= 0 flag A \"qty {qty}\" flag B }\nrule e on Order { when qty == 500 emit At { n: n, t: upper(account) } }\n"
                       "rule u on Order { when opt > 0 flag C }\n");
    for (int i = 0; i < N; i++) {
        rows[i] = k.row;
        rows[i].ts = i;
        rows[i].qty = i;
    }
    check(redan_eval_batch(k.lane, k.order, rows, sizeof *rows, 0, v, &done) == 0 && done == 0, "none");
    rows[300].b = 9;
    check(redan_eval_batch(k.lane, k.order, rows, sizeof *rows, N, v, &done) == REDAN_E_INVAL && done == 300, "%zu done", done);
    char buf[32];
    check(redan_message(k.lane, 0, buf, sizeof buf) == 7 && strcmp(buf, "qty 299") == 0, "'%s'", buf);
    redan_undefined u;
    check(redan_cause(k.lane, 0, &u) == 0 && u.rule == 2 && redan_cause(k.lane, 1, &u) == REDAN_E_INVAL, "cause of the last row");
    rows[300].b = 0;
    size_t at = 300, calls = 0;
    while (at < N) {
        check(redan_eval_batch(k.lane, k.order, rows + at, sizeof *rows, N - at, v + at, &done) == 0 && done > 0, "at %zu", at);
        for (size_t i = at; i < at + done; i++)
            check(v[i].ncodes == 2 && v[i].now_ns == (int64_t)i && v[i].nundefined == 1 && v[i].undefined[0] == 2 && v[i].nemits == (i == 500), "row %zu", i);
        at += done;
        if (at == 501)
            check(v[500].emits[0].fields[0].as.i == 501 && memcmp(v[500].emits[0].fields[1].as.text, "ACME", 4) == 0, "the row with an emit ends its batch");
        check(++calls < 20, "no progress");
    }
    check(calls > 2, "%zu calls: the room for codes was never used up", calls);
    check(redan_eval_batch(k.lane, 77, rows, sizeof *rows, 3, v, &done) == REDAN_E_INVAL && done == 0, "unknown event");
    kit_stop(&k);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(decision), cmocka_unit_test(score), cmocka_unit_test(undefined), cmocka_unit_test(messages), cmocka_unit_test(long_messages),
        cmocka_unit_test(late_messages), cmocka_unit_test(emits), cmocka_unit_test(float_mode), cmocka_unit_test(invalid_rows), cmocka_unit_test(high_water), cmocka_unit_test(routing),
        cmocka_unit_test(batches),
    };
    int failed = cmocka_run_group_tests_name("verdict on interp", tests, NULL, NULL);
    kit_backend = "x64";
    return failed + cmocka_run_group_tests_name("verdict on x64", tests, NULL, NULL);
}
