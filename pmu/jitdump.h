/* SPDX-License-Identifier: Apache-2.0
 * jitdump.h: jit-PID.dump, from which `perf inject --jit` makes symbols, lines and disassembly of machine code made at run time.
 *
 * rdn_jitdump_take   [setup]  the file of this process, in $JITDUMPDIR or /tmp; opened by the first user. Maps a page of it
 *                             executable, by which perf finds it in its record
 * rdn_jitdump_give   [setup]  closed by the last; the file stays
 *
 * Samples must carry the monotonic clock: perf record -k mono. Code is copied when it is made, so that reused memory is told apart. */
#ifndef RDN_JITDUMP_H
#define RDN_JITDUMP_H
#include "base/codesink.h"
#include "base/err.h"

int  rdn_jitdump_take(struct rdn_code_sink *ret, redan_error *);
void rdn_jitdump_give(void);
#endif
