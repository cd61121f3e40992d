/* SPDX-License-Identifier: Apache-2.0
 * finding.c: see finding.h. */
#include "plugins/finding.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "plugins/parts.h"

static void say(struct rdn_report *r, struct rdn_finding *f, const char *fmt, va_list ap) {
    char text[sizeof f->text];
    vsnprintf(text, sizeof text, fmt, ap);
    rdn_message_clean(f->text, sizeof f->text, text, strlen(text));      /* names out of damaged files come through here */
    r->errors += !f->warning;
    r->warnings += f->warning;
    if (r->take)
        r->take(r->ctx, f);
}

void rdn_find(struct rdn_report *r, const char *code, const char *file, uint32_t line, uint32_t col, const char *fmt, ...) {
    struct rdn_finding f = { .code = code, .file = file, .line = line, .col = col };
    va_list ap;
    va_start(ap, fmt);
    say(r, &f, fmt, ap);
    va_end(ap);
}

void rdn_find_warning(struct rdn_report *r, const char *code, const char *file, uint32_t line, uint32_t col, const char *fmt, ...) {
    struct rdn_finding f = { .code = code, .warning = true, .file = file, .line = line, .col = col };
    va_list ap;
    va_start(ap, fmt);
    say(r, &f, fmt, ap);
    va_end(ap);
}
