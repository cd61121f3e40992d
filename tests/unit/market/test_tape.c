/* SPDX-License-Identifier: Apache-2.0
 * Tapes: what is written reads back, after a process that died and a machine that stopped too, and what is damaged says where. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fault.h"
#include "market/crc.h"
#include "tests/unit/market/feed_kit.h"

enum { HEAD = 4096, BLOCK = 1 << 20, FULL = 16382, COUNT = HEAD + 16, STATE = HEAD + 68, BOOT = HEAD + 72 };
static char path[64];

static redan_tape *open_tape(uint32_t mode, uint32_t level, int want) {
    redan_tape_options o = REDAN_TAPE_OPTIONS_INIT;
    redan_tape *t = NULL;
    redan_error err = { 0 };
    o.path = path;
    o.mode = mode;
    o.level = level;
    int rc = redan_tape_open(&t, &o, &err);
    check(rc == want, "%d: %s", rc, err.text);
    return t;
}

static redan_mevent event(uint64_t i) {
    return (redan_mevent){ .ts_event_ns = (int64_t)i, .ts_recv_ns = (int64_t)i * 2, .order_id = i * 7, .px_ticks = -(int64_t)i, .qty_lots = 1, .seq = i, .action = 'A', .side = 1 };
}

static void write_some(redan_tape *t, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        redan_mevent e = event(i);
        redan_error err;
        check(redan_tape_append(t, &e, 1, NULL, &err) == 0, "%s", err.text);
    }
}

/* Reads to the end; events must be 0, 1, 2 …; returns how many. */
static uint64_t read_all(int want, char text[256]) {
    redan_tape *t = open_tape(REDAN_TAPE_READ, 0, 0);
    redan_mevent ev[100];
    redan_error err = { 0 };
    uint32_t n = 100;
    uint64_t at = 0;
    int rc = 0;
    while (n && rc == 0) {
        rc = redan_tape_next(t, ev, 100, &n, &err);
        for (uint32_t i = 0; i < n; i++, at++) {
            redan_mevent e = event(at);
            check(memcmp(&e, &ev[i], sizeof e) == 0, "event %lu", at);
        }
    }
    check(rc == want, "%d: %s", rc, err.text);
    if (text)
        memcpy(text, err.text, 256);
    redan_tape_close(t);
    return at;
}

static void fresh(void) {
    strcpy(path, "/tmp/redan-tape-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static void poke(off_t at, const void *bytes, size_t n) {
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, bytes, n, at), n);
    close(fd);
}

static void flip(off_t at) {
    unsigned char b;
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &b, 1, at), 1);
    b ^= 4;
    assert_int_equal(pwrite(fd, &b, 1, at), 1);
    close(fd);
}

static void goes_on(void **state) {
    (void)state;
    static const uint64_t stops[] = { 0, 1, 1, 7, FULL - 1, FULL, FULL + 1, 2 * FULL, 2 * FULL + 5, 40000 };
    fresh();
    uint64_t at = 0;
    for each (i, stops) {
        redan_tape *t = open_tape(REDAN_TAPE_WRITE, i % 3, 0);
        check(redan_tape_records(t) == at, "%lu of %lu", redan_tape_records(t), at);
        write_some(t, at, stops[i]);
        at = stops[i];
        redan_tape_close(t);
        check(read_all(0, NULL) == at, "stop %zu", i);
    }
    unlink(path);
}

/* A child writes and dies without a word. */
static void process_dies(void **state) {
    (void)state;
    static const uint64_t counts[] = { 1, 100, FULL, FULL + 3 };
    for each (i, counts) {
        int status;
        fresh();
        if (fork() == 0) {
            redan_tape *t = open_tape(REDAN_TAPE_WRITE, REDAN_TAPE_NONE, 0);
            write_some(t, 0, counts[i]);
            _exit(0);
        }
        assert_true(wait(&status) > 0 && status == 0);
        check(read_all(0, NULL) == counts[i], "count %lu", counts[i]);
        redan_tape *t = open_tape(REDAN_TAPE_WRITE, REDAN_TAPE_NONE, 0);
        write_some(t, counts[i], counts[i] + 10);
        redan_tape_close(t);
        check(read_all(0, NULL) == counts[i] + 10, "count %lu", counts[i]);
        unlink(path);
    }
}

/* The machine stops: of an open block, what was synced is good. The block's head names another run of the machine. */
static void machine_stops(void **state) {
    (void)state;
    static const uint64_t other_boot = 12345;
    redan_error err;
    int status;
    fresh();
    if (fork() == 0) {
        redan_tape *t = open_tape(REDAN_TAPE_WRITE, REDAN_TAPE_NONE, 0);
        write_some(t, 0, 50);
        if (redan_tape_sync(t, &err) < 0)
            _exit(1);
        write_some(t, 50, 70);
        _exit(0);
    }
    assert_true(wait(&status) > 0 && status == 0);
    assert_int_equal(read_all(0, NULL), 70);
    poke(BOOT, &other_boot, sizeof other_boot);
    assert_int_equal(read_all(0, NULL), 50);
    redan_tape *t = open_tape(REDAN_TAPE_WRITE, REDAN_TAPE_GROUP, 0);
    write_some(t, 50, 60);
    redan_tape_close(t);
    assert_int_equal(read_all(0, NULL), 60);
    unlink(path);
}

static void damage(void **state) {
    (void)state;
    static const struct { off_t at; uint64_t good; const char *says; } rows[] = {
        { HEAD + 2 * BLOCK + 128 + 64 * 100 + 3, 2 * FULL, "block 2: checksum" },
        { HEAD + BLOCK + 128 + 5, FULL, "block 1: checksum" },
        { HEAD + BLOCK + 33, FULL, "block 1: checksum" },
        { HEAD + 2, 0, "block 0: no block begins here" },
        { HEAD + 8, 0, "block 0: no block begins here" },
        { HEAD + BLOCK + 68, FULL, "block 1" },          /* its state */
        { HEAD + 16, 0, "block 0" },                     /* its count */
    };
    fresh();
    redan_tape *t = open_tape(REDAN_TAPE_WRITE, 0, 0);
    write_some(t, 0, 2 * FULL + 200);
    redan_tape_close(t);
    for each (i, rows) {
        char text[256];
        flip(rows[i].at);
        uint64_t n = read_all(REDAN_E_CORRUPT, text);
        check(n == rows[i].good && strstr(text, rows[i].says) && strstr(text, "redan-tape"), "row %zu: %lu, %s", i, n, text);
        open_tape(REDAN_TAPE_WRITE, 0, REDAN_E_CORRUPT); /* nobody writes behind what is damaged */
        flip(rows[i].at);
    }
    assert_int_equal(read_all(0, NULL), 2 * FULL + 200);
    char text[256];
    assert_int_equal(truncate(path, HEAD + 2 * BLOCK + 500), 0);
    check(read_all(REDAN_E_CORRUPT, text) == 2 * FULL && strstr(text, "block 2: it is cut short"), "%s", text);
    flip(20);
    open_tape(REDAN_TAPE_READ, 0, REDAN_E_CORRUPT);
    flip(20);
    flip(0);
    open_tape(REDAN_TAPE_READ, 0, REDAN_E_INVAL);
    unlink(path);
    open_tape(REDAN_TAPE_READ, 0, REDAN_E_SYS);
}

/* Instruments and faults are records too. */
static void other_records(void **state) {
    (void)state;
    redan_instrument in = REDAN_INSTRUMENT_INIT, got;
    redan_mevent e = event(3), ev[8];
    redan_error err;
    uint32_t n;
    uint8_t faults[2] = { 0, REDAN_FAULT_UNKNOWN_ID };
    fresh();
    redan_tape *t = open_tape(REDAN_TAPE_WRITE, 0, 0);
    in.symbol = "ESH4";
    in.tick = "0.25";
    in.lot = "0.001";
    in.number = 17;
    check(redan_tape_instrument(t, 1, &in, &err) == REDAN_E_INVAL, "an instrument out of order");
    assert_int_equal(redan_tape_instrument(t, 0, &in, &err), 0);
    redan_mevent two[2] = { e, e };
    assert_int_equal(redan_tape_append(t, two, 2, faults, &err), 0);
    assert_int_equal(redan_tape_next(t, ev, 8, &n, &err), REDAN_E_INVAL);
    redan_tape_close(t);
    t = open_tape(REDAN_TAPE_READ, 0, 0);
    assert_int_equal(redan_tape_known(t, 0, &got), REDAN_E_INVAL);
    check(redan_tape_next(t, ev, 8, &n, &err) == 0 && n == 3 && ev[2].action == REDAN_MARKET_FAULT && ev[2].flags == REDAN_FAULT_UNKNOWN_ID && ev[2].order_id == e.order_id,
          "%u records", n);
    check(redan_tape_known(t, 0, &got) == 0 && !strcmp(got.symbol, "ESH4") && !strcmp(got.tick, "0.250000000") && !strcmp(got.lot, "0.001000000") && got.number == 17,
          "%s %s", got.symbol, got.tick);
    check(redan_tape_append(t, two, 2, NULL, &err) == REDAN_E_INVAL && redan_tape_records(t) == 4, "%lu records", redan_tape_records(t));
    redan_tape_close(t);
    unlink(path);
}

/* A full disk is an error; what was there stays, and the tape goes on when there is room. */
static void disk_full(void **state) {
    (void)state;
    redan_error err;
    fresh();
    redan_tape *t = open_tape(REDAN_TAPE_WRITE, 0, 0);
    write_some(t, 0, FULL);
    redan_mevent e = event(FULL);
    rdn_fault_arm(1);
    check(redan_tape_append(t, &e, 1, NULL, &err) == REDAN_E_SYS, "%s", err.text);
    rdn_fault_arm(0);
    assert_int_equal(read_all(0, NULL), FULL);
    write_some(t, FULL, FULL + 5);
    redan_tape_close(t);
    assert_int_equal(read_all(0, NULL), FULL + 5);
    unlink(path);
}

/* A block whose closing stopped before the last store is a whole one, wherever it stands; the writer goes on behind it. */
static void closing_stops(void **state) {
    (void)state;
    static const uint32_t open = 1;
    static const uint64_t counts[] = { 5, FULL, FULL + 200 };
    for each (i, counts) {
        fresh();
        redan_tape *t = open_tape(REDAN_TAPE_WRITE, 0, 0);
        write_some(t, 0, counts[i]);
        redan_tape_close(t);
        poke(STATE, &open, sizeof open);
        check(read_all(0, NULL) == counts[i], "row %zu", i);
        t = open_tape(REDAN_TAPE_WRITE, 0, 0);
        write_some(t, counts[i], counts[i] + 3);
        redan_tape_close(t);
        check(read_all(0, NULL) == counts[i] + 3, "row %zu: %lu events", i, read_all(0, NULL));
        unlink(path);
    }
}

static void cut(void) { assert_int_equal(truncate(path, HEAD + 500), 0); }
static void lose_records(void) { poke(COUNT, &(uint32_t){ 7 }, 4); }
static void wrong_magic(void) { flip(HEAD); }

/* A tape that goes bad while it is read says so, and says the same again. */
static void error_stays(void **state) {
    (void)state;
    static const struct { void (*damage)(void); const char *says; } rows[] = {
        { cut, "it is cut short" }, { lose_records, "it has lost records" }, { wrong_magic, "no block begins here" },
    };
    for each (i, rows) {
        redan_mevent ev[100];
        redan_error err, again = { 0 };
        uint32_t n;
        int status;
        fresh();
        if (fork() == 0) {                               /* leaves an open block */
            write_some(open_tape(REDAN_TAPE_WRITE, 0, 0), 0, 50);
            _exit(0);
        }
        assert_true(wait(&status) > 0 && status == 0);
        redan_tape *t = open_tape(REDAN_TAPE_READ, 0, 0);
        check(redan_tape_next(t, ev, 100, &n, &err) == 0 && n == 50, "%u events", n);
        rows[i].damage();
        alarm(10);
        check(redan_tape_next(t, ev, 100, &n, &err) == REDAN_E_CORRUPT && !n && strstr(err.text, rows[i].says), "row %zu: %s", i, err.text);
        check(redan_tape_next(t, ev, 100, &n, &again) == REDAN_E_CORRUPT && !n && !strcmp(err.text, again.text), "row %zu: %s", i, again.text);
        alarm(0);
        redan_tape_close(t);
        unlink(path);
    }
}

/* Texts of an instrument stay where they are until the tape is closed, however many follow it; and a number means one instrument. */
static void texts_stay(void **state) {
    (void)state;
    enum { MANY = 3000 };
    redan_instrument in = REDAN_INSTRUMENT_INIT, first, got;
    redan_error err;
    redan_mevent ev[16];
    uint32_t n;
    char symbol[16];
    fresh();
    redan_tape *t = open_tape(REDAN_TAPE_WRITE, 0, 0);
    in.symbol = symbol;
    in.tick = "0.01";
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(symbol, sizeof symbol, "S%u", i);
        check(redan_tape_instrument(t, i, &in, &err) == 0, "%s", err.text);
        if (i == 0)
            assert_int_equal(redan_tape_known(t, 0, &first), 0);
    }
    check(redan_tape_known(t, 0, &got) == 0 && got.symbol == first.symbol && !strcmp(first.symbol, "S0") && !strcmp(first.tick, "0.010000000"), "%s", first.symbol);
    strcpy(symbol, "S7");
    check(redan_tape_instrument(t, 7, &in, &err) == 0 && redan_tape_records(t) == MANY, "the same again: %lu records", redan_tape_records(t));
    in.tick = "0.25";
    check(redan_tape_instrument(t, 7, &in, &err) == REDAN_E_INVAL && strstr(err.text, "instrument 7"), "another one: %s", err.text);
    redan_tape_close(t);
    t = open_tape(REDAN_TAPE_READ, 0, 0);
    check(redan_tape_next(t, ev, 16, &n, &err) == 0 && !n && redan_tape_known(t, MANY - 1, &got) == 0 && !strcmp(got.symbol, "S2999"), "%s", got.symbol);
    redan_tape_close(t);
    unlink(path);
}

/* Records that the tape keeps for itself cannot be appended; nothing of such a call is written. */
static void own_letter(void **state) {
    (void)state;
    redan_error err;
    redan_mevent ev[2] = { event(0), event(1) };
    fresh();
    redan_tape *t = open_tape(REDAN_TAPE_WRITE, 0, 0);
    ev[1].action = 'I';
    check(redan_tape_append(t, ev, 2, NULL, &err) == REDAN_E_INVAL && strstr(err.text, "redan_tape_instrument") && !redan_tape_records(t), "%s", err.text);
    write_some(t, 0, 5);
    redan_tape_close(t);
    assert_int_equal(read_all(0, NULL), 5);
    unlink(path);
}

/* One writer at a time, of this process or another; any number of readers. */
static void one_writer(void **state) {
    (void)state;
    int status;
    fresh();
    redan_tape *t = open_tape(REDAN_TAPE_WRITE, 0, 0);
    write_some(t, 0, 5);
    open_tape(REDAN_TAPE_WRITE, 0, REDAN_E_BUSY);
    if (fork() == 0) {
        open_tape(REDAN_TAPE_WRITE, 0, REDAN_E_BUSY);
        _exit(read_all(0, NULL) != 5);
    }
    assert_true(wait(&status) > 0 && status == 0);
    write_some(t, 5, 9);
    redan_tape_close(t);
    redan_tape_close(open_tape(REDAN_TAPE_WRITE, 0, 0));
    assert_int_equal(read_all(0, NULL), 9);
    unlink(path);
}

/* The same checksum as zlib's, whatever the length and the place. */
static void checksums(void **state) {
    (void)state;
    enum { MOST = 1 << 20 };
    unsigned char *p = malloc(MOST + 16);
    uint32_t r = 7;
    assert_non_null(p);
    for (size_t i = 0; i < MOST + 16; i++)
        p[i] = (unsigned char)((r = r * 1664525 + 1013904223) >> 24);
    for (size_t n = 0; n < 700; n++)
        for (size_t at = 0; at < 16; at++)
            check(rdn_crc32(p + at, n) == crc32(0, p + at, (uInt)n), "%zu bytes at %zu", n, at);
    check(rdn_crc32(p + 1, MOST) == crc32(0, p + 1, MOST), "a block");
    free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(goes_on), cmocka_unit_test(process_dies), cmocka_unit_test(machine_stops), cmocka_unit_test(damage),
                                        cmocka_unit_test(other_records), cmocka_unit_test(disk_full), cmocka_unit_test(closing_stops), cmocka_unit_test(error_stays),
                                        cmocka_unit_test(texts_stay), cmocka_unit_test(own_letter), cmocka_unit_test(checksums), cmocka_unit_test(one_writer) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
