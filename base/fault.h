/* SPDX-License-Identifier: Apache-2.0
 * fault.h: fail the n-th allocation or system call, for tests. Costs one relaxed load when off. */
#ifndef RDN_FAULT_H
#define RDN_FAULT_H
#include <stdbool.h>
#include <stdint.h>
void rdn_fault_arm(uint64_t nth);                      /* the nth next call of rdn_fault_hit() answers true, once; 0: off */
bool rdn_fault_hit(void);                              /* mem.c asks before each allocation */
uint64_t rdn_fault_seen(void);                         /* calls since the last arm */
#endif
