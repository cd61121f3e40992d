/* SPDX-License-Identifier: Apache-2.0
 * lua_host.c: the table `host` of the prelude: the plugin's functions and files as the load page has them, where columns and answers
 * lie, and what only C can do. The author never gets it. */
#include "plugins/lua_role.h"
#include <string.h>
#include "base/clock.h"
#include "plugins/native_role.h"

static const struct rdn_load *load_page(void) { return rdn_lua.w->load; }
static const struct rdn_wcol *all_cols(void) { return (const void *)((const char *)load_page() + load_page()->cols.off); }
static const struct rdn_wfn *all_fns(void) { return (const void *)((const char *)load_page() + load_page()->fns.off); }

bool rdn_lua_file(uint16_t kind, const char *name, uint32_t index, const char **ret, size_t *ret_n) {
    const struct rdn_load *l = load_page();
    const char *base = (const char *)l + l->files.off;
    uint32_t n = 0;
    for (uint32_t at = 0; at + sizeof(struct rdn_wfile) <= l->files.len;) {
        const struct rdn_wfile *f = (const void *)(base + at);
        uint32_t body = at + (uint32_t)((sizeof *f + f->name_len + 63) & ~63u);
        bool wanted = f->kind == kind && (name ? strlen(name) == f->name_len && !memcmp(f + 1, name, f->name_len) : n++ == index);
        if (wanted && !name) {                          /* the entry: its name is wanted too */
            size_t k = f->name_len < sizeof rdn_lua.file - 1 ? f->name_len : sizeof rdn_lua.file - 1;
            memcpy(rdn_lua.file, f + 1, k);
            rdn_lua.file[k] = 0;
        }
        *ret = base + body;
        *ret_n = f->bytes;
        if (wanted)
            return true;
        at = body + ((f->bytes + 63) & ~63u);
    }
    return false;
}

/* ---- types as tables ---- */
static void set_number(lua_State *L, const char *name, double x) {
    lua_pushnumber(L, x);
    lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *s) {
    lua_pushstring(L, s);
    lua_setfield(L, -2, name);
}

static void set_pointer(lua_State *L, const char *name, const void *p) {
    lua_pushlightuserdata(L, (void *)(uintptr_t)p);
    lua_setfield(L, -2, name);
}

static const char *kind_text(unsigned kind) {
    switch ((enum rdn_wire_kind)kind) {
#define KIND(NAME, number, text, width, doc) case RDN_WIRE_##NAME: return text;
#include "plugins/wire_kinds.def"
#undef KIND
    }
    return "?";
}

static void push_type(lua_State *L, const struct rdn_wcol *c);
static void push_fields(lua_State *L, const struct rdn_wcol *ev) {
    lua_createtable(L, ev->flags, 0);
    for (unsigned i = 0; i < ev->flags; i++) {
        const struct rdn_wcol *f = &all_cols()[ev->first_field + i];
        lua_createtable(L, 0, 4);
        set_text(L, "name", f->name);
        set_number(L, "offset", f->arena_off);
        set_number(L, "bit", (f->scale >> 8) - 1);
        push_type(L, f);
        lua_setfield(L, -2, "type");
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static void push_type(lua_State *L, const struct rdn_wcol *c) {
    const char *m = (const char *)load_page() + load_page()->enums.off + c->enum_first;
    unsigned cols = c->layout_hash ? (unsigned)c->layout_hash : 1;
    lua_createtable(L, 0, 4);
    set_text(L, "kind", kind_text(c->type));
    set_number(L, "width", c->width);
    if (c->type == RDN_WIRE_ENUM) {
        lua_createtable(L, c->flags, 0);
        for (int i = 1; i <= c->flags; i++, m += strlen(m) + 1) {
            lua_pushstring(L, m);
            lua_rawseti(L, -2, i);
        }
        lua_setfield(L, -2, "names");
    } else if (c->type == RDN_WIRE_EVENT) {
        set_text(L, "event", m);
        push_fields(L, c);
        lua_setfield(L, -2, "fields");
    } else if (c->type == RDN_WIRE_FARR || c->type == RDN_WIRE_IARR) {
        set_number(L, "rows", c->width / 8u / cols);
        set_number(L, "cols", cols);
    }
}

static void push_function(lua_State *L, const struct rdn_wfn *fn) {
    struct rdn_wcol ret = { .type = fn->ret_type, .width = fn->ret_width, .flags = (uint16_t)fn->enum_count, .enum_first = fn->enum_first };
    lua_createtable(L, 0, 3);
    set_text(L, "name", fn->name);
    push_type(L, &ret);
    lua_setfield(L, -2, "ret");
    lua_createtable(L, (int)fn->ncols, 0);
    for (uint32_t i = 0; i < fn->ncols; i++) {
        const struct rdn_wcol *c = &all_cols()[fn->first_col + i];
        lua_createtable(L, 0, 3);
        set_text(L, "name", c->name);
        push_type(L, c);
        lua_setfield(L, -2, "type");
        set_pointer(L, "at", (const char *)rdn_lua.w->req + c->arena_off);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "params");
}

/* ---- functions ---- */
static int host_same_signature(lua_State *L) {
    char expected[600];
    bool same = rdn_native_same_signature(load_page(), &all_fns()[luaL_checkint(L, 1) - 1], luaL_checkstring(L, 2), expected, sizeof expected);
    lua_pushboolean(L, same);
    lua_pushstring(L, expected);
    return 2;
}

static int host_module(lua_State *L) {
    const char *p;
    size_t n;
    if (!rdn_lua_file(1, luaL_checkstring(L, 1), 0, &p, &n))
        return 0;
    lua_pushlstring(L, p, n);
    return 1;
}

static int host_data(lua_State *L) {
    const char *p;
    size_t n;
    if (!rdn_lua_file(2, luaL_checkstring(L, 1), 0, &p, &n))
        return 0;
    lua_pushlightuserdata(L, (void *)(uintptr_t)p);
    lua_pushnumber(L, (double)n);
    return 2;
}

static int host_log(lua_State *L) {
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n);
    rdn_lua_log(s, n);
    return 0;
}

static int host_bad(lua_State *L) {
    uint32_t row = (uint32_t)luaL_checkint(L, 1);
    rdn_lua_set_error("TypeError", luaL_checkstring(L, 2));
    rdn_lua.w->res->row_status[row < RDN_MAX_ROWS ? row : 0] = RDN_ROW_BAD;
    return 0;
}

/* A row of a scalar function raised: true when the whole call is over. */
static int host_failed(lua_State *L) {
    uint32_t row = (uint32_t)luaL_checkint(L, 1);
    lua_settop(L, 2);
    if (rdn_lua.late)
        return luaL_error(L, "late");
    uint32_t st = rdn_lua_take_error(0);
    rdn_lua.bad_rows++;
    rdn_lua.w->res->row_status[row < RDN_MAX_ROWS ? row : 0] = RDN_ROW_EXCEPTION;
    if (st != RDN_ST_EXCEPTION)
        rdn_lua.w->res->status = st;
    lua_pushboolean(L, st != RDN_ST_EXCEPTION);
    return 1;
}

/* Machine code that is thrown away again and again costs more than it brings (JIT.md 13). */
static int host_flushed(lua_State *L) {
    (void)L;
    int64_t now = rdn_mono_ns();
    if (now - rdn_lua.flush_ns > INT64_C(60000000000)) {
        rdn_lua.flush_ns = now;
        rdn_lua.flushes = 0;
    }
    rdn_lua.jit_trouble = rdn_lua.jit_trouble || ++rdn_lua.flushes > 3;
    return 0;
}

int rdn_lua_host(lua_State *L) {
    static const luaL_Reg fns[] = {
        { "same_signature", host_same_signature }, { "module", host_module }, { "data", host_data }, { "log", host_log }, { "bad", host_bad },
        { "failed", host_failed }, { "flushed", host_flushed }, { "handler", rdn_lua_handler }, { NULL, NULL },
    };
    const struct rdn_load *l = load_page();
    uint32_t nfns = l->nfns < RDN_MAX_FNS ? l->nfns : RDN_MAX_FNS;
    lua_newtable(L);
    luaL_register(L, NULL, fns);
    set_pointer(L, "values", rdn_lua.w->res->values);
    set_pointer(L, "status", rdn_lua.w->res->row_status);
    set_pointer(L, "now", &rdn_lua.w->req->now_ns);
    set_number(L, "seed_low", (uint32_t)rdn_lua.w->req->seed);
    set_number(L, "seed_high", (uint32_t)(rdn_lua.w->req->seed >> 32));
    lua_pushlstring(L, (const char *)l + l->config.off, l->config.len);
    lua_setfield(L, -2, "config");
    lua_pushboolean(L, (l->flags & RDN_LOAD_PLAIN) != 0);
    lua_setfield(L, -2, "plain");
    lua_createtable(L, (int)nfns, 0);
    for (uint32_t k = 0; k < nfns; k++) {
        push_function(L, &all_fns()[k]);
        lua_rawseti(L, -2, (int)k + 1);
    }
    lua_setfield(L, -2, "fns");
    return 1;
}
