/* SPDX-License-Identifier: Apache-2.0
 * lua_state.c: the heap of a Lua worker: counted, capped, and collected when nobody waits. */
#include "plugins/lua_role.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/clock.h"

enum { GARBAGE = 64 << 10, STEP_NS = 20000 };           /* less garbage is left where it is; time of one rest */

static void *resize(void *ctx, void *p, size_t old, size_t n) {
    struct rdn_lua *s = ctx;
    if (!n) {
        free(p);
        s->live -= old;
        return NULL;
    }
    void *q = n > old && n - old > s->cap - s->live ? NULL : realloc(p, n);
    if (!q) {
        s->refused = true;                              /* where, nobody can say here: compiled code keeps no frames */
        return NULL;
    }
    s->live += n - old;                                 /* wraps, and comes out right, when it shrinks */
    s->peak = s->live > s->peak ? s->live : s->peak;
    return q;
}

lua_State *rdn_lua_open(size_t cap) {
    rdn_lua.L = NULL;
    rdn_lua.live = rdn_lua.peak = 0;
    rdn_lua.cap = cap;
    return lua_newstate(resize, &rdn_lua);
}

static void take(lua_State *L, lua_CFunction open, const char *name, int results) {
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, results);
}

int rdn_lua_libraries(lua_State *L) {
    static const struct { const char *name; lua_CFunction open; } libs[] = {
        { "", luaopen_base }, { "table", luaopen_table }, { "string", luaopen_string }, { "math", luaopen_math }, { "bit", luaopen_bit }, { "jit", luaopen_jit },
    };
    lua_settop(L, 0);
    for (size_t i = 0; i < sizeof libs / sizeof *libs; i++)
        take(L, libs[i].open, libs[i].name, 0);
    take(L, luaopen_ffi, "ffi", 1);
    take(L, luaopen_string_buffer, "string.buffer", 1);
    return 2;
}

/* What the seccomp filter will allow must be allowed by the system as well (SELinux, systemd's MemoryDenyWriteExecute). */
bool rdn_lua_executable_memory(void) {
    void *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool good = p != MAP_FAILED && mprotect(p, 65536, PROT_READ | PROT_EXEC) == 0 && mprotect(p, 65536, PROT_READ | PROT_WRITE) == 0;
    if (p != MAP_FAILED)
        munmap(p, 65536);
    return good;
}

/* The collector starts when the heap is `pause` percent of what it was; RESTART with -1 counts from what it is now, with 0 it starts
 * at once, and then it has to be faster than whoever makes the garbage. */
void rdn_lua_doze(void) {
    lua_State *L = rdn_lua.L;
    size_t half = rdn_lua.cap / 2, percent = half * 100 / (rdn_lua.live + 1);
    bool full = percent < 110;
    int old = lua_gc(L, LUA_GCSETPAUSE, full ? 110 : percent > 100000 ? 100000 : (int)percent);
    lua_gc(L, LUA_GCRESTART, full ? 0 : -1);
    lua_gc(L, LUA_GCSETPAUSE, old);
}

static int steps(lua_State *L) {
    int64_t until = rdn_mono_ns() + STEP_NS;
    do {
        if (lua_gc(L, LUA_GCSTEP, 0)) {
            rdn_lua.collected = rdn_lua.live;
            break;
        }
    } while (rdn_mono_ns() < until);
    return 0;
}

/* A finaliser may raise, and may loop: then the next call is late, and the worker is killed. */
void rdn_lua_rest(struct rdn_worker *w) {
    (void)w;
    if (!rdn_lua.L || rdn_lua.live < rdn_lua.collected + rdn_lua.collected / 8 + GARBAGE)
        return;
    lua_cpcall(rdn_lua.L, steps, NULL);
    lua_settop(rdn_lua.L, RDN_LUA_FIXED);
}

void rdn_lua_report(struct rdn_res *r) {
    r->live_bytes = rdn_lua.live;
    r->peak_bytes = rdn_lua.peak;
}
