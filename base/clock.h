/* SPDX-License-Identifier: Apache-2.0
 * clock.h: monotonic and real time; a fake for tests. [any] [hot] */
#ifndef RDN_CLOCK_H
#define RDN_CLOCK_H
#include <stdint.h>
int64_t rdn_mono_ns(void);
int64_t rdn_real_ns(void);
void rdn_clock_fake(int64_t mono_ns);                  /* tests only: from now on rdn_mono_ns returns this; -1 ends it */
#endif
