/* SPDX-License-Identifier: Apache-2.0
 * cpu.h: which code this processor runs. One list for the builds that are chosen when the program starts and for the emitters. */
#ifndef RDN_CPU_H
#define RDN_CPU_H

enum rdn_cpu_set { RDN_CPU_AVX2 = 1, RDN_CPU_BMI2 = 2, RDN_CPU_AVX512 = 4, RDN_CPU_CLMUL = 8 };   /* BMI2, AVX512: AVX2 too */
/* NULL when code of the set can run here, its registers being saved by the system; else the first feature that is missing ("fma"),
 * "x86-64" on other processors. Also before main. [any] */
const char *rdn_cpu_lacks(enum rdn_cpu_set);
#endif
