/* SPDX-License-Identifier: Apache-2.0
 * err.c: fills redan_error; the texts of the codes. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *redan_strerror(int code) {
    switch (code) {
    case REDAN_OK: return "ok";
#define X(name, value, text) case value: return text;
    REDAN_ERRORS(X)
#undef X
    }
    return "unknown error";
}

uint32_t redan_version(void) { return REDAN_VERSION; }

/* .text is one clause on one line whatever the arguments held. */
static void one_line(char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < 0x20)
            *s = ' ';
}

int rdn_fail_(redan_error *reterr, int code, const char *id, const char *fmt, ...) {
    if (!reterr)
        return code;
    *reterr = (redan_error){.code = code};
    snprintf(reterr->id, sizeof reterr->id, "%s", id);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reterr->text, sizeof reterr->text, fmt, ap);
    va_end(ap);
    one_line(reterr->text);
    return code;
}

int rdn_fail_sys(redan_error *reterr, const char *call) {
    int sys = errno;
    if (!reterr)
        return REDAN_E_SYS;
    *reterr = (redan_error){.code = REDAN_E_SYS, .sys = sys};
    snprintf(reterr->where, sizeof reterr->where, "%s", call);
    char buf[128];
    snprintf(reterr->text, sizeof reterr->text, "%s: %s", call, strerror_r(sys, buf, sizeof buf));
    one_line(reterr->text);
    return REDAN_E_SYS;
}

int rdn_wrap(redan_error *reterr, int rc, const char *fmt, ...) {
    if (!reterr)
        return rc;
    char was[sizeof reterr->text];
    memcpy(was, reterr->text, sizeof was);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reterr->text, sizeof reterr->text, fmt, ap);
    va_end(ap);
    size_t n = strlen(reterr->text);
    snprintf(reterr->text + n, sizeof reterr->text - n, ": %s", was);
    one_line(reterr->text);
    return rc;
}
