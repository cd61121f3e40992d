/* SPDX-License-Identifier: Apache-2.0
 * err.h: errors on the caller's stack.
 *
 *   return rdn_fail(reterr, INVAL, "R3001", "lane %u is not open", i);
 *   return rdn_fail_sys(reterr, "open");                  errno is kept in .sys
 *   return rdn_wrap(reterr, rc, "policy %s", path);       adds a noun in front of the callee's text
 *
 * Every function returns the (negative) code, takes a NULL reterr, and never allocates. [any] */
#ifndef RDN_ERR_H
#define RDN_ERR_H
#include <redan/redan.h>

__attribute__((format(printf, 4, 5)))
int rdn_fail_(redan_error *reterr, int code, const char *id, const char *fmt, ...);
/* CODE is the bare name of a row of REDAN_ERRORS; ID is "" or "R3007". */
#define rdn_fail(reterr, CODE, id, ...) rdn_fail_((reterr), REDAN_E_##CODE, (id), __VA_ARGS__)

/* SYS with the current errno; `call` goes to .where. */
int rdn_fail_sys(redan_error *reterr, const char *call);

/* Puts "noun: " in front of .text; returns rc. */
__attribute__((format(printf, 3, 4)))
int rdn_wrap(redan_error *reterr, int rc, const char *fmt, ...);
#endif
