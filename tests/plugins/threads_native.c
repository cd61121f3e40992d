/* SPDX-License-Identifier: Apache-2.0
 * threads_native.c: a native plugin with a pool, started while it is loaded: as many threads as config.want says. pool(op) makes all of them do one
 * thing and answers the sum; an op from ALONE on is done by the caller alone. What starts, opens or maps something answers 1 when it got it. */
#include <redan/plugin.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

REDAN_DECLARE("org.example.pool", "1.0.0")

enum { MOST = 64, ALONE = 20 };
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER, end = PTHREAD_COND_INITIALIZER;
static int64_t op, sum, round_of, started, waiting;
static volatile int zero;
static char *volatile last;                              /* a block that nobody looks at need not be there */

static void *nothing(void *arg) { return arg; }
static int64_t new_thread(void) {
    pthread_t t;
    return pthread_create(&t, NULL, nothing, NULL) == 0;
}
/* Parts of a whole thread: a process, a thread with files of its own, one without a handler table of its own. */
static int64_t new_process(void) {
    static const long flags[] = { SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD, CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS,
                                  CLONE_NEWUSER | SIGCHLD, CLONE_PARENT | SIGCHLD };
    int64_t got = syscall(SYS_fork) >= 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        long pid = syscall(SYS_clone, flags[i], NULL, NULL, NULL, NULL);
        if (pid == 0)
            _exit(0);
        got |= pid > 0;
    }
    return got;
}
static int64_t new_clone3(void) {
    struct { uint64_t words[11]; } args = { { 0 } };
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        _exit(0);
    return pid > 0 || errno != ENOSYS;
}
static int64_t memory(void) {                            /* in MiB, and kept: together they have the cap */
    int64_t got = 0;
    for (; (last = malloc(256 << 10)); got++)
        memset(last, 1, 256 << 10);
    return got;
}
static int64_t endless(void) {
    while (!zero)
        ;
    return 0;
}
static int64_t counted(void) {
    int64_t n = 0;
    for (int i = 0; i < 1000; i++)
        n += i;
    return n;
}
static int64_t file(void) { return open("/etc/passwd", O_RDONLY) >= 0 || open("/", O_RDONLY) >= 0; }
static int64_t code(void) { return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }
static int64_t (*const each[])(void) = { counted, new_thread, new_process, new_clone3, file, code, endless, memory };

static void *work(void *arg) {
    int64_t seen = 0;
    pthread_mutex_lock(&mu);
    for (;;) {
        while (seen == round_of)
            pthread_cond_wait(&begin, &mu);
        seen = round_of;
        int64_t what = op;
        pthread_mutex_unlock(&mu);
        int64_t got = each[what]();
        pthread_mutex_lock(&mu);
        sum += got;
        if (--waiting == 0)
            pthread_cond_signal(&end);
    }
    return arg;
}

static void send(int64_t what) {
    op = what;
    sum = 0;
    waiting = started;
    round_of++;
    pthread_cond_broadcast(&begin);
}

static int64_t all(int64_t what) {
    pthread_mutex_lock(&mu);
    send(what);
    while (waiting)
        pthread_cond_wait(&end, &mu);
    int64_t got = sum;
    pthread_mutex_unlock(&mu);
    return got;
}

/* 20: how many threads there are. 21: all loop, and the caller as well. 22: all loop, the caller returns. 23 on: the caller does what 1 on are. */
static int64_t alone(int64_t what) {
    if (what == 0)
        return started;
    if (what > 2)
        return each[what - 2]();
    pthread_mutex_lock(&mu);
    send(6);
    pthread_mutex_unlock(&mu);
    return what == 1 ? endless() : 0;
}

static int call(void *self, const redan_call *c) {
    (void)self;
    for (uint32_t i = 0; i < c->nrows; i++) {
        int64_t what = ((const int64_t *)c->in[0].data)[i];
        ((int64_t *)c->out)[i] = what < ALONE ? all(what) : alone(what - ALONE);
    }
    return 0;
}

static int create(const redan_host *h, const char *config, void **ret_self, redan_error *reterr) {
    const char *want = strstr(config, "\"want\":");
    (void)h, (void)reterr;
    *ret_self = NULL;
    for (int n = want ? atoi(want + 7) : 0; started < n && started < MOST; started++) {
        pthread_t t;
        if (pthread_create(&t, NULL, work, NULL) != 0)
            break;
    }
    return 0;
}

static const redan_fn fn = { sizeof fn, 0, "pool(which: int) -> int", call };
static const redan_fn *const fns[] = { &fn, NULL };
static const redan_plugin_desc desc = { sizeof desc, REDAN_PLUGIN_ABI, "org.example.pool", "1.0.0", fns, create, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t abi, uint32_t index) { return abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : NULL; }
