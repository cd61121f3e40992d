/* SPDX-License-Identifier: Apache-2.0
 * plugin_check.h: the checks of `redan plugin check`, which test, bench and pack run first. */
#ifndef RDN_PLUGIN_CHECK_H
#define RDN_PLUGIN_CHECK_H
#include "tools/plugin_tool.h"

/* Loads the project and compiles its rules on the way. False: findings say why. */
bool plugin_check_all(struct project *, const char *rules);
#endif
