/* SPDX-License-Identifier: Apache-2.0
 * test_lua_values.c: every type through Lua and back, bit for bit, by row and by column; and what is no answer. */
#include "tests/sandbox/kit.h"
#include <float.h>
#include <math.h>

enum { ROWS = 64 };                                     /* enough for the loops to become machine code */
static struct rdn_plugin_spec lua_spec(void) { return (struct rdn_plugin_spec){ .file = "plugin.lua" }; }

#define I(x) { .i = (x) }
#define F(x) { .f = (x) }
#define S(x) { .text = { x, sizeof(x) - 1 } }
static const char *const sides[] = { "buy", "sell", "hold" };
static const struct { const char *type; struct rdn_wire_type wire; struct rdn_wire_value v[8]; int n; } types[] = {
    { "bool", { .kind = RDN_WIRE_BOOL }, { { .b = true }, { .b = false } }, 2 },
    { "int", { .kind = RDN_WIRE_INT }, { I(0), I(-1), I(INT64_MAX), I(INT64_MIN), I((INT64_C(1) << 53) + 1), I(-(INT64_C(1) << 53) - 1), I(42) }, 7 },
    { "float", { .kind = RDN_WIRE_FLOAT }, { F(0.0), F(-0.0), F(DBL_MAX), F(-DBL_MAX), F(DBL_TRUE_MIN), F(DBL_MIN), F(0.1), F(-1e-300) }, 8 },
    { "dec(4)", { .kind = RDN_WIRE_DEC, .scale = 4 }, { I(0), I(INT64_MAX), I(INT64_MIN), I(123456), I(-1), I(9007199254740993) }, 6 },
    { "time", { .kind = RDN_WIRE_TIME }, { I(0), I(INT64_C(1785542400123456789)), I(-1), I(INT64_MAX) }, 4 },
    { "dur", { .kind = RDN_WIRE_DUR }, { I(0), I(INT64_C(86400000000001)), I(-INT64_C(86400000000001)) }, 3 },
    { "date", { .kind = RDN_WIRE_DATE }, { I(0), I(INT32_MAX), I(INT32_MIN), I(20000) }, 4 },
    { "enum(buy, sell, hold)", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 3 }, { I(0), I(1), I(2) }, 3 },
    { "str(8)", { .kind = RDN_WIRE_TEXT, .size = 8 }, { S(""), S("a"), S("12345678"), S("\303\274\303\274\303\274\303\274"), S("a b\"'\\") }, 5 },
};
enum { NTYPES = sizeof types / sizeof *types };
static const char *const forms[] = {
    "redan.plugin(\"f(x: %s) -> %s\", function(x) return x end)\n",
    "redan.batch(\"f(x: %s) -> %s\", function(b, out)\n  local x, value = b.col.x, out.value\n  for i = 0, b.n - 1 do value[i] = x[i] end\nend)\n",
};

static bool same(const struct rdn_wire_type *t, const struct rdn_wire_value *a, const struct rdn_wire_value *b) {
    switch (t->kind) {
    case RDN_WIRE_BOOL: return a->b == b->b;
    case RDN_WIRE_TEXT: return a->text.n == b->text.n && !memcmp(a->text.p, b->text.p, a->text.n);
    default: return a->i == b->i;
    }
}

static void echo(void **state) {
    (void)state;
    for (size_t t = 0; t < NTYPES; t++)
        for (size_t form = 0; form < 2; form++) {
            char text[400];
            struct rdn_wire_param x = { "x", types[t].wire };
            struct rdn_plugin_spec s = lua_spec();
            struct rdn_wire_value in[ROWS], out[ROWS];
            uint8_t outs[ROWS];
            s.params = &x;
            s.nparams = 1;
            s.ret = types[t].wire;
            snprintf(text, sizeof text, forms[form], types[t].type, types[t].type);
            struct rdn_plugin *p = kit_open(s, text);
            for (int call = 0; call < 20; call++) {
                uint32_t n = call < 2 ? 1u : ROWS;
                for (uint32_t i = 0; i < n; i++)
                    in[i] = types[t].v[(i + (uint32_t)call) % (uint32_t)types[t].n];
                enum rdn_outcome how = rdn_plugin_call_rows(p, 0, in, 1, n, 0, 0, out, outs);
                if (how != RDN_OUT_VALUE)
                    fail_msg("%s, form %zu: %s %s", types[t].type, form, rdn_outcome_text(how), kit_status(p)->error);
                for (uint32_t i = 0; i < n; i++)
                    if (!same(&types[t].wire, &in[i], &out[i]))
                        fail_msg("%s, form %zu, call %d row %u: %llx came back as %llx", types[t].type, form, call, i, (unsigned long long)in[i].i,
                                 (unsigned long long)out[i].i);
            }
            rdn_plugin_close(p);
        }
}

/* --- what answers become ---------------------------------------------------------------------------------------- */

#define V RDN_OUT_VALUE
#define U RDN_OUT_UNDEFINED
#define B RDN_OUT_BAD_VALUE
#define X RDN_OUT_EXCEPTION
static const struct { const char *type; struct rdn_wire_type wire; const char *answer; enum rdn_outcome how; int64_t want; const char *error; } answers[] = {
    { "int", { .kind = RDN_WIRE_INT }, "7", V, 7, "" },
    { "int", { .kind = RDN_WIRE_INT }, "7.5", B, 0, "TypeError: f returned number in row 0, expected a value of type int" },
    { "int", { .kind = RDN_WIRE_INT }, "9007199254740992", V, INT64_C(9007199254740992), "" },
    { "int", { .kind = RDN_WIRE_INT }, "1e16", B, 0, "number in row 0" },                    /* a number that may have lost digits */
    { "int", { .kind = RDN_WIRE_INT }, "10000000000000001LL", V, INT64_C(10000000000000001), "" },
    { "int", { .kind = RDN_WIRE_INT }, "9223372036854775807ULL", V, INT64_MAX, "" },
    { "int", { .kind = RDN_WIRE_INT }, "9223372036854775808ULL", B, 0, "9223372036854775808ULL in row 0" },
    { "int", { .kind = RDN_WIRE_INT }, "0/0", B, 0, "number" },
    { "int", { .kind = RDN_WIRE_INT }, "1/0", B, 0, "number" },
    { "int", { .kind = RDN_WIRE_INT }, "true", B, 0, "boolean" },
    { "int", { .kind = RDN_WIRE_INT }, "'7'", B, 0, "string" },
    { "int", { .kind = RDN_WIRE_INT }, "nil", U, 0, "" },
    { "float", { .kind = RDN_WIRE_FLOAT }, "0/0", U, 0, "" },
    { "float", { .kind = RDN_WIRE_FLOAT }, "1/0", B, 0, "" },
    { "float", { .kind = RDN_WIRE_FLOAT }, "2LL", V, 0x4000000000000000, "" },
    { "float", { .kind = RDN_WIRE_FLOAT }, "{}", B, 0, "table" },
    { "bool", { .kind = RDN_WIRE_BOOL }, "1", B, 0, "number" },
    { "date", { .kind = RDN_WIRE_DATE }, "2147483648", B, 0, "number" },
    { "date", { .kind = RDN_WIRE_DATE }, "-2147483648", V, INT32_MIN, "" },
    { "enum(buy, sell, hold)", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 3 }, "'sell'", V, 1, "" },
    { "enum(buy, sell, hold)", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 3 }, "2", V, 2, "" },
    { "enum(buy, sell, hold)", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 3 }, "3", B, 0, "number" },
    { "enum(buy, sell, hold)", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 3 }, "'none'", B, 0, "string" },
    { "str(4)", { .kind = RDN_WIRE_TEXT, .size = 4 }, "'12345'", B, 0, "text of at most 4 bytes" },
    { "str(4)", { .kind = RDN_WIRE_TEXT, .size = 4 }, "'1\\0002'", B, 0, "text of at most 4 bytes" },
    { "str(4)", { .kind = RDN_WIRE_TEXT, .size = 4 }, "'\\255'", B, 0, "" },                  /* no UTF-8: the host says so */
    { "str(4)", { .kind = RDN_WIRE_TEXT, .size = 4 }, "12", B, 0, "number" },
};

static void answer_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char text[300];
        struct rdn_plugin_spec s = lua_spec();
        struct rdn_wire_value got = { .i = 0 };
        s.ret = answers[i].wire;
        snprintf(text, sizeof text, "redan.plugin(\"f() -> %s\", function() return %s end)\n", answers[i].type, answers[i].answer);
        struct rdn_plugin *p = kit_open(s, text);
        enum rdn_outcome how = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got);
        if (how != answers[i].how || (how == V && got.i != answers[i].want) || (*answers[i].error && !strstr(kit_status(p)->error, answers[i].error)))
            fail_msg("%s from %s: %s %lld; %s", answers[i].type, answers[i].answer, rdn_outcome_text(how), (long long)got.i, kit_status(p)->error);
        rdn_plugin_close(p);
    }
}

/* A row that raises, answers nothing or something else is its own; the others are what they are. */
static void rows_apart(void **state) {
    (void)state;
    struct rdn_wire_param x = { "x", KIT_T(INT) };
    struct rdn_plugin_spec s = lua_spec();
    struct rdn_wire_value in[ROWS], out[ROWS];
    uint8_t outs[ROWS];
    s.params = &x;
    s.nparams = 1;
    s.ret = KIT_T(INT);
    struct rdn_plugin *p = kit_open(s, "redan.plugin('f(x: int) -> int', function(x)\n  local k = tonumber(x) % 4\n  if k == 1 then return nil end\n"
                                       "  if k == 2 then return {} end\n  if k == 3 then error('row') end\n  return x * 2\nend)\n");
    for (int call = 0; call < 20; call++) {
        for (int i = 0; i < ROWS; i++)
            in[i].i = i;
        rdn_plugin_call_rows(p, 0, in, 1, ROWS, 0, 0, out, outs);
        for (int i = 0; i < ROWS; i++) {
            static const enum rdn_outcome want[] = { V, U, B, X };
            if (outs[i] != want[i % 4] || (i % 4 == 0 && out[i].i != 2 * i))
                fail_msg("row %d: %s", i, rdn_outcome_text((enum rdn_outcome)outs[i]));
        }
    }
    rdn_plugin_close(p);
    p = kit_open(s, "redan.batch('f(x: int) -> int', function(b, out)\n  for i = 0, b.n - 1 do\n    if i % 2 == 1 then out.status[i] = 1 else out.value[i] = b.col.x[i] end\n"
                    "  end\nend)\n");
    rdn_plugin_call_rows(p, 0, in, 1, ROWS, 0, 0, out, outs);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(outs[i], i % 2 ? U : V);
    rdn_plugin_close(p);
}

/* --- events and arrays ------------------------------------------------------------------------------------------ */

/* ts; present; qty int?; px dec(4); side enum; name str(6); short bool; w float[2,2]; note str(4)? */
static const struct rdn_wire_field fields[] = {
    { "qty", { .kind = RDN_WIRE_INT }, 16, 0 }, { "px", { .kind = RDN_WIRE_DEC, .scale = 4 }, 24, -1 },
    { "side", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 3 }, 32, -1 }, { "name", { .kind = RDN_WIRE_TEXT, .size = 6 }, 33, -1 },
    { "short", { .kind = RDN_WIRE_BOOL }, 39, -1 }, { "w", { .kind = RDN_WIRE_FARR, .rows = 2, .cols = 2 }, 40, -1 },
    { "note", { .kind = RDN_WIRE_TEXT, .size = 4 }, 72, 1 },
};
struct row { int64_t ts; uint64_t present; int64_t qty, px; uint8_t side; char name[6]; uint8_t is_short; double w[4]; char note[8]; };
_Static_assert(sizeof(struct row) == 80, "as the fields say");

#define SHOW "local function show(o)\n  return ('%s %s %s %s %s %s %s %g %s'):format(tostring(o.ts), tostring(o.qty), tostring(o.px), o.side, o.name, #o.name, tostring(o.short), o.w[1][0], " \
             "tostring(o.note))\nend\n"
static void events(void **state) {
    (void)state;
    static const char *const texts[] = {
        SHOW "redan.plugin('f(o: Order) -> str(100)', show)\n",
        SHOW "redan.batch('f(o: Order) -> str(100)', function(b, out) for i = 0, b.n - 1 do out.value[i] = show(b.col.o[i]) end end)\n",
    };
    struct row rows[2] = { { 1, 3, INT64_MAX, 12345, 2, "abcdef", 1, { 1, 2, 3.5, 4 }, "hi" }, { 2, 0, 7, -1, 0, "", 0, { 0 }, "no" } };
    struct rdn_wire_param o = { "o", { .kind = RDN_WIRE_EVENT, .size = sizeof *rows, .event = "Order", .fields = fields, .nfields = 7 } };
    struct rdn_wire_value in[] = { { .p = &rows[0] }, { .p = &rows[1] } }, out[2];
    uint8_t outs[2];
    for (int i = 0; i < 2; i++) {
        struct rdn_plugin_spec s = lua_spec();
        s.params = &o;
        s.nparams = 1;
        s.ret = KIT_TEXT(100);
        struct rdn_plugin *p = kit_open(s, texts[i]);
        for (int call = 0; call < 100; call++) {
            if (rdn_plugin_call_rows(p, 0, in, 1, 2, 0, 0, out, outs) != V)
                fail_msg("%s", kit_status(p)->error);
            assert_string_equal(out[0].text.p, "1LL 9223372036854775807LL 12345LL 2 abcdef 6 true 3.5 hi");
            assert_string_equal(out[1].text.p, "2LL nil -1LL 0  0 false 0 nil");
        }
        rdn_plugin_close(p);
    }
    struct rdn_plugin_spec s = lua_spec();
    s.params = &o;
    s.nparams = 1;
    s.ret = KIT_T(INT);
    struct rdn_plugin *p = kit_open(s, "redan.plugin('f(o: Order) -> int', function(o)\n  return o.quantity\nend)\n");
    assert_int_equal(rdn_plugin_call_rows(p, 0, in, 1, 1, 0, 0, out, outs), X);
    assert_string_equal(kit_status(p)->error, "error: event Order has no field 'quantity' (plugin.lua:2 in f)");
    rdn_plugin_close(p);
}

/* Every word that C, its dialects, or LuaJIT's parser of it have taken, types, and names that the prelude makes itself. */
static const char *const taken[] = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int",
    "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile",
    "while", "_Alignas", "_Alignof", "_Atomic", "_Bool", "_Complex", "_Generic", "_Imaginary", "_Noreturn", "_Static_assert", "_Thread_local", "alignas",
    "alignof", "asm", "bool", "complex", "constexpr", "false", "nullptr", "static_assert", "thread_local", "true", "typeof", "typeof_unqual", "wchar_t",
    "__asm", "__asm__", "__attribute", "__attribute__", "__alignof", "__alignof__", "__complex", "__complex__", "__const", "__const__", "__extension__",
    "__inline", "__inline__", "__restrict", "__restrict__", "__signed", "__signed__", "__volatile", "__volatile__", "__typeof__", "__declspec", "__cdecl",
    "__fastcall", "__stdcall", "__thiscall", "__ptr32", "__ptr64", "__int8", "__int16", "__int32", "__int64", "__builtin_va_list", "__gnuc_va_list",
    "va_list", "size_t", "ssize_t", "ptrdiff_t", "intptr_t", "uintptr_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
    "uint64_t", "present__", "field__1", "gap__1", "gap__end", "_present", "__present", "_field1", "__field1", "_gap3", "_", "__", "___end", "and", "end", "local", "nil", "not", "then", "until", "p", "n", "o",
};
enum { NTAKEN = sizeof taken / sizeof *taken };

/* An event with a field of each name, twice: as they come, and with one more that may be missing. */
static void any_name(void **state) {
    (void)state;
    for (int optional = 0; optional < 2; optional++) {
        static struct rdn_wire_field all[NTAKEN + 1];
        static char text[16384];
        static int64_t row[NTAKEN + 3];
        size_t n = (size_t)snprintf(text, sizeof text, "redan.plugin('f(o: Order) -> int', function(o)\n  local sum = 0\n");
        int64_t want = 0;
        row[1] = 1;
        for (int i = 0; i < NTAKEN; i++) {
            all[i] = (struct rdn_wire_field){ taken[i], KIT_T(INT), 8u * ((uint32_t)i + 2), -1 };
            row[i + 2] = i + 1;
            want += (i + 1) * (i + 2);
            n += (size_t)snprintf(text + n, sizeof text - n, "  sum = sum + %d * o['%s']\n", i + 2, taken[i]);
        }
        all[NTAKEN] = (struct rdn_wire_field){ "optional", KIT_T(INT), 8 * (NTAKEN + 2), 0 };
        snprintf(text + n, sizeof text - n, "  return sum\nend)\n");
        struct rdn_wire_param o = { "o", { .kind = RDN_WIRE_EVENT, .size = sizeof row, .event = "Order", .fields = all, .nfields = (uint16_t)(NTAKEN + optional) } };
        struct rdn_plugin_spec s = lua_spec();
        s.params = &o;
        s.nparams = 1;
        s.ret = KIT_T(INT);
        struct rdn_plugin *p = kit_open(s, text);
        struct rdn_wire_value in = { .p = row }, got = { .i = 0 };
        if (rdn_plugin_call(p, 0, &in, 1, 0, 0, &got) != V || got.i != want)
            fail_msg("%lld, expected %lld: %s", (long long)got.i, (long long)want, kit_status(p)->error);
        rdn_plugin_close(p);
    }
}

static void arrays(void **state) {
    (void)state;
    static const double w[] = { 1.0, 2.0, 3.0 };
    static const int64_t k[] = { 1, INT64_MAX, 3, 4 };
    static const struct rdn_wire_param params[] = { { "w", { .kind = RDN_WIRE_FARR, .rows = 3, .cols = 1 } }, { "k", { .kind = RDN_WIRE_IARR, .rows = 2, .cols = 2 } } };
    struct rdn_wire_value in[] = { { .p = w }, { .p = k } }, out;
    struct rdn_plugin_spec s = lua_spec();
    s.params = params;
    s.nparams = 2;
    s.ret = KIT_T(INT);
    struct rdn_plugin *p = kit_open(s, "redan.plugin('f(w: float[3], k: int[2,2]) -> int', function(w, k) return w[2] == 3 and k[0][1] or nil end)\n");
    assert_int_equal(rdn_plugin_call(p, 0, in, 2, 0, 0, &out), V);
    assert_true(out.i == INT64_MAX);
    rdn_plugin_close(p);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(echo), cmocka_unit_test(answer_table), cmocka_unit_test(rows_apart), cmocka_unit_test(events), cmocka_unit_test(any_name),
                                          cmocka_unit_test(arrays) };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
