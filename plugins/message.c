/* SPDX-License-Identifier: Apache-2.0
 * message.c: what happened, for people. Everything a worker wrote is cut to its array, checked to be UTF-8, and shown with
 * control characters as \xNN; nothing of it is a format string. Off the hot path, except rdn_note_take and rdn_note_write. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "plugins/parts.h"
#include "sandbox/explain.h"

/* --- notes: one writer, many readers, no lock ------------------------------------------------------------------- */

void rdn_note_write(_Atomic uint32_t *version, _Atomic uint64_t *words, const void *body, size_t bytes) {
    uint32_t v = atomic_load_explicit(version, memory_order_relaxed);
    atomic_store_explicit(version, v + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i * 8 < bytes; i++) {
        uint64_t x = 0;
        memcpy(&x, (const char *)body + i * 8, bytes - i * 8 < 8 ? bytes - i * 8 : 8);
        atomic_store_explicit(&words[i], x, memory_order_relaxed);
    }
    atomic_store_explicit(version, v + 2, memory_order_release);
}

void rdn_note_read(const _Atomic uint32_t *version, const _Atomic uint64_t *words, void *body, size_t bytes) {
    for (;;) {
        uint32_t v = atomic_load_explicit(version, memory_order_acquire);
        for (size_t i = 0; i * 8 < bytes; i++) {
            uint64_t x = atomic_load_explicit(&words[i], memory_order_relaxed);
            memcpy((char *)body + i * 8, &x, bytes - i * 8 < 8 ? bytes - i * 8 : 8);
        }
        atomic_thread_fence(memory_order_acquire);
        if (!(v & 1) && atomic_load_explicit(version, memory_order_relaxed) == v)
            return;
    }
}

static uint32_t at_most(uint32_t n, size_t cap) { return n < cap ? n : (uint32_t)cap; }

void rdn_note_take(struct rdn_note_body *b, const struct rdn_res *r, enum rdn_outcome out) {
    memset(b, 0, sizeof *b);
    b->outcome = out;
    b->status = rdn_load32(&r->status);
    b->err_len = at_most(rdn_load32(&r->err_len), sizeof b->err_text);
    b->err_line = rdn_load32(&r->err_line);
    b->tb_len = at_most(rdn_load32(&r->tb_len), sizeof b->traceback);
    b->trap_count = at_most(rdn_load32(&r->trap_count), sizeof b->traps / sizeof *b->traps);
    b->peak_bytes = r->peak_bytes;
    memcpy(b->err_type, r->err_type, sizeof b->err_type - 1);
    memcpy(b->err_text, r->err_text, b->err_len);
    memcpy(b->traceback, r->traceback, b->tb_len);
    memcpy(b->traps, r->traps, sizeof *b->traps * b->trap_count);
    memcpy(b->places, r->places, sizeof b->places);
}

/* --- text ------------------------------------------------------------------------------------------------------- */

size_t rdn_message_clean(char *out, size_t cap, const char *text, size_t n) {
    size_t k = 0;
    bool utf8 = rdn_utf8_valid(text, n);
    for (size_t i = 0; i < n && k + 5 < cap; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
            k += (size_t)snprintf(out + k, cap - k, "\\x%02x", c);
        else
            out[k++] = (char)c;
    }
    while (k && utf8 && ((unsigned char)out[k - 1] & 0xc0) == 0x80 && !rdn_utf8_valid(out, k))
        k--;                                            /* cut inside a character */
    if (k && utf8 && !rdn_utf8_valid(out, k))
        k--;
    out[k] = 0;
    return k;
}

/* The innermost line of the plugin's own file, else the innermost at all; "" when there is none. */
static void place_of(const struct rdn_note_body *b, const char *file, char *out, size_t cap) {
    const char *p = b->traceback, *end = p + b->tb_len, *pick = NULL;
    size_t n = strlen(file), len = 0;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t k = (size_t)((nl ? nl : end) - p);
        bool own = k > n && !memcmp(p, file, n) && p[n] == ':';
        if (!pick || own) {
            pick = p;
            len = k;
        }
        if (own)
            break;
        p += k + 1;
    }
    *out = 0;
    if (pick)
        rdn_message_clean(out, cap, pick, len);
}

static void error_text(const struct rdn_note_body *b, const char *file, char *out, size_t cap) {
    char type[80], text[400], place[128];
    rdn_message_clean(type, sizeof type, b->err_type, strnlen(b->err_type, sizeof b->err_type));
    rdn_message_clean(text, sizeof text, b->err_text, b->err_len);
    place_of(b, file, place, sizeof place);
    snprintf(out, cap, "%s%s%s%s%s%s", *type ? type : "error", *text ? ": " : "", text, *place ? " (" : "", place, *place ? ")" : "");
}

/* CPython's dump, innermost first:   File "/lib/x.py", line 3 in f
 * The innermost frame, and where the plugin's own text called it. */
static void crash_place(const struct rdn_note_body *b, const char *own, char *out, size_t cap) {
    char text[2049], file[64], func[64], first[64] = "", raw[200];
    int line, n = 0;
    memcpy(text, b->traceback, b->tb_len);
    text[b->tb_len] = 0;
    *out = 0;
    for (const char *p = text; (p = strstr(p, "File \"")); p += 6) {
        if (sscanf(p, "File \"%*[^\"]\", line %d in %63[^\n]", &line, func) < 2)
            return;
        const char *end = strchr(p + 6, '"'), *slash = end;
        while (slash > p + 6 && slash[-1] != '/' && slash[-1] != '"')
            slash--;
        snprintf(file, sizeof file, "%.*s", (int)(end - slash), slash);
        bool ours = !strcmp(file, own);
        if (!n++ || ours)
            snprintf(raw, sizeof raw, *first && ours ? " at '%s' called from %s:%d in %s" : "%.0s at %s:%d in %s", first, file, line, func);
        if (ours)
            break;
        if (n == 1)
            snprintf(first, sizeof first, "%s", func);
    }
    if (n)
        rdn_message_clean(out, cap, raw, strlen(raw));
}

void rdn_message_error(const struct rdn_plugin *p, const struct rdn_note_body *b, char *out, size_t cap) {
    char place[160];
    *out = 0;
    switch ((enum rdn_outcome)b->outcome) {
    case RDN_OUT_EXCEPTION: case RDN_OUT_MEMORY: case RDN_OUT_BAD_VALUE:
        if (b->outcome != RDN_OUT_BAD_VALUE || *b->err_type)             /* else the host found the value wrong, and nobody raised */
            error_text(b, p->file, out, cap);
        break;
    case RDN_OUT_DIED:
        crash_place(b, p->file, place, sizeof place);
        if (b->sig)
            snprintf(out, cap, "signal %u (%s)%s", b->sig, strsignal((int)b->sig), place);
        else
            snprintf(out, cap, "exit %u", b->status);
        break;
    case RDN_OUT_TIMEOUT: case RDN_OUT_KILLED:
        if (b->tb_len)
            error_text(b, p->file, out, cap);
        break;
    case RDN_OUT_VALUE: case RDN_OUT_UNDEFINED: case RDN_OUT_BAD_REPLY: case RDN_OUT_NOT_READY: case RDN_OUT_TRIPPED:
    case RDN_OUT_QUARANTINED: case RDN_OUT_REFUSED: case RDN_OUT_COUNT: break;
    }
}

static double ms(int64_t ns) { return (double)ns / 1e6; }

/* What a soft stop does not reach, by kind. */
static const char *usual_loop(const struct rdn_plugin *p) {
    const char *role = p->live && p->live->group ? p->live->group->role : "python";
    return !strcmp(role, "lua") ? "a compiled loop, a long match, or a finaliser" : !strcmp(role, "native") ? "native code has no soft stop"
         : "a loop in C code or 'except BaseException'";
}

void rdn_message_line(const struct rdn_plugin *p, const struct rdn_note_body *b, uint32_t lane, char *out, size_t cap) {
    char head[160], error[512], place[128];
    rdn_message_error(p, b, error, sizeof error);
    place_of(b, p->file, place, sizeof place);
    snprintf(head, sizeof head, "R43%02u plugin %.64s gen %llu lane %u:", b->outcome, p->name, (unsigned long long)b->generation, lane);
    switch ((enum rdn_outcome)b->outcome) {
    case RDN_OUT_EXCEPTION: snprintf(out, cap, "%s %s", head, error); return;
    case RDN_OUT_TIMEOUT:
        if (!b->allowed_ns) {                               /* no note was written: it was not its turn */
            snprintf(out, cap, "%s the deadline passed before it was this lane's turn (limits.instances: one)", head);
            return;
        }
        snprintf(out, cap, "%s %.1f ms allowed, %.1f ms used%s%s", head, ms(b->allowed_ns), ms(b->used_ns), *place ? ", stopped at " : "", place);
        return;
    case RDN_OUT_KILLED:
        snprintf(out, cap, "%s %.1f ms allowed, did not stop within %.0f ms grace (%s?), worker killed", head, ms(b->allowed_ns), ms(p->grace_ns),
                 usual_loop(p));
        return;
    case RDN_OUT_MEMORY:
        snprintf(out, cap, "%s memory cap %llu MiB reached%s%s, peak %.1f MiB; raise mem_cap_mib or keep less", head,
                 (unsigned long long)(p->live ? p->live->mem_cap >> 20 : 0), *place ? " at " : "", place, (double)b->peak_bytes / 1048576.0);
        return;
    case RDN_OUT_DIED: snprintf(out, cap, "%s worker died, %s; worker restarted", head, error); return;
    case RDN_OUT_BAD_REPLY: snprintf(out, cap, "%s answer page is inconsistent, worker killed", head); return;
    case RDN_OUT_BAD_VALUE:
        snprintf(out, cap, "%s %s; treated as undefined", head, *b->err_type ? error : "returned a value outside the declared type");
        return;
    case RDN_OUT_NOT_READY: snprintf(out, cap, "%s no worker is ready", head); return;
    case RDN_OUT_TRIPPED: snprintf(out, cap, "%s 3 timeouts in a row, default used until a selftest passes", head); return;
    case RDN_OUT_QUARANTINED: snprintf(out, cap, "%s 3 deaths in 60 s, quarantined until it is reloaded or resumed", head); return;
    case RDN_OUT_REFUSED: snprintf(out, cap, "%s an argument does not fit its declared type", head); return;
    case RDN_OUT_VALUE: case RDN_OUT_UNDEFINED: case RDN_OUT_COUNT: break;
    }
    *out = 0;
}

/* --- loading ---------------------------------------------------------------------------------------------------- */

static bool begins(const struct rdn_note_body *b, const char *code) { return b->err_len > 6 && !memcmp(b->err_text, code, 6); }

static const char *load_code(const struct rdn_note_body *b) {
    bool syntax = !strncmp(b->err_type, "SyntaxError", 11) || !strncmp(b->err_type, "IndentationError", 16) || !strncmp(b->err_type, "TabError", 8);
    switch (b->status) {
    case RDN_ST_TIMEOUT: return "R4321";
    case RDN_ST_MEMORY: return "R4322";
    case RDN_ST_NO_FUNCTION: return "R4323";
    case RDN_ST_SIGNATURE: return "R4324";
    default: return syntax ? "R4320" : begins(b, "R4203 ") ? "R4203" : begins(b, "R4204 ") ? "R4204" : "R4302";
    }
}

int rdn_message_load(const struct rdn_plugin *p, const struct rdn_note_body *b, redan_error *reterr) {
    char error[512];
    if (b->outcome == RDN_OUT_TIMEOUT || b->outcome == RDN_OUT_KILLED)
        snprintf(error, sizeof error, "loading took longer than %.0f ms", ms(p->load_ns));
    else if (b->outcome == RDN_OUT_DIED)
        rdn_message_error(p, b, error, sizeof error);
    else
        error_text(b, p->file, error, sizeof error);
    const char *code = b->outcome == RDN_OUT_TIMEOUT || b->outcome == RDN_OUT_KILLED ? "R4321" : b->outcome == RDN_OUT_DIED ? "R4306" : load_code(b);
    int rc = rdn_fail(reterr, PLUGIN, code, "%.250s", error);
    if (reterr) {
        reterr->line = b->outcome == RDN_OUT_DIED ? 0 : b->err_line;
        snprintf(reterr->where, sizeof reterr->where, "%s", p->file);
    }
    return rc;
}

void rdn_plugins_log(struct rdn_plugins *ps, uint32_t level, const char *fmt, ...) {
    char line[1024];
    if (!ps->opt.log)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    ps->opt.log(ps->opt.ctx, level, line);
}
