/* SPDX-License-Identifier: Apache-2.0
 * dispatch.c: calls of plugins and kernels: typed values out, one value or a cause back, never later than the deadline.
 *
 * A plugin is named once (redan_plugin) and opened for the signature a rule set declares, when that rule set is activated; rule
 * sets that declare the same signature share the workers. A folder or bundle serves several functions: those that one rule set
 * declares are opened together, in one worker a lane. rdn_dispatch_call runs on the lane: no lock, no allocation (but for
 * a sym answer that was no symbol before, which takes the symbol table's lock). */
#include "base/clock.h"
#include "host/host.h"
#include "plugins/pack.h"
#include "plugins/worker.h"
#include <string.h>

struct opened {                                          /* one plugin open for one signature */
    struct opened *next;
    char *signature; size_t signature_size;
    struct rdn_plugin *plugin;
};
struct rdn_plugin_slot {
    struct rdn_plugin_slot *next;
    char *name, *file, *group;
    uint32_t mem_cap_mib, time_cap_ms, native_threads;
    char **preload; uint32_t npreload;
    bool has_preload, package, untested;                 /* package: the file is a folder or a bundle */
    struct opened *open;
};

/* ---- naming ---- */
static struct rdn_plugin_slot *find_slot(struct redan_engine *e, const char *name) {
    struct rdn_plugin_slot *s = e->plugins;
    while (s && strcmp(s->name, name) != 0)
        s = s->next;
    return s;
}

static bool same_package(const struct rdn_plugin_slot *a, const struct rdn_plugin_slot *b) {
    return a->package && b->package && strcmp(a->file, b->file) == 0 && strcmp(a->group, b->group) == 0;
}

static int start_plugins(struct redan_engine *e, redan_error *reterr) {
    if (e->workers)
        return 0;
    struct rdn_plugins_options o = { .mem = &e->mem, .log = e->opt.log, .ctx = e->opt.ctx };
    return rdn_plugins_open(&o, &e->workers, reterr);
}

static int add_slot(struct redan_engine *e, const redan_plugin_options *o, redan_error *reterr) {
    if (find_slot(e, o->name))
        return rdn_fail(reterr, DUPLICATE, "R3015", "plugin %.60s is named already; reload it instead", o->name);
    int rc = start_plugins(e, reterr);
    if (rc < 0)
        return rc;
    struct rdn_arena *a = &e->names;
    struct rdn_plugin_slot *s = rdn_new(a, struct rdn_plugin_slot);
    char **preload = rdn_new_n(a, char *, o->npreload + 1);
    if (!s || !preload)
        return rdn_fail(reterr, NOMEM, "", "no memory for a plugin");
    s->name = rdn_arena_strndup(a, o->name, strlen(o->name));
    s->file = rdn_arena_strndup(a, o->file, strlen(o->file));
    s->group = rdn_arena_strndup(a, o->group ? o->group : "default", o->group ? strlen(o->group) : 7);
    bool whole = s->name && s->file && s->group;
    for (uint32_t i = 0; i < o->npreload; i++)
        whole &= (preload[i] = rdn_arena_strndup(a, o->preload[i], strlen(o->preload[i]))) != NULL;
    if (!whole)
        return rdn_fail(reterr, NOMEM, "", "no memory for a plugin");
    s->mem_cap_mib = o->mem_cap_mib;
    s->time_cap_ms = o->time_cap_ms;
    s->native_threads = o->native_threads;
    s->preload = preload;
    s->npreload = o->npreload;
    s->has_preload = o->preload != NULL;
    s->package = rdn_pack_is(o->file);
    s->untested = o->flags & REDAN_PLUGIN_UNTESTED;
    s->next = e->plugins;
    e->plugins = s;
    return 0;
}

int redan_plugin(redan_engine *e, const redan_plugin_options *opt, redan_error *reterr) {
    redan_plugin_options o = REDAN_PLUGIN_OPTIONS_INIT;
    int rc = rdn_options_copy(&o, opt, REDAN_PLUGIN_UNTESTED, "redan_plugin_options", reterr);
    if (rc == 0 && (!o.name || !o.file))
        rc = rdn_fail(reterr, INVAL, "", "redan_plugin_options needs .name and .file");
    if (rc < 0)
        return rc;
    rdn_tag_setup_begin(e, "redan_plugin");
    pthread_mutex_lock(&e->lock);
    rc = add_slot(e, &o, reterr);
    pthread_mutex_unlock(&e->lock);
    rdn_tag_setup_end(e);
    return rc;
}

/* Each plugin of this name or package in turn; at the first that refuses the text it ends. */
static int reload_all(struct redan_engine *e, struct rdn_plugin_slot *s, const char *file, redan_error *reterr) {
    int rc = 0;
    for (struct rdn_plugin_slot *x = e->plugins; x && rc == 0; x = x->next)
        for (struct opened *o = x == s || same_package(x, s) ? x->open : NULL; o && rc == 0; o = o->next)
            rc = rdn_plugin_reload(o->plugin, file, NULL, reterr);
    return rc;
}

/* Signatures that are opened later come from the file that is loaded now. */
static void move_file(struct redan_engine *e, struct rdn_plugin_slot *s, char *file) {
    for (struct rdn_plugin_slot *x = e->plugins; x; x = x->next)
        if (x != s && same_package(x, s)) {
            x->file = file;
            x->package = rdn_pack_is(file);
        }
    s->file = file;
    s->package = rdn_pack_is(file);
}

int redan_plugin_reload(redan_engine *e, const char *name, const char *file, redan_error *reterr) {
    rdn_tag_setup_begin(e, "redan_plugin_reload");
    pthread_mutex_lock(&e->lock);
    struct rdn_plugin_slot *s = find_slot(e, name);
    char *own = s && file ? rdn_arena_strndup(&e->names, file, strlen(file)) : NULL;
    int rc = !s ? rdn_fail(reterr, INVAL, "R3016", "no plugin is named '%.60s'", name) : file && !own ? rdn_fail(reterr, NOMEM, "", "no memory for a file's name")
           : reload_all(e, s, own, reterr);
    if (rc == 0 && own)
        move_file(e, s, own);
    pthread_mutex_unlock(&e->lock);
    rdn_tag_setup_end(e);
    return rc;
}

struct rdn_plugin *rdn_dispatch_find(struct redan_engine *e, const char *name) {
    struct rdn_plugin_slot *s = find_slot(e, name);
    for (struct rdn_plugin_slot *x = s ? e->plugins : NULL; x && !s->open; x = x->next)
        if (x->open && same_package(x, s))
            return x->open->plugin;
    return s && s->open ? s->open->plugin : NULL;
}

void rdn_dispatch_close(struct redan_engine *e) {
    for (struct rdn_plugin_slot *s = e->plugins; s; s = s->next) {
        while (s->open) {
            struct opened *o = s->open;
            s->open = o->next;
            rdn_plugin_close(o->plugin);
            rdn_free(&e->mem, o->signature, o->signature_size);
            rdn_free(&e->mem, o, sizeof *o);
        }
    }
    rdn_plugins_close(e->workers);
    e->workers = NULL;
}

/* ---- signatures ---- */
static uint8_t wire_kind(const struct rdn_type *t) {
    static const uint8_t kinds[RDN_K_COUNT] = { [RDN_K_BOOL] = RDN_WIRE_BOOL, [RDN_K_INT] = RDN_WIRE_INT, [RDN_K_FLOAT] = RDN_WIRE_FLOAT,
        [RDN_K_DEC] = RDN_WIRE_DEC, [RDN_K_TIME] = RDN_WIRE_TIME, [RDN_K_DUR] = RDN_WIRE_DUR, [RDN_K_DATE] = RDN_WIRE_DATE,
        [RDN_K_SYM] = RDN_WIRE_TEXT, [RDN_K_STR] = RDN_WIRE_TEXT, [RDN_K_ENUM] = RDN_WIRE_ENUM, [RDN_K_TEXT] = RDN_WIRE_TEXT,
        [RDN_K_EVENT] = RDN_WIRE_EVENT };
    return t->kind == RDN_K_ARR ? t->elem == RDN_K_INT ? RDN_WIRE_IARR : RDN_WIRE_FARR : kinds[t->kind];
}

static void wire_of(const struct rdn_type *t, struct rdn_wire_type *ret) {
    *ret = (struct rdn_wire_type){ .kind = wire_kind(t), .scale = t->scale, .rows = 1, .cols = 1 };
    if (ret->kind == RDN_WIRE_TEXT)
        ret->size = t->kind == RDN_K_STR ? t->n : 255;
    if (t->kind == RDN_K_ENUM) {
        ret->names = t->members;
        ret->nnames = t->n;
    }
    if (t->kind == RDN_K_ARR) {
        ret->rows = t->dim[0];
        ret->cols = t->ndim == 2 ? t->dim[1] : 1;
    }
}

static int wire_event(struct rdn_arena *a, const struct rdn_event *e, struct rdn_wire_type *ret) {
    struct rdn_wire_field *f = rdn_new_n(a, struct rdn_wire_field, e->nfields + 1);
    if (!f)
        return REDAN_E_NOMEM;
    for (uint32_t i = 0; i < e->nfields; i++) {
        wire_of(e->fields[i].type, &f[i].type);
        if (e->fields[i].type->kind == RDN_K_SYM)
            f[i].type.kind = RDN_WIRE_SYM;
        f[i].name = e->fields[i].name;
        f[i].offset = e->fields[i].offset;
        f[i].present_bit = e->fields[i].optional ? (int8_t)e->fields[i].present_bit : -1;
    }
    *ret = (struct rdn_wire_type){ .kind = RDN_WIRE_EVENT, .rows = 1, .cols = 1, .size = e->size, .event = e->name, .fields = f,
                                   .nfields = (uint16_t)e->nfields, .layout_hash = e->layout_hash };
    return 0;
}

static void print_signature(struct rdn_buf *b, const struct rdn_ir *ir, const struct rdn_call *c) {
    for (uint32_t i = 0; i < c->nparams; i++) {
        rdn_type_print(b, c->params[i].type);
        if (c->params[i].type->kind == RDN_K_EVENT)
            rdn_buf_printf(b, ":%016llx", (unsigned long long)ir->events[c->params[i].type->n].layout_hash);
        rdn_buf_putc(b, ',');
    }
    rdn_buf_puts(b, "->");
    rdn_type_print(b, c->rtype);
    rdn_buf_printf(b, " %lld", (long long)c->deadline_ns);
}

/* Calls of one rule set that the same workers serve. */
struct family { const struct rdn_ir *ir; uint32_t calls[16], n; };

static int wire_function(struct rdn_arena *a, const struct rdn_ir *ir, const struct rdn_call *c, struct rdn_function_spec *ret) {
    struct rdn_wire_param *ps = rdn_new_n(a, struct rdn_wire_param, c->nparams + 1);
    if (!ps)
        return REDAN_E_NOMEM;
    for (uint32_t i = 0; i < c->nparams; i++) {
        ps[i].name = c->params[i].name;
        if (c->params[i].type->kind != RDN_K_EVENT)
            wire_of(c->params[i].type, &ps[i].type);
        else if (wire_event(a, &ir->events[c->params[i].type->n], &ps[i].type) < 0)
            return REDAN_E_NOMEM;
    }
    *ret = (struct rdn_function_spec){ .name = c->name, .params = ps, .nparams = c->nparams, .deadline_ns = c->deadline_ns };
    wire_of(c->rtype, &ret->ret);
    return 0;
}

/* What only the manifest says: that the function is there, and how wide its symbols are wanted. */
static int apply_manifest(const struct rdn_pack *k, const struct rdn_ir *ir, struct rdn_function_spec *f, redan_error *reterr) {
    const struct rdn_manifest_fn *m = rdn_pack_function(k, f->name);
    if (!m)
        return rdn_fail(reterr, PLUGIN, "R4211", "%.80s declares plugin '%.60s'; %.63s has no such function", ir->name, f->name, k->m.id);
    for (uint32_t t = 0; t < m->ntexts; t++)
        for (uint32_t i = 0; i < f->nparams; i++)
            if (strcmp(f->params[i].name, m->texts[t].param) == 0 && f->params[i].type.kind == RDN_WIRE_TEXT)
                ((struct rdn_wire_param *)(uintptr_t)f->params)[i].type.size = m->texts[t].size;
    return 0;
}

static int open_family(struct redan_engine *e, struct rdn_plugin_slot *s, const struct family *f, struct rdn_arena *a, const struct rdn_pack *k,
                       struct rdn_plugin **ret, redan_error *reterr) {
    struct rdn_function_spec fns[16];
    for (uint32_t i = 0; i < f->n; i++) {
        if (wire_function(a, f->ir, &f->ir->calls[f->calls[i]], &fns[i]) < 0)
            return rdn_fail(reterr, NOMEM, "", "no memory for plugin %.60s", s->name);
        int rc = k ? apply_manifest(k, f->ir, &fns[i], reterr) : 0;
        if (rc < 0)
            return rc;
    }
    struct rdn_plugin_spec spec = { .name = s->name, .file = s->file, .fns = fns, .nfns = f->n, .pack = k, .untested = s->untested, .lanes = e->opt.lanes,
                                    .time_cap_ns = (int64_t)s->time_cap_ms * 1000000, .mem_cap_mib = s->mem_cap_mib,
                                    .preload = s->has_preload ? (const char *const *)s->preload : NULL, .npreload = s->npreload,
                                    .group = s->group, .native_threads = s->native_threads };
    return rdn_plugin_open(e->workers, &spec, ret, reterr);
}

static int open_plugin(struct redan_engine *e, struct rdn_plugin_slot *s, const struct family *f, struct rdn_plugin **ret, redan_error *reterr) {
    struct rdn_arena a;
    struct rdn_pack *k = s->package ? rdn_zalloc(&e->mem, sizeof *k) : NULL;
    rdn_arena_init(&a, &e->mem);
    int rc = s->package && !k ? rdn_fail(reterr, NOMEM, "", "no memory for plugin %.60s", s->name)
           : k ? rdn_pack_open(&e->mem, s->file, k, NULL, reterr) : 0;
    if (rc == 0)
        rc = open_family(e, s, f, &a, k, ret, reterr);
    if (k)
        rdn_pack_close(k);
    rdn_free(&e->mem, k, sizeof *k);
    rdn_arena_fini(&a);
    return rc;
}

/* One more entry of the slot's list, with its signature, or NULL and everything given back. */
static struct opened *add_opened(struct redan_engine *e, struct rdn_plugin_slot *s, const struct family *f, const char *sig, redan_error *reterr) {
    struct opened *o = rdn_zalloc(&e->mem, sizeof *o);
    if (o) {
        o->signature_size = strlen(sig) + 1;
        o->signature = rdn_zalloc(&e->mem, o->signature_size);
    }
    if (!o || !o->signature)
        rdn_fail(reterr, NOMEM, "", "no memory for plugin %.60s", s->name);
    else if (open_plugin(e, s, f, &o->plugin, reterr) == 0) {
        memcpy(o->signature, sig, o->signature_size);
        o->next = s->open;
        s->open = o;
        return o;
    }
    if (o)
        rdn_free(&e->mem, o->signature, o->signature ? o->signature_size : 0);
    rdn_free(&e->mem, o, sizeof *o);
    return NULL;
}

/* The workers of a slot for the signatures of these calls, opened now if no rule set had them before. */
static struct opened *opened_for(struct redan_engine *e, struct rdn_plugin_slot *s, const struct family *f, redan_error *reterr) {
    struct rdn_buf sig;
    rdn_buf_init(&sig, &e->mem);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct rdn_call *c = &f->ir->calls[f->calls[i]];
        rdn_buf_printf(&sig, "%s:", c->name);
        print_signature(&sig, f->ir, c);
        rdn_buf_putc(&sig, '\n');
    }
    struct opened *o = s->open;
    while (o && strcmp(o->signature, rdn_buf_str(&sig)) != 0)
        o = o->next;
    if (sig.failed)
        rdn_fail(reterr, NOMEM, "", "no memory for plugin %.60s", s->name);
    else if (!o)
        o = add_opened(e, s, f, rdn_buf_str(&sig), reterr);
    rdn_buf_fini(&sig);
    return o;
}

/* Calls that have a plugin keep it: lanes may be using it. */
static int gather(struct redan_engine *e, struct rdn_plugin_slot *s, const struct redan_ruleset *rs, uint32_t from, struct family *f, redan_error *reterr) {
    const struct rdn_ir *ir = rs->ir;
    *f = (struct family){ .ir = ir, .calls = { from }, .n = 1 };
    for (uint32_t i = from + 1; i < ir->ncalls; i++) {
        struct rdn_plugin_slot *x = ir->calls[i].kernel ? NULL : find_slot(e, ir->calls[i].name);
        if (!x || rs->plugins[i] || !same_package(x, s))
            continue;
        if (f->n == 16)
            return rdn_fail(reterr, PLUGIN, "R4221", "%.60s: at most 16 functions", s->file);
        f->calls[f->n++] = i;
    }
    return 0;
}

int rdn_dispatch_bind(struct redan_engine *e, struct redan_ruleset *rs, redan_error *reterr) {
    const struct rdn_ir *ir = rs->ir;
    for (uint32_t i = 0; i < ir->ncalls; i++) {
        struct rdn_plugin_slot *s = ir->calls[i].kernel || rs->plugins[i] ? NULL : find_slot(e, ir->calls[i].name);
        struct family f;
        int rc = s ? gather(e, s, rs, i, &f, reterr) : 0;
        if (rc < 0)
            return rc;
        redan_error err = { 0 };
        struct opened *o = s ? opened_for(e, s, &f, &err) : NULL;
        if (s && !o) {
            if (reterr)
                *reterr = err;
            return err.code ? err.code : REDAN_E_PLUGIN;
        }
        for (uint32_t k = 0; o && k < f.n; k++) {
            rs->plugin_fns[f.calls[k]] = (uint8_t)k;     /* before a lane that is running can see the plugin */
            __atomic_store_n(&rs->plugins[f.calls[k]], o->plugin, __ATOMIC_RELEASE);
        }
    }
    return 0;
}

/* ---- calls ---- */
/* False: a decimal outside int64 cannot travel. */
static bool wire_value(struct redan_engine *e, const struct rdn_type *t, const struct rdn_cell *c, const uint8_t *row, struct rdn_wire_value *ret) {
    switch (t->kind) {
    case RDN_K_BOOL:
        ret->b = c->i != 0;
        return true;
    case RDN_K_FLOAT:
        ret->f = c->f;
        return true;
    case RDN_K_DEC:
        ret->i = (int64_t)c->d;
        return rdn_fits_i64(c->d);
    case RDN_K_SYM:
        ret->text.p = rdn_sym_text(e->syms, (uint32_t)c->i, &ret->text.n);
        return true;
    case RDN_K_STR:
    case RDN_K_TEXT:
        ret->text.p = c->t.p;
        ret->text.n = c->t.len;
        return true;
    case RDN_K_ARR:
        ret->p = c->v;
        return true;
    case RDN_K_EVENT:
        ret->p = row;
        return true;
    default:
        ret->i = c->i;
        return true;
    }
}

static bool cell_value(struct redan_engine *e, const struct rdn_type *t, const struct rdn_wire_value *v, struct rdn_cell *ret) {
    uint32_t id;
    switch (t->kind) {
    case RDN_K_BOOL:
        ret->i = v->b;
        return true;
    case RDN_K_FLOAT:
        ret->f = v->f;
        return true;
    case RDN_K_DEC:
        ret->d = v->i;
        return true;
    case RDN_K_SYM:
        if (redan_sym(e, v->text.p, v->text.n, &id) < 0)
            return false;
        ret->i = id;
        return true;
    case RDN_K_STR:
    case RDN_K_TEXT:
        ret->t.p = v->text.p;
        ret->t.len = v->text.n;
        return true;
    default:
        ret->i = v->i;
        return true;
    }
}

static void use_default(struct rdn_binding *b, const struct rdn_call *c, uint8_t cause, struct rdn_cell *ret) {
    if (c->has_default) {
        *ret = c->def;
        b->defaulted = true;
    } else {
        ret->cause = cause;
    }
}

static void call_kernel(struct rdn_binding *b, uint32_t call, const struct rdn_cell *args, struct rdn_cell *ret) {
    const struct rdn_call *c = &b->rs->ir->calls[call];
    int64_t deadline = b->rs->eng->offline ? 0 : rdn_mono_ns() + c->deadline_ns;
    if (!rdn_kernel_run(b->kernels, b->rs->ir, call, args, b->params, deadline, ret))
        use_default(b, c, RDN_CAUSE_PLUGIN, ret);
    else if (ret->cause)
        use_default(b, c, ret->cause, ret);
}

static void call_plugin(struct rdn_binding *b, uint32_t call, const struct rdn_cell *args, uint32_t nargs, const uint8_t *row, struct rdn_cell *ret) {
    const struct rdn_call *c = &b->rs->ir->calls[call];
    struct redan_engine *e = b->rs->eng;
    struct rdn_plugin *p = __atomic_load_n(&b->rs->plugins[call], __ATOMIC_ACQUIRE);
    struct rdn_wire_value in[16], out = { .i = 0 };
    uint8_t row_out;
    bool fits = p != NULL;
    for (uint32_t i = 0; i < nargs && fits; i++)
        fits = wire_value(e, c->params[i].type, &args[i], row, &in[i]);
    enum rdn_outcome how = fits ? rdn_plugin_call_fn(p, b->rs->plugin_fns[call], b->lane->index, in, nargs, 1, rdn_frame_head(b->frame)->now, 0, &out, &row_out)
                                : RDN_OUT_REFUSED;
    if (how == RDN_OUT_UNDEFINED)
        ret->cause = RDN_CAUSE_PLUGIN;
    else if (how != RDN_OUT_VALUE || !cell_value(e, c->rtype, &out, ret))
        use_default(b, c, RDN_CAUSE_PLUGIN, ret);
}

void rdn_dispatch_call(void *binding, uint32_t call, const struct rdn_cell *args, uint32_t nargs, const uint8_t *row, struct rdn_cell *ret) {
    struct rdn_binding *b = binding;
    const struct rdn_mock *m = &b->mocks[call];
    ret->cause = RDN_DEFINED;
    if (m->state == RDN_MOCK_VALUE)
        *ret = m->val;
    else if (m->state == RDN_MOCK_FAIL)
        use_default(b, &b->rs->ir->calls[call], RDN_CAUSE_PLUGIN, ret);
    else if (b->rs->ir->calls[call].kernel)
        call_kernel(b, call, args, ret);
    else
        call_plugin(b, call, args, nargs, row, ret);
}
