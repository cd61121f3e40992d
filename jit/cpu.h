/* SPDX-License-Identifier: Apache-2.0
 * cpu.h: what native code needs of the processor and of the thread's floating-point mode. */
#ifndef RDN_CPU_H
#define RDN_CPU_H
#include <stdbool.h>
#include <stdint.h>

/* NULL when x64 code can run here, else the first feature that is missing ("fma"). [any] */
const char *rdn_cpu_lacks(void);

bool rdn_cpu_has_bmi2(void);
bool rdn_cpu_has_avx512(void);                           /* F and DQ, and the system saves zmm and k registers */

/* Control bits of MXCSR or FPCR as the language wants them: nearest even, subnormals on, exceptions masked. */
#if defined(__x86_64__)
#define RDN_FPMODE 0x1f80u
#define RDN_FPMODE_MASK 0xffc0u                           /* the status flags below bit 6 are anybody's */
static inline uint32_t rdn_fpmode_get(void) { return __builtin_ia32_stmxcsr(); }
/* The instruction itself: the builtin loads what it has just stored, and waits for it (EPYC: 4.5 ns an event, else 1.1). */
static inline void rdn_fpmode_store(uint32_t *ret) { __asm__ volatile("stmxcsr %0" : "=m"(*ret)); }
static inline void rdn_fpmode_set(uint32_t v) { __builtin_ia32_ldmxcsr(v); }
static inline bool rdn_fpmode_ok(uint32_t v) { return (v & RDN_FPMODE_MASK) == RDN_FPMODE; }
#elif defined(__aarch64__)
#define RDN_FPMODE 0u
#define RDN_FPMODE_MASK 0x01c09f07u                      /* FZ, rounding, trap enables, FIZ, AH, NEP; default NaNs change no answer */
static inline uint32_t rdn_fpmode_get(void) {
    uint64_t v;
    __asm__ volatile("mrs %0, fpcr" : "=r"(v));
    return (uint32_t)v;
}
static inline void rdn_fpmode_store(uint32_t *ret) { *ret = rdn_fpmode_get(); }
static inline void rdn_fpmode_set(uint32_t v) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)v) : "memory"); }
static inline bool rdn_fpmode_ok(uint32_t v) { return (v & RDN_FPMODE_MASK) == RDN_FPMODE; }
#else
#define RDN_FPMODE 0u
#define RDN_FPMODE_MASK 0u
static inline uint32_t rdn_fpmode_get(void) { return 0; }
static inline void rdn_fpmode_store(uint32_t *ret) { *ret = 0; }
static inline void rdn_fpmode_set(uint32_t v) { (void)v; }
static inline bool rdn_fpmode_ok(uint32_t v) { (void)v; return true; }
#endif
const char *rdn_fpmode_text(uint32_t mode);             /* "flush-to-zero", "another rounding mode", ... */
#endif
