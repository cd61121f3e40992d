/* SPDX-License-Identifier: Apache-2.0
 * run_verb.c: `redan run`: judges a stream and prints one line a decision (LANGUAGE.md 17.2). */
#include "plugins/pack.h"
#include "plugins/worker.h"
#include "tools/feed_in.h"
#include "tools/stream.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

enum { SWAPS = 32 };
struct swap { uint64_t at; redan_ruleset *rs; };
struct run {
    struct args args;
    redan_engine *eng;
    redan_ruleset *rs;
    struct swap swaps[SWAPS]; uint32_t nswaps;
    struct stream stream;
    struct feed feed;
    struct rdn_buf out;
    uint64_t bad;
    bool full, quiet, ahead;
    FILE *record;
};

/* ---- set-up ---- */
static bool read_swaps(struct run *r, int *ret_rc) {
    for (int i = 0; i < r->args.ngiven; i++) {
        if (strcmp(r->args.given[i].name, "--swap") != 0)
            continue;
        const char *v = r->args.given[i].value, *at = strrchr(v, '@');
        char path[4096];
        size_t digits = at ? strlen(at + 1) : 0;
        *ret_rc = EXIT_USAGE;
        if (!at || at == v || digits == 0 || digits > 18 || strspn(at + 1, "0123456789") != digits || (size_t)(at - v) >= sizeof path)
            return usage("--swap %.80s: NEW@N expected", v), false;
        if (r->nswaps == SWAPS)
            return usage("at most %d swaps", SWAPS), false;
        snprintf(path, sizeof path, "%.*s", (int)(at - v), v);
        redan_ruleset *rs = load_rules(r->eng, &r->args, path, DIAG_FULL, false, ret_rc);
        if (!rs)
            return false;
        r->swaps[r->nswaps++] = (struct swap){ strtoull(at + 1, NULL, 10), rs };
        const char *a = r->rs->ir->partition, *b = rs->ir->partition;
        if (r->eng->opt.lanes > 1 && ((!a != !b) || (a && strcmp(a, b) != 0))) {
            *ret_rc = EXIT_USAGE;
            return usage("--swap: several lanes need the same partition"), false;
        }
    }
    return true;
}

/* NAME=VALUE as it would stand in an event line: the type decides how VALUE reads. */
static bool set_param(struct run *r, const char *v) {
    const char *eq = strchr(v, '=');
    const struct rdn_ir *ir = r->rs->ir;
    uint32_t i = 0;
    while (eq && i < ir->nparams && (strlen(ir->params[i].name) != (size_t)(eq - v) || strncmp(ir->params[i].name, v, (size_t)(eq - v)) != 0))
        i++;
    if (!eq || i == ir->nparams)
        return usage("--param %.80s: NAME=VALUE with the name of a parameter expected", v), false;
    const struct rdn_type *t = ir->params[i].type;
    struct rdn_line l = { .kind = RDN_LINE_PARAM, .index = i };
    struct rdn_json j = { .kind = RDN_JSON_STRING, .text = eq + 1, .len = (uint32_t)strlen(eq + 1) };
    if (t->kind == RDN_K_INT || t->kind == RDN_K_DUR)
        j.kind = RDN_JSON_INT;
    else if (t->kind == RDN_K_FLOAT)
        j.kind = RDN_JSON_REAL;
    else if (t->kind == RDN_K_BOOL)
        j.kind = rdn_json_is(&j, "true") ? RDN_JSON_TRUE : rdn_json_is(&j, "false") ? RDN_JSON_FALSE : RDN_JSON_NULL;
    bool good = rdn_line_value(NULL, r->eng->syms, &j, t, NULL, &l.val);
    if (!good && t->kind == RDN_K_DUR)
        good = rdn_read_dur(j.text, j.len, &l.val.i);
    if (!good && t->kind == RDN_K_TIME)
        good = rdn_read_i64(j.text, j.len, &l.val.i);
    if (!good && t->kind == RDN_K_FLOAT) {               /* "inf", to be refused or not like any other value */
        j.kind = RDN_JSON_STRING;
        good = rdn_line_value(NULL, r->eng->syms, &j, t, NULL, &l.val);
    }
    if (!good)
        return usage("--param %.80s: the value does not fit its type", v), false;
    const char *why = stream_control(&r->stream, &l);
    if (why)
        return usage("--param %.80s: %s", v, why), false;
    return true;
}

/* --preload a,b: modules that are imported before confinement, for every plugin of the run. */
static uint32_t read_preload(const struct run *r, char *buf, size_t cap, const char **ret, uint32_t max) {
    const char *v = args_value(&r->args, "--preload");
    uint32_t n = 0;
    snprintf(buf, cap, "%s", v ? v : "");
    for (char *save, *p = strtok_r(buf, ",", &save); p && n < max; p = strtok_r(NULL, ",", &save))
        ret[n++] = p;
    return n;
}

static bool declares(const struct rdn_ir *ir, const char *name) {
    for (uint32_t i = 0; i < ir->ncalls; i++)
        if (!ir->calls[i].kernel && strcmp(ir->calls[i].name, name) == 0)
            return true;
    return false;
}

/* A misspelt name would be loaded and never called. Rules that are swapped in count too. */
static bool some_rules_declare(const struct run *r, const char *name) {
    bool found = declares(r->rs->ir, name);
    for (uint32_t i = 0; i < r->nswaps; i++)
        found |= declares(r->swaps[i].rs->ir, name);
    if (!found)
        usage("--plugin %.80s: the rules declare no plugin of that name", name);
    return found;
}

static bool name_plugin(struct run *r, redan_plugin_options *o) {
    redan_error err = { 0 };
    if (redan_plugin(r->eng, o, &err) == 0)
        return true;
    print_error(&err);
    return false;
}

/* --plugin DIR: every function of the folder or bundle that the rules declare. */
static bool name_package(struct run *r, redan_plugin_options *o) {
    static struct rdn_pack k;
    redan_error err = { 0 };
    uint32_t named = 0;
    bool good = true;
    if (rdn_pack_open(&rdn_libc_mem, o->file, &k, NULL, &err) < 0) {
        print_error(&err);
        return false;
    }
    for (uint32_t i = 0; good && i < k.m.nfns; i++) {
        bool wanted = declares(r->rs->ir, k.m.fns[i].name);
        for (uint32_t x = 0; x < r->nswaps; x++)
            wanted |= declares(r->swaps[x].rs->ir, k.m.fns[i].name);
        o->name = k.m.fns[i].name;
        named += wanted;
        good = !wanted || name_plugin(r, o);
    }
    if (!named)
        usage("--plugin %.80s: the rules declare none of its functions", o->file);
    rdn_pack_close(&k);
    return good && named;
}

static bool name_plugins(struct run *r) {
    const char *modules[16], *threads = args_value(&r->args, "--native-threads");
    char buf[512];
    uint32_t n = read_preload(r, buf, sizeof buf, modules, 16);
    for (int i = 0; i < r->args.ngiven; i++) {
        if (strcmp(r->args.given[i].name, "--plugin") != 0)
            continue;
        const char *v = r->args.given[i].value, *eq = strchr(v, '=');
        char name[128];
        redan_plugin_options o = REDAN_PLUGIN_OPTIONS_INIT;
        o.preload = args_value(&r->args, "--preload") ? modules : NULL;
        o.npreload = n;
        o.group = args_value(&r->args, "--group");
        o.native_threads = threads ? (uint32_t)strtoul(threads, NULL, 10) : 0;
        o.file = v;
        if (rdn_pack_is(v)) {
            if (!name_package(r, &o))
                return false;
            continue;
        }
        if (!eq || eq == v || (size_t)(eq - v) >= sizeof name)
            return usage("--plugin %.80s: NAME=FILE.py, a folder or a bundle expected", v), false;
        snprintf(name, sizeof name, "%.*s", (int)(eq - v), v);
        if (!some_rules_declare(r, name))
            return false;
        o.name = name;
        o.file = eq + 1;
        if (!name_plugin(r, &o))
            return false;
    }
    return true;
}

/* --record FILE: calls that plugins answered, to be made again by `redan plugin test`. */
static void record(void *ctx, const char *line, size_t n) {
    struct run *r = ctx;
    fwrite(line, 1, n, r->record);                       /* an error is told when the file is closed */
}

static bool start_record(struct run *r) {
    const char *path = args_value(&r->args, "--record");
    if (!path)
        return true;
    if (!r->eng->workers)
        return usage("--record needs a --plugin, whose calls are recorded"), false;
    if (!(r->record = fopen(path, "wb")))
        return usage("%s: %s", path, strerror(errno)), false;
    rdn_plugins_record(r->eng->workers, record, r);
    return true;
}

static bool end_record(struct run *r) {
    if (!r->record)
        return true;
    bool good = !ferror(r->record);
    good = fclose(r->record) == 0 && good;
    if (!good)
        usage("%s: %s", args_value(&r->args, "--record"), strerror(errno));
    return good;
}

static bool count_lanes(struct run *r, uint64_t *ret) {
    *ret = 1;
    if (!args_count(&r->args, "--lanes", 1, ret))
        return false;
    if (*ret > RDN_LANES_MAX)
        return usage("--lanes: at most %u", RDN_LANES_MAX), false;
    if (*ret > 1 && args_flag(&r->args, "--state"))
        return usage("--state needs one lane"), false;
    return true;
}

/* Rules, swaps, plugins, lanes and input; the exit code when something is wrong, else EXIT_GOOD. */
static int set_up(struct run *r) {
    uint64_t lanes;
    int rc;
    redan_error err = { 0 };
    if (!count_lanes(r, &lanes) || !(r->eng = open_engine(args_value(&r->args, "--backend"), (uint32_t)lanes)))
        return EXIT_USAGE;
    if (!(r->rs = load_rules(r->eng, &r->args, r->args.words[0], DIAG_FULL, false, &rc)))
        return rc;
    if (lanes > 1 && !r->rs->ir->partition) {
        fprintf(stderr, "%s has no partition: one lane\n", base_name(r->args.words[0]));
        lanes = 1;
    }
    if (!read_swaps(r, &rc))
        return rc;
    if (!name_plugins(r) || !start_record(r))
        return EXIT_USAGE;
    if (redan_activate(r->eng, r->rs, NULL, NULL, &err) < 0) {
        print_error(&err);
        return EXIT_FINDINGS;
    }
    if (!stream_open(&r->stream, r->eng, (uint32_t)lanes))
        return EXIT_FINDINGS;
    for (int i = 0; i < r->args.ngiven; i++)
        if (strcmp(r->args.given[i].name, "--param") == 0 && !set_param(r, r->args.given[i].value))
            return EXIT_USAGE;
    if (!feed_open(&r->feed, &r->args, r->args.nwords > 1 ? r->args.words[1] : NULL, r->eng->syms) || !feed_rules(&r->feed, r->rs->ir) ||
        !feed_lanes(&r->feed, r->stream.lanes, r->stream.nlanes))
        return EXIT_USAGE;
    return EXIT_GOOD;
}

/* ---- the stream ---- */
static void end_line(struct run *r) {
    rdn_buf_putc(&r->out, '\n');
    if (r->out.n > 1 << 16)
        out_buf(stdout, &r->out);
}

static void bad_line(struct run *r, const char *why) {
    r->bad++;
    rdn_answer_error(&r->out, why);
    end_line(r);
}

static void tell(void *ctx, redan_lane *lane, uint32_t event, const redan_verdict *v) {
    struct run *r = ctx;
    if (r->quiet)
        return;
    rdn_answer_decision(&r->out, lane, v, r->stream.n, stream_ir(&r->stream)->events[event].name, r->full);
    end_line(r);
}
static void catch_up(struct run *r) { stream_release(&r->stream, tell, r); }

/* The last swap that was asked for before input line `line`. */
static bool swap_before(struct run *r, uint64_t line) {
    redan_ruleset *rs = NULL;
    redan_error err = { 0 };
    for (uint32_t i = 0; i < r->nswaps; i++)
        if (r->swaps[i].at + 1 == line)
            rs = r->swaps[i].rs;
    if (!rs)
        return true;
    catch_up(r);
    if (stream_swap(&r->stream, rs, &err) < 0 || !feed_rules(&r->feed, rs->ir)) {
        if (err.code)
            print_error(&err);
        return false;
    }
    rdn_answer_swap(&r->out, rs->ir, r->stream.cold);
    end_line(r);
    return true;
}

static void take_line(struct run *r) {
    static struct rdn_line l;                            /* 9 KiB; one stream a process */
    feed_read(&r->feed, &l);
    if (l.kind == RDN_LINE_EVENT && r->ahead && stream_wait(&r->stream, l.index, l.row))
        return;
    catch_up(r);
    if (l.kind == RDN_LINE_EVENT && r->ahead && stream_wait(&r->stream, l.index, l.row))
        return;
    if (l.kind == RDN_LINE_EMPTY)
        return;
    if (l.kind == RDN_LINE_BAD) {
        bad_line(r, l.why);
        return;
    }
    if (l.kind != RDN_LINE_EVENT) {
        const char *why = stream_control(&r->stream, &l);
        if (why)
            bad_line(r, why);
        return;
    }
    redan_verdict v;
    redan_lane *lane = stream_judge(&r->stream, l.index, l.row, false, &v);
    tell(r, lane, l.index, &v);
}

/* Whoever writes to a pipe may wait for the answer before the next line: nothing is held back while nothing comes. */
static void answer_now(struct run *r) {
    if (r->ahead || !r->out.n || feed_has_more(&r->feed))
        return;
    out_buf(stdout, &r->out);
    fflush(stdout);
}

static int run_stream(struct run *r) {
    struct progress bar;
    progress_start(&bar, &r->args, "events", 0);
    r->full = args_flag(&r->args, "--full");
    r->quiet = args_flag(&r->args, "--quiet");
    r->ahead = feed_is_file(&r->feed);                   /* whoever writes to a pipe may wait for an answer before the next line */
    while (feed_fetch(&r->feed)) {
        if (!swap_before(r, r->feed.lines))
            return EXIT_FINDINGS;
        if (r->feed.books)
            catch_up(r);                                 /* what waits is judged on the books as they were */
        if (!feed_show(&r->feed))
            break;
        take_line(r);
        answer_now(r);
        if (r->feed.lines % 4096 == 0) {
            progress_step(&bar, r->feed.lines);
            catch_up(r);
            stream_replan(&r->stream);
        }
    }
    catch_up(r);
    progress_end(&bar);
    if (args_flag(&r->args, "--state")) {
        rdn_answer_state(&r->out, r->stream.lanes[0]);
        end_line(r);
    }
    out_buf(stdout, &r->out);
    feed_tell_skipped(&r->feed);
    return r->feed.failed ? EXIT_USAGE : r->bad ? EXIT_FINDINGS : EXIT_GOOD;
}

int cmd_run(int argc, char **argv) {
    static const struct opt opts[] = {
        { "--full", OPT_FLAG, "" }, { "--state", OPT_FLAG, "" }, { "--quiet", OPT_FLAG, "" }, { "--swap", OPT_VALUE, "" }, { "--lanes", OPT_VALUE, "" },
        { "--backend", OPT_VALUE, "" }, { "--param", OPT_VALUE, "" }, { "--plugin", OPT_VALUE, "" }, { "--preload", OPT_VALUE, "" }, { "--record", OPT_VALUE, "" }, { "--group", OPT_VALUE, "" },
        { "--native-threads", OPT_VALUE, "" }, FEED_OPTIONS, { "--speed", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    static struct run r;
    if (!args_read(&r.args, "run", argc, argv, opts) || !args_words(&r.args, 1, 2))
        return EXIT_USAGE;
    rdn_buf_init(&r.out, &rdn_libc_mem);
    int rc = set_up(&r);
    if (rc == EXIT_GOOD)
        rc = run_stream(&r);
    feed_close(&r.feed);
    stream_close(&r.stream);
    for (uint32_t i = 0; i < r.nswaps; i++)
        redan_release(r.swaps[i].rs);
    redan_release(r.rs);
    redan_close(r.eng);
    rdn_buf_fini(&r.out);
    return end_record(&r) ? rc : EXIT_USAGE;
}
