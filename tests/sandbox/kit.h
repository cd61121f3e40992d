/* SPDX-License-Identifier: Apache-2.0
 * kit.h: what the sandbox tests share: an engine's plugins, a plugin from text, percentiles. */
#ifndef RDN_SANDBOX_KIT_H
#define RDN_SANDBOX_KIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "plugins/worker.h"

#define KIT_MS 1000000LL
/* Group set-up and tear-down: one engine a test program, with the site folder $REDAN_TEST_SITE, and a spare zygote with
 * $REDAN_TEST_SPARE. Skips (77) where plugins cannot run. */
int kit_setup(void **state);
int kit_teardown(void **state);
extern struct rdn_plugins *kit;

/* Writes the text to a file of that name and opens it; the test fails with the reason otherwise. spec may be partly filled:
 * name defaults to "f", file to plugin.py, the time and load caps to 10 s. */
struct rdn_plugin *kit_open(struct rdn_plugin_spec spec, const char *text);
/* The same, expected to fail; answers the error. */
redan_error kit_refused(struct rdn_plugin_spec spec, const char *text);
const char *kit_file(const char *name, const char *text);           /* path of a new file */

#define KIT_T(k) ((struct rdn_wire_type){ .kind = RDN_WIRE_##k })
#define KIT_TEXT(n) ((struct rdn_wire_type){ .kind = RDN_WIRE_TEXT, .size = (n) })

int64_t kit_percentile(int64_t *values, size_t n, int percent);      /* sorts */
/* A figure against its bar: missed on a shared machine it is a skip with the reason, with REDAN_FIGURES=1 a failure. */
void kit_judge(const char *what, int64_t value_ns, int64_t bar_ns);
/* Children of every thread of a process, ours or another; at most cap. */
int kit_children(int pid, int *out, int cap);
int kit_entries(const char *folder);                                /* 0 as well when there is none */
/* Status of the plugin, in static memory. */
const struct rdn_plugin_status *kit_status(struct rdn_plugin *);
#endif
