/* SPDX-License-Identifier: Apache-2.0
 * feed_fix.c: FIX 4.4 orders and reports (fix.h, fix44.def, fix_bad.def). tag=value, each with SOH behind it; 8, 9 and 35 first, 10 last:
 * the sum of all bytes before it.
 *
 * A message ends with its field 10, whatever 9 says, so that one with a wrong length is refused alone. */
#include <string.h>

#include "base/text.h"
#include "market/decimal.h"
#include "market/feed.h"
#include "market/fix.h"

static bool starts(const char *s, size_t n, const char *with) { return n >= strlen(with) && memcmp(s, with, strlen(with)) == 0; }

/* Bytes before the next message, at most n. */
static size_t noise(const char *s, size_t n) {
    for (const char *p = s, *end = s + n; (p = memchr(p, '8', (size_t)(end - p))); p++) {
        size_t left = (size_t)(end - p);
        if (memcmp(p, "8=FIX.", left < 6 ? left : 6) == 0)
            return (size_t)(p - s);
    }
    return n;
}

/* Bytes of the message at s with its field 10; 0: incomplete. *ret_sum is where 10= stands. A message that the next one cuts short ends
 * there, and so does what counts as its sum. */
static size_t message_bytes(const char *s, size_t n, size_t *ret_sum) {
    for (const char *p = s, *end = s + n; (p = memchr(p, RDN_FIX_SOH, (size_t)(end - p))); p++) {
        size_t left = (size_t)(end - p);
        if (starts(p + 1, left - 1, "8=FIX."))
            return *ret_sum = (size_t)(p + 1 - s);
        const char *close = starts(p + 1, left - 1, "10=") ? memchr(p + 1, RDN_FIX_SOH, left - 1) : NULL;
        if (close) {
            *ret_sum = (size_t)(p + 1 - s);
            return (size_t)(close + 1 - s);
        }
    }
    return 0;
}

static bool utc(const char *s, size_t n, int64_t *ret) {
    char t[40];                                          /* 20260303-15:00:00.123456789 as 2026-03-03T15:00:00.123456789Z */
    if (n < 17 || n > 27 || s[8] != '-')
        return false;
    memcpy(t, s, 4);
    memcpy(t + 5, s + 4, 2);
    memcpy(t + 8, s + 6, 2);
    memcpy(t + 11, s + 9, n - 9);
    t[4] = t[7] = '-';
    t[10] = 'T';
    t[n + 2] = 'Z';
    return rdn_read_time(t, n + 3, ret);
}

static bool set_value(redan_fix *m, const struct rdn_fix_field *f, const char *s, size_t n) {
    char *at = (char *)m + f->at;
    bool rest = false;
    switch (f->kind) {
    case RDN_FIX_TEXT:    *(redan_fix_text *)(void *)at = (redan_fix_text){ s, (uint32_t)n }; return n > 0;
    case RDN_FIX_CODE:    *at = s[0]; return n == 1;
    case RDN_FIX_UINT:    return rdn_decimal_u64(s, n, (uint64_t *)(void *)at);
    case RDN_FIX_DECIMAL: return rdn_decimal_read(s, n, RDN_DECIMAL_SCALE, (int64_t *)(void *)at, &rest) && !rest;
    case RDN_FIX_TIME:    return utc(s, n, (int64_t *)(void *)at);
    }
    return false;
}

static uint32_t bad(redan_fix *m, enum rdn_fix_bad why, uint32_t tag) {
    m->bad = why;
    m->bad_tag = tag;
    return why;
}

/* The next field: its tag, its value, and where the one behind it begins; 0: not of that form. */
static const char *next_field(const char *s, const char *end, uint32_t *ret_tag, redan_fix_text *ret) {
    const char *soh = memchr(s, RDN_FIX_SOH, (size_t)(end - s)), *eq = memchr(s, '=', (size_t)(end - s));
    uint64_t tag = 0;
    *ret_tag = 0;
    if (!soh || !eq || eq > soh || eq - s > RDN_FIX_TAG_DIGITS || !rdn_decimal_u64(s, (size_t)(eq - s), &tag) || !tag || s[0] == '0')
        return NULL;
    *ret_tag = (uint32_t)tag;
    *ret = (redan_fix_text){ eq + 1, (uint32_t)(soh - eq - 1) };
    return soh + 1;
}

/* No tag twice: a bit for each of the usual ones, and for the others a look back. */
static bool seen_before(const char *body, const char *at, uint32_t tag, uint64_t seen[16]) {
    if (tag < 16 * 64) {
        bool was = seen[tag >> 6] >> (tag & 63) & 1;
        seen[tag >> 6] |= UINT64_C(1) << (tag & 63);
        return was;
    }
    redan_fix_text v;
    uint32_t other;
    for (const char *p = body; p && p < at;)
        if ((p = next_field(p, at, &other, &v)) && other == tag)
            return true;
    return false;
}

static uint32_t read_body(redan_fix *m, const char *s, const char *end) {
    uint64_t seen[16] = { 0 };
    for (const char *p = s; p < end;) {
        redan_fix_text v;
        uint32_t tag;
        const char *next = next_field(p, end, &tag, &v);
        if (!next)
            return bad(m, RDN_FIX_BAD_FIELD, tag);
        int i = rdn_fix_find(tag);
        if (i == RDN_FIX_GROUP)
            return bad(m, RDN_FIX_BAD_GROUP, tag);
        if (i != RDN_FIX_PARTY && (seen_before(s, p, tag, seen) || tag == 8 || tag == 9 || tag == 35))
            return bad(m, RDN_FIX_BAD_REPEATED, tag);
        if (i >= 0 && !set_value(m, &rdn_fix_fields[i], v.p, v.len))
            return bad(m, RDN_FIX_BAD_VALUE, tag);
        if (i >= 0)
            m->has |= UINT64_C(1) << i;
        p = next;
    }
    uint64_t missing = rdn_fix_needs(m) & ~m->has;
    if (missing)
        return bad(m, RDN_FIX_BAD_MISSING, rdn_fix_fields[__builtin_ctzll(missing)].tag);
    if ((m->has >> RDN_FIX_side & 1) && !strchr("1256", m->side))
        return bad(m, RDN_FIX_BAD_SIDE, 54);
    if (m->type != '8' && (m->has >> RDN_FIX_qty & 1) && m->qty <= 0)
        return bad(m, RDN_FIX_BAD_QUANTITY, 38);
    return RDN_FIX_GOOD;
}

/* s .. s + n is a message up to and with its field 10, which stands at `sum`. */
static uint32_t read_message(redan_fix *m, const char *s, size_t n, size_t sum) {
    redan_fix_text v[3];
    uint32_t tag[3];
    uint64_t length, want;
    unsigned total = 0;
    const char *p = s, *body = s, *end = s + sum;
    for (unsigned i = 0; i < 3; i++) {
        body = i == 2 ? p : body;
        if (!(p = next_field(p, end, &tag[i], &v[i])))
            return bad(m, RDN_FIX_BAD_ORDER, 0);
    }
    if (tag[0] != 8 || tag[1] != 9 || tag[2] != 35)
        return bad(m, RDN_FIX_BAD_ORDER, 0);
    if (v[0].len != 7 || memcmp(v[0].p, "FIX.4.4", 7) != 0)
        return bad(m, RDN_FIX_BAD_VERSION, 8);
    if (!rdn_decimal_u64(v[1].p, v[1].len, &length) || length != (uint64_t)(end - body))
        return bad(m, RDN_FIX_BAD_BODY_LENGTH, 9);
    for (size_t i = 0; i < sum; i++)
        total += (unsigned char)s[i];
    if (n - sum != 7 || !rdn_decimal_u64(s + sum + 3, 3, &want) || want != total % 256)
        return bad(m, RDN_FIX_BAD_CHECKSUM, 10);
    if (v[2].len != 1 || !strchr("DFG89", v[2].p[0]))
        return bad(m, RDN_FIX_BAD_TYPE, 35);
    m->type = v[2].p[0];
    return read_body(m, p, end);
}

int redan_fix_decode(const void *bytes, size_t len, redan_fix *ret, size_t *ret_used) {
    const char *s = bytes;
    size_t skip = noise(s, len), sum = 0, n;
    bool blank = true;
    *ret = (redan_fix){ 0 };
    for (size_t i = 0; i < skip; i++)
        blank &= s[i] == '\n' || s[i] == '\r';
    if (skip && !blank) {
        *ret_used = skip;
        return rdn_fix_fault(bad(ret, RDN_FIX_BAD_NO_BEGIN, 0));
    }
    size_t left = len - skip < RDN_FIX_MESSAGE ? len - skip : RDN_FIX_MESSAGE;
    if (left < 6 || (n = message_bytes(s + skip, left, &sum)) == 0) {
        *ret_used = left == RDN_FIX_MESSAGE ? skip + 1 + noise(s + skip + 1, left - 1) : skip;
        return left == RDN_FIX_MESSAGE ? rdn_fix_fault(bad(ret, RDN_FIX_BAD_TOO_LONG, 0)) : 0;
    }
    *ret_used = skip + n;
    return rdn_fix_fault(read_message(ret, s + skip, n, sum));
}

/* --- the feed --- */

static uint64_t id_of(redan_fix_text t) { return t.len ? rdn_fnv64(t.p, t.len) : 0; }

/* Type 9 names no symbol: it is about the only instrument, or about one that its order would tell. False: nobody's, and counted. */
static bool find_instrument(struct redan_feed *f, const redan_fix *m, uint32_t *ret) {
    *ret = f->books.n == 1 ? 0 : REDAN_BY_ORDER;
    if (m->symbol.len)
        return (*ret = rdn_feed_find(f, rdn_feed_symbol_key(m->symbol.p, m->symbol.len), m->symbol.p, m->symbol.len)) != UINT32_MAX;
    if (!f->books.n)
        rdn_feed_fault(f, REDAN_FAULT_WRONG_INSTRUMENT);
    return f->books.n > 0;
}

static uint32_t to_event(struct redan_feed *f, const redan_fix *m, redan_mevent *e) {
    bool fill = m->type == '8' && m->exec_type == 'F';
    int64_t qty = fill ? m->last_qty : m->qty, px = fill ? m->last_px : m->px, ts = m->ts_ns ? m->ts_ns : m->sent_ns;
    uint32_t id;
    if (!find_instrument(f, m, &id))
        return 0;
    *e = (redan_mevent){ .ts_event_ns = ts, .ts_recv_ns = ts, .order_id = id_of(m->cl_ord_id), .other_id = f->nkept + 1, .seq = m->seq, .instrument = id,
                         .action = fill ? REDAN_MARKET_FILL : REDAN_MARKET_ORDER, .side = !m->side ? 0 : m->side == '1' ? REDAN_BID : REDAN_ASK };
    if (id == REDAN_BY_ORDER)                            /* a refusal, type 9: it has no amounts */
        return 1;
    if (qty % f->instruments[id].lot_nano) {
        rdn_feed_fault(f, REDAN_FAULT_BAD_NUMBER);
        return 0;
    }
    e->qty_lots = qty / f->instruments[id].lot_nano;
    return rdn_feed_px(f, id, px, RDN_DECIMAL_SCALE, &e->px_ticks);
}

/* Keeps the message, so that its texts can be had when its event comes. */
static void keep(struct redan_feed *f, const unsigned char *in, size_t n) {
    size_t skip = noise((const char *)in, n);            /* newlines */
    struct rdn_fix_kept *k = &f->kept[f->nkept++ % RDN_FIX_KEPT];
    k->number = f->nkept;
    k->n = (uint32_t)(n - skip);
    memcpy(k->text, in + skip, n - skip);
}

int redan_feed_order(const redan_feed *f, const redan_mevent *e, redan_fix *ret) {
    if (!f->kept || !e->other_id)
        return REDAN_E_NOSUP;
    const struct rdn_fix_kept *k = &f->kept[(e->other_id - 1) % RDN_FIX_KEPT];
    size_t used;
    return k->number == e->other_id && redan_fix_decode(k->text, k->n, ret, &used) == 0 ? 0 : REDAN_E_INVAL;
}

_Static_assert(RDN_FIX_BADS <= sizeof(((struct redan_feed *)0)->fix_bad) / sizeof(uint64_t), "fix_bad has a place for each");
static void refuse(struct redan_feed *f, const redan_fix *m, uint8_t fault) {
    rdn_feed_fault(f, fault);
    f->fix_bad[m->bad]++;
}

size_t rdn_feed_fix(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    redan_fix m;
    size_t used;
    uint8_t fault = (uint8_t)redan_fix_decode(in, len, &m, &used);
    if (fault && !(m.bad == RDN_FIX_BAD_NO_BEGIN && f->skipping))        /* one stretch of noise is one fault, however it is cut */
        refuse(f, &m, fault);
    if (m.bad || m.type)
        f->skipping = m.bad == RDN_FIX_BAD_NO_BEGIN || m.bad == RDN_FIX_BAD_TOO_LONG;
    if (!fault && m.type)
        *ret_n = to_event(f, &m, out);
    if (*ret_n)
        keep(f, in, used);
    return used;
}
