/* SPDX-License-Identifier: Apache-2.0
 * enc_fix.c: writes what feed_fix.c reads. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "market/decimal.h"
#include "market/fix.h"

struct out { char *p; size_t n, cap; };

static void put(struct out *o, const void *s, size_t n) {
    if (n <= o->cap - o->n)
        memcpy(o->p + o->n, s, n);
    else
        o->cap = o->n;                                   /* full from here on */
    o->n = n <= o->cap - o->n ? o->n + n : o->n;
}

static size_t time_text(char *t, int64_t ns) {
    char iso[RDN_TEXT_MAX];
    size_t n = rdn_text_time(iso, ns);
    if (n < 20 || iso[4] != '-' || iso[10] != 'T')       /* a year of other than four digits */
        return 0;
    return (size_t)snprintf(t, RDN_TEXT_MAX, "%.4s%.2s%.2s-%.*s", iso, iso + 5, iso + 8, (int)(n - 12), iso + 11);
}

/* The value of a field as text; false: it has none that FIX could carry. */
static bool value(const redan_fix *m, const struct rdn_fix_field *f, char t[RDN_TEXT_MAX], redan_fix_text *ret) {
    const char *at = (const char *)m + f->at;
    int64_t i;
    memcpy(&i, at, f->kind == RDN_FIX_CODE || f->kind == RDN_FIX_TEXT ? 0 : sizeof i);
    *ret = (redan_fix_text){ t, 0 };
    switch (f->kind) {
    case RDN_FIX_TEXT:    memcpy(ret, at, sizeof *ret); break;
    case RDN_FIX_CODE:    *ret = (redan_fix_text){ at, 1 }; break;
    case RDN_FIX_UINT:    ret->len = (uint32_t)snprintf(t, RDN_TEXT_MAX, "%llu", (unsigned long long)i); break;
    case RDN_FIX_DECIMAL: ret->len = (uint32_t)rdn_decimal_text(t, i); break;
    case RDN_FIX_TIME:    ret->len = (uint32_t)time_text(t, i); break;
    }
    return ret->len > 0 && ret->p[0] && !memchr(ret->p, RDN_FIX_SOH, ret->len);
}

size_t redan_fix_encode(const redan_fix *m, char *out, size_t cap) {
    char body[RDN_FIX_MESSAGE], head[40], tail[16];
    struct out b = { body, 0, sizeof body };
    unsigned sum = 0;
    if (!m->type)
        return 0;
    put(&b, (char[]){ '3', '5', '=', m->type, RDN_FIX_SOH }, 5);
    for (unsigned i = 0; i < RDN_FIX_FIELDS; i++) {
        char t[RDN_TEXT_MAX], tag[16];
        redan_fix_text v;
        if (!(m->has >> i & 1))
            continue;
        if (!value(m, &rdn_fix_fields[i], t, &v))
            return 0;
        put(&b, tag, (size_t)snprintf(tag, sizeof tag, "%u=", rdn_fix_fields[i].tag));
        put(&b, v.p, v.len);
        put(&b, (char[]){ RDN_FIX_SOH }, 1);
    }
    size_t h = (size_t)snprintf(head, sizeof head, "8=FIX.4.4\0019=%zu\001", b.n);
    if (b.cap != sizeof body || h + b.n + 7 > cap || h + b.n + 7 > RDN_FIX_MESSAGE)
        return 0;
    memcpy(out, head, h);
    memcpy(out + h, body, b.n);
    for (size_t i = 0; i < h + b.n; i++)
        sum += (unsigned char)out[i];
    snprintf(tail, sizeof tail, "10=%03u\001", sum % 256);
    memcpy(out + h + b.n, tail, 7);
    return h + b.n + 7;
}

void redan_fix_fill(redan_fix *m) {
    m->has = 0;
    for (unsigned i = 0; i < RDN_FIX_FIELDS; i++) {
        const struct rdn_fix_field *f = &rdn_fix_fields[i];
        const char *at = (const char *)m + f->at;
        redan_fix_text t = { 0 };
        int64_t v = 0;
        if (f->kind == RDN_FIX_TEXT)
            memcpy(&t, at, sizeof t);
        else
            memcpy(&v, at, f->kind == RDN_FIX_CODE ? 1 : sizeof v);
        bool zero_counts = f->kind == RDN_FIX_DECIMAL && (rdn_fix_needs(m) >> i & 1);
        m->has |= (uint64_t)(t.len || v || zero_counts) << i;
    }
}
