/* SPDX-License-Identifier: Apache-2.0
 * Keys as words: what equals what, what can never be stored, and back to values. */
#include "ir/key.h"

#include "tests/unit/rows.h"

static const struct rdn_type t_int = { .kind = RDN_K_INT }, t_dec = { .kind = RDN_K_DEC, .scale = 2 }, t_sym = { .kind = RDN_K_SYM },
                             t_s1 = { .kind = RDN_K_STR, .n = 1 }, t_s8 = { .kind = RDN_K_STR, .n = 8 }, t_s9 = { .kind = RDN_K_STR, .n = 9 },
                             t_s256 = { .kind = RDN_K_STR, .n = 256 }, t_bool = { .kind = RDN_K_BOOL }, t_float = { .kind = RDN_K_FLOAT };

static struct rdn_cell text(const char *p, uint32_t n) { return (struct rdn_cell){ .t = { p, n } }; }

static const struct { const struct rdn_type *type; uint32_t words; } sizes[] = {
    { &t_int, 1 }, { &t_bool, 1 }, { &t_dec, 1 }, { &t_sym, 1 }, { &t_s1, 1 }, { &t_s8, 1 }, { &t_s9, 2 }, { &t_s256, 32 },
};

static void words(void **state) {
    (void)state;
    for each (i, sizes)
        check(rdn_key_words(sizes[i].type) == sizes[i].words, "row %zu: %u", i, rdn_key_words(sizes[i].type));
}

static void absent(void **state) {
    (void)state;
    const struct { const char *why; const struct rdn_type *type; struct rdn_cell c; bool absent; } rows[] = {
        { "an int is a key", &t_int, { .i = INT64_MIN }, false },
        { "a dec of int64 is", &t_dec, { .d = INT64_MIN }, false },
        { "one above is not", &t_dec, { .d = (rdn_i128)INT64_MAX + 1 }, true },
        { "one below is not", &t_dec, { .d = (rdn_i128)INT64_MIN - 1 }, true },
        { "a symbol is", &t_sym, { .i = 7 }, false },
        { "a text that is no symbol is not", &t_sym, { .i = RDN_SYM_NONE }, true },
        { "the empty text is", &t_s8, text("", 0), false },
        { "so is one without a place", &t_s8, text(NULL, 0), false },
        { "a full one is", &t_s8, text("12345678", 8), false },
        { "a longer one is not", &t_s8, text("123456789", 9), true },
        { "NUL would equal a shorter text", &t_s8, text("a\0", 2), true },
        { "no key is a float", &t_float, { .f = 1.0 }, true },
    };
    for each (i, rows) {
        struct rdn_key k;
        rdn_key_begin(&k);
        rdn_key_add(&k, rows[i].type, &rows[i].c);
        rdn_key_end(&k);
        check(k.absent == rows[i].absent, "%s", rows[i].why);
    }
}

static void there_and_back(void **state) {
    (void)state;
    const struct rdn_type *types[] = { &t_s9, &t_int, &t_s256, &t_dec, &t_bool, &t_s1 };
    char big[256];
    memset(big, 'z', sizeof big);
    struct rdn_cell in[] = { text("12345678x", 9), { .i = -5 }, text(big, 256), { .d = -150 }, { .i = 1 }, text("", 0) }, out;
    struct rdn_key k, again;
    memset(&k, 0xff, sizeof k);                          /* padding must come from the encoder, not from luck */
    rdn_key_begin(&k);
    for (uint32_t i = 0; i < 6; i++)
        rdn_key_add(&k, types[i], &in[i]);
    rdn_key_end(&k);
    assert_int_equal(k.words, 2 + 1 + 32 + 1 + 1 + 1);
    rdn_key_load(&again, k.w, k.words);
    assert_true(again.hash == k.hash && !again.absent);
    for (uint32_t i = 0; i < 6; i++) {
        rdn_key_decode(k.w, types, 6, i, &out);
        if (types[i]->kind == RDN_K_STR)
            check(out.t.len == in[i].t.len && memcmp(out.t.p, in[i].t.p, out.t.len) == 0, "key %u", i);
        else
            check(types[i]->kind == RDN_K_DEC ? out.d == in[i].d : out.i == in[i].i, "key %u", i);
    }
}

/* Texts of all lengths, each different, never share words. */
static void padding(void **state) {
    (void)state;
    struct rdn_key a, b;
    for (uint32_t n = 0; n < 9; n++) {
        struct rdn_cell c = text("aaaaaaaaa", n), d = text("aaaaaaaaa", n + 1);
        memset(&a, 0xff, sizeof a);
        memset(&b, 0x55, sizeof b);
        rdn_key_begin(&a), rdn_key_add(&a, &t_s9, &c), rdn_key_end(&a);
        rdn_key_begin(&b), rdn_key_add(&b, &t_s9, &d), rdn_key_end(&b);
        check(memcmp(a.w, b.w, 16) != 0 && a.hash != b.hash, "length %u", n);
        rdn_key_begin(&b), rdn_key_add(&b, &t_s9, &c), rdn_key_end(&b);
        check(memcmp(a.w, b.w, 16) == 0 && a.hash == b.hash, "length %u again", n);
    }
}

/* Consecutive small keys fill 1,024 buckets about as evenly as chance would: the fullest of 4,096 keys stays far below 32. */
static void spread(void **state) {
    (void)state;
    static uint8_t fill[1024];
    for (uint64_t i = 0; i < 4096; i++)
        fill[rdn_key_hash(&i, 1) >> 54]++;
    for each (i, fill)
        check(fill[i] < 24, "bucket %zu holds %u", i, fill[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words), cmocka_unit_test(absent), cmocka_unit_test(there_and_back), cmocka_unit_test(padding), cmocka_unit_test(spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
