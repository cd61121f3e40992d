/* SPDX-License-Identifier: Apache-2.0
 * batch_forms.h: how batches can be judged (jit.batch), each in every instruction set this processor has. What it lacks is named once. */
#ifndef RDN_BATCH_FORMS_H
#define RDN_BATCH_FORMS_H
#include <stdlib.h>
#include "jit/frame.h"
#include "jit/jit.h"
#include "tests/unit/rows.h"

/* jit: code memory of its programs, kept where code may be replaced; an emulator may miss it (qemu before 8.1). */
struct batch_form { enum rdn_jit_batch how; const char *vectors; bool lacking; struct rdn_jit *jit; };
#if defined(__x86_64__)
enum { BATCH_FORMS_KEPT = 1 };
#else
enum { BATCH_FORMS_KEPT = 0 };
#endif
static struct batch_form batch_forms[] = {
#if defined(__x86_64__)
    {RDN_JIT_BATCH_X64V, "avx512", false, NULL}, {RDN_JIT_BATCH_X64V, "avx2", false, NULL}, {RDN_JIT_BATCH_TABLE, "avx512", false, NULL},
    {RDN_JIT_BATCH_TABLE, "avx2", false, NULL},
#endif
    {RDN_JIT_BATCH_TABLE, "scalar", false, NULL},
};
enum { BATCH_FORMS = sizeof batch_forms / sizeof *batch_forms };
/* A program whose batches are of that form; NULL: not on this processor. close: after its frames. The first open says whether there are
 * self-checks. */
static inline void batch_form_close(struct batch_form *f, struct rdn_program *p) {
    rdn_program_close(p);
    if (BATCH_FORMS_KEPT)
        return;
    rdn_jit_close(f->jit);
    f->jit = NULL;
}
static inline struct rdn_program *batch_form_open(const struct rdn_ir *ir, const char *backend, uint32_t selfcheck_us, struct batch_form *f) {
    const struct rdn_jit_options opt = {.arena_bytes = 1 << 20, .batch = f->how, .selfcheck_us = selfcheck_us};
    struct rdn_program *p = NULL;
    redan_error err = {0};
    if (f->lacking)
        return NULL;
    setenv("REDAN_JIT_VECTORS", f->vectors, 1);
    check(f->jit || !rdn_jit_open(&opt, &rdn_libc_mem, &f->jit, &err), "%s", err.text);
    int rc = rdn_program_open_in(f->jit, ir, backend, &rdn_libc_mem, &p, &err);
    unsetenv("REDAN_JIT_VECTORS");
    check(!rc || !strcmp(err.id, "R2102"), "%s %s", err.id, err.text);
    if (!rc && p->info.batch && !strcmp(p->info.batch, f->vectors))
        return p;
    f->lacking = true;
    print_message("without batches by %s in %s: %s\n", f->how == RDN_JIT_BATCH_TABLE ? "table" : "x64v", f->vectors, rc ? err.text : p->info.batch);
    batch_form_close(f, p);
    return NULL;
}
static inline void batch_forms_end(void) {
    for (unsigned i = 0; i < BATCH_FORMS; i++) {
        rdn_jit_close(batch_forms[i].jit);
        batch_forms[i].jit = NULL;
    }
}
#endif
