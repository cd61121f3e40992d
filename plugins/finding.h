/* SPDX-License-Identifier: Apache-2.0
 * finding.h: what a check has to say about a plugin: file:line:col, a code, a sentence. Collected by whoever asked. */
#ifndef RDN_FINDING_H
#define RDN_FINDING_H
#include <stdbool.h>
#include <stdint.h>

struct rdn_finding {
    const char *code;                                   /* "R4203" */
    bool     warning;
    const char *file;                                   /* as shown to the user; "" when it is about no file */
    uint32_t line, col;                                 /* 0: about the file as a whole */
    char     text[400];
};
/* Borrowed during the callback. */
struct rdn_report {
    void (*take)(void *ctx, const struct rdn_finding *);
    void *ctx;
    uint32_t errors, warnings;
};
__attribute__((format(printf, 6, 7)))
void rdn_find(struct rdn_report *, const char *code, const char *file, uint32_t line, uint32_t col, const char *fmt, ...);
__attribute__((format(printf, 6, 7)))
void rdn_find_warning(struct rdn_report *, const char *code, const char *file, uint32_t line, uint32_t col, const char *fmt, ...);
#endif
