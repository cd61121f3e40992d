/* SPDX-License-Identifier: Apache-2.0
 * code.h: puts a native plugin's library where the worker's dlopen finds it and nobody else's does.
 *
 * With namespaces: a file on the zygote's own tmpfs, named after its content, which Landlock then grants alone. Without: a sealed
 * memfd at RDN_CODE_FD, reached through /proc/self/fd. Called in the child before it confines itself. */
#ifndef RDN_CODE_H
#define RDN_CODE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RDN_CODE_FD = 4, RDN_CODE_PATH = 80 };
int rdn_code_place(const void *bytes, size_t n, const uint8_t sha256[32], bool own_root, char ret_path[RDN_CODE_PATH]);   /* 0 or -errno */
#endif
