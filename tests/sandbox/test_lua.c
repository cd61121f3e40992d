/* SPDX-License-Identifier: Apache-2.0
 * test_lua.c: Lua plugins in real workers: mistakes and their places, tunables, modules, data, state, random numbers, machine code, and the tables
 * of times and memory. */
#include "tests/sandbox/kit.h"
#include "plugins/pack.h"

#define F0 "redan.plugin('f() -> int', function()\n"
static struct rdn_plugin_spec lua_spec(void) { return (struct rdn_plugin_spec){ .file = "plugin.lua", .ret = KIT_T(INT) }; }

static int64_t ask(struct rdn_plugin *p) {
    struct rdn_wire_value got = { .i = 0 };
    enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got);
    if (out != RDN_OUT_VALUE)
        fail_msg("%s %s", rdn_outcome_text(out), kit_status(p)->error);
    return got.i;
}

/* --- mistakes --------------------------------------------------------------------------------------------------- */

static const struct { const char *text, *id, *error; uint32_t line; } broken[] = {
    { "x = = 1\n", "R4320", "SyntaxError: unexpected symbol near '=' (plugin.lua:1 in main)", 1 },
    { "local a = 1\nlocal b = a + nil\n", "R4302", "error: attempt to perform arithmetic on a nil value (plugin.lua:2 in main)", 2 },
    { "\n\nerror('stop')\n", "R4302", "error: stop (plugin.lua:3 in main)", 3 },
    { "error({})\n", "R4302", "error: an error object of type table (plugin.lua:1 in main)", 1 },
    { "return\n", "R4323", "LookupError: no function 'f' with redan.plugin or redan.batch", 0 },
    { "redan.plugin('f() -> float', function() end)\n", "R4324", "SignatureError: the plugin has f() -> float, the rules f() -> int", 0 },
    { "redan.plugin('f(x: int) -> int', function() end)\n", "R4324", "SignatureError: the plugin has f(x: int) -> int, the rules f() -> int", 0 },
    { "redan.plugin('f', function() end)\n", "R4302", "error: no signature: 'f' (plugin.lua:1 in main)", 1 },
    { "redan.plugin('f() -> int')\n", "R4302", "redan.plugin(\"NAME(\xe2\x80\xa6) -> TYPE\", function) expected", 1 },
    { F0 "end)\n" F0 "end)\n", "R4302", "error: function 'f' stands twice (plugin.lua:3 in main)", 3 },
    { "require('socket')\n", "R4204", "error: R4204 module 'socket' is not in this plugin (plugin.modules) (plugin.lua:1 in main)", 1 },
    { "\x1bLJ\x02", "R4320", "SyntaxError: attempt to load chunk with wrong mode", 0 },
    { "local t = {}\nfor i = 1, 1e8 do t[i] = i end\n", "R4322", "MemoryError: not enough memory", 0 },
};

static void load_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        redan_error e = kit_refused(lua_spec(), broken[i].text);
        if (strcmp(e.id, broken[i].id) || !strstr(e.text, broken[i].error) || e.line != broken[i].line)
            fail_msg("%s: %s line %u: %s", broken[i].text, e.id, e.line, e.text);
    }
}

static const struct { const char *body, *error; enum rdn_outcome out; } failing[] = {
    { "  local t\n  return t.x\n", "error: attempt to index local 't' (a nil value) (plugin.lua:3 in f)", RDN_OUT_EXCEPTION },
    { "  error('plain')\n", "error: plain (plugin.lua:2 in f)", RDN_OUT_EXCEPTION },
    { "  error('no place', 0)\n", "error: no place (plugin.lua:2 in f)", RDN_OUT_EXCEPTION },
    { "  error()\n", "error: an error object of type nil (plugin.lua:2 in f)", RDN_OUT_EXCEPTION },
    { "  error(42, 0)\n", "error: 42 (plugin.lua:2 in f)", RDN_OUT_EXCEPTION },
    { "  error(setmetatable({}, { __tostring = function() return 'mine' end }))\n", "error: mine (plugin.lua:2 in f)", RDN_OUT_EXCEPTION },
    { "  error(setmetatable({}, { __tostring = function() return {} end }))\n", "a __tostring that answers a table", RDN_OUT_EXCEPTION },
    { "  local function deeper(n) return n + deeper(n + 1) end\n  return deeper(1)\n", "error: stack overflow", RDN_OUT_EXCEPTION },
    { "  local co = coroutine.wrap(function()\n    error('inside')\n  end)\n  return co()\n", "error: inside", RDN_OUT_EXCEPTION },
    { "  coroutine.yield(1)\n", "attempt to yield", RDN_OUT_EXCEPTION },
    { "  return #string.rep('x', 2^30)\n", "MemoryError: not enough memory (plugin.lua in f)", RDN_OUT_MEMORY },
    { "  return ('x'):rep(2^29, 'y')\n", "MemoryError", RDN_OUT_MEMORY },
    { "  return 1.5\n", "TypeError: f returned number in row 0, expected a value of type int", RDN_OUT_BAD_VALUE },
};

static void call_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        char text[300];
        struct rdn_wire_value got;
        snprintf(text, sizeof text, F0 "%send)\n", failing[i].body);
        struct rdn_plugin *p = kit_open(lua_spec(), text);
        for (int k = 0; k < 100; k++) {                  /* the same from machine code */
            enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got);
            if (out != failing[i].out || !strstr(kit_status(p)->error, failing[i].error))
                fail_msg("%s: %s, %s", text, rdn_outcome_text(out), kit_status(p)->error);
        }
        assert_int_equal(kit_status(p)->restarts, 0);
        rdn_plugin_close(p);
    }
}

/* --- what a plugin has ------------------------------------------------------------------------------------------ */

static void small_things(void **state) {
    (void)state;
    static const struct { const char *text; int64_t want; } rows[] = {
        { F0 "  return redan.now() end)\n", 77 },
        { F0 "  local ok, e = pcall(function() return #string.rep('x', 2^30) end)\n  return ok and 0 or #e end)\n", 17 },       /* the author sees it */
        { "local S = redan.enum('buy', 'sell')\n" F0 "  return S.sell * 10 + (S[0] == 'buy' and 1 or 0) end)\n", 11 },
        { F0 "  return load('return 3', 'x', 't', {})() + loadstring('return 4')() end)\n", 7 },
        { F0 "  return select('#', string.dump, dofile, loadfile, os, io, debug, package) + (os and 1 or 0) end)\n", 7 },
        { F0 "  print('one', 2, nil)\n  return 5 end)\n", 5 },
        { "jit.off()\n" F0 "  local n = 0\n  for i = 1, 1000 do n = n + i end\n  return n end)\n", 500500 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rdn_wire_value got = { .i = 0 };
        struct rdn_plugin *p = kit_open(lua_spec(), rows[i].text);
        enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 77, 0, &got);
        if (out != RDN_OUT_VALUE || got.i != rows[i].want)
            fail_msg("%s: %s %lld %s", rows[i].text, rdn_outcome_text(out), (long long)got.i, kit_status(p)->error);
        if (rows[i].want == 5)
            assert_string_equal(kit_status(p)->log, "one\t2\tnil\n");
        rdn_plugin_close(p);
    }
}

/* Philox4x32-10 with the worker's seed as key: the first block of key 0 is that of Random123's known answers. */
static void random_numbers(void **state) {
    (void)state;
    static const char text[] = "local first\n" F0 "  if not first then first = math.random(1, 2^40) end\n  return first end)\n";
    static const char known[] = "math.randomseed(0)\nlocal u = math.random()\n"
        F0 "  return u * 2^53 end)\n";
    struct rdn_plugin_spec two = lua_spec();
    two.lanes = 2;
    struct rdn_plugin *p = kit_open(two, text), *q = kit_open(lua_spec(), known);
    struct rdn_wire_value a, b, again;
    assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, 0, &a), RDN_OUT_VALUE);
    assert_int_equal(rdn_plugin_call(p, 1, NULL, 0, 0, 0, &b), RDN_OUT_VALUE);
    assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, 0, &again), RDN_OUT_VALUE);
    assert_true(a.i == again.i && a.i != b.i);           /* lanes differ */
    assert_true(ask(q) == (int64_t)((UINT64_C(0x6627e8d5) << 32 | 0xe169c58d) >> 11));
    rdn_plugin_close(p);
    rdn_plugin_close(q);
}

/* A folder with config, a module and data; and state that goes over a reload. */
static void write_project(const char *dir, const char *code, const char *config) {
    char path[300], yaml[600];
    snprintf(yaml, sizeof yaml, "schema: 1\nplugin: {id: org.example.f, version: 1.0.0, kind: lua, entry: main.lua, modules: [part.lua]}\nfunctions:\n"
             "  f: {signature: \"() -> int\"}\nconfig: {%s}\ndata: {table: table.bin}\nstate: {mode: carry}\n", config);
    const struct { const char *name, *text; } files[] = { { "plugin.yaml", yaml }, { "main.lua", code }, { "part.lua", "local m = { three = 3 }\nreturn m\n" },
                                                          { "table.bin", "12345678ABCDEFGH" } };
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(files[i].text, f);
        fclose(f);
    }
}

static redan_error open_project(const char *dir, const char *code, const char *config, struct rdn_plugin **ret) {
    redan_error e = { 0 };
    struct rdn_function_spec f = { "f", NULL, 0, KIT_T(INT), 0 };
    struct rdn_plugin_spec s = { .name = "f", .file = dir, .fns = &f, .nfns = 1, .load_cap_ms = 10000, .time_cap_ns = 10000 * KIT_MS };
    write_project(dir, code, config);
    *ret = NULL;
    rdn_plugin_open(kit, &s, ret, &e);
    return e;
}

#define PROJECT "local part = require('part')\nlocal cfg = redan.config { step = 1, name = 'none', on = false, big = 0LL }\n" \
    "local ints, n = redan.data('table', 'int')\nlocal count = 0\n" F0 "  count = count + cfg.step\n  return count * 1000 + part.three * 100 + n * 10 + (cfg.on and 1 or 0) end)\n"
#define CARRY "redan.on_save(function() return { count = count, big = cfg.big, list = { 1, 2, { x = 'y' } } } end)\n" \
    "redan.on_load(function(s) assert(s.big == 9223372036854775807LL and s.list[3].x == 'y') count = s.count end)\n"
static void project(void **state) {
    (void)state;
    static const struct { const char *config, *id, *error; } wrong[] = {
        { "step: fast", "R4203", "R4203 config.step is a string, the tunable a number" }, { "stop: 1", "R4203", "R4203 config.stop is no tunable" },
        { "big: x", "R4203", "R4203 config.big is a string" },
    };
    char dir[] = "/tmp/redan-lua-project-XXXXXX", command[100];
    struct rdn_plugin *p;
    redan_error e = { 0 };
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < 3; i++) {
        e = open_project(dir, PROJECT, wrong[i].config, &p);
        if (p || strcmp(e.id, wrong[i].id) || !strstr(e.text, wrong[i].error))
            fail_msg("%s: %s %s", wrong[i].config, e.id, e.text);
    }
    e = open_project(dir, PROJECT CARRY, "step: 2, on: true, name: \"a \\\"b\\\" \\u00fc\", big: 9223372036854775807", &p);
    if (!p)
        fail_msg("%s %s", e.id, e.text);
    assert_int_equal(ask(p), 2321);
    assert_int_equal(ask(p), 4321);
    write_project(dir, PROJECT CARRY "-- changed\n", "step: 5, big: 9223372036854775807");
    if (rdn_plugin_reload(p, NULL, NULL, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    assert_int_equal(ask(p), 9320);                      /* 4 and 5 */
    write_project(dir, PROJECT, "step: 5");              /* has no on_load: the old text goes on with its state */
    assert_true(rdn_plugin_reload(p, NULL, NULL, &e) < 0);
    assert_string_equal(e.id, "R4326");
    assert_int_equal(ask(p), 14320);
    rdn_plugin_close(p);
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

/* --- machine code ----------------------------------------------------------------------------------------------- */

/* A loop of columns in machine code takes a fraction of the interpreter's time; so the filter lets LuaJIT make it. */
static void compiled(void **state) {
    (void)state;
    static const char loop[] = F0 "  local n = 0\n  for i = 1, 3e6 do n = n + i end\n  return n end)\n";
    char text[300];
    int64_t took[2];
    for (int off = 0; off < 2; off++) {
        snprintf(text, sizeof text, "%s%s", off ? "jit.off()\n" : "", loop);
        struct rdn_plugin *p = kit_open(lua_spec(), text);
        ask(p);
        took[off] = INT64_MAX;
        for (int i = 0; i < 5; i++) {
            int64_t start = rdn_mono_ns();
            ask(p);
            int64_t now = rdn_mono_ns() - start;
            took[off] = now < took[off] ? now : took[off];
        }
        rdn_plugin_close(p);
    }
    printf("3e6 rounds: %.1f ms compiled, %.1f ms interpreted\n", (double)took[0] / 1e6, (double)took[1] / 1e6);
    assert_true(took[0] * 2 < took[1]);
}

/* More code than LuaJIT keeps, again and again: it throws all of it away; after the fourth time in a minute the interpreter goes on alone. */
static void flushes(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open(lua_spec(), F0 "  for k = 1, 1500 do load('local n = 0; for i = 1, 100 do n = n + i end')() end\n  return 1 end)\n");
    bool said = false;
    for (int i = 0; i < 12 && !said; i++) {
        ask(p);
        said = strstr(kit_status(p)->log, "R4381") != NULL;
    }
    assert_true(said);
    ask(p);
    rdn_plugin_close(p);
}

/* --- times ------------------------------------------------------------------------------------------------------ */

#define LOOP F0 "  local n = 0\n  while true do n = n + 1 end end)\n"
static const struct { const char *note, *text; enum rdn_outcome end; const char *error; } late[] = {
    { "compiled loop", LOOP, RDN_OUT_KILLED, "" },
    { "interpreted loop", "jit.off()\n" LOOP, RDN_OUT_TIMEOUT, "PluginTimeout: the deadline has passed (plugin.lua:4 in f)" },
    { "loop that swallows", "jit.off()\n" F0 "  while true do pcall(function()\n    while true do end end) end end)\n", RDN_OUT_TIMEOUT, "PluginTimeout" },
    { "match", F0 "  return (string.find(string.rep('a', 5000), string.rep('.-', 12) .. 'b')) or 1 end)\n", RDN_OUT_KILLED, "" },
    { "finaliser", F0 "  getmetatable(newproxy(true)).__gc = function() while true do end end\n  collectgarbage()\n  return 1 end)\n", RDN_OUT_KILLED, "" },
    { "coroutine", "jit.off()\n" F0 "  return coroutine.wrap(function() while true do end end)() end)\n", RDN_OUT_TIMEOUT, "PluginTimeout" },
};
enum { MOST = 100 };

static void times(void **state) {
    (void)state;
    int64_t worst = 0;
    int calls = getenv("REDAN_FIGURES") ? MOST : 12;
    printf("%-20s %-8s   worker usable or gone after the deadline, ms, p50 / p99 of %d\n", "", "outcome", calls);
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        struct rdn_plugin *p = kit_open(lua_spec(), late[i].text);
        int64_t took[MOST], unlucky = 0;
        for (int k = 0; k < calls;) {
            struct rdn_wire_value got;
            int64_t deadline = rdn_mono_ns() + 5 * KIT_MS;
            enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, deadline, &got), end = rdn_plugin_settle(p, 0, 5000 * KIT_MS);
            int64_t usable = rdn_mono_ns();
            const struct rdn_plugin_status *s = kit_status(p);
            rdn_plugin_resume(p);
            if (end != late[i].end && unlucky++ < calls)  /* a busy machine: stopped before it began, or not stopped in time */
                continue;
            if (out != RDN_OUT_TIMEOUT || end != late[i].end || (*late[i].error && !strstr(s->error, late[i].error)))
                fail_msg("%s: %s, then %s; %s", late[i].note, rdn_outcome_text(out), rdn_outcome_text(end), s->error);
            took[k++] = (end == RDN_OUT_KILLED ? s->gone_ns : usable) - deadline;
        }
        rdn_plugin_close(p);
        int64_t p50 = kit_percentile(took, (size_t)calls, 50);
        printf("%-20s %-8s   %.3f / %.3f\n", late[i].note, rdn_outcome_text(late[i].end), (double)p50 / 1e6, (double)kit_percentile(took, (size_t)calls, 99) / 1e6);
        worst = p50 > worst ? p50 : worst;
    }
    kit_judge("worker usable or gone after the deadline, worst p50", worst, 8 * KIT_MS);
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

#define FILL(step) "local keep\n" F0 "  keep = {}\n  local low = collectgarbage('count')\n  local most = low\n  pcall(function()\n    for i = 1, 1e9 do " step \
    "\n      local now = collectgarbage('count')\n      if now > most then most = now end\n    end\n  end)\n  keep = nil\n  collectgarbage()\n" \
    "  return math.floor((most - low) * 1024) end)\n"
static const struct { const char *note, *text; double least; } fills[] = {
    { "tables", FILL("keep[i] = { i }"), 6.5 },
    { "strings of 64 KiB", FILL("keep[i] = ('x'):rep(65536) .. i"), 6.5 },
    { "strings of 512 KiB", FILL("keep[i] = ('x'):rep(524288) .. i"), 6.5 },
    { "numbers", FILL("keep[i] = i"), 3.9 },              /* doubles: 4 MiB and 8 do not fit together */
    { "functions", FILL("keep[i] = function() return i end"), 6.5 },
    { "int64", FILL("keep[i] = 0LL + i"), 6.5 },
    { "one string", "local lo, hi = 0, 64 * 2^20\n" F0 "  while hi - lo > 65536 do\n    local m = math.floor((lo + hi) / 2)\n    collectgarbage()\n"
      "    if pcall(string.rep, 'x', m) then lo = m else hi = m end\n  end\n  return lo end)\n", 3.5 },                  /* built in a buffer, then copied */
};

static void memory(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        struct rdn_plugin *p = kit_open(lua_spec(), fills[i].text);
        double mib = (double)ask(p) / 1048576.0;
        printf("8 MiB cap, %-20s %.2f MiB\n", fills[i].note, mib);
        if (mib < fills[i].least || mib > 8.0)
            fail_msg("%s: %.2f MiB; %s", fills[i].note, mib, kit_status(p)->error);
        double second = (double)ask(p) / 1048576.0;      /* and again: nothing is lost */
        assert_true(second > fills[i].least * 0.95);
        assert_int_equal(kit_status(p)->restarts, 0);
        rdn_plugin_close(p);
    }
}

/* Until not even a short text fits: what C does for the plugin then must not need memory outside of a protected call. */
#define BRIM "local keep, n = {}, 0\nfor i = 1, 65536 do keep[i] = false end\n" \
    "local function one() n = n + 1 keep[n] = {} end\nlocal function tiny() n = n + 1 keep[n] = 'a' .. n end\n" \
    "local function fill() while pcall(one) do end while pcall(tiny) do end while pcall(tiny) do end end\n"
static const char *const brims[] = {
    "local e = {}\nfill() error(e)", "local e = setmetatable({}, { __tostring = function() return 'mine' end })\nfill() error(e)", "fill() error(42, 0)",
    "local e = function() end\nfill() error(e)", "fill() error('text', 0)", "fill() return nil .. 1",
};

static void no_memory_left(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof brims / sizeof *brims; i++) {
        char text[1024];
        struct rdn_wire_value got;
        struct rdn_plugin_spec s = lua_spec();
        s.mem_cap_mib = 2;
        snprintf(text, sizeof text, BRIM "redan.batch('f() -> int', function()\n%s end)\n", brims[i]);
        struct rdn_plugin *p = kit_open(s, text);
        enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got);
        if ((out != RDN_OUT_MEMORY && out != RDN_OUT_EXCEPTION) || kit_status(p)->restarts)
            fail_msg("%s: %s, %s", brims[i], rdn_outcome_text(out), kit_status(p)->error);
        rdn_plugin_close(p);
    }
}

/* A state that does not fit beside what the new text keeps. */
static void no_memory_for_state(void **state) {
    (void)state;
    struct rdn_plugin_spec s = lua_spec();
    redan_error e = { 0 };
    s.mem_cap_mib = 2;
    s.carry = true;
    struct rdn_plugin *p = kit_open(s, "redan.on_save(function() return ('x'):rep(2^18) end)\n" F0 "  return 7 end)\n");
    assert_true(rdn_plugin_reload(p, kit_file("new.lua", BRIM "redan.on_load(function() end)\n" F0 "  return 8 end)\nfill()\nfor i = 1, 2000 do keep[i] = false end\ncollectgarbage()\n"), NULL, &e) < 0 && *e.id);
    if (strcmp(e.id, "R4326") || !strstr(e.text, "on_load: MemoryError: not enough memory"))
        fail_msg("%s %s", e.id, e.text);
    assert_int_equal(ask(p), 7);
    rdn_plugin_close(p);
}

/* Garbage of many calls, each within the cap: none of them runs out of memory, and what is kept is what is counted. */
static void garbage(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open(lua_spec(), F0 "  local t = {}\n  for i = 1, 20000 do t[i % 100 + 1] = { i, tostring(i) } end\n  return #t end)\n");
    for (int i = 0; i < 300; i++)
        assert_int_equal(ask(p), 100);
    double peak = (double)kit_status(p)->peak_bytes / 1048576.0;
    printf("300 calls that make about 2.5 MiB of garbage each: peak %.2f MiB\n", peak);
    assert_true(peak > 1.0 && peak < 7.9);
    assert_int_equal(kit_status(p)->restarts, 0);
    rdn_plugin_close(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_mistakes), cmocka_unit_test(call_mistakes), cmocka_unit_test(small_things), cmocka_unit_test(random_numbers),
        cmocka_unit_test(project),       cmocka_unit_test(compiled),      cmocka_unit_test(flushes),      cmocka_unit_test(times),
        cmocka_unit_test(memory),        cmocka_unit_test(garbage),       cmocka_unit_test(no_memory_left), cmocka_unit_test(no_memory_for_state),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
