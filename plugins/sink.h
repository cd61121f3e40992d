/* SPDX-License-Identifier: Apache-2.0
 * sink.h: where bytes written to RDN_SINK_FD go. Defined by redan-worker, used by the runtimes it loads. [signal] */
#ifndef RDN_SINK_H
#define RDN_SINK_H
#include <stddef.h>
struct rdn_sink { char *p; size_t n, cap; };
extern __attribute__((visibility("default"))) struct rdn_sink rdn_sink;
#endif
