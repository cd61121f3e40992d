/* SPDX-License-Identifier: Apache-2.0
 * feed_csv.c: best prices as text, one instrument a file. Two kinds:
 *
 *   a head line with ts (or timestamp), bid and ask in any order among others: ts is nanoseconds since 1970, or a time in UTC such as
 *   2013-01-01 22:00:00.295+00:00
 *   no head line: Lean's milliseconds after midnight, bid, ask
 *
 * An empty price is an absent side. Rows become two Q events. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "market/decimal.h"
#include "market/feed.h"

enum { MOST_COLUMNS = 64, MS_DIGITS = 6, LONGEST_TIME = 48, TS = 1, BID = 2, ASK = 3 };      /* in head[]: column + 1 of each; [0]: 1 with, 2 without head */

static void read_head(struct redan_feed *f, const char *line, size_t n) {
    struct rdn_text_cell c[MOST_COLUMNS];
    unsigned k = rdn_feed_split(line, n, c, MOST_COLUMNS);
    static const struct { const char *name; unsigned at; } names[] = { { "ts", TS }, { "timestamp", TS }, { "bid", BID }, { "ask", ASK } };
    f->head[0] = 1;
    for (unsigned i = 0; i < k && i < MOST_COLUMNS; i++)
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
            if (c[i].n == strlen(names[j].name) && strncasecmp(c[i].p, names[j].name, c[i].n) == 0)
                f->head[names[j].at] = (unsigned char)(i + 1);
    if (f->head[TS] && f->head[BID] && f->head[ASK])
        return;
    rdn_feed_fault(f, REDAN_FAULT_UNKNOWN_TYPE);
    f->dead = true;
}

/* "2013-01-01 22:00:00.295000+00:00" as the language writes times: T between, Z at the end. */
static bool read_utc(struct rdn_text_cell c, int64_t *ret) {
    char t[LONGEST_TIME];
    size_t n = c.n;
    if (n < 11 || n >= sizeof t)
        return false;
    memcpy(t, c.p, n);
    if (t[10] == ' ')
        t[10] = 'T';
    if (n > 6 && (memcmp(t + n - 6, "+00:00", 6) == 0 || memcmp(t + n - 6, "-00:00", 6) == 0))
        n -= 6;
    if (t[n - 1] != 'Z')
        t[n++] = 'Z';
    return rdn_read_time(t, n, ret);
}

static bool read_ts(struct redan_feed *f, struct rdn_text_cell c, int64_t *ret) {
    uint64_t ns;
    bool rest;
    if (f->head[0] == 2) {
        if (!rdn_decimal_read(c.p, c.n, MS_DIGITS, ret, &rest) || rest || *ret < 0 || *ret > RDN_DAY_MAX)
            return false;
        *ret += f->date_ns;
        return true;
    }
    if (rdn_decimal_u64(c.p, c.n, &ns) && ns <= INT64_MAX) {
        *ret = (int64_t)ns;
        return true;
    }
    return read_utc(c, ret);
}

/* Ticks of a price, 0 where there is none. */
static bool price(struct redan_feed *f, struct rdn_text_cell c, int64_t *ret) {
    int64_t px;
    bool rest;
    *ret = 0;
    if (!c.n)
        return true;
    if (!rdn_decimal_read(c.p, c.n, RDN_DECIMAL_SCALE, &px, &rest) || rest || px <= 0) {
        rdn_feed_fault(f, REDAN_FAULT_BAD_NUMBER);
        return false;
    }
    return rdn_feed_px(f, 0, px, RDN_DECIMAL_SCALE, ret);
}

static uint32_t convert(struct redan_feed *f, const char *line, size_t n, redan_mevent *out) {
    struct rdn_text_cell c[MOST_COLUMNS];
    int64_t ts, px[2];
    if (!f->head[0] && isalpha((unsigned char)line[0])) {
        read_head(f, line, n);
        return 0;
    }
    if (!f->head[0])
        memcpy(f->head, (const unsigned char[]){ 2, 1, 2, 3 }, 4);
    unsigned k = rdn_feed_split(line, n, c, MOST_COLUMNS);
    if (!f->books.n || k < f->head[TS] || k < f->head[BID] || k < f->head[ASK] || k > MOST_COLUMNS) {
        rdn_feed_fault(f, f->books.n ? REDAN_FAULT_SHORT_INPUT : REDAN_FAULT_WRONG_INSTRUMENT);
        return 0;
    }
    if (!read_ts(f, c[f->head[TS] - 1], &ts)) {
        rdn_feed_fault(f, REDAN_FAULT_BAD_NUMBER);
        return 0;
    }
    if (!price(f, c[f->head[BID] - 1], &px[0]) || !price(f, c[f->head[ASK] - 1], &px[1]))
        return 0;
    return rdn_feed_quotes(f, ts, px[0], px[1], out);
}

size_t rdn_feed_csv(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    return rdn_feed_line(f, in, len, out, ret_n, convert);
}
