/* SPDX-License-Identifier: Apache-2.0
 * lua_role.h: the Lua role in its parts. One lua_State, one plugin, one thread a process.
 *
 *   lua_zygote.c  start and the role table; the soft stop       lua_state.c   memory under the cap, libraries, garbage
 *   lua_host.c    the table `host` that the prelude gets        lua_call.c    load, call, save, restore
 *   lua_error.c   errors, places, log                           lua_prelude.lua   columns, answers, what authors call
 *
 * Nothing enters Lua but through a protected call, and nothing that takes memory is asked of it outside one: an error there would end the
 * process. What C calls later is made while loading, and kept in the registry. */
#ifndef RDN_LUA_ROLE_H
#define RDN_LUA_ROLE_H
#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>
#include "plugins/worker.h"
#include "sandbox/role.h"

/* Slots of the main stack that stay: then a call pushes nothing that has to be collected. */
enum { RDN_LUA_HANDLER = 1, RDN_LUA_BIND, RDN_LUA_SAVE, RDN_LUA_RESTORE, RDN_LUA_RUNS, RDN_LUA_FIXED = RDN_LUA_RUNS + RDN_MAX_FNS - 1 };
/* In the registry, for frames of any function. */
enum { RDN_LUA_KEPT = 1000, RDN_LUA_DESCRIBE = RDN_LUA_KEPT + RDN_LUA_RUNS, RDN_LUA_GIVE };
enum { RDN_LUA_STEPMUL = 800 };                         /* a collection that has begun goes on eight times as fast as garbage is made */
struct rdn_lua {
    struct rdn_worker *w;
    lua_State *L;
    const struct rdn_wfn *fn;                           /* being called; NULL while loading */
    char file[64], name[72];                            /* "cross.lua"; of the function being called */
    size_t live, peak, cap, collected;                  /* bytes of the heap; collected: live after the newest whole collection */
    bool refused, late, hooked, jit_off, jit_trouble;   /* the cap was met, the deadline passed, in this call; the stop hook is set; no machine code */
    uint32_t bad_rows, flushes;
    int64_t flush_ns;                                   /* of the first of these flushes */
    char *prelude; size_t prelude_bytes;                /* compiled in the zygote */
};
extern struct rdn_lua rdn_lua;

bool rdn_lua_executable_memory(void);                   /* zygote: this system lets a page become executable */
int  rdn_lua_libraries(lua_State *);                    /* a lua_CFunction: those an author may have; leaves ffi and string.buffer on the stack */
lua_State *rdn_lua_open(size_t cap);                    /* counts and refuses; NULL: no memory, or a LuaJIT without GC64 */
void rdn_lua_doze(void);                                /* no collection until half of the cap is taken */
void rdn_lua_rest(struct rdn_worker *);                 /* after an answer: a few steps of a collection */
void rdn_lua_report(struct rdn_res *);

int  rdn_lua_host(lua_State *);                         /* a lua_CFunction: leaves the table */
/* File `index` of kind 1 (modules, 0 is the entry), or the one of that name and kind. */
bool rdn_lua_file(uint16_t kind, const char *name, uint32_t index, const char **ret, size_t *ret_n);

void rdn_lua_load(struct rdn_worker *);
void rdn_lua_call(struct rdn_worker *);
void rdn_lua_save(struct rdn_worker *);
void rdn_lua_restore(struct rdn_worker *);

int  rdn_lua_handler(lua_State *);                      /* message handler: the traceback into the answer page; answers its argument */
int  rdn_lua_describe(lua_State *);                      /* a lua_CFunction: any error as text */
/* The error on top of the stack: texts into the answer page. The answer is the status. */
uint32_t rdn_lua_take_error(int rc);
void rdn_lua_set_error(const char *type, const char *text);
void rdn_lua_log(const char *text, size_t n);
size_t rdn_lua_where(char *out, size_t cap);            /* [signal] "cross.lua" */
size_t rdn_lua_dump(char *out, size_t cap);             /* [signal] */
#endif
