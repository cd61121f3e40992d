/* SPDX-License-Identifier: Apache-2.0
 * hostile_native.c: a native plugin that tries to get out, from its constructor and from a call. try(n) answers 1 when it got
 * something, 0 when it was refused. */
#include <redan/plugin.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

REDAN_DECLARE("org.example.hostile", "1.0.0")

static const redan_host *host;
static volatile int zero;
static int early;                                       /* bits: what the constructor got */

static int got_file(void) { return open("/etc/passwd", O_RDONLY) >= 0; }
static int got_new_file(void) { return open("/tmp/redan-was-here", O_WRONLY | O_CREAT, 0600) >= 0 || open("/here", O_WRONLY | O_CREAT, 0600) >= 0; }
static int got_socket(void) { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }
static int got_process(void) { return syscall(SYS_fork) >= 0; }
static int got_exec(void) { return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }
static int got_shared(void) { return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }
static int got_writable_code(void) { return mprotect((void *)((uintptr_t)&got_file & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0; }
static int got_descriptor(void) {
    char b;
    for (int fd = 0; fd < 16; fd++)
        if (syscall(SYS_read, fd, &b, 0) == 0)
            return 1;
    return 0;
}
static int got_library(void) { return dlopen("libresolv.so.2", RTLD_NOW) != NULL; }
static int got_filter(void) { return syscall(SYS_seccomp, 1, 0, NULL) == 0; }
static int got_file_code(void) { return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 4, 0) != MAP_FAILED; }
static int got_memory(void) {
    char *volatile p = malloc(64 << 20);                /* or a compiler sees that nobody reads it */
    if (p)
        memset(p, 1, 64 << 20);
    return p != NULL;
}
static int loops(void) {
    while (!zero)
        ;
    return 0;
}
static int crashes(void) { return *(int *)(uintptr_t)zero; }

static int (*const tries[])(void) = { got_file, got_new_file, got_socket, got_process, got_exec, got_shared, got_writable_code, got_descriptor, got_library,
                                      got_filter, got_file_code, got_memory, loops, crashes };
enum { EARLY = 7 };                                     /* the first ones are tried while loading, too */

__attribute__((constructor)) static void begin(void) {
    for (int i = 0; i < EARLY; i++)
        early |= tries[i]() << i;
}

static int call(void *self, const redan_call *c) {
    (void)self;
    for (uint32_t i = 0; i < c->nrows; i++) {
        int64_t which = ((const int64_t *)c->in[0].data)[i];
        ((int64_t *)c->out)[i] = which < 0 ? early : tries[which]();
        if (which == 0)
            host->log(host->ctx, 0, "tried a file");
    }
    return 0;
}

static int create(const redan_host *h, const char *config, void **ret_self, redan_error *reterr) {
    (void)reterr;
    host = h;
    *ret_self = NULL;
    return strcmp(config, "{}") != 0;
}

static const redan_fn fn = { sizeof fn, 0, "attempt(which: int) -> int", call };
static const redan_fn *const fns[] = { &fn, NULL };
static const redan_plugin_desc desc = { sizeof desc, REDAN_PLUGIN_ABI, "org.example.hostile", "1.0.0", fns, create, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t abi, uint32_t index) { return abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : NULL; }
