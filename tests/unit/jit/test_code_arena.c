/* SPDX-License-Identifier: Apache-2.0
 * Code memory: both kinds run code, no page is writable and executable, MDWE, a filter that denies PROT_EXEC, vm.memfd_noexec, no
 * membarrier, fork, a full and a fragmented arena, poisoned memory after a drop. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/jit/in_child.h"
#include "jit/code_arena.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
enum { UNIT = RDN_CODE_UNIT };
static const enum rdn_code_kind kinds[] = {RDN_CODE_ALIAS, RDN_CODE_MEMFD};

/* A function that returns v, below 2^16. */
#if defined(__aarch64__)
enum { CODE = 8 };                                       /* movz w0, v; ret */
static void code_returning(uint8_t code[CODE], uint32_t v) {
    const uint32_t words[2] = {0x52800000u | v << 5, 0xd65f03c0u};
    memcpy(code, words, CODE);
}
#else
enum { CODE = 6 };                                       /* mov eax, v; ret */
static void code_returning(uint8_t code[CODE], uint32_t v) {
    code[0] = 0xb8;
    memcpy(code + 1, &v, 4);
    code[5] = 0xc3;
}
#endif
static uint32_t call(const struct rdn_code *c) {
    uint32_t (*f)(void);
    memcpy(&f, &c->rx, sizeof f);
    return f();
}
static struct rdn_code put(struct rdn_code_arena *a, size_t bytes, uint32_t v) {
    uint8_t *buf = calloc(1, bytes);
    struct rdn_code c = {0};
    code_returning(buf, v);
    redan_error err = {0};
    if (rdn_code_put(a, buf, bytes, &c, &err))
        fail_msg("put %zu bytes: %s", bytes, err.text);
    free(buf);
    return c;
}

static void test_kinds_run(void **state) {
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct rdn_code_arena *a;
        struct rdn_code c[40];
        int rc = rdn_code_arena_open_kind(kinds[k], 1 << 20, &rdn_libc_mem, &a, NULL);
#if defined(__aarch64__)
        if (rc == REDAN_E_SYS && kinds[k] == RDN_CODE_ALIAS) {
            print_message("without an alias of anonymous memory: an emulator may have none\n");
            continue;
        }
#endif
        assert_int_equal(rc, 0);
        assert_int_equal(rdn_code_arena_kind(a), kinds[k]);
        for (unsigned i = 0; i < 40; i++)
            c[i] = put(a, CODE + i * 200, 1000 * k + i);
        for (unsigned i = 0; i < 40; i++) {
            assert_int_equal(call(&c[i]), 1000 * k + i);
            assert_int_equal(c[i].rx[CODE], i ? 0 : RDN_CODE_TRAP);
            rdn_code_drop(a, &c[i]);
        }
        rdn_code_arena_close(a);
    }
}
static void test_runs(void **state) {
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct rdn_code_arena *a;
        assert_int_equal(rdn_code_arena_open_kind(kinds[k], 1 << 20, &rdn_libc_mem, &a, NULL), 0);
        assert_int_equal(rdn_code_arena_kind(a), kinds[k]);
        struct rdn_code c = put(a, CODE, 42 + k), d = put(a, 2 * UNIT, 7);
        assert_int_equal(call(&c), 42 + k);
        assert_int_equal(call(&d), 7);
        assert_int_equal(rdn_code_arena_use(a).used, 3 * UNIT);
        assert_int_equal(c.rx[CODE], RDN_CODE_TRAP);     /* the rest of a unit traps */
        const uint8_t *was = c.rx;
        rdn_code_drop(a, &c);
        assert_null(c.rx);
        for (unsigned i = 0; i < UNIT; i++)
            assert_int_equal(was[i], RDN_CODE_TRAP);
        struct rdn_code e = put(a, CODE, 99);            /* the same place again */
        assert_ptr_equal(e.rx, was);
        assert_int_equal(call(&e), 99);
        rdn_code_drop(a, &d);
        rdn_code_drop(a, &e);
        rdn_code_drop(a, &e);                            /* an empty one is fine */
        assert_int_equal(rdn_code_arena_use(a).used, 0);
        rdn_code_arena_close(a);
    }
}

static void test_w_xor_x(void **state) {
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct rdn_code_arena *a;
        assert_int_equal(rdn_code_arena_open_kind(kinds[k], 1 << 20, &rdn_libc_mem, &a, NULL), 0);
        struct rdn_code c = put(a, CODE, 1);
        char line[512];
        bool seen = false;
        FILE *f = fopen("/proc/self/maps", "r");
        while (f && fgets(line, sizeof line, f)) {
            unsigned long lo, hi;
            char prot[8];
            if (sscanf(line, "%lx-%lx %7s", &lo, &hi, prot) != 3)
                continue;
            if (strchr(prot, 'w') && strchr(prot, 'x'))
                fail_msg("kind %u: writable and executable: %s", k, line);
            if ((uintptr_t)c.rx >= lo && (uintptr_t)c.rx < hi) {
                seen = true;
                assert_string_equal(prot, "r-xs");
            }
        }
        assert_true(f && seen);
        fclose(f);
        rdn_code_drop(a, &c);
        rdn_code_arena_close(a);
    }
}

static void test_full_and_fragments(void **state) {
    (void)state;
    struct rdn_code_arena *a;
    struct rdn_code c[16];
    redan_error err = {0};
    uint8_t code[CODE];
    assert_int_equal(rdn_code_arena_open(16 * UNIT, &rdn_libc_mem, &a, NULL), 0);
    for (unsigned i = 0; i < 16; i++)
        c[i] = put(a, CODE, i);
    code_returning(code, 1);
    struct rdn_code none = {0};
    assert_int_equal(rdn_code_put(a, code, CODE, &none, &err), REDAN_E_FULL);
    assert_string_equal(err.id, "R2103");
    assert_non_null(strstr(err.text, "code arena full"));
    assert_null(none.rx);
    for (unsigned i = 0; i < 16; i += 2)                 /* every second unit is free: 8 units, no two together */
        rdn_code_drop(a, &c[i]);
    uint8_t *two = calloc(1, 2 * UNIT);
    assert_int_equal(rdn_code_put(a, two, 2 * UNIT, &none, &err), REDAN_E_FULL);
    rdn_code_drop(a, &c[3]);                             /* units 2, 3, 4 */
    struct rdn_code d = put(a, 3 * UNIT, 5);
    assert_int_equal(call(&d), 5);
    for (unsigned i = 1; i < 16; i += 2)
        if (i != 3)
            assert_int_equal(call(&c[i]), i);            /* the neighbours are untouched */
    free(two);
    assert_int_equal(rdn_code_put(a, code, 0, &none, &err), REDAN_E_INVAL);
    rdn_code_arena_close(a);
}

static struct rdn_code_arena *parents;
static struct rdn_code parents_code;

static int child_of_fork(void) {
    redan_error err = {0};
    struct rdn_code c = {0};
    uint8_t code[CODE];
    code_returning(code, 3);
    if (rdn_code_arena_alive(parents))
        return 1;
    if (rdn_code_put(parents, code, CODE, &c, &err) != REDAN_E_CLOSED || strcmp(err.id, "R2108"))
        return 2;
    unsigned char vec;
    if (mincore((void *)(uintptr_t)parents_code.rx, UNIT, &vec) == 0 || errno != ENOMEM)
        return 3;                                        /* the views are not there */
    rdn_code_drop(parents, &parents_code);               /* and closing is harmless */
    rdn_code_arena_close(parents);
    struct rdn_code_arena *own;
    if (rdn_code_arena_take(&own, &err) || rdn_code_put(own, code, CODE, &c, &err) || call(&c) != 3)
        return 4;                                        /* the child may open its own */
    return 0;
}

static void test_fork(void **state) {
    (void)state;
    assert_int_equal(rdn_code_arena_take(&parents, NULL), 0);
    parents_code = put(parents, CODE, 11);
    assert_int_equal(in_child(child_of_fork), 0);
    assert_true(rdn_code_arena_alive(parents));
    assert_int_equal(call(&parents_code), 11);
    rdn_code_drop(parents, &parents_code);
    rdn_code_arena_close(parents);
}

static int child_mdwe(void) {
    struct rdn_code_arena *a;
    struct rdn_code c;
    uint8_t code[CODE];
    if (prctl(PR_SET_MDWE, 1ul, 0ul, 0ul, 0ul))
        return 77;
    void *p = mmap(NULL, UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mprotect(p, UNIT, PROT_READ | PROT_EXEC) == 0)
        return 1;                                        /* the rule is not in force: the test would prove nothing */
    code_returning(code, 21);
    for (unsigned k = 0; k < 2; k++) {
        redan_error err = {0};
        if (rdn_code_arena_open_kind(kinds[k], 1 << 20, &rdn_libc_mem, &a, &err)) {
            fprintf(stderr, "kind %u: %s: %s\n", k, err.where, strerror(err.sys));
            return 2;
        }
        if (rdn_code_put(a, code, CODE, &c, NULL) || call(&c) != 21)
            return 3;
        rdn_code_arena_close(a);
    }
    return 0;
}

static void test_mdwe(void **state) {
    (void)state;
    int rc = in_child(child_mdwe);
    if (rc == 77) {
        print_message("no PR_SET_MDWE in this kernel\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

static int child_noexec(void) {
    if (!deny_exec())
        return 77;
    redan_error err = {0};
    struct rdn_code_arena *a = NULL;
    if (rdn_code_arena_open(1 << 20, &rdn_libc_mem, &a, &err) != REDAN_E_SYS || a)
        return 1;
    if (strcmp(err.id, "R2101") || strcmp(err.text, "no executable memory (mmap: Permission denied)")) {
        fprintf(stderr, "%s %s\n", err.id, err.text);
        return 2;
    }
    return 0;
}

static void test_noexec(void **state) {
    (void)state;
    check_in_child(child_noexec);
}

/* Where no other core can be told, whoever is about to run code in a range that held other code is told to look again. */
static int child_no_membarrier(void) {
    if (!deny_call(SYS_membarrier))
        return 77;
    struct rdn_code_arena *a;
    if (rdn_code_arena_open(1 << 20, &rdn_libc_mem, &a, NULL))
        return 1;
    struct rdn_code c = put(a, CODE, 1);
    if (c.must_sync)
        return 2;                                        /* nobody can have seen a fresh range */
    rdn_code_drop(a, &c);
    c = put(a, CODE, 2);
    if (!c.must_sync)
        return 3;
    rdn_code_sync();
    return call(&c) == 2 ? 0 : 4;
}
static void test_no_membarrier(void **state) {
    (void)state;
    struct rdn_code_arena *a;
    check_in_child(child_no_membarrier);
    assert_int_equal(rdn_code_arena_open(1 << 20, &rdn_libc_mem, &a, NULL), 0);
    bool has = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
    struct rdn_code c = put(a, CODE, 1);
    rdn_code_drop(a, &c);
    c = put(a, CODE, 2);
    assert_true(c.must_sync == !has);
    rdn_code_drop(a, &c);
    rdn_code_arena_close(a);
}

/* vm.memfd_noexec = 2 forbids executable memfds, in a process namespace of its own here. */
static int grandchild_noexec_memfd(void) {
    int fd = open("/proc/sys/vm/memfd_noexec", O_WRONLY);
    if (fd < 0 || write(fd, "2", 1) != 1)
        return 77;
    struct rdn_code_arena *a = NULL;
    redan_error err = {0};
    if (rdn_code_arena_open_kind(RDN_CODE_MEMFD, 1 << 20, &rdn_libc_mem, &a, &err) != REDAN_E_SYS || strcmp(err.where, "memfd_create"))
        return 1;                                        /* the rule is not in force: the test would prove nothing */
    if (rdn_code_arena_open(1 << 20, &rdn_libc_mem, &a, &err) || rdn_code_arena_kind(a) != RDN_CODE_ALIAS)
        return 2;
    struct rdn_code c = put(a, CODE, 5);
    return call(&c) == 5 ? 0 : 3;
}
static int child_noexec_memfd(void) { return unshare(CLONE_NEWPID) < 0 ? 77 : in_child(grandchild_noexec_memfd); }
static void test_noexec_memfd(void **state) {
    (void)state;
    int rc = in_child(child_noexec_memfd);
    if (rc == 77) {
        print_message("vm.memfd_noexec cannot be set here\n");
        skip();
    }
    assert_int_equal(rc, 0);
}

/* Random pieces come and go: none overlaps another, all run, what is free is poisoned, and when all are gone the arena is one piece. */
static void test_churn(void **state) {
    (void)state;
    enum { PIECES = 64, UNITS = 256, STEPS = 20000 };
    static struct rdn_code c[PIECES];
    static uint8_t buf[16 * UNIT];
    struct rdn_code_arena *a;
    uint64_t x = 88172645463325252u;
    unsigned full = 0, was_full = 0;
    assert_int_equal(rdn_code_arena_open(UNITS * UNIT, &rdn_libc_mem, &a, NULL), 0);
    for (unsigned i = 0; i < STEPS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        unsigned k = (unsigned)(x >> 8) % PIECES;
        size_t bytes = CODE + (x >> 20) % (sizeof buf - CODE);
        if (c[k].rx) {
            assert_int_equal(call(&c[k]), k);
            const uint8_t *at = c[k].rx;
            rdn_code_drop(a, &c[k]);
            assert_int_equal(*at, RDN_CODE_TRAP);
            continue;
        }
        code_returning(buf, k);
        int rc = rdn_code_put(a, buf, bytes, &c[k], NULL);
        assert_true(rc == 0 || rc == REDAN_E_FULL);
        full += rc != 0;
        was_full += rc && rdn_code_arena_use(a).used + bytes > UNITS * UNIT;
    }
    assert_true(full > was_full && was_full > 0);        /* both kinds of full were met: no room, and no room in one piece */
    for (unsigned k = 0; k < PIECES; k++)
        rdn_code_drop(a, &c[k]);
    assert_int_equal(rdn_code_arena_use(a).used, 0);
    struct rdn_code all = put(a, UNITS * UNIT, 9);
    assert_int_equal(call(&all), 9);
    rdn_code_arena_close(a);
}

int main(int argc, char **argv) {
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs), cmocka_unit_test(test_kinds_run), cmocka_unit_test(test_w_xor_x), cmocka_unit_test(test_full_and_fragments),
        cmocka_unit_test(test_fork), cmocka_unit_test(test_mdwe), cmocka_unit_test(test_noexec),
        cmocka_unit_test(test_no_membarrier), cmocka_unit_test(test_noexec_memfd), cmocka_unit_test(test_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
