/* SPDX-License-Identifier: Apache-2.0
 * reading.c: a file through a feed (reading.h). */
#include "market/reading.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"
#include "market/decimal.h"
#include "market/feed.h"

enum { BUF_BYTES = 2 * RDN_FEED_MESSAGE, HEAD_BYTES = 4096, READ_MIN = 1 << 16, SEED_BYTES = 1 << 16 };

/* --- what a file looks like --- */

static bool digits(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isdigit(p[i]))
            return false;
    return n > 0;
}

static bool printable(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum(p[i]) && p[i] != ' ')
            return false;
    return true;
}

static bool like_json(const unsigned char *p, size_t n) {
    size_t i = 0;
    while (i < n && isdigit(p[i]))
        i++;
    while (i && i < n && p[i] == ' ')
        i++;
    return i < n && p[i] == '{';
}

/* In front of the first message, what ended the one before it. */
static bool like_fix(const unsigned char *p, size_t n) {
    while (n && (*p == '\r' || *p == '\n' || *p == 1)) {
        p++;
        n--;
    }
    return n >= 6 && memcmp(p, "8=FIX", 5) == 0 && (p[5] == '.' || p[5] == 'T');
}

/* A frame of ITCH, of a type and with the length of that type, as far as it is there. */
static bool like_itch(const unsigned char *p, size_t n) {
    return n >= 3 && rdn_be16(p) == rdn_itch50_bytes(p[2]) && rdn_be16(p);
}

/* A session, a number from 1 below 2^48, a count; behind it a frame, if there is one. */
static bool like_mold(const unsigned char *p, size_t n) {
    if (n < RDN_MOLD_HEAD || !printable(p, 10) || !rdn_be64(p + 10) || rdn_be64(p + 10) >= UINT64_C(1) << 48)
        return false;
    bool empty = rdn_be16(p + 18) == 0 || rdn_be16(p + 18) == 0xffff;
    return empty || n < RDN_MOLD_HEAD + 3 || like_itch(p + RDN_MOLD_HEAD, n - RDN_MOLD_HEAD);
}

/* PITCH: an S that some files have in front, milliseconds, a type. */
static bool like_pitch(const unsigned char *p, size_t n) {
    size_t s = n && p[0] == 'S';
    return n > s + 20 && digits(p + s, 8) && isupper(p[s + 8]) && !memchr(p, ',', n);
}

static const char *text_format(const unsigned char *p, size_t n) {
    unsigned commas = 0;
    bool number = n && isdigit(p[0]);
    for (size_t i = 0; i < n; i++) {
        commas += p[i] == ',';
        number &= isdigit(p[i]) || strchr(",.-+: TZ\r", p[i]);
    }
    if (like_json(p, n))
        return "binance";
    if (like_pitch(p, n))
        return "pitch";
    if (number && commas == 5)
        return "lobster";
    bool named = n > 3 && isalpha(p[0]) && memmem(p, n, "bid", 3) && memmem(p, n, "ask", 3);
    return (number && commas == 2) || named ? "csv" : NULL;
}

static bool named(const char *path, const char *end) {
    size_t n = path ? strlen(path) : 0, k = strlen(end);
    return n > k && strcmp(path + n - k, end) == 0;
}

const char *rdn_format_guess(const char *path, const unsigned char *head, size_t n) {
    n = n < HEAD_BYTES ? n : HEAD_BYTES;
    if (named(path, ".tick24") || named(path, ".events"))
        return named(path, ".events") ? "events" : "tick24";
    if (n >= 4 && memcmp(head, "DBN", 3) == 0 && head[3] >= 1 && head[3] <= 3)
        return "dbn";
    if (like_fix(head, n))
        return "fix";
    if (like_mold(head, n))
        return "moldudp64";
    if (n >= 14 && like_itch(head, n))
        return "itch50";
    const unsigned char *nl = memchr(head, '\n', n);
    return text_format(head, nl ? (size_t)(nl - head) : n);
}

/* --- input --- */

static bool is_text(const redan_feed *f) {
    const char *name = f->format->name;
    return strcmp(name, "lobster") == 0 || strcmp(name, "csv") == 0 || strcmp(name, "pitch") == 0 || strcmp(name, "binance") == 0;
}

/* More input behind what is unread. At the end of the file the source is given back. */
static int refill(struct rdn_reading *p, redan_error *reterr) {
    memmove(p->buf, p->buf + p->at, p->n - p->at);
    p->n -= p->at;
    p->at = 0;
    if (p->n == BUF_BYTES - 1)
        return rdn_fail(reterr, CORRUPT, "", "a message is longer than %d bytes", RDN_FEED_MESSAGE);
    while (p->source) {
        ssize_t got = rdn_source_read(p->source, p->buf + p->n, BUF_BYTES - 1 - p->n, reterr);
        if (got < 0)
            return (int)got;
        p->n += (size_t)got;
        if (got == 0) {
            rdn_source_close(p->source);
            p->source = NULL;
        }
        if (p->n >= READ_MIN)
            break;
    }
    return 0;
}

/* The last line gets its newline; what is left of anything else is cut off. True: there is something to read again. */
static bool finish(struct rdn_reading *p) {
    p->ended = true;
    redan_feed_end(p->feed);
    if (p->n == p->at)
        return p->feed->ready.n > 0;
    if (is_text(p->feed)) {
        p->buf[p->n++] = '\n';
        return true;
    }
    rdn_feed_fault(p->feed, REDAN_FAULT_SHORT_INPUT);
    p->at = p->n;
    return false;
}

/* Decodes until there are events, at most `cap` of them; none: the end. */
static int decode(struct rdn_reading *p, uint32_t cap, redan_error *reterr) {
    p->ev_at = p->ev_n = 0;
    while (p->feed && !p->ev_n) {
        size_t used;
        p->ev_n = redan_feed_decode(p->feed, p->buf + p->at, p->n - p->at, p->ev, cap, &used);
        p->at += used;
        if (p->ev_n || used)
            continue;
        size_t had = p->n - p->at;
        int rc = refill(p, reterr);
        if (rc < 0)
            return rc;
        if (p->n - p->at == had && !p->source && (p->ended || !finish(p)))
            break;
    }
    return 0;
}

int rdn_reading_some(struct rdn_reading *p, const redan_mevent **ret, uint32_t *ret_n, redan_error *reterr) {
    int rc = p->ev_at == p->ev_n ? decode(p, RDN_READING_EVENTS, reterr) : 0;
    *ret = &p->ev[p->ev_at];
    *ret_n = rc < 0 ? 0 : p->ev_n - p->ev_at;
    p->ev_at = p->ev_n;
    return rc;
}

int rdn_reading_next(struct rdn_reading *p, const redan_mevent **ret, redan_error *reterr) {
    uint32_t n;
    int rc = rdn_reading_some(p, ret, &n, reterr);
    *ret = n ? *ret : NULL;
    p->ev_at -= n ? n - 1 : 0;
    return rc;
}

/* --- a book that is there before the first message --- */

/* LOBSTER's row of ask, size, bid, size; with fillers where there is no level. */
static int seed_row(struct rdn_reading *p, const char *line, size_t n, redan_error *reterr) {
    enum { FILLER = 999999999, PX_SCALE = 4 };
    int64_t v[4];
    struct rdn_text_cell c[401];
    unsigned k = rdn_feed_split(line, n, c, 400);
    if (k % 4 || k > 400)
        return rdn_fail(reterr, INVAL, "", "the first row has %u columns, expected four a level", k);
    for (unsigned i = 0; i < k; i += 2) {
        bool rest[2];
        if (!rdn_decimal_read(c[i].p, c[i].n, 0, &v[0], &rest[0]) || !rdn_decimal_read(c[i + 1].p, c[i + 1].n, 0, &v[1], &rest[1]) || rest[0] || rest[1])
            return rdn_fail(reterr, INVAL, "", "column %u of the first row is no number", i + 1);
        redan_mevent e = { .qty_lots = v[1], .action = REDAN_MARKET_LEVEL, .side = i % 4 ? REDAN_BID : REDAN_ASK, .flags = REDAN_MF_SNAPSHOT };
        if (v[0] <= 0 || v[0] / 10 >= FILLER || !v[1] || !rdn_feed_px(p->feed, 0, v[0], PX_SCALE, &e.px_ticks))
            continue;
        if (p->ev_n < RDN_READING_EVENTS)
            p->ev[p->ev_n++] = e;
    }
    return 0;
}

/* What the first message did is undone: an order that came is not there yet, one that went still is. */
static void undo(struct rdn_reading *p, const redan_mevent *first) {
    int64_t change = first->action == REDAN_MARKET_ADD ? -first->qty_lots
                   : first->action == REDAN_MARKET_REDUCE || first->action == REDAN_MARKET_DELETE || first->action == REDAN_MARKET_EXECUTE ? first->qty_lots : 0;
    uint32_t at = 0;
    while (at < p->ev_n && (p->ev[at].side != first->side || p->ev[at].px_ticks != first->px_ticks))
        at++;
    if (!change || at == RDN_READING_EVENTS)
        return;
    if (at == p->ev_n) {
        p->ev[p->ev_n] = *first;
        p->ev[p->ev_n].action = REDAN_MARKET_LEVEL;
        p->ev[p->ev_n].flags = REDAN_MF_SNAPSHOT;
        p->ev[p->ev_n++].qty_lots = 0;
    }
    p->ev[at].qty_lots += change;
    if (p->ev[at].qty_lots <= 0)
        p->ev[at] = p->ev[--p->ev_n];
}

static int read_line(const char *path, char *line, size_t *ret_n, redan_error *reterr) {
    struct rdn_source *s;
    size_t n = 0;
    int rc = rdn_source_open(&s, path, reterr);
    if (rc < 0)
        return rc;
    ssize_t got = 1;
    while (got > 0 && n < SEED_BYTES && !memchr(line, '\n', n)) {
        got = rdn_source_read(s, line + n, SEED_BYTES - n, reterr);
        n += got > 0 ? (size_t)got : 0;
    }
    rdn_source_close(s);
    const char *nl = memchr(line, '\n', n);
    *ret_n = nl ? (size_t)(nl - line) : n;
    *ret_n -= *ret_n && line[*ret_n - 1] == '\r';
    return got < 0 ? (int)got : 0;
}

/* The levels are the pass's first events, stamped a nanosecond before the first message, which comes behind them. */
static int seed(struct rdn_reading *p, const char *path, redan_error *reterr) {
    size_t n;
    char *line = rdn_zalloc(&rdn_libc_mem, SEED_BYTES);
    if (!line)
        return rdn_fail(reterr, NOMEM, "", "no memory to read %s", path);
    int rc = decode(p, RDN_FEED_EVENTS, reterr);
    redan_mevent first = p->ev[0];
    bool some = p->ev_n == 1;
    p->ev_n = 0;
    if (rc == 0 && !some)
        rc = rdn_fail(reterr, INVAL, "", "the file has no message that the row could follow");
    if (rc == 0)
        rc = read_line(path, line, &n, reterr);
    if (rc == 0)
        rc = seed_row(p, line, n, reterr);
    rdn_free(&rdn_libc_mem, line, SEED_BYTES);
    if (rc < 0)
        return rdn_wrap(reterr, rc, "%s", path);
    undo(p, &first);
    for (uint32_t i = 0; i < p->ev_n; i++)
        p->ev[i].ts_event_ns = p->ev[i].ts_recv_ns = first.ts_event_ns - 1;
    p->ev[p->ev_n++] = first;                            /* no LAST before it: nobody saw the book then */
    return 0;
}

/* --- open and close --- */

static int open_file(struct rdn_reading *p, const struct rdn_reading_options *o, redan_feed_options *fo, redan_error *reterr) {
    int rc = rdn_source_open(&p->source, o->path, reterr);
    p->buf = rc == 0 ? rdn_market_reserve(BUF_BYTES) : NULL;
    if (rc == 0 && !p->buf)
        rc = rdn_fail(reterr, NOMEM, "", "no memory to read %s", o->path);
    if (rc == 0)
        rc = refill(p, reterr);
    if (rc < 0)
        return rdn_wrap(reterr, rc, "%s", o->path);
    if (!fo->format)
        fo->format = rdn_format_guess(o->path, p->buf, p->n);
    return fo->format ? 0 : rdn_fail(reterr, INVAL, "", "%s: its beginning is that of no known format: name one", o->path);
}

/* Formats that name no instrument. */
static bool is_of_one(const redan_feed *f) {
    const char *name = f->format->name;
    return strcmp(name, "lobster") == 0 || strcmp(name, "csv") == 0 || strcmp(name, "tick24") == 0;
}

/* The file's own name up to the first mark names its one instrument, when nobody else does. */
static int declare_by_name(struct rdn_reading *p, const struct rdn_reading_options *o, redan_error *reterr) {
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    const char *slash = strrchr(o->path, '/'), *name = slash ? slash + 1 : o->path;
    size_t n = strcspn(name, "_.- ");
    char symbol[RDN_SYMBOL_MAX + 1] = "-";
    uint32_t id;
    if (n)
        snprintf(symbol, sizeof symbol, "%.*s", (int)(n < RDN_SYMBOL_MAX ? n : RDN_SYMBOL_MAX), name);
    in.symbol = symbol;
    in.tick = o->feed.auto_tick;
    return redan_feed_instrument(p->feed, &in, &id, reterr);
}

static int declare(struct rdn_reading *p, const struct rdn_reading_options *o, redan_error *reterr) {
    if (!o->n && o->path && is_of_one(p->feed))
        return declare_by_name(p, o, reterr);
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t id;
        int rc = redan_feed_instrument(p->feed, &o->instruments[i], &id, reterr);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int rdn_reading_open(struct rdn_reading **ret, const struct rdn_reading_options *o, redan_error *reterr) {
    struct rdn_reading *p = rdn_zalloc(&rdn_libc_mem, sizeof *p);
    redan_feed_options fo = o->feed;
    if (!p)
        return rdn_fail(reterr, NOMEM, "", "no memory to read a market file");
    atomic_init(&p->refs, 1);
    pthread_mutex_init(&p->lock, NULL);
    if (fo.format && strcmp(fo.format, "auto") == 0)
        fo.format = NULL;
    int rc = o->path ? open_file(p, o, &fo, reterr) : 0;
    if (rc == 0)
        rc = redan_feed_open(&p->feed, &fo, reterr);
    if (rc == 0 && o->seed && strcmp(p->feed->format->name, "lobster") != 0)
        rc = rdn_fail(reterr, INVAL, "", "a row to begin with is for lobster files, this one is %s", p->feed->format->name);
    if (rc == 0)
        rc = declare(p, o, reterr);
    if (rc == 0 && o->seed)
        rc = seed(p, o->seed, reterr);
    if (rc < 0) {
        rdn_reading_unref(p);
        return rc;
    }
    p->ended = !o->path;
    *ret = p;
    return 0;
}

struct rdn_reading *rdn_reading_ref(struct rdn_reading *p) {
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void rdn_reading_unref(struct rdn_reading *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
        return;
    redan_feed_close(p->feed);
    rdn_source_close(p->source);
    rdn_market_release(p->buf, BUF_BYTES);
    pthread_mutex_destroy(&p->lock);
    rdn_free(&rdn_libc_mem, p, sizeof *p);
}
