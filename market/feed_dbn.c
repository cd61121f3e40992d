/* SPDX-License-Identifier: Apache-2.0
 * feed_dbn.c: Databento DBN, versions 1 to 3: "DBN", version, length of the metadata, metadata; then records whose first byte is
 * their length in words of four bytes. Records of other types are skipped by that length.
 *
 * MBO actions are orders: F (fill) comes with a C or M of the same order and changes nothing; T is a trade. The other types are best
 * prices: a Q event a side, which is enough for a book of one level a side. */
#include <string.h>

#include "base/bytes.h"
#include "market/feed.h"

enum { HEAD = 8, META_MAX = 1 << 26, PX_SCALE = 9,
       MBP_0 = 0x00, MBP_1 = 0x01, MBP_10 = 0x0A, MBO = 0xA0, BBO_1S = 0xC3, BBO_1M = 0xC4 };
#define NO_PX INT64_MAX

/* What is read of a record: its least length, and where its parts stand. Level is 0 where the type has none. */
static const struct layout { uint8_t rtype; uint16_t bytes, px, size, action, side, flags, ts_recv, seq, order_id, level; } layouts[] = {
    { MBO,    56, 24, 32, 38, 39, 36, 40, 52, 16, 0 },
    { MBP_0,  48, 16, 24, 28, 29, 30, 32, 44, 0, 0 },
    { MBP_1,  80, 16, 24, 28, 29, 30, 32, 44, 0, 48 },
    { MBP_10, 368, 16, 24, 28, 29, 30, 32, 44, 0, 48 },
    { BBO_1S, 80, 16, 24, 0, 29, 30, 32, 44, 0, 48 },
    { BBO_1M, 80, 16, 24, 0, 29, 30, 32, 44, 0, 48 },
};

static uint8_t mbo_action(unsigned char c) {
    switch (c) {
    case 'A': return REDAN_MARKET_ADD;
    case 'C': return REDAN_MARKET_REDUCE;
    case 'M': return REDAN_MARKET_MODIFY;
    case 'R': return REDAN_MARKET_CLEAR;
    case 'T': return REDAN_MARKET_TRADE;
    case 'F': return REDAN_MARKET_FILL;
    default:  return 0;
    }
}

static uint8_t side_of(unsigned char c) { return c == 'B' ? REDAN_BID : c == 'A' ? REDAN_ASK : 0; }

/* Ticks of a price that may be none; false: refused. */
static bool ticks(struct redan_feed *f, uint32_t instrument, int64_t px, int64_t *ret) {
    *ret = 0;
    return px == NO_PX || rdn_feed_px(f, instrument, px, PX_SCALE, ret);
}

static uint32_t order_event(struct redan_feed *f, const unsigned char *in, const struct layout *l, redan_mevent *e) {
    e->action = mbo_action(in[l->action]);
    e->side = side_of(in[l->side]);
    e->order_id = rdn_le64(in + l->order_id);
    e->qty_lots = rdn_le32(in + l->size);
    if (in[l->action] == 'N')
        return 0;
    if (!e->action) {
        rdn_feed_fault(f, REDAN_FAULT_UNKNOWN_TYPE);
        return 0;
    }
    return ticks(f, e->instrument, (int64_t)rdn_le64(in + l->px), &e->px_ticks);
}

/* The best prices after a record, and before them its trade, if it is one. */
static uint32_t quote_events(struct redan_feed *f, const unsigned char *in, const struct layout *l, const redan_mevent *proto, redan_mevent *out) {
    uint32_t n = 0;
    redan_mevent e = *proto;
    e.flags &= (uint16_t)~REDAN_MF_LAST;
    if (l->action ? in[l->action] == 'T' : false) {
        out[n] = e;
        out[n].action = REDAN_MARKET_TRADE;
        out[n].side = side_of(in[l->side]);
        out[n].qty_lots = rdn_le32(in + l->size);
        n += ticks(f, e.instrument, (int64_t)rdn_le64(in + l->px), &out[n].px_ticks);
    }
    for (unsigned i = 0; l->level && i < 2; i++) {
        int64_t px = (int64_t)rdn_le64(in + l->level + 8 * i);
        out[n] = e;
        out[n].action = REDAN_MARKET_QUOTE;
        out[n].side = (uint8_t)(REDAN_BID + i);
        out[n].qty_lots = px == NO_PX ? 0 : rdn_le32(in + l->level + 16 + 4 * i);
        out[n].flags |= REDAN_MF_TOB;
        n += ticks(f, e.instrument, px, &out[n].px_ticks);
    }
    if (n)
        out[n - 1].flags |= proto->flags & REDAN_MF_LAST;
    return n;
}

static uint32_t convert(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out) {
    const struct layout *l = NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].rtype == in[1])
            l = &layouts[i];
    if (!l)
        return 0;
    if (len < l->bytes) {
        rdn_feed_fault(f, REDAN_FAULT_SHORT_INPUT);
        return 0;
    }
    uint32_t number = rdn_le32(in + 4), instrument = rdn_feed_find(f, number, "", 0);
    if (instrument == UINT32_MAX)
        return 0;
    redan_mevent e = { .ts_event_ns = (int64_t)rdn_le64(in + 8), .ts_recv_ns = (int64_t)rdn_le64(in + l->ts_recv), .instrument = instrument,
                       .seq = rdn_le32(in + l->seq), .flags = in[l->flags] };
    if (l->rtype != MBO)
        return quote_events(f, in, l, &e, out);
    *out = e;
    return order_event(f, in, l, out);
}

static size_t read_head(struct redan_feed *f, const unsigned char *in, size_t len) {
    if (len < HEAD)
        return 0;
    uint32_t meta = rdn_le32(in + 4);
    if (memcmp(in, "DBN", 3) != 0 || in[3] < 1 || in[3] > 3 || meta > META_MAX) {
        rdn_feed_fault(f, REDAN_FAULT_UNKNOWN_TYPE);
        f->dead = true;
        return len;
    }
    if (len - HEAD < meta)
        return 0;
    f->head[0] = 1;
    return HEAD + meta;
}

size_t rdn_feed_dbn(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    if (!f->head[0])
        return read_head(f, in, len);
    size_t n = in[0] * 4u;
    if (n < 16) {                        /* no record has less than its head: nothing says where the next one begins */
        rdn_feed_fault(f, REDAN_FAULT_SHORT_INPUT);
        f->dead = true;
        return len;
    }
    if (len < n)
        return 0;
    *ret_n = convert(f, in, n, out);
    return n;
}
