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

static bool read_numbers(const struct rdn_text_cell c[COLUMNS], int64_t *time, uint64_t *type, uint64_t *id, int64_t *size, int64_t *px, int64_t *side) {
    bool rest[4];
    return rdn_decimal_read(c[0].p, c[0].n, SECOND_DIGITS, time, &rest[0]) && rdn_decimal_u64(c[1].p, c[1].n, type) &&
           rdn_decimal_u64(c[2].p, c[2].n, id) && rdn_decimal_read(c[3].p, c[3].n, 0, size, &rest[1]) &&
           rdn_decimal_read(c[4].p, c[4].n, 0, px, &rest[2]) && rdn_decimal_read(c[5].p, c[5].n, 0, side, &rest[3]) &&
           !rest[1] && !rest[2] && !rest[3];                /* times that went through a double have digits below a nanosecond */
}

static uint32_t convert(struct redan_feed *f, const char *line, size_t n, redan_mevent *e) {
    struct rdn_text_cell c[COLUMNS];
    int64_t time, size, px, side, ticks = 0;
    uint64_t type, id;
    if (!f->books.n) {
        rdn_feed_fault(f, REDAN_FAULT_WRONG_INSTRUMENT);
        return 0;
    }
    if (rdn_feed_split(line, n, c, COLUMNS) != COLUMNS) {
        rdn_feed_fault(f, REDAN_FAULT_SHORT_INPUT);
        return 0;
    }
    if (!read_numbers(c, &time, &type, &id, &size, &px, &side) || time < 0 || (side != 1 && side != -1)) {
        rdn_feed_fault(f, REDAN_FAULT_BAD_NUMBER);
        return 0;
    }
    if (type > 7 || !types[type].action) {
        rdn_feed_fault(f, REDAN_FAULT_UNKNOWN_TYPE);
        return 0;
    }
    if (type == 5)
        ticks = rdn_ticks_round(px, PX_SCALE, f->instruments[0].tick_nano);
    else if (type != 7 && !rdn_feed_px(f, 0, px, PX_SCALE, &ticks))
        return 0;
    *e = (redan_mevent){ .ts_event_ns = f->date_ns + time, .ts_recv_ns = f->date_ns + time, .order_id = id, .px_ticks = ticks,
                         .qty_lots = size, .seq = ++f->seq, .action = types[type].action, .side = side == 1 ? REDAN_BID : REDAN_ASK,
                         .flags = REDAN_MF_LAST | types[type].flags };
    return 1;
}

size_t rdn_feed_lobster(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    return rdn_feed_line(f, in, len, out, ret_n, convert);
}
