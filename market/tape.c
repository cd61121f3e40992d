/* SPDX-License-Identifier: Apache-2.0
 * tape.c: market events on disk (market.h): 4 KiB of head, then blocks of 1 MiB: 128 bytes of head and up to 16,382 records.
 *
 * A record is a redan_mevent; action I is an instrument (struct tape_instrument), Z a fault. An open block is mapped; its count is
 * stored after the records that it counts. Closing a block writes its checksums.
 *
 * Space is allocated before it is mapped: a full disk is an error, not a signal. The file is locked as long as somebody writes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "market/crc.h"
#include "market/decimal.h"
#include "market/feed.h"
#include "market/tape.h"

enum { HEAD = 4096, BLOCK = 1 << 20, BLOCK_HEAD = 128, RECORDS = (BLOCK - BLOCK_HEAD) / sizeof(redan_mevent), VERSION = 1, OPEN = 1, CLOSED = 2,
       KIND_EVENTS = 1, INSTRUMENT = 'I', SYNC_NS = 100000000 };
static const char magic[8] = { 'R', 'D', 'N', 'T', 'A', 'P', 'E', '1' };

struct file_head {
    char magic[8];
    uint32_t version, block_bytes;
    unsigned char feed[16];
    int64_t created_ns;
    uint64_t layout;
    uint32_t crc, spare;                                 /* of all before it */
};
struct block_head {
    char magic[4];
    uint16_t kind, codec;
    uint64_t number;
    _Atomic uint32_t count;
    uint32_t stored_bytes;
    int64_t first_recv, last_recv;
    uint64_t first_seq, last_seq, tape_seq;              /* tape_seq: records before this block */
    uint32_t payload_crc, state;
    uint64_t boot;                                       /* the run of the machine in which it was open */
    _Atomic uint32_t synced;
    uint32_t crc;                                        /* of all before it, once closed */
};
struct tape_instrument {                                 /* as a record: id and action are where those of an event are */
    char symbol[RDN_SYMBOL_MAX + 1];
    int64_t tick_nano, lot_nano;
    uint32_t number, spare, id;
    uint8_t action, zero[3];
};
_Static_assert(sizeof(struct tape_instrument) == sizeof(redan_mevent) && offsetof(struct tape_instrument, action) == offsetof(redan_mevent, action) &&
               offsetof(struct tape_instrument, id) == offsetof(redan_mevent, instrument), "an instrument is a record");
_Static_assert(sizeof(struct block_head) <= BLOCK_HEAD && sizeof(struct file_head) <= HEAD, "heads fit");

/* Instruments that a tape has told of, in pages that stay where they are. */
enum { PAGE = 64, PAGES = 1024 };
struct known { struct tape_instrument in; char tick[RDN_TEXT_MAX], lot[RDN_TEXT_MAX]; };
struct redan_tape {
    int fd;
    uint32_t mode, level;
    char path[512];
    unsigned char *block;                                /* reading: a copy; writing: the mapped one; NULL: none yet */
    uint64_t number, records, boot;                      /* of the block at hand */
    uint32_t at, count;                                  /* reading: records handed out of `count` */
    bool closed;                                         /* reading: the block at hand will not grow */
    int64_t synced_ns;
    struct known *known[PAGES];
    uint32_t next_id;                                    /* instruments are numbered from 0 */
    int failed;                                          /* reading: what went wrong once is told again */
    redan_error why;
};

static struct block_head *head_of(const redan_tape *t) { return (struct block_head *)(void *)t->block; }
static redan_mevent *records_of(const redan_tape *t) { return (redan_mevent *)(void *)(t->block + BLOCK_HEAD); }
static off_t place(uint64_t number) { return (off_t)(HEAD + number * BLOCK); }

/* Differs after the machine was started again. */
static uint64_t boot_id(void) {
    char text[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    return n > 0 ? rdn_fnv64(text, (size_t)n) : 0;
}

static int corrupt(const redan_tape *t, redan_error *reterr, const char *what) {
    return rdn_fail(reterr, CORRUPT, "R6020", "%.150s: block %llu: %s", t->path, (unsigned long long)t->number, what);
}

static int wrong_sum(const redan_tape *t, redan_error *reterr, uint32_t got, uint32_t want) {
    return rdn_fail(reterr, CORRUPT, "R6020", "%.150s: block %llu: checksum %08x, expected %08x", t->path, (unsigned long long)t->number, got, want);
}

/* --- heads --- */

static uint64_t layout(void) { return rdn_fnv64("redan_mevent 64: ts recv id other px qty seq instrument action side flags", 74); }

static int write_head(redan_tape *t, const redan_tape_options *o, redan_error *reterr) {
    static const char zeros[HEAD - sizeof(struct file_head)];
    struct file_head h = { .version = VERSION, .block_bytes = BLOCK, .created_ns = o->created_ns, .layout = layout() };
    if (!h.created_ns)
        h.created_ns = rdn_real_ns();
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.feed, o->feed, sizeof h.feed);
    h.crc = rdn_crc32(&h, offsetof(struct file_head, crc));
    if (pwrite(t->fd, &h, sizeof h, 0) != (ssize_t)sizeof h || pwrite(t->fd, zeros, sizeof zeros, sizeof h) != (ssize_t)sizeof zeros)
        return rdn_fail_sys(reterr, "pwrite");
    return 0;
}

static int check_head(const redan_tape *t, redan_error *reterr) {
    struct file_head h;
    if (pread(t->fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.magic, magic, sizeof magic) != 0)
        return rdn_fail(reterr, INVAL, "", "%.150s: not a tape", t->path);
    uint32_t crc = rdn_crc32(&h, offsetof(struct file_head, crc));
    if (crc != h.crc)
        return rdn_fail(reterr, CORRUPT, "R6020", "%.150s: head: checksum %08x, expected %08x", t->path, crc, h.crc);
    if (h.version != VERSION || h.block_bytes != BLOCK || h.layout != layout())
        return rdn_fail(reterr, NOSUP, "", "%.150s: version %u with blocks of %u bytes", t->path, h.version, h.block_bytes);
    return 0;
}

/* --- instruments --- */

static struct known *known(const redan_tape *t, uint32_t id) { return &t->known[id / PAGE][id % PAGE]; }

/* A number means one instrument: it may be told again, not otherwise. */
static int learn(redan_tape *t, const struct tape_instrument *in, redan_error *reterr) {
    struct known **page = &t->known[in->id / PAGE % PAGES];
    if (in->id > t->next_id || in->id >= PAGE * PAGES || !in->symbol[0] || in->symbol[RDN_SYMBOL_MAX] || in->tick_nano <= 0 || in->lot_nano <= 0 ||
        (in->id < t->next_id && memcmp(in, &known(t, in->id)->in, sizeof *in) != 0))
        return corrupt(t, reterr, "an instrument that cannot be");
    if (in->id < t->next_id)
        return 0;
    if (!*page && !(*page = rdn_zalloc(&rdn_libc_mem, PAGE * sizeof **page)))
        return rdn_fail(reterr, NOMEM, "", "no memory for instruments");
    struct known *k = known(t, t->next_id++);
    k->in = *in;
    rdn_text_dec(k->tick, in->tick_nano, RDN_DECIMAL_SCALE);
    rdn_text_dec(k->lot, in->lot_nano, RDN_DECIMAL_SCALE);
    return 0;
}

static int learn_record(redan_tape *t, const redan_mevent *record, redan_error *reterr) {
    struct tape_instrument in;
    memcpy(&in, record, sizeof in);
    return learn(t, &in, reterr);
}

int redan_tape_known(const redan_tape *t, uint32_t id, redan_instrument *ret) {
    if (id >= t->next_id)
        return REDAN_E_INVAL;
    const struct known *k = known(t, id);
    *ret = (redan_instrument){ sizeof *ret, k->in.symbol, k->tick, k->lot, k->in.number };
    return 0;
}

/* --- reading --- */

/* A block that can still grow. One whose closing was interrupted has its sum and is closed, whatever its state says. */
static bool is_open(const struct block_head *h) { return h->state == OPEN && !h->crc; }

/* What an open block holds: all that it counts, or after the machine stopped what had reached the disk. */
static uint32_t open_count(const redan_tape *t, const struct block_head *h) {
    return h->boot == t->boot ? atomic_load_explicit(&h->count, memory_order_acquire) : h->synced;
}

static int check_block(const redan_tape *t, bool last, redan_error *reterr, uint32_t *ret_count) {
    const struct block_head *h = head_of(t);
    struct block_head closing = *h;
    bool open = is_open(h);
    closing.state = CLOSED;
    uint32_t crc = rdn_crc32(&closing, offsetof(struct block_head, crc)), count = open ? open_count(t, h) : h->count;
    *ret_count = 0;
    if (last && !h->state && !h->count)                  /* allocated and never begun */
        return 0;
    if (memcmp(h->magic, "RDNB", 4) != 0 || h->number != t->number || (h->state != OPEN && h->state != CLOSED))
        return corrupt(t, reterr, "no block begins here");
    if (open && !last)
        return corrupt(t, reterr, "it is open, and others follow it");
    if (count > RECORDS)
        return corrupt(t, reterr, "it counts more records than it has room for");
    if (!open && crc != h->crc)
        return wrong_sum(t, reterr, crc, h->crc);
    crc = open ? 0 : rdn_crc32(records_of(t), count * sizeof(redan_mevent));
    if (!open && crc != h->payload_crc)
        return wrong_sum(t, reterr, crc, h->payload_crc);
    *ret_count = count;
    return 0;
}

/* The block t->number into t->block, t->count and t->closed. A block that is not there is empty. */
static int load(redan_tape *t, redan_error *reterr) {
    struct stat st;
    if (fstat(t->fd, &st) < 0)
        return rdn_fail_sys(reterr, "fstat");
    t->count = 0;
    t->closed = false;
    if (st.st_size <= place(t->number))
        return 0;
    if (st.st_size < place(t->number + 1))
        return corrupt(t, reterr, "it is cut short");
    for (size_t got = 0; got < BLOCK;) {
        ssize_t n = pread(t->fd, t->block + got, BLOCK - got, place(t->number) + (off_t)got);
        if (n <= 0)
            return n < 0 ? rdn_fail_sys(reterr, "pread") : corrupt(t, reterr, "it is cut short");
        got += (size_t)n;
    }
    int rc = check_block(t, st.st_size <= place(t->number + 1), reterr, &t->count);
    t->closed = rc == 0 && head_of(t)->state && !is_open(head_of(t));
    return rc;
}

/* Goes to the next record, if there is one by now. A closed block is read once; an open one may have grown. */
static int reach(redan_tape *t, redan_error *reterr) {
    while (t->at == t->count) {
        if (t->closed) {
            t->number++;
            t->at = t->count = 0;
        }
        int rc = load(t, reterr);
        if (rc == 0 && t->at > t->count)
            rc = corrupt(t, reterr, "it has lost records");
        if (rc < 0 || !t->closed)
            return rc;
    }
    return 0;
}

/* Events up to the next instrument or the end of the block. */
static int some(redan_tape *t, uint32_t cap, const redan_mevent **ret, uint32_t *ret_n, redan_error *reterr) {
    for (;;) {
        int rc = reach(t, reterr);
        if (rc < 0 || t->at == t->count)
            return rc;
        const redan_mevent *e = &records_of(t)[t->at];
        uint32_t most = t->count - t->at < cap ? t->count - t->at : cap, n = 0;
        while (n < most && e[n].action != INSTRUMENT)
            n++;
        rc = n ? 0 : learn_record(t, e, reterr);
        if (rc < 0)
            return rc;
        *ret = e;
        *ret_n = n;
        t->at += n ? n : 1;
        t->records += n ? n : 1;
        if (n)
            return 0;
    }
}

int rdn_tape_some(redan_tape *t, uint32_t cap, const redan_mevent **ret, uint32_t *ret_n, redan_error *reterr) {
    *ret_n = 0;
    if (t->mode != REDAN_TAPE_READ)
        return rdn_fail(reterr, INVAL, "", "the tape is open for writing");
    if (!t->failed)
        t->failed = some(t, cap, ret, ret_n, &t->why);
    if (t->failed && reterr)
        *reterr = t->why;
    return t->failed;
}

int redan_tape_next(redan_tape *t, redan_mevent *out, uint32_t cap, uint32_t *ret_n, redan_error *reterr) {
    *ret_n = 0;
    while (*ret_n < cap) {
        const redan_mevent *e;
        uint32_t n;
        int rc = rdn_tape_some(t, cap - *ret_n, &e, &n, reterr);
        if (rc < 0 || !n)
            return rc;
        memcpy(out + *ret_n, e, n * sizeof *e);
        *ret_n += n;
    }
    return 0;
}

/* --- writing --- */

static int map_block(redan_tape *t, redan_error *reterr) {
    int rc = rdn_fault_hit() ? ENOSPC : posix_fallocate(t->fd, place(t->number), BLOCK);
    if (rc) {
        errno = rc;
        return rdn_fail_sys(reterr, "posix_fallocate");
    }
    void *p = mmap(NULL, BLOCK + HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, place(t->number) - HEAD);
    if (p == MAP_FAILED)
        return rdn_fail_sys(reterr, "mmap");
    t->block = (unsigned char *)p + HEAD;
    return 0;
}

static void unmap_block(redan_tape *t) {
    if (t->block && t->mode == REDAN_TAPE_WRITE)
        munmap(t->block - HEAD, BLOCK + HEAD);
    t->block = NULL;
}

static int begin_block(redan_tape *t, redan_error *reterr) {
    int rc = map_block(t, reterr);
    if (rc < 0)
        return rc;
    struct block_head *h = head_of(t);
    memset(h, 0, BLOCK_HEAD);
    *h = (struct block_head){ .magic = { 'R', 'D', 'N', 'B' }, .kind = KIND_EVENTS, .number = t->number, .tape_seq = t->records, .boot = t->boot };
    __atomic_store_n(&h->state, OPEN, __ATOMIC_RELEASE);
    return 0;
}

static void close_block(redan_tape *t) {
    struct block_head *h = head_of(t);
    const redan_mevent *first = records_of(t), *last = first + h->count - 1;
    h->stored_bytes = h->count * (uint32_t)sizeof(redan_mevent);
    h->first_recv = first->ts_recv_ns;
    h->last_recv = last->ts_recv_ns;
    h->first_seq = first->seq;
    h->last_seq = last->seq;
    h->payload_crc = rdn_crc32(first, h->stored_bytes);
    struct block_head closing = *h;
    closing.state = CLOSED;
    h->crc = rdn_crc32(&closing, offsetof(struct block_head, crc));
    h->state = CLOSED;
    unmap_block(t);
    t->number++;
}

int redan_tape_sync(redan_tape *t, redan_error *reterr) {
    uint32_t count = t->block ? head_of(t)->count : 0;
    if (t->mode != REDAN_TAPE_WRITE)
        return rdn_fail(reterr, INVAL, "", "the tape is open for reading");
    if (fdatasync(t->fd) < 0)
        return rdn_fail_sys(reterr, "fdatasync");
    if (t->block)                                        /* itself on disk with the next one */
        atomic_store_explicit(&head_of(t)->synced, count, memory_order_relaxed);
    t->synced_ns = rdn_mono_ns();
    return 0;
}

static int put(redan_tape *t, const redan_mevent *record, redan_error *reterr) {
    if (t->block && head_of(t)->count == RECORDS)
        close_block(t);
    int rc = t->block ? 0 : begin_block(t, reterr);
    if (rc < 0)
        return rc;
    struct block_head *h = head_of(t);
    uint32_t n = atomic_load_explicit(&h->count, memory_order_relaxed);
    records_of(t)[n] = *record;
    atomic_store_explicit(&h->count, n + 1, memory_order_release);
    t->records++;
    return 0;
}

static int settle(redan_tape *t, redan_error *reterr) {
    if (t->level == REDAN_TAPE_GROUP || (t->level == REDAN_TAPE_ASYNC && rdn_mono_ns() - t->synced_ns >= SYNC_NS))
        return redan_tape_sync(t, reterr);
    return 0;
}

int redan_tape_append(redan_tape *t, const redan_mevent *ev, uint32_t n, const uint8_t *faults, redan_error *reterr) {
    if (t->mode != REDAN_TAPE_WRITE)
        return rdn_fail(reterr, INVAL, "", "the tape is open for reading");
    for (uint32_t i = 0; i < n; i++)
        if (ev[i].action == INSTRUMENT)
            return rdn_fail(reterr, INVAL, "", "an event has the action I, which is the tape's own: redan_tape_instrument writes instruments");
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = put(t, &ev[i], reterr);
        if (rc == 0 && faults && faults[i]) {
            redan_mevent z = ev[i];
            z.action = REDAN_MARKET_FAULT;
            z.flags = faults[i];
            rc = put(t, &z, reterr);
        }
    }
    return rc < 0 ? rc : settle(t, reterr);
}

int redan_tape_instrument(redan_tape *t, uint32_t id, const redan_instrument *d, redan_error *reterr) {
    struct tape_instrument in = { .number = d->number, .id = id, .action = INSTRUMENT };
    redan_mevent record;
    int rc = rdn_feed_units(d, &in.tick_nano, &in.lot_nano, reterr);
    if (rc < 0)
        return rc;
    if (t->mode != REDAN_TAPE_WRITE)
        return rdn_fail(reterr, INVAL, "", "the tape is open for reading");
    if (id > t->next_id || id >= PAGE * PAGES)
        return rdn_fail(reterr, INVAL, "", "instrument %u before %u: they are numbered in order", id, t->next_id);
    strcpy(in.symbol, d->symbol);
    if (id < t->next_id && memcmp(&in, &known(t, id)->in, sizeof in) != 0)
        return rdn_fail(reterr, INVAL, "", "instrument %u is %s already, with another tick, lot or number", id, known(t, id)->in.symbol);
    if (id < t->next_id)
        return 0;
    memcpy(&record, &in, sizeof record);
    rc = put(t, &record, reterr);
    return rc < 0 ? rc : learn(t, &in, reterr);
}

/* Goes on with a tape: reads all of it, so that what is damaged is not written behind. */
static int resume(redan_tape *t, redan_error *reterr) {
    static const uint32_t cap = 1024;
    redan_mevent *skip = rdn_zalloc(&rdn_libc_mem, cap * sizeof *skip);
    uint32_t n = cap;
    int rc = skip ? 0 : rdn_fail(reterr, NOMEM, "", "no memory to read %.100s", t->path);
    t->mode = REDAN_TAPE_READ;
    while (rc == 0 && n == cap)
        rc = redan_tape_next(t, skip, cap, &n, reterr);
    rdn_free(&rdn_libc_mem, skip, cap * sizeof *skip);
    bool open = rc == 0 && is_open(head_of(t));
    uint32_t count = t->count;
    rdn_free(&rdn_libc_mem, t->block, BLOCK);
    t->block = NULL;
    t->mode = REDAN_TAPE_WRITE;
    if (!open)
        return rc;
    rc = map_block(t, reterr);
    if (rc == 0) {                                       /* what is behind the count may not have reached the disk */
        head_of(t)->count = count;
        head_of(t)->boot = t->boot;
    }
    return rc;
}

/* Before anything of a tape is read for writing, nobody else writes it. */
static int open_fd(redan_tape *t, const redan_tape_options *o, redan_error *reterr) {
    bool writes = o->mode == REDAN_TAPE_WRITE;
    t->fd = open(o->path, writes ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0644);
    if (t->fd < 0)
        return rdn_fail_sys(reterr, "open");
    if (!writes || flock(t->fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK ? rdn_fail(reterr, BUSY, "", "somebody writes this tape") : rdn_fail_sys(reterr, "flock");
}

int redan_tape_open(redan_tape **ret, const redan_tape_options *o, redan_error *reterr) {
    struct stat st;
    if (o->size != sizeof *o || !o->path || o->mode > REDAN_TAPE_WRITE || o->level > REDAN_TAPE_GROUP)
        return rdn_fail(reterr, INVAL, "", "options of a tape: a path, mode 0 or 1, level 0 to 2, size %zu", sizeof *o);
    redan_tape *t = rdn_zalloc(&rdn_libc_mem, sizeof *t);
    unsigned char *block = rdn_zalloc(&rdn_libc_mem, BLOCK);
    if (!t || !block) {
        rdn_free(&rdn_libc_mem, t, sizeof *t);
        rdn_free(&rdn_libc_mem, block, BLOCK);
        return rdn_fail(reterr, NOMEM, "", "no memory for a tape");
    }
    *t = (redan_tape){ .fd = -1, .mode = REDAN_TAPE_READ, .level = o->level, .block = block, .boot = boot_id() };
    snprintf(t->path, sizeof t->path, "%s", o->path);
    int rc = open_fd(t, o, reterr);
    if (rc == 0 && fstat(t->fd, &st) < 0)
        rc = rdn_fail_sys(reterr, "fstat");
    if (rc < 0)
        rc = rdn_wrap(reterr, rc, "%.150s", o->path);
    bool fresh = rc == 0 && o->mode == REDAN_TAPE_WRITE && st.st_size == 0;
    if (rc == 0)
        rc = fresh ? write_head(t, o, reterr) : check_head(t, reterr);
    if (rc == 0 && o->mode == REDAN_TAPE_WRITE)
        rc = resume(t, reterr);
    if (rc < 0) {
        redan_tape_close(t);
        return rc;
    }
    *ret = t;
    return 0;
}

void redan_tape_close(redan_tape *t) {
    if (!t)
        return;
    if (t->mode == REDAN_TAPE_READ)
        rdn_free(&rdn_libc_mem, t->block, BLOCK);
    else if (t->block && head_of(t)->count)
        close_block(t);
    else
        unmap_block(t);
    if (t->fd >= 0)
        close(t->fd);
    for (uint32_t i = 0; i < PAGES; i++)
        rdn_free(&rdn_libc_mem, t->known[i], PAGE * sizeof *t->known[i]);
    rdn_free(&rdn_libc_mem, t, sizeof *t);
}

uint64_t redan_tape_records(const redan_tape *t) { return t->records; }
