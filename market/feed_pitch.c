/* SPDX-License-Identifier: Apache-2.0
 * feed_pitch.c: BATS PITCH text, a message a line: milliseconds after midnight, type, order id in base 36, and the rest by type. Prices
 * are x 10,000. Units merged into one file make clocks go back by a millisecond or two.
 *
 *   A  side, shares, symbol, price, display    45 bytes        X  shares                      27
 *   E  shares, execution id                    39              P  as A, execution id          56 */
#include <string.h>

#include "market/decimal.h"
#include "market/feed.h"

enum { TIME = 8, TYPE = 8, ID = 9, ID_DIGITS = 12, BODY = 21, SHARES = 6, SYMBOL = 6, PX = 10, PX_SCALE = 4 };

static bool base36(const char *s, unsigned n, uint64_t *ret) {
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        bool digit = s[i] >= '0' && s[i] <= '9', letter = s[i] >= 'A' && s[i] <= 'Z';
        if (!digit && !letter)
            return false;
        v = v * 36 + (uint64_t)(digit ? s[i] - '0' : s[i] - 'A' + 10);
    }
    *ret = v;                            /* 36^12 is below 2^63 */
    return true;
}

static bool number(const char *s, unsigned n, int64_t *ret) {
    uint64_t v = 0;
    bool ok = rdn_decimal_u64(s, n, &v);
    *ret = (int64_t)v;
    return ok;
}

static uint32_t refused(struct redan_feed *f, uint8_t fault) {
    rdn_feed_fault(f, fault);
    return 0;
}

/* A and P: a side, shares, a symbol and a price. */
static uint32_t placed(struct redan_feed *f, const char *s, redan_mevent *e) {
    int64_t px;
    const char *symbol = s + BODY + 1 + SHARES;
    e->side = s[BODY] == 'B' ? REDAN_BID : s[BODY] == 'S' ? REDAN_ASK : 0;
    if (!e->side || !number(s + BODY + 1, SHARES, &e->qty_lots) || !number(symbol + SYMBOL, PX, &px))
        return refused(f, REDAN_FAULT_BAD_NUMBER);
    e->instrument = rdn_feed_find(f, rdn_feed_symbol_key(symbol, SYMBOL), symbol, SYMBOL);
    if (e->instrument == UINT32_MAX)
        return 0;
    if (e->action == REDAN_MARKET_TRADE) {
        e->px_ticks = rdn_ticks_round(px, PX_SCALE, f->instruments[e->instrument].tick_nano);
        return 1;
    }
    return rdn_feed_px(f, e->instrument, px, PX_SCALE, &e->px_ticks);
}

static uint32_t convert(struct redan_feed *f, const char *s, size_t n, redan_mevent *e) {
    static const struct { char type; uint8_t bytes, action; } types[] = {
        { 'A', 45, REDAN_MARKET_ADD }, { 'X', 27, REDAN_MARKET_REDUCE }, { 'E', 39, REDAN_MARKET_EXECUTE }, { 'P', 56, REDAN_MARKET_TRADE },
    };
    size_t i = 0;
    int64_t ms;
    if (n <= TYPE)
        return refused(f, REDAN_FAULT_SHORT_INPUT);
    while (i < sizeof types / sizeof types[0] && types[i].type != s[TYPE])
        i++;
    if (i == sizeof types / sizeof types[0])
        return refused(f, REDAN_FAULT_UNKNOWN_TYPE);
    if (n != types[i].bytes)
        return refused(f, REDAN_FAULT_SHORT_INPUT);
    *e = (redan_mevent){ .instrument = REDAN_BY_ORDER, .action = types[i].action,
                         .flags = REDAN_MF_LAST | (f->filtered ? REDAN_MF_FILTERED : 0) };
    if (!number(s, TIME, &ms) || !base36(s + ID, ID_DIGITS, &e->order_id))
        return refused(f, REDAN_FAULT_BAD_NUMBER);
    e->seq = ++f->seq;
    e->ts_event_ns = e->ts_recv_ns = f->date_ns + ms * 1000000;
    if (types[i].bytes == 45 || types[i].bytes == 56)
        return placed(f, s, e);
    return number(s + BODY, SHARES, &e->qty_lots) ? 1 : refused(f, REDAN_FAULT_BAD_NUMBER);
}

size_t rdn_feed_pitch(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    return rdn_feed_line(f, in, len, out, ret_n, convert);
}
