/* SPDX-License-Identifier: Apache-2.0
 * test_mem.c: the arena over an allocator that counts. */
#include "tests/unit/rows.h"
#include <stdlib.h>
#include "base/fault.h"
#include "base/mem.h"

struct count { size_t live, blocks; };
static void *counted(void *ctx, void *p, size_t was, size_t want) {
    struct count *c = ctx;
    c->live += want - was;
    c->blocks += (size_t)!p - (size_t)!want;
    if (want)
        return realloc(p, want);
    free(p);
    return NULL;
}

static void aligned_zeroed_and_apart(const struct rdn_mem *mem, bool brief) {
    struct rdn_arena a;
    rdn_arena_init(&a, mem);
    a.brief = brief;
    static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 1024, 4000, 4096, 5000, 70000, 300000, 3};
    char *got[100][sizeof sizes / sizeof *sizes];
    for (int k = 0; k < 100; k++)
        for each (i, sizes) {
            char *p = got[k][i] = rdn_arena_alloc(&a, sizes[i]);
            check(p && (uintptr_t)p % 16 == 0, "size %zu", sizes[i]);
            for (size_t b = 0; b < sizes[i]; b++)
                check(p[b] == 0, "size %zu byte %zu", sizes[i], b);
            memset(p, k, sizes[i]);
        }
    for (int k = 0; k < 100; k++)
        for each (i, sizes)
            for (size_t b = 0; b < sizes[i]; b++)
                check(got[k][i][b] == k, "block %d of size %zu was overwritten at %zu", k, sizes[i], b);
    rdn_arena_fini(&a);
}
/* Ordinary; brief, whose large chunks are pages of their own with libc's allocator only. */
static void blocks_are_aligned_zeroed_and_apart(void **state) {
    (void)state;
    for (int brief = 0; brief < 2; brief++) {
        struct count c = {0};
        aligned_zeroed_and_apart(&(struct rdn_mem){&c, counted}, brief);
        assert_int_equal(c.live, 0);
        assert_int_equal(c.blocks, 0);
        for (int again = 0; again < 2; again++)          /* brief: in pages that are not zero any more */
            aligned_zeroed_and_apart(&rdn_libc_mem, brief);
    }
}

/* A brief arena's pages: begun again where the last one began, and given back. */
static char *use(size_t bytes) {
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    a.brief = true;
    char *p = rdn_arena_raw(&a, bytes);
    memset(p, 1, bytes);
    rdn_arena_fini(&a);
    return p;
}
static void pages_serve_again_and_are_given_back(void **state) {
    (void)state;
    assert_int_equal(rdn_arena_trim(0), 0);
    char *first = use(3 << 20);
    size_t all = rdn_arena_trim(SIZE_MAX);
    if (!all) {
        print_message("blocks stand alone in this build, so that AddressSanitizer watches each: no pages to keep\n");
        skip();
    }
    assert_in_range(all, 3 << 20, (3 << 20) + 8192);
    assert_ptr_equal(use(1 << 20), first);
    assert_ptr_equal(use(100), first);
    assert_in_range(rdn_arena_trim(1 << 20), (1 << 20) - 4096, 1 << 20);
    assert_ptr_equal(use(500000), first);
    assert_int_equal(rdn_arena_trim(1000), 0);           /* too little to be of use */
    use(RDN_SPARE_MAX + 1);
    assert_int_equal(rdn_arena_trim(SIZE_MAX), 0);       /* more than is kept */
}

static void the_last_block_grows_where_it_stands(void **state) {
    (void)state;
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    a.max_bytes = 2000;
    char *p = rdn_arena_alloc(&a, 100), *end = p + 100;
    bool can = rdn_arena_extend(&a, p, 100, 1000);
    assert_false(rdn_arena_extend(&a, p, 100, 1000));    /* that is not its size any more */
    if (can) {
        char *q = rdn_arena_alloc(&a, 10);
        assert_true(q >= end + 900);
        assert_int_equal(a.bytes, 1010);
        assert_false(rdn_arena_extend(&a, p, 1000, 1100));   /* q stands behind it */
        assert_true(rdn_arena_extend(&a, q, 10, 1000));
        assert_false(rdn_arena_extend(&a, q, 1000, 1001));   /* the bound */
    }
    rdn_arena_fini(&a);
}

static void texts(void **state) {
    (void)state;
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    assert_string_equal(rdn_arena_strndup(&a, "redan", 3), "red");
    assert_string_equal(rdn_arena_strndup(&a, NULL, 0), "");
    assert_string_equal(rdn_arena_printf(&a, "%d %s", 7, "x"), "7 x");
    char *big = rdn_arena_printf(&a, "%09000d", 1);
    assert_int_equal(strlen(big), 9000);
    rdn_arena_fini(&a);
}

static void a_bound_returns_null_or_jumps(void **state) {
    (void)state;
    struct rdn_arena a;
    rdn_arena_init(&a, &rdn_libc_mem);
    a.max_bytes = 1000;
    assert_non_null(rdn_arena_alloc(&a, 600));
    assert_null(rdn_arena_alloc(&a, 401));
    assert_null(rdn_arena_alloc(&a, SIZE_MAX));
    assert_null(rdn_arena_alloc(&a, SIZE_MAX / 2 - 8));
    assert_non_null(rdn_arena_alloc(&a, 400));
    jmp_buf oom;
    volatile bool jumped = true;
    if (setjmp(oom) == 0) {
        a.oom = &oom;
        rdn_arena_alloc(&a, 1);
        jumped = false;
    }
    assert_true(jumped);
    rdn_arena_fini(&a);
}

static void every_failure_leaves_a_whole_arena(void **state) {
    (void)state;
    struct count c = {0};
    for (uint64_t n = 1;; n++) {
        struct rdn_arena a;
        rdn_arena_init(&a, &(struct rdn_mem){&c, counted});
        rdn_fault_arm(n);
        int nulls = 0;
        for (int i = 0; i < 200; i++) {
            char *p = rdn_arena_alloc(&a, 1000);
            nulls += p == NULL;
            if (p)
                memset(p, 1, 1000);
        }
        bool fired = rdn_fault_seen() >= n;
        rdn_fault_arm(0);
        rdn_arena_fini(&a);
        assert_int_equal(c.live, 0);
        assert_int_equal(nulls, fired);
        if (!fired)
            break;
    }
}

static void realloc_keeps_the_block_on_failure(void **state) {
    (void)state;
    char *p = rdn_zalloc(&rdn_libc_mem, 8);
    strcpy(p, "kept");
    rdn_fault_arm(1);
    assert_null(rdn_realloc(&rdn_libc_mem, p, 8, 4096));
    rdn_fault_arm(0);
    assert_string_equal(p, "kept");
    rdn_free(&rdn_libc_mem, p, 8);
    rdn_free(&rdn_libc_mem, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zeroed_and_apart), cmocka_unit_test(texts),
        cmocka_unit_test(a_bound_returns_null_or_jumps),       cmocka_unit_test(every_failure_leaves_a_whole_arena),
        cmocka_unit_test(realloc_keeps_the_block_on_failure),  cmocka_unit_test(pages_serve_again_and_are_given_back),
        cmocka_unit_test(the_last_block_grows_where_it_stands),
    };
    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
