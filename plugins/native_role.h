/* SPDX-License-Identifier: Apache-2.0
 * native_role.h: the native role in its parts. One library, one plugin a process, and one thread but for native.threads.
 *
 *   native_zygote.c   the role table; loading; calls of functions with the prototype of redan/plugin.h
 *   native_sign.c     the signature a plugin states against the columns it gets
 *   ffi_call.c        functions declared by the user, through libffi */
#ifndef RDN_NATIVE_ROLE_H
#define RDN_NATIVE_ROLE_H
#include <redan/plugin.h>
#include "plugins/worker.h"
#include "sandbox/role.h"

struct rdn_native_fn {
    const struct rdn_wfn *fn;
    const struct rdn_wcol *params;
    redan_col cols[16];
    int (*call)(void *self, const redan_call *);
    void *ffi;                                          /* kind cfn: ffi_call.c's */
};
struct rdn_native {
    struct rdn_worker *w;
    void *so, *self;
    const redan_plugin_desc *desc;
    struct rdn_native_fn fns[RDN_MAX_FNS]; uint32_t nfns;
};
extern struct rdn_native rdn_native;

/* False with both texts when they differ; a symbol parameter may be written as sym or as its text width. */
bool rdn_native_same_signature(const struct rdn_load *, const struct rdn_wfn *, const char *stated, char *ret_expected, size_t cap);
void rdn_native_error(const char *type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ffi_call.c: NULL with rdn_native_error's text set. */
void *rdn_ffi_prepare(const struct rdn_load *, const struct rdn_wfn *, void (*symbol)(void));
void  rdn_ffi_rows(void *ffi, const redan_call *);
#endif
