/* SPDX-License-Identifier: Apache-2.0
 * testrun.h: a rule file's own tests (LANGUAGE.md 17.4), for `redan test`, mutation testing and the gate before a push. */
#ifndef RDN_TESTRUN_H
#define RDN_TESTRUN_H
#include "host/host.h"

struct rdn_coverage { uint64_t fired, not_fired, undefined; };
struct rdn_test_sink {
    void *ctx;
    void (*failed)(void *ctx, const struct rdn_test *, uint32_t line, const char *why);   /* may be NULL */
    struct rdn_coverage *cover;                          /* one a rule, added to; NULL: not wanted */
    bool stop_at_first;                                  /* mutation testing: one failure is enough */
};
/* Runs every test of an activated rule set, each on a fresh lane `index` of its engine (nothing else may use it). Returns the number of
 * tests that failed, or a negative code when a lane cannot be opened. [setup] */
int rdn_tests_run(redan_engine *, redan_ruleset *, uint32_t index, const struct rdn_test_sink *, redan_error *);
#endif
