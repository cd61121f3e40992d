/* SPDX-License-Identifier: Apache-2.0
 * feed_lobster.c: LOBSTER message files: time after midnight, type, order id, size, price x 10,000, side; no header, one
 * instrument a file.
 *
 *   1 new order  2 part cancelled  3 deleted  4 executed  5 hidden execution, often between ticks  7 halt
 *
 * A file begins inside the day: what stood before is seen only when it is taken away. Feed the book with a level event for each level of
 * the first order-book row, the first message undone, and let UNKNOWN_ID be BY_PRICE, which redan_feed_open does for this format. */
#include "market/decimal.h"
#include "market/feed.h"

enum { COLUMNS = 6, PX_SCALE = 4, SECOND_DIGITS = 9 };

static const struct { uint8_t action; uint16_t flags; } types[8] = {
    [1] = { REDAN_MARKET_ADD, 0 },     [2] = { REDAN_MARKET_REDUCE, 0 }, [3] = { REDAN_MARKET_DELETE, 0 },
    [4] = { REDAN_MARKET_EXECUTE, 0 }, [5] = { REDAN_MARKET_TRADE, REDAN_MF_HIDDEN }, [7] = { REDAN_MARKET_STATUS, 0 },
};

struct row { int64_t time, size, px, side; uint64_t type, id; };

static bool read_numbers(const struct rdn_text_cell c[COLUMNS], struct row *r) {
    bool rest[4];
    return rdn_decimal_read(c[0].p, c[0].n, SECOND_DIGITS, &r->time, &rest[0]) && rdn_decimal_u64(c[1].p, c[1].n, &r->type) &&
           rdn_decimal_u64(c[2].p, c[2].n, &r->id) && rdn_decimal_read(c[3].p, c[3].n, 0, &r->size, &rest[1]) &&
           rdn_decimal_read(c[4].p, c[4].n, 0, &r->px, &rest[2]) && rdn_decimal_read(c[5].p, c[5].n, 0, &r->side, &rest[3]) &&
           !rest[1] && !rest[2] && !rest[3];                /* times that went through a double have digits below a nanosecond */
}

/* One number of digits alone, and the comma behind it. */
static inline const char *whole(const char *s, const char *end, uint64_t *ret) {
    s = rdn_decimal_digits(s, end, 18, ret);
    return s && s < end && *s == ',' ? s + 1 : NULL;
}

/* "34200.017459617,5,0,1,2238200,-1" and nothing else: what nearly every line looks like, in one go. False says nothing about the line. */
static bool read_plain(const char *s, const char *end, struct row *r) {
    static const uint32_t tens[SECOND_DIGITS + 1] = { 1000000000, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1 };
    uint64_t seconds, part, size, px;
    const char *point = rdn_decimal_digits(s, end, 9, &seconds), *p;
    if (!point || point == end || *point != '.' || !(p = rdn_decimal_digits(point + 1, end, SECOND_DIGITS, &part)) || p == end || *p != ',')
        return false;
    r->time = (int64_t)(seconds * 1000000000 + part * tens[p - point - 1]);
    if (!(p = whole(p + 1, end, &r->type)) || !(p = whole(p, end, &r->id)) || !(p = whole(p, end, &size)) || !(p = whole(p, end, &px)))
        return false;
    r->size = (int64_t)size;
    r->px = (int64_t)px;
    r->side = p < end && *p == '-' ? -1 : 1;
    return end - p == 1 + (r->side < 0) && end[-1] == '1';
}

static bool read_row(struct redan_feed *f, const char *line, size_t n, struct row *r) {
    struct rdn_text_cell c[COLUMNS];
    if (read_plain(line, line + n, r))
        return true;
    if (rdn_feed_split(line, n, c, COLUMNS) != COLUMNS) {
        rdn_feed_fault(f, REDAN_FAULT_SHORT_INPUT);
        return false;
    }
    if (read_numbers(c, r) && r->time >= 0 && r->time <= RDN_DAY_MAX && (r->side == 1 || r->side == -1))
        return true;
    rdn_feed_fault(f, REDAN_FAULT_BAD_NUMBER);
    return false;
}

static uint32_t convert(struct redan_feed *f, const char *line, size_t n, redan_mevent *e) {
    struct row r;
    int64_t ticks = 0;
    if (!f->books.n) {
        rdn_feed_fault(f, REDAN_FAULT_WRONG_INSTRUMENT);
        return 0;
    }
    if (!read_row(f, line, n, &r))
        return 0;
    if (r.type > 7 || !types[r.type].action) {
        rdn_feed_fault(f, REDAN_FAULT_UNKNOWN_TYPE);
        return 0;
    }
    if (r.type == 5)
        ticks = rdn_ticks_round(r.px, PX_SCALE, f->instruments[0].tick_nano);
    else if (r.type != 7 && !rdn_feed_px(f, 0, r.px, PX_SCALE, &ticks))
        return 0;
    *e = (redan_mevent){ .ts_event_ns = f->date_ns + r.time, .ts_recv_ns = f->date_ns + r.time, .order_id = r.id, .px_ticks = ticks,
                         .qty_lots = r.size, .seq = ++f->seq, .action = types[r.type].action, .side = r.side == 1 ? REDAN_BID : REDAN_ASK,
                         .flags = REDAN_MF_LAST | types[r.type].flags };
    return 1;
}

size_t rdn_feed_lobster(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    return rdn_feed_line(f, in, len, out, ret_n, convert);
}
