/* SPDX-License-Identifier: Apache-2.0
 * faults.h: planted faults: places where a build with -Djit_faults=true can be told to emit wrong code, so that the op-by-op checks
 * show what they would find. REDAN_JIT_FAULT=N plants the row with that number of faults.def.
 *
 * rdn_fault(NAME) is false in every other build, at compile time. Each row has its place in the code, once; tests/unit/jit/run_faults.py
 * demands that each is caught. */
#ifndef RDN_JIT_FAULTS_H
#define RDN_JIT_FAULTS_H
enum rdn_jit_fault {
    RDN_FAULT_NONE,
#define FAULT(number, name, file, what) RDN_FAULT_##name = number,
#include "jit/faults.def"
#undef FAULT
};
#ifdef RDN_JIT_FAULTS
extern int rdn_jit_fault;                                /* set before main from the environment */
#define rdn_fault(name) (rdn_jit_fault == RDN_FAULT_##name)
#else
#define rdn_fault(name) (RDN_FAULT_##name == 0)          /* no row has number 0 */
#endif
#endif
