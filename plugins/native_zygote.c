/* SPDX-License-Identifier: Apache-2.0
 * native_zygote.c: the role `native` of redan-worker: loads one shared object under the first filter, binds the functions the rules
 * declare, and calls them over the request's columns under the second (SANDBOX.md 6).
 *
 * There is no soft stop: a late call is killed. destroy is not called: the process ends. */
#include "plugins/native_role.h"
#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "plugins/elf_file.h"

enum { THREAD_STACK = 256 << 10 };
struct rdn_native rdn_native;

void rdn_native_error(const char *type, const char *fmt, ...) {
    struct rdn_res *r = rdn_native.w->res;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(r->err_text, sizeof r->err_text, fmt, ap);
    va_end(ap);
    r->err_len = n < 0 ? 0 : (uint32_t)n < sizeof r->err_text ? (uint32_t)n : (uint32_t)sizeof r->err_text - 1;
    snprintf(r->err_type, sizeof r->err_type, "%s", type);
}

/* ---- what the plugin may ask of the host ---- */
static void host_log(void *ctx, uint32_t level, const char *line) {
    struct rdn_res *r = rdn_native.w->res;
    (void)ctx, (void)level;
    size_t at = r->log_len < sizeof r->log ? r->log_len : sizeof r->log, n = strlen(line), room = sizeof r->log - at, k = n + 1 < room ? n : room ? room - 1 : 0;
    memcpy(r->log + at, line, k);
    if (room)
        r->log[at + k] = '\n';
    r->log_len = (uint32_t)(at + k + !!room);
    r->log_dropped += (uint32_t)(n - k);
}

static void host_error(void *ctx, const char *file, uint32_t line, const char *text) {
    struct rdn_res *r = rdn_native.w->res;
    (void)ctx;
    rdn_native_error("error", "%s", text);
    int n = snprintf(r->traceback, sizeof r->traceback, "%s:%u", file ? file : "?", line);
    r->tb_len = n < 0 ? 0 : (uint32_t)n < sizeof r->traceback ? (uint32_t)n : (uint32_t)sizeof r->traceback - 1;
    r->err_line = line;
}

static const void *host_extension(void *ctx, const char *id) {
    (void)ctx, (void)id;
    return NULL;
}

static redan_host host = { sizeof host, REDAN_PLUGIN_ABI, NULL, 0, host_log, host_error, host_extension };

/* ---- loading ---- */
static bool fail(uint32_t status) {
    rdn_native.w->res->status = status;
    return false;
}

static bool failed_by_plugin(const char *what, const redan_error *e) {
    rdn_native_error(what, "%s%s%s", e->id, *e->id ? " " : "", e->text[0] ? e->text : "failed");
    return fail(RDN_ST_EXCEPTION);
}

/* Members beyond the plugin's own `size` are not there. */
#define HAS(d, member) ((d)->size >= offsetof(redan_plugin_desc, member) + sizeof (d)->member && (d)->member)

static const redan_fn *stated(const char *name) {
    const redan_plugin_desc *d = rdn_native.desc;
    size_t n = strlen(name);
    for (uint32_t i = 0; d->fns && i < RDN_MAX_FNS && d->fns[i]; i++) {
        const char *s = d->fns[i]->signature + strspn(d->fns[i]->signature, " ");
        if (!strncmp(s, name, n) && s[n + strspn(s + n, " ")] == '(')
            return d->fns[i];
    }
    return NULL;
}

static void columns(struct rdn_native_fn *f, const struct rdn_load *l) {
    const struct rdn_wcol *cols = (const void *)((const char *)l + l->cols.off);
    f->params = cols + f->fn->first_col;
    for (uint32_t i = 0; i < f->fn->ncols; i++)
        f->cols[i] = (redan_col){ (const uint8_t *)rdn_native.w->req + f->params[i].arena_off, f->params[i].type, f->params[i].width };
}

static bool bind_entry(struct rdn_native_fn *f, const struct rdn_load *l) {
    char expected[600];
    const redan_fn *s = stated(f->fn->name);
    if (!s) {
        rdn_native_error("LookupError", "no function '%s' in %s", f->fn->name, rdn_native.desc->id);
        return fail(RDN_ST_NO_FUNCTION);
    }
    if (!rdn_native_same_signature(l, f->fn, s->signature, expected, sizeof expected)) {
        rdn_native_error("SignatureError", "the plugin has %.200s, the rules %.500s", s->signature, expected);
        return fail(RDN_ST_SIGNATURE);
    }
    f->call = s->call;
    return true;
}

/* Kind cfn: the config holds {"cfn": {"name": "symbol"}} as the host wrote it: name=symbol lines after the JSON. */
static bool bind_symbol(struct rdn_native_fn *f, const struct rdn_load *l) {
    const char *list = (const char *)l + l->id.off, *end = list + l->id.len, *p = list;
    char symbol[128] = "";
    while (p < end && *p) {
        size_t n = strlen(f->fn->name);
        if (!strncmp(p, f->fn->name, n) && p[n] == '=')
            snprintf(symbol, sizeof symbol, "%s", p + n + 1);
        p += strlen(p) + 1;
    }
    void *at = *symbol ? dlsym(rdn_native.so, symbol) : NULL;
    if (!at) {
        rdn_native_error("LookupError", "no symbol '%s' for function '%s'", symbol, f->fn->name);
        return fail(RDN_ST_NO_FUNCTION);
    }
    f->ffi = rdn_ffi_prepare(l, f->fn, (void (*)(void))(uintptr_t)at);
    return f->ffi || fail(RDN_ST_SIGNATURE);
}

static bool find_plugin(void) {
    redan_plugin_entry_fn *entry = (redan_plugin_entry_fn *)(uintptr_t)dlsym(rdn_native.so, "redan_plugin_entry");
    rdn_native.desc = entry ? entry(REDAN_PLUGIN_ABI, 0) : NULL;
    if (rdn_native.desc && rdn_native.desc->abi == REDAN_PLUGIN_ABI && rdn_native.desc->size >= offsetof(redan_plugin_desc, create))
        return true;
    rdn_native_error("LookupError", "redan_plugin_entry gives no plugin of ABI %u", REDAN_PLUGIN_ABI);
    return fail(RDN_ST_NO_FUNCTION);
}

static bool start_plugin(const struct rdn_load *l) {
    const redan_plugin_desc *d = rdn_native.desc;
    redan_error e = { 0 };
    static char config[(64 << 10) + 3] = "{}";
    if (l->config.len && l->config.len < sizeof config)
        snprintf(config, sizeof config, "%.*s", (int)l->config.len, (const char *)l + l->config.off);
    host.seed = rdn_native.w->req->seed;
    if (HAS(d, create) && d->create(&host, config, &rdn_native.self, &e) != 0)
        return failed_by_plugin("create", &e);
    if (HAS(d, activate) && d->activate(rdn_native.self, &e) != 0)
        return failed_by_plugin("activate", &e);
    return !HAS(d, selftest) || d->selftest(rdn_native.self, &e) == 0 || failed_by_plugin("selftest", &e);
}

static bool load_all(struct rdn_worker *w) {
    const struct rdn_load *l = w->load;
    const struct rdn_wfn *fns = (const void *)((const char *)l + l->fns.off);
    bool foreign = l->id.len;
    if (!(rdn_native.so = dlopen(w->code_path, RTLD_NOW | RTLD_LOCAL))) {
        const char *why = dlerror();
        rdn_native_error("ImportError", "%s", why ? why : "dlopen");
        return fail(RDN_ST_EXCEPTION);
    }
    if (!foreign && !find_plugin())
        return false;
    rdn_native.nfns = l->nfns < RDN_MAX_FNS ? l->nfns : RDN_MAX_FNS;
    for (uint32_t i = 0; i < rdn_native.nfns; i++) {
        struct rdn_native_fn *f = &rdn_native.fns[i];
        f->fn = &fns[i];
        columns(f, l);
        if (!(foreign ? bind_symbol(f, l) : bind_entry(f, l)))
            return false;
    }
    return foreign || start_plugin(l);
}

static void load(struct rdn_worker *w) {
    rdn_native.w = w;
    load_all(w);
}

/* ---- calls ---- */
static void mark_undefined(const struct rdn_native_fn *f, struct rdn_res *r, uint32_t n) {
    for (uint32_t i = 0; f->fn->ret_type == RDN_WIRE_FLOAT && i < n; i++) {
        double d;
        memcpy(&d, r->values + 8 * (size_t)i, 8);
        if (isnan(d) && r->row_status[i] == RDN_ROW_VALUE)
            r->row_status[i] = RDN_ROW_UNDEFINED;
    }
}

static void call(struct rdn_worker *w) {
    uint32_t k = w->req->fn, n = w->req->nrows;
    struct rdn_native_fn *f = k < rdn_native.nfns ? &rdn_native.fns[k] : NULL;
    if (!f || n > w->load->max_rows) {
        w->res->status = RDN_ST_NO_FUNCTION;
        return;
    }
    redan_call c = { f->cols, w->res->values, w->res->row_status, n, f->fn->ncols, w->req->now_ns, w->req->call_id };
    memset(w->res->values, 0, (size_t)f->fn->ret_width * n);
    memset(w->res->row_status, RDN_ROW_VALUE, n);
    w->res->nrows = n;
    if (f->ffi)
        rdn_ffi_rows(f->ffi, &c);
    else if (f->call(rdn_native.self, &c) != 0)
        w->res->status = RDN_ST_EXCEPTION;
    mark_undefined(f, w->res, n);
}

/* ---- state over a reload: the bytes are the plugin's own, the host moves them ---- */
static void save(struct rdn_worker *w) {
    const redan_plugin_desc *d = rdn_native.desc;
    size_t cap = w->res_bytes - RDN_RES_VALUES, n = 0;
    cap = cap < RDN_STATE_MAX - RDN_PAGE ? cap : RDN_STATE_MAX - RDN_PAGE;
    if (!d || !HAS(d, save)) {
        w->res->status = RDN_ST_NO_FUNCTION;
    } else if (d->save(rdn_native.self, w->res->values, cap, &n) != 0) {
        if (!w->res->err_len)
            rdn_native_error("save", "failed");
        w->res->status = RDN_ST_EXCEPTION;
    } else if (n > cap) {
        rdn_native_error("save", "%zu bytes, at most %zu are carried", n, cap);
        w->res->status = RDN_ST_EXCEPTION;
    } else {
        w->res->nrows = (uint32_t)n;
    }
}

/* load is for a plugin that is not active, and this one is since it was tested. */
static void restore(struct rdn_worker *w) {
    const redan_plugin_desc *d = rdn_native.desc;
    redan_error e = { 0 };
    if (!d || !HAS(d, load)) {
        rdn_native_error("LookupError", "the old library has save, this one has no load");
        fail(RDN_ST_EXCEPTION);
        return;
    }
    if (HAS(d, deactivate))
        d->deactivate(rdn_native.self);
    if (d->load(rdn_native.self, w->req->args, w->req->nrows, &e) != 0)
        failed_by_plugin("load", &e);
    else if (HAS(d, activate) && d->activate(rdn_native.self, &e) != 0)
        failed_by_plugin("activate", &e);
}

/* ---- the role ---- */
static unsigned start(const struct rdn_role_start *s) {
    (void)s;
    /* There before confinement, because a worker has no file system to find them in. */
    dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL);
    dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL);
    /* For threads of the library: stacks and heaps as libc gives them take 8 and 64 MiB of address space each, which the cap does not have. */
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, THREAD_STACK);
    pthread_setattr_default_np(&small);
    pthread_attr_destroy(&small);
    mallopt(M_ARENA_MAX, 1);
    return 0;
}

static unsigned handlers(const struct rdn_role_start *s) {
    (void)s;
    signal(SIGUSR1, SIG_IGN);                           /* the soft stop: native code has none */
    return 0;
}

static void nothing(void) { }
static size_t nowhere(char *out, size_t cap) { return cap ? (size_t)(out[0] = 0) : 0; }

static const void *code(const struct rdn_load *l, size_t *ret_bytes, uint64_t *ret_image_bytes) {
    const char *base = (const char *)l + l->files.off;
    const struct rdn_wfile *f = (const void *)base;
    struct rdn_elf e;
    const char *why;
    if (l->files.len < sizeof *f || f->kind != 1)
        return NULL;
    const char *bytes = base + ((sizeof *f + f->name_len + 63) & ~(size_t)63);
    *ret_bytes = f->bytes;
    if (!rdn_elf_open(&e, bytes, f->bytes, &why))
        return NULL;
    uint64_t image = rdn_elf_image_bytes(&e), most = (uint64_t)f->bytes + (1u << 20);
    image = image < most ? image : most;                /* what the file asks for beyond its size counts against the cap */
    *ret_image_bytes = (image + 0x1ffff) & ~(uint64_t)0xffff;
    return bytes;
}

__attribute__((visibility("default"))) const struct rdn_role *rdn_role_get(void);
const struct rdn_role *rdn_role_get(void) {
    static const struct rdn_role role = {
        .abi = RDN_ROLE_ABI, .version = "1", .start = start, .handlers = handlers, .freeze = nothing, .before_fork = nothing,
        .after_fork_parent = nothing, .after_fork_child = nothing, .load = load, .code = code, .call = call, .save = save, .restore = restore, .where = nowhere, .dump = nowhere,
    };
    return &role;
}
