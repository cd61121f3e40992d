/* SPDX-License-Identifier: Apache-2.0
 * gcc_peer.h: the same rules as C, compiled by gcc -O3 -march=native in this run and loaded. */
#ifndef RDN_BENCH_GCC_PEER_H
#define RDN_BENCH_GCC_PEER_H
#include "bench/rule_sets.h"

typedef void peer_fn(const struct set_event *, unsigned long long *bits);
struct gcc_peer { void *dl; peer_fn *judge; double compile_ms; char path[64]; };
/* False: no gcc, or it refused; *ret_why says so. */
int gcc_peer_open(struct gcc_peer *, const struct rule_set *, int flat, const char **ret_why);
void gcc_peer_close(struct gcc_peer *);
#endif
