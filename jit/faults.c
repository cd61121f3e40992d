/* SPDX-License-Identifier: Apache-2.0
 * faults.c: which fault is planted (faults.h). In builds with -Djit_faults=true only. */
#include "jit/faults.h"
#include <stdio.h>
#include <stdlib.h>

int rdn_jit_fault;

__attribute__((constructor)) static void plant(void) {
    static const char *const what[] = {
#define FAULT(number, name, file, text) [number] = #name ": " text,
#include "jit/faults.def"
#undef FAULT
    };
    const char *s = getenv("REDAN_JIT_FAULT");
    int n = s ? atoi(s) : 0;
    if (n < 0 || n >= (int)(sizeof what / sizeof *what) || (n && !what[n])) {
        fprintf(stderr, "REDAN_JIT_FAULT=%s: no such row in jit/faults.def\n", s);
        exit(99);
    }
    rdn_jit_fault = n;
    if (n)
        fprintf(stderr, "planted fault %d, %s\n", n, what[n]);
}
