/* SPDX-License-Identifier: Apache-2.0
 * test_check.c: what the checker says, a row a mistake: codes and spans as `LINE:COL-LINE:COL`; hints; data files; limits;
 * the texts of cost, layout and hash. Beside the language model it is tested in tests/conform/test_check.py. */
#include "tests/unit/rows.h"
#include <stdlib.h>
#include <unistd.h>
#include "base/sym.h"
#include "dsl/dsl.h"

#define HEAD   "ruleset t version 1 undefined skip\n"
#define PARTED "ruleset t version 1 undefined skip partition by a\n"
#define EVENT  "event E { a: sym  side: enum(buy, sell)  q: int  fl: float  d: dec(2)  s: str(4)  tm: time?  u: dur  v: float[3]  b: bool }\n"

static struct rdn_arena arena;
static struct rdn_syms *syms;
static struct rdn_dsl_result res;
static char dir[] = "/tmp/rdn-check-XXXXXX";

static void compile(const char *text) {
    struct rdn_dsl_options opt = { .base_dir = dir };
    redan_error err;
    rdn_arena_fini(&arena);
    rdn_syms_close(syms);
    rdn_arena_init(&arena, &rdn_libc_mem);
    assert_int_equal(rdn_syms_open(&syms, &rdn_libc_mem, 1u << 20), 0);
    assert_int_equal(rdn_dsl_compile(&arena, syms, text, strlen(text), &opt, &res, &err), 0);
}

/* "CODE L:C-L:C CODE L:C-L:C ..." of the last compilation. */
static const char *said(void) {
    static char out[4096];
    size_t n = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < res.ndiags && n < sizeof out - 64; i++) {
        const struct rdn_dsl_diag *d = &res.diags[i];
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s %u:%u-%u:%u", n ? " " : "", d->code, d->line, d->col, d->end_line, d->end_col);
    }
    return out;
}

static const struct { const char *why, *says, *text; } rows[] = {
    { "unknown name", "E0301 3:20-3:22",
      HEAD EVENT "rule r on E { when zz > 1 flag X }" },
    { "near name", "E0301 3:20-3:22",
      HEAD EVENT "rule r on E { when qq > 1 flag X }" },
    { "declared twice", "E0302 4:7-4:8",
      HEAD EVENT "param p: int = 1\nparam p: int = 2" },
    { "rule twice", "E0302 4:6-4:7",
      HEAD EVENT "rule r on E { when b flag X }\nrule r on E { when b flag X }" },
    { "let twice", "E0302 4:5-4:6",
      HEAD EVENT "let l on E = q\nlet l on E = q" },
    { "test twice", "E0302 4:6-4:9",
      HEAD EVENT "test \"x\" { }\ntest \"x\" { }" },
    { "field is a global", "E0303 2:42-2:43",
      HEAD EVENT "param q: int = 1" },
    { "let is a global", "E0303 4:5-4:6",
      HEAD EVENT "param p: int = 1\nlet p on E = q" },
    { "let is a field", "E0303 3:5-3:6",
      HEAD EVENT "let q on E = 1" },
    { "fn parameter is a global", "E0303 4:4-4:5",
      HEAD EVENT "param p: int = 1\nfn f(p: int) -> int = p" },
    { "unknown event", "E0305 3:10-3:11",
      HEAD EVENT "let l on F = 1" },
    { "unknown function", "E0306 3:20-3:25",
      HEAD EVENT "rule r on E { when sqrtt(fl) > 1 flag X }" },
    { "column", "E0307 4:25-4:26",
      HEAD EVENT "table t by k: sym { c: int }\nrule r on E { when t[a].d > 1 flag X }" },
    { "partition field", "E0308 1:34-1:36",
      "ruleset t version 1 partition by zz\n" EVENT },
    { "let itself", "E0309 3:14-3:15",
      HEAD EVENT "let l on E = l + 1" },
    { "let cycle", "E0309 4:14-4:15",
      HEAD EVENT "let l on E = m\nlet m on E = l" },
    { "fn cycle", "E0310 4:23-4:27",
      HEAD EVENT "fn f(x: int) -> int = g(x)\nfn g(x: int) -> int = f(x)" },
    { "unknown list", "E0311 3:25-3:27",
      HEAD EVENT "rule r on E { when q in zz flag X }" },
    { "zone", "E0312 3:29-3:37",
      HEAD EVENT "rule r on E { when hour(tm, \"Mars/X\") > 1 flag X }" },
    { "calendar zone", "E0312 3:15-3:20",
      HEAD EVENT "calendar c tz \"X/Y\" { mon 09:00..10:00 }" },
    { "calendar list", "E0311 3:47-3:49",
      HEAD EVENT "calendar c tz \"UTC\" { mon 09:00..10:00 except zz }" },
    { "list of ints in a calendar", "E0401 4:47-4:48",
      HEAD EVENT "list l: int = [1]\ncalendar c tz \"UTC\" { mon 09:00..10:00 except l }" },
    { "now in a fn", "E0313 3:24-3:27",
      HEAD EVENT "fn f(x: int) -> time = now" },
    { "window in a fn", "E0313 4:23-4:24",
      HEAD EVENT "window w = count() on E\nfn f(x: int) -> int = w" },
    { "decimal literal in a kernel", "E0313 4:68-4:72",
      HEAD EVENT "fn f(x: dec(2)) -> float = 1.0\nkernel k(x: float) -> float deadline 1ms { each i < 2 reduce sum(f(1.50) + x) }" },
    { "decimal literal in a kernel's fn", "E0313 5:66-5:69",
      HEAD EVENT "fn f(x: dec(2)) -> float = 1.0\nfn g() -> float = f(1.50)\nkernel k(x: float) -> float deadline 1ms { each i < 2 reduce sum(g() + x) }" },
    { "event as value", "E0314 3:20-3:21",
      HEAD EVENT "rule r on E { when E > 1 flag X }" },
    { "list as value", "E0314 4:20-4:21",
      HEAD EVENT "list l: int = [1]\nrule r on E { when l > 1 flag X }" },
    { "plugin of another event", "E0315 5:22-5:23",
      HEAD EVENT "event F { z: int }\nplugin p(o: F) -> int deadline 1ms\nrule r on E { when p(F) > 1 flag X }" },
    { "plugin event argument", "E0401 4:22-4:23",
      HEAD EVENT "plugin p(o: E) -> int deadline 1ms\nrule r on E { when p(q) > 1 flag X }" },
    { "plugin type", "E0205 3:13-3:15",
      HEAD EVENT "plugin p(o: Ee) -> int deadline 1ms" },
    { "float beside int", "E0402 3:20-3:26",
      HEAD EVENT "rule r on E { when q > fl flag X }" },
    { "and of int", "E0401 3:20-3:21",
      HEAD EVENT "rule r on E { when q and b flag X }" },
    { "dec to float", "E0401 3:25-3:26",
      HEAD EVENT "rule r on E { when sqrt(d) > 1 flag X }" },
    { "when is int", "E0401 3:20-3:21",
      HEAD EVENT "rule r on E { when q flag X }" },
    { "bool order", "E0402 3:20-3:28",
      HEAD EVENT "rule r on E { when b < true flag X }" },
    { "sym order", "E0402 3:20-3:27",
      HEAD EVENT "rule r on E { when a < \"x\" flag X }" },
    { "enum member", "E0403 3:28-3:34",
      HEAD EVENT "rule r on E { when side == \"buyy\" flag X }" },
    { "enum with sym", "E0402 3:20-3:29",
      HEAD EVENT "rule r on E { when side == a flag X }" },
    { "int literal", "E0404 3:24-3:27",
      HEAD EVENT "rule r on E { when q > 1.5 flag X }" },
    { "int range", "E0405 3:24-3:43",
      HEAD EVENT "rule r on E { when q > 9223372036854775808 flag X }" },
    { "dec decimals", "E0406 3:24-3:29",
      HEAD EVENT "rule r on E { when d > 1.005 flag X }" },
    { "dec range", "E0405 3:24-3:44",
      HEAD EVENT "rule r on E { when d > 92233720368547758.08 flag X }" },
    { "null", "E0407 3:25-3:29",
      HEAD EVENT "rule r on E { when q == none flag X }" },
    { "branches", "E0408 3:20-3:41",
      HEAD EVENT "rule r on E { when (if b then q else fl) > 1 flag X }" },
    { "coalesce", "E0408 3:20-3:29",
      HEAD EVENT "rule r on E { when (tm ?? u) == tm flag X }" },
    { "arguments", "E0409 3:20-3:32",
      HEAD EVENT "rule r on E { when sqrt(fl, fl) > 1 flag X }" },
    { "literal wanted", "E0410 3:28-3:29",
      HEAD EVENT "rule r on E { when dec(fl, q) > 1 flag X }" },
    { "scale", "E0411 3:20-3:45",
      HEAD EVENT "rule r on E { when d * dec(q, 9) * dec(q, 9) > 1 flag X }" },
    { "shapes", "E0413 3:25-3:38",
      HEAD EVENT "rule r on E { when vsum(v + vec(1, 2)) > 1 flag X }" },
    { "index", "E0414 3:22-3:23",
      HEAD EVENT "rule r on E { when v[3] > 1 flag X }" },
    { "dimensions", "E0414 3:20-3:27",
      HEAD EVENT "rule r on E { when v[0, 0] > 1 flag X }" },
    { "constant", "E0416 4:16-4:17",
      HEAD EVENT "param p: int = 1\nparam o: int = p" },
    { "undefined constant", "E0417 3:16-3:21",
      HEAD EVENT "param p: int = 1 / 0" },
    { "float range", "E0419 3:25-3:30",
      HEAD EVENT "rule r on E { when fl > 1e309 flag X }" },
    { "text", "E0420 3:50-3:57",
      HEAD EVENT "rule r on E { when s in [\"abcde\"] and s == (s ?? \"abcde\") flag X }" },
    { "str literal", "E0420 3:19-3:26",
      HEAD EVENT "param p: str(4) = \"abcde\"" },
    { "aggregate", "E0501 3:12-3:15",
      HEAD EVENT "window w = cnt() on E" },
    { "arguments of an aggregate", "E0502 3:12-3:15",
      HEAD EVENT "window w = sum() on E" },
    { "sum of a sym", "E0503 3:16-3:17",
      HEAD EVENT "window w = sum(a) on E" },
    { "ewma over", "E0505 3:29-3:31",
      HEAD EVENT "window w = ewma(fl, 3) over 1s on E" },
    { "panes", "E0505 3:25-3:30",
      HEAD EVENT "window w = count() on E panes 4" },
    { "exact", "E0505 3:25-3:30",
      HEAD EVENT "window w = count() on E exact 4" },
    { "keys", "E0505 3:25-3:29",
      HEAD EVENT "window w = count() on E keys 4" },
    { "zscore", "E0505 3:12-3:18",
      HEAD EVENT "window w = zscore(fl) on E" },
    { "key type", "E0506 3:23-3:25",
      HEAD EVENT "window w = count() by fl on E" },
    { "key elsewhere", "E0507 5:20-5:21",
      HEAD EVENT "event F { z: int }\nwindow w = count() by a on E\nrule r on F { when w > 1 flag X }" },
    { "number of keys", "E0508 4:20-4:27",
      HEAD EVENT "window w = count() by a on E\nrule r on E { when w[a, a] > 1 flag X }" },
    { "reads itself", "E0509 3:16-3:17",
      HEAD EVENT "window w = sum(w) on E" },
    { "later window", "E0509 3:8-3:9",
      HEAD EVENT "window w = sum(z) on E\nwindow z = count() on E" },
    { "score in a window", "E0510 3:16-3:21",
      HEAD EVENT "window w = sum(score) on E" },
    { "plugin in a window", "E0510 4:16-4:19",
      HEAD EVENT "plugin p() -> int deadline 1ms\nwindow w = sum(p()) on E" },
    { "no partition key", "E0511 3:8-3:9",
      PARTED EVENT "window w = count() on E" },
    { "read across", "E0512 5:20-5:26",
      PARTED EVENT "event F { z: int }\nwindow w = count() by a on E\nrule r on F { when w[\"x\"] > 1 flag X }" },
    { "prev of accepted", "E0513 4:20-4:27",
      HEAD EVENT "window w = count() on accepted E\nrule r on E { when prev(w) > 1 flag X }" },
    { "prev of a field", "E0513 3:25-3:26",
      HEAD EVENT "rule r on E { when prev(q) > 1 flag X }" },
    { "cross without a window", "E0513 3:20-3:34",
      HEAD EVENT "rule r on E { when cross_up(q, 1) flag X }" },
    { "ewma span", "E0515 3:21-3:22",
      HEAD EVENT "window w = ewma(fl, 0) on E" },
    { "ewma param", "E0515 4:21-4:22",
      HEAD EVENT "param n: int = 3\nwindow w = ewma(fl, n) on E" },
    { "warm-up", "E0516 3:39-3:45",
      HEAD EVENT "window w = count() over 3 events on E warmup 4" },
    { "stored decimals", "E0517 3:16-3:33",
      HEAD EVENT "window w = sum(d * d * d * d * d) on E" },
    { "reset key", "E0518 4:39-4:40",
      HEAD EVENT "event F { z: int }\nwindow w = count() by a on E reset on F" },
    { "reset by itself", "E0519 3:39-3:40",
      HEAD EVENT "window w = count() by a on E reset on E" },
    { "reset across", "E0520 4:39-4:40",
      "ruleset t version 1 undefined skip partition by a\n"
      "event E { a: sym  side: enum(buy, sell)  q: int  fl: float  d: dec(2)  s: str(4)  tm: time?  u: dur  v: float[3]  z: int }\n"
      "event F { z: int }\n"
      "window w = count() by z on F reset on E" },
    { "two verdicts", "E0601 3:31-3:37",
      HEAD EVENT "rule r on E { when b reject A hold B }" },
    { "no policy", "E0602 3:6-3:7",
      "ruleset t version 1\n" EVENT "rule r on E { when b flag X }" },
    { "score twice", "E0603 3:30-3:39",
      HEAD EVENT "rule r on E { when score > 1 score A 1 }" },
    { "for", "E0604 3:31-3:34",
      HEAD EVENT "rule r on E { when b reject A for 1s }" },
    { "for 0", "E0604 3:29-3:32",
      HEAD EVENT "rule r on E { when b hold A for 0s }" },
    { "emit shape", "E0605 4:27-4:28",
      HEAD EVENT "rule r on E { when b emit X { z: 1 } }\nrule o on E { when b emit X { z: 1.5 } }" },
    { "emit after undefined", "E0606 3:39-3:54",
      HEAD EVENT "rule r on E { when b flag A undefined emit X { z: 1 } }" },
    { "score in the header", "E0606 1:31-1:40",
      "ruleset t version 1 undefined score A 1\n" EVENT },
    { "field twice", "E0608 3:37-3:38",
      HEAD EVENT "rule r on E { when b emit X { z: 1, z: 2 } }" },
    { "score in a test", "E0609 3:19-3:24",
      HEAD EVENT "test \"x\" { expect score > 1 }" },
    { "budget", "E0701 1:43-1:46",
      "ruleset t version 1 undefined skip budget 1ns\n" EVENT "rule r on E { when b flag X }" },
    { "expands", "E0705 9:4-9:6",
      HEAD EVENT "fn f0(x: int) -> int = x + x + x + x + x + x + x + x\n"
      "fn f1(x: int) -> int = f0(x) + f0(x) + f0(x) + f0(x)\n"
      "fn f2(x: int) -> int = f1(x) + f1(x) + f1(x) + f1(x)\n"
      "fn f3(x: int) -> int = f2(x) + f2(x) + f2(x) + f2(x)\n"
      "fn f4(x: int) -> int = f3(x) + f3(x) + f3(x) + f3(x)\n"
      "fn f5(x: int) -> int = f4(x) + f4(x) + f4(x) + f4(x)\n"
      "fn f6(x: int) -> int = f5(x) + f5(x) + f5(x) + f5(x)\n"
      "fn f7(x: int) -> int = f6(x) + f6(x) + f6(x) + f6(x)\n"
      "" },
    { "range", "E0707 3:16-3:17",
      HEAD EVENT "param p: int = 5 in 1..4" },
    { "row twice", "E0709 3:42-3:45",
      HEAD EVENT "table t by k: sym { c: int } = { \"a\" : 1 \"a\" : 2 }" },
    { "keys of a row", "E0409 3:34-3:37",
      HEAD EVENT "table t by k: sym { c: int } = { \"a\", \"b\" : 1 }" },
    { "table key", "E0506 3:15-3:20",
      HEAD EVENT "table t by k: float { c: int }" },
    { "file path", "E0710 3:18-3:24",
      HEAD EVENT "list l: int from \"../x\"" },
    { "file missing", "E0711 3:18-3:26",
      HEAD EVENT "list l: int from \"nosuch\"" },
    { "test param", "E0801 3:18-3:19",
      HEAD EVENT "test \"x\" { param p = 1 }" },
    { "test param range", "E0802 4:22-4:23",
      HEAD EVENT "param p: int = 1 in 1..2\ntest \"x\" { param p = 3 }" },
    { "field missing", "E0803 3:12-3:13",
      HEAD EVENT "test \"x\" { E { a: \"x\" } }" },
    { "mock", "E0804 3:17-3:18",
      HEAD EVENT "test \"x\" { mock p = 1 }" },
    { "code", "E0805 3:28-3:30",
      HEAD "event E { a: sym? }\ntest \"x\" { E { } => accept YY }" },
    { "not optional", "E0808 3:19-3:23",
      HEAD EVENT "test \"x\" { E { q: none } }" },
    { "host table", "E0809 3:16-3:17",
      HEAD EVENT "test \"x\" { row t[\"a\"] = none }" },
    { "row column", "E0810 4:16-4:17",
      HEAD EVENT "table t by k: sym { c: int  e: int } from host\ntest \"x\" { row t[\"a\"] = { c: 1 } }" },
    { "row full", "E0706 4:38-4:39",
      HEAD EVENT "table t by k: sym { c: int } from host keys 1\ntest \"x\" { row t[\"a\"] = { c: 1 } row t[\"b\"] = { c: 1 } }" },
    { "row freed", "W0901 3:7-3:8",
      HEAD EVENT "table t by k: sym { c: int } from host keys 1\ntest \"x\" { row t[\"a\"] = { c: 1 } row t[\"a\"] = none row t[\"b\"] = { c: 1 } }" },
    { "cause", "E0201 3:29-3:33",
      HEAD EVENT "test \"x\" { expect undefined(cool) 1 }" },
    { "rule of undefined", "E0301 3:38-3:40",
      HEAD "event E { a: sym? }\ntest \"x\" { E { } => accept undefined zz }" },
    { "unused", "W0901 3:5-3:6 W0901 4:4-4:5",
      HEAD EVENT "let l on E = q\nfn f(x: int) -> int = x" },
    { "constant rules", "W0902 3:20-3:25 W0906 4:20-4:25",
      HEAD EVENT "rule r on E { when 1 > 2 flag X }\nrule o on E { when 1 < 2 flag X }" },
    { "threshold", "W0903 4:20-4:25",
      HEAD EVENT "window w = count() over 1s on E exact 3\nrule r on E { when w > 3 flag X }\nrule o on E { when w >= 3 flag X }" },
    { "contradiction", "W0904 4:6-4:7",
      HEAD EVENT "rule r on E { when b reject A }\nrule o on E { when b accept A }" },
    { "integer division", "W0905 3:20-3:25",
      HEAD EVENT "rule r on E { when q / 2 > 1 flag X }" },
    { "list twice", "W0907 3:24-3:28",
      HEAD EVENT "list l: dec(2) = [1.5, 1.50]\nrule r on E { when d in l flag X }" },
    { "first error only", "E0301 3:20-3:22",
      HEAD EVENT "rule r on E { when zz > 1 and yy > 2 flag X }" },
    { "poison", "E0301 3:14-3:16",
      HEAD EVENT "let l on E = zz\nlet m on E = l\nrule r on E { when m > 1 flag X }" },
    { "first use", "E0301 4:14-4:16",
      HEAD EVENT "rule r on E { when l > 1 flag X }\nlet l on E = zz" },
    { "nothing", "",
      HEAD EVENT "rule r on E { when b flag X }" },
};

static void every_mistake(void **state) {
    (void)state;
    for each (i, rows) {
        compile(rows[i].text);
        check(!strcmp(said(), rows[i].says), "%s: says %s, expected %s", rows[i].why, said(), rows[i].says);
        check(!res.ir == (rows[i].says[0] == 'E'), "%s: a rule set exactly when there is no error", rows[i].why);
    }
}

static const struct { const char *body, *hint; } hints[] = {
    { "rule r on E { when sidee == \"buy\" flag X }", "did you mean \"side\"?" },
    { "rule r on E { when side == \"bvy\" flag X }", "did you mean \"buy\"?" },
    { "rule r on E { when sqrtt(fl) > 1 flag X }", "did you mean \"sqrt\"?" },
    { "window w = cuont() on E", "did you mean \"count\"?" },
    { "let l on Ee = q", "did you mean \"E\"?" },
    { "rule r on E { when q > fl flag X }", "convert: float(x) or int(x)" },
    { "param p: int = 1\nparam p: int = 2", "the first is a param" },
    { "rule r on E { when completely_else > 1 flag X }", NULL },
};

static void every_hint(void **state) {
    (void)state;
    char text[1024];
    for each (i, hints) {
        snprintf(text, sizeof text, HEAD EVENT "%s\n", hints[i].body);
        compile(text);
        const char *hint = res.ndiags ? res.diags[0].hint : "nothing said";
        check(hint ? hints[i].hint && !strcmp(hint, hints[i].hint) : !hints[i].hint, "%s: %s", hints[i].body, hint ? hint : "no hint");
    }
}

/* Order of declarations does not matter, tests included. */
static void tests_may_stand_first(void **state) {
    (void)state;
    compile(HEAD EVENT
            "test \"first\" {\n  param p = 2\n"
            "  E { a: \"x\", side: \"buy\", q: 1, fl: 1, d: 1, s: \"\", u: 1s, v: vec(1, 2, 3), b: true } => accept A, emit X { n: 1 }\n}\n"
            "window w = ewma(fl, p) on E\n"
            "rule r on E { when b and w > 0 flag A emit X { n: q } }\nparam p: int = 1 in 1..2\n");
    check(res.ndiags == 0, "says %s", said());
    compile(HEAD EVENT "test \"first\" { param p = 3 }\nparam p: int = 1 in 1..2\n");
    check(!strcmp(said(), "E0802 3:26-3:27"), "says %s", said());
}

static const struct { const char *decl, *data, *says; uint32_t n; } files[] = {
    { "list x: int from \"f\"", "1\n# no\n\n  -2 \r\n0x10\n1 + 2", "", 4 },
    { "list x: sym from \"f\"", "ACME\n\"B C\"\n\xc3\xa9t\xc3\xa9\n", "", 3 },              /* text beyond ASCII */
    { "list x: str(3) from \"f\"", "abc\n\xc2\xa0" "ab\n", "", 2 },                            /* a no-break space is white space */
    { "list x: str(3) from \"f\"", "abcd\n", "E0711 3:21-3:24", 0 },
    { "list x: dec(2) from \"f\"", "1.50\n-0.500\n92233720368547758.07\n", "", 3 },
    { "list x: dec(2) from \"f\"", "1.505\n", "E0711 3:21-3:24", 0 },
    { "list x: dur from \"f\"", "5m\n-250ms\n1.5s\n2w\n", "", 4 },
    { "list x: date from \"f\"", "2026-02-29\n", "E0711 3:19-3:22", 0 },
    { "list x: enum(on, off) from \"f\"", "on\n\"off\"\n", "", 2 },
    { "list x: int from \"f\"", "p\n", "E0711 3:18-3:21", 0 },                               /* no names in data */
    { "list x: int from \"f\"", "1 2\n", "E0711 3:18-3:21", 0 },
    { "list x: sym from \"f\"", "\xff\n", "E0711 3:18-3:21", 0 },
    { "list x: int from \"./f\"", "1\n", "", 1 },
    { "list x: int from \"/f\"", "1\n", "E0710 3:18-3:22", 0 },
    { "list x: int from \"a/../f\"", "1\n", "E0710 3:18-3:26", 0 },
    { "list x: int from \"..f\"", "1\n", "E0711 3:18-3:23", 0 },                             /* a name, but no file */
    { "list x: int from \".\"", "1\n", "E0711 3:18-3:21", 0 },                               /* a directory */
    { "table x by k: sym { c: int  s: sym } from \"f\"", "A, 1, x y\nB,2,\nA,3,z\n", "", 2 },   /* the last row of a key counts */
    { "table x by k: sym { c: int  s: sym } from \"f\"", "A, 1\n", "E0711 3:43-3:46", 0 },
};

static void data_files(void **state) {
    (void)state;
    char path[64], text[512];
    snprintf(path, sizeof path, "%s/f", dir);
    for each (i, files) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(files[i].data, f);
        fclose(f);
        const bool list = files[i].decl[0] == 'l';
        snprintf(text, sizeof text, HEAD EVENT "%s\nrule r on E { when %s flag A }\n", files[i].decl,
                 list ? "b" : "x[a].c > 1");
        compile(text);
        const bool unused = res.ndiags == 1 && !strcmp(res.diags[0].code, "W0901");
        check(unused ? !files[i].says[0] : !strcmp(said(), files[i].says), "row %zu: says %s", i, said());
        if (res.ir)
            assert_int_equal(list ? res.ir->lists[0].n : res.ir->tables[0].nrows, files[i].n);
    }
    unlink(path);
}

static void kept_last_row(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/f", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("A, 1\nB, 2\nA, 3\n", f);
    fclose(f);
    compile(HEAD EVENT "table x by k: sym { c: int } from \"f\"\nrule r on E { when x[a].c > 1 flag A }\n");
    assert_int_equal(res.ndiags, 0);
    assert_int_equal(res.ir->tables[0].nrows, 2);
    assert_int_equal(res.ir->tables[0].rows[0].vals[0].i, 3);
    assert_int_equal(res.ir->tables[0].rows[1].vals[0].i, 2);
    unlink(path);
}

/* ---- limits ---- */
static void repeat(const char *head, const char *fmt, unsigned n, const char *tail) {
    char *text = malloc(n * 64 + strlen(head) + strlen(tail) + 1), *p = text;
    assert_non_null(text);
    p += sprintf(p, "%s", head);
    for (unsigned i = 0; i < n; i++)
        p += sprintf(p, fmt, i);
    sprintf(p, "%s", tail);
    compile(text);
    free(text);
}

static const struct { const char *head, *fmt, *tail; unsigned n; const char *code; } limits[] = {
    { HEAD "event E { q: int }\n", "rule r%u on E { when q > 1 flag A }\n", "", 16384, "" },
    { HEAD "event E { q: int }\n", "rule r%u on E { when q > 1 flag A }\n", "", 16385, "E0703" },
    { HEAD, "event E%u { q: int }\n", "", 255, "" },
    { HEAD, "event E%u { q: int }\n", "", 256, "E0703" },
    { HEAD "event E { q: int }\nlet l on E = q", " + q", "\nrule r on E { when l > 1 flag A }\n", 190, "" },
};

static void every_limit(void **state) {
    (void)state;
    for each (i, limits) {
        repeat(limits[i].head, limits[i].fmt, limits[i].n, limits[i].tail);
        const char *code = res.ndiags ? res.diags[0].code : "";
        check(!strcmp(code, limits[i].code), "row %zu: says %.200s", i, said());
    }
}

/* Functions that look at their arguments more than once, inside each other: linear, or this never ends. */
static void nested_retyping(void **state) {
    (void)state;
    static const char *const open[] = { "min(", "max(1, ", "abs(", "clamp(0, 1, ", "(if b then 1 else ", "vsum(vec(", "(1 ?? " };
    static const char *const close[] = { ", 1)", ")", ")", ")", ")", ", 1))", ")" };
    char text[8192];
    for each (i, open) {
        size_t n = (size_t)sprintf(text, HEAD EVENT "let l on E = ");
        for (int j = 0; j < 30; j++)
            n += (size_t)sprintf(text + n, "%s", open[i]);
        n += (size_t)sprintf(text + n, i == 5 ? "fl" : "1");
        for (int j = 0; j < 30; j++)
            n += (size_t)sprintf(text + n, "%s", close[i]);
        sprintf(text + n, "\nrule r on E { when l > 1 flag A }\n");
        compile(text);
        check(res.ir, "%s: %s", open[i], said());
    }
}

/* 240 declarations below each other, each with a tree of height 190: the stack must do. */
static void deep_chain(void **state) {
    (void)state;
    char *text = malloc(1 << 20), *p = text;
    assert_non_null(text);
    p += sprintf(p, HEAD "event E { q: int }\nrule r on E { when l0 > 1 flag A }\n");
    for (int i = 0; i < 120; i++) {
        p += sprintf(p, "let l%d on E = l%d", i, i + 1);
        for (int j = 0; j < 190; j++)
            p += sprintf(p, " + 1");
        p += sprintf(p, "\n");
    }
    sprintf(p, "let l120 on E = q\n");
    compile(text);
    free(text);
    check(res.ndiags == 0, "says %s", said());
}

/* ---- the texts of 17.7 ---- */
static const char own[] =
    "ruleset own version 3 undefined reject NOVALUE\n"
    "event Pay { card: sym  amount: dec(2)  kind: enum(chip, web)?  note: str(7)  ok: bool  geo: float[2] }\n"
    "event Reset { card: sym  why: int? }\n"
    "table caps by card: sym { cap: dec(2)  tier: int } from host keys 1_000\n"
    "let cents on Pay = amount * 100\n"
    "fn twice(x: dec(2)) -> dec(2) = x + x\n"
    "window spent = sum(amount) over 1h by card on Pay where kind != \"web\" panes 12 reset on Reset\n"
    "window dist = stddev(float(cents)) over 64 events by card on accepted Pay keys 10\n"
    "window seen = distinct(note) over 10m by card on Pay\n"
    "rule cap on Pay { when spent > twice(caps[card].cap) or cents > 1_000.5 reject CAP \"spent {spent}\" flag SEEN }\n"
    "rule odd on Pay shadow { when (dist ?? 0) > 3 and vsum(geo * 2) < 1.5 score ODD 2 emit Odd { card: card, n: seen } }\n";
static const struct { const char *name; void (*f)(struct rdn_buf *, const struct rdn_ir *); const char *text; } texts[] = {
    { "cost", rdn_dsl_cost,
    "event Pay 340.1 ns\n"
    "rule cap 53.8 ns\n"
    "rule odd 110.9 ns\n"
    "event Reset 38.3 ns\n"
    "window spent 34.0 ns 264 B/key 17301504 B\n"
    "window dist 33.6 ns 568 B/key 5680 B\n"
    "window seen 83.2 ns 1000 B/key 65536000 B\n"
    "table caps 56 B/row 56000 B\n"
    "memory 82899184 B\n" },
    { "layout", rdn_dsl_layout,
    "event Pay size 64 hash 4b3a8cf8aa78391e Pay;ts:time;card:sym;amount:dec(2);kind:enum(chip,web)?;note:str(7);ok:bool;geo:float[2];\n"
    "  0 8 ts time\n"
    "  8 8 present bits\n"
    "  16 4 card sym\n"
    "  24 8 amount dec(2)\n"
    "  32 1 kind enum(chip,web)?\n"
    "  33 7 note str(7)\n"
    "  40 1 ok bool\n"
    "  48 16 geo float[2]\n"
    "event Reset size 32 hash 4312332e0144c21b Reset;ts:time;card:sym;why:int?;\n"
    "  0 8 ts time\n"
    "  8 8 present bits\n"
    "  16 4 card sym\n"
    "  24 8 why int?\n" },
    { "hash", rdn_dsl_hash,
    "event Pay 4b3a8cf8aa78391e\n"
    "event Reset 4312332e0144c21b\n"
    "window spent 7adf072d6fa749d1 window1|sum|.amount:dec(2)|value=dec(2)|span=time:3600000000000|panes=12|exact=0|by=.card:sym|on=Pay|accepted=0|local=0|where=(!= .kind:enum(chip,web)? \"web\")|reset=Reset\n"
    "window dist 1fc575dbba557d4c window1|stddev|(float ^3eedecb820bd8a75)|value=float|span=events:64|panes=0|exact=0|by=.card:sym|on=Pay|accepted=1|local=0|where=-\n"
    "window seen 7c76d59f853ca940 window1|distinct|.note:str(7)|value=str(7)|span=time:600000000000|panes=60|exact=64|by=.card:sym|on=Pay|accepted=0|local=0|where=-\n" },
};

static void texts_of_a_rule_set(void **state) {
    (void)state;
    compile(own);
    check(res.ndiags == 0, "says %s", said());
    for each (i, texts) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        texts[i].f(&b, res.ir);
        check(!strcmp(rdn_buf_str(&b), texts[i].text), "%s:\n%s", texts[i].name, rdn_buf_str(&b));
        rdn_buf_fini(&b);
    }
}

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int drop(void **state) {
    (void)state;
    rdn_arena_fini(&arena);
    rdn_syms_close(syms);
    return rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake), cmocka_unit_test(every_hint), cmocka_unit_test(tests_may_stand_first), cmocka_unit_test(data_files),
        cmocka_unit_test(kept_last_row), cmocka_unit_test(every_limit), cmocka_unit_test(nested_retyping), cmocka_unit_test(deep_chain),
        cmocka_unit_test(texts_of_a_rule_set),
    };
    return cmocka_run_group_tests(tests, make_dir, drop);
}
