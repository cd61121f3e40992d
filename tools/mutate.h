/* SPDX-License-Identifier: Apache-2.0
 * mutate.h: changes a rule file one small step at a time and shows which steps its tests do not notice. */
#ifndef RDN_MUTATE_H
#define RDN_MUTATE_H
#include "tools/tool.h"

/* Prints one line a survivor and a closing count; `rs` is the file as it stands, its tests pass. EXIT_FINDINGS if any survived. */
int mutate_file(const struct args *, const char *path, const redan_ruleset *rs);
#endif
