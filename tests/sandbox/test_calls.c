/* SPDX-License-Identifier: Apache-2.0
 * test_calls.c: every type both ways, scalar and batch, and every way a call or a load can go wrong. */
#include "tests/sandbox/kit.h"
#include <math.h>

/* --- values there and back -------------------------------------------------------------------------------------- */

static const char *const sides[] = { "buy", "sell" };
static const struct {
    const char *note, *body;                            /* of f(x) */
    const char *annotation;
    struct rdn_wire_type type;
    struct rdn_wire_value in, want;
    enum rdn_outcome out;
} echo[] = {
    { "bool", "not x", "bool", { .kind = RDN_WIRE_BOOL }, { .b = true }, { .b = false }, RDN_OUT_VALUE },
    { "int", "x + 1", "int", { .kind = RDN_WIRE_INT }, { .i = -5 }, { .i = -4 }, RDN_OUT_VALUE },
    { "least int", "x", "int", { .kind = RDN_WIRE_INT }, { .i = INT64_MIN }, { .i = INT64_MIN }, RDN_OUT_VALUE },
    { "int overflow", "x + 1", "int", { .kind = RDN_WIRE_INT }, { .i = INT64_MAX }, { .i = 0 }, RDN_OUT_BAD_VALUE },
    { "int as float is no int", "x / 2", "int", { .kind = RDN_WIRE_INT }, { .i = 4 }, { .i = 0 }, RDN_OUT_BAD_VALUE },
    { "bool is no int", "x > 0", "int", { .kind = RDN_WIRE_INT }, { .i = 4 }, { .i = 0 }, RDN_OUT_BAD_VALUE },
    { "float", "x * 2", "float", { .kind = RDN_WIRE_FLOAT }, { .f = 0.1 }, { .f = 0.2 }, RDN_OUT_VALUE },
    { "int where float is declared", "3", "float", { .kind = RDN_WIRE_FLOAT }, { .f = 0 }, { .f = 3 }, RDN_OUT_VALUE },
    { "nan", "float('nan')", "float", { .kind = RDN_WIRE_FLOAT }, { .f = 0 }, { .f = 0 }, RDN_OUT_UNDEFINED },
    { "inf", "float('inf')", "float", { .kind = RDN_WIRE_FLOAT }, { .f = 0 }, { .f = 0 }, RDN_OUT_BAD_VALUE },
    { "text where float is declared", "'1'", "float", { .kind = RDN_WIRE_FLOAT }, { .f = 0 }, { .f = 0 }, RDN_OUT_BAD_VALUE },
    { "None", "None", "float", { .kind = RDN_WIRE_FLOAT }, { .f = 0 }, { .f = 0 }, RDN_OUT_UNDEFINED },
    { "dec", "x + 25", "Annotated[int, redan.dec(2)]", { .kind = RDN_WIRE_DEC, .scale = 2 }, { .i = 100 }, { .i = 125 }, RDN_OUT_VALUE },
    { "time", "x + 1", "redan.time", { .kind = RDN_WIRE_TIME }, { .i = 5 }, { .i = 6 }, RDN_OUT_VALUE },
    { "dur as int", "x - 1", "int", { .kind = RDN_WIRE_DUR }, { .i = 5 }, { .i = 4 }, RDN_OUT_VALUE },
    { "date", "x + 1", "redan.date", { .kind = RDN_WIRE_DATE }, { .i = -3 }, { .i = -2 }, RDN_OUT_VALUE },
    { "date out of range", "1 << 40", "redan.date", { .kind = RDN_WIRE_DATE }, { .i = 1 }, { .i = 0 }, RDN_OUT_BAD_VALUE },
    { "argument no date", "x", "redan.date", { .kind = RDN_WIRE_DATE }, { .i = INT64_C(1) << 40 }, { .i = 0 }, RDN_OUT_REFUSED },
    { "enum by member", "type(x).sell if x.name == 'buy' else x", "int", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, { .i = 0 },
      { .i = 1 }, RDN_OUT_VALUE },
    { "enum by name", "'buy'", "int", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, { .i = 1 }, { .i = 0 }, RDN_OUT_VALUE },
    { "enum out of range", "2", "int", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, { .i = 1 }, { .i = 0 }, RDN_OUT_BAD_VALUE },
    { "argument no member", "0", "int", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, { .i = 2 }, { .i = 0 }, RDN_OUT_REFUSED },
};

static void types_scalar(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof echo / sizeof *echo; i++) {
        char text[512];
        struct rdn_wire_param x = { "x", echo[i].type };
        snprintf(text, sizeof text, "import redan\nfrom typing import Annotated\n@redan.plugin\ndef f(x: %s) -> %s | None:\n    return %s\n",
                 echo[i].annotation, echo[i].annotation, echo[i].body);
        struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .params = &x, .nparams = 1, .ret = echo[i].type }, text);
        struct rdn_wire_value got = { .i = 0 };
        enum rdn_outcome out = rdn_plugin_call(p, 0, &echo[i].in, 1, 0, 0, &got);
        if (out != echo[i].out || (out == RDN_OUT_VALUE && memcmp(&got, &echo[i].want, 8)))
            fail_msg("%s: %s, %lld; %s", echo[i].note, rdn_outcome_text(out), (long long)got.i, kit_status(p)->error);
        rdn_plugin_close(p);
    }
}

static const struct { const char *note, *body, *in, *want; enum rdn_outcome out; } texts[] = {
    { "upper", "x.upper()", "gr\xc3\xbc\xc3\x9f", "GR\xc3\x9cSS", RDN_OUT_VALUE },
    { "empty", "''", "abc", "", RDN_OUT_VALUE },
    { "full width", "x + x", "12345", "1234512345", RDN_OUT_VALUE },
    { "too long", "x + x + x", "12345", "", RDN_OUT_BAD_VALUE },
    { "a zero", "'a\\x00b'", "", "", RDN_OUT_BAD_VALUE },
    { "lone surrogate", "'\\ud800'", "", "", RDN_OUT_BAD_VALUE },
    { "argument too long", "x", "12345678901", "", RDN_OUT_REFUSED },
};

static void types_text(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[256];
        struct rdn_wire_param x = { "x", KIT_TEXT(10) };
        struct rdn_wire_value in = { .text = { texts[i].in, (uint32_t)strlen(texts[i].in) } }, got;
        snprintf(text, sizeof text, "import redan\n@redan.plugin\ndef f(x: str) -> str:\n    return %s\n", texts[i].body);
        struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .params = &x, .nparams = 1, .ret = KIT_TEXT(10) }, text);
        enum rdn_outcome out = rdn_plugin_call(p, 0, &in, 1, 0, 0, &got);
        if (out != texts[i].out || (out == RDN_OUT_VALUE && strcmp(got.text.p, texts[i].want)))
            fail_msg("%s: %s %s", texts[i].note, rdn_outcome_text(out), out == RDN_OUT_VALUE ? got.text.p : "");
        rdn_plugin_close(p);
    }
}

/* --- batches, events, arrays ------------------------------------------------------------------------------------ */

static void batch(void **state) {
    (void)state;
    struct rdn_wire_param in[] = { { "a", KIT_T(FLOAT) }, { "b", KIT_T(INT) }, { "c", KIT_T(BOOL) } };
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .params = in, .nparams = 3, .ret = KIT_T(FLOAT) },
        "import redan\nimport numpy as np\n@redan.plugin(batch=True)\n"
        "def f(a: redan.Floats, b: redan.Ints, c: redan.Bools, *, k: float = 2.0) -> redan.Floats:\n"
        "    assert a.dtype == np.float64 and not a.flags.writeable\n    return np.where(c, a * k + b, np.nan)\n");
    struct rdn_wire_value args[64 * 3], ret[64];
    uint8_t outs[64];
    for (int i = 0; i < 64; i++) {
        args[i * 3] = (struct rdn_wire_value){ .f = i / 4.0 };
        args[i * 3 + 1] = (struct rdn_wire_value){ .i = i };
        args[i * 3 + 2] = (struct rdn_wire_value){ .b = i % 3 != 0 };
    }
    assert_int_equal(rdn_plugin_call_rows(p, 0, args, 3, 64, 0, 0, ret, outs), RDN_OUT_UNDEFINED);
    for (int i = 0; i < 64; i++) {
        if (outs[i] != (i % 3 ? RDN_OUT_VALUE : RDN_OUT_UNDEFINED) || (i % 3 && ret[i].f != i / 4.0 * 2 + i))
            fail_msg("row %d: %s %f", i, rdn_outcome_text(outs[i]), ret[i].f);
    }
    rdn_plugin_close(p);
}

/* A scalar function that fails on some rows loses only those. */
static void rows_of_a_scalar(void **state) {
    (void)state;
    struct rdn_wire_param in = { "x", KIT_T(INT) };
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .params = &in, .nparams = 1, .ret = KIT_T(INT) },
        "import redan\n@redan.plugin\ndef f(x: int) -> int | None:\n    return None if x == 1 else 'no' if x == 2 else 6 // (3 - x)\n");
    struct rdn_wire_value args[5], ret[5];
    uint8_t outs[5];
    static const uint8_t want[] = { RDN_OUT_VALUE, RDN_OUT_UNDEFINED, RDN_OUT_BAD_VALUE, RDN_OUT_EXCEPTION, RDN_OUT_VALUE };
    for (int i = 0; i < 5; i++)
        args[i].i = i;
    assert_int_equal(rdn_plugin_call_rows(p, 0, args, 1, 5, 0, 0, ret, outs), RDN_OUT_BAD_VALUE);
    assert_memory_equal(outs, want, 5);
    assert_int_equal(ret[0].i, 2);
    assert_int_equal(ret[4].i, -6);
    rdn_plugin_close(p);
}

static const double grid_in[] = { 1, 2, 3, 4, 5, 6 };
static void arrays(void **state) {
    (void)state;
    struct rdn_wire_param in = { "m", { .kind = RDN_WIRE_FARR, .rows = 2, .cols = 3 } };
    struct rdn_wire_value arg = { .p = grid_in }, got;
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .params = &in, .nparams = 1, .ret = KIT_T(FLOAT) },
        "import redan\n@redan.plugin(batch=True)\ndef f(m: redan.Floats) -> redan.Floats:\n    return m[:, 1, 0] * 10 + m.sum(axis=(1, 2))\n");
    assert_int_equal(rdn_plugin_call(p, 0, &arg, 1, 0, 0, &got), RDN_OUT_VALUE);
    assert_true(got.f == 61.0);
    rdn_plugin_close(p);
    p = kit_open((struct rdn_plugin_spec){ .params = &in, .nparams = 1, .ret = KIT_T(FLOAT) },
        "import redan\n@redan.plugin\ndef f(m: redan.Floats) -> float:\n    return m[5] - m[0]\n");
    assert_int_equal(rdn_plugin_call(p, 0, &arg, 1, 0, 0, &got), RDN_OUT_VALUE);
    assert_true(got.f == 5.0);
    rdn_plugin_close(p);
}

struct order { int64_t ts; uint64_t present; int64_t qty, px; char sym[8]; uint8_t side, pad[7]; };
static const struct rdn_wire_field order_fields[] = {
    { "qty", { .kind = RDN_WIRE_INT }, 16, 0 },
    { "px", { .kind = RDN_WIRE_DEC, .scale = 4 }, 24, -1 },
    { "symbol", { .kind = RDN_WIRE_TEXT, .size = 8 }, 32, -1 },
    { "side", { .kind = RDN_WIRE_ENUM, .names = sides, .nnames = 2 }, 40, -1 },
};
#define ORDER_CLASS "import redan\nfrom typing import Annotated\n@redan.event\nclass Order:\n    qty: int | None\n" \
    "    px: Annotated[int, redan.dec(4)]\n    symbol: Annotated[str, redan.text(8)]\n    side: Annotated[int, redan.enum('buy', 'sell')]\n"
static struct rdn_wire_param order_param(void) {
    return (struct rdn_wire_param){ "o", { .kind = RDN_WIRE_EVENT, .event = "Order", .size = sizeof(struct order), .fields = order_fields, .nfields = 4 } };
}

static void events(void **state) {
    (void)state;
    struct order row = { 7, 1, 100, 12345, "AAPL", 1, { 0 } };
    struct rdn_wire_param in = order_param();
    struct rdn_wire_value arg = { .p = &row }, got;
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .params = &in, .nparams = 1, .ret = KIT_TEXT(64) },
        ORDER_CLASS "kept = []\n@redan.plugin\ndef f(o: Order) -> str:\n    kept.append(o)\n    return f'{o.ts} {o.qty} {o.px} {o.symbol} {o.side.name}'\n");
    assert_int_equal(rdn_plugin_call(p, 0, &arg, 1, 0, 0, &got), RDN_OUT_VALUE);
    assert_string_equal(got.text.p, "7 100 12345 AAPL sell");
    row.present = 0;
    assert_int_equal(rdn_plugin_call(p, 0, &arg, 1, 0, 0, &got), RDN_OUT_VALUE);
    assert_string_equal(got.text.p, "7 None 12345 AAPL sell");
    rdn_plugin_close(p);
    p = kit_open((struct rdn_plugin_spec){ .params = &in, .nparams = 1, .ret = KIT_T(BOOL) },
        ORDER_CLASS "kept = []\n@redan.plugin\ndef f(o: Order) -> bool:\n    kept.append(o)\n    return kept[0].px > 0\n");
    assert_int_equal(rdn_plugin_call(p, 0, &arg, 1, 0, 0, &got), RDN_OUT_VALUE);
    assert_int_equal(rdn_plugin_call(p, 0, &arg, 1, 0, 0, &got), RDN_OUT_EXCEPTION);
    assert_non_null(strstr(kit_status(p)->error, "event used after the call returned"));
    rdn_plugin_close(p);
    p = kit_open((struct rdn_plugin_spec){ .params = &in, .nparams = 1, .ret = KIT_T(FLOAT) },
        ORDER_CLASS "@redan.plugin(batch=True)\ndef f(o: redan.Batch[Order]) -> redan.Floats:\n    return o['px'] / 1e4 + o['side'] + o['present']\n");
    assert_int_equal(rdn_plugin_call(p, 0, &arg, 1, 0, 0, &got), RDN_OUT_VALUE);
    assert_true(fabs(got.f - 2.2345) < 1e-12);
    rdn_plugin_close(p);
}

/* --- failures of calls ------------------------------------------------------------------------------------------ */

#define HEAD "import redan\n@redan.plugin\ndef f() -> float:\n"
static const struct { const char *note, *text; enum rdn_outcome out; const char *error; } calls[] = {
    { "division", HEAD "    return 1 / 0\n", RDN_OUT_EXCEPTION, "ZeroDivisionError: division by zero (plugin.py:4 in f)" },
    { "own frame before library frame", HEAD "    import json\n    return json.loads('{')\n", RDN_OUT_EXCEPTION, "(plugin.py:5 in f)" },
    { "memory", HEAD "    return len(bytes(1 << 30))\n", RDN_OUT_MEMORY, "MemoryError (plugin.py:4 in f)" },
    { "str of the exception raises", "import redan\nclass E(Exception):\n    def __str__(self): raise E()\n@redan.plugin\ndef f() -> float:\n    raise E()\n",
      RDN_OUT_EXCEPTION, "E (plugin.py:6 in f)" },
    { "SystemExit ends nothing", HEAD "    raise SystemExit(3)\n", RDN_OUT_EXCEPTION, "SystemExit: 3" },
    { "PluginTimeout of its own", HEAD "    raise redan.PluginTimeout()\n", RDN_OUT_EXCEPTION, "PluginTimeout" },
    { "open", HEAD "    open('/etc/passwd')\n", RDN_OUT_EXCEPTION, "PermissionError" },
    { "import", HEAD "    import xml.dom.minidom\n", RDN_OUT_EXCEPTION, "R4204 module 'xml' is not preloaded" },
    { "control characters", HEAD "    raise ValueError('a\\x1b[31mb')\n", RDN_OUT_EXCEPTION, "ValueError: a\\x1b[31mb" },
    { "crash", "import redan, ctypes\n@redan.plugin\ndef f() -> float:\n    return ctypes.string_at(0)\n", RDN_OUT_DIED, "signal 11 (Segmentation fault) at 'string_at' called from plugin.py:4 in f" },
    { "exit", "import redan, os\n@redan.plugin\ndef f() -> float:\n    os._exit(7)\n", RDN_OUT_DIED, "exit 7" },
};

static void failures(void **state) {
    (void)state;
    static const char *const preload[] = { "numpy", "ctypes" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .group = "failures", .preload = preload, .npreload = 2, .ret = KIT_T(FLOAT) }, calls[i].text);
        struct rdn_wire_value got;
        enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got);
        rdn_plugin_settle(p, 0, 2000 * KIT_MS);
        if (out != calls[i].out || !strstr(kit_status(p)->error, calls[i].error))
            fail_msg("%s: %s, %s", calls[i].note, rdn_outcome_text(out), kit_status(p)->error);
        if (calls[i].out == RDN_OUT_EXCEPTION || calls[i].out == RDN_OUT_MEMORY)
            assert_int_equal(kit_status(p)->restarts, 0);           /* an exception costs no worker */
        rdn_plugin_close(p);
    }
}

static void violations(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .ret = KIT_T(BOOL) },
        "import redan, os\n\ndef helper():\n    try:\n        os.kill(1, 0)\n    except PermissionError:\n        pass\n"
        "@redan.plugin\ndef f() -> bool:\n    helper()\n    try:\n        os.stat('/etc')\n    except OSError:\n        return True\n");
    struct rdn_wire_value got;
    assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got), RDN_OUT_VALUE);
    rdn_plugin_settle(p, 0, 1000 * KIT_MS);
    const struct rdn_plugin_status *s = kit_status(p);
    assert_int_equal(s->nkept, 2);
    assert_string_equal(s->kept[0].name, "kill");
    assert_string_equal(s->kept[0].place, "plugin.py:5");
    assert_string_equal(s->kept[1].place, "plugin.py:12");
    rdn_plugin_close(p);
}

static void printing(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .ret = KIT_T(INT) },
        "import redan, logging\n@redan.plugin\ndef f() -> int:\n    print('seen', redan.now())\n    logging.warning('careful')\n    return 1\n");
    struct rdn_wire_value got;
    assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 77, 0, &got), RDN_OUT_VALUE);
    assert_non_null(strstr(kit_status(p)->log, "seen 77\n"));
    assert_non_null(strstr(kit_status(p)->log, "WARNING careful\n"));
    assert_int_equal(kit_status(p)->violations, 0);
    rdn_plugin_close(p);
}

/* --- failures of loading ---------------------------------------------------------------------------------------- */

static const struct { const char *note, *text, *id; unsigned line; const char *words; } loads[] = {
    { "syntax", "import redan\ndef f(:\n", "R4320", 2, "SyntaxError" },
    { "indentation", "def f():\nreturn 1\n", "R4320", 2, "IndentationError" },
    { "raises", "import redan\n\nx = {}['key']\n", "R4302", 3, "KeyError: 'key' (plugin.py:3 in <module>)" },
    { "no function", "import redan\n@redan.plugin\ndef g(x: int) -> int:\n    return 1\n", "R4323", 0, "no function 'f'" },
    { "not marked", "def f(x: int) -> int:\n    return 1\n", "R4323", 0, "no function 'f' with @redan.plugin" },
    { "two parameters", "import redan\n@redan.plugin\ndef f(x: int, y: int) -> int:\n    return 1\n", "R4324", 0, "takes 2 parameters here, 1 in the rules" },
    { "other name", "import redan\n@redan.plugin\ndef f(y: int) -> int:\n    return 1\n", "R4324", 0, "parameter 'y' of f is 'x' in the rules" },
    { "other type", "import redan\n@redan.plugin\ndef f(x: float) -> int:\n    return 1\n", "R4324", 0, "parameter 'x' of f is float here, int in the rules" },
    { "other answer", "import redan\n@redan.plugin\ndef f(x: int) -> str:\n    return 1\n", "R4324", 0, "the answer of f is str here, int in the rules" },
    { "no type", "import redan\n@redan.plugin\ndef f(x) -> int:\n    return 1\n", "R4324", 0, "parameter 'x' of f has no type" },
    { "tunable without default", "import redan\n@redan.plugin\ndef f(x: int, *, k: int) -> int:\n    return 1\n", "R4324", 0, "tunable 'k'" },
    { "memory", "x = bytes(1 << 28)\n", "R4322", 1, "MemoryError" },
    { "endless", "while True: pass\n", "R4321", 0, "loading took longer than 1500 ms" },
    { "endless and stubborn", "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n", "R4321", 0, "loading took longer" },
    { "opens a file", "open('/etc/passwd')\n", "R4302", 1, "PermissionError" },
    { "leaves", "import os\nos._exit(3)\n", "R4306", 0, "exit 3" },
};

static void load_failures(void **state) {
    (void)state;
    struct rdn_wire_param x = { "x", KIT_T(INT) };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        redan_error e = kit_refused((struct rdn_plugin_spec){ .params = &x, .nparams = 1, .ret = KIT_T(INT), .load_cap_ms = 1500 }, loads[i].text);
        if (strcmp(e.id, loads[i].id) || (loads[i].line && e.line != loads[i].line) || !strstr(e.text, loads[i].words))
            fail_msg("%s: %s line %u: %s", loads[i].note, e.id, e.line, e.text);
    }
}

static void layout(void **state) {
    (void)state;
    struct rdn_wire_param in = order_param();
    redan_error e = kit_refused((struct rdn_plugin_spec){ .params = &in, .nparams = 1, .ret = KIT_T(BOOL) },
        "import redan\n@redan.event\nclass Order:\n    qty: int\n@redan.plugin\ndef f(o: Order) -> bool:\n    return True\n");
    assert_string_equal(e.id, "R4324");
    assert_non_null(strstr(e.text, "layout of event 'Order' differs: field 1 is qty: int? in the rules, qty: int in the plugin"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_scalar), cmocka_unit_test(types_text), cmocka_unit_test(batch), cmocka_unit_test(rows_of_a_scalar),
        cmocka_unit_test(arrays), cmocka_unit_test(events), cmocka_unit_test(failures), cmocka_unit_test(violations),
        cmocka_unit_test(printing), cmocka_unit_test(load_failures), cmocka_unit_test(layout),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
