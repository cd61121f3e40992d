/* SPDX-License-Identifier: Apache-2.0
 * lua_call.c: call 1: the state, the prelude, the author's text, its functions; then one call after the other. */
#include "plugins/lua_role.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- loading ---- */
/* on_load of the prelude with the state in the request page. */
static int give_state(lua_State *L) {
    const struct rdn_worker *w = rdn_lua.w;
    uint32_t n = w->req->nrows;
    lua_pushlstring(L, (const char *)w->req->args, n <= w->req_bytes - RDN_PAGE ? n : 0);
    lua_call(L, 1, 0);
    return 0;
}

static void keep(lua_State *L, int slot) { lua_rawseti(L, LUA_REGISTRYINDEX, RDN_LUA_KEPT + slot); }
static void keep_function(lua_State *L, lua_CFunction f, int slot) {
    lua_pushcfunction(L, f);
    keep(L, slot);
}

/* The prelude's three functions, and those of C, into the registry; room for the slots of the main stack. */
static int run_prelude(lua_State *L) {
    luaL_checkstack(L, RDN_LUA_FIXED + 40, "the slots");
    lua_gc(L, LUA_GCSETSTEPMUL, RDN_LUA_STEPMUL);
    keep_function(L, rdn_lua_handler, RDN_LUA_HANDLER);
    keep_function(L, rdn_lua_describe, RDN_LUA_DESCRIBE - RDN_LUA_KEPT);
    keep_function(L, give_state, RDN_LUA_GIVE - RDN_LUA_KEPT);
    int kept = rdn_lua_libraries(L);                     /* ffi and string.buffer */
    if (luaL_loadbuffer(L, rdn_lua.prelude, rdn_lua.prelude_bytes, "=redan"))
        return lua_error(L);
    rdn_lua_host(L);
    for (int i = 1; i <= kept; i++)
        lua_pushvalue(L, i);
    lua_call(L, 1 + kept, 3);
    for (int slot = RDN_LUA_RESTORE; slot >= RDN_LUA_BIND; slot--)
        keep(L, slot);
    return 0;
}

static bool failed(int rc) {
    rdn_lua.w->res->status = rdn_lua_take_error(rc);
    lua_settop(rdn_lua.L, 0);
    return false;
}

static bool run_source(void) {
    lua_State *L = rdn_lua.L;
    char chunk[80];
    const char *text;
    size_t n;
    if (!rdn_lua_file(1, NULL, 0, &text, &n)) {
        rdn_lua_set_error("error", "the load page is damaged");
        rdn_lua.w->res->status = RDN_ST_EXCEPTION;
        return false;
    }
    snprintf(chunk, sizeof chunk, "@%s", rdn_lua.file);
    int rc = luaL_loadbufferx(L, text, n, chunk, "t");
    if (rc == 0)
        rc = lua_pcall(L, 0, 0, RDN_LUA_HANDLER);
    return rc == 0 || failed(rc);
}

/* bind() answers the list of loops, or a text and the kind of mistake. */
static bool bind(void) {
    lua_State *L = rdn_lua.L;
    lua_pushvalue(L, RDN_LUA_BIND);
    int rc = lua_pcall(L, 0, 2, RDN_LUA_HANDLER);
    if (rc)
        return failed(rc);
    if (lua_isstring(L, -2)) {
        const char *type = lua_tostring(L, -1);
        rdn_lua_set_error(type, lua_tostring(L, -2));
        rdn_lua.w->res->status = !strcmp(type, "SignatureError") ? RDN_ST_SIGNATURE : strncmp(lua_tostring(L, -2), "R42", 3) ? RDN_ST_NO_FUNCTION : RDN_ST_EXCEPTION;
        lua_settop(L, 0);
        return false;
    }
    for (int k = 0; k < RDN_MAX_FNS; k++)
        lua_rawgeti(L, RDN_LUA_RUNS, k + 1);             /* the list stands in the first slot of the loops until it is overwritten */
    lua_remove(L, RDN_LUA_RUNS);
    lua_remove(L, RDN_LUA_RUNS);                         /* the second answer */
    return true;
}

static bool load(struct rdn_worker *w) {
    lua_State *L = rdn_lua_open((size_t)w->load->cap_bytes);
    if (!L) {
        rdn_lua_set_error("MemoryError", "R4281 no Lua state: no memory, or a LuaJIT that was built without GC64");
        w->res->status = RDN_ST_MEMORY;
        return false;
    }
    rdn_lua.L = L;
    int rc = lua_cpcall(L, run_prelude, NULL);
    if (rc)
        return failed(rc);
    lua_settop(L, 0);
    for (int slot = RDN_LUA_HANDLER; slot <= RDN_LUA_RESTORE; slot++)
        lua_rawgeti(L, LUA_REGISTRYINDEX, RDN_LUA_KEPT + slot);
    if (rdn_lua.jit_off)
        luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    return run_source() && bind();
}

void rdn_lua_load(struct rdn_worker *w) {
    rdn_lua.w = w;
    if (rdn_lua.jit_off)
        rdn_lua_log("R4382 no memory may become executable here: the interpreter alone runs this plugin\n", 82);
    if (!load(w))
        rdn_lua.L = NULL;                                /* the host ends this worker */
    rdn_lua_report(w->res);
}

/* ---- calls ---- */
static void begin(void) {
    rdn_lua.refused = rdn_lua.late = false;
    rdn_lua.bad_rows = 0;
    if (rdn_lua.hooked) {                                /* a stop that came when its call was over */
        rdn_lua.hooked = false;
        lua_sethook(rdn_lua.L, NULL, 0, 0);
    }
    if (rdn_lua.jit_trouble && !rdn_lua.jit_off) {
        static const char text[] = "R4381 machine code was thrown away more than three times in a minute: the interpreter goes on alone\n";
        rdn_lua.jit_off = true;
        luaJIT_setmode(rdn_lua.L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
        rdn_lua_log(text, sizeof text - 1);
    }
    rdn_lua_doze();
}

static void end(void) {
    lua_settop(rdn_lua.L, RDN_LUA_FIXED);
    rdn_lua_report(rdn_lua.w->res);
}

static void mark_undefined(struct rdn_res *r, uint32_t n) {
    const double *v = (const double *)(const void *)r->values;
    for (uint32_t i = 0; i < n; i++)
        if (isnan(v[i]) && r->row_status[i] == RDN_ROW_VALUE)
            r->row_status[i] = RDN_ROW_UNDEFINED;
}

void rdn_lua_call(struct rdn_worker *w) {
    struct rdn_res *r = w->res;
    const struct rdn_wfn *fns = (const void *)((const char *)w->load + w->load->fns.off);
    uint32_t k = w->req->fn, n = w->req->nrows;
    if (!rdn_lua.L || k >= w->load->nfns || k >= RDN_MAX_FNS || n > w->load->max_rows) {
        r->status = RDN_ST_NO_FUNCTION;
        return;
    }
    if (rdn_lua.fn != &fns[k]) {
        rdn_lua.fn = &fns[k];
        memcpy(rdn_lua.name, fns[k].name, sizeof rdn_lua.name);
    }
    memset(r->values, 0, (size_t)fns[k].ret_width * n);
    memset(r->row_status, RDN_ROW_VALUE, n);
    r->nrows = n;
    begin();
    lua_pushvalue(rdn_lua.L, RDN_LUA_RUNS + (int)k);
    lua_pushinteger(rdn_lua.L, (lua_Integer)n);
    int rc = lua_pcall(rdn_lua.L, 1, 0, RDN_LUA_HANDLER);
    if (rc)
        r->status = rdn_lua_take_error(rc);
    else if (n && rdn_lua.bad_rows == n && r->status == RDN_ST_OK)
        r->status = RDN_ST_EXCEPTION;
    if (fns[k].ret_type == RDN_WIRE_FLOAT)
        mark_undefined(r, n);
    end();
}

/* ---- state over a reload ---- */
void rdn_lua_save(struct rdn_worker *w) {
    size_t n;
    begin();
    lua_pushvalue(rdn_lua.L, RDN_LUA_SAVE);
    int rc = lua_pcall(rdn_lua.L, 0, 1, RDN_LUA_HANDLER);
    if (rc) {
        w->res->status = rdn_lua_take_error(rc);
    } else if (lua_isnil(rdn_lua.L, -1)) {
        w->res->status = RDN_ST_NO_FUNCTION;
    } else {
        const char *s = lua_tolstring(rdn_lua.L, -1, &n);
        if (n - 1 > (1u << 20) || n > w->res_bytes - RDN_RES_VALUES) {
            rdn_lua_set_error("error", "on_save answers more than the 1 MiB that is carried");
            w->res->status = RDN_ST_EXCEPTION;
        } else {
            memcpy(w->res->values, s, n);
            w->res->nrows = (uint32_t)n;
        }
    }
    end();
}

void rdn_lua_restore(struct rdn_worker *w) {
    begin();
    lua_rawgeti(rdn_lua.L, LUA_REGISTRYINDEX, RDN_LUA_GIVE);
    lua_pushvalue(rdn_lua.L, RDN_LUA_RESTORE);
    int rc = lua_pcall(rdn_lua.L, 1, 0, RDN_LUA_HANDLER);
    if (rc)
        w->res->status = rdn_lua_take_error(rc);
    end();
}
