/* SPDX-License-Identifier: Apache-2.0
 * program.c: a rule set made runnable: which executor, with interp's code beside it. */
#include "jit/exec_impl.h"
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "jit/code_arena.h"
#include "jit/jit.h"
#include "jit/native.h"

/* Best first; no impl: a name this build has no code for. */
static const struct { const char *name; const struct rdn_exec_impl *impl; } executors[] = {
#define EXEC(name, impl, doc) { #name, &impl },
#define ABSENT(name, doc) { #name, NULL },
#include "jit/executors.def"
#undef EXEC
#undef ABSENT
};
#define NEXECUTORS (sizeof executors / sizeof *executors)

static int find(const char *name) {
    for (size_t i = 0; i < NEXECUTORS; i++)
        if (!strcmp(executors[i].name, name))
            return (int)i;
    return -1;
}

bool rdn_backend_known(const char *name) { return !strcmp(name, "auto") || find(name) >= 0; }

static int use(struct rdn_program *p, const struct rdn_exec_impl *impl, redan_error *reterr) {
    int rc = impl->available ? impl->available(reterr) : 0;
    if (rc)
        return rc;
    p->impl = impl;
    rc = impl->build ? impl->build(p, reterr) : 0;
    if (!rc)
        return 0;
    if (impl->close)
        impl->close(p);
    p->impl = NULL;
    p->x = NULL;
    return rc;
}

static int use_named(struct rdn_program *p, const char *name, redan_error *reterr) {
    int at = find(name);
    if (at < 0)
        return rdn_fail(reterr, INVAL, "", "unknown backend '%.32s'", name);
    if (!executors[at].impl)
        return rdn_fail(reterr, NOSUP, "R2106", "built without %s", name);
    return use(p, executors[at].impl, reterr);
}

static void note(struct rdn_program *p, const redan_error *e) {
    if (!p->info.note[0])
        snprintf(p->info.note, sizeof p->info.note, "%s%s%.140s", e->id, e->id[0] ? " " : "", e->text);
}

/* The first reason why a better executor is not in use becomes the note. */
static int use_best(struct rdn_program *p, redan_error *reterr) {
    for (size_t i = 0; i < NEXECUTORS; i++) {
        redan_error e;
        if (!executors[i].impl)
            continue;
        int rc = use(p, executors[i].impl, &e);
        if (!rc)
            return 0;
        if (rc == REDAN_E_NOMEM) {
            if (reterr)
                *reterr = e;
            return rc;
        }
        note(p, &e);
    }
    return rdn_fail(reterr, NOSUP, "R2106", "no executor can run here");
}

int rdn_program_open_sampled(struct rdn_jit *jit, const struct rdn_ir *ir, const char *backend, const struct rdn_sampled *sampled,
                             const struct rdn_mem *mem, struct rdn_program **ret, redan_error *reterr) {
    int64_t began = rdn_mono_ns();
    struct rdn_program *p = rdn_zalloc(mem, sizeof *p);
    if (!p)
        return rdn_fail(reterr, NOMEM, "", "program");
    p->refs = 1;
    p->jit = jit;
    p->sampled = sampled;
    p->ir = ir;
    p->mem = mem;
    int rc = rdn_interp_open(ir, mem, &p->interp, reterr);
    if (!rc)
        rc = rdn_native_batch_available(jit, reterr);
    if (!rc)
        rc = strcmp(backend, "auto") ? use_named(p, backend, reterr) : use_best(p, reterr);
    rdn_arena_trim(RDN_SPARE_KEPT);
    if (rc) {
        rdn_program_close(p);
        return rc;
    }
    p->info.backend = p->impl->name;
    p->sampled = NULL;
    rdn_jit_compiled(jit, rdn_mono_ns() - began, p->info.note);
    *ret = p;
    return 0;
}

int rdn_program_open_in(struct rdn_jit *jit, const struct rdn_ir *ir, const char *backend, const struct rdn_mem *mem, struct rdn_program **ret,
                        redan_error *reterr) {
    return rdn_program_open_sampled(jit, ir, backend, NULL, mem, ret, reterr);
}
int rdn_program_open(const struct rdn_ir *ir, const char *backend, const struct rdn_mem *mem, struct rdn_program **ret, redan_error *reterr) {
    return rdn_program_open_in(NULL, ir, backend, mem, ret, reterr);
}

int rdn_program_batches(struct rdn_program *p, redan_error *reterr) {
    redan_error e;
    int rc = p->impl->rules_rest && !p->asked_batches ? rdn_native_batches(p, &e) : 0;
    rdn_arena_trim(RDN_SPARE_KEPT);
    if (rc && rc != REDAN_E_NOMEM)
        note(p, &e);
    else if (rc && reterr)
        *reterr = e;
    p->asked_batches = rc != REDAN_E_NOMEM;
    return rc == REDAN_E_NOMEM ? rc : 0;
}

void rdn_program_adopt(const struct rdn_program *p) {
    if (p->must_sync)
        rdn_code_sync();
}

struct rdn_program *rdn_program_ref(struct rdn_program *p) {
    __atomic_fetch_add(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}
void rdn_program_close(struct rdn_program *p) {
    if (!p || __atomic_fetch_sub(&p->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    if (p->impl && p->impl->close)
        p->impl->close(p);
    rdn_interp_close(p->interp);
    rdn_free(p->mem, p, sizeof *p);
}

const struct rdn_program_info *rdn_program_info(const struct rdn_program *p) { return &p->info; }
