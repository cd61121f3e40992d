/* SPDX-License-Identifier: Apache-2.0
 * explain_verb.c: `redan explain`: a code, or why each decision of a stream came out as it did (17.6); `redan cover`. */
#include "tools/feed_in.h"
#include "tools/stream.h"
#include "host/testrun.h"
#include <ctype.h>
#include <string.h>

static bool is_code(const char *s) {
    return strlen(s) == 5 && strchr("EWR", s[0]) && isdigit((unsigned char)s[1]) && isdigit((unsigned char)s[2]) && isdigit((unsigned char)s[3]) &&
           isdigit((unsigned char)s[4]);
}

static int explain_code(const char *code, bool json) {
    const char *text = rdn_dsl_code_text(code);
    if (!text)
        text = rdn_code_text(code);
    if (json) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        rdn_buf_printf(&b, "{\"schema\":\"redan.code/1\",\"code\":\"%s\",\"text\":", code);
        if (text)
            rdn_buf_json(&b, text, strlen(text));
        else
            rdn_buf_puts(&b, "null");
        rdn_buf_puts(&b, "}\n");
        out_buf(stdout, &b);
        rdn_buf_fini(&b);
    } else {
        printf("%s %s\n", code, text ? text : "no such code");
    }
    return text ? EXIT_GOOD : EXIT_FINDINGS;
}

struct job {
    struct args args;
    redan_engine *eng;
    redan_ruleset *rs;
    struct stream stream;
    struct feed feed;
    struct rdn_buf out;
    uint64_t at, bad;
    struct rdn_coverage *cover;                          /* cover: counts instead of texts */
};

static void count_event(struct job *j, redan_lane *lane, uint32_t event) {
    const struct rdn_event *e = &j->rs->ir->events[event];
    const struct rdn_frame_head *f = rdn_frame_head(lane->b->frame);
    for (uint32_t i = 0; i < e->nrules; i++) {
        struct rdn_coverage *c = &j->cover[e->rules[i]];
        bool undef = f->undef[i / 64] >> i % 64 & 1, fired = f->fired[i / 64] >> i % 64 & 1;
        c->undefined += undef;
        c->fired += fired && !undef;
        c->not_fired += !fired && !undef;
    }
}

static void take_line(struct job *j) {
    static struct rdn_line l;
    feed_read(&j->feed, &l);
    const char *why = l.kind == RDN_LINE_BAD ? l.why : NULL;
    if (l.kind == RDN_LINE_PARAM || l.kind == RDN_LINE_CALL || l.kind == RDN_LINE_ROW)
        why = stream_control(&j->stream, &l);
    if (why) {
        j->bad++;
        if (!j->at && !j->cover) {
            rdn_answer_error(&j->out, why);
            rdn_buf_putc(&j->out, '\n');
        }
    }
    if (l.kind != RDN_LINE_EVENT)
        return;
    redan_verdict v;
    redan_lane *lane = stream_judge(&j->stream, l.index, l.row, true, &v);
    if (j->cover)
        count_event(j, lane, l.index);
    else if (!j->at || j->stream.n == j->at)
        rdn_explain(&j->out, lane, &v, l.index, j->stream.n);
    stream_finish(lane, l.index, &v);
}

static int run_stream(struct job *j, const char *events) {
    if (!feed_open(&j->feed, &j->args, events, j->eng->syms) || !feed_rules(&j->feed, j->rs->ir) ||
        !feed_lanes(&j->feed, j->stream.lanes, j->stream.nlanes))
        return EXIT_USAGE;
    while (feed_fetch(&j->feed) && feed_show(&j->feed)) {
        take_line(j);
        if (j->out.n > 1 << 16)
            out_buf(stdout, &j->out);
    }
    out_buf(stdout, &j->out);
    feed_tell_skipped(&j->feed);
    return j->feed.failed ? EXIT_USAGE : j->bad ? EXIT_FINDINGS : EXIT_GOOD;
}

static int start(struct job *j) {
    int rc;
    redan_error err = { 0 };
    rdn_buf_init(&j->out, &rdn_libc_mem);
    if (!(j->eng = open_engine(args_value(&j->args, "--backend"), 1)))
        return EXIT_USAGE;
    if (!(j->rs = load_rules(j->eng, &j->args, j->args.words[0], DIAG_FULL, false, &rc)))
        return rc;
    if (redan_activate(j->eng, j->rs, NULL, NULL, &err) < 0) {
        print_error(&err);
        return EXIT_FINDINGS;
    }
    return EXIT_GOOD;
}

static void finish(struct job *j) {
    feed_close(&j->feed);
    stream_close(&j->stream);
    redan_release(j->rs);
    redan_close(j->eng);
    rdn_buf_fini(&j->out);
    free(j->cover);
}

static const struct opt opts[] = { { "--at", OPT_VALUE, "" }, { "--backend", OPT_VALUE, "" }, FEED_OPTIONS, { NULL, OPT_FLAG, NULL } };

int cmd_explain(int argc, char **argv) {
    static struct job j;
    if (!args_read(&j.args, "explain", argc, argv, opts) || !args_words(&j.args, 1, 2))
        return EXIT_USAGE;
    if (j.args.nwords == 1 && is_code(j.args.words[0]))
        return explain_code(j.args.words[0], args_flag(&j.args, "--json"));
    if (!args_count(&j.args, "--at", 1, &j.at))
        return EXIT_USAGE;
    int rc = start(&j);
    if (rc == EXIT_GOOD)
        rc = stream_open(&j.stream, j.eng, 1) ? run_stream(&j, j.args.nwords > 1 ? j.args.words[1] : NULL) : EXIT_FINDINGS;
    finish(&j);
    return rc;
}

static void print_cover(const struct job *j) {
    const struct rdn_ir *ir = j->rs->ir;
    bool json = args_flag(&j->args, "--json");
    for (uint32_t i = 0; i < ir->nrules; i++) {
        const struct rdn_coverage *c = &j->cover[i];
        uint32_t line, col;
        rdn_ir_linecol(ir, ir->rules[i].when_span, &line, &col);
        if (json)
            printf("{\"schema\":\"redan.cover/1\",\"rule\":\"%s\",\"line\":%u,\"fired\":%llu,\"not_fired\":%llu,\"undefined\":%llu}\n", ir->rules[i].name, line,
                   (unsigned long long)c->fired, (unsigned long long)c->not_fired, (unsigned long long)c->undefined);
        else
            printf("%-32s line %-5u fired %-9llu not fired %-9llu undefined %llu%s\n", ir->rules[i].name, line, (unsigned long long)c->fired,
                   (unsigned long long)c->not_fired, (unsigned long long)c->undefined, c->fired ? "" : "  never fired");
    }
}

int cmd_cover(int argc, char **argv) {
    static struct job j;
    if (!args_read(&j.args, "cover", argc, argv, opts) || !args_words(&j.args, 1, 2))
        return EXIT_USAGE;
    int rc = start(&j);
    redan_error err = { 0 };
    if (rc == EXIT_GOOD && !(j.cover = calloc(j.rs->ir->nrules + 1, sizeof *j.cover)))
        rc = EXIT_FINDINGS;
    if (rc == EXIT_GOOD && j.args.nwords == 1 && !args_value(&j.args, "--feed")) {
        struct rdn_test_sink sink = { .cover = j.cover };
        int failed = rdn_tests_run(j.eng, j.rs, 0, &sink, &err);
        if (failed < 0)
            print_error(&err);
        rc = failed ? EXIT_FINDINGS : EXIT_GOOD;
    } else if (rc == EXIT_GOOD) {
        rc = stream_open(&j.stream, j.eng, 1) ? run_stream(&j, j.args.nwords > 1 ? j.args.words[1] : NULL) : EXIT_FINDINGS;
    }
    if (j.cover)
        print_cover(&j);
    finish(&j);
    return rc;
}
