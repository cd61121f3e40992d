/* SPDX-License-Identifier: Apache-2.0
 * buf.h: a growing byte buffer for output off the hot path, and the JSON writer's string form (17.2).
 * After a failed allocation .failed is set and further writes do nothing; check it once at the end. */
#ifndef RDN_BUF_H
#define RDN_BUF_H
#include "base/mem.h"

struct rdn_buf { const struct rdn_mem *mem; char *p; size_t n, cap; bool failed; };
void rdn_buf_init(struct rdn_buf *, const struct rdn_mem *);
void rdn_buf_fini(struct rdn_buf *);
void rdn_buf_put(struct rdn_buf *, const char *s, size_t n);
void rdn_buf_puts(struct rdn_buf *, const char *s);
void rdn_buf_putc(struct rdn_buf *, char c);
__attribute__((format(printf, 2, 3)))
void rdn_buf_printf(struct rdn_buf *, const char *fmt, ...);
void rdn_buf_json(struct rdn_buf *, const char *s, size_t n);    /* quoted; escapes only \" \\ and \u00xx */
const char *rdn_buf_str(struct rdn_buf *);                       /* terminated view; "" when empty */
#endif
