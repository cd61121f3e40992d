/* SPDX-License-Identifier: Apache-2.0
 * plugin_tool.h: what the verbs under `redan plugin` share: a project, its rules, its findings, its workers. No daemon. */
#ifndef RDN_PLUGIN_TOOL_H
#define RDN_PLUGIN_TOOL_H
#include "plugins/pack.h"
#include "plugins/worker.h"
#include "tools/tool.h"

enum { EXIT_TIMEOUT = 5 };
struct project {
    struct args args;
    bool json;
    const char *schema;                                  /* of the JSON object: "redan.plugin.check/1" */
    const char *path;                                    /* folder or bundle, as given */
    struct rdn_pack pack;
    struct rdn_report report;
    struct rdn_buf lines;                                /* findings as printed, or as members of the JSON array */
    uint32_t nlines;
    redan_engine *eng;
    redan_ruleset *rs;                                   /* declares the functions: --rules, plugin.rules, or made of the manifest */
    const char *rules_path;                              /* NULL: made of the manifest */
    char rules_buf[4096];
};
/* Options, and the folder: the first word, or the current one. False: usage was printed. */
bool project_open(struct project *, const char *schema, int argc, char **argv, const struct opt *, int most_words);
bool project_load(struct project *);                     /* reads the pack; false: findings say why */
bool project_rules(struct project *, const char *rules); /* compiles; false: findings say why */
bool project_manifest_rules(struct project *);           /* the manifest's signatures alone */
int  project_close(struct project *, int rc);            /* prints what was found; the exit code: `rc`, or 1 when there are errors */
const struct rdn_call *project_call(const struct project *, const struct rdn_manifest_fn *, uint32_t *ret_index);    /* or NULL */
/* "f(a: int) -> bool", as the rules have it. */
void project_signature(struct rdn_buf *, const struct rdn_ir *, const struct rdn_call *);
/* Names the functions and activates the rules: workers start, golden rows run when `tested`. False: a finding says why. */
bool project_start(struct project *, bool tested);
/* A member of the JSON object; texts in plain mode are printed by the verb itself. */
void project_member(struct project *, const char *name, const char *json);
void find_error(struct project *, const redan_error *);

/* plugin_replay.c: recorded calls of a file in a worker; false: there is no such file. */
bool plugin_replay(struct project *, struct rdn_plugin *, const char *file, uint32_t *ret_ran, uint32_t *ret_failed);
int plugin_source_check(struct project *);               /* plugin_source.c: findings of the author's text; 0, or 1 when it was skipped */

#define SUBVERB(name, fn, usage, help) int fn(int argc, char **argv);
#include "tools/plugin_verbs.def"
#undef SUBVERB
#endif
