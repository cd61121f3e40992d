/* SPDX-License-Identifier: Apache-2.0
 * enc_itch50.c: writes what feed_itch50.c reads. */
#include "market/enc_itch50.h"

#include "base/bytes.h"

enum { BODY = 13, SIDE = BODY + 8 };                     /* two bytes of length, eleven of head; a reference */

static void symbol(const struct rdn_itch50_out *o, unsigned char *p) {
    size_t n = strlen(o->symbol);
    memset(p, ' ', 8);
    memcpy(p, o->symbol, n < 8 ? n : 8);
}

/* What A and P begin with after the reference: side, shares, stock, price. */
static void placed(const struct rdn_itch50_out *o, const redan_mevent *e, unsigned char *p) {
    p[SIDE] = e->side == REDAN_BID ? 'B' : 'S';
    rdn_put_be32(p + SIDE + 1, (uint32_t)e->qty_lots);
    symbol(o, p + SIDE + 5);
    rdn_put_be32(p + SIDE + 13, (uint32_t)(e->px_ticks * o->px_per_tick));
}

size_t rdn_itch50_write(const struct rdn_itch50_out *o, const redan_mevent *e, unsigned char *p) {
    size_t n;
    unsigned char type = e->action == REDAN_MARKET_TRADE ? 'P' : e->action;
    memset(p, 0, RDN_ITCH50_MAX);
    rdn_put_be64(p + BODY, e->order_id);
    switch (e->action) {
    case REDAN_MARKET_ADD:
        placed(o, e, p);
        n = 36;
        break;
    case REDAN_MARKET_EXECUTE:
        rdn_put_be32(p + BODY + 8, (uint32_t)e->qty_lots);
        rdn_put_be64(p + BODY + 12, e->other_id);
        n = 31;
        break;
    case REDAN_MARKET_REDUCE:
        rdn_put_be32(p + BODY + 8, (uint32_t)e->qty_lots);
        n = 23;
        break;
    case REDAN_MARKET_DELETE:
        n = 19;
        break;
    case REDAN_MARKET_REPLACE:
        rdn_put_be64(p + BODY, e->other_id);
        rdn_put_be64(p + BODY + 8, e->order_id);
        rdn_put_be32(p + BODY + 16, (uint32_t)e->qty_lots);
        rdn_put_be32(p + BODY + 20, (uint32_t)(e->px_ticks * o->px_per_tick));
        n = 35;
        break;
    case REDAN_MARKET_TRADE:
        placed(o, e, p);
        rdn_put_be64(p + SIDE + 17, e->other_id);
        n = 44;
        break;
    default:
        return 0;
    }
    rdn_put_be16(p, (uint16_t)n);
    p[2] = type;
    rdn_put_be16(p + 3, o->locate);
    rdn_put_be16(p + 5, o->tracking);
    rdn_put_be48(p + 7, (uint64_t)(e->ts_event_ns - o->date_ns));
    return n + 2;
}
