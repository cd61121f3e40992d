/* SPDX-License-Identifier: Apache-2.0
 * profile.c: allow by default, refuse what container runtimes refuse without CAP_SYS_ADMIN. */
#include "sandbox/profile.h"
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sandbox/limits.h"
#include "sandbox/seccomp.h"

static const int refused[] = {
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(kcmp),
    SCMP_SYS(open_by_handle_at), SCMP_SYS(fsopen), SCMP_SYS(fsmount), SCMP_SYS(move_mount), SCMP_SYS(open_tree),
    SCMP_SYS(pidfd_getfd), SCMP_SYS(kexec_load), SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(reboot),
    SCMP_SYS(swapon), SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(mbind), SCMP_SYS(set_mempolicy),
};
static const uint64_t namespaces[] = { CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP };

static int fill_container(scmp_filter_ctx c, unsigned what) {
    int rc = 0;
    (void)what;
    for (size_t i = 0; rc == 0 && i < sizeof refused / sizeof *refused; i++)
        rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
    if (rc == 0)
        rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    for (size_t i = 0; rc == 0 && i < sizeof namespaces / sizeof *namespaces; i++)
        rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
    if (rc == 0)
        rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_VSOCK, 0));
    return rc;
}

static int drop_rights(bool keep_root) {
    uint64_t keep = RDN_CAP(CAP_SETUID) | RDN_CAP(CAP_SETGID) | RDN_CAP(CAP_KILL) | RDN_CAP(CAP_CHOWN) | RDN_CAP(CAP_DAC_OVERRIDE);
    if (geteuid() != 0)
        return 0;
    for (int cap = 0; cap < 64; cap++)
        if (!keep_root || !(keep & RDN_CAP(cap)))
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);       /* EINVAL past the last one */
    return keep_root ? rdn_caps_keep(keep) : rdn_set_ids(65534, 65534);
}

typedef int fill_fn(scmp_filter_ctx, unsigned);

/* Everything but what `fill` names stays allowed; answers -errno. */
static int load(fill_fn *fill, unsigned what) {
    int rc = rdn_set_nnp();
    scmp_filter_ctx c = rc < 0 ? NULL : seccomp_init(SCMP_ACT_ALLOW);
    if (!c)
        return rc < 0 ? rc : -ENOTSUP;
    rc = fill(c, what);
    if (rc == 0)
        rc = seccomp_load(c);
    seccomp_release(c);
    return rc;
}

static int answer(int rc, const char *what, redan_error *reterr) {
    if (rc == 0)
        return 0;
    errno = -rc;
    return rdn_fail_sys(reterr, what);
}

int rdn_profile_container(bool keep_root, redan_error *reterr) {
    int rc = drop_rights(keep_root);
    return answer(rc < 0 ? rc : load(fill_container, 0), "container profile", reterr);
}

static int fill_lack(scmp_filter_ctx c, unsigned what) {
    int rc = 0;
    if (what & RDN_LACK_LANDLOCK)
        rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0);
    if (rc == 0 && what & RDN_LACK_FILTER)
        rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(seccomp), 0);
    return rc;
}

/* The descriptor stays open for the life of the process: the kernel allows one listener a process tree, and this is it. */
static int hold_listener(void) {
    struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, 0x7fff0000u) };
    struct sock_fprog p = { 1, all };
    int fd, rc = rdn_set_nnp();
    return rc < 0 ? rc : rdn_seccomp_load(&p, RDN_SECCOMP_LISTEN, &fd);
}

int rdn_profile_lack(unsigned what, redan_error *reterr) {
    int rc = what & RDN_LACK_LISTENER ? hold_listener() : 0;
    return answer(rc < 0 ? rc : load(fill_lack, what), "profile", reterr);
}
