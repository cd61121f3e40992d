/* SPDX-License-Identifier: Apache-2.0
 * codesink.h: where machine code that was made at run time is announced: profilers, debuggers.
 *
 * jit tells of each function after it was published and before it is freed; pmu writes files of it. A sink copies what it keeps
 * and cannot refuse: one that fails says so by itself. [any], one call at a time per sink and engine */
#ifndef RDN_CODESINK_H
#define RDN_CODESINK_H
#include <stddef.h>
#include <stdint.h>

struct rdn_code_line { uint32_t at, line; };             /* from this offset on the code is of that line of the rule text, 1-based; 0: of none */
struct rdn_code_row {
    const uint8_t *code;
    uint32_t bytes, nlines;
    uint32_t leave;                                      /* offset of the instruction that gives the frame back, right before the return; 0: unknown */
    const char *name;                                    /* redan:RULESET@VERSION/EVENT/step */
    const char *file;                                    /* of the rule text */
    const struct rdn_code_line *lines;
};
struct rdn_code_sink {
    void *ctx;
    void (*add)(void *ctx, const struct rdn_code_row *, uint32_t n);
    void (*drop)(void *ctx, const uint8_t *code, size_t bytes);      /* everything in this range; NULL: the sink does not care */
};
#endif
