/* SPDX-License-Identifier: Apache-2.0
 * pidfile.h: a file whose name has the process's id, in a folder that everybody may write to. */
#ifndef RDN_PIDFILE_H
#define RDN_PIDFILE_H
#include <stddef.h>
#include "base/err.h"

/* Opens FOLDER/name for reading and writing, empty; what an earlier process of ours left there goes. Fails with SYS rather than
 * follow a link or write to somebody else's file. */
int rdn_pidfile_open(const char *folder, const char *name, int *ret_fd, redan_error *);
/* Writes all of it; false: some was lost. */
int rdn_pidfile_write(int fd, const void *p, size_t n);
#endif
