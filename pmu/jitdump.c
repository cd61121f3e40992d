/* SPDX-License-Identifier: Apache-2.0
 * jitdump.c: see jitdump.h. The format is linux/tools/perf/Documentation/jitdump-specification.txt, version 1. */
#include "pmu/jitdump.h"
#include <elf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "pmu/pidfile.h"

enum { LOAD = 0, DEBUG_INFO = 2, CLOSE = 3 };
struct file_head { uint32_t magic, version, bytes, machine, pad, pid; uint64_t time_ns, flags; };
struct record { uint32_t id, bytes; uint64_t time_ns; };
struct load { struct record r; uint32_t pid, tid; uint64_t vma, code, size, index; };      /* then name, code */
struct debug { struct record r; uint64_t code, entries; };                                /* then entries */
struct entry { uint64_t code; uint32_t line, discriminator; };                            /* then the file's name */
#define MAGIC 0x4a695444u                                /* "JiTD" */
#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

static struct {
    pthread_mutex_t lock;
    pid_t pid;
    unsigned users;
    int fd;
    bool broken;
    void *marker;
    uint64_t index;                                      /* of the next function */
} dump = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void put(const void *p, size_t n) {
    if (dump.broken || rdn_pidfile_write(dump.fd, p, n) == 0)
        return;
    dump.broken = true;
    fprintf(stderr, "redan: the jit dump is incomplete: %m\n");
}

/* Lines come before the function they are of. Those of code that belongs to no rule are left out: perf extends the one before. */
static void write_lines(const struct rdn_code_row *r) {
    struct debug d = { .r = { DEBUG_INFO, sizeof d, (uint64_t)rdn_mono_ns() }, .code = (uintptr_t)r->code };
    size_t name = r->file ? strlen(r->file) + 1 : 0;
    for (uint32_t i = 0; i < r->nlines; i++)
        d.entries += r->lines[i].line != 0;
    if (!d.entries || !name)
        return;
    d.r.bytes += (uint32_t)(d.entries * (sizeof(struct entry) + name));
    put(&d, sizeof d);
    for (uint32_t i = 0; i < r->nlines; i++) {
        struct entry e = { (uintptr_t)r->code + r->lines[i].at, r->lines[i].line, 0 };
        if (!e.line)
            continue;
        put(&e, sizeof e);
        put(r->file, name);
    }
}
static void write_function(const struct rdn_code_row *r) {
    size_t name = strlen(r->name) + 1;
    struct load l = { .r = { LOAD, (uint32_t)(sizeof l + name + r->bytes), (uint64_t)rdn_mono_ns() }, .pid = (uint32_t)dump.pid,
                      .tid = (uint32_t)syscall(SYS_gettid), .vma = (uintptr_t)r->code, .code = (uintptr_t)r->code, .size = r->bytes, .index = dump.index++ };
    put(&l, sizeof l);
    put(r->name, name);
    put(r->code, r->bytes);
}
static void add(void *ctx, const struct rdn_code_row *rows, uint32_t n) {
    (void)ctx;
    pthread_mutex_lock(&dump.lock);
    for (uint32_t i = 0; i < n && dump.fd >= 0 && dump.pid == getpid(); i++) {
        write_lines(&rows[i]);
        write_function(&rows[i]);
    }
    pthread_mutex_unlock(&dump.lock);
}

static void close_dump(bool ours) {
    struct record end = { CLOSE, sizeof end, (uint64_t)rdn_mono_ns() };
    if (ours)
        put(&end, sizeof end);
    if (dump.marker)
        munmap(dump.marker, 4096);
    close(dump.fd);
    dump.fd = -1;
    dump.users = 0;
    dump.marker = NULL;
    dump.broken = false;
}

static int open_dump(redan_error *reterr) {
    const char *folder = secure_getenv("JITDUMPDIR");
    char name[40];
    dump.pid = getpid();
    dump.index = 1;
    folder = folder && *folder ? folder : "/tmp";
    snprintf(name, sizeof name, "jit-%d.dump", (int)dump.pid);
    int rc = rdn_pidfile_open(folder, name, &dump.fd, reterr);
    if (rc < 0)
        return rc;
    struct file_head h = { MAGIC, 1, sizeof h, MACHINE, 0, (uint32_t)dump.pid, (uint64_t)rdn_mono_ns(), 0 };
    put(&h, sizeof h);
    void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump.fd, 0);
    if (p == MAP_FAILED) {
        rdn_fail_sys(reterr, "mmap");
        close_dump(false);
        return rdn_wrap(reterr, REDAN_E_SYS, "%.60s/%s (set JITDUMPDIR to a folder that is not noexec)", folder, name);
    }
    dump.marker = p;
    return 0;
}

int rdn_jitdump_take(struct rdn_code_sink *ret, redan_error *reterr) {
    pthread_mutex_lock(&dump.lock);
    if (dump.fd >= 0 && dump.pid != getpid())
        close_dump(false);
    int rc = dump.fd < 0 ? open_dump(reterr) : 0;
    if (rc == 0) {
        dump.users++;
        *ret = (struct rdn_code_sink){ NULL, add, NULL };
    }
    pthread_mutex_unlock(&dump.lock);
    return rc;
}

void rdn_jitdump_give(void) {
    pthread_mutex_lock(&dump.lock);
    if (dump.pid == getpid() && dump.users && !--dump.users)
        close_dump(true);
    pthread_mutex_unlock(&dump.lock);
}
