/* SPDX-License-Identifier: Apache-2.0
 * profile.h: a stand-in for a container runtime's default profile, so that tier `container` can be tried anywhere. */
#ifndef RDN_PROFILE_H
#define RDN_PROFILE_H
#include <stdbool.h>
#include "base/err.h"

/* Applies to this process and everything it starts from now on: no namespaces, mounts or keys, clone3 answers ENOSYS, few
 * capabilities, NO_NEW_PRIVS. As root, keep_root keeps SETUID, SETGID, KILL, CHOWN and DAC_OVERRIDE; otherwise the uid becomes
 * 65534. A plain uid stays what it is. SYS on failure. [setup] */
int rdn_profile_container(bool keep_root, redan_error *);
#endif
