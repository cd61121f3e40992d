/* SPDX-License-Identifier: Apache-2.0
 * replay.c: market files and tapes merged into one stream (market.h).
 *
 * Each file has its next events in hand; the one with the least key goes first, and with it those behind it that go before the next of every
 * other file. A key is the time of receipt, or that of an earlier event of the same file when the file's clock went back: files keep their own
 * order. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "market/feed.h"
#include "market/reading.h"
#include "market/tape.h"

enum { FILES = 64, RUN = 256 };

struct lane {
    struct rdn_reading *reading;
    redan_feed *own;                                     /* of a tape */
    redan_tape *tape;
    const redan_mevent *ev;                              /* in hand: n, of which `at` are gone */
    uint32_t at, n, declared;
    int64_t key;                                         /* of the next */
};
struct redan_replay {
    struct lane *lanes;
    uint32_t n;
    double speed;
    int64_t from_ns, to_ns, began_at, began_ns;          /* the caller's clock, and the files', at the first event */
    bool began;
    int failed;                                          /* the end of it, told again and again */
    redan_error why;
};

static redan_feed *feed_of(const struct lane *l) { return l->tape ? l->own : l->reading->feed; }

/* A tape is a file of its own. What may be read once only, a pipe or a device, is not looked into. */
static bool is_tape(const char *path) {
    char magic[8] = { 0 };
    struct stat st;
    if (strcmp(path, "-") == 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic && memcmp(magic, "RDNTAPE1", 8) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

/* Instruments that the tape has told of and the feed does not know yet. Their numbers are the same on both. */
static int declare_known(struct lane *l, redan_error *reterr) {
    redan_instrument in;
    uint32_t id;
    for (int rc = 0; redan_tape_known(l->tape, l->declared, &in) == 0; l->declared++)
        if ((rc = redan_feed_instrument(l->own, &in, &id, reterr)) < 0)
            return rc;
    return 0;
}

static bool has(const struct lane *l) { return l->at < l->n; }

static int64_t key_at(const struct lane *l, uint32_t at, int64_t before) { return l->ev[at].ts_recv_ns > before ? l->ev[at].ts_recv_ns : before; }

/* New events in hand, when all are gone. None: the end. */
static int fetch(struct lane *l, redan_error *reterr) {
    if (!has(l)) {
        l->at = 0;
        int rc = l->tape ? rdn_tape_some(l->tape, UINT32_MAX, &l->ev, &l->n, reterr) : rdn_reading_some(l->reading, &l->ev, &l->n, reterr);
        if (rc == 0 && l->tape)
            rc = declare_known(l, reterr);
        if (rc < 0)
            return rc;
    }
    if (has(l))
        l->key = key_at(l, l->at, l->key);
    return 0;
}

static int open_lane(struct lane *l, const redan_replay_file *f, redan_error *reterr) {
    int rc;
    l->key = INT64_MIN;
    if (f->path && is_tape(f->path)) {
        redan_tape_options o = REDAN_TAPE_OPTIONS_INIT;
        redan_feed_options fo = f->feed;
        o.path = f->path;
        fo.format = "events";
        rc = redan_tape_open(&l->tape, &o, reterr);
        if (rc == 0)
            rc = redan_feed_open(&l->own, &fo, reterr);
    } else {
        struct rdn_reading_options o = { f->path, f->seed, f->feed, f->instruments, f->n };
        rc = f->path ? rdn_reading_open(&l->reading, &o, reterr) : rdn_fail(reterr, INVAL, "", "a file without a path");
    }
    return rc == 0 ? fetch(l, reterr) : rc;
}

int redan_replay_open(redan_replay **ret, const redan_replay_options *o, redan_error *reterr) {
    if (o->size != sizeof *o || !o->n || o->n > FILES || !(o->speed >= 0))
        return rdn_fail(reterr, INVAL, "", "options of a replay: 1 to %d files, a speed from 0, size %zu", FILES, sizeof *o);
    redan_replay *r = rdn_zalloc(&rdn_libc_mem, sizeof *r);
    struct lane *lanes = rdn_zalloc(&rdn_libc_mem, o->n * sizeof *lanes);
    if (!r || !lanes) {
        rdn_free(&rdn_libc_mem, r, sizeof *r);
        rdn_free(&rdn_libc_mem, lanes, o->n * sizeof *lanes);
        return rdn_fail(reterr, NOMEM, "", "no memory for a replay");
    }
    *r = (redan_replay){ .lanes = lanes, .n = o->n, .speed = o->speed, .from_ns = o->from_ns ? o->from_ns : INT64_MIN, .to_ns = o->to_ns ? o->to_ns : INT64_MAX };
    for (uint32_t i = 0; i < r->n; i++) {
        int rc = open_lane(&r->lanes[i], &o->files[i], reterr);
        if (rc < 0) {
            redan_replay_close(r);
            return rc;
        }
    }
    *ret = r;
    return 0;
}

void redan_replay_close(redan_replay *r) {
    if (!r)
        return;
    for (uint32_t i = 0; i < r->n; i++) {
        rdn_reading_unref(r->lanes[i].reading);
        redan_tape_close(r->lanes[i].tape);
        redan_feed_close(r->lanes[i].own);
    }
    rdn_free(&rdn_libc_mem, r->lanes, r->n * sizeof r->lanes[0]);
    rdn_free(&rdn_libc_mem, r, sizeof *r);
}

/* The lane that goes first: the least key, then the first file. NULL: the end. */
static struct lane *first(redan_replay *r) {
    struct lane *best = NULL;
    for (uint32_t i = 0; i < r->n; i++)
        if (has(&r->lanes[i]) && (!best || r->lanes[i].key < best->key))
            best = &r->lanes[i];
    return best && best->key < r->to_ns ? best : NULL;
}

/* The last key of this lane, which goes first, that goes before the next of every other lane. */
static int64_t until(const redan_replay *r, const struct lane *l) {
    int64_t last = l->key < r->from_ns && r->from_ns < r->to_ns ? r->from_ns - 1 : r->to_ns - 1;
    for (const struct lane *other = r->lanes; other < r->lanes + r->n; other++) {
        int64_t key = other == l || !has(other) ? INT64_MAX : l < other ? other->key : other->key - 1;
        last = key < last ? key : last;
    }
    return last;
}

/* How long it is from `now` until a key; the first event that is handed out is due at once. */
static int64_t wait_for(redan_replay *r, int64_t key, int64_t now) {
    if (!r->speed)
        return 0;
    if (!r->began) {
        r->began = true;
        r->began_at = now;
        r->began_ns = key;
    }
    double due = (double)(key - r->began_ns) / r->speed - (double)(now - r->began_at);
    return due <= 0 ? 0 : due >= 0x1p62 ? INT64_MAX : (int64_t)due + 1;
}

/* What was refused on its way to a tape: no book sees it. What names an order alone: its instrument is looked up when all before it is done. */
static bool alone(const redan_mevent *e) { return e->action == REDAN_MARKET_FAULT || e->instrument == REDAN_BY_ORDER; }

/* How many events from the lane's next on go now, at most `most`, all of them up to the key `last`; key: that of the last of them. */
static uint32_t run_of(redan_replay *r, const struct lane *l, int64_t last, int64_t now, bool timed, uint32_t most, int64_t *ret_key) {
    uint32_t n = 1;
    int64_t key = l->key;
    most = alone(&l->ev[l->at]) ? 1 : l->n - l->at < most ? l->n - l->at : most;
    for (; n < most && !alone(&l->ev[l->at + n]); n++) {
        int64_t next = key_at(l, l->at + n, key);
        if (next > last || (timed && wait_for(r, next, now)))
            break;
        key = next;
    }
    *ret_key = key;
    return n;
}

/* Applies a run, and hands it out unless `out` is NULL. */
static void apply(redan_replay *r, struct lane *l, uint32_t n, redan_replay_event *out) {
    const redan_mevent *e = l->ev + l->at;
    const struct rdn_order *named = e->instrument == REDAN_BY_ORDER ? rdn_feed_named(feed_of(l), e) : NULL;
    redan_mevent whole;
    uint8_t faults[RUN] = { 0 };
    if (named) {
        whole = *e;
        whole.instrument = named->place >> 1;
        e = &whole;
    }
    if (e->action != REDAN_MARKET_FAULT)
        redan_feed_apply(feed_of(l), e, n, faults);
    for (uint32_t i = 0; i < n && out; i++)
        out[i] = (redan_replay_event){ e[i], (uint32_t)(l - r->lanes), faults[i], { 0 } };
}

int redan_replay_step(redan_replay *r, int64_t now_ns, redan_replay_event *out, uint32_t cap, uint32_t *ret_n, int64_t *ret_wait_ns, redan_error *reterr) {
    struct lane *l;
    *ret_n = 0;
    *ret_wait_ns = 0;
    while (*ret_n < cap && !r->failed && (l = first(r)) != NULL) {
        bool before = l->key < r->from_ns;
        int64_t wait = before ? 0 : wait_for(r, l->key, now_ns);
        if (wait) {
            *ret_wait_ns = *ret_n ? 0 : wait;
            return 0;
        }
        uint32_t most = before || cap - *ret_n > RUN ? RUN : cap - *ret_n;
        uint32_t n = run_of(r, l, until(r, l), now_ns, !before && r->speed != 0, most, &l->key);
        apply(r, l, n, before ? NULL : out + *ret_n);
        *ret_n += before ? 0 : n;
        l->at += n;
        r->failed = fetch(l, &r->why);
    }
    if (r->failed && !*ret_n) {
        if (reterr)
            *reterr = r->why;
        return r->failed;
    }
    *ret_wait_ns = *ret_n || first(r) ? 0 : -1;
    return 0;
}

redan_feed *redan_replay_feed(redan_replay *r, uint32_t file) { return file < r->n ? feed_of(&r->lanes[file]) : NULL; }
