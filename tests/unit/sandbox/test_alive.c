/* SPDX-License-Identifier: Apache-2.0
 * test_alive.c: a child learns that the process that forked it is gone, although a sibling lives on with all it inherited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox/alive.h"

/* What one child saw: asked by lock and by pipe, while the owner lived and after. The pipe is how it was done before. */
struct seen { int lock_before, pipe_before, lock_after, pipe_after; };

static int pipe_closed(int fd) {
    struct pollfd f = { fd, 0, 0 };
    return poll(&f, 1, 0) ? -ESRCH : 0;
}

_Noreturn static void child(int lock, const int *alive, const int *order, int answers) {
    char c;
    close(alive[1]);
    struct seen s = { .lock_before = rdn_alive_check(lock), .pipe_before = pipe_closed(alive[0]) };
    if (write(answers, "b", 1) != 1 || read(order[0], &c, 1) != 1)   /* the owner is reaped */
        _exit(1);
    s.lock_after = rdn_alive_check(lock);
    s.pipe_after = pipe_closed(alive[0]);
    _exit(write(answers, &s, sizeof s) != sizeof s);
}

/* Forks the child that asks and a sibling that has not closed anything yet, then ends as a killed zygote does. */
_Noreturn static void owner(const int *order, const int *hold, const int *answers) {
    int alive[2], lock = rdn_alive_open(20);
    if (lock < 20 || pipe(alive) < 0)
        _exit(1);
    if (fork() == 0)
        child(lock, alive, order, answers[1]);
    if (fork() == 0) {
        char c;
        close(hold[1]);
        _exit(read(hold[0], &c, 1) != 0);               /* until the test ends */
    }
    for (;;)
        pause();
}

static void told_after_the_owner(void **state) {
    (void)state;
    int order[2], hold[2], answers[2];
    char c;
    struct seen s;
    assert_int_equal(pipe(order) | pipe(hold) | pipe(answers), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        owner(order, hold, answers);
    close(answers[1]);
    assert_int_equal(read(answers[0], &c, 1), 1);
    usleep(20000);                                      /* the sibling is there too */
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(write(order[1], "g", 1), 1);
    assert_int_equal(read(answers[0], &s, sizeof s), (int)sizeof s);
    close(hold[1]);
    close(hold[0]);
    close(order[0]);
    close(order[1]);
    assert_int_equal(s.lock_before, 0);
    assert_int_equal(s.pipe_before, 0);
    assert_int_equal(s.lock_after, -ESRCH);
    assert_int_equal(s.pipe_after, 0);                  /* negative control: what this replaces saw nothing */
    close(answers[0]);
}

static void bad_descriptor(void **state) {
    (void)state;
    assert_int_equal(rdn_alive_check(-1), -EBADF);
    assert_int_equal(rdn_alive_open(1 << 30), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(told_after_the_owner), cmocka_unit_test(bad_descriptor) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
