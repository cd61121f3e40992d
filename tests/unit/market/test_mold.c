/* SPDX-License-Identifier: Apache-2.0
 * MoldUDP64 over loopback: packets lost, doubled and swapped. What comes out is either the book of the whole stream or an invalid one,
 * until a snapshot mends it. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "market/enc_itch50.h"
#include "market/feed.h"
#include "tests/unit/market/feed_kit.h"

enum { MESSAGES = 3000, PER_PACKET = 10, PACKETS = MESSAGES / PER_PACKET, MS = 1000000 };
static struct { unsigned char bytes[RDN_ITCH50_MAX]; uint32_t n; redan_mevent e; } all[MESSAGES + 1];        /* from 1; length of two bytes in front */
static const struct rdn_itch50_out to = { 1, 0, "AAPL", 0, 100 };

/* Orders come and go near 100.00; at most 40 live ones. */
static void make_messages(void) {
    uint64_t live[64], id = 1;
    uint32_t n = 0, seed = 7;
    for (uint32_t i = 1; i <= MESSAGES; i++) {
        uint32_t r = seed = seed * 1664525 + 1013904223, k = n ? (r >> 8) % n : 0;
        redan_mevent e = { .ts_event_ns = 1000 * (int64_t)i, .order_id = n ? live[k] : 0, .qty_lots = 1 };
        if (n < 5 || (n < 40 && r >> 31)) {
            e.action = REDAN_MARKET_ADD;
            e.side = r >> 30 & 1 ? REDAN_BID : REDAN_ASK;
            e.order_id = live[n++] = id++;
            e.px_ticks = e.side == REDAN_BID ? 9999 - (r >> 20) % 20 : 10001 + (r >> 20) % 20;
            e.qty_lots = 50 + (r >> 12) % 50;
        } else if (r >> 29 & 1) {
            e.action = REDAN_MARKET_DELETE;
            live[k] = live[--n];
        } else {
            e.action = REDAN_MARKET_REPLACE;
            e.other_id = live[k];
            e.order_id = live[k] = id++;
            e.px_ticks = 10000;                          /* on the side it was: locks at times, never mind */
            e.qty_lots = 7;
        }
        all[i].e = e;
        all[i].n = (uint32_t)rdn_itch50_write(&to, &e, all[i].bytes);
        assert_true(all[i].n > 2);
    }
}

static redan_feed *open_feed(const char *format) { return kit_open(format, "AAPL", 1); }

/* Messages first..first + n - 1 as a packet. */
static size_t packet(unsigned char *out, const char *session, uint64_t first, unsigned n) {
    size_t at = RDN_MOLD_HEAD;
    memcpy(out, session, 10);
    rdn_put_be64(out + 10, first);
    rdn_put_be16(out + 18, (uint16_t)n);
    for (unsigned i = 0; i < n && n != 0xffff; i++) {
        memcpy(out + at, all[first + i].bytes, all[first + i].n);
        at += all[first + i].n;
    }
    return at;
}

/* A book of everything up to message `last`, right by construction: no packets. */
static redan_feed *right_book(uint64_t last) {
    redan_feed *f = open_feed("itch50");
    redan_mevent ev[16];
    size_t used;
    for (uint64_t i = 1; i <= last; i++) {
        assert_int_equal(redan_feed_decode(f, all[i].bytes, all[i].n, ev, 16, &used), 1);
        redan_feed_apply(f, ev, 1, NULL);
    }
    return f;
}

static bool same_book(const redan_feed *a, const redan_feed *b) {
    redan_book_level x[128], y[128];
    for (uint32_t side = REDAN_BID; side <= REDAN_ASK; side++) {
        uint32_t n = redan_book_levels(a, 0, side, x, 128);
        if (n != redan_book_levels(b, 0, side, y, 128) || memcmp(x, y, n * sizeof x[0]) != 0)
            return false;
    }
    return true;
}

struct wire { int send, recv; struct sockaddr_in to; };
static void wire_open(struct wire *w) {
    socklen_t n = sizeof w->to;
    w->send = socket(AF_INET, SOCK_DGRAM, 0);
    w->recv = socket(AF_INET, SOCK_DGRAM, 0);
    w->to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    assert_true(w->send >= 0 && w->recv >= 0 && bind(w->recv, (struct sockaddr *)&w->to, sizeof w->to) == 0);
    assert_int_equal(getsockname(w->recv, (struct sockaddr *)&w->to, &n), 0);
}
static void wire_close(struct wire *w) {
    close(w->send);
    close(w->recv);
}

static uint64_t drain(redan_feed *f) {
    redan_mevent ev[64];
    size_t used;
    uint64_t n = 0;
    for (uint32_t k; (k = redan_feed_decode(f, NULL, 0, ev, 64, &used)) != 0; n += k)
        redan_feed_apply(f, ev, k, NULL);
    return n;
}

/* Over the socket and into the feed. */
static void deliver(struct wire *w, redan_feed *f, int64_t now, const unsigned char *p, size_t n) {
    unsigned char got[2048];
    assert_int_equal(sendto(w->send, p, n, 0, (struct sockaddr *)&w->to, sizeof w->to), n);
    ssize_t k = recv(w->recv, got, sizeof got, 0);
    assert_int_equal(k, n);
    assert_int_equal(redan_feed_packet(f, now, got, (size_t)k), 0);
    drain(f);
}

enum { LOSE = 1, TWICE = 2, SWAP = 4, LATE = 8, AGAIN = 16 };       /* what becomes of every 7th packet */

/* Sends all packets, 1 ms apart, the 7th of seven as the row says; asks again for what is missing when AGAIN. */
static void send_all(struct wire *w, redan_feed *f, unsigned what) {
    unsigned char p[2048], other[2048];
    redan_feed_gap gap;
    for (unsigned i = 0; i < PACKETS; i++) {
        int64_t now = (int64_t)(i + 1) * MS;
        size_t n = packet(p, "SESSION001", 1 + i * PER_PACKET, PER_PACKET);
        if (i % 7 == 3 && (what & LOSE))
            continue;
        if (i % 7 == 3 && (what & (SWAP | LATE))) {      /* behind the next one, or the next but five */
            unsigned by = what & SWAP ? 1 : 5;
            for (unsigned k = 1; k <= by && i + k < PACKETS; k++)
                deliver(w, f, now, other, packet(other, "SESSION001", 1 + (i + k) * PER_PACKET, PER_PACKET));
            deliver(w, f, now, p, n);
            i += by;
            continue;
        }
        deliver(w, f, now, p, n);
        if (i % 7 == 3 && (what & TWICE))
            deliver(w, f, now, p, n);
        if ((what & AGAIN) && redan_feed_missing(f, &gap)) {
            check(!memcmp(gap.session, "SESSION001", 10) && gap.count == PER_PACKET, "%lu from %lu", gap.count, gap.seq);
            deliver(w, f, now, other, packet(other, gap.session, gap.seq, (unsigned)gap.count));
        }
    }
}

/* What can be put in order is the whole stream; what is lost for good makes the book invalid. */
static void disorder(void **state) {
    (void)state;
    static const struct { unsigned what; bool valid; uint64_t old, gaps; } rows[] = {
        { 0, true, 0, 0 }, { TWICE, true, 43, 0 }, { SWAP, true, 0, 0 }, { LATE, true, 0, 0 }, { LOSE | AGAIN, true, 0, 0 }, { LOSE, false, 0, 1 },
    };
    redan_feed *right = right_book(MESSAGES);
    for each (i, rows) {
        struct wire w;
        redan_feed *f = open_feed("moldudp64");
        redan_feed_stats st;
        wire_open(&w);
        send_all(&w, f, rows[i].what);
        redan_feed_stats_get(f, &st);
        check(((kit_flags(f) & REDAN_BOOK_VALID) != 0) == rows[i].valid, "row %zu: flags %x", i, kit_flags(f));
        check(same_book(f, right) == rows[i].valid, "row %zu", i);
        check(st.faults[REDAN_FAULT_SEQ_OLD] == rows[i].old, "row %zu: %lu old", i, st.faults[REDAN_FAULT_SEQ_OLD]);
        check(rows[i].gaps ? st.faults[REDAN_FAULT_SEQ_GAP] > 0 : !st.faults[REDAN_FAULT_SEQ_GAP], "row %zu: %lu gaps", i, st.faults[REDAN_FAULT_SEQ_GAP]);
        wire_close(&w);
        redan_feed_close(f);
    }
    redan_feed_close(right);
}

/* The control: without numbers, the book that misses a packet looks like any other. */
static void nobody_looks(void **state) {
    (void)state;
    redan_feed *right = right_book(MESSAGES), *f = open_feed("itch50");
    redan_mevent ev[16];
    size_t used;
    for (unsigned i = 1; i <= MESSAGES; i++)
        if ((i - 1) / PER_PACKET % 7 != 3) {
            uint32_t n = redan_feed_decode(f, all[i].bytes, all[i].n, ev, 16, &used);
            redan_feed_apply(f, ev, n, NULL);
        }
    check((kit_flags(f) & REDAN_BOOK_VALID) && !same_book(f, right), "flags %x", kit_flags(f));
    redan_feed_close(f);
    redan_feed_close(right);
}

/* The orders that are live before message `next`, as GLIMPSE sends them. */
static size_t snapshot(unsigned char *out, uint64_t next) {
    size_t n = 0;
    for (uint64_t i = 1; i < next; i++) {
        bool gone = false;
        redan_mevent e = all[i].e;
        if (e.action == REDAN_MARKET_DELETE)
            continue;
        for (uint64_t k = i + 1; k < next && !gone; k++)
            gone = all[k].e.action == REDAN_MARKET_DELETE ? all[k].e.order_id == e.order_id :
                   all[k].e.action == REDAN_MARKET_REPLACE && all[k].e.other_id == e.order_id;
        for (uint64_t k = i; !gone && e.action == REDAN_MARKET_REPLACE && k > 0; k--)        /* its side is that of the first of its chain */
            if (all[k].e.order_id == e.other_id && all[k].e.action != REDAN_MARKET_DELETE) {
                e.side = all[k].e.side;
                e.other_id = all[k].e.other_id;
                if (all[k].e.action == REDAN_MARKET_ADD)
                    break;
            }
        if (gone)
            continue;
        e.action = REDAN_MARKET_ADD;
        n += rdn_itch50_write(&to, &e, out + n);
    }
    rdn_put_be16(out + n, 21);
    snprintf((char *)out + n + 2, 22, "G%20lu", next);
    return n + 23;
}

static void take_snapshot(redan_feed *f, uint64_t next, size_t piece) {
    static unsigned char bytes[1 << 16];
    size_t len = snapshot(bytes, next), at = 0, end = piece, used;
    redan_mevent ev[32];
    while (at < len) {
        end = end < len ? end : len;
        uint32_t n = redan_feed_snapshot(f, bytes + at, end - at, ev, 32, &used);
        at += used;
        redan_feed_apply(f, ev, n, NULL);
        check(!at || at == len || !(kit_flags(f) & REDAN_BOOK_VALID), "valid in the middle of a snapshot, %zu of %zu", at, len);
        end += n || used ? 0 : piece;
    }
    drain(f);
}

/* A loss, a snapshot that is too old, one that is not, and one that nobody needed. */
static void resync(void **state) {
    (void)state;
    static const size_t pieces[] = { 1 << 16, 100, 7 };
    for each (row, pieces) {
        redan_feed *f = open_feed("moldudp64"), *right = right_book(MESSAGES);
        unsigned char p[2048];
        redan_feed_gap gap;
        redan_feed_stats st;
        for (unsigned i = 0; i < PACKETS; i++) {
            if (i != 100)
                assert_int_equal(redan_feed_packet(f, (int64_t)(i + 1) * MS, p, packet(p, "SESSION001", 1 + i * PER_PACKET, PER_PACKET)), 0);
            drain(f);
            check(i < 100 || i > 120 || (redan_feed_missing(f, &gap) != 0) == (i > 100), "packet %u", i);
            check((i >= 122 && i < 205) == !(kit_flags(f) & REDAN_BOOK_VALID) || (i > 100 && i <= 122), "packet %u: flags %x", i, kit_flags(f));
            if (i == 150)
                take_snapshot(f, 1005, pieces[row]);     /* message 1,011 is the first after the loss */
            if (i == 204) {
                take_snapshot(f, 1800, pieces[row]);
                check(kit_flags(f) & REDAN_BOOK_VALID, "flags %x", kit_flags(f));
            }
            if (i == 250)
                take_snapshot(f, 2511, pieces[row]);
            if (i == 260)
                take_snapshot(f, 2651, pieces[row]);     /* ahead of us: what it holds is not applied again */
        }
        redan_feed_stats_get(f, &st);
        check((kit_flags(f) & REDAN_BOOK_VALID) && same_book(f, right), "piece %zu: flags %x", pieces[row], kit_flags(f));
        check(!st.faults[REDAN_FAULT_UNKNOWN_ID] && !st.faults[REDAN_FAULT_DUP_ADD], "%lu unknown, %lu twice", st.faults[REDAN_FAULT_UNKNOWN_ID],
              st.faults[REDAN_FAULT_DUP_ADD]);
        redan_feed_close(f);
        redan_feed_close(right);
    }
}

/* An instrument that a snapshot is the first to name is as valid as the others at its end. */
static void named_by_snapshot(void **state) {
    (void)state;
    redan_feed_options o = REDAN_FEED_OPTIONS_INIT;
    redan_feed *f;
    redan_error err;
    redan_mevent ev[32];
    unsigned char p[2048];
    size_t n = packet(p, "SESSION001", 101, 10), used;
    o.format = "moldudp64";
    o.max_orders = 64;
    o.auto_tick = "0.01";
    check(redan_feed_open(&f, &o, &err) == 0, "%s", err.text);
    redan_feed_packet(f, 1, p, n);
    redan_feed_end(f);
    drain(f);
    memset(p, 0, sizeof p);
    rdn_put_be16(p, 39);
    p[2] = 'R';
    rdn_put_be16(p + 3, 1);
    memcpy(p + 13, "AAPL    ", 8);
    n = 41 + all[1].n;
    memcpy(p + 41, all[1].bytes, all[1].n);
    rdn_put_be16(p + n, 21);
    snprintf((char *)p + n + 2, 22, "G%20u", 111);
    uint32_t k = redan_feed_snapshot(f, p, n + 23, ev, 32, &used);
    redan_feed_apply(f, ev, k, NULL);
    drain(f);
    redan_book_line_data l = { 0 };                      /* 0 is the number that the first packet had, before anybody named it */
    check(used == n + 23 && redan_book_line(f, 1, &l) == 0 && (l.flags & REDAN_BOOK_VALID) && l.ask_px && !strcmp(redan_feed_symbol(f, 1), "AAPL"),
          "%u events, flags %x", k, l.flags);
    redan_feed_close(f);
}

/* Heartbeats tell of a loss at the end; a session that begins late is not valid, a new one begins anew. */
static void sessions(void **state) {
    (void)state;
    unsigned char p[2048];
    redan_feed *f = open_feed("moldudp64"), *right = right_book(20);
    redan_feed_gap gap;
    assert_int_equal(redan_feed_packet(f, 1 * MS, p, packet(p, "MONDAY    ", 1, 10)), 0);
    assert_int_equal(redan_feed_packet(f, 1 * MS, p, packet(p, "MONDAY    ", 1, 10)), REDAN_E_BUSY);
    drain(f);
    check(kit_flags(f) & REDAN_BOOK_VALID, "flags %x", kit_flags(f));
    redan_feed_packet(f, 2 * MS, p, packet(p, "MONDAY    ", 21, 0));
    drain(f);
    check(redan_feed_missing(f, &gap) && gap.seq == 11 && gap.count == 10 && gap.since_ns == 2 * MS, "%lu from %lu", gap.count, gap.seq);
    redan_feed_packet(f, 30 * MS, NULL, 0);
    drain(f);
    check(!(kit_flags(f) & REDAN_BOOK_VALID) && !redan_feed_missing(f, &gap), "flags %x", kit_flags(f));
    redan_feed_packet(f, 31 * MS, p, packet(p, "TUESDAY   ", 1, 20));
    drain(f);
    check((kit_flags(f) & REDAN_BOOK_VALID) && same_book(f, right), "flags %x", kit_flags(f));
    redan_feed_packet(f, 32 * MS, p, packet(p, "TUESDAY   ", 21, 0xffff));
    drain(f);
    check((kit_flags(f) & REDAN_BOOK_VALID) && !redan_feed_missing(f, &gap), "the end of a session is no gap: flags %x", kit_flags(f));
    redan_feed_packet(f, 33 * MS, p, packet(p, "WEDNESDAY ", 101, 10));
    drain(f);
    check(!(kit_flags(f) & REDAN_BOOK_VALID), "a session seen from its middle: flags %x", kit_flags(f));
    redan_feed_end(f);
    drain(f);
    check(!(kit_flags(f) & REDAN_BOOK_VALID) && !redan_feed_missing(f, &gap), "flags %x", kit_flags(f));
    redan_feed_close(f);
    redan_feed_close(right);
}

/* Numbers that begin anew within a session: doubles at first sight, a loss when they do not stop. */
static void numbers_begin_anew(void **state) {
    (void)state;
    unsigned char p[2048];
    redan_feed *f = open_feed("moldudp64");
    for (unsigned i = 0; i < PACKETS; i++) {
        redan_feed_packet(f, 1, p, packet(p, "SESSION001", 1 + i * PER_PACKET, PER_PACKET));
        drain(f);
    }
    for (unsigned i = 0; i < RDN_MOLD_OLD_MAX; i++) {
        check(kit_flags(f) & REDAN_BOOK_VALID, "old packet %u", i);
        redan_feed_packet(f, 1, p, packet(p, "SESSION001", 1 + i % 50, 1));
        drain(f);
    }
    check(!(kit_flags(f) & REDAN_BOOK_VALID), "flags %x", kit_flags(f));
    redan_feed_close(f);
}

/* Packets that lie about themselves, and the same packets as one stream of bytes in pieces. */
static void bytes(void **state) {
    (void)state;
    unsigned char p[2048];
    size_t n = packet(p, "SESSION001", 1, 3);
    static const struct { uint64_t seq; uint16_t count; int more; uint8_t fault; } rows[] = {
        { 1, 4, 0, REDAN_FAULT_SHORT_INPUT }, { 1, 3, 5, REDAN_FAULT_SHORT_INPUT }, { 1, 3, -5, REDAN_FAULT_SHORT_INPUT }, { 0, 3, 0, REDAN_FAULT_BAD_NUMBER },
        { UINT64_MAX, 3, 0, REDAN_FAULT_BAD_NUMBER }, { 1, 3, 0, 0 },
    };
    for each (i, rows) {
        redan_feed *f = open_feed("moldudp64");
        redan_feed_stats st;
        rdn_put_be64(p + 10, rows[i].seq);
        rdn_put_be16(p + 18, rows[i].count);
        redan_feed_packet(f, 1, p, n + (size_t)rows[i].more);
        drain(f);
        redan_feed_stats_get(f, &st);
        check(rows[i].fault ? st.faults[rows[i].fault] == 1 : st.live_orders == 3, "row %zu: %lu orders", i, st.live_orders);
        redan_feed_close(f);
    }
    unsigned char *file = malloc(1 << 20);
    size_t len = 0;
    for (unsigned i = 0; i < PACKETS; i++)
        len += packet(file + len, "SESSION001", 1 + i * PER_PACKET, PER_PACKET);
    static const size_t pieces[] = { 1 << 20, 4093, 7, 1 };
    redan_feed *right = right_book(MESSAGES);
    for each (i, pieces) {
        redan_feed *f = open_feed("moldudp64");
        kit_feed(f, file, len, pieces[i]);
        check((kit_flags(f) & REDAN_BOOK_VALID) && same_book(f, right), "piece %zu", pieces[i]);
        redan_feed_close(f);
    }
    redan_feed_close(right);
    free(file);
}

/* --- snapshots that are broken off, and messages that are refused --- */

/* The first or the second half of a snapshot up to message `next`. */
static void half(redan_feed *f, uint64_t next, unsigned which) {
    static unsigned char bytes[1 << 16];
    size_t len = snapshot(bytes, next), at = which == 1 ? 0 : len / 2, end = which == 1 ? len / 2 : len, used;
    static size_t unread;                                /* of the first half: the second begins with it */
    redan_mevent ev[32];
    at -= which == 1 ? 0 : unread;
    for (uint32_t n = 1; n; at += used, redan_feed_apply(f, ev, n, NULL))
        n = redan_feed_snapshot(f, bytes + at, end - at, ev, 32, &used);
    unread = end - at;
    drain(f);
}

static void send_one(redan_feed *f, const char *session, uint64_t first, unsigned n) {
    unsigned char p[2048];
    redan_feed_packet(f, 1, p, packet(p, session, first, n));
    drain(f);
}

static void another_session(redan_feed *f) { send_one(f, "TUESDAY   ", 1, 20); }
static void from_its_start(redan_feed *f) { send_one(f, "MONDAY    ", 1, 20); }
static void another_from_its_middle(redan_feed *f) {
    send_one(f, "TUESDAY   ", 501, 20);
    redan_feed_end(f);
    drain(f);
}
static void missing(redan_feed *f) {
    send_one(f, "MONDAY    ", 1501, 10);
    redan_feed_end(f);
    drain(f);
}

/* The book of the messages up to `right`, or one that is not valid (0), whatever comes into the middle of a snapshot; another one mends it. */
static void broken_snapshot(void **state) {
    (void)state;
    static const struct { const char *why; void (*between)(redan_feed *); bool begun; uint64_t right; } rows[] = {
        { "another session", another_session, true, 20 },
        { "another session, from its middle", another_from_its_middle, true, 0 },
        { "the session, from its first message", from_its_start, false, 20 },
        { "a gap", missing, true, 0 },
    };
    for each (i, rows) {
        redan_feed *f = open_feed("moldudp64");
        if (rows[i].begun)
            send_one(f, "MONDAY    ", 1001, 10);
        redan_feed_end(f);
        drain(f);
        half(f, 1011, 1);
        rows[i].between(f);
        half(f, 1011, 2);
        redan_feed *right = right_book(rows[i].right);
        bool valid = kit_flags(f) & REDAN_BOOK_VALID;
        check(valid == (rows[i].right != 0) && (!valid || same_book(f, right)), "%s: flags %x", rows[i].why, kit_flags(f));
        redan_feed_close(right);
        take_snapshot(f, 2001, 100);
        right = right_book(2000);
        check((kit_flags(f) & REDAN_BOOK_VALID) && same_book(f, right), "%s: another snapshot", rows[i].why);
        redan_feed_close(right);
        redan_feed_close(f);
    }
}

/* Half a snapshot whose sender is gone counts for nothing: what follows is the beginning of another. */
static void dropped_snapshot(void **state) {
    (void)state;
    redan_feed *f = open_feed("moldudp64"), *right = right_book(2000);
    half(f, 1011, 1);
    redan_feed_snapshot_drop(f);
    take_snapshot(f, 2001, 100);
    check((kit_flags(f) & REDAN_BOOK_VALID) && same_book(f, right), "flags %x", kit_flags(f));
    redan_feed_close(right);
    redan_feed_close(f);
}

/* A message of the stream, or of a snapshot, that is refused leaves a book that misses something, until a snapshot has it. */
static void refused(void **state) {
    (void)state;
    enum { PRICE = 2 + 32 + 3, LENGTH = 1 };
    static const struct { const char *why; unsigned at, by; bool in_snapshot; uint8_t fault; } rows[] = {
        { "a price between ticks", PRICE, 1, false, REDAN_FAULT_OFF_TICK }, { "a length too small", LENGTH, 255, false, REDAN_FAULT_SHORT_INPUT },
        { "a price between ticks", PRICE, 1, true, REDAN_FAULT_OFF_TICK },
    };
    for each (i, rows) {
        redan_feed *f = open_feed("moldudp64"), *right = right_book(2000);
        unsigned char p[2048];
        size_t n = packet(p, "SESSION001", 1, 1), used;
        redan_mevent ev[32];
        unsigned char *m = p + RDN_MOLD_HEAD;            /* the first message is an add */
        m[rows[i].at] = (unsigned char)(m[rows[i].at] + rows[i].by);
        n -= rows[i].at == LENGTH;
        if (rows[i].in_snapshot) {
            rdn_put_be16(p + n, 21);
            snprintf((char *)p + n + 2, 22, "G%20u", 2);
            redan_feed_apply(f, ev, redan_feed_snapshot(f, m, n + 23 - RDN_MOLD_HEAD, ev, 32, &used), NULL);
            check(used == n + 23 - RDN_MOLD_HEAD, "%zu", used);
        } else {
            redan_feed_packet(f, 1, p, n);
        }
        drain(f);
        check(!(kit_flags(f) & REDAN_BOOK_VALID) && kit_fault(f, rows[i].fault) == 1, "%s: flags %x, %lu faults", rows[i].why, kit_flags(f),
              kit_fault(f, rows[i].fault));
        take_snapshot(f, 2001, 100);
        check((kit_flags(f) & REDAN_BOOK_VALID) && same_book(f, right), "%s: flags %x after a snapshot", rows[i].why, kit_flags(f));
        redan_feed_close(right);
        redan_feed_close(f);
    }
}

/* A packet larger than any datagram is refused, early or in order. */
static void large(void **state) {
    (void)state;
    static const struct { uint64_t seq; uint32_t bytes; bool good; } rows[] = {
        { 1, RDN_MOLD_BYTES, true }, { 11, RDN_MOLD_BYTES, true }, { 1, RDN_MOLD_BYTES + 1, false }, { 11, RDN_MOLD_BYTES + 1, false }, { 11, 2 * RDN_MOLD_BYTES, false },
    };
    unsigned char *p = calloc(1, 3 * RDN_MOLD_BYTES);
    for each (i, rows) {
        redan_feed *f = open_feed("moldudp64");
        redan_feed_gap gap;
        uint32_t half = (rows[i].bytes - RDN_MOLD_HEAD) / 2, rest = rows[i].bytes - RDN_MOLD_HEAD - half;
        memcpy(p, "SESSION001", 10);
        rdn_put_be64(p + 10, rows[i].seq);
        rdn_put_be16(p + 18, 2);
        memset(p + RDN_MOLD_HEAD, '?', half + rest);     /* two messages of an unknown type */
        rdn_put_be16(p + RDN_MOLD_HEAD, (uint16_t)(half - 2));
        rdn_put_be16(p + RDN_MOLD_HEAD + half, (uint16_t)(rest - 2));
        assert_int_equal(redan_feed_packet(f, 1, p, rows[i].bytes), 0);
        drain(f);
        bool taken = rows[i].seq == 1 ? kit_fault(f, REDAN_FAULT_UNKNOWN_TYPE) == 2 : redan_feed_missing(f, &gap);
        check(taken == rows[i].good && kit_fault(f, REDAN_FAULT_SHORT_INPUT) == !rows[i].good, "row %zu: taken %d", i, taken);
        redan_feed_close(f);
    }
    free(p);
}

int main(void) {
    make_messages();
    const struct CMUnitTest tests[] = { cmocka_unit_test(disorder), cmocka_unit_test(nobody_looks), cmocka_unit_test(resync), cmocka_unit_test(named_by_snapshot),
                                        cmocka_unit_test(sessions),
                                        cmocka_unit_test(numbers_begin_anew), cmocka_unit_test(bytes), cmocka_unit_test(broken_snapshot),
                                        cmocka_unit_test(dropped_snapshot), cmocka_unit_test(refused), cmocka_unit_test(large) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
