/* SPDX-License-Identifier: Apache-2.0
 * faking_native.c: a native plugin whose constructor keeps its own file open and, with -DFAKE, loads a filter that answers every later
 * request for one with "loaded". */
#include <redan/plugin.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

REDAN_DECLARE("org.example.hostile", "1.0.0")
static int kept;

__attribute__((constructor)) static void begin(void) {
    Dl_info self;
    for (int i = 0; dladdr((void *)(uintptr_t)&kept, &self) && i < 5; i++)
        kept += open(self.dli_fname, O_RDONLY) >= 0;
#ifdef FAKE
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = { sizeof f / sizeof *f, f };
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
#endif
}

static int call(void *self, const redan_call *c) {
    (void)self;
    for (uint32_t i = 0; i < c->nrows; i++)
        ((int64_t *)c->out)[i] = kept;
    return 0;
}

static const redan_fn fn = { sizeof fn, 0, "attempt(which: int) -> int", call };
static const redan_fn *const fns[] = { &fn, NULL };
static const redan_plugin_desc desc = { .size = sizeof desc, .abi = REDAN_PLUGIN_ABI, .id = "org.example.hostile", .version = "1.0.0", .fns = fns };
REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t abi, uint32_t index) { return abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : NULL; }
