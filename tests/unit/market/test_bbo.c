/* SPDX-License-Identifier: Apache-2.0
 * The published line: one writer, readers that never see half of one. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "market/book.h"
#include "tests/unit/rows.h"

/* Readers give way at times: the writer must come to its end on two cores under a sanitizer, too. */
enum { READERS = 8, WRITES = 50000 };                    /* or REDAN_BBO_WRITES */
static struct rdn_books books = { .window = 256, .far = 64 };
static struct rdn_book book;
static _Atomic bool done;

/* Every line written has bid = qty = n and ask = n + 1: a torn one has not. */
static void *read_lines(void *arg) {
    uint64_t *bad = arg;
    for (uint64_t i = 0; !atomic_load(&done); i++) {
        redan_book_line_data l;
        if (i % 64 == 0)
            sched_yield();
        if (rdn_book_read(&book.line, &l) == 0 && l.seq && (l.bid_px != l.bid_qty || l.ask_px != l.bid_px + 1 || l.ts_event_ns != l.bid_px))
            ++*bad;
    }
    return NULL;
}

static void no_torn_line(void **state) {
    (void)state;
    pthread_t t[READERS];
    uint64_t bad[READERS] = { 0 };
    const char *asked = getenv("REDAN_BBO_WRITES");
    int64_t writes = asked ? strtoll(asked, NULL, 10) : WRITES;
    assert_int_equal(rdn_book_open(&books, &book, true), 0);
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, read_lines, &bad[i]), 0);
    for (int64_t n = 1; n <= writes; n++) {
        redan_mevent e = { .ts_event_ns = n, .flags = REDAN_MF_LAST };
        for (unsigned side = 0; side < 2; side++) {
            rdn_levels_clear(&book.levels, side);
            assert_true(rdn_levels_set(&book.levels, side, n + side, n, 1));
        }
        assert_int_equal(rdn_book_publish(&books, &book, &e), 0);
    }
    atomic_store(&done, true);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(t[i], NULL);
        check(bad[i] == 0, "reader %u saw %lu torn lines", i, bad[i]);
    }
    rdn_books_close(&books);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_torn_line) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
