/* SPDX-License-Identifier: Apache-2.0
 * lua_zygote.c: LuaJIT with the prelude compiled, ready to be forked; the soft stop; the role table (JIT.md 13).
 *
 * The state is made after the fork, with the worker's own cap: 0.1 ms. This role alone may make code: its filter lets a page become
 * executable when it is not writable, and PR_SET_MDWE is left out, under which LuaJIT ends at its first trace. */
#include "plugins/lua_role.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <lua_prelude_text.h>                           /* generated from lua_prelude.lua */

enum { CODE_BYTES = 3 << 20 };                          /* for machine code, and what malloc adds, on top of the cap */
struct rdn_lua rdn_lua;

static int keep_code(lua_State *L, const void *p, size_t n, void *ctx) {
    (void)L, (void)ctx;
    char *more = realloc(rdn_lua.prelude, rdn_lua.prelude_bytes + n);
    if (!more)
        return 1;
    memcpy(more + rdn_lua.prelude_bytes, p, n);
    rdn_lua.prelude = more;
    rdn_lua.prelude_bytes += n;
    return 0;
}

/* Everything that a worker will touch: libraries, and a loop that becomes machine code where that is allowed. */
static int rehearse(lua_State *L) {
    rdn_lua_libraries(L);
    if (luaL_loadbuffer(L, lua_prelude_text, sizeof lua_prelude_text - 1, "=redan") || lua_dump(L, keep_code, NULL))
        return lua_error(L);
    if (rdn_lua.jit_off)
        luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    if (luaL_dostring(L, "local n = 0 for i = 1, 1000 do n = n + i end return n"))
        return lua_error(L);
    return 0;
}

static unsigned start(const struct rdn_role_start *s) {
    rdn_lua.jit_off = !rdn_lua_executable_memory();
    lua_State *L = rdn_lua_open((size_t)8 << 20);
    if (!L) {
        snprintf(s->err, s->err_cap, "R4281 LuaJIT gives no state: it was built without GC64");
        return RDN_Z_START;
    }
    int rc = lua_cpcall(L, rehearse, NULL);
    if (rc)
        snprintf(s->err, s->err_cap, "%s", lua_isstring(L, -1) ? lua_tostring(L, -1) : "the prelude does not compile");
    lua_close(L);
    return rc ? RDN_Z_START : 0;
}

/* ---- the soft stop ---- */
/* After each instruction until the call ends: pcall gives it back to its caller, and there the next one raises again. */
static void raise_late(lua_State *L, lua_Debug *ar) {
    (void)ar;
    rdn_lua.late = true;
    luaL_error(L, "PluginTimeout: the deadline has passed");
}

/* Compiled code looks at no hook: a loop there runs on until it is killed. A signal that comes after its call was answered must not
 * hit the next one. */
static void on_stop(int sig) {
    (void)sig;
    struct rdn_worker *w = rdn_lua.w;
    uint32_t now = w ? atomic_load(&w->current) : 0;
    if (!now || !rdn_lua.L || atomic_load(&w->req->stop_seq) != now)
        return;
    rdn_lua.hooked = true;
    lua_sethook(rdn_lua.L, raise_late, LUA_MASKCOUNT, 1);
}

static unsigned handlers(const struct rdn_role_start *s) {
    struct sigaction sa = { .sa_handler = on_stop, .sa_flags = SA_ONSTACK | SA_RESTART };
    if (sigaction(SIGUSR1, &sa, NULL) == 0)
        return 0;
    snprintf(s->err, s->err_cap, "sigaction");
    return RDN_Z_HANDLERS;
}

static void nothing(void) { }

__attribute__((visibility("default"))) const struct rdn_role *rdn_role_get(void);
const struct rdn_role *rdn_role_get(void) {
    static const struct rdn_role role = {
        .abi = RDN_ROLE_ABI, .version = LUAJIT_VERSION, .start = start, .handlers = handlers, .freeze = nothing, .before_fork = nothing,
        .after_fork_parent = nothing, .after_fork_child = nothing, .load = rdn_lua_load, .call = rdn_lua_call, .save = rdn_lua_save,
        .restore = rdn_lua_restore, .where = rdn_lua_where, .dump = rdn_lua_dump, .rest = rdn_lua_rest, .makes_code = true, .extra_bytes = CODE_BYTES,
    };
    return &role;
}
