/* SPDX-License-Identifier: Apache-2.0
 * policy.c: the system-call list, compiled once per zygote and inherited by its workers. */
#include "sandbox/policy.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/scope.h"
#include "sandbox/limits.h"

#ifndef MADV_FREE
#define MADV_FREE 8
#endif
#define ANY
#define EQ(arg, value) { arg, SCMP_CMP_EQ, value, 0 },
#define LE(arg, value) { arg, SCMP_CMP_LE, value, 0 },
#define UPTO(arg, value) { arg, RDN_POLICY_UPTO, value, 0 },
#define MASKED(arg, mask, value) { arg, SCMP_CMP_MASKED_EQ, mask, value },

#define ALLOW(name, conditions, why) { .call = #name, .nr = SCMP_SYS(name), .conds = { conditions }, .reason = why },
#define KILL(name, why) { .call = #name, .nr = SCMP_SYS(name), .does = RDN_CALL_KILLS, .reason = why },
#define ABSENT(name, why) { .call = #name, .nr = SCMP_SYS(name), .does = RDN_CALL_ABSENT, .reason = why },
static const struct rdn_policy_row rows[] = {
#include "sandbox/syscalls.def"
};
static const struct rdn_policy_row loading[] = {
#include "sandbox/loading.def"
};
static const struct rdn_policy_row threads[] = {
#include "sandbox/threads.def"
};
static const struct rdn_policy_row making[] = {
#include "sandbox/making.def"
};
static const struct { const struct rdn_policy_row *rows; unsigned n; } lists[RDN_LISTS] = {
    [RDN_LIST_ALL] = { rows, sizeof rows / sizeof *rows },          [RDN_LIST_LOADING] = { loading, sizeof loading / sizeof *loading },
    [RDN_LIST_THREADS] = { threads, sizeof threads / sizeof *threads }, [RDN_LIST_MAKING] = { making, sizeof making / sizeof *making },
};

/* Every real condition has a bound or a mask; `op` 0 marks the unused tail. */
uint32_t rdn_policy_nconds(const struct rdn_policy_row *r) {
    uint32_t n = 0;
    while (n < 4 && r->conds[n].op)
        n++;
    return n;
}

const struct rdn_policy_row *rdn_policy_rows(enum rdn_policy_list list, unsigned *ret_n) {
    *ret_n = lists[list].n;
    return lists[list].rows;
}

static int add_row(scmp_filter_ctx c, const struct rdn_policy_row *r) {
    struct scmp_arg_cmp cmp[4];
    uint32_t n = rdn_policy_nconds(r);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t op = r->conds[i].op == RDN_POLICY_UPTO ? SCMP_CMP_LE : r->conds[i].op;
        cmp[i] = (struct scmp_arg_cmp){ r->conds[i].arg, (enum scmp_compare)op, r->conds[i].a, r->conds[i].b };
    }
    uint32_t does = r->does == RDN_CALL_KILLS ? SCMP_ACT_KILL_PROCESS : r->does == RDN_CALL_ABSENT ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW;
    return seccomp_rule_add_array(c, does, r->nr, n, cmp);
}

/* The library compares an argument once a rule: that one of UPTO is not 0 stands in front of what it makes. */
enum { NOT_ZERO = 9 };
static size_t not_zero(struct sock_filter *f, uint32_t deny) {
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t k = 0; k < rdn_policy_nconds(&rows[i]); k++) {
            if (rows[i].conds[k].op != RDN_POLICY_UPTO)
                continue;
            uint32_t at = (uint32_t)offsetof(struct seccomp_data, args) + 8 * rows[i].conds[k].arg;
            const struct sock_filter own[NOT_ZERO] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rows[i].nr, 0, 7),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0, 5),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at + 4), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, deny),
            };
            if (f)
                memcpy(f + n, own, sizeof own);
            n += NOT_ZERO;
        }
    return n;
}

static int export_bpf(scmp_filter_ctx c, uint32_t deny, struct sock_fprog *ret) {
    rdn_auto_close int fd = memfd_create("bpf", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = seccomp_export_bpf(c, fd);
    if (rc < 0)
        return rc;
    off_t n = lseek(fd, 0, SEEK_END);
    size_t each = sizeof(struct sock_filter), first = not_zero(NULL, deny);
    if (n <= 0 || (size_t)n % each || first + (size_t)n / each > 4096)
        return -EIO;
    struct sock_filter *f = malloc(first * each + (size_t)n);          /* lives as long as the zygote, inherited by the fork */
    if (!f)
        return -ENOMEM;
    not_zero(f, deny);
    if (pread(fd, f + first, (size_t)n, 0) != n) {
        free(f);
        return -EIO;
    }
    *ret = (struct sock_fprog){ (unsigned short)(first + (size_t)n / each), f };
    return 0;
}

static uint32_t deny_action(enum rdn_policy_mode mode) {
    switch (mode) {
    case RDN_POLICY_NOTIFY: return SCMP_ACT_NOTIFY;
    case RDN_POLICY_TRAP: return SCMP_ACT_TRAP;
    case RDN_POLICY_ERRNO: return SCMP_ACT_ERRNO(EPERM);
    case RDN_POLICY_KILL: case RDN_POLICY_MODES: break;
    }
    return SCMP_ACT_KILL_PROCESS;
}

static bool named_in(unsigned more, int nr) {
    for (unsigned l = 0; l < RDN_LISTS; l++)
        for (unsigned i = 0; more >> l & 1 && i < lists[l].n; i++)
            if (lists[l].rows[i].nr == nr)
                return true;
    return false;
}

static int build(scmp_filter_ctx c, enum rdn_policy_mode mode, unsigned more, struct sock_fprog *ret) {
    int rc = seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (rc >= 0)
        rc = seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2);   /* binary tree: 43 us to load instead of a linear walk per call */
    for (unsigned l = 0; l < RDN_LISTS; l++)
        for (unsigned i = 0; (l == RDN_LIST_ALL || more >> l & 1) && rc >= 0 && i < lists[l].n; i++) {
            const struct rdn_policy_row *r = &lists[l].rows[i];
            bool kills = r->does == RDN_CALL_KILLS;      /* a row equal to the default action is refused by the library */
            if (!kills || (mode != RDN_POLICY_KILL && !named_in(more, r->nr)))
                rc = add_row(c, r);
        }
    return rc < 0 ? rc : export_bpf(c, deny_action(mode), ret);
}

int rdn_policy_compile(unsigned more, enum rdn_policy_mode mode, struct sock_fprog *ret, redan_error *reterr) {
    scmp_filter_ctx c = seccomp_init(deny_action(mode));
    if (!c)
        return rdn_fail(reterr, NOSUP, "R4401", "libseccomp does not know this action");
    int rc = build(c, mode, more, ret);
    seccomp_release(c);
    if (rc >= 0)
        return 0;
    errno = -rc;
    return rc == -ENOMEM ? rdn_fail(reterr, NOMEM, "", "system-call filter") : rdn_fail_sys(reterr, "seccomp_export_bpf");
}

/* Everything that the first filter let through is let through, but what only loading needed. Both together are syscalls.def: a call
 * meets the stricter of the two. It has no listener, because a process can have one only; so it traps where the first notifies. */
int rdn_policy_compile_second(bool threads_too, enum rdn_policy_mode mode, struct sock_fprog *ret, redan_error *reterr) {
    static const uint32_t gone[] = { SYS_openat, SYS_read, SYS_pread64, SYS_fstat, SYS_newfstatat, SYS_seccomp };
    uint32_t deny = mode == RDN_POLICY_ERRNO ? SECCOMP_RET_ERRNO | EPERM : mode == RDN_POLICY_KILL ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_TRAP;
    enum { ARGS = offsetof(struct seccomp_data, args), NGONE = sizeof gone / sizeof *gone,
           HEAP = MAP_TYPE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_LOCKED | MAP_GROWSDOWN | MAP_FIXED };
    struct sock_filter f[NGONE + 16] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
    unsigned n = 1;
    if (threads_too) {                                   /* no trap: libc blocks all signals while it starts a thread, and a blocked one kills */
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, mode == RDN_POLICY_KILL ? deny : SECCOMP_RET_ERRNO | EPERM);
    }
    unsigned last = n + NGONE + 11;                      /* the two answers stand at the end: last allows, last + 1 denies */
    for (unsigned i = 0; i < NGONE; i++, n++)
        f[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, gone[i], (uint8_t)(last - n), 0);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 8, 0);
    f[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, (uint8_t)(last - n - 1)), n++;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGS + 16);
    f[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, (uint8_t)(last - n), 0), n++;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGS + 24);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, HEAP);
    f[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_PRIVATE | MAP_ANONYMOUS, 0, (uint8_t)(last - n)), n++;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGS + 32);
    f[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, (uint8_t)(last - n - 1), (uint8_t)(last - n)), n++;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGS);        /* close: only what is not open */
    f[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, RDN_WORKER_FILES - 1, (uint8_t)(last - n), 0), n++;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, deny);
    struct sock_filter *own = malloc(sizeof f);
    if (!own || n != last + 2)
        return free(own), rdn_fail(reterr, NOMEM, "", "system-call filter");
    memcpy(own, f, sizeof f);
    *ret = (struct sock_fprog){ (unsigned short)n, own };
    return 0;
}

void rdn_policy_free(struct sock_fprog *p) {
    free(p->filter);
    p->filter = NULL;
}

void rdn_policy_call_name(uint32_t nr, char *out, size_t cap) {
    if (nr == RDN_NR_IMPORT) {
        snprintf(out, cap, "import");
        return;
    }
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)nr);
    if (name)
        snprintf(out, cap, "%s", name);
    else
        snprintf(out, cap, "syscall %u", nr);
    free(name);
}
