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

/* What older kernels and other sandboxes do not have, refused in the way they refuse it: LANDLOCK answers ENOSYS; LISTENER
 * EBUSY, because a filter around us has one; FILTER EINVAL. Needs and leaves NO_NEW_PRIVS; apply it last. [setup] */
enum { RDN_LACK_LANDLOCK = 1, RDN_LACK_LISTENER = 2, RDN_LACK_FILTER = 4 };
int rdn_profile_lack(unsigned what, redan_error *);
#endif
