/* SPDX-License-Identifier: Apache-2.0
 * sandbox_try.h: the verb `redan sandbox`. argv[0] is "sandbox"; the answer is the exit code. */
#ifndef RDN_SANDBOX_TRY_H
#define RDN_SANDBOX_TRY_H
int cmd_sandbox(int argc, char **argv);
#endif
