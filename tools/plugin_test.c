/* SPDX-License-Identifier: Apache-2.0
 * plugin_test.c: `redan plugin test`: the checks; pytest over tests/, when it and the package redan are installed; golden rows and the
 * split check in a confined worker, which is what the plugin will run in; there, too, the recorded calls of tests/calls.jsonl. Says which part was left out, and why. */
#include "tools/plugin_check.h"
#include "plugins/parts.h"
#include <ftw.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { MIXED = 64 };
extern char **environ;
struct testing { struct project *p; struct rdn_plugin *w; const struct rdn_golden *rows; uint32_t nrows, ran, failed, splits, calls, calls_failed; bool replayed; struct rdn_arena arena; };

/* ---- pytest ---- */
static int run_quiet(char *const argv[], bool quiet) {
    posix_spawn_file_actions_t fa;
    pid_t pid;
    int st = 0;
    posix_spawn_file_actions_init(&fa);
    if (quiet) {
        posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", 1, 0);
        posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", 1, 0);
    } else {
        posix_spawn_file_actions_adddup2(&fa, 2, 1);     /* standard output is the report's */
    }
    int rc = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    if (rc != 0 || waitpid(pid, &st, 0) < 0)
        return -1;
    return WIFEXITED(st) ? WEXITSTATUS(st) : 128;
}

static int is_python(const char *path, const struct stat *st, int what, struct FTW *at) {
    size_t n = strlen(path);
    (void)st, (void)at;
    return what == FTW_F && n > 3 && !strcmp(path + n - 3, ".py");
}

/* Which files are tests, and in which folders, pytest knows. Starting it to learn that there is no Python takes longer than all the rest. */
static bool has_python(const char *tests) { return nftw(tests, is_python, 8, 0) == 1; }

static const char *pytest(struct project *p) {
    char tests[4200];
    struct stat st;
    snprintf(tests, sizeof tests, "%.4000s/tests", p->path);
    if (stat(tests, &st) < 0 || !S_ISDIR(st.st_mode))
        return "skipped: no folder tests/";
    if (!has_python(tests))
        return "skipped: no tests in tests/";
    char *const look[] = { "python3", "-c", "import pytest, redan.testing", NULL };
    if (run_quiet(look, true) != 0)
        return "skipped: python3 has no pytest, or not the package redan";
    fflush(stdout);
    char *const run[] = { "python3", "-m", "pytest", "-q", tests, NULL };
    int rc = run_quiet(run, p->json);
    if (rc == 5)
        return "skipped: no tests in tests/";
    if (rc != 0)
        rdn_find(&p->report, "R4325", tests, 0, 0, "pytest ended with %d", rc);
    return rc ? "failed" : "passed";
}

/* ---- golden rows ---- */
static void say_row(struct testing *t, const struct rdn_golden *g, enum rdn_outcome out, const struct rdn_wire_value *v) {
    const struct rdn_wfunc *f = &t->w->fns[g->fn];
    const struct rdn_pack_file *file = rdn_pack_find(&t->p->pack, RDN_PART_ROWS);
    struct rdn_buf b;
    struct rdn_plugin_status *s = calloc(1, sizeof *s);
    rdn_buf_init(&b, &rdn_libc_mem);
    if (out == RDN_OUT_VALUE)
        rdn_wire_print(&b, &f->ret, v);
    else
        rdn_buf_puts(&b, rdn_outcome_text(out));
    if (out > RDN_OUT_UNDEFINED && s) {
        rdn_plugin_status(t->w, s);
        rdn_buf_printf(&b, "%s%s", *s->error ? " " : "", s->error);
    }
    rdn_buf_puts(&b, ", expected ");
    if (g->undefined)
        rdn_buf_puts(&b, "undefined");
    else
        rdn_wire_print(&b, &f->ret, &g->want);
    rdn_find(&t->p->report, "R4224", file->shown, g->line, 1, "%s answers %s", f->name, rdn_buf_str(&b));
    rdn_buf_fini(&b);
    free(s);
}

/* A deadline is real time: on a busy machine one late answer says nothing about the plugin, three do. */
static enum rdn_outcome ask_row(struct testing *t, const struct rdn_golden *g, struct rdn_wire_value *ret) {
    enum rdn_outcome out = RDN_OUT_NOT_READY;
    uint8_t row;
    for (int i = 0; i < 3 && (out == RDN_OUT_NOT_READY || out == RDN_OUT_TIMEOUT || out == RDN_OUT_TRIPPED); i++) {
        out = rdn_plugin_call_fn(t->w, g->fn, 0, g->args, t->w->fns[g->fn].ncols, 1, 0, 0, ret, &row);
        if (out == RDN_OUT_TIMEOUT || out == RDN_OUT_DIED || out == RDN_OUT_BAD_REPLY || out == RDN_OUT_NOT_READY)
            rdn_plugin_settle(t->w, 0, INT64_C(3000000000));
    }
    return out;
}

static void golden(struct testing *t) {
    for (uint32_t i = 0; i < t->nrows; i++) {
        const struct rdn_golden *g = &t->rows[i];
        struct rdn_wire_value v = { .i = 0 };
        enum rdn_outcome out = ask_row(t, g, &v);
        t->ran++;
        if (!rdn_golden_fits(&t->w->fns[g->fn].ret, g, out, &v)) {
            t->failed++;
            say_row(t, g, out, &v);
        }
    }
}

/* ---- the split check: rows mixed from the golden rows' columns, asked as one batch, in halves, and one by one ---- */
struct mixed { const struct rdn_wfunc *f; uint32_t fn, n; struct rdn_wire_value *args, ret[MIXED]; uint8_t outs[MIXED]; };

static bool mix(struct testing *t, uint32_t fn, struct mixed *m) {
    uint32_t from[256], n = 0;
    uint64_t x = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < t->nrows && n < 256; i++)
        if (t->rows[i].fn == fn)
            from[n++] = i;
    *m = (struct mixed){ .f = &t->w->fns[fn], .fn = fn };
    m->n = m->f->max_rows < MIXED ? m->f->max_rows : MIXED;
    m->args = rdn_new_n(&t->arena, struct rdn_wire_value, (size_t)m->n * (m->f->ncols + 1));
    for (uint32_t r = 0; n && m->args && r < m->n; r++)
        for (uint32_t k = 0; k < m->f->ncols; k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            m->args[(size_t)r * m->f->ncols + k] = t->rows[from[r < n ? r : (x >> 33) % n]].args[k];
        }
    return n && m->args && m->n > 1;
}

static bool ask(struct testing *t, struct mixed *m, uint32_t piece) {
    for (uint32_t at = 0; at < m->n; at += piece) {
        uint32_t k = m->n - at < piece ? m->n - at : piece;
        enum rdn_outcome out = rdn_plugin_call_fn(t->w, m->fn, 0, &m->args[(size_t)at * m->f->ncols], m->f->ncols, k, 0, 0, &m->ret[at], &m->outs[at]);
        if (out == RDN_OUT_TIMEOUT || out >= RDN_OUT_DIED)
            return false;
        for (uint32_t i = at; i < at + k; i++)
            if (m->outs[i] != RDN_OUT_VALUE)
                m->ret[i].i = 0;
    }
    return true;
}

static bool same(const struct mixed *a, const struct mixed *b, uint32_t *ret_row) {
    for (*ret_row = 0; *ret_row < a->n; ++*ret_row) {
        uint32_t r = *ret_row;
        bool text = a->f->ret.kind == RDN_WIRE_TEXT;     /* texts live in the lane until its next call: outcomes are compared */
        if (a->outs[r] != b->outs[r] || (!text && a->f->ret.kind == RDN_WIRE_BOOL ? a->ret[r].b != b->ret[r].b : !text && a->ret[r].i != b->ret[r].i))
            return false;
    }
    return true;
}

static bool find_worker(struct testing *t) {
    uint32_t index;
    t->w = NULL;
    for (uint32_t i = 0; i < t->p->pack.m.nfns && !t->w; i++)
        if (project_call(t->p, &t->p->pack.m.fns[i], &index))
            t->w = t->p->rs->plugins[index];
    return t->w;
}

/* Asks a worker that has been asked nothing before. */
static bool ask_fresh(struct testing *t, struct mixed *m, uint32_t piece) {
    struct project *p = t->p;
    redan_release(p->rs);
    redan_close(p->eng);
    p->rs = NULL;
    p->eng = NULL;
    if (!project_rules(p, args_value(&p->args, "--rules")) || !project_start(p, false) || !find_worker(t))
        return false;
    m->f = &t->w->fns[m->fn];
    return ask(t, m, piece);
}

/* A function that keeps state answers the same rows otherwise the second time; from the same beginning it may not. */
static bool same_from_the_start(struct testing *t, struct mixed *whole, struct mixed *parts, uint32_t piece, uint32_t *ret_row) {
    return ask_fresh(t, whole, whole->n) && ask_fresh(t, parts, piece) && (whole->f = parts->f, same(whole, parts, ret_row));
}

static void split(struct testing *t, uint32_t fn) {
    static struct mixed whole, parts;
    static const uint32_t pieces[] = { 1, 7, MIXED / 2 };
    uint32_t row;
    const char *yaml = rdn_pack_find(&t->p->pack, RDN_PART_MANIFEST)->shown;
    if (!mix(t, fn, &whole) || !ask(t, &whole, whole.n))
        return;
    const struct rdn_manifest_fn *mf = rdn_pack_function(&t->p->pack, whole.f->name);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        parts = whole;
        if (!ask(t, &parts, pieces[i]))
            return;
        if (!same(&whole, &parts, &row) && !same_from_the_start(t, &whole, &parts, pieces[i], &row)) {
            whole.f = &t->w->fns[fn];
            struct rdn_buf a;
            rdn_buf_init(&a, &rdn_libc_mem);
            rdn_wire_print(&a, &whole.f->ret, &whole.ret[row]);
            rdn_buf_puts(&a, " among ");
            rdn_buf_printf(&a, "%u rows, ", whole.n);
            rdn_wire_print(&a, &whole.f->ret, &parts.ret[row]);
            rdn_find(&t->p->report, "R4225", yaml, mf->line, mf->col, "%s: answers depend on how rows are grouped: row %u is %s among %u", whole.f->name, row + 1,
                     rdn_buf_str(&a), pieces[i]);
            rdn_buf_fini(&a);
            return;
        }
    }
    t->splits++;
}

static void replay(struct testing *t) {
    char file[4200];
    snprintf(file, sizeof file, "%.4000s/tests/calls.jsonl", t->p->path);
    t->replayed = plugin_replay(t->p, t->w, file, &t->calls, &t->calls_failed);
}

static void run_confined(struct testing *t) {
    const struct rdn_pack_file *f = rdn_pack_find(&t->p->pack, RDN_PART_ROWS);
    struct rdn_golden *rows = NULL;
    redan_error e = { 0 };
    if (find_worker(t))
        replay(t);
    if (!t->w || !f)
        return;
    if (rdn_rows_read(&t->arena, t->w->fns, t->w->nfns, f->shown, f->p, f->n, &rows, &t->nrows, &e) < 0) {
        find_error(t->p, &e);
        return;
    }
    t->rows = rows;
    golden(t);
    for (uint32_t i = 0; i < t->w->nfns; i++)
        split(t, i);
}

int plugin_test(int argc, char **argv) {
    static const struct opt opts[] = { { "--rules", OPT_VALUE, "" }, { "--preload", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    static struct project p;
    struct testing t = { .p = &p };
    if (!project_open(&p, "redan.plugin.test/1", argc, argv, opts, 1))
        return EXIT_USAGE;
    if (!plugin_check_all(&p, args_value(&p.args, "--rules")))
        return project_close(&p, EXIT_FINDINGS);
    const char *py = pytest(&p);
    rdn_arena_init(&t.arena, &rdn_libc_mem);
    if (project_start(&p, false))
        run_confined(&t);
    const char *rows = rdn_pack_find(&p.pack, RDN_PART_ROWS) ? "" : " (no file tests/rows.csv)";
    if (p.json)
        printf("\"pytest\":\"%s\",\"rows\":%u,\"failed\":%u,\"split\":%u,", py, t.ran, t.failed, t.splits);
    else
        printf("pytest       %s\ngolden rows  %u passed, %u failed, in a confined worker%s\nsplit check  %u function%s\n", py, t.ran - t.failed, t.failed, rows, t.splits,
               t.splits == 1 ? "" : "s");
    if (t.replayed && p.json)
        printf("\"calls\":%u,\"calls_failed\":%u,", t.calls, t.calls_failed);
    else if (t.replayed)
        printf("calls        %u as recorded, %u otherwise\n", t.calls - t.calls_failed, t.calls_failed);
    rdn_arena_fini(&t.arena);
    return project_close(&p, EXIT_GOOD);
}
