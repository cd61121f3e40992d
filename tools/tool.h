/* SPDX-License-Identifier: Apache-2.0
 * tool.h: what the verbs of `redan` share: options, files, diagnostics, exit codes.
 *
 * Exit codes (HOST.md section 9): 0 good, 1 findings or a bad line, 2 usage, 130 interrupted. */
#ifndef RDN_TOOL_H
#define RDN_TOOL_H
#include <stdio.h>
#include <stdlib.h>
#include "dsl/dsl.h"
#include "host/answer.h"
#include "host/host.h"

enum { EXIT_GOOD = 0, EXIT_FINDINGS = 1, EXIT_USAGE = 2 };

/* ---- options (opts.c): they stand anywhere; --name VALUE or --name=VALUE; behind -- all are words ---- */
enum opt_kind { OPT_FLAG, OPT_VALUE };
struct opt { const char *name; enum opt_kind kind; const char *help; };
struct args {
    const char *verb;
    const char *words[512]; int nwords;                  /* what is no option; `fmt` takes a tree of files */
    struct { const char *name, *value; } given[256]; int ngiven;
};
/* False after a message on standard error: usage. `opts` ends with a NULL name; --json, --color and --progress are known to all. */
bool args_read(struct args *, const char *verb, int argc, char **argv, const struct opt *opts);
bool args_flag(const struct args *, const char *name);
const char *args_value(const struct args *, const char *name);               /* the last one given, or NULL */
/* A whole number from `low`; `ret` keeps its value when not given. False: message printed. */
bool args_count(const struct args *, const char *name, uint64_t low, uint64_t *ret);
int  usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));        /* prints, returns EXIT_USAGE */
bool args_words(const struct args *, int min, int max);

/* ---- output (out.c) ---- */
bool color_wanted(const struct args *, FILE *);
void out_buf(FILE *, struct rdn_buf *);                  /* writes and empties */
/* A bar on a terminal after 300 ms, else a line every 5 s; off with --progress off. */
struct progress { const char *what; uint64_t total; int64_t start, last; int mode; bool shown; };
void progress_start(struct progress *, const struct args *, const char *what, uint64_t total);
void progress_step(struct progress *, uint64_t done);
void progress_end(struct progress *);

/* ---- files (load.c) ---- */
/* The whole file, in a malloc block with a NUL behind it; NULL after a message. "-" is standard input. */
char *read_file(const char *path, size_t *ret_len);
const char *base_name(const char *path);
/* Makes or replaces a file, by rename: a crash leaves the old one or the new one. A link is replaced, never followed. Mode 0: what
 * the umask leaves. False and errno. */
bool replace_file(const char *path, const struct rdn_buf *, unsigned mode);
/* An engine for judging files: one process, no real-time deadlines. NULL after a message. */
redan_engine *open_engine(const char *backend, uint32_t lanes);
/* Compiles a file; diagnostics go to standard output (carets, short or json). NULL after errors; *ret_rc is the exit code. */
enum diag_style { DIAG_FULL, DIAG_SHORT, DIAG_JSON, DIAG_NONE };
redan_ruleset *load_rules(redan_engine *, const struct args *, const char *path, enum diag_style, bool warnings, int *ret_rc);
void print_error(const redan_error *);                   /* one line on standard error */

/* One line an entry: verb, function, usage, what it does. */
#define VERB(name, fn, usage, help) int fn(int argc, char **argv);
#include "tools/verbs.def"
#undef VERB
#endif
