/* SPDX-License-Identifier: Apache-2.0
 * lua_error.c: what went wrong and where, written into the answer page in plain text; the host cuts, checks and escapes it.
 *
 * traceback holds "cross.lua:12 in cross" lines, innermost first. Frames of C and of the prelude are left out. */
#include "plugins/lua_role.h"
#include <stdio.h>
#include <string.h>

enum { FRAMES = 64, DEEPEST = 4096 };
struct place { const char *file, *func; int line; };

static bool is_prelude(const lua_Debug *ar) { return !strcmp(ar->source, "=redan"); }

/* The name of what the prelude called is the plugin's function; of a main chunk there is none. */
static const char *func_of(lua_State *L, int level, const lua_Debug *ar) {
    lua_Debug up;
    bool by_prelude = false;
    for (int i = level + 1; lua_getstack(L, i, &up) && lua_getinfo(L, "S", &up); i++) {
        if (*up.what == 'C')                            /* xpcall stands between */
            continue;
        by_prelude = is_prelude(&up);
        break;
    }
    return by_prelude && rdn_lua.fn ? rdn_lua.name : *ar->what == 'm' ? "main" : ar->name && *ar->name ? ar->name : "?";
}

static bool author_frame(lua_State *L, int level, struct place *ret, bool *ret_there) {
    static lua_Debug ar;                                /* what is answered points into it */
    *ret_there = lua_getstack(L, level, &ar) && lua_getinfo(L, "nSl", &ar);
    if (!*ret_there || *ar.what == 'C' || is_prelude(&ar) || (*ar.source != '@' && *ar.source != '='))
        return false;
    *ret = (struct place){ ar.source + 1, func_of(L, level, &ar), ar.currentline };
    return true;
}

static void append(struct rdn_res *r, const struct place *p) {
    size_t room = sizeof r->traceback - r->tb_len;
    int n = snprintf(r->traceback + r->tb_len, room, "%.63s:%d in %.72s\n", p->file, p->line, p->func);
    if (n > 0 && (size_t)n < room)
        r->tb_len += (uint32_t)n;
}

int rdn_lua_handler(lua_State *L) {
    struct rdn_res *r = rdn_lua.w->res;
    struct place p;
    bool there = true;
    if (rdn_lua.late && r->tb_len)                      /* raised again, further out: where it was stopped is known */
        return 1;
    r->tb_len = r->err_line = 0;
    for (int level = 1, kept = 0; there && kept < FRAMES && level < DEEPEST; level++)
        if (author_frame(L, level, &p, &there)) {
            append(r, &p);
            kept++;
            if (!r->err_line && !strcmp(p.file, rdn_lua.file) && p.line > 0)
                r->err_line = (uint32_t)p.line;
        }
    return 1;
}

void rdn_lua_set_error(const char *type, const char *text) {
    struct rdn_res *r = rdn_lua.w->res;
    size_t n = strlen(text);
    snprintf(r->err_type, sizeof r->err_type, "%s", type);
    r->err_len = (uint32_t)(n < sizeof r->err_text ? n : sizeof r->err_text);
    memcpy(r->err_text, text, r->err_len);
}

/* "cross.lua:12: text" says its place twice: behind the text stands the traceback's. A text without a traceback, of a mistake in
 * the language or of an error raised in a coroutine, becomes one. */
static const char *without_place(struct rdn_res *r, const char *text) {
    char file[64];
    int line, used = 0;
    if (sscanf(text, "%63[^:\n]:%d: %n", file, &line, &used) < 2 || !used || line < 1)
        return text;
    if (!r->tb_len)
        append(r, &(struct place){ file, "main", line });
    if (!r->err_line)
        r->err_line = (uint32_t)line;
    size_t n = strlen(file);
    bool same = r->tb_len > n && !memcmp(r->traceback, file, n) && r->traceback[n] == ':';
    return same ? text + used : text;
}

/* An error may be any value; its __tostring is the author's code. */
int rdn_lua_describe(lua_State *L) {
    if (!lua_isstring(L, 1) && !luaL_callmeta(L, 1, "__tostring"))
        lua_pushfstring(L, "an error object of type %s", luaL_typename(L, 1));
    if (!lua_isstring(L, -1))
        lua_pushfstring(L, "a __tostring that answers a %s", luaL_typename(L, -1));
    lua_tostring(L, -1);                                 /* a number becomes a text here, where that may fail */
    return 1;
}

/* No frame is left of a function that ended in a tail call, and none of memory that ran out in machine code. */
static uint32_t somewhere(struct rdn_res *r, uint32_t status) {
    int n = r->tb_len || !rdn_lua.fn ? 0 : snprintf(r->traceback, sizeof r->traceback, "%s in %s\n", rdn_lua.file, rdn_lua.name);
    r->tb_len += n > 0 ? (uint32_t)n : 0;
    return status;
}

uint32_t rdn_lua_take_error(int rc) {
    lua_State *L = rdn_lua.L;
    struct rdn_res *r = rdn_lua.w->res;
    const char *s = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (rdn_lua.late) {
        rdn_lua_set_error("PluginTimeout", "the deadline has passed");
        return somewhere(r, RDN_ST_TIMEOUT);
    }
    if (!s) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, RDN_LUA_DESCRIBE);
        lua_insert(L, -2);
        rc = lua_pcall(L, 1, 1, 0);
        s = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error object that cannot be shown";
    }
    if (rc == LUA_ERRMEM || (rdn_lua.refused && !strcmp(s, "not enough memory"))) {
        rdn_lua_set_error("MemoryError", "not enough memory");
        return somewhere(r, RDN_ST_MEMORY);
    }
    bool syntax = rc == LUA_ERRSYNTAX;
    rdn_lua_set_error(syntax ? "SyntaxError" : "error", without_place(r, s));
    return somewhere(r, RDN_ST_EXCEPTION);
}

/* ---- log ---- */
void rdn_lua_log(const char *text, size_t n) {
    struct rdn_res *r = rdn_lua.w->res;
    size_t at = r->log_len < sizeof r->log ? r->log_len : sizeof r->log, room = sizeof r->log - at, k = n < room ? n : room;
    while (k < n && k && ((unsigned char)text[k] & 0xc0) == 0x80)       /* no half of a character */
        k--;
    memcpy(r->log + at, text, k);
    r->log_len = (uint32_t)(at + k);
    r->log_dropped += (uint32_t)(n - k);
}

/* ---- in signal handlers ---- */
/* Reads only. The process is about to end: what it finds of frames that were just being made may be wrong, or a second fault. */
size_t rdn_lua_dump(char *out, size_t cap) {
    size_t n = 0;
    struct place p;
    bool there = rdn_lua.L != NULL;
    for (int level = 0; there && level < FRAMES; level++)
        if (author_frame(rdn_lua.L, level, &p, &there)) {
            int k = snprintf(out + n, cap - n, "  File \"%.63s\", line %d in %.72s\n", p.file, p.line, p.func);
            if (k < 0 || (size_t)k >= cap - n)
                break;
            n += (size_t)k;
        }
    return n;
}

/* Of a process that goes on, and compiled code keeps no frames: the file is all that is sure. */
size_t rdn_lua_where(char *out, size_t cap) {
    size_t n = strlen(rdn_lua.file);
    n = n < cap ? n : cap;
    memcpy(out, rdn_lua.file, n);
    return n;
}
