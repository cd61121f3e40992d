/* SPDX-License-Identifier: Apache-2.0
 * test_policy.c: every system-call number of this machine against the compiled filter, and the edges of each condition.
 *
 * The filter is run by a small interpreter of classic BPF, so that the table can be checked without entering it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include "sandbox/explain.h"
#include "sandbox/policy.h"

static uint32_t alu(uint16_t op, uint32_t a, uint32_t k) {
    switch (op) {
    case BPF_AND: return a & k;
    case BPF_OR: return a | k;
    case BPF_RSH: return a >> k;
    case BPF_LSH: return a << k;
    default: fail_msg("BPF operation %#x", op); return 0;
    }
}

static bool jump(uint16_t op, uint32_t a, uint32_t k) {
    switch (op) {
    case BPF_JEQ: return a == k;
    case BPF_JGT: return a > k;
    case BPF_JGE: return a >= k;
    case BPF_JSET: return a & k;
    default: fail_msg("BPF jump %#x", op); return false;
    }
}

static uint32_t run(const struct sock_fprog *p, const struct seccomp_data *d) {
    uint32_t a = 0;
    for (size_t pc = 0; pc < p->len; pc++) {
        const struct sock_filter *f = &p->filter[pc];
        switch (BPF_CLASS(f->code)) {
        case BPF_LD: memcpy(&a, (const char *)d + f->k, 4); break;
        case BPF_ALU: a = alu(BPF_OP(f->code), a, f->k); break;
        case BPF_JMP:
            pc += BPF_OP(f->code) == BPF_JA ? f->k : jump(BPF_OP(f->code), a, f->k) ? f->jt : f->jf;
            break;
        case BPF_RET: return f->k;
        default: fail_msg("BPF class %#x", f->code);
        }
    }
    fail_msg("the filter has no end");
    return 0;
}

static struct sock_fprog filters[RDN_POLICY_MODES];
static const uint32_t denials[] = { SECCOMP_RET_USER_NOTIF, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_KILL_PROCESS };

static int setup(void **state) {
    (void)state;
    for (int m = 0; m < RDN_POLICY_MODES; m++)
        if (rdn_policy_compile(0, (enum rdn_policy_mode)m, &filters[m], NULL) < 0)
            return -1;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int m = 0; m < RDN_POLICY_MODES; m++)
        rdn_policy_free(&filters[m]);
    return 0;
}

/* The table's own answer, worked out from its rows. */
static bool holds(const struct rdn_policy_cond *c, const uint64_t *args) {
    switch (c->op) {
    case SCMP_CMP_EQ: return args[c->arg] == c->a;
    case SCMP_CMP_LE: return args[c->arg] <= c->a;
    case RDN_POLICY_UPTO: return args[c->arg] && args[c->arg] <= c->a;
    default: return (args[c->arg] & c->a) == c->b;
    }
}

/* W and X are never together, in no mode; everything else is the list's. */
static void making_code(void **state) {
    (void)state;
    for (int m = 0; m < RDN_POLICY_MODES; m++) {
        struct sock_fprog f;
        assert_int_equal(rdn_policy_compile(1u << RDN_LIST_MAKING, (enum rdn_policy_mode)m, &f, NULL), 0);
        for (uint64_t prot = 0; prot < 16; prot++)
            for (int nr = 0; nr < 600; nr++) {
                struct seccomp_data d = { .nr = nr, .arch = seccomp_arch_native(), .args = { 4096, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, 0xffffffffu, 0 } };
                bool gains = nr == SCMP_SYS(mprotect) && prot & PROT_EXEC && !(prot & PROT_WRITE);
                uint32_t got = run(&f, &d), want = gains ? SECCOMP_RET_ALLOW : run(&filters[m], &d);
                if (got != want)
                    fail_msg("call %d prot %llu mode %d: %#x, expected %#x", nr, (unsigned long long)prot, m, got, want);
                assert_false(gains && run(&filters[m], &d) == SECCOMP_RET_ALLOW);       /* the row is what allows it */
            }
        rdn_policy_free(&f);
    }
}

static uint32_t expected(int nr, const uint64_t *args, int mode) {
    unsigned n;
    const struct rdn_policy_row *rows = rdn_policy_rows(RDN_LIST_ALL, &n);
    for (unsigned i = 0; i < n; i++) {
        bool all = rows[i].nr == nr;
        for (uint32_t k = 0; all && k < rdn_policy_nconds(&rows[i]); k++)
            all = holds(&rows[i].conds[k], args);
        if (all)
            return rows[i].does == RDN_CALL_KILLS ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
    }
    return denials[mode];
}

static void check(int nr, const uint64_t *args) {
    struct seccomp_data d = { .nr = nr, .arch = seccomp_arch_native() };
    memcpy(d.args, args, sizeof d.args);
    for (int m = 0; m < RDN_POLICY_MODES; m++) {
        uint32_t got = run(&filters[m], &d), want = expected(nr, args, m);
        if (got != want)
            fail_msg("call %d (%llx %llx %llx %llx %llx) mode %d: %#x, expected %#x", nr, (unsigned long long)args[0], (unsigned long long)args[1],
                     (unsigned long long)args[2], (unsigned long long)args[3], (unsigned long long)args[4], m, got, want);
    }
}

static void every_number(void **state) {
    (void)state;
    static const uint64_t some[][6] = { { 0 }, { 3, 0, 0, 0, 0, 0 }, { ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull }, { 1, 1, 4, MAP_PRIVATE | MAP_ANONYMOUS, 0xffffffffu, 0 } };
    for (int nr = 0; nr < 600; nr++)
        for (size_t i = 0; i < sizeof some / sizeof *some; i++)
            check(nr, some[i]);
}

/* One below, at, and above the number of each condition, in the low and in the high half, with the others satisfied. */
static void edges(void **state) {
    (void)state;
    unsigned n;
    const struct rdn_policy_row *rows = rdn_policy_rows(RDN_LIST_ALL, &n);
    for (unsigned i = 0; i < n; i++) {
        uint64_t base[6] = { 0 };
        for (uint32_t k = 0; k < rdn_policy_nconds(&rows[i]); k++)
            base[rows[i].conds[k].arg] = rows[i].conds[k].op == SCMP_CMP_MASKED_EQ ? rows[i].conds[k].b : rows[i].conds[k].a;
        check(rows[i].nr, base);
        for (uint32_t k = 0; k < rdn_policy_nconds(&rows[i]); k++)
            for (int bit = 0; bit < 64; bit++) {
                uint64_t args[6];
                memcpy(args, base, sizeof args);
                args[rows[i].conds[k].arg] ^= UINT64_C(1) << bit;
                check(rows[i].nr, args);
                args[rows[i].conds[k].arg] = base[rows[i].conds[k].arg] + (bit & 1 ? 1u : ~0ull);
                check(rows[i].nr, args);
                args[rows[i].conds[k].arg] = bit & 1 ? UINT64_C(1) << bit : 0;
                check(rows[i].nr, args);
            }
    }
}

/* Of the two filters of a native worker the stricter answer counts; as the kernel compares them. */
static uint32_t both(const struct sock_fprog *first, const struct sock_fprog *second, const struct seccomp_data *d) {
    uint32_t a = run(first, d), b = run(second, d);
    return (int32_t)(a & SECCOMP_RET_ACTION_FULL) <= (int32_t)(b & SECCOMP_RET_ACTION_FULL) ? a : b;
}

static bool thread_begins(int nr) { return nr == SCMP_SYS(rt_sigprocmask) || nr == SCMP_SYS(set_robust_list) || nr == SCMP_SYS(rseq); }

/* What both filters together let through is what any worker may do, and for one with threads what they need to begin and end. */
static void native_code(void **state) {
    (void)state;
    static const uint64_t some[][6] = { { 0 }, { 3 }, { 14 }, { 15 }, { 16 }, { ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull }, { 1, 1, 4, MAP_PRIVATE | MAP_ANONYMOUS, 0xffffffffu },
        { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 4 }, { 0, 4096, PROT_READ, MAP_PRIVATE, 4 }, { 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0xffffffffu },
        { 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0xffffffffu }, { 0x3d0f00 }, { 0x3d0f00 | 17 }, { 1, 1 } };
    for (unsigned m = 0; m < 2 * RDN_POLICY_MODES; m++) {
        struct sock_fprog first, second;
        bool threads = m & 1;
        enum rdn_policy_mode mode = m / 2;
        assert_int_equal(rdn_policy_compile(1u << RDN_LIST_LOADING | (unsigned)threads << RDN_LIST_THREADS, mode, &first, NULL), 0);
        assert_int_equal(rdn_policy_compile_second(threads, mode, &second, NULL), 0);
        for (int nr = 0; nr < 600; nr++)
            for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
                struct seccomp_data d = { .nr = nr, .arch = seccomp_arch_native() };
                memcpy(d.args, some[i], sizeof d.args);
                bool closes = nr == SCMP_SYS(close) && d.args[0] < 16;       /* the files that a worker can have */
                bool want = closes || (threads && thread_begins(nr)) || run(&filters[mode], &d) == SECCOMP_RET_ALLOW;
                uint32_t got = both(&first, &second, &d);
                if ((got == SECCOMP_RET_ALLOW) != want)
                    fail_msg("call %d args %zu mode %d threads %d: %#x", nr, i, mode, threads, got);
                if (threads && nr == SCMP_SYS(clone3))
                    assert_int_equal(got, SECCOMP_RET_ERRNO | ENOSYS);
                if (threads && nr == SCMP_SYS(clone) && d.args[0] == 0x3d0f00)       /* a trap would kill: libc has blocked all signals */
                    assert_int_equal(got, mode == RDN_POLICY_KILL ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM);
            }
        for (int bit = 0; bit < 64; bit++) {             /* while it loads: threads as libc starts them, nothing else */
            struct seccomp_data d = { .nr = SCMP_SYS(clone), .arch = seccomp_arch_native(), .args = { 0x3d0f00 } };
            assert_int_equal(run(&first, &d) == SECCOMP_RET_ALLOW, threads);
            d.args[0] ^= UINT64_C(1) << bit;
            assert_int_not_equal(run(&first, &d), SECCOMP_RET_ALLOW);
        }
        rdn_policy_free(&first);
        rdn_policy_free(&second);
    }
}

static const struct { const char *note; uint32_t arch; int nr; } foreign[] = {
    { "i386 call", AUDIT_ARCH_I386, 3 }, { "arm call", AUDIT_ARCH_AARCH64, 63 }, { "x32 getpid", AUDIT_ARCH_X86_64, 0x40000000 + 39 },
    { "x32 futex", AUDIT_ARCH_X86_64, 0x40000000 + 202 },
};

static void foreign_calls(void **state) {
    (void)state;
#ifdef __x86_64__
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        for (int m = 0; m < RDN_POLICY_MODES; m++) {
            struct seccomp_data d = { .nr = foreign[i].nr, .arch = foreign[i].arch };
            if (run(&filters[m], &d) != SECCOMP_RET_KILL_PROCESS)
                fail_msg("%s, mode %d: %#x", foreign[i].note, m, run(&filters[m], &d));
        }
#else
    (void)foreign;
#endif
}

/* What must never be reachable, named one by one: a row added by mistake fails here. */
static void never(void **state) {
    (void)state;
    static const char *const names[] = { "open", "openat", "openat2", "socket", "connect", "clone", "clone3", "fork", "vfork", "execve", "execveat",
        "kill", "tgkill", "write", "read", "sendto", "ioctl", "prctl", "memfd_create", "mprotect_key", "ptrace", "bpf", "io_uring_setup",
        "rt_sigaction", "rt_sigprocmask", "setrlimit", "prlimit64", "mount", "unshare", "shmget", "dup", "recvmsg", "pidfd_open", "timer_create" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int nr = seccomp_syscall_resolve_name(names[i]);
        struct seccomp_data d = { .nr = nr, .arch = seccomp_arch_native(), .args = { 3, 0, 0, 0, 0xffffffffu, 0 } };
        if (nr >= 0 && run(&filters[RDN_POLICY_NOTIFY], &d) == SECCOMP_RET_ALLOW)
            fail_msg("%s is allowed", names[i]);
    }
}

/* Sizes with which mremap maps a page a second time: an old size of 0, and those that end as 0 when they are rounded up to pages. */
static void second_mapping(void **state) {
    (void)state;
    static const uint64_t sizes[] = { 0, ~UINT64_C(0), ~UINT64_C(0) - 4094, UINT64_C(1) << 63, UINT64_C(1) << 32 };
    struct sock_fprog f[2];
    assert_int_equal(rdn_policy_compile(1u << RDN_LIST_MAKING, RDN_POLICY_ERRNO, &f[0], NULL), 0);
    assert_int_equal(rdn_policy_compile(1u << RDN_LIST_LOADING, RDN_POLICY_ERRNO, &f[1], NULL), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int k = 0; k < 2; k++) {
            struct seccomp_data d = { .nr = SCMP_SYS(mremap), .arch = seccomp_arch_native(), .args = { 4096, sizes[i], 8192, MREMAP_MAYMOVE } };
            assert_int_equal(run(&f[k], &d), SECCOMP_RET_ERRNO | EPERM);
            d.args[1] = 4096;
            assert_int_equal(run(&f[k], &d), SECCOMP_RET_ALLOW);
        }
    rdn_policy_free(&f[0]);
    rdn_policy_free(&f[1]);
}

/* A violation's name or number, and what becomes of it. */
static void explained_call(void **state) {
    static const struct { const char *call, *text; } rows[] = {
        { "openat", "openat: denied with EPERM and reported by the kernel; a plugin has no files; pass what it needs as an argument\n" },
        { "ptrace", "kill   ptrace: other processes\n" },
        { "getpid", "allow  getpid: logging asks for it with each record\n" },
        { "mremap", "allow  mremap when 1 <= arg1 <= 4294967295 and arg3 <= 1: realloc; an old size of 0, or one that the kernel rounds up to 0, would map shared pages "
          "twice: to write and to run\nelse   mremap: denied with EPERM and reported by the kernel\n" },
        { "nosuch", NULL }, { "", NULL }, { "99999", NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        assert_int_equal(rdn_explain_call(&b, rows[i].call, RDN_POLICY_NOTIFY), rows[i].text != NULL);
        assert_string_equal(rdn_buf_str(&b), rows[i].text ? rows[i].text : "");
        rdn_buf_fini(&b);
    }
}

static void explained(void **state) {
    (void)state;
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_explain_policy(&b, RDN_GOT_SECCOMP | RDN_GOT_NS, RDN_POLICY_NOTIFY);
    const char *text = rdn_buf_str(&b);
    assert_non_null(strstr(text, "layers: seccomp ns\n"));
    assert_non_null(strstr(text, "allow  mremap when 1 <= arg1 <= 4294967295 and arg3 <= 1: realloc;"));
    assert_non_null(strstr(text, "kill   ptrace: other processes\n"));
    assert_non_null(strstr(text, "allow  mprotect when (arg2 & 0x6) = 0x4: machine code"));
    assert_non_null(strstr(text, "absent clone3: its flags"));
    assert_string_equal(rdn_explain_hint("clock_nanosleep"), "the host owns time; return, and you are called again");
    assert_null(rdn_explain_hint("no_such_call"));
    rdn_buf_fini(&b);
}

static void names(void **state) {
    (void)state;
    char name[32];
    rdn_policy_call_name((uint32_t)seccomp_syscall_resolve_name("openat"), name, sizeof name);
    assert_string_equal(name, "openat");
    rdn_policy_call_name(999999, name, sizeof name);
    assert_string_equal(name, "syscall 999999");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number), cmocka_unit_test(edges), cmocka_unit_test(foreign_calls), cmocka_unit_test(never), cmocka_unit_test(second_mapping),
        cmocka_unit_test(explained), cmocka_unit_test(explained_call), cmocka_unit_test(names), cmocka_unit_test(making_code), cmocka_unit_test(native_code),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
