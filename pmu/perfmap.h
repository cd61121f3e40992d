/* SPDX-License-Identifier: Apache-2.0
 * perfmap.h: /tmp/perf-PID.map, in which perf, bpftrace and other samplers find the names of machine code made at run time.
 *
 * rdn_perfmap_take   [setup]  the file of this process; opened by the first user
 * rdn_perfmap_give   [setup]  closed by the last; the file stays, for a report is made after the program
 *
 * Rows are appended as code is made. When an address comes back with other code, the file is written again without the old
 * row, so a name never stands for code that is somewhere else. perf reads it only if the code is in anonymous memory (arena kind A). */
#ifndef RDN_PERFMAP_H
#define RDN_PERFMAP_H
#include "base/codesink.h"
#include "base/err.h"

/* SYS when the file cannot be opened or is not ours. */
int  rdn_perfmap_take(struct rdn_code_sink *ret, redan_error *);
void rdn_perfmap_give(void);
#endif
