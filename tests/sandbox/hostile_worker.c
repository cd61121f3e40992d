/* SPDX-License-Identifier: Apache-2.0
 * hostile_worker.c: stands in for redan-worker and breaks every promise it can: messages, pages, numbers, its own life.
 *
 * Started by the host like the real one. What a zygote and each worker do wrong is drawn from --seed. It tries to write where it
 * must not and to shrink what the host has mapped; if that works it says so in a file named in /tmp and the test fails. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "sandbox/ns.h"
#include "sandbox/wire.h"

enum { BURNING = 0xb1 };                                /* with this seed it keeps every promise but one: it computes between calls */
static uint64_t seed_state;
static int burning;
static const char *alarm_file;
static uint32_t draw(uint32_t n) {                      /* splitmix64 */
    uint64_t z = seed_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

static void got_out(const char *what) {
    int fd = open(alarm_file, O_CREAT | O_WRONLY | O_APPEND, 0600);
    dprintf(fd, "%s\n", what);
    close(fd);
}

/* --- pages ------------------------------------------------------------------------------------------------------ */

struct me { const struct rdn_req *req; struct rdn_res *res; size_t req_bytes, res_bytes; int fds[3]; };

static void try_to_break_out(const struct me *m) {
    char one = 1;
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, m->fds[0], 0) != MAP_FAILED)
        got_out("mapped the request page writable");
    if (pwrite(m->fds[0], &one, 1, 0) == 1)
        got_out("wrote the request page");
    if (ftruncate(m->fds[0], 0) == 0 || ftruncate(m->fds[1], 0) == 0 || ftruncate(m->fds[1], 1 << 20) == 0)
        got_out("changed the size of a page");
    if (pwrite(m->fds[2], &one, 1, 0) == 1)
        got_out("wrote the load page");
}

static void random_bytes(void *to, size_t n) {
    for (size_t i = 0; i + 4 <= n; i += 4) {
        uint32_t x = draw(4) ? draw(0xffffffffu) : draw(8);
        memcpy((char *)to + i, &x, 4);
    }
}

/* Everything behind the number itself. */
static void scribble(const struct me *m) {
    size_t from = 4 + draw((uint32_t)m->res_bytes - 4), n = draw((uint32_t)(m->res_bytes - from)) + 1;
    random_bytes((char *)m->res + (draw(2) ? from : 4), draw(3) ? 256 : n);
}

static void fair_answer(const struct me *m) {
    m->res->status = RDN_ST_OK;
    m->res->nrows = m->req->nrows;
    m->res->err_len = m->res->tb_len = m->res->log_len = m->res->trap_count = 0;
    memset(m->res->row_status, 0, sizeof m->res->row_status);
    memset(m->res->values, 'a', m->res_bytes - RDN_RES_VALUES);
}

static void die_somehow(void) {
    static const int signals[] = { SIGKILL, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGSTOP, SIGSYS };
    uint32_t k = draw(9);
    if (k < 7)
        raise(signals[k]);
    _exit((int)draw(256));
}

static void publish(const struct me *m, uint32_t seq) {
    atomic_store(&m->res->seq, seq);
    rdn_futex_wake(&m->res->seq);
}

/* One call answered, in one of the ways. */
static void answer_badly(const struct me *m, uint32_t seq) {
    uint32_t how = draw(14);
    if (how != 0)
        fair_answer(m);
    switch (how) {
    case 0: scribble(m); break;
    case 1: m->res->nrows = draw(2) ? draw(0xffffffffu) : m->req->nrows + 1; break;
    case 2: m->res->status = draw(2) ? draw(0xffffffffu) : draw(8); break;
    case 3: random_bytes(m->res->row_status, 256); break;
    case 4: random_bytes(m->res->values, m->res_bytes - RDN_RES_VALUES); break;
    case 5: random_bytes(&m->res->err_len, 3200); m->res->status = RDN_ST_EXCEPTION; break;
    case 6: m->res->log_len = draw(0xffffffffu); random_bytes(m->res->log, sizeof m->res->log); break;
    case 7: publish(m, seq - 1 - draw(3)); usleep(draw(3000)); break;
    case 8: publish(m, draw(0xffffffffu)); usleep(draw(3000)); break;
    case 9: usleep(draw(12000)); break;                 /* late, sometimes beyond the grace time */
    case 10: if (!draw(4)) die_somehow(); break;
    case 11: m->res->trap_count = draw(0xffffffffu); m->res->place_count = draw(0xffffffffu); random_bytes(m->res->traps, 700); break;
    case 12: atomic_store(&m->res->sleeping, draw(2)); break;
    default: break;
    }
    publish(m, seq);
    if (how == 13) {                                    /* writes on while it is read */
        int64_t until = rdn_mono_ns() + 200000;
        while (rdn_mono_ns() < until)
            scribble(m);
    }
    if (how == 12 && !draw(3))
        publish(m, seq - 1);                            /* takes the answer back */
    if (how == 11 && !draw(6))
        die_somehow();
}

_Noreturn static void burn(const struct me *m) {
    for (uint32_t seq = 0, now;;)
        if ((now = seq ? atomic_load(&m->req->seq) : 1) != seq) {
            fair_answer(m);
            publish(m, seq = now);
        }
}

_Noreturn static void serve(const struct me *m) {
    uint32_t seq = 1, last = draw(30) ? 0 : 1;          /* last: the load is never answered */
    if (burning)
        burn(m);
    try_to_break_out(m);
    if (!draw(30))
        die_somehow();
    if (!draw(3))
        signal(SIGUSR1, SIG_IGN);
    if (!last) {
        fair_answer(m);
        if (!draw(20))
            answer_badly(m, 1);
        publish(m, 1);
    }
    for (;;) {
        uint32_t now = atomic_load(&m->req->seq);
        if (now == seq) {
            atomic_store(&m->res->sleeping, 1);
            rdn_futex_wait(&m->req->seq, seq, rdn_mono_ns() + 1000000);
            atomic_store(&m->res->sleeping, 0);
            if (!draw(40))
                scribble(m);                            /* between two calls */
            continue;
        }
        seq = now;
        if (!draw(200))
            for (;;)
                scribble(m);                            /* and never again an answer */
        if (draw(8)) {
            fair_answer(m);
            publish(m, seq);
        } else {
            answer_badly(m, seq);
        }
    }
}

/* --- messages --------------------------------------------------------------------------------------------------- */

static void say(uint32_t kind, uint64_t token, int32_t pid, int32_t err, uint32_t step, uint32_t got, int fd) {
    struct rdn_ctl_report r = { .magic = RDN_CTL_MAGIC, .kind = kind, .token = token, .pid = pid, .err = err, .step = step, .got = got };
    snprintf(r.text, sizeof r.text, "hostile");
    if (!burning && !draw(50)) {
        char junk[300];
        random_bytes(junk, sizeof junk);
        rdn_ctl_send(RDN_CTL_FD, junk, 1 + draw(299), &fd, fd >= 0 && draw(2));
    }
    rdn_ctl_send(RDN_CTL_FD, &r, sizeof r, &fd, fd >= 0);
    if (!burning && !draw(50))
        rdn_ctl_send(RDN_CTL_FD, &r, sizeof r, &fd, fd >= 0);         /* once more */
}

_Noreturn static void worker(const struct rdn_ctl_spawn *s, const int *fds) {
    struct me m = { .req_bytes = s->req_bytes, .res_bytes = s->res_bytes, .fds = { fds[0], fds[1], fds[2] } };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    m.req = mmap(NULL, m.req_bytes, PROT_READ, MAP_SHARED, fds[0], 0);
    m.res = mmap(NULL, m.res_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
    if ((const void *)m.req == MAP_FAILED || (void *)m.res == MAP_FAILED)
        _exit(9);
    uint32_t how = burning ? 100 : draw(100);
    if (how == 0)
        die_somehow();
    int listener = how == 1 ? eventfd(1, EFD_CLOEXEC) : how == 2 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (how != 3 || draw(4))                            /* the host waits two seconds for this */
        say(RDN_CTL_CONFINED, s->token, getpid(), how == 4 ? EPERM : 0, how == 4 ? draw(40) : 0, how == 5 ? 0 : ~0u, listener);
    serve(&m);
}

static void spawn_one(const struct rdn_ctl_spawn *s, const int *fds) {
    int pidfd = -1;
    uint32_t how = burning ? 60 : draw(60);
    if (how == 0) {
        say(RDN_CTL_SPAWNED, s->token, 0, EAGAIN, 0, 0, -1);
        return;
    }
    pid_t pid = rdn_ns_fork(false, &pidfd);
    if (pid == 0)
        worker(s, fds);
    if (how == 1)
        say(RDN_CTL_SPAWNED, draw(100), pid, 0, 0, 0, pidfd);         /* somebody else's token */
    if (how == 2)
        say(RDN_CTL_EXIT, s->token, pid, 0, 0, 0, -1);
    say(RDN_CTL_SPAWNED, s->token, how == 3 ? 1 : pid, 0, 0, 0, how == 4 ? -1 : pidfd);
    close(pidfd);
}

static void reap(void) {
    int st;
    for (pid_t pid; (pid = waitpid(-1, &st, WNOHANG)) > 0;)
        if (!draw(5))
            say(RDN_CTL_EXIT, draw(1000), pid, st, 0, 0, -1);         /* mostly silent about deaths */
}

int main(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--seed"))
            seed_state = strtoull(argv[i + 1], NULL, 10);
    static char path[64];
    snprintf(path, sizeof path, "/tmp/redan-hostile-%llu", (unsigned long long)seed_state);
    alarm_file = path;
    burning = seed_state == BURNING;
    seed_state += (uint64_t)rdn_mono_ns();              /* zygotes of one host differ */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    uint32_t how = burning ? 20 : draw(20);
    if (how == 0)
        die_somehow();
    say(RDN_CTL_HELLO, 0, getpid(), 0, how == 1 ? 1 + draw(20) : 0, how == 2 ? 0 : ~0u, -1);
    for (;;) {
        struct rdn_ctl_spawn s;
        int fds[3];
        struct pollfd p = { RDN_CTL_FD, POLLIN, 0 };
        int n = poll(&p, 1, 5);
        reap();
        if (n <= 0)
            continue;
        if (rdn_ctl_recv(RDN_CTL_FD, &s, sizeof s, fds, 3) <= 0)
            return 0;
        spawn_one(&s, fds);
        for (int i = 0; i < 3; i++)
            close(fds[i]);
        if (!burning && !draw(300))
            die_somehow();                              /* all workers with it */
    }
}
