/* SPDX-License-Identifier: Apache-2.0
 * mold.c: packets of numbered messages (mold.h).
 *
 * Where the next message is to come from decides everything: `next` is its number, and a slot holds it or nobody has it. */
#include "market/mold.h"

#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "market/decimal.h"
#include "market/feed.h"

enum { SESSION = 10, SEQ = 10, COUNT = 18, END_OF_SESSION = 0xffff, PATIENCE_MS = 20 };

bool rdn_mold_open(struct rdn_mold *m, int64_t patience_ns) {
    *m = (struct rdn_mold){ .next = 1, .known = 1, .patience_ns = patience_ns ? patience_ns : PATIENCE_MS * INT64_C(1000000) };
    m->memory = rdn_market_reserve((size_t)RDN_MOLD_PACKETS * RDN_MOLD_BYTES);
    return m->memory != NULL;
}

void rdn_mold_close(struct rdn_mold *m) {
    if (m->memory)
        munmap(m->memory, (size_t)RDN_MOLD_PACKETS * RDN_MOLD_BYTES);
    m->memory = NULL;
}

static uint16_t messages(const unsigned char *packet) {
    uint16_t n = rdn_be16(packet + COUNT);
    return n == END_OF_SESSION ? 0 : n;
}

size_t rdn_mold_size(const unsigned char *in, size_t len) {
    size_t at = RDN_MOLD_HEAD;
    if (len < at)
        return 0;
    for (unsigned n = messages(in); n && at <= RDN_MOLD_BYTES; n--) {
        if (len < at + 2)
            return 0;
        at += 2u + rdn_be16(in + at);
    }
    return at <= len || at > RDN_MOLD_BYTES ? at : 0;
}

/* --- events that concern every book, and where events go --- */

/* Those that are declared by now: an instrument that a later message brings begins with what is known then. */
static redan_mevent of_all(const struct redan_feed *f, uint8_t action, uint16_t flags, uint64_t seq) {
    return (redan_mevent){ .instrument = REDAN_ALL_INSTRUMENTS, .other_id = f->books.n + 1u, .action = action, .flags = flags, .seq = seq };
}

static void push_all(struct redan_feed *f, uint8_t action, uint16_t flags, int64_t ts) {
    redan_mevent *e = rdn_events_push(&f->ready);
    if (!e)
        return;
    *e = of_all(f, action, flags, f->mold->next);
    e->ts_event_ns = e->ts_recv_ns = ts;
}

static void drop_waiting(struct redan_feed *f) {
    f->held.n = f->held.at = 0;
    f->mold->held_first = f->mold->next;
}

/* The books are no longer those that a snapshot in its middle began to fill. */
static void go_stale(struct rdn_mold *m) { m->stale = m->snapshot; }

static void lost(struct redan_feed *f, int64_t ts) {
    f->mold->state = RDN_FEED_GAP;
    go_stale(f->mold);
    push_all(f, REDAN_MARKET_GAP, REDAN_MF_LAST, ts);
    drop_waiting(f);
}

/* A session that is seen from its first message begins with empty books, which are whole. */
static void from_the_start(struct redan_feed *f, int64_t ts) {
    f->mold->state = RDN_FEED_LIVE;
    go_stale(f->mold);
    push_all(f, REDAN_MARKET_CLEAR, REDAN_MF_SNAPSHOT, ts);
    push_all(f, REDAN_MARKET_STATUS, REDAN_MF_SNAPSHOT | REDAN_MF_LAST, ts);
}

static void keep(struct redan_feed *f, const redan_mevent *ev, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        redan_mevent *room = rdn_events_push(&f->held);
        if (!room) {                                     /* the snapshot will have to be a later one */
            rdn_feed_fault(f, REDAN_FAULT_FULL);
            drop_waiting(f);
            f->mold->held_first++;                       /* not this message either */
            return;
        }
        *room = ev[i];
    }
}

static uint64_t refused(const struct redan_feed *f) {
    return f->books.faults[REDAN_FAULT_SHORT_INPUT] + f->books.faults[REDAN_FAULT_OFF_TICK];
}

/* One ITCH message. One that is refused is missing from its book, or from one that nobody knows. */
static uint32_t read_message(struct redan_feed *f, const unsigned char *in, size_t n, redan_mevent *out) {
    uint64_t before = refused(f);
    *out = of_all(f, REDAN_MARKET_GAP, REDAN_MF_LAST, f->seq);
    uint32_t k = rdn_feed_itch50_message(f, in, n, out);
    if (k || refused(f) == before)
        return k;
    if (out->instrument != REDAN_ALL_INSTRUMENTS)
        *out = (redan_mevent){ .ts_event_ns = out->ts_event_ns, .ts_recv_ns = out->ts_recv_ns, .seq = f->seq, .instrument = out->instrument,
                               .action = REDAN_MARKET_GAP, .flags = REDAN_MF_LAST };
    return 1;
}

static void message(struct redan_feed *f, const unsigned char *in, size_t n, int64_t recv_ns) {
    struct rdn_mold *m = f->mold;
    redan_mevent ev[RDN_FEED_EVENTS];
    f->seq = m->next;
    if (m->state == RDN_FEED_EMPTY && m->next == 1)
        from_the_start(f, recv_ns);
    uint32_t k = read_message(f, in, n, ev);
    for (uint32_t i = 0; i < k && recv_ns; i++)
        ev[i].ts_recv_ns = recv_ns;
    if (m->state != RDN_FEED_LIVE)
        keep(f, ev, k);
    else
        for (uint32_t i = 0; i < k; i++) {
            redan_mevent *room = rdn_events_push(&f->ready);
            if (room)                                    /* pump sees to it that there is */
                *room = ev[i];
        }
    m->next++;
}

/* The messages of a packet from `next` on, as far as the queue has room. False: some are left. */
static bool deliver(struct redan_feed *f, const unsigned char *packet, size_t bytes, int64_t recv_ns) {
    uint64_t seq = rdn_be64(packet + SEQ);
    for (size_t at = RDN_MOLD_HEAD; at < bytes; seq++) {
        if (f->ready.n + RDN_FEED_EVENTS + 4 > RDN_MOLD_EVENTS)
            return false;
        if (seq == f->mold->next)
            message(f, packet + at + 2, rdn_be16(packet + at), recv_ns);
        at += 2u + rdn_be16(packet + at);
    }
    return true;
}

/* --- packets that wait --- */

static uint64_t end_of(const struct rdn_mold *m, uint32_t i) {
    return m->slots[i].seq + messages(m->memory + (size_t)i * RDN_MOLD_BYTES);
}

/* The slot with the smallest number; RDN_MOLD_PACKETS: none. */
static uint32_t earliest(const struct rdn_mold *m) {
    uint32_t best = RDN_MOLD_PACKETS;
    for (uint32_t i = 0; m->held && i < RDN_MOLD_PACKETS; i++)
        if (m->slots[i].bytes && (best == RDN_MOLD_PACKETS || m->slots[i].seq < m->slots[best].seq))
            best = i;
    return best;
}

static void hold_packet(struct redan_feed *f, const unsigned char *packet, size_t bytes, uint64_t seq, int64_t recv_ns) {
    struct rdn_mold *m = f->mold;
    uint32_t at = RDN_MOLD_PACKETS;
    for (uint32_t i = 0; i < RDN_MOLD_PACKETS; i++) {
        if (m->slots[i].bytes == bytes && m->slots[i].seq == seq) {
            rdn_feed_fault(f, REDAN_FAULT_SEQ_OLD);      /* a double of one that waits */
            return;
        }
        if (!m->slots[i].bytes)
            at = i;
    }
    m->slots[at] = (struct rdn_mold_slot){ seq, recv_ns, (uint32_t)bytes };
    memcpy(m->memory + (size_t)at * RDN_MOLD_BYTES, packet, bytes);
    m->held++;
}

void rdn_mold_pump(struct redan_feed *f) {
    struct rdn_mold *m = f->mold;
    uint32_t i;
    while ((i = earliest(m)) < RDN_MOLD_PACKETS && m->slots[i].seq <= m->next) {
        const unsigned char *packet = m->memory + (size_t)i * RDN_MOLD_BYTES;
        if (end_of(m, i) > m->next && !deliver(f, packet, m->slots[i].bytes, m->slots[i].recv_ns))
            return;
        m->slots[i].bytes = 0;
        m->held--;
    }
    if (m->next >= m->known)
        m->missing_ns = 0;
}

/* What is missing stays missing: whoever follows begins with the first packet that waits, or with what a heartbeat told. */
static void give_up(struct redan_feed *f) {
    struct rdn_mold *m = f->mold;
    uint32_t i = earliest(m);
    m->next = i < RDN_MOLD_PACKETS ? m->slots[i].seq : m->known;
    m->missing_ns = 0;
    lost(f, i < RDN_MOLD_PACKETS ? m->slots[i].recv_ns : 0);
    rdn_mold_pump(f);
}

static bool pumped(const struct redan_feed *f) { return f->ready.n + RDN_FEED_EVENTS + 4 <= RDN_MOLD_EVENTS; }

/* --- packets that come --- */

static void new_session(struct redan_feed *f, const unsigned char *packet, int64_t ts) {
    struct rdn_mold *m = f->mold;
    bool another = m->begun;
    memcpy(m->session, packet, SESSION);
    m->begun = true;
    if (!another)
        return;
    m->next = m->known = 1;
    m->old = m->held = 0;
    m->missing_ns = 0;
    memset(m->slots, 0, sizeof m->slots);
    lost(f, ts);
    m->state = RDN_FEED_EMPTY;
}

/* What comes again and again from before `next` is a numbering that has begun anew. */
static void old_packet(struct redan_feed *f, uint64_t seq, bool has_messages, int64_t recv_ns) {
    struct rdn_mold *m = f->mold;
    if (has_messages)
        rdn_feed_fault(f, REDAN_FAULT_SEQ_OLD);
    if (++m->old < RDN_MOLD_OLD_MAX)
        return;
    m->old = m->held = 0;
    memset(m->slots, 0, sizeof m->slots);
    m->next = m->known = seq;
    lost(f, recv_ns);
}

void rdn_mold_packet(struct redan_feed *f, const unsigned char *packet, size_t bytes, int64_t recv_ns) {
    struct rdn_mold *m = f->mold;
    uint64_t seq = rdn_be64(packet + SEQ), end = seq + messages(packet);
    if (!m->begun || memcmp(m->session, packet, SESSION) != 0)
        new_session(f, packet, recv_ns);
    if (!seq || end < seq) {
        rdn_feed_fault(f, REDAN_FAULT_BAD_NUMBER);
        return;
    }
    if (end <= m->next && (end < m->next || messages(packet))) {
        old_packet(f, seq, messages(packet) != 0, recv_ns);
        return;
    }
    m->old = 0;
    m->known = end > m->known ? end : m->known;
    if (m->held == RDN_MOLD_PACKETS)
        give_up(f);
    if (messages(packet) && (m->held || seq > m->next || !deliver(f, packet, bytes, recv_ns)))
        hold_packet(f, packet, bytes, seq, recv_ns);
    rdn_mold_pump(f);
    if (m->next >= m->known || !pumped(f))
        return;
    if (m->held == RDN_MOLD_PACKETS || (m->missing_ns && recv_ns - m->missing_ns > m->patience_ns))
        give_up(f);
    else if (!m->missing_ns)
        m->missing_ns = recv_ns;
}

/* --- the calls of market.h --- */

size_t rdn_feed_moldudp64(struct redan_feed *f, const unsigned char *in, size_t len, redan_mevent *out, uint32_t *ret_n) {
    (void)out;
    (void)ret_n;
    size_t bytes = rdn_mold_size(in, len);
    if (bytes > RDN_MOLD_BYTES) {                        /* nothing says where the next one begins */
        rdn_feed_fault(f, REDAN_FAULT_SHORT_INPUT);
        f->dead = true;
        return len;
    }
    if (bytes)
        rdn_mold_packet(f, in, bytes, 0);
    return bytes;
}

int redan_feed_packet(redan_feed *f, int64_t ts_recv_ns, const void *bytes, size_t len) {
    if (!f->mold)
        return REDAN_E_NOSUP;
    if (f->ready.n)
        return REDAN_E_BUSY;
    struct rdn_mold *m = f->mold;
    if (len) {
        size_t size = rdn_mold_size(bytes, len);
        if (size != len || size > RDN_MOLD_BYTES)
            rdn_feed_fault(f, REDAN_FAULT_SHORT_INPUT);
        f->bytes += len;
        if (size && size <= len && size <= RDN_MOLD_BYTES)
            rdn_mold_packet(f, bytes, size, ts_recv_ns);
    } else if (m->missing_ns && ts_recv_ns - m->missing_ns > m->patience_ns) {
        give_up(f);
    }
    return 0;
}

int redan_feed_missing(const redan_feed *f, redan_feed_gap *ret) {
    const struct rdn_mold *m = f->mold;
    if (!m || m->next >= m->known)
        return false;
    uint32_t i = earliest(m);
    uint64_t end = i < RDN_MOLD_PACKETS ? m->slots[i].seq : m->known;
    *ret = (redan_feed_gap){ .seq = m->next, .count = end - m->next, .since_ns = m->missing_ns };
    memcpy(ret->session, m->session, SESSION);
    return true;
}

void redan_feed_end(redan_feed *f) {
    if (f->mold && f->mold->next < f->mold->known && pumped(f))
        give_up(f);
}

/* --- snapshots: messages in BinaryFILE frames, the last of them G with the number of the message that follows it --- */

static void snapshot_end(struct redan_feed *f, uint64_t seq, redan_mevent *out) {
    struct rdn_mold *m = f->mold;
    m->snapshot = false;
    if (seq < m->held_first || !seq) {                   /* between it and what waits, messages are missing */
        *out = of_all(f, REDAN_MARKET_GAP, REDAN_MF_LAST, seq);
        return;
    }
    *out = of_all(f, REDAN_MARKET_STATUS, REDAN_MF_SNAPSHOT | REDAN_MF_LAST, seq);
    m->state = RDN_FEED_LIVE;
    for (uint32_t i = 0; i < f->held.n; i++) {
        redan_mevent *room = f->held.ev[i].seq >= seq ? rdn_events_push(&f->ready) : NULL;
        if (room)
            *room = f->held.ev[i];
    }
    f->held.n = 0;
    m->next = m->next < seq ? seq : m->next;
    m->known = m->known < m->next ? m->next : m->known;
}

enum { TYPE_BYTES = 1, DIGITS = 20 };

/* The number at the end of a snapshot, with spaces around it; 0: none. */
static uint64_t snapshot_number(struct redan_feed *f, const char *digits) {
    uint32_t k = DIGITS, from = 0;
    uint64_t seq;
    while (k && digits[k - 1] == ' ')
        k--;
    while (from < k && digits[from] == ' ')
        from++;
    if (rdn_decimal_u64(digits + from, k - from, &seq))
        return seq;
    rdn_feed_fault(f, REDAN_FAULT_BAD_NUMBER);
    return 0;
}

static uint32_t snapshot_message(struct redan_feed *f, const unsigned char *in, uint32_t n, redan_mevent *out) {
    bool end = n == TYPE_BYTES + DIGITS && in[0] == 'G';
    if (f->mold->stale) {
        if (end)
            redan_feed_snapshot_drop(f);
        return 0;
    }
    if (end) {
        snapshot_end(f, snapshot_number(f, (const char *)in + TYPE_BYTES), out);
        return 1;
    }
    uint32_t k = read_message(f, in, n, out);
    for (uint32_t i = 0; i < k; i++)
        out[i].flags = (uint16_t)((out[i].flags & ~REDAN_MF_LAST) | REDAN_MF_SNAPSHOT);
    return k;
}

void redan_feed_snapshot_drop(redan_feed *f) {
    if (f->mold)
        f->mold->snapshot = f->mold->stale = false;
}

uint32_t redan_feed_snapshot(redan_feed *f, const void *bytes, size_t len, redan_mevent *out, uint32_t cap, size_t *ret_used) {
    const unsigned char *in = bytes;
    struct rdn_mold *m = f->mold;
    uint32_t n = 0;
    *ret_used = 0;
    if (!m || f->ready.n)
        return 0;
    while (cap - n >= RDN_FEED_EVENTS && len - *ret_used >= 2 && len - *ret_used - 2 >= rdn_be16(in + *ret_used) && !f->ready.n) {
        uint32_t size = rdn_be16(in + *ret_used);
        if (!m->snapshot) {
            if (m->state == RDN_FEED_LIVE) {             /* from here on, events wait for it */
                m->state = RDN_FEED_GAP;
                drop_waiting(f);
                out[n++] = of_all(f, REDAN_MARKET_GAP, REDAN_MF_LAST, m->next);
            }
            out[n++] = of_all(f, REDAN_MARKET_CLEAR, REDAN_MF_SNAPSHOT, m->next);
            m->snapshot = true;
        }
        if (cap - n < RDN_FEED_EVENTS)
            break;
        n += snapshot_message(f, in + *ret_used + 2, size, out + n);
        *ret_used += 2u + size;
    }
    f->bytes += *ret_used;
    return n;
}
