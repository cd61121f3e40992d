/* SPDX-License-Identifier: Apache-2.0
 * Replay: files as one stream, the same whatever the speed, the batch and the form of the file; and the golden book of LOBSTER out of it. */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "tests/market/golden_kit.h"

#define LOBSTER "/data/lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv"
#define DEPTH50 "/data/lobster/AAPL_2012-06-21_orderbook_50_first672.csv"
enum { MS = 1000000, FILES = 3, EVENTS = 5000 };
static char paths[FILES][64];

static redan_instrument instrument(const char *symbol, const char *tick) {
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    in.symbol = symbol;
    in.tick = tick;
    return in;
}

/* Events of file i: mostly forward in time, some at equal times in all files, some back. */
static redan_mevent event(unsigned file, unsigned i) {
    unsigned r = (i * 2654435761u + file * 40503u) >> 8;
    int64_t t = (int64_t)i * MS + (r % 7 == 0 ? -2 * MS : 0);
    return (redan_mevent){ .ts_event_ns = t, .ts_recv_ns = t, .order_id = i, .px_ticks = 1000 + r % 50, .qty_lots = 1 + r % 9, .seq = i, .action = REDAN_MARKET_LEVEL,
                           .side = (uint8_t)(REDAN_BID + r % 2), .flags = REDAN_MF_LAST };
}

/* Files 0 and 1 are records, 2 is a tape of the same kind of events. */
static void make_files(void) {
    redan_error err;
    for (unsigned k = 0; k < FILES; k++) {
        snprintf(paths[k], sizeof paths[k], "/tmp/redan-replay-%d-%u.%s", getpid(), k, k < 2 ? "events" : "rdt");
        unlink(paths[k]);
        FILE *f = k < 2 ? fopen(paths[k], "w") : NULL;
        redan_tape_options o = REDAN_TAPE_OPTIONS_INIT;
        redan_tape *t = NULL;
        redan_instrument in = instrument("X", "0.01");
        o.path = paths[k];
        o.mode = REDAN_TAPE_WRITE;
        if (!f)
            check(redan_tape_open(&t, &o, &err) == 0 && redan_tape_instrument(t, 0, &in, &err) == 0, "%s", err.text);
        for (unsigned i = 0; i < EVENTS; i++) {
            redan_mevent e = event(k, i);
            if (f)
                fwrite(&e, sizeof e, 1, f);
            else
                assert_int_equal(redan_tape_append(t, &e, 1, NULL, &err), 0);
        }
        if (f)
            fclose(f);
        redan_tape_close(t);
    }
}

static void remove_files(void) {
    for (unsigned k = 0; k < FILES; k++)
        unlink(paths[k]);
}

static redan_replay *open_replay(double speed, int64_t from, int64_t to) {
    static redan_instrument in;
    redan_replay_options o = REDAN_REPLAY_OPTIONS_INIT;
    redan_replay_file files[FILES] = { { 0 } };
    redan_error err;
    redan_replay *r;
    in = instrument("X", "0.01");
    for (unsigned k = 0; k < FILES; k++) {
        files[k].path = paths[k];
        files[k].feed = (redan_feed_options)REDAN_FEED_OPTIONS_INIT;
        files[k].feed.max_orders = 64;
        files[k].instruments = &in;
        files[k].n = 1;
    }
    o.files = files;
    o.n = FILES;
    o.speed = speed;
    o.from_ns = from;
    o.to_ns = to;
    check(redan_replay_open(&r, &o, &err) == 0, "%s", err.text);
    return r;
}

struct seen { uint64_t hash, n, waits, per_file[FILES]; int64_t clock, ended_at; };

/* Steps to the end with a clock that is moved on by as much as it says. */
static struct seen run(redan_replay *r, uint32_t batch) {
    static redan_replay_event out[4096];
    struct seen s = { .hash = RDN_FNV64_INIT, .clock = 77 };
    int64_t wait = 0, key[FILES] = { INT64_MIN, INT64_MIN, INT64_MIN }, before = INT64_MIN;
    redan_error err;
    while (wait >= 0) {
        uint32_t n;
        check(redan_replay_step(r, s.clock, out, batch, &n, &wait, &err) == 0 && n <= batch, "%s", err.text);
        for (uint32_t i = 0; i < n; i++) {
            int64_t *k = &key[out[i].file];
            *k = out[i].e.ts_recv_ns > *k ? out[i].e.ts_recv_ns : *k;
            check(*k >= before, "event %lu goes back", s.n);
            before = *k;
            s.per_file[out[i].file]++;
            s.hash = rdn_fnv64_more(s.hash, &out[i], sizeof out[i]);
            s.n++;
        }
        s.waits += wait > 0;
        s.clock += wait > 0 ? wait : 0;
    }
    s.ended_at = s.clock;
    for (uint32_t k = 0; k < FILES && redan_replay_feed(r, k); k++) {      /* the books too */
        redan_book_level l[64];
        uint32_t n = redan_book_levels(redan_replay_feed(r, k), 0, REDAN_BID, l, 64);
        s.hash = rdn_fnv64_more(s.hash, l, n * sizeof l[0]);
    }
    redan_replay_close(r);
    return s;
}

static void deterministic(void **state) {
    (void)state;
    static const struct { double speed; uint32_t batch; } rows[] = { { 0, 1 }, { 0, 7 }, { 0, 64 }, { 0, 4096 }, { 1, 64 }, { 20, 1 }, { 20, 4096 } };
    struct seen want = { 0 };
    for each (i, rows) {
        struct seen s = run(open_replay(rows[i].speed, 0, 0), rows[i].batch);
        want = i ? want : s;
        check(s.hash == want.hash && s.n == FILES * EVENTS && s.per_file[2] == EVENTS, "row %zu: %lu events", i, s.n);
        double took = (double)(s.ended_at - 77), recorded = (EVENTS - 1) * (double)MS;
        check(rows[i].speed ? took > recorded / rows[i].speed * 0.99 && took < recorded / rows[i].speed * 1.01 + 2 * EVENTS : took == 0, "row %zu: took %.0f", i, took);
    }
    /* The control: another order of equal times is another stream. */
    char swap[64];
    memcpy(swap, paths[0], sizeof swap);
    memcpy(paths[0], paths[1], sizeof swap);
    memcpy(paths[1], swap, sizeof swap);
    check(run(open_replay(0, 0, 0), 64).hash != want.hash, "files swapped");
    memcpy(paths[1], paths[0], sizeof swap);
    memcpy(paths[0], swap, sizeof swap);
}

/* From and to cut what is handed out; books have seen what was before. */
static void part(void **state) {
    (void)state;
    struct seen s = run(open_replay(1, 1000 * MS, 2000 * MS), 64);
    check(s.n >= 3 * 995 && s.n <= 3 * 1005 && s.ended_at - 77 < 1001 * (int64_t)MS, "%lu events, %ld", s.n, s.ended_at);
    redan_replay *r = open_replay(0, 4999 * (int64_t)MS, 0);
    redan_replay_event one;
    uint32_t n;
    int64_t wait;
    redan_error err;
    redan_book_level l[4];
    check(redan_replay_step(r, 0, &one, 1, &n, &wait, &err) == 0 && n == 1 && redan_book_levels(redan_replay_feed(r, 1), 0, REDAN_BID, l, 4) == 4 &&
          !redan_replay_feed(r, FILES), "%u events", n);
    redan_replay_close(r);
}

/* LOBSTER by replay, and as a tape by replay. */
static void lobster(void **state) {
    (void)state;
    char path[512], seed[512], tape[64] = "/tmp/redan-lobster-XXXXXX";
    const char *shared = getenv("REDAN_SHARED");
    snprintf(path, sizeof path, "%s" LOBSTER, shared ? shared : "../shared");
    snprintf(seed, sizeof seed, "%s" DEPTH50, shared ? shared : "../shared");
    if (access(path, R_OK) != 0) {
        print_message("no file %s\n", path);
        skip();
    }
    redan_error err;
    redan_tape_options to = REDAN_TAPE_OPTIONS_INIT;
    redan_tape *t;
    redan_instrument in = instrument("AAPL", "0.01");
    close(mkstemp(tape));
    to.path = tape;
    to.mode = REDAN_TAPE_WRITE;
    check(redan_tape_open(&t, &to, &err) == 0 && redan_tape_instrument(t, 0, &in, &err) == 0, "%s", err.text);
    for (unsigned round = 0; round < 2; round++) {
        redan_replay_options o = REDAN_REPLAY_OPTIONS_INIT;
        redan_replay_file f = { .path = round ? tape : path, .seed = round ? NULL : seed, .feed = REDAN_FEED_OPTIONS_INIT, .instruments = &in, .n = 1 };
        redan_replay *r;
        redan_replay_event e;
        struct golden g;
        char all[17], distinct[17];
        uint32_t n = 1, faults = 0;
        int64_t wait = 0;
        if (round)
            f.feed.policy[REDAN_FAULT_UNKNOWN_ID] = REDAN_POLICY_BY_PRICE;
        o.files = &f;
        o.n = 1;
        check(redan_replay_open(&r, &o, &err) == 0, "%s", err.text);
        for (golden_begin(&g, redan_replay_feed(r, 0), 0); wait >= 0;) {
            check(redan_replay_step(r, 0, &e, 1, &n, &wait, &err) == 0, "%s", err.text);
            if (!n || e.e.action == REDAN_MARKET_FAULT)
                continue;
            faults += e.fault != 0;
            if (!(e.e.flags & REDAN_MF_SNAPSHOT))
                golden_state(&g);
            if (!round)
                assert_int_equal(redan_tape_append(t, &e.e, 1, &e.fault, &err), 0);
        }
        golden_end(&g, all, distinct);
        check(!strcmp(all, "e85507e4db2de1d8") && g.states == 91997 && faults >= 84, "round %u: %s, %lu states, %u faults", round, all, g.states, faults);
        redan_replay_close(r);
        if (!round)
            redan_tape_close(t);
    }
    unlink(tape);
}

/* Events that name an order alone have its instrument when they are handed out, whatever else is on its way; of an order that nobody knows they have none. */
static void by_order(void **state) {
    (void)state;
    static const char text[] = "28800001AAK27GA0000DTS000100SH    0000619200Y\n" "28800001AAK27GA0000DUB000200AAPL  0000619100Y\n"
                               "28800002XAK27GA0000DU000050\n" "28800002XAK27GA0000DT000100\n" "28800003XAK27GA0000DT000100\n" "28800004EAK27GA0000DU0001500000000000AB\n";
    static const char *const symbols[] = { "SH", "AAPL", "AAPL", "SH", NULL, "AAPL" };
    char path[] = "/tmp/redan-pitch-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    redan_replay_file f = { .path = path, .feed = REDAN_FEED_OPTIONS_INIT };
    f.feed.format = "pitch";
    f.feed.auto_tick = "0.01";
    redan_replay_options o = { .size = sizeof o, .n = 1, .files = &f };
    for (uint32_t cap = 1; cap <= 64; cap += 63) {
        redan_replay *r;
        redan_replay_event out[64];
        redan_error err;
        uint32_t n = 1, got = 0;
        int64_t wait;
        check(redan_replay_open(&r, &o, &err) == 0, "%s", err.text);
        for (; n; got += n) {
            check(redan_replay_step(r, 0, out, cap, &n, &wait, &err) == 0, "%s", err.text);
            for (uint32_t i = 0; i < n; i++) {
                const char *want = symbols[got + i], *have = redan_feed_symbol(redan_replay_feed(r, 0), out[i].e.instrument);
                check(want ? have && !strcmp(have, want) && !out[i].fault : out[i].e.instrument == REDAN_BY_ORDER && out[i].fault == REDAN_FAULT_UNKNOWN_ID,
                      "event %u of %u at once: %s, fault %u", got + i, cap, have, out[i].fault);
            }
        }
        check(got == 6, "%u events", got);
        redan_replay_close(r);
    }
    unlink(path);
}

/* A damaged tape gives what is before the damage, and then its error, as often as it is asked; so does one whose damage comes early. */
static void damaged(void **state) {
    (void)state;
    enum { HEAD = 4096, BLOCK = 1 << 20, FULL = 16382 };
    static const struct { uint32_t first, rest; } rows[] = { { 10, 20 }, { FULL, 300 }, { FULL, 1 } };
    for each (i, rows) {
        char tape[] = "/tmp/redan-damaged-XXXXXX";
        redan_error err;
        redan_tape_options to = { .size = sizeof to, .path = tape, .mode = REDAN_TAPE_WRITE };
        redan_tape *t;
        redan_instrument in = instrument("X", "0.01");
        int fd = mkstemp(tape);
        for (unsigned part = 0; part < 2; part++) {      /* a block each */
            check(redan_tape_open(&t, &to, &err) == 0 && redan_tape_instrument(t, 0, &in, &err) == 0, "%s", err.text);
            for (uint32_t k = 0; k < (part ? rows[i].rest : rows[i].first - 1); k++) {
                redan_mevent e = event(0, k + part * rows[i].first);
                assert_int_equal(redan_tape_append(t, &e, 1, NULL, &err), 0);
            }
            redan_tape_close(t);
        }
        assert_int_equal(pwrite(fd, "?", 1, HEAD + BLOCK + 128 + 3), 1);
        close(fd);
        redan_replay_file f = { .path = tape, .feed = REDAN_FEED_OPTIONS_INIT };
        redan_replay_options o = { .size = sizeof o, .n = 1, .files = &f };
        redan_replay *r;
        redan_replay_event out[64];
        uint32_t n = 0, got = 0;
        int64_t wait;
        check(redan_replay_open(&r, &o, &err) == 0, "row %zu: %s", i, err.text);
        int rc;
        while ((rc = redan_replay_step(r, 0, out, 64, &n, &wait, &err)) == 0 && n)
            got += n;
        check(rc == REDAN_E_CORRUPT && !n && got == rows[i].first - 1 && strstr(err.text, "block 1"), "row %zu: %u events, %d %s", i, got, rc, err.text);
        for (unsigned k = 0; k < 3; k++) {
            redan_error again = { 0 };
            rc = redan_replay_step(r, 0, out, 64, &n, &wait, &again);
            check(rc == REDAN_E_CORRUPT && !n && !strcmp(again.text, err.text), "row %zu: asked again: %d %s", i, rc, again.text);
        }
        redan_replay_close(r);
        unlink(tape);
    }
}

/* What can be read once only is read once: standard input and a named pipe give every event. */
static void pipes(void **state) {
    (void)state;
    char fifo[64];
    snprintf(fifo, sizeof fifo, "/tmp/redan-fifo-%d", getpid());
    const char *const from[] = { "-", "/dev/stdin", fifo };
    int in = dup(0);
    for each (i, from) {
        int p[2], status;
        assert_true(pipe(p) == 0 && mkfifo(fifo, 0600) == 0);
        pid_t child = fork();
        if (child == 0) {
            FILE *out = i == 2 ? fopen(fifo, "w") : fdopen(p[1], "w");
            for (unsigned k = 0; out && k < EVENTS; k++) {
                redan_mevent e = event(0, k);
                fwrite(&e, sizeof e, 1, out);
            }
            _exit(!out || fclose(out) != 0);
        }
        dup2(p[0], 0);
        close(p[0]);
        close(p[1]);
        redan_instrument x = instrument("X", "0.01");
        redan_replay_file f = { .path = from[i], .feed = REDAN_FEED_OPTIONS_INIT, .instruments = &x, .n = 1 };
        redan_replay_options o = { .size = sizeof o, .n = 1, .files = &f };
        redan_replay *r;
        redan_error err;
        f.feed.format = "events";
        check(redan_replay_open(&r, &o, &err) == 0, "%s: %s", from[i], err.text);
        struct seen s = run(r, 64);
        check(s.n == EVENTS, "%s: %lu events", from[i], s.n);
        assert_true(waitpid(child, &status, 0) == child && status == 0);
        unlink(fifo);
        dup2(in, 0);
    }
    close(in);
}

static void refused(void **state) {
    (void)state;
    redan_replay_options o = REDAN_REPLAY_OPTIONS_INIT;
    redan_replay_file f = { .path = "/nowhere/x.events", .feed = REDAN_FEED_OPTIONS_INIT };
    redan_replay *r;
    redan_error err;
    o.files = &f;
    check(redan_replay_open(&r, &o, &err) == REDAN_E_INVAL, "no file");
    o.n = 1;
    check(redan_replay_open(&r, &o, &err) == REDAN_E_SYS && strstr(err.text, "/nowhere/x.events"), "%s", err.text);
    o.speed = -1;
    check(redan_replay_open(&r, &o, &err) == REDAN_E_INVAL, "a negative speed");
}

int main(void) {
    make_files();
    const struct CMUnitTest tests[] = { cmocka_unit_test(deterministic), cmocka_unit_test(part), cmocka_unit_test(lobster), cmocka_unit_test(by_order), cmocka_unit_test(damaged), cmocka_unit_test(pipes), cmocka_unit_test(refused) };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    remove_files();
    return rc;
}
