/* SPDX-License-Identifier: Apache-2.0
 * try_main.c: `redan sandbox` alone, so that the suite can copy one small program to where a plain uid can read it. */
#include "tools/sandbox_try.h"
int main(int argc, char **argv) { return cmd_sandbox(argc - 1, argv + 1); }
