/* SPDX-License-Identifier: Apache-2.0
 * sync.c: which difference may be applied when (sync.h). */
#include "market/sync.h"

#include <string.h>

#include "market/orders.h"

#define TO(NAME) (1u << RDN_FEED_##NAME)
static const uint8_t may_become[] = {
#define STATE(NAME, next, doc) [RDN_FEED_##NAME] = next,
#include "market/feed_states.def"
#undef STATE
};

static bool become(struct rdn_sync *s, enum rdn_feed_state next) {
    if (s->state != next && !(may_become[s->state] & 1u << next))
        return false;
    s->state = (uint8_t)next;
    return true;
}

/* The first difference after a snapshot must reach from what it holds to beyond it, or name it. */
static bool bridges(const struct rdn_sync *s, struct rdn_diff d) { return d.first <= s->last + 1 || d.before == s->last; }

void rdn_sync_lose(struct rdn_sync *s) {
    become(s, RDN_FEED_GAP);
    s->old = 0;
}

static enum rdn_sync_answer lose(struct rdn_sync *s) {
    rdn_sync_lose(s);
    return RDN_SYNC_LOST;
}

/* Before the first difference after a snapshot, old ones are what the snapshot holds. Later an old one must be one of those applied
 * last, and neither goes on for long. */
static enum rdn_sync_answer old_diff(struct rdn_sync *s, struct rdn_diff d) {
    if (s->state == RDN_FEED_SNAPSHOT)
        return ++s->old > RDN_SYNC_OLD_MAX ? lose(s) : RDN_SYNC_OLD;
    bool again = false;
    for (unsigned i = 0; i < RDN_SYNC_RECENT; i++)
        again |= s->recent[i] == d.last;
    return !again || ++s->old > RDN_SYNC_RECENT ? lose(s) : RDN_SYNC_AGAIN;
}

enum rdn_sync_answer rdn_sync_diff(struct rdn_sync *s, struct rdn_diff d) {
    if (s->state == RDN_FEED_EMPTY || s->state == RDN_FEED_GAP)
        return RDN_SYNC_HOLD;
    if (d.last <= s->last)
        return old_diff(s, d);
    if (s->state == RDN_FEED_SNAPSHOT ? !bridges(s, d) : !rdn_diff_follows(d, s->last))
        return lose(s);
    become(s, RDN_FEED_LIVE);
    s->last = s->recent[s->at++ % RDN_SYNC_RECENT] = d.last;
    s->old = 0;
    return RDN_SYNC_APPLY;
}

bool rdn_sync_snapshot(struct rdn_sync *s, uint64_t last) {
    if (s->state == RDN_FEED_LIVE && last < s->last)
        return false;
    s->last = last;
    s->old = 0;
    memset(s->recent, 0, sizeof s->recent);
    return become(s, RDN_FEED_SNAPSHOT);
}

bool rdn_events_open(struct rdn_events *q, uint32_t cap) {
    void *p = rdn_market_reserve(cap * sizeof *q->ev);
    if (!p)
        return false;
    *q = (struct rdn_events){ .ev = p, .cap = cap };
    return true;
}

void rdn_events_close(struct rdn_events *q) {
    rdn_market_release(q->ev, q->cap * sizeof *q->ev);
    *q = (struct rdn_events){ 0 };
}

redan_mevent *rdn_events_push(struct rdn_events *q) { return q->at + q->n < q->cap ? &q->ev[q->at + q->n++] : NULL; }

uint32_t rdn_events_take(struct rdn_events *q, redan_mevent *out, uint32_t cap) {
    uint32_t n = q->n < cap ? q->n : cap;
    if (!n)
        return 0;
    memcpy(out, q->ev + q->at, n * sizeof *out);
    q->n -= n;
    q->at = q->n ? q->at + n : 0;
    return n;
}
