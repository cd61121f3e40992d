/* SPDX-License-Identifier: Apache-2.0
 * code_arena.c: see code_arena.h. A bit per unit says whether it is taken, another whether it ever held code. */
#include "jit/code_arena.h"
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/scope.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

struct rdn_code_arena {
    const struct rdn_mem *mem;
    enum rdn_code_kind kind;
    uint8_t *rx, *rw;                                    /* two views of `bytes` bytes */
    size_t bytes, used, pieces;
    uint8_t *flag;                                       /* a page that reads 0 in a child: MADV_WIPEONFORK */
    uint8_t *taken, *dirty;                              /* one byte a unit; dirty: held code before */
    bool has_membarrier;
    unsigned users;                                      /* under users_lock */
    pthread_mutex_t lock;
};
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;

/* The executable mapping comes first and its alias loses X: under PR_SET_MDWE no mapping may gain X. */
static int map_alias(struct rdn_code_arena *a, redan_error *reterr) {
    a->rx = mmap(NULL, a->bytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->rx == MAP_FAILED)
        return a->rx = NULL, rdn_fail_sys(reterr, "mmap");
    a->rw = mremap(a->rx, 0, a->bytes, MREMAP_MAYMOVE);
    if (a->rw == MAP_FAILED)
        return a->rw = NULL, rdn_fail_sys(reterr, "mremap");
    if (mprotect(a->rw, a->bytes, PROT_READ | PROT_WRITE) < 0)
        return rdn_fail_sys(reterr, "mprotect");
    return 0;
}

static int map_memfd(struct rdn_code_arena *a, redan_error *reterr) {
    rdn_auto_close int fd = (int)syscall(SYS_memfd_create, "redan-code", MFD_CLOEXEC | MFD_EXEC);
    if (fd < 0 && errno == EINVAL)                       /* kernels before 6.3 know no MFD_EXEC and need none */
        fd = (int)syscall(SYS_memfd_create, "redan-code", MFD_CLOEXEC);
    if (fd < 0)
        return rdn_fail_sys(reterr, "memfd_create");
    if (ftruncate(fd, (off_t)a->bytes) < 0)
        return rdn_fail_sys(reterr, "ftruncate");
    a->rx = mmap(NULL, a->bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    if (a->rx == MAP_FAILED)
        return a->rx = NULL, rdn_fail_sys(reterr, "mmap");
    a->rw = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (a->rw == MAP_FAILED)
        return a->rw = NULL, rdn_fail_sys(reterr, "mmap");
    return 0;
}

static int map_flag(struct rdn_code_arena *a, redan_error *reterr) {
    a->flag = mmap(NULL, RDN_CODE_UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->flag == MAP_FAILED)
        return a->flag = NULL, rdn_fail_sys(reterr, "mmap");
    if (madvise(a->flag, RDN_CODE_UNIT, MADV_WIPEONFORK) < 0)
        return rdn_fail_sys(reterr, "madvise");
    *a->flag = 1;
    /* A child that ran code the parent may overwrite would be wrong silently; unmapped, it cannot. */
    if (madvise(a->rx, a->bytes, MADV_DONTFORK) < 0 || madvise(a->rw, a->bytes, MADV_DONTFORK) < 0)
        return rdn_fail_sys(reterr, "madvise");
    return 0;
}

static void unmap(struct rdn_code_arena *a) {
    bool mapped = a->flag && *a->flag;                   /* in a child the ranges may be anybody's by now */
    if (a->rx && (mapped || !a->flag))
        munmap(a->rx, a->bytes);
    if (a->rw && (mapped || !a->flag))
        munmap(a->rw, a->bytes);
    if (a->flag)
        munmap(a->flag, RDN_CODE_UNIT);
    pthread_mutex_destroy(&a->lock);
    rdn_free(a->mem, a->taken, 2 * (a->bytes / RDN_CODE_UNIT));
    rdn_free(a->mem, a, sizeof *a);
}

int rdn_code_arena_open_kind(enum rdn_code_kind kind, size_t bytes, const struct rdn_mem *mem, struct rdn_code_arena **ret,
                             redan_error *reterr) {
    struct rdn_code_arena *a = rdn_zalloc(mem, sizeof *a);
    if (!a)
        return rdn_fail(reterr, NOMEM, "", "code arena");
    a->mem = mem;
    a->kind = kind;
    a->bytes = (bytes + RDN_CODE_UNIT - 1) & ~(size_t)(RDN_CODE_UNIT - 1);
    pthread_mutex_init(&a->lock, NULL);
    a->taken = rdn_zalloc(mem, 2 * (a->bytes / RDN_CODE_UNIT));
    int rc = a->taken ? 0 : rdn_fail(reterr, NOMEM, "", "code arena");
    if (!rc)
        rc = kind == RDN_CODE_ALIAS ? map_alias(a, reterr) : map_memfd(a, reterr);
    if (!rc)
        rc = map_flag(a, reterr);
    if (rc) {
        unmap(a);
        return rc;
    }
    a->users = 1;
    a->dirty = a->taken + a->bytes / RDN_CODE_UNIT;
    a->has_membarrier = !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
    *ret = a;
    return 0;
}

int rdn_code_arena_open(size_t bytes, const struct rdn_mem *mem, struct rdn_code_arena **ret, redan_error *reterr) {
    redan_error why = {0};
    int rc = rdn_code_arena_open_kind(RDN_CODE_ALIAS, bytes, mem, ret, &why);
    if (rc == REDAN_E_SYS)
        rc = rdn_code_arena_open_kind(RDN_CODE_MEMFD, bytes, mem, ret, NULL);
    if (rc == REDAN_E_SYS)                               /* the first refusal says more than the last */
        return rdn_fail(reterr, SYS, "R2101", "no executable memory (%s: %s)", why.where, strerror(why.sys));
    return rc ? rdn_fail(reterr, NOMEM, "", "code arena") : 0;
}

enum rdn_code_kind rdn_code_arena_kind(const struct rdn_code_arena *a) { return a->kind; }
struct rdn_code_use rdn_code_arena_use(struct rdn_code_arena *a) {
    pthread_mutex_lock(&a->lock);
    struct rdn_code_use u = {a->used, a->bytes, a->pieces};
    pthread_mutex_unlock(&a->lock);
    return u;
}
const volatile uint8_t *rdn_code_arena_flag(const struct rdn_code_arena *a) { return a->flag; }

static size_t first_fit(const struct rdn_code_arena *a, size_t units) {
    size_t n = a->bytes / RDN_CODE_UNIT, run = 0;
    for (size_t i = 0; i < n; i++) {
        run = a->taken[i] ? 0 : run + 1;
        if (run == units)
            return i + 1 - units;
    }
    return SIZE_MAX;
}

/* The writing view of a large piece has pages only while it is written, all of them got and let go of in one call each; they stay in
 * memory. A small piece's stay in the view: a lane at work would notice the call. */
enum { LARGE = 64 << 10 };
static void begin_writing(uint8_t *w, size_t bytes) {
    if (bytes > LARGE)
        madvise(w, bytes, MADV_POPULATE_WRITE);          /* a wish: an older kernel faults them in one by one */
}
static void end_writing(uint8_t *w, size_t bytes) {
    if (bytes > LARGE)
        madvise(w, bytes, MADV_DONTNEED);
}

static int put_locked(struct rdn_code_arena *a, const void *code, size_t bytes, struct rdn_code *ret, redan_error *reterr) {
    size_t units = (bytes + RDN_CODE_UNIT - 1) / RDN_CODE_UNIT, at = first_fit(a, units);
    if (at == SIZE_MAX)
        return rdn_fail(reterr, FULL, "R2103", "code arena full: %.1f of %zu MiB in %zu pieces", (double)a->used / (1 << 20), a->bytes >> 20, a->pieces);
    uint8_t *w = a->rw + at * RDN_CODE_UNIT;
    bool reused = memchr(a->dirty + at, 1, units) != NULL;
    begin_writing(w, units * RDN_CODE_UNIT);
    memcpy(w, code, bytes);
    memset(w + bytes, RDN_CODE_TRAP, units * RDN_CODE_UNIT - bytes);
    end_writing(w, units * RDN_CODE_UNIT);
    memset(a->taken + at, 1, units);
    memset(a->dirty + at, 1, units);
    a->used += units * RDN_CODE_UNIT;
    a->pieces++;
    __builtin___clear_cache((char *)a->rx + at * RDN_CODE_UNIT, (char *)a->rx + (at + units) * RDN_CODE_UNIT);
    /* Other cores may have fetched what stood here before. */
    if (reused && a->has_membarrier)
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
    *ret = (struct rdn_code){a->rx + at * RDN_CODE_UNIT, bytes, reused && !a->has_membarrier};
    return 0;
}

int rdn_code_put(struct rdn_code_arena *a, const void *code, size_t bytes, struct rdn_code *ret, redan_error *reterr) {
    if (!rdn_code_arena_alive(a))
        return rdn_fail(reterr, CLOSED, "R2108", "code arena of the parent process; open a new engine in the child");
    if (!bytes)
        return rdn_fail(reterr, INVAL, "", "no code");
    pthread_mutex_lock(&a->lock);
    int rc = put_locked(a, code, bytes, ret, reterr);
    pthread_mutex_unlock(&a->lock);
    return rc;
}

void rdn_code_drop(struct rdn_code_arena *a, struct rdn_code *c) {
    if (c->rx && rdn_code_arena_alive(a)) {
        size_t at = (size_t)(c->rx - a->rx) / RDN_CODE_UNIT, units = (c->bytes + RDN_CODE_UNIT - 1) / RDN_CODE_UNIT;
        pthread_mutex_lock(&a->lock);
        begin_writing(a->rw + at * RDN_CODE_UNIT, units * RDN_CODE_UNIT);
        memset(a->rw + at * RDN_CODE_UNIT, RDN_CODE_TRAP, units * RDN_CODE_UNIT);
        end_writing(a->rw + at * RDN_CODE_UNIT, units * RDN_CODE_UNIT);
        memset(a->taken + at, 0, units);
        a->used -= units * RDN_CODE_UNIT;
        a->pieces--;
        pthread_mutex_unlock(&a->lock);
    }
    *c = (struct rdn_code){0};
}

/* ---- users ---- */
static struct rdn_code_arena *shared;                    /* of the process */

struct rdn_code_arena *rdn_code_arena_ref(struct rdn_code_arena *a) {
    pthread_mutex_lock(&users_lock);
    a->users++;
    pthread_mutex_unlock(&users_lock);
    return a;
}

void rdn_code_arena_close(struct rdn_code_arena *a) {
    if (!a)
        return;
    pthread_mutex_lock(&users_lock);
    bool last = !--a->users;
    if (last && a == shared)
        shared = NULL;
    pthread_mutex_unlock(&users_lock);
    if (last)
        unmap(a);
}

int rdn_code_arena_take(struct rdn_code_arena **ret, redan_error *reterr) {
    pthread_mutex_lock(&users_lock);
    int rc = 0;
    if (shared && rdn_code_arena_alive(shared))
        shared->users++;
    else                                                 /* a child starts its own; the parent's stays with its users */
        rc = rdn_code_arena_open(RDN_CODE_ARENA_BYTES, &rdn_libc_mem, &shared, reterr);
    if (!rc)
        *ret = shared;
    pthread_mutex_unlock(&users_lock);
    return rc;
}
