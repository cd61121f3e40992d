/* SPDX-License-Identifier: Apache-2.0
 * test_code.c: libraries on a small file system that several workers share: what one of them has just been given stays until it is loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "sandbox/code.h"

enum { ROOM = 64 << 10, BYTES = 28 << 10, SKIPPED = 77 };
static char path[3][RDN_CODE_PATH];

static int put(int which) {
    static char bytes[BYTES];
    uint8_t hash[32] = { (uint8_t)which };
    memset(bytes, which, sizeof bytes);
    return rdn_code_place(bytes, sizeof bytes, hash, true, path[which]);
}

static bool there(int which) {
    struct stat st;
    return stat(path[which], &st) == 0 && st.st_size == BYTES;
}

static void age(int which) {
    struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - 60 } };
    if (utimensat(AT_FDCWD, path[which], t, 0) < 0)
        _exit(SKIPPED);
}

#define EXPECT(what) do { if (!(what)) _exit(__LINE__ < 256 ? __LINE__ : 255); } while (0)
/* Alone on a root of 64 KiB, where two of these libraries fit. */
_Noreturn static void alone(const char *dir) {
    char room[32];
    snprintf(room, sizeof room, "size=%d", ROOM);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("none", dir, "tmpfs", 0, room) < 0 || chroot(dir) < 0 || chdir("/") < 0)
        _exit(SKIPPED);
    EXPECT(put(0) == 0 && put(1) == 0 && there(0) && there(1));
    EXPECT(put(2) == -ENOSPC && there(0) && there(1));  /* both may still be wanted */
    age(0);
    EXPECT(put(0) == 0);                                /* found, and wanted again */
    EXPECT(put(2) == -ENOSPC && there(0));
    age(0);
    EXPECT(put(2) == 0 && there(2) && there(1) && !there(0));
    age(1);
    age(2);
    EXPECT(put(0) == 0 && there(0) && !there(1) && !there(2));
    _exit(0);
}

static void shared_room(void **state) {
    (void)state;
    char dir[] = "/tmp/redan-code-XXXXXX";
    int status;
    assert_non_null(mkdtemp(dir));
    pid_t pid = fork();
    if (pid == 0)
        alone(dir);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rmdir(dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        printf("no file system of its own here\n");
        skip();
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("status %#x: line %d", (unsigned)status, WEXITSTATUS(status));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(shared_room) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
