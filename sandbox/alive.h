/* SPDX-License-Identifier: Apache-2.0
 * alive.h: a forked worker asks whether the process that forked it is still there. In a process namespace of its own, getppid() is 0.
 *
 * The owner holds a record lock, which a fork does not inherit and which goes with the owner's descriptors: before the kernel sends
 * death signals. So whoever sets its death signal first and then finds the lock held will get the signal. (A pipe's end of file comes
 * too late: another child that has not run yet still holds the writing end.) */
#ifndef RDN_ALIVE_H
#define RDN_ALIVE_H

/* Owner: a descriptor of min_fd or above, to be kept open; closing any copy of it in this process drops the lock. Or -errno. */
int rdn_alive_open(int min_fd);
/* Child: 0, -ESRCH when the owner is gone, or -errno. */
int rdn_alive_check(int fd);
#endif
