/* SPDX-License-Identifier: Apache-2.0
 * test_wire.c: messages with descriptors, sealed pages, futexes, tiers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "sandbox/probe.h"
#include "sandbox/wire.h"

static int open_descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void messages(void **state) {
    (void)state;
    int sv[2], fds[4], got[4];
    char text[8] = "";
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
    int before = open_descriptors();
    for (unsigned n = 0; n <= 4; n++) {                 /* any number of descriptors, and fewer wanted than sent */
        for (unsigned i = 0; i < n; i++)
            assert_true((fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
        assert_int_equal(rdn_ctl_send(sv[0], "hello", 5, fds, n), 0);
        unsigned want = n > 2 ? 2 : n;
        assert_int_equal(rdn_ctl_recv(sv[1], text, sizeof text, got, 2), 5);
        for (unsigned i = 0; i < 2; i++)
            assert_true((got[i] >= 0) == (i < want));
        assert_int_equal(open_descriptors(), before + (int)(n + want));      /* the surplus was closed */
        for (unsigned i = 0; i < n; i++)
            close(fds[i]);
        for (unsigned i = 0; i < want; i++) {
            assert_int_equal(fcntl(got[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
            close(got[i]);
        }
    }
    close(sv[0]);
    assert_int_equal(rdn_ctl_recv(sv[1], text, sizeof text, got, 2), 0);
    assert_true(rdn_ctl_send(sv[1], "x", 1, NULL, 0) == -EPIPE);
    close(sv[1]);
}

static void seals(void **state) {
    (void)state;
    int fd = rdn_page_create("test", 8192);
    assert_true(fd >= 0);
    char *mine = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(mine, MAP_FAILED);
    assert_int_equal(rdn_page_seal(fd, F_SEAL_GROW | F_SEAL_SHRINK | 0x0010 /* FUTURE_WRITE */ | F_SEAL_SEAL), 0);
    mine[0] = 7;
    assert_ptr_equal(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    char *theirs = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(theirs, MAP_FAILED);
    assert_int_equal(theirs[0], 7);
    assert_int_equal(mprotect(theirs, 8192, PROT_READ | PROT_WRITE), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(rdn_page_seal(fd, F_SEAL_WRITE), -EPERM);
    munmap(mine, 8192);
    munmap(theirs, 8192);
    close(fd);
}

static void futexes(void **state) {
    (void)state;
    _Atomic uint32_t word = 5;
    assert_int_equal(rdn_futex_wait(&word, 4, 0), -EAGAIN);
    int64_t until = rdn_mono_ns() + 2000000;
    assert_int_equal(rdn_futex_wait(&word, 5, until), -ETIMEDOUT);
    assert_true(rdn_mono_ns() >= until);
    rdn_futex_wake(&word);
}

static void step_names(void **state) {
    (void)state;
    assert_string_equal(rdn_cstep_text(RDN_C_SECCOMP), "load the filter");
    assert_string_equal(rdn_zstep_text(RDN_Z_NS), "enter namespaces");
    assert_string_equal(rdn_cstep_text(99), "?");
    assert_null(rdn_mech_text(RDN_MECHS));
    assert_non_null(rdn_mech_text(RDN_MECHS - 1));
}

#define ALL (RDN_GOT_SECCOMP | RDN_GOT_LISTENER | RDN_GOT_LANDLOCK | RDN_GOT_NS | RDN_GOT_PIDNS | RDN_GOT_UID)
static const struct { const char *note; uint32_t got; int tier; } tiers[] = {
    { "everything", ALL, 4 },
    { "user namespaces", (ALL & ~RDN_GOT_UID) | RDN_GOT_USERNS, 3 },
    { "no pid namespace", ALL & ~RDN_GOT_PIDNS, 2 },
    { "no namespaces", ALL & ~(RDN_GOT_NS | RDN_GOT_PIDNS), 2 },
    { "no Landlock", ALL & ~RDN_GOT_LANDLOCK, 1 },
    { "no listener", ALL & ~RDN_GOT_LISTENER, 1 },
    { "no filter", ALL & ~RDN_GOT_SECCOMP, 0 },
    { "nothing", 0, 0 },
};

static void tier_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++)
        if (rdn_probe_tier(tiers[i].got) != tiers[i].tier)
            fail_msg("%s: %d", tiers[i].note, rdn_probe_tier(tiers[i].got));
}

static void *probe(void *arg) {
    struct rdn_probe_wish none = { 0 };
    redan_error e = { 0 };
    if (rdn_probe_run(&none, arg, &e) < 0)
        fail_msg("%s %s", e.id, e.text);
    return NULL;
}

static void *reap(void *arg) {                          /* as some hosts do, for children that are not theirs, too */
    while (!atomic_load((_Atomic int *)arg))
        if (waitpid(-1, NULL, WNOHANG) <= 0)
            usleep(50);
    return NULL;
}

/* What the machine offers does not depend on what the host does with signals and children. */
static void any_host(void **state) {
    struct rdn_probe plain = { 0 }, ignoring = { 0 }, reaping = { 0 };
    sigset_t all, was;
    pthread_t thread;
    _Atomic int stop = 0;
    (void)state;
    probe(&plain);
    signal(SIGCHLD, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &was);
    probe(&ignoring);
    sigprocmask(SIG_SETMASK, &was, NULL);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(pthread_create(&thread, NULL, reap, &stop), 0);
    probe(&reaping);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(ignoring.bits, plain.bits);
    assert_int_equal(reaping.bits, plain.bits);
    assert_int_equal(ignoring.tier, plain.tier);
    assert_int_equal(ignoring.ns, plain.ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages), cmocka_unit_test(seals), cmocka_unit_test(futexes), cmocka_unit_test(step_names), cmocka_unit_test(tier_table), cmocka_unit_test(any_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
