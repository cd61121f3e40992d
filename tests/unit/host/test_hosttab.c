/* SPDX-License-Identifier: Apache-2.0
 * test_hosttab.c: host tables through redan.h: every type of key and column, every refusal, rows between events, over swaps, on each
 * executor. */
#include "host/host.h"
#include "tests/unit/host/engine_kit.h"

#define TABLES \
    "table lim by account: sym, side: enum(buy, sell) { top: int  px: dec(4)  name: str(5)  ok: bool } from host keys 3\n" \
    "table odd by at: time, day: date, of: dur, n: int, d: dec(2), s: str(3), b: bool { f: float  e: enum(x, y)  who: sym  t: time  a: date  u: dur } from host\n"
#define RULES HEAD TABLES \
    "rule top   on Order { when qty > lim[account, side].top         reject TOP \"{lim[account, side].name}\" }\n" \
    "rule px    on Order { when lim[account, side].px == 1.5         flag PX }\n" \
    "rule ok    on Order { when lim[account, side].ok                flag OK }\n" \
    "rule odd   on Order { when odd[2026-01-01T00:00:00Z, 2026-01-02, 3s, qty, 0.25, \"abc\", true].f > 0.5  flag ODD }\n" \
    "rule odd_e on Order { when odd[2026-01-01T00:00:00Z, 2026-01-02, 3s, qty, 0.25, \"abc\", true].e == \"y\" and " \
    "odd[2026-01-01T00:00:00Z, 2026-01-02, 3s, qty, 0.25, \"abc\", true].who == account flag ODD_E }\n"

#define V(t, ...) ((redan_value){ .type = REDAN_T_##t, .as = { __VA_ARGS__ } })
#define INT(x) V(INT, .i = (x))
#define TXT(x) ((redan_value){ .type = REDAN_T_TEXT, .len = sizeof(x) - 1, .as = { .text = (x) } })
#define DEC(m, s) ((redan_value){ .type = REDAN_T_DEC, .scale = (s), .as = { .dec = { (uint64_t)(m), (m) < 0 ? -1 : 0 } } })

static redan_value key[8], val[8];
static void lim_row(struct kit *k, int64_t top) {
    key[0] = V(SYM, .i = k->row.account);
    key[1] = TXT("buy");
    val[0] = INT(top);
    val[1] = DEC(15, 1);
    val[2] = TXT("abc");
    val[3] = V(BOOL, .i = 1);
}

static const char *codes_of(struct kit *k) {
    static char buf[200];
    int n = 0;
    buf[0] = 0;
    for (uint32_t i = 0; i < k->v.ncodes; i++)
        n += snprintf(buf + n, sizeof buf - (size_t)n, "%s%s", i ? " " : "", redan_code_name(k->lane, k->v.codes[i]));
    return buf;
}

static uint32_t bound(redan_engine *e, const char *name) {
    uint32_t id = 99;
    redan_error err = { 0 };
    check(redan_table(e, name, &id, &err) == 0, "%s", err.text);
    return id;
}

static void rows_between_events(void **state) {
    (void)state;
    struct kit k;
    uint32_t n = 9;
    kit_start(&k, RULES);
    uint32_t lim = bound(k.eng, "lim");
    check(bound(k.eng, "lim") == lim && bound(k.eng, "odd") != lim, "a name keeps its number");
    kit_judge(&k, 5);
    check(k.v.nundefined >= 3, "no row: undefined");
    lim_row(&k, 4);
    check(redan_row_put(k.lane, lim, key, 2, val, 4) == 0, "put");
    kit_judge(&k, 5);
    check(strcmp(codes_of(&k), "TOP PX OK") == 0, "%s", codes_of(&k));
    char msg[32];
    check(redan_message(k.lane, 0, msg, sizeof msg) == 3 && strcmp(msg, "abc") == 0, "text of the row: %s", msg);
    val[0] = INT(5);
    val[3] = V(BOOL, .i = 0);
    check(redan_row_put(k.lane, lim, key, 2, val, 4) == 0, "replace");
    kit_judge(&k, 5);
    check(strcmp(codes_of(&k), "PX") == 0, "%s", codes_of(&k));
    check(redan_row_count(k.lane, lim, &n) == 0 && n == 1, "one row, not %u", n);
    check(redan_row_erase(k.lane, lim, key, 2) == 0 && redan_row_erase(k.lane, lim, key, 2) == 0, "erase twice");
    kit_judge(&k, 5);
    check(strcmp(codes_of(&k), "") == 0 && k.v.nundefined >= 3, "erased: %s", codes_of(&k));
    kit_stop(&k);
}

static void every_type(void **state) {
    (void)state;
    struct kit k;
    kit_start(&k, RULES);
    uint32_t odd = bound(k.eng, "odd");
    redan_value keys[] = { V(TIME, .i = 1767225600000000000), V(DATE, .i = 20455), V(DUR, .i = 3000000000), INT(7), DEC(2500, 4), TXT("abc"), V(BOOL, .i = 1) };
    redan_value vals[] = { V(FLOAT, .f = 0.75), INT(1), V(SYM, .i = k.row.account), V(TIME, .i = 1), V(DATE, .i = 1), V(DUR, .i = 1) };
    check(redan_row_put(k.lane, odd, keys, 7, vals, 6) == 0, "put");
    kit_judge(&k, 7);
    check(strcmp(codes_of(&k), "ODD ODD_E") == 0, "%s", codes_of(&k));
    vals[1] = TXT("x");
    check(redan_row_put(k.lane, odd, keys, 7, vals, 6) == 0, "an enum by its text");
    kit_judge(&k, 7);
    check(strcmp(codes_of(&k), "ODD") == 0, "%s", codes_of(&k));
    kit_stop(&k);
}

/* One wrong value in a good row each; the row that is there stays. */
static void refusals(void **state) {
    (void)state;
    static const struct { const char *what; int at, rc; redan_value v; } rows[] = {
        { "int for a sym", 0, REDAN_E_LAYOUT, { .type = REDAN_T_INT } },
        { "text for a sym", 0, REDAN_E_LAYOUT, { .type = REDAN_T_TEXT, .len = 1, .as.text = "A" } },
        { "a sym nobody interned", 0, REDAN_E_INVAL, { .type = REDAN_T_SYM, .as.i = 1 << 30 } },
        { "no member", 1, REDAN_E_INVAL, { .type = REDAN_T_TEXT, .len = 4, .as.text = "hold" } },
        { "index of no member", 1, REDAN_E_INVAL, { .type = REDAN_T_INT, .as.i = 2 } },
        { "negative index", 1, REDAN_E_INVAL, { .type = REDAN_T_INT, .as.i = -1 } },
        { "float for an int", 2, REDAN_E_LAYOUT, { .type = REDAN_T_FLOAT } },
        { "digits lost", 3, REDAN_E_INVAL, { .type = REDAN_T_DEC, .scale = 5, .as.dec = { 1, 0 } } },
        { "beyond 64 bits", 3, REDAN_E_INVAL, { .type = REDAN_T_DEC, .scale = 4, .as.dec = { 0, 1 } } },
        { "beyond 64 bits at its scale", 3, REDAN_E_INVAL, { .type = REDAN_T_DEC, .scale = 0, .as.dec = { UINT64_C(1) << 62, 0 } } },
        { "no scale", 3, REDAN_E_INVAL, { .type = REDAN_T_DEC, .scale = 19, .as.dec = { 1, 0 } } },
        { "int for a decimal", 3, REDAN_E_LAYOUT, { .type = REDAN_T_INT, .as.i = 1 } },
        { "too long", 4, REDAN_E_INVAL, { .type = REDAN_T_TEXT, .len = 6, .as.text = "abcdef" } },
        { "a zero inside", 4, REDAN_E_INVAL, { .type = REDAN_T_TEXT, .len = 3, .as.text = "a\0b" } },
        { "not UTF-8", 4, REDAN_E_INVAL, { .type = REDAN_T_TEXT, .len = 1, .as.text = "\xff" } },
        { "no text", 4, REDAN_E_INVAL, { .type = REDAN_T_TEXT, .len = 1 } },
        { "2 for a bool", 5, REDAN_E_INVAL, { .type = REDAN_T_BOOL, .as.i = 2 } },
        { "no type", 5, REDAN_E_LAYOUT, { .type = 0 } },
    };
    struct kit k;
    uint32_t n;
    kit_start(&k, RULES);
    uint32_t lim = bound(k.eng, "lim"), absent = bound(k.eng, "absent");
    lim_row(&k, 4);
    check(redan_row_put(k.lane, lim, key, 2, val, 4) == 0, "put");
    for each (i, rows) {
        lim_row(&k, 9);
        (rows[i].at < 2 ? key : val - 2)[rows[i].at] = rows[i].v;
        int rc = redan_row_put(k.lane, lim, key, 2, val, 4);
        check(rc == rows[i].rc, "%s: %d", rows[i].what, rc);
        if (rows[i].at < 2)
            check(redan_row_erase(k.lane, lim, key, 2) == rows[i].rc, "%s: erase", rows[i].what);
    }
    lim_row(&k, 9);
    check(redan_row_put(k.lane, lim, key, 1, val, 4) == REDAN_E_LAYOUT && redan_row_put(k.lane, lim, key, 2, val, 3) == REDAN_E_LAYOUT, "too few");
    check(redan_row_put(k.lane, lim, NULL, 2, val, 4) == REDAN_E_LAYOUT && redan_row_put(k.lane, lim, key, 2, NULL, 4) == REDAN_E_LAYOUT, "none");
    check(redan_row_put(k.lane, 77, key, 2, val, 4) == REDAN_E_INVAL && redan_row_put(k.lane, absent, key, 2, val, 4) == REDAN_E_NOSUP, "no table");
    check(redan_row_count(k.lane, absent, &n) == REDAN_E_NOSUP, "count of no table");
    kit_judge(&k, 5);
    check(strcmp(codes_of(&k), "TOP PX OK") == 0, "a refused row changed something: %s", codes_of(&k));
    kit_stop(&k);
}

static void bounds(void **state) {
    (void)state;
    struct kit k;
    uint32_t n, id = 7;
    char name[32];
    redan_error err = { 0 };
    kit_start(&k, RULES);
    uint32_t lim = bound(k.eng, "lim");
    for (int i = 0; i < 5; i++) {
        uint32_t sym;
        snprintf(name, sizeof name, "A%d", i);
        check(redan_sym(k.eng, name, strlen(name), &sym) == 0, "sym");
        lim_row(&k, i);
        key[0].as.i = sym;
        check(redan_row_put(k.lane, lim, key, 2, val, 4) == (i < 3 ? 0 : REDAN_E_FULL), "row %d", i);
    }
    check(redan_row_count(k.lane, lim, &n) == 0 && n == 3, "%u rows", n);
    for (int i = 0; i < 255; i++) {
        snprintf(name, sizeof name, "t%d", i);
        bound(k.eng, name);
    }
    check(redan_table(k.eng, "one more", &id, &err) == REDAN_E_FULL && strcmp(err.id, "R3017") == 0 && id == 7, "%s", err.text);
    check(redan_table(k.eng, NULL, &id, &err) == REDAN_E_INVAL, "no name");
    kit_stop(&k);
}

/* Rows survive a swap to the same table, and only that; a number bound before any rules works afterwards. */
static void over_swaps(void **state) {
    (void)state;
    static const struct { const char *what, *tables; int rc; uint32_t rows; } to[] = {
        { "the same", TABLES, 0, 1 },
        { "another column", "table lim by account: sym, side: enum(buy, sell) { top: int } from host\n", REDAN_E_LAYOUT, 0 },
        { "no such table", "", REDAN_E_NOSUP, 0 },
        { "in the file", "table lim by account: int { top: int } = { 1: 2 }\n", REDAN_E_NOSUP, 0 },
        { "and back", TABLES, 0, 0 },
    };
    struct kit k;
    kit_start(&k, RULES);
    uint32_t lim = bound(k.eng, "lim");
    lim_row(&k, 4);
    check(redan_row_put(k.lane, lim, key, 2, val, 4) == 0, "put");
    for each (i, to) {
        char text[4000];
        uint32_t n = 0;
        bool reads = to[i].rc == 0;
        snprintf(text, sizeof text, "%s%s%s", HEAD, to[i].tables, reads ? "rule top on Order { when qty > lim[account, side].top  reject TOP }\n" : "rule r on Order { when qty > 4  reject TOP }\n");
        redan_ruleset *rs = kit_compile(k.eng, text);
        kit_activate(k.eng, rs);
        int rc = redan_row_count(k.lane, lim, &n);
        check(rc == (to[i].rc == REDAN_E_NOSUP ? REDAN_E_NOSUP : 0) && n == to[i].rows, "%s: %d, %u rows", to[i].what, rc, n);
        if (!to[i].rows)
            check(redan_row_put(k.lane, lim, key, 2, val, 4) == to[i].rc, "%s: put", to[i].what);
        kit_judge(&k, 5);
        check(strcmp(codes_of(&k), "TOP") == 0, "%s: %s", to[i].what, codes_of(&k));
        redan_release(rs);
    }
    kit_stop(&k);
    redan_engine *e = kit_engine(1, NULL);
    uint32_t early = bound(e, "lim");
    redan_lane *l = kit_lane(e, 0, 0);
    check(redan_row_put(l, early, key, 2, val, 4) == REDAN_E_NOSUP, "no rules yet");
    redan_ruleset *rs = kit_compile(e, RULES);
    kit_activate(e, rs);
    uint32_t sym;
    check(redan_sym(e, "ACME", 4, &sym) == 0, "sym");
    key[0].as.i = sym;
    check(redan_row_put(l, early, key, 2, val, 4) == 0, "bound before the rules");
    redan_release(rs);
    redan_lane_close(l);
    redan_close(e);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_between_events), cmocka_unit_test(every_type), cmocka_unit_test(refusals),
                                        cmocka_unit_test(bounds), cmocka_unit_test(over_swaps) };
    static const char *const backends[] = { "interp", "table", "x64" };
    int failed = 0;
    for each (b, backends) {
        if (!rdn_backend_known(backends[b]))
            continue;
        kit_backend = backends[b];
        failed += cmocka_run_group_tests_name(backends[b], tests, NULL, NULL);
    }
    return failed;
}
