/* SPDX-License-Identifier: Apache-2.0
 * source.h: a file of market data as a stream of bytes, whatever it is packed in: plain, gzip and zstd in as many members or
 * frames as it likes, or the first member of a zip. One thread. */
#ifndef RDN_SOURCE_H
#define RDN_SOURCE_H
#include <redan/redan.h>
#include <stdbool.h>
#include <sys/types.h>

struct rdn_source;
int     rdn_source_open(struct rdn_source **ret, const char *path, redan_error *);           /* SYS, NOMEM; "-" is standard input */
ssize_t rdn_source_read(struct rdn_source *, void *out, size_t cap, redan_error *);          /* 0: end; SYS, CORRUPT */
void    rdn_source_close(struct rdn_source *);
#endif
