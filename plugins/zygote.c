/* SPDX-License-Identifier: Apache-2.0
 * zygote.c: redan-worker: loads one runtime, prepares it, confines itself, and forks workers on request (SANDBOX.md 3).
 *
 *   redan-worker ROLE --minor 3.11 --seed N --ns 0|1|2 --preload a,b [--site DIR]     control socket on descriptor 3
 *
 * The steps are those of steps.def. A failing step n is reported in HELLO and ends the process with 60 + n. One thread. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox/alive.h"
#include "sandbox/child.h"
#include "sandbox/code.h"
#include "sandbox/limits.h"
#include "sandbox/ns.h"
#include "sandbox/policy.h"
#include "plugins/sink.h"

enum { MAX_KIDS = 1024 };
static struct {
    const struct rdn_role *role;
    struct sock_fprog filters[2][RDN_POLICY_MODES], second[2][RDN_POLICY_MODES];       /* [1]: workers that may have threads */
    bool own_root;
    struct rdn_baseline base;
    struct { pid_t pid; uint64_t token; } kids[MAX_KIDS];
    unsigned nkids;
    int alive;                                          /* what workers ask whether this process is still there */
} z;

/* CPython's crash dumper knows only descriptors. This definition comes before libc's for every library of the process. */
struct rdn_sink rdn_sink;
__attribute__((visibility("default"))) ssize_t write(int fd, const void *p, size_t n) {
    if (fd != RDN_SINK_FD)
        return syscall(SYS_write, fd, p, n);
    size_t room = rdn_sink.cap - rdn_sink.n;
    size_t k = n < room ? n : room;
    memcpy(rdn_sink.p + rdn_sink.n, p, k);
    rdn_sink.n += k;
    return (ssize_t)n;
}

static void hello(unsigned step, uint32_t got, const char *text) {
    struct rdn_ctl_report r = { .magic = RDN_CTL_MAGIC, .kind = RDN_CTL_HELLO, .pid = getpid(), .err = step ? errno : 0,
                                .step = step, .got = got };
    snprintf(r.text, sizeof r.text, "%s", text);
    rdn_ctl_send(RDN_CTL_FD, &r, sizeof r, NULL, 0);
}

_Noreturn static void fail(unsigned step, const char *text) {
    hello(step, 0, text);
    _exit(60 + (int)step);
}

static const char *option(int argc, char **argv, const char *name) {
    for (int i = 2; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return NULL;
}

static void load_role(const char *name, const char *minor) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    if (n <= 0)
        fail(RDN_Z_START, "readlink /proc/self/exe");
    path[n] = 0;
    char *slash = strrchr(path, '/');
    snprintf(slash, 64, "/redan-worker-%.20s%.20s.so", name, minor ? minor : "");
    /* Global: extension modules such as NumPy's expect the interpreter's symbols there. */
    void *so = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!so)
        fail(RDN_Z_START, dlerror());
    rdn_role_get_fn *get = (rdn_role_get_fn *)(uintptr_t)dlsym(so, "rdn_role_get");
    z.role = get ? get() : NULL;
    if (!z.role || z.role->abi != RDN_ROLE_ABI)
        fail(RDN_Z_START, "runtime of another version");
}

static void prepare_role(int argc, char **argv) {
    char err[160] = "";
    const char *seed = option(argc, argv, "--seed");
    struct rdn_role_start s = { .site = option(argc, argv, "--site"), .preload = option(argc, argv, "--preload"),
                                .seed = seed ? strtoull(seed, NULL, 10) : 0, .err = err, .err_cap = sizeof err };
    unsigned step = z.role->start(&s);
    if (!step)
        step = z.role->handlers(&s);
    if (step)
        fail(step, err);
    int rc = rdn_child_handlers(z.role);
    if (rc < 0)
        fail(RDN_Z_HANDLERS, strerror(-rc));
}

static void compile_filters(void) {
    redan_error e = { 0 };
    bool native = z.role->code != NULL;
    for (unsigned threads = 0; threads <= native; threads++)
        for (enum rdn_policy_mode m = 0; m < RDN_POLICY_MODES; m++) {
            unsigned more = (unsigned)native << RDN_LIST_LOADING | threads << RDN_LIST_THREADS | (unsigned)z.role->makes_code << RDN_LIST_MAKING;
            if (rdn_policy_compile(more, m, &z.filters[threads][m], &e) < 0 || (native && rdn_policy_compile_second(threads, m, &z.second[threads][m], &e) < 0))
                fail(RDN_Z_HANDLERS, e.text);
        }
}

static void confine_self(int ns) {
    const char *where = "";
    char text[160];
    int rc = rdn_ns_enter(ns, z.role->code, &where);
    if (rc < 0) {
        snprintf(text, sizeof text, "%s: %s", where, strerror(-rc));
        fail(RDN_Z_NS, text);
    }
    /* KILL: the death of this process has to reach workers of another uid. */
    rc = rdn_caps_keep(RDN_CAP(CAP_SYS_ADMIN) | RDN_CAP(CAP_SETUID) | RDN_CAP(CAP_SETGID) | RDN_CAP(CAP_KILL));
    if (rc == 0)
        rc = rdn_set_nnp();
    if (rc < 0)
        fail(RDN_Z_CAPS, strerror(-rc));
}

/* --- serving ---------------------------------------------------------------------------------------------------- */

static void on_child(int sig) { (void)sig; }            /* only to end ppoll */

static void reap(void) {
    int st;
    pid_t pid;
    while ((pid = waitpid(-1, &st, WNOHANG)) > 0)
        for (unsigned i = 0; i < z.nkids; i++)
            if (z.kids[i].pid == pid) {
                struct rdn_ctl_report r = { .magic = RDN_CTL_MAGIC, .kind = RDN_CTL_EXIT, .token = z.kids[i].token, .pid = pid, .err = st };
                rdn_ctl_send(RDN_CTL_FD, &r, sizeof r, NULL, 0);
                z.kids[i] = z.kids[--z.nkids];
                break;
            }
}

static pid_t fork_worker(struct rdn_child_plan *p, int *ret_pidfd) {
    int rc = rdn_baseline_read(&z.base, &p->vm_bytes, &p->data_bytes);
    if (rc < 0)
        return rc;
    z.role->before_fork();
    pid_t pid = rdn_ns_fork(p->spawn.want & RDN_GOT_PIDNS, ret_pidfd);
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        rdn_child_run(p);
    }
    z.role->after_fork_parent();
    return pid;
}

static void spawn_one(const struct rdn_ctl_spawn *s, const int *fds) {
    bool threads = s->threads && z.role->code;
    struct rdn_child_plan p = { .spawn = *s, .fds = { fds[0], fds[1], fds[2] }, .alive = z.alive, .filters = z.filters[threads],
                                .second = z.role->code ? &z.second[threads][s->deny] : NULL, .own_root = z.own_root, .role = z.role };
    struct rdn_ctl_report r = { .magic = RDN_CTL_MAGIC, .kind = RDN_CTL_SPAWNED, .token = s->token };
    int pidfd = -1;
    pid_t pid = z.nkids == MAX_KIDS ? -EAGAIN : fork_worker(&p, &pidfd);
    if (pid > 0) {
        z.kids[z.nkids].pid = pid;
        z.kids[z.nkids++].token = s->token;
    }
    r.pid = pid > 0 ? pid : 0;
    r.err = pid < 0 ? -pid : 0;
    rdn_ctl_send(RDN_CTL_FD, &r, sizeof r, &pidfd, pidfd >= 0);
    if (pidfd >= 0)
        close(pidfd);
}

_Noreturn static void leave(void) {                     /* the host is gone: nothing may stay behind */
    for (unsigned i = 0; i < z.nkids; i++)
        kill(z.kids[i].pid, SIGKILL);
    _exit(0);
}

_Noreturn static void serve(void) {
    sigset_t waiting;
    sigprocmask(SIG_BLOCK, NULL, &waiting);
    sigdelset(&waiting, SIGCHLD);
    for (;;) {
        struct pollfd p = { RDN_CTL_FD, POLLIN, 0 };
        int n = ppoll(&p, 1, NULL, &waiting);
        reap();
        if (n <= 0)
            continue;
        struct rdn_ctl_spawn s;
        int fds[3];
        int k = rdn_ctl_recv(RDN_CTL_FD, &s, sizeof s, fds, 3);
        if (k <= 0)
            leave();
        if (k == sizeof s && s.magic == RDN_CTL_MAGIC && s.kind == RDN_CTL_SPAWN && s.deny < RDN_POLICY_MODES && fds[2] >= 0)
            spawn_one(&s, fds);
        for (int i = 0; i < 3; i++)
            if (fds[i] >= 0)
                close(fds[i]);
    }
}

static void ready_signals(void) {
    struct sigaction sa = { .sa_handler = on_child };
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, NULL);
    sigaction(SIGCHLD, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--version")) {   /* what redan.testing asks before it starts one */
        printf("redan-worker wire %u role %u\n", RDN_WIRE_VERSION, RDN_ROLE_ABI);
        return 0;
    }
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "redan-worker is started by redan; it takes its orders on descriptor 3\n");
        return 2;
    }
    if (rdn_set_pdeathsig() < 0 || rdn_close_from(RDN_CTL_FD + 1) < 0)
        fail(RDN_Z_ALONE, "close_range");
    /* A host thread under SCHED_FIFO would pass its class on, and a looping plugin would own the machine. */
    struct sched_param plain = { 0 };
    if (sched_setscheduler(0, SCHED_OTHER, &plain) < 0)
        fail(RDN_Z_ALONE, "sched_setscheduler");
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    const char *ns = option(argc, argv, "--ns");
    int how = ns ? atoi(ns) : RDN_NS_NONE;
    load_role(argv[1], option(argc, argv, "--minor"));
    prepare_role(argc, argv);
    compile_filters();
    if (rdn_baseline_open(&z.base) < 0)
        fail(RDN_Z_BASELINE, "/proc/self/statm");
    if ((z.alive = rdn_alive_open(RDN_CODE_FD + 1)) < 0)
        fail(RDN_Z_BASELINE, "a lock to be known by");
    ready_signals();
    confine_self(how);
    z.own_root = how != RDN_NS_NONE;
    z.role->freeze();
    malloc_trim(0);                                     /* the heap's free part would come on top of the cap: 9.0-9.4 instead of 7.5-8.3 MiB */
    hello(0, (how ? RDN_GOT_NS : 0) | (how == RDN_NS_USER ? RDN_GOT_USERNS : 0), z.role->version);
    serve();
}
