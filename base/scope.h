/* SPDX-License-Identifier: Apache-2.0
 * scope.h: cleanup attributes, so that early return is safe; leave by an explicit take. */
#ifndef RDN_SCOPE_H
#define RDN_SCOPE_H
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static inline void rdn_close_fd_(int *fd) { if (*fd >= 0) close(*fd); }
static inline void rdn_free_ptr_(void *p) { free(*(void **)p); }
static inline void rdn_close_file_(FILE **f) { if (*f) fclose(*f); }
#define rdn_auto_close __attribute__((cleanup(rdn_close_fd_)))
#define rdn_auto_free  __attribute__((cleanup(rdn_free_ptr_)))
#define rdn_auto_fclose __attribute__((cleanup(rdn_close_file_)))
static inline int rdn_take_fd(int *fd) { int r = *fd; *fd = -1; return r; }
static inline void *rdn_take_ptr_(void **p) { void *r = *p; *p = NULL; return r; }
#define rdn_take(p) ((__typeof__(p))rdn_take_ptr_((void **)&(p)))
#endif
