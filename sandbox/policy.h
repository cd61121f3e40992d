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

struct rdn_policy_cond { uint32_t arg, op; uint64_t a, b; };        /* op: libseccomp's SCMP_CMP_*, or UPTO: 1 to a */
#define RDN_POLICY_UPTO 100u
enum rdn_policy_does { RDN_CALL_ALLOWED, RDN_CALL_KILLS, RDN_CALL_ABSENT };
struct rdn_policy_row { const char *call; int nr; enum rdn_policy_does does; struct rdn_policy_cond conds[4]; const char *reason; };
/* syscalls.def, which all workers have, and what some have on top of it: native ones while they load, those of them that may start threads, and
 * roles that make code. */
enum rdn_policy_list { RDN_LIST_ALL, RDN_LIST_LOADING, RDN_LIST_THREADS, RDN_LIST_MAKING, RDN_LISTS };
/* The rows in order; *ret_n how many. [any] */
const struct rdn_policy_row *rdn_policy_rows(enum rdn_policy_list, unsigned *ret_n);
uint32_t rdn_policy_nconds(const struct rdn_policy_row *);

/* Compiles syscalls.def and the lists of `more`, bits 1 << enum rdn_policy_list, with libseccomp (a quarter of a millisecond);
 * *ret.filter is malloc'ed. NOSUP when the library refuses, NOMEM. [setup] */
int rdn_policy_compile(unsigned more, enum rdn_policy_mode, struct sock_fprog *ret, redan_error *);
/* The filter that takes back what only loading needed, and with `threads` the starting of them. */
int rdn_policy_compile_second(bool threads, enum rdn_policy_mode, struct sock_fprog *ret, redan_error *);
void rdn_policy_free(struct sock_fprog *);

/* "openat" for 257; "syscall 999" for an unknown number; RDN_NR_IMPORT is an import that was not preloaded. */
#define RDN_NR_IMPORT 0xffff0001u
void rdn_policy_call_name(uint32_t nr, char *out, size_t cap);
#endif
