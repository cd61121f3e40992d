/* SPDX-License-Identifier: Apache-2.0
 * gdb.h: native code for debuggers, by GDB's JIT interface: for each batch of functions one in-memory ELF file with symbols and
 * the description of their frames (.eh_frame), so that breakpoints, backtraces and disassembly show redan: names.
 *
 * Needs an unstripped library or program: the debugger looks for __jit_debug_register_code. Costs microseconds a function and a
 * breakpoint hit a rule set when a debugger is attached; nothing when it is not opened. x86-64. */
#ifndef RDN_GDB_H
#define RDN_GDB_H
#include "base/codesink.h"

#if defined(__x86_64__)
#define RDN_GDB_HERE 1
#else
#define RDN_GDB_HERE 0
#endif
struct rdn_code_sink rdn_gdb_sink(void);                 /* of the process; nothing to close */
#endif
