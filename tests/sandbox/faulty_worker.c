/* SPDX-License-Identifier: Apache-2.0
 * faulty_worker.c: redan-worker on a machine where one system call fails. `--preload fault.N` names the row of failing_calls.def; without
 * one it changes nothing. Lies in tests/sandbox of a build folder and starts plugins/redan-worker of the same. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define ANY_ARGS .nargs = 0
#define ARG(n, value) .nargs = 1, .arg = { { n, SCMP_CMP_EQ, value, 0 } }
static const struct { int call, err; unsigned nargs; struct scmp_arg_cmp arg[1]; } rows[] = {
#define FAULT(name, number, condition, error, code, words) { .call = SCMP_SYS(number), .err = error, condition },
#include "tests/sandbox/failing_calls.def"
#undef FAULT
};

static int refuse(unsigned row) {
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
    if (!c || row >= sizeof rows / sizeof *rows)
        return -EINVAL;
    /* Without NO_NEW_PRIVS, which root need not set: whether the worker sets it itself is one of the questions. */
    int rc = seccomp_attr_set(c, SCMP_FLTATR_CTL_NNP, geteuid() != 0);
    if (rc == 0)
        rc = seccomp_rule_add_array(c, SCMP_ACT_ERRNO((unsigned)rows[row].err), rows[row].call, rows[row].nargs, rows[row].arg);
    if (rc == 0)
        rc = seccomp_load(c);
    seccomp_release(c);
    return rc;
}

int main(int argc, char **argv) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return 90;
    snprintf(slash, 64, "/../../plugins/redan-worker");
    static char plain[] = "threading";
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "fault.", 6)) {
            if (refuse((unsigned)atoi(argv[i] + 6)) < 0)
                return 91;
            argv[i] = plain;
        }
    static char *none[] = { NULL };
    execve(path, argv, none);
    return 92;
}
