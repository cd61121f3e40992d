/* SPDX-License-Identifier: Apache-2.0
 * bench-replay: market files as one stream, books kept on the way.
 *
 *   bench-replay made [ROUNDS]            made-up order flow
 *   bench-replay FILE SYMBOL TICK LOT [ROUNDS]   a file of a known format
 *
 * The events are written to tapes in /tmp first. Replayed are one tape, four tapes that are merged, the same events as bare records, and the file
 * itself; each to its end, at full speed, 1,024 events a call. Prints rows of bench/rows.py: nanoseconds an event, and beside one tape the sum of the
 * words of the same file through mmap. A replay is timed in pieces of a call each; the figure is the sum of each piece's least time over all rounds. */
#include <fcntl.h>
#include <redan/market.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "bench/ticks.h"
#include "market/reading.h"

enum { BATCH = 1024, CALLS = 1 << 14, TAPES = 4, MADE = 500000, LIVE = 64, PATH = 64 };
static redan_instrument instrument = REDAN_INSTRUMENT_INIT;
static char folder[] = "/tmp/redan-bench-replay-XXXXXX", tapes[TAPES][PATH], records[PATH];

static _Noreturn void die(const char *what) {
    fprintf(stderr, "bench-replay: %s\n", what);
    exit(1);
}

static void say(const char *name, double ns) {
    printf("{\"bench\":\"replay\",\"figure\":\"replay/%s/ns\",\"value\":%.2f,\"unit\":\"ns\"}\n", name, ns);
}

/* --- what is replayed --- */

/* Sixty-four orders near a price that wanders: the oldest goes for each that comes. */
static redan_mevent made(uint64_t i) {
    uint64_t r = rdn_mix64(i >> 1), gone = (i >> 1) - LIVE;
    int64_t mid = 20000 + (int64_t)(rdn_mix64(i >> 11) % 64), t = (int64_t)i * 1000;
    uint8_t side = r & 1 ? REDAN_BID : REDAN_ASK;
    redan_mevent e = { .ts_event_ns = t, .ts_recv_ns = t, .order_id = i >> 1, .px_ticks = mid + (side == REDAN_BID ? -1 : 1) * (int64_t)(1 + (r >> 8) % 16), .qty_lots = 1 + (int64_t)(r >> 20) % 500,
                       .seq = i, .action = REDAN_MARKET_ADD, .side = side, .flags = REDAN_MF_LAST };
    if (i % 2 && i >> 1 >= LIVE)
        e = (redan_mevent){ .ts_event_ns = t, .ts_recv_ns = t, .order_id = gone, .seq = i, .action = REDAN_MARKET_DELETE, .flags = REDAN_MF_LAST };
    else if (i % 2)
        e = (redan_mevent){ .ts_event_ns = t, .ts_recv_ns = t, .qty_lots = 1, .seq = i, .action = REDAN_MARKET_TRADE, .flags = REDAN_MF_LAST };
    return e;
}

static redan_mevent *read_events(const char *path, uint32_t *ret_n) {
    struct rdn_reading_options o = { .path = path, .feed = REDAN_FEED_OPTIONS_INIT, .instruments = &instrument, .n = 1 };
    struct rdn_reading *p = NULL;
    const redan_mevent *e = NULL;
    redan_error err;
    uint32_t cap = MADE, n = 0;
    redan_mevent *ev = malloc(cap * sizeof *ev);
    if (path && rdn_reading_open(&p, &o, &err) < 0)
        die(err.text);
    while (ev && (path ? rdn_reading_next(p, &e, &err) == 0 && e : n < MADE)) {
        if (n == cap)
            ev = realloc(ev, (cap *= 2) * sizeof *ev);
        if (ev)
            ev[n] = path ? *e : made(n);
        n++;
    }
    if (path)
        rdn_reading_unref(p);
    *ret_n = n;
    return ev ? ev : (die("no memory"), NULL);
}

static void write_files(const redan_mevent *ev, uint32_t n) {
    redan_error err;
    if (!mkdtemp(folder))
        die("no folder in /tmp");
    for (unsigned i = 0; i < TAPES; i++) {
        redan_tape_options o = REDAN_TAPE_OPTIONS_INIT;
        redan_tape *t;
        snprintf(tapes[i], PATH, "%s/%u.rdt", folder, i);
        o.path = tapes[i];
        o.mode = REDAN_TAPE_WRITE;
        if (redan_tape_open(&t, &o, &err) < 0 || redan_tape_instrument(t, 0, &instrument, &err) < 0 || redan_tape_append(t, ev, n, NULL, &err) < 0)
            die(err.text);
        redan_tape_close(t);
    }
    snprintf(records, PATH, "%s/bare.events", folder);
    FILE *f = fopen(records, "w");
    if (!f || fwrite(ev, sizeof *ev, n, f) != n || fclose(f) != 0)
        die("cannot write");
}

static void remove_files(void) {
    for (unsigned i = 0; i < TAPES; i++)
        unlink(tapes[i]);
    unlink(records);
    rmdir(folder);
}

/* --- replay --- */

static void open_files(redan_replay **r, const char *path, uint32_t n, const char *as) {
    redan_replay_options o = REDAN_REPLAY_OPTIONS_INIT;
    redan_replay_file f[TAPES] = { { 0 } };
    redan_error err;
    for (uint32_t i = 0; i < n; i++) {
        f[i] = (redan_replay_file){ .path = path ? path : tapes[i], .feed = REDAN_FEED_OPTIONS_INIT, .instruments = &instrument, .n = 1 };
        f[i].feed.format = as;
        f[i].feed.max_orders = 1 << 16;
        f[i].feed.max_instruments = 1;
        f[i].feed.window = 65536;
        f[i].feed.far = 16384;
    }
    o.files = f;
    o.n = n;
    if (redan_replay_open(r, &o, &err) < 0)
        die(err.text);
}

/* Nanoseconds an event of `n` files, best of each call. */
static double replayed(const char *path, uint32_t n, const char *as, uint32_t want, int rounds) {
    static redan_replay_event out[BATCH];
    static double least[CALLS];
    double ns = 0;
    uint32_t calls = 0;
    uint64_t events = 0;
    for (int k = 0; k < rounds; k++) {
        redan_replay *r;
        redan_error err;
        uint32_t got = 1;
        int64_t wait;
        open_files(&r, path, n, as);
        for (calls = 0, events = 0; got; events += got, calls++) {
            int64_t at = now_ns();
            if (calls == CALLS || redan_replay_step(r, 0, out, BATCH, &got, &wait, &err) < 0)
                die(calls == CALLS ? "too many events" : err.text);
            double took = (double)(now_ns() - at);
            least[calls] = k && least[calls] < took ? least[calls] : took;
        }
        redan_replay_close(r);
    }
    if (events != want)
        die("a replay has lost events");
    for (uint32_t i = 0; i < calls; i++)
        ns += least[i];
    return ns / (double)events;
}

/* The words of a file, summed: what reading it takes at least. */
static double summed(const char *path, uint32_t events, int rounds) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t *p = fd >= 0 && fstat(fd, &st) == 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0) : MAP_FAILED;
    double best = 1e18;
    volatile uint64_t kept;
    if (p == MAP_FAILED)
        die("cannot map a tape");
    for (int k = 0; k < rounds; k++) {
        uint64_t sum = 0;
        int64_t at = now_ns();
        for (size_t i = 0; i < (size_t)st.st_size / sizeof *p; i++)
            sum += p[i];
        kept = sum;
        double took = (double)(now_ns() - at);
        best = took < best ? took : best;
    }
    (void)kept;
    munmap(p, (size_t)st.st_size);
    close(fd);
    return best / events;
}

int main(int argc, char **argv) {
    bool is_made = argc > 1 && strcmp(argv[1], "made") == 0;
    int more = is_made ? 2 : 5, rounds = argc > more ? atoi(argv[more]) : 10;
    uint32_t n;
    if (argc < (is_made ? 2 : 5) || rounds < 1)
        die("made [ROUNDS], or FILE SYMBOL TICK LOT [ROUNDS]");
    instrument.symbol = is_made ? "MADE" : argv[2];
    instrument.tick = is_made ? "0.01" : argv[3];
    instrument.lot = is_made ? "1" : argv[4];
    redan_mevent *ev = read_events(is_made ? NULL : argv[1], &n);
    write_files(ev, n);
    free(ev);
    double tape = replayed(NULL, 1, NULL, n, rounds), raw = summed(tapes[0], n, rounds);
    char name[PATH];
    snprintf(name, sizeof name, "%s", instrument.symbol);
    for (char *p = name; *p; p++)
        *p = (char)(*p | 32);
    printf("{\"bench\":\"replay\",\"schema\":1,\"set\":\"%s-tape\",\"ns_min\":%.3f,\"peer\":\"raw-read\",\"peer_ns\":%.3f,\"ratio\":%.3f}\n", name, tape, raw, tape / raw);
    char row[2 * PATH];
#define ROW(what, ns) (snprintf(row, sizeof row, "%s-" what, name), say(row, ns))
    ROW("tape", tape);
    ROW("four-tapes", replayed(NULL, TAPES, NULL, TAPES * n, rounds));
    ROW("records", replayed(records, 1, "events", n, rounds));
    if (!is_made)
        ROW("file", replayed(argv[1], 1, NULL, n, rounds));
    printf("{\"events\":%u}\n", n);
    remove_files();
    return 0;
}
