/* SPDX-License-Identifier: Apache-2.0
 * feed_itch50.c: NASDAQ TotalView-ITCH 5.0 in BinaryFILE frames. Big endian; prices x 10,000; times are nanoseconds after the
 * midnight that the feed was opened with. Message types are rows of itch50.def.
 *
 * Each message has a locate code, which the day's directory message (R) gives to a stock. Messages before it, as in a file that begins
 * inside the day, are about the instrument whose number the locate code is. */
#include "base/bytes.h"
#include "market/decimal.h"
#include "market/feed.h"

enum { PX_SCALE = 4, LOCATE = 1, TIME = 5, BODY = 11, SYMBOL = 8 };

/* One message on its way. */
struct message { struct redan_feed *f; const unsigned char *in; redan_mevent *e; };

static bool price(struct message *m, unsigned at) {
    return rdn_feed_px(m->f, m->e->instrument, rdn_be32(m->in + at), PX_SCALE, &m->e->px_ticks);
}

static uint32_t skip(struct message *m) { (void)m; return 0; }

static uint32_t directory(struct message *m) {
    rdn_feed_locate(m->f, rdn_be16(m->in + LOCATE), (const char *)m->in + BODY, SYMBOL);
    return 0;
}

static uint32_t status(struct message *m) {
    m->e->action = REDAN_MARKET_STATUS;
    m->e->other_id = m->in[BODY + SYMBOL];               /* H halted, P paused, Q quotation only, T trading */
    return 1;
}

static uint32_t add(struct message *m) {
    m->e->action = REDAN_MARKET_ADD;
    m->e->order_id = rdn_be64(m->in + BODY);
    m->e->side = m->in[19] == 'B' ? REDAN_BID : m->in[19] == 'S' ? REDAN_ASK : 0;
    m->e->qty_lots = rdn_be32(m->in + 20);
    return price(m, 32);
}

/* Executions and cancellations: an order loses shares. */
static uint32_t reduce(struct message *m) {
    m->e->action = REDAN_MARKET_REDUCE;
    m->e->order_id = rdn_be64(m->in + BODY);
    m->e->qty_lots = rdn_be32(m->in + 19);
    return 1;
}

static uint32_t execute(struct message *m) {
    reduce(m);
    m->e->action = REDAN_MARKET_EXECUTE;
    m->e->other_id = rdn_be64(m->in + 23);
    return 1;
}

/* The order loses shares; the trade is at another price. */
static uint32_t execute_at(struct message *m) {
    execute(m);
    redan_mevent *t = m->e + 1;
    *t = *m->e;
    t->action = REDAN_MARKET_TRADE;
    m->e->flags &= (uint16_t)~REDAN_MF_LAST;
    t->px_ticks = rdn_ticks_round(rdn_be32(m->in + 32), PX_SCALE, m->f->instruments[t->instrument].tick_nano);
    return 2;
}

static uint32_t delete(struct message *m) {
    m->e->action = REDAN_MARKET_DELETE;
    m->e->order_id = rdn_be64(m->in + BODY);
    return 1;
}

static uint32_t replace(struct message *m) {
    m->e->action = REDAN_MARKET_REPLACE;
    m->e->other_id = rdn_be64(m->in + BODY);
    m->e->order_id = rdn_be64(m->in + 19);
    m->e->qty_lots = rdn_be32(m->in + 27);
    return price(m, 31);
}

static uint32_t trade(struct message *m) {
    m->e->action = REDAN_MARKET_TRADE;
    m->e->flags |= REDAN_MF_HIDDEN;
    m->e->order_id = rdn_be64(m->in + BODY);
    m->e->side = m->in[19] == 'B' ? REDAN_BID : REDAN_ASK;
    m->e->qty_lots = rdn_be32(m->in + 20);
    m->e->px_ticks = rdn_ticks_round(rdn_be32(m->in + 32), PX_SCALE, m->f->instruments[m->e->instrument].tick_nano);
    m->e->other_id = rdn_be64(m->in + 36);
    return 1;
}

static uint32_t cross(struct message *m) {
    uint64_t shares = rdn_be64(m->in + BODY);
    m->e->action = REDAN_MARKET_TRADE;
    m->e->qty_lots = (int64_t)(shares > INT64_MAX ? INT64_MAX : shares);
    m->e->px_ticks = rdn_ticks_round(rdn_be32(m->in + 27), PX_SCALE, m->f->instruments[m->e->instrument].tick_nano);
    m->e->other_id = rdn_be64(m->in + 31);
    return shares > 0;
}

static const struct { uint16_t bytes; uint32_t (*read)(struct message *); } types[256] = {
#define ITCH(type, bytes, reader, doc) [type] = { bytes, reader },
#include "market/itch50.def"
#undef ITCH
};

unsigned rdn_itch50_bytes(unsigned char type) { return types[type].bytes; }

uint32_t rdn_feed_itch50_message(struct redan_feed *f, const unsigned char *in, size_t n, redan_mevent *e) {
    if (!n || n != types[in[0]].bytes) {
        rdn_feed_fault(f, n && !types[in[0]].read ? REDAN_FAULT_UNKNOWN_TYPE : REDAN_FAULT_SHORT_INPUT);
        return 0;
    }
    struct message m = { f, in, e };
    if (types[in[0]].read == skip || types[in[0]].read == directory)
        return types[in[0]].read(&m);
    uint32_t instrument = rdn_feed_located(f, rdn_be16(in + LOCATE));
    if (instrument == UINT32_MAX)
        return 0;
    int64_t ts = f->date_ns + (int64_t)rdn_be48(in + TIME);
    *e = (redan_mevent){ .ts_event_ns = ts, .ts_recv_ns = ts, .seq = f->seq, .instrument = instrument, .flags = REDAN_MF_LAST };
    return types[in[0]].read(&m);
}

size_t rdn_feed_itch50(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    if (len < 2 || len - 2 < rdn_be16(in))
        return 0;
    f->seq++;
    *ret_n = rdn_feed_itch50_message(f, in + 2, rdn_be16(in), out);
    return 2u + rdn_be16(in);
}
