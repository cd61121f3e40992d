/* SPDX-License-Identifier: Apache-2.0
 * Key tables against a plain array: long random runs of insert, remove, touch and find, with hashes that collide. */
#include "state/keytab.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tests/unit/rows.h"

enum { KEYS = 64 };
struct plain { uint64_t key[KEYS]; uint64_t used[KEYS]; bool in[KEYS]; uint64_t born[KEYS]; };

static uint64_t next_random(uint64_t *s) { return rdn_mix64((*s)++); }

/* The oracle: index of the present key with the least stamp, or -1. */
static int least(const struct plain *p, const uint64_t *stamp) {
    int best = -1;
    for (int i = 0; i < KEYS; i++)
        if (p->in[i] && (best < 0 || stamp[i] < stamp[best]))
            best = i;
    return best;
}

static void agree(const struct rdn_keytab *t, const struct plain *p, uint32_t n, uint64_t step) {
    check(t->n == n, "step %lu: %u keys, not %u", (unsigned long)step, t->n, n);
    int first = least(p, p->born), idle = least(p, p->used);
    if (n == 0) {
        check(rdn_kt_next(&t->ins, RDN_KT_NONE) == RDN_KT_NONE && rdn_kt_next(&t->lru, RDN_KT_NONE) == RDN_KT_NONE, "step %lu: lists of an empty table", (unsigned long)step);
        return;
    }
    check(*rdn_keytab_key(t, rdn_kt_next(&t->ins, RDN_KT_NONE)) == p->key[first], "step %lu: oldest", (unsigned long)step);
    check(*rdn_keytab_key(t, rdn_kt_next(&t->lru, RDN_KT_NONE)) == p->key[idle], "step %lu: idlest", (unsigned long)step);
    uint64_t last = 0;
    uint32_t seen = 0;
    for (uint32_t id = rdn_keytab_next(t, RDN_KT_NONE); id != RDN_KT_NONE; id = rdn_keytab_next(t, id), seen++) {
        uint64_t born = *(const uint64_t *)rdn_keytab_state(t, id);
        check(born > last, "step %lu: insertion order", (unsigned long)step);
        last = born;
    }
    check(seen == n, "step %lu: %u keys listed of %u", (unsigned long)step, seen, n);
}

/* Real hashes come from rdn_key_hash, which removal uses: keys are searched until their homes crowd into a few runs. */
static void crowded_keys(struct plain *p, bool crowd) {
    uint64_t next = 1;
    for (int i = 0; i < KEYS; i++) {
        do
            p->key[i] = next++;
        while (crowd && (rdn_key_hash(&p->key[i], 1) >> 58) > 3);
    }
}

static void run(bool crowd, uint64_t seed) {
    struct rdn_keytab t;
    struct plain p = { 0 };
    crowded_keys(&p, crowd);
    assert_int_equal(rdn_keytab_open(&t, KEYS - 10, 1, 8, 8, &rdn_libc_mem, false, NULL), 0);
    uint32_t n = 0;
    for (uint64_t step = 1; step < 20000; step++) {
        uint64_t r = next_random(&seed);
        int i = (int)(r % KEYS);
        uint64_t h = rdn_key_hash(&p.key[i], 1);
        uint32_t id = rdn_keytab_find(&t, &p.key[i], h);
        check((id != RDN_KT_NONE) == p.in[i], "step %lu: key %d", (unsigned long)step, i);
        if (id == RDN_KT_NONE && n < t.cap) {
            id = rdn_keytab_insert(&t, &p.key[i], h);
            *(uint64_t *)rdn_keytab_state(&t, id) = step;
            p.in[i] = true, p.born[i] = p.used[i] = step, n++;
        } else if (id != RDN_KT_NONE && r >> 60 < 9) {
            rdn_keytab_remove(&t, id);
            p.in[i] = false, n--;
        } else if (id != RDN_KT_NONE) {
            rdn_keytab_touch(&t, id);
            p.used[i] = step;
        }
        if (step % 7 == 0)
            agree(&t, &p, n, step);
        if (step % 6001 == 0) {
            rdn_keytab_clear(&t);
            memset(p.in, 0, sizeof p.in);
            n = 0;
        }
    }
    rdn_keytab_close(&t);
}

static void random_runs(void **state) {
    (void)state;
    run(false, 1);
    run(true, 2);
}

/* Removing and inserting for ever keeps the longest probe short: there are no tombstones. */
static void no_decay(void **state) {
    (void)state;
    struct rdn_keytab t;
    assert_int_equal(rdn_keytab_open(&t, 1000, 1, 8, 8, &rdn_libc_mem, false, NULL), 0);
    for (uint64_t k = 0; k < 200000; k++) {
        if (t.n == t.cap)
            rdn_keytab_remove(&t, rdn_kt_next(&t.lru, RDN_KT_NONE));
        rdn_keytab_insert(&t, &k, rdn_key_hash(&k, 1));
    }
    uint32_t filled = 0;
    for (uint32_t i = 0; i <= t.mask; i++)
        filled += t.index[i].id1 != 0;
    assert_int_equal(filled, 1000);
    rdn_keytab_close(&t);
}

static void without_keys(void **state) {
    (void)state;
    struct rdn_keytab t;
    uint64_t none = 0;
    assert_int_equal(rdn_keytab_open(&t, 1, 0, 16, 8, &rdn_libc_mem, false, NULL), 0);
    assert_int_equal(rdn_keytab_find(&t, &none, 0), RDN_KT_NONE);
    uint32_t id = rdn_keytab_insert(&t, &none, 0);
    assert_int_equal(rdn_keytab_find(&t, &none, 123), id);
    rdn_keytab_remove(&t, id);
    assert_int_equal(rdn_keytab_find(&t, &none, 0), RDN_KT_NONE);
    rdn_keytab_close(&t);
}

static long resident_kb(void) {
    long kb = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

/* 16,777,216 keys are address space until somebody uses them; prefault makes them memory. */
static void reserved_not_committed(void **state) {
    (void)state;
    struct rdn_keytab t;
    long before = resident_kb();
    assert_int_equal(rdn_keytab_open(&t, 1u << 24, 2, 1000, 8, &rdn_libc_mem, false, NULL), 0);
    check(t.bytes > 16ull << 30, "%zu bytes", t.bytes);
    for (uint64_t k = 0; k < 100; k++) {
        uint64_t w[2] = { k, ~k };
        rdn_keytab_insert(&t, w, rdn_key_hash(w, 2));
    }
    rdn_keytab_clear(&t);
    assert_int_equal(t.n, 0);
    check(resident_kb() - before < 16 << 10, "%ld KiB committed", resident_kb() - before);
    rdn_keytab_close(&t);
    before = resident_kb();
    assert_int_equal(rdn_keytab_open(&t, 8192, 1, 1000, 8, &rdn_libc_mem, true, NULL), 0);
    check(resident_kb() - before >= (long)(t.bytes >> 10) - 64, "prefault committed %ld KiB of %zu", resident_kb() - before, t.bytes >> 10);
    rdn_keytab_close(&t);
}

/* A mapping comes back to a table of the same shape only, and only when it never held a key. */
static void spares(void **state) {
    (void)state;
    enum { LARGE = 1 << 16 };
    static const struct { uint32_t cap, words; int keys; bool clear; uint32_t kept; } rows[] = {
        { LARGE, 1, 0, false, 1 }, { LARGE, 1, 1, false, 0 }, { LARGE, 1, 1, true, 0 }, { 10, 1, 0, false, 0 },   /* small: from the allocator */
    };
    struct rdn_kt_spares s = { 0 };
    struct rdn_keytab t;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(rdn_keytab_open(&t, rows[i].cap, rows[i].words, 64, 8, &rdn_libc_mem, false, &s), 0);
        for (uint64_t k = 0; k < (uint64_t)rows[i].keys; k++)
            rdn_keytab_insert(&t, &k, rdn_key_hash(&k, 1));
        if (rows[i].clear)
            rdn_keytab_clear(&t);
        rdn_keytab_close(&t);
        check(s.n == rows[i].kept, "row %zu: %u kept", i, s.n);
        rdn_keytab_drop_spares(&s);
    }
    assert_int_equal(rdn_keytab_open(&t, LARGE, 1, 64, 8, &rdn_libc_mem, false, &s), 0);
    void *base = t.base;
    rdn_keytab_close(&t);
    assert_int_equal(rdn_keytab_open(&t, LARGE, 2, 56, 8, &rdn_libc_mem, false, &s), 0);   /* other words, bytes may be equal */
    assert_ptr_not_equal(t.base, base);
    rdn_keytab_close(&t);
    assert_int_equal(s.n, 2);
    assert_int_equal(rdn_keytab_open(&t, LARGE, 1, 64, 8, &rdn_libc_mem, false, &s), 0);
    assert_ptr_equal(t.base, base);
    uint64_t k = 7;
    assert_int_equal(rdn_keytab_find(&t, &k, rdn_key_hash(&k, 1)), RDN_KT_NONE);
    assert_int_equal(rdn_keytab_insert(&t, &k, rdn_key_hash(&k, 1)), 0);
    assert_int_equal(rdn_keytab_next(&t, RDN_KT_NONE), 0);
    rdn_keytab_close(&t);
    rdn_keytab_drop_spares(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_runs), cmocka_unit_test(no_decay), cmocka_unit_test(without_keys), cmocka_unit_test(reserved_not_committed),
        cmocka_unit_test(spares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
