/* SPDX-License-Identifier: Apache-2.0
 * test_sym.c: symbols, alone and from several threads (the tsan suite runs this one). */
#include "tests/unit/rows.h"
#include <pthread.h>
#include <redan/redan.h>
#include <stdatomic.h>
#include "base/fault.h"
#include "base/hash.h"
#include "base/sym.h"

static void ids_are_dense_and_stable(void **state) {
    (void)state;
    struct rdn_syms *s;
    assert_int_equal(rdn_syms_open(&s, &rdn_libc_mem, 20000), 0);
    const char *first = NULL;
    for (uint32_t i = 0; i < 20000; i++) {
        char t[32];
        int n = snprintf(t, sizeof t, "sym%u", i);
        uint32_t id;
        check(rdn_sym_find(s, t, (size_t)n) == RDN_SYM_NONE, "%s", t);
        check(rdn_sym_intern(s, t, (size_t)n, &id) == 0 && id == i, "%s got %u", t, id);
        if (!i)
            first = rdn_sym_text(s, 0, NULL);
    }
    uint32_t id = 7, len;
    assert_int_equal(rdn_sym_intern(s, "one more", 8, &id), REDAN_E_FULL);
    assert_int_equal(id, 7);
    assert_int_equal(rdn_sym_intern(s, "sym19999", 8, &id), 0);   /* known ones still answer */
    assert_int_equal(id, 19999);
    assert_int_equal(rdn_sym_count(s), 20000);
    for (uint32_t i = 0; i < 20000; i++) {
        char t[32];
        int n = snprintf(t, sizeof t, "sym%u", i);
        check(rdn_sym_find(s, t, (size_t)n) == i, "%s", t);
        check(strcmp(rdn_sym_text(s, i, &len), t) == 0 && len == (uint32_t)n, "%s", t);
        check(rdn_sym_hash(s, i) == rdn_fnv64(t, (size_t)n), "%s", t);
    }
    assert_ptr_equal(first, rdn_sym_text(s, 0, NULL));
    assert_string_equal(rdn_sym_text(s, 20000, &len), "");
    assert_int_equal(len, 0);
    rdn_syms_close(s);
    rdn_syms_close(NULL);
}

static void odd_texts(void **state) {
    (void)state;
    struct rdn_syms *s;
    assert_int_equal(rdn_syms_open(&s, &rdn_libc_mem, 10), 0);
    static const struct { const char *text; size_t n; uint32_t id; } rows[] = {
        {"", 0, 0}, {"a\0b", 3, 1}, {"a", 1, 2}, {"a\0c", 3, 3}, {"", 0, 0}, {"ab", 1, 2},
    };
    for each (i, rows) {
        uint32_t id;
        check(rdn_sym_intern(s, rows[i].text, rows[i].n, &id) == 0 && id == rows[i].id, "row %zu", i);
    }
    rdn_syms_close(s);
}

static void memory_may_end_anywhere(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        struct rdn_syms *s = NULL;
        rdn_fault_arm(n);
        int rc = rdn_syms_open(&s, &rdn_libc_mem, 5000);
        uint32_t id, failed = 0;
        for (uint32_t i = 0; i < 3000 && !rc; i++) {
            int e = rdn_sym_intern(s, &(char[2]){(char)i, (char)(i >> 8)}[0], 2, &id);
            check(e == 0 || e == REDAN_E_NOMEM, "allocation %d", (int)n);
            failed += e != 0;
        }
        bool fired = rdn_fault_seen() >= n;
        rdn_fault_arm(0);
        check(failed <= 1 && fired == (rc || failed), "allocation %d", (int)n);
        check(rc || rdn_sym_count(s) == 3000 - failed, "allocation %d", (int)n);
        rdn_syms_close(s);
        if (!fired)
            break;
    }
}

enum { THREADS = 4, TEXTS = 4000 };
static struct rdn_syms *shared_syms;
static _Atomic uint32_t seen_id[TEXTS];

/* Every thread interns the same texts in another order; whatever id a text gets, it is the same for all. */
static void *interner(void *arg) {
    uintptr_t bad = 0, step = (uintptr_t)arg * 2 + 1;
    for (uintptr_t i = 0; i < TEXTS; i++) {
        uint32_t k = (uint32_t)(i * step * 7919 % TEXTS), id, len, none = 0;
        char t[24];
        size_t n = (size_t)snprintf(t, sizeof t, "text %u", k);
        bad += rdn_sym_intern(shared_syms, t, n, &id) != 0;
        if (!atomic_compare_exchange_strong(&seen_id[k], &none, id + 1))
            bad += none != id + 1;
        bad += rdn_sym_find(shared_syms, t, n) != id;
        uint32_t last = rdn_sym_count(shared_syms) - 1;
        const char *text = rdn_sym_text(shared_syms, last, &len);
        bad += rdn_sym_hash(shared_syms, last) != rdn_fnv64(text, len);
    }
    return (void *)bad;
}

static void threads_agree(void **state) {
    (void)state;
    assert_int_equal(rdn_syms_open(&shared_syms, &rdn_libc_mem, TEXTS), 0);
    pthread_t t[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, interner, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        check(bad == NULL, "thread %d: %zu mistakes", i, (size_t)bad);
    }
    assert_int_equal(rdn_sym_count(shared_syms), TEXTS);
    rdn_syms_close(shared_syms);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_dense_and_stable), cmocka_unit_test(odd_texts),
        cmocka_unit_test(memory_may_end_anywhere),  cmocka_unit_test(threads_agree),
    };
    return cmocka_run_group_tests_name("sym", tests, NULL, NULL);
}
