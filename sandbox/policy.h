/* SPDX-License-Identifier: Apache-2.0
 * policy.h: syscalls.def as data, and compiled to BPF. */
#ifndef RDN_POLICY_H
#define RDN_POLICY_H
#include <linux/filter.h>
#include <stdbool.h>
#include "base/err.h"
#include "sandbox/wire.h"


/* What a call outside the list meets. The first four are enum rdn_deny of plugins/worker.h, in that order. */
enum rdn_policy_mode { RDN_POLICY_NOTIFY, RDN_POLICY_TRAP, RDN_POLICY_ERRNO, RDN_POLICY_KILL, RDN_POLICY_MODES };

struct rdn_policy_cond { uint32_t arg, op; uint64_t a, b; };        /* op: libseccomp's SCMP_CMP_* */
struct rdn_policy_row { const char *call; int nr; bool kill; struct rdn_policy_cond conds[4]; const char *reason; };
/* The rows of syscalls.def in order; *ret_n how many. [any] */
const struct rdn_policy_row *rdn_policy_rows(unsigned *ret_n);
uint32_t rdn_policy_nconds(const struct rdn_policy_row *);

/* Compiles the list with libseccomp (a quarter of a millisecond); *ret.filter is malloc'ed. NOSUP when the library
 * refuses, NOMEM. [setup] */
int rdn_policy_compile(enum rdn_policy_mode, struct sock_fprog *ret, redan_error *);
/* Native workers: the list plus loading.def; and the filter that afterwards takes the additions back. */
int rdn_policy_compile_loading(enum rdn_policy_mode, struct sock_fprog *ret, redan_error *);
int rdn_policy_compile_second(enum rdn_policy_mode, struct sock_fprog *ret, redan_error *);
/* A role that makes code: the list plus making.def. */
int rdn_policy_compile_making(enum rdn_policy_mode, struct sock_fprog *ret, redan_error *);
const struct rdn_policy_row *rdn_policy_making_rows(unsigned *ret_n);
void rdn_policy_free(struct sock_fprog *);

/* "openat" for 257; "syscall 999" for an unknown number; RDN_NR_IMPORT is an import that was not preloaded. */
#define RDN_NR_IMPORT 0xffff0001u
void rdn_policy_call_name(uint32_t nr, char *out, size_t cap);
#endif
