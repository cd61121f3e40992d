/* SPDX-License-Identifier: Apache-2.0
 * landlock.h: a ruleset without a rule: no file, no TCP, no signal or abstract socket outside. */
#ifndef RDN_LANDLOCK_H
#define RDN_LANDLOCK_H
int rdn_landlock_abi(void);                             /* 1.., or -errno when there is none. [any] */
/* A ruleset that handles every right this kernel's ABI knows; the descriptor, or -errno. Needs no right to any path. */
int rdn_landlock_create(void);
int rdn_landlock_allow_code(int ruleset, const char *path);        /* read and execute this one file; 0 or -errno */
int rdn_landlock_enter(int ruleset);                    /* 0 or -errno; needs NO_NEW_PRIVS; closes nothing */
#endif
