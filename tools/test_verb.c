/* SPDX-License-Identifier: Apache-2.0
 * test_verb.c: `redan test` and `redan cover` over a file's own tests. */
#include "tools/tool.h"
#include "host/testrun.h"
#include "tools/mutate.h"
#include <string.h>

struct failures { struct rdn_buf text; bool json; };

static void on_fail(void *ctx, const struct rdn_test *t, uint32_t line, const char *why) {
    struct failures *f = ctx;
    if (!f->json) {
        rdn_buf_printf(&f->text, "  FAIL \"%s\" line %u: %s\n", t->name, line, why);
        return;
    }
    rdn_buf_puts(&f->text, "{\"schema\":\"redan.test/1\",\"test\":");
    rdn_buf_json(&f->text, t->name, strlen(t->name));
    rdn_buf_printf(&f->text, ",\"line\":%u,\"why\":", line);
    rdn_buf_json(&f->text, why, strlen(why));
    rdn_buf_puts(&f->text, "}\n");
}

static void print_coverage(const struct rdn_ir *ir, const struct rdn_coverage *c) {
    uint32_t fired = 0, not_fired = 0, undefined = 0;
    for (uint32_t i = 0; i < ir->nrules; i++) {
        fired += c[i].fired > 0;
        not_fired += c[i].not_fired > 0;
        undefined += c[i].undefined > 0;
    }
    printf("  rules fired %u/%u, not fired %u/%u, undefined %u/%u\n", fired, ir->nrules, not_fired, ir->nrules, undefined, ir->nrules);
    if (fired == ir->nrules)
        return;
    printf("  never fired:");
    for (uint32_t i = 0, n = 0; i < ir->nrules; i++)
        if (!c[i].fired)
            printf("%s %s", n++ ? "," : "", ir->rules[i].name);
    printf("\n");
}

static int run_tests(redan_engine *e, redan_ruleset *rs, const struct args *a, const char *file) {
    redan_error err = { 0 };
    struct failures f = { .json = args_flag(a, "--json") };
    rdn_buf_init(&f.text, &rdn_libc_mem);
    struct rdn_coverage *cover = calloc(rs->ir->nrules + 1, sizeof *cover);
    struct rdn_test_sink sink = { .ctx = &f, .failed = on_fail, .cover = cover };
    int failed = redan_activate(e, rs, NULL, NULL, &err);
    if (failed == 0)
        failed = rdn_tests_run(e, rs, 0, &sink, &err);
    if (failed < 0) {
        print_error(&err);
    } else if (f.json) {
        out_buf(stdout, &f.text);
        printf("{\"schema\":\"redan.test/1\",\"passed\":%u,\"failed\":%d}\n", rs->ir->ntests - (uint32_t)failed, failed);
    } else {
        printf("%s: %u passed, %d failed\n", file, rs->ir->ntests - (uint32_t)failed, failed);
        out_buf(stdout, &f.text);
        print_coverage(rs->ir, cover);
    }
    rdn_buf_fini(&f.text);
    free(cover);
    return failed ? EXIT_FINDINGS : EXIT_GOOD;
}

int cmd_test(int argc, char **argv) {
    static const struct opt opts[] = { { "--backend", OPT_VALUE, "" }, { "--mutate", OPT_FLAG, "" }, { NULL, OPT_FLAG, NULL } };
    struct args a;
    int rc;
    if (!args_read(&a, "test", argc, argv, opts) || !args_words(&a, 1, 1))
        return EXIT_USAGE;
    redan_engine *e = open_engine(args_value(&a, "--backend"), 1);
    if (!e)
        return EXIT_USAGE;
    redan_ruleset *rs = load_rules(e, &a, a.words[0], args_flag(&a, "--json") ? DIAG_JSON : DIAG_FULL, false, &rc);
    if (rs)
        rc = run_tests(e, rs, &a, base_name(a.words[0]));
    if (rs && rc == EXIT_GOOD && args_flag(&a, "--mutate"))
        rc = mutate_file(&a, a.words[0], rs);
    redan_release(rs);
    redan_close(e);
    return rc;
}
