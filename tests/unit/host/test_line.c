/* SPDX-License-Identifier: Apache-2.0
 * test_line.c: JSON and event lines in every detail of LANGUAGE.md 17.1, by tables. The same lines against the reference model:
 * tests/conform/lines.py. */
#include "base/text.h"
#include "base/json_read.h"
#include "host/line.h"
#include "tests/unit/host/engine_kit.h"
#include "host/host.h"

/* ---- JSON ---- */
/* The tree printed back: kinds, texts and numbers as read. */
static void print_tree(char **at, struct rdn_json_reader *r, const struct rdn_json *j) {
    static const char *const words[] = { "null", "false", "true" };
    if (j->kind <= RDN_JSON_TRUE) {
        *at += sprintf(*at, "%s", words[j->kind]);
    } else if (j->kind == RDN_JSON_INT || j->kind == RDN_JSON_REAL) {
        *at += sprintf(*at, "%c%.*s", j->kind == RDN_JSON_INT ? 'i' : 'r', (int)j->len, j->text);
    } else if (j->kind == RDN_JSON_STRING) {
        *at += sprintf(*at, "'");
        for (uint32_t i = 0; i < j->len; i++)
            *at += sprintf(*at, (unsigned char)j->text[i] < 0x20 ? "<%02x>" : "%c", (unsigned char)j->text[i]);
        *at += sprintf(*at, "'");
    } else {
        *at += sprintf(*at, "%c", j->kind == RDN_JSON_ARRAY ? '[' : '{');
        for (const struct rdn_json *x = rdn_json_first(r, j); x; x = rdn_json_next(r, x)) {
            if (j->kind == RDN_JSON_OBJECT)
                *at += sprintf(*at, "%.*s:", (int)x->name_len, x->name);
            print_tree(at, r, x);
            *at += sprintf(*at, "%s", rdn_json_next(r, x) ? "," : "");
        }
        *at += sprintf(*at, "%c", j->kind == RDN_JSON_ARRAY ? ']' : '}');
    }
}

static void json_trees(void **state) {
    (void)state;
    static const struct { const char *text, *want; } rows[] = {
        { "null", "null" }, { "true", "true" }, { "false", "false" }, { "0", "i0" }, { "-0", "i-0" }, { "-12", "i-12" }, { "1.50", "r1.50" }, { "1e5", "r1e5" }, { "1E-5", "r1E-5" },
        { "-0.0e+00", "r-0.0e+00" }, { "123456789012345678901234567890", "i123456789012345678901234567890" }, { "1e400", "r1e400" },
        { " [ 1 , 2 ] ", "[i1,i2]" }, { "[]", "[]" }, { "{}", "{}" }, { "{\"a\":1,\"b\":[{\"c\":null}]}", "{a:i1,b:[{c:null}]}" }, { "{\"a\":1,\"a\":2}", "{a:i1,a:i2}" },
        { "\"\"", "''" }, { "\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "'a\"\\/<08><0c><0a><0d><09>z'" }, { "\"\\u0041\\u00e9\\u20ac\"", "'A\xc3\xa9\xe2\x82\xac'" },
        { "\"\\ud83d\\ude00\"", "'\xf0\x9f\x98\x80'" }, { "\"\\uD83D\\uDE00\"", "'\xf0\x9f\x98\x80'" }, { "\"\\u0000\"", "'<00>'" }, { "\"\x7f\xc2\x80\"", "'\x7f\xc2\x80'" },
        { "{\"\\u0061\":1}", "{a:i1}" }, { "\t\r\n 1 \n", "i1" },
    };
    struct rdn_json_reader r;
    rdn_json_init(&r, &rdn_libc_mem);
    for each (i, rows) {
        char text[1024], *at = text;
        const struct rdn_json *j = rdn_json_read(&r, rows[i].text, strlen(rows[i].text));
        check(j, "%s: %s", rows[i].text, r.why);
        print_tree(&at, &r, j);
        check(strcmp(text, rows[i].want) == 0, "%s: %s", rows[i].text, text);
    }
    rdn_json_fini(&r);
}

static void json_refusals(void **state) {
    (void)state;
    static const struct { const char *text; size_t n; const char *why; } rows[] = {
        { "", 0, "JSON" }, { " ", 0, "JSON" }, { "nul", 0, "JSON" }, { "nulll", 0, "JSON" }, { "True", 0, "JSON" }, { "NaN", 0, "JSON" }, { "Infinity", 0, "JSON" }, { "-Infinity", 0, "JSON" },
        { "01", 0, "JSON" }, { "-01", 0, "JSON" }, { "-", 0, "JSON" }, { "+1", 0, "JSON" }, { "1.", 0, "JSON" }, { ".5", 0, "JSON" }, { "1e", 0, "JSON" }, { "1e+", 0, "JSON" }, { "0x1", 0, "JSON" },
        { "1 2", 0, "JSON" }, { "{}{}", 0, "JSON" }, { "[1,]", 0, "JSON" }, { "[,1]", 0, "JSON" }, { "[1 2]", 0, "JSON" }, { "[1", 0, "JSON" }, { "[", 0, "JSON" }, { "]", 0, "JSON" }, { "[}", 0, "JSON" },
        { "{\"a\"}", 0, "JSON" }, { "{\"a\":}", 0, "JSON" }, { "{\"a\":1,}", 0, "JSON" }, { "{a:1}", 0, "JSON" }, { "{1:1}", 0, "JSON" }, { "{\"a\":1", 0, "JSON" }, { "{,}", 0, "JSON" }, { "'a'", 0, "JSON" },
        { "\"a", 0, "JSON" }, { "\"a\\", 0, "JSON" }, { "\"\\x\"", 0, "JSON" }, { "\"\\u12\"", 0, "JSON" }, { "\"\\u12g4\"", 0, "JSON" }, { "\"\\u", 0, "JSON" }, { "\"\t\"", 0, "JSON" },
        { "\"\x1f\"", 0, "JSON" }, { "\"a\0b\"", 5, "JSON" }, { "\"\\\0\"", 4, "JSON" }, { "1\0", 2, "JSON" }, { "\xef\xbb\xbf{}", 0, "JSON" }, { "// c\n1", 0, "JSON" },
        { "\"\\ud800\"", 0, "surrogate" }, { "\"\\udc00\"", 0, "surrogate" }, { "\"\\ud800x\"", 0, "surrogate" }, { "\"\\ud800\\u0041\"", 0, "surrogate" }, { "\"\\ud800\\ud800\"", 0, "surrogate" },
        { "\"\\ud83d\\ude0\"", 0, "surrogate" }, { "{\"\\ud800\":1}", 0, "surrogate" },
        { "\"\xff\"", 0, "UTF-8" }, { "\"\xc0\x80\"", 0, "UTF-8" }, { "\"\xed\xa0\x80\"", 0, "UTF-8" }, { "\"\xf4\x90\x80\x80\"", 0, "UTF-8" }, { "\"\xe2\x82\"", 0, "UTF-8" }, { "{}\xff", 0, "UTF-8" },
    };
    struct rdn_json_reader r;
    rdn_json_init(&r, &rdn_libc_mem);
    for each (i, rows) {
        size_t n = rows[i].n ? rows[i].n : strlen(rows[i].text);
        char *copy = malloc(n + 1);                      /* its own block: ASan sees a read past the end */
        memcpy(copy, rows[i].text, n);
        char *exact = realloc(copy, n ? n : 1);
        check(!rdn_json_read(&r, exact, n), "'%s' is taken", rows[i].text);
        check(strstr(r.why, rows[i].why), "'%s': %s", rows[i].text, r.why);
        free(exact);
    }
    check(rdn_json_read(&r, "[1]", 3), "a good one after bad ones: %s", r.why);
    rdn_json_fini(&r);
}

static void json_depth(void **state) {
    (void)state;
    struct rdn_json_reader r;
    rdn_json_init(&r, &rdn_libc_mem);
    for (int mixed = 0; mixed < 2; mixed++)
        for (size_t depth = 1; depth <= 40; depth++) {
            char text[512], *p = text;
            for (size_t i = 0; i < depth; i++)
                p += sprintf(p, mixed && i % 2 ? "{\"a\":" : "[");
            *p++ = '1';
            for (size_t i = depth; i-- > 0;)
                *p++ = mixed && i % 2 ? '}' : ']';
            const struct rdn_json *j = rdn_json_read(&r, text, (size_t)(p - text));
            check(!j == (depth > 32), "%zu levels: %s", depth, r.why);
        }
    /* Siblings do not add up, and hostile depth costs nothing. */
    char *long_text = malloc(200001);
    for (int i = 0; i < 200000; i++)
        long_text[i] = '[';
    check(!rdn_json_read(&r, long_text, 200000) && strstr(r.why, "32"), "%s", r.why);
    for (int i = 0; i < 200000; i += 4)
        memcpy(long_text + i, i ? "[1]," : "[   ", 4);
    long_text[199999] = ']';
    check(rdn_json_read(&r, long_text, 200000)->n == 49999, "%s", r.why);
    free(long_text);
    rdn_json_fini(&r);
}

static void json_lookup(void **state) {
    (void)state;
    struct rdn_json_reader r;
    rdn_json_init(&r, &rdn_libc_mem);
    static const char text[] = "{\"a\":1,\"b\":\"x\",\"a\":\"x\\u0000y\",\"\":3}";
    const struct rdn_json *o = rdn_json_read(&r, text, sizeof text - 1);
    check(o, "%s", r.why);
    check(rdn_json_get(&r, o, "a")->kind == RDN_JSON_STRING && rdn_json_get(&r, o, "a")->len == 3, "the last of a name");
    check(!rdn_json_get(&r, o, "c") && rdn_json_get(&r, o, "")->kind == RDN_JSON_INT, "names");
    check(rdn_json_is(rdn_json_get(&r, o, "b"), "x") && !rdn_json_is(rdn_json_get(&r, o, "a"), "x") && !rdn_json_is(rdn_json_get(&r, o, ""), "3"), "is");
    rdn_json_fini(&r);
}

/* ---- lines ---- */
static const char rules[] = "ruleset t version 1\n  undefined skip\n"
    "event E { i: int?  f: float?  d: dec(2)?  t: time?  u: dur?  y: date?  b: bool?  s: sym?  r: str(4)?  m: enum(red, green)?  v: float[2]?  w: int[2, 2]? }\n"
    "event Must { i: int }\n"
    "param p: int = 5 in 1..9\nparam q: float = 1.0\nplugin g(x: int) -> float deadline 1ms default 0.0\n"
    "table h by k: sym { c: int  d: dec(2) } from host keys 8\ntable fixed by k: int { c: int } = { 1: 2 }\n"
    "rule r on E { when g(1) > 5.0 and i in 1..p and f > q and h[s].c > 1 and fixed[i].c > 1 flag A }\nrule x on Must { when h[\"a\"].d > 1.00 flag B }\n";

struct lines { redan_engine *eng; redan_ruleset *rs; struct rdn_line_reader *r; struct rdn_line l; };
static void lines_open(struct lines *x) {
    x->eng = kit_engine(1, NULL);
    x->rs = kit_compile(x->eng, rules);
    check(rdn_line_open(&rdn_libc_mem, x->eng->syms, &x->r) == 0, "open");
    rdn_line_rules(x->r, x->rs->ir);
}
static void lines_close(struct lines *x) {
    rdn_line_close(x->r);
    redan_release(x->rs);
    redan_close(x->eng);
}
static int read_line(struct lines *x, const char *text) {
    char *exact = malloc(strlen(text) + 1);
    memcpy(exact, text, strlen(text));
    exact = realloc(exact, strlen(text) ? strlen(text) : 1);
    memset(&x->l, 0x55, sizeof x->l);
    rdn_line_read(x->r, exact, strlen(text), &x->l);
    free(exact);
    return x->l.kind;
}

static void field_values(void **state) {
    (void)state;
    static const struct { const char *field, *value; bool good; } rows[] = {
        { "i", "0", 1 }, { "i", "-0", 1 }, { "i", "9223372036854775807", 1 }, { "i", "-9223372036854775808", 1 }, { "i", "9223372036854775808", 0 }, { "i", "1.0", 0 }, { "i", "1e2", 0 },
        { "i", "\"1\"", 0 }, { "i", "true", 0 }, { "i", "[]", 0 }, { "i", "{}", 0 }, { "u", "-5", 1 }, { "u", "\"5s\"", 0 }, { "u", "1.5", 0 },
        { "f", "1", 1 }, { "f", "1.5e300", 1 }, { "f", "1e308", 1 }, { "f", "1e309", 0 }, { "f", "1e400", 0 }, { "f", "1e-400", 1 }, { "f", "\"nan\"", 1 }, { "f", "\"inf\"", 1 }, { "f", "\"-inf\"", 1 },
        { "f", "\"+inf\"", 0 }, { "f", "\"1\"", 0 }, { "f", "\"NaN\"", 0 }, { "f", "true", 0 }, { "f", "123456789012345678901234567890", 1 },
        { "d", "\"1\"", 1 }, { "d", "\"-1.50\"", 1 }, { "d", "\"1.500\"", 1 }, { "d", "\"1.505\"", 0 }, { "d", "\"0001.5\"", 1 }, { "d", "1", 0 }, { "d", "1.5", 0 }, { "d", "\"+1\"", 0 }, { "d", "\" 1\"", 0 },
        { "d", "\"1.\"", 0 }, { "d", "\".5\"", 0 }, { "d", "\"\"", 0 }, { "d", "\"-\"", 0 }, { "d", "\"1e2\"", 0 }, { "d", "\"92233720368547758.07\"", 1 }, { "d", "\"92233720368547758.08\"", 0 },
        { "d", "\"-92233720368547758.08\"", 1 }, { "d", "\"-92233720368547758.09\"", 0 }, { "d", "\"000000000000000000000000000001\"", 1 }, { "d", "\"0000000000000000000000000000001\"", 0 },
        { "d", "\"1.000000000000000000000000000000\"", 1 }, { "d", "\"1.0000000000000000000000000000000\"", 0 }, { "d", "\"999999999999999999999999999999\"", 0 }, { "d", "\"1.5 \"", 0 }, { "d", "\"1.5.0\"", 0 },
        { "t", "5", 1 }, { "t", "\"2026-03-03T15:00:00Z\"", 1 }, { "t", "\"2026-02-30T15:00:00Z\"", 0 }, { "t", "\"5\"", 0 }, { "t", "5.0", 0 }, { "t", "9223372036854775808", 0 },
        { "y", "\"2024-02-29\"", 1 }, { "y", "\"2023-02-29\"", 0 }, { "y", "5", 0 }, { "b", "true", 1 }, { "b", "false", 1 }, { "b", "1", 0 }, { "b", "\"true\"", 0 },
        { "s", "\"\"", 1 }, { "s", "\"\xc3\xa9\"", 1 }, { "s", "\"a\\u0000\"", 0 }, { "s", "5", 0 }, { "r", "\"abcd\"", 1 }, { "r", "\"abcde\"", 0 }, { "r", "\"ab\xe2\x82\xac\"", 0 }, { "r", "\"\\u0000\"", 0 },
        { "m", "\"red\"", 1 }, { "m", "\"Red\"", 0 }, { "m", "\"\"", 0 }, { "m", "0", 0 }, { "m", "\"red\\u0000\"", 0 },
        { "v", "[1,2]", 1 }, { "v", "[1,\"nan\"]", 1 }, { "v", "[1]", 0 }, { "v", "[1,2,3]", 0 }, { "v", "[1,null]", 0 }, { "v", "[1,[2]]", 0 }, { "v", "1", 0 },
        { "w", "[[1,2],[3,4]]", 1 }, { "w", "[1,2,3,4]", 0 }, { "w", "[[1,2]]", 0 }, { "w", "[[1,2],[3]]", 0 }, { "w", "[[1,2],[3,4.0]]", 0 }, { "w", "[[1,2],3]", 0 },
    };
    struct lines x;
    lines_open(&x);
    for each (i, rows) {
        char text[256];
        snprintf(text, sizeof text, "{\"type\":\"E\",\"ts\":1,\"f\":{\"%s\":%s}}", rows[i].field, rows[i].value);
        int kind = read_line(&x, text);
        check(kind == (rows[i].good ? RDN_LINE_EVENT : RDN_LINE_BAD), "%s: %s", text, kind == RDN_LINE_BAD ? x.l.why : "taken");
        check(kind != RDN_LINE_BAD || (x.l.why[0] && !strchr(x.l.why, '\n')), "%s: reason '%s'", text, x.l.why);
        if (kind == RDN_LINE_EVENT)
            check(rdn_row_valid(&x.rs->ir->events[0], x.l.row, rdn_sym_count(x.eng->syms)), "%s: the row is not valid", text);
        snprintf(text, sizeof text, "{\"type\":\"E\",\"ts\":1,\"f\":{\"%s\":null}}", rows[i].field);
        check(read_line(&x, text) == RDN_LINE_EVENT, "%s", text);
        uint64_t present;
        memcpy(&present, x.l.row + 8, 8);
        check(present == 0, "%s: present %llx", text, (unsigned long long)present);
    }
    lines_close(&x);
}

static void float_bits(void **state) {
    (void)state;
    static const struct { const char *value; uint64_t bits; } rows[] = {
        { "-0", 0 }, { "-0.0", 1ull << 63 }, { "-0e5", 1ull << 63 }, { "0", 0 }, { "9007199254740993", 0x4340000000000000 }, { "9007199254740993.0", 0x4340000000000000 },
        { "9223372036854775807", 0x43e0000000000000 }, { "1e-400", 0 }, { "-1e-400", 1ull << 63 }, { "5e-324", 1 }, { "1.7976931348623157e308", 0x7fefffffffffffff },
        { "123456789012345678901234567890", 0x45f8ee90ff6c373e }, { "0.1", 0x3fb999999999999a } };
    struct lines x;
    lines_open(&x);
    for each (i, rows) {
        char text[128];
        uint64_t bits;
        snprintf(text, sizeof text, "{\"type\":\"E\",\"ts\":1,\"f\":{\"f\":%s}}", rows[i].value);
        check(read_line(&x, text) == RDN_LINE_EVENT, "%s: %s", text, x.l.why);
        memcpy(&bits, x.l.row + x.rs->ir->events[0].fields[1].offset, 8);
        check(bits == rows[i].bits, "%s: %016llx", rows[i].value, (unsigned long long)bits);
    }
    lines_close(&x);
}

static void whole_lines(void **state) {
    (void)state;
    static const struct { const char *text; int kind; } rows[] = {
        { "", RDN_LINE_EMPTY }, { " \t\r ", RDN_LINE_EMPTY }, { "\v", RDN_LINE_BAD }, { "\f", RDN_LINE_BAD }, { "\xc2\xa0", RDN_LINE_BAD }, { "\xef\xbb\xbf", RDN_LINE_BAD },
        { "5", RDN_LINE_BAD }, { "[]", RDN_LINE_BAD }, { "null", RDN_LINE_BAD }, { "{}", RDN_LINE_BAD },
        { "\t{\"type\":\"E\",\"ts\":1} \r", RDN_LINE_EVENT }, { "{\"type\":\"E\",\"ts\":1,\"f\":{}}", RDN_LINE_EVENT }, { "{\"type\":\"E\",\"ts\":1,\"f\":null}", RDN_LINE_BAD }, { "{\"type\":\"E\",\"ts\":1,\"f\":[]}", RDN_LINE_BAD },
        { "\xef\xbb\xbf{\"type\":\"E\",\"ts\":1}", RDN_LINE_BAD }, { "{\"type\":\"E\",\"ts\":1}x", RDN_LINE_BAD }, { "{\"type\":\"E\"}", RDN_LINE_BAD }, { "{\"ts\":1}", RDN_LINE_BAD },
        { "{\"type\":\"e\",\"ts\":1}", RDN_LINE_BAD }, { "{\"type\":5,\"ts\":1}", RDN_LINE_BAD }, { "{\"type\":\"E\",\"ts\":null}", RDN_LINE_BAD }, { "{\"type\":\"E\",\"ts\":\"1\"}", RDN_LINE_BAD },
        { "{\"type\":\"X\",\"type\":\"E\",\"ts\":\"x\",\"ts\":1,\"f\":5,\"f\":{}}", RDN_LINE_EVENT }, { "{\"type\":\"E\",\"ts\":1,\"zz\":{\"a\":[1]},\"seq\":3}", RDN_LINE_EVENT },
        { "{\"type\":\"E\",\"ts\":1,\"f\":{\"zz\":1}}", RDN_LINE_BAD }, { "{\"type\":\"E\",\"ts\":1,\"f\":{\"ts\":1}}", RDN_LINE_BAD }, { "{\"type\":\"E\",\"ts\":1,\"f\":{\"i\":\"x\",\"i\":2}}", RDN_LINE_EVENT },
        { "{\"type\":\"E\",\"ts\":1,\"f\":{\"i\":2,\"i\":\"x\"}}", RDN_LINE_BAD }, { "{\"type\":\"Must\",\"ts\":1}", RDN_LINE_BAD }, { "{\"type\":\"Must\",\"ts\":1,\"f\":{\"i\":null}}", RDN_LINE_BAD },
        { "{\"type\":\"Must\",\"ts\":\"2026-03-03T15:00:00Z\",\"f\":{\"\\u0069\":1}}", RDN_LINE_EVENT },
        { "{\"param\":\"p\",\"value\":9}", RDN_LINE_PARAM }, { "{\"param\":\"p\",\"value\":99}", RDN_LINE_PARAM }, { "{\"param\":\"p\",\"value\":1.0}", RDN_LINE_BAD }, { "{\"param\":\"p\",\"value\":null}", RDN_LINE_BAD },
        { "{\"param\":\"p\"}", RDN_LINE_BAD }, { "{\"param\":\"x\",\"value\":1}", RDN_LINE_BAD }, { "{\"param\":5,\"value\":1}", RDN_LINE_BAD }, { "{\"param\":\"q\",\"value\":\"nan\"}", RDN_LINE_PARAM },
        { "{\"plugin\":\"g\",\"value\":1.5}", RDN_LINE_CALL }, { "{\"plugin\":\"g\",\"value\":null}", RDN_LINE_CALL }, { "{\"plugin\":\"g\"}", RDN_LINE_BAD }, { "{\"plugin\":\"g\",\"value\":\"x\"}", RDN_LINE_BAD },
        { "{\"plugin\":\"p\",\"value\":1}", RDN_LINE_BAD }, { "{\"param\":\"p\",\"plugin\":\"g\",\"value\":5}", RDN_LINE_PARAM }, { "{\"param\":\"p\",\"row\":\"h\",\"type\":\"E\",\"ts\":1,\"value\":5}", RDN_LINE_PARAM },
        { "{\"row\":\"h\",\"key\":[\"a\"],\"values\":{\"c\":1,\"d\":\"2\"}}", RDN_LINE_ROW }, { "{\"row\":\"h\",\"key\":[\"a\"],\"values\":null}", RDN_LINE_ROW }, { "{\"row\":\"h\",\"key\":[\"a\"]}", RDN_LINE_BAD },
        { "{\"row\":\"h\",\"key\":[\"a\"],\"values\":{\"c\":1}}", RDN_LINE_BAD }, { "{\"row\":\"h\",\"key\":[\"a\"],\"values\":{\"c\":1,\"d\":null}}", RDN_LINE_BAD }, { "{\"row\":\"h\",\"key\":[\"a\"],\"values\":{\"c\":1,\"d\":\"2\",\"e\":3}}", RDN_LINE_BAD },
        { "{\"row\":\"h\",\"key\":[],\"values\":null}", RDN_LINE_BAD }, { "{\"row\":\"h\",\"key\":[\"a\",\"b\"],\"values\":null}", RDN_LINE_BAD }, { "{\"row\":\"h\",\"key\":\"a\",\"values\":null}", RDN_LINE_BAD },
        { "{\"row\":\"h\",\"key\":[5],\"values\":null}", RDN_LINE_BAD }, { "{\"row\":\"fixed\",\"key\":[1],\"values\":null}", RDN_LINE_BAD }, { "{\"row\":\"zz\",\"key\":[1],\"values\":null}", RDN_LINE_BAD },
        { "{\"row\":null,\"type\":\"E\",\"ts\":1}", RDN_LINE_BAD }, { "{\"row\":\"h\",\"key\":[\"a\"],\"values\":{\"c\":\"x\",\"c\":1,\"d\":\"2\"}}", RDN_LINE_ROW },
    };
    struct lines x;
    lines_open(&x);
    for each (i, rows) {
        int kind = read_line(&x, rows[i].text);
        check(kind == rows[i].kind, "%s: kind %d %s", rows[i].text, kind, kind == RDN_LINE_BAD ? x.l.why : "");
        check(kind != RDN_LINE_BAD || (memchr(x.l.why, 0, sizeof x.l.why) && x.l.why[0]), "%s: no reason", rows[i].text);
    }
    lines_close(&x);
}

/* A reason is one JSON string: whatever stood in the line, it is cut between characters. */
static void long_reasons(void **state) {
    (void)state;
    struct lines x;
    lines_open(&x);
    for (int pad = 50; pad < 64; pad++) {
        char text[1024], *p = text + sprintf(text, "{\"type\":\"E\",\"ts\":1,\"f\":{\"%.*s", pad, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        for (int i = 0; i < 100; i++)
            p += sprintf(p, "\xe2\x82\xac");
        strcpy(p, "\":1}}");
        check(read_line(&x, text) == RDN_LINE_BAD && rdn_utf8_valid(x.l.why, strlen(x.l.why)), "%d: '%s'", pad, x.l.why);
        check(strstr(x.l.why, "aaaaa"), "%d: '%s'", pad, x.l.why);
    }
    lines_close(&x);
}

static void control_values(void **state) {
    (void)state;
    struct lines x;
    lines_open(&x);
    check(read_line(&x, "{\"param\":\"q\",\"value\":-0.5}") == RDN_LINE_PARAM && x.l.index == 1 && x.l.val.f == -0.5, "param");
    check(read_line(&x, "{\"plugin\":\"g\",\"value\":null}") == RDN_LINE_CALL && x.l.none, "plugin none");
    check(read_line(&x, "{\"plugin\":\"g\",\"value\":2}") == RDN_LINE_CALL && !x.l.none && x.l.val.f == 2, "plugin");
    check(read_line(&x, "{\"row\":\"h\",\"key\":[\"a\"],\"values\":{\"d\":\"2.5\",\"c\":-1}}") == RDN_LINE_ROW && !x.l.none && x.l.vals[0].i == -1 && x.l.vals[1].d == 250, "row");
    check(read_line(&x, "{\"row\":\"h\",\"key\":[\"a\"],\"values\":null}") == RDN_LINE_ROW && x.l.none && x.l.index == 0, "row none");
    lines_close(&x);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_trees), cmocka_unit_test(json_refusals), cmocka_unit_test(json_depth), cmocka_unit_test(json_lookup), cmocka_unit_test(field_values),
        cmocka_unit_test(float_bits), cmocka_unit_test(whole_lines), cmocka_unit_test(long_reasons), cmocka_unit_test(control_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
