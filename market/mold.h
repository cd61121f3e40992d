/* SPDX-License-Identifier: Apache-2.0
 * mold.h: numbered packets of messages (MoldUDP64), in the order of their numbers whatever order they come in.
 *
 * A packet is 10 bytes of session, the u64 number of its first message, a u16 count of messages, and the messages, each with a u16
 * length in front; all big endian. Count 0 is a heartbeat and 0xFFFF the end of the session: both say which number comes next.
 *
 * A packet that comes early is held, at most RDN_MOLD_PACKETS of them, until what is missing has come. When it does not, for too long
 * or while too much waits, it is given up: a GAP event for all books, and from then on events wait for a snapshot.
 *
 *   packet    O(its bytes), and those of the packets that it lets through
 *   pump      goes on with what had no room in the queue of ready events; asked for when that is empty */
#ifndef RDN_MOLD_H
#define RDN_MOLD_H
#include "market/sync.h"

enum { RDN_MOLD_HEAD = 20, RDN_MOLD_BYTES = 65536, RDN_MOLD_PACKETS = 256, RDN_MOLD_EVENTS = 16384, RDN_MOLD_OLD_MAX = 1024 };

struct redan_feed;
struct rdn_mold_slot { uint64_t seq; int64_t recv_ns; uint32_t bytes; };        /* bytes 0: free */
struct rdn_mold {
    uint8_t state;                                       /* enum rdn_feed_state, of all books */
    bool begun, snapshot;                                /* a session is known; the middle of a snapshot */
    bool stale;                                          /* which a gap or another session came into: the rest of it is passed over */
    char session[10];
    uint64_t next, known;                                /* the message that comes next; one more than the last that is known to exist */
    uint64_t held_first;                                 /* the first message whose events wait */
    int64_t missing_ns, patience_ns;
    uint32_t held, old;                                  /* packets in slots; old packets in succession */
    struct rdn_mold_slot slots[RDN_MOLD_PACKETS];
    unsigned char *memory;                               /* RDN_MOLD_BYTES a slot, committed by use */
};
bool rdn_mold_open(struct rdn_mold *, int64_t patience_ns);
void rdn_mold_close(struct rdn_mold *);

/* Bytes of the packet at `in`; 0: incomplete; more than RDN_MOLD_BYTES: not a packet. */
size_t rdn_mold_size(const unsigned char *in, size_t len);
void rdn_mold_packet(struct redan_feed *, const unsigned char *packet, size_t bytes, int64_t recv_ns);
void rdn_mold_pump(struct redan_feed *);
#endif
