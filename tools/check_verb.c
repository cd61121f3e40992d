/* SPDX-License-Identifier: Apache-2.0
 * check_verb.c: `redan check`, and the three texts of LANGUAGE.md 17.7. */
#include "tools/text_json.h"
#include "tools/tool.h"
#include <string.h>

static int check_json(const struct rdn_ir *ir, const char *file, uint32_t warnings) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_buf_puts(&b, "{\"schema\":\"redan.check/1\",\"file\":");
    rdn_buf_json(&b, file, strlen(file));
    rdn_buf_printf(&b, ",\"events\":%u,\"windows\":%u,\"rules\":%u,\"tests\":%u,\"warnings\":%u,\"memory\":%llu}\n", ir->nevents, ir->nwindows,
                   ir->nrules, ir->ntests, warnings, (unsigned long long)ir->memory_bytes);
    out_buf(stdout, &b);
    rdn_buf_fini(&b);
    return EXIT_GOOD;
}

static void print_sum(const struct rdn_ir *ir, const char *file, uint32_t nwarnings) {
    const struct { uint32_t n; const char *what; } parts[] = {
        { ir->nevents, "event" }, { ir->nwindows, "window" }, { ir->nrules, "rule" }, { ir->ntests, "test" }, { nwarnings, "warning" },
    };
    printf("%s: ", file);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        printf("%u %s%s, ", parts[i].n, parts[i].what, parts[i].n == 1 ? "" : "s");
    printf("%llu B of state\n", (unsigned long long)ir->memory_bytes);
}

int cmd_check(int argc, char **argv) {
    static const struct opt opts[] = { { "--short", OPT_FLAG, "machine form" }, { NULL, OPT_FLAG, NULL } };
    struct args a;
    int rc;
    if (!args_read(&a, "check", argc, argv, opts) || !args_words(&a, 1, 1))
        return EXIT_USAGE;
    bool brief = args_flag(&a, "--short"), json = args_flag(&a, "--json");
    redan_engine *e = open_engine("interp", 1);
    if (!e)
        return EXIT_FINDINGS;
    redan_ruleset *rs = load_rules(e, &a, a.words[0], brief ? DIAG_SHORT : json ? DIAG_JSON : DIAG_FULL, true, &rc);
    if (rs && !brief) {
        const struct rdn_ir *ir = rs->ir;
        const char *file = base_name(a.words[0]);
        if (json)
            check_json(ir, file, rs->nwarnings);
        else
            print_sum(ir, file, rs->nwarnings);
    }
    redan_release(rs);
    redan_close(e);
    return rc;
}

static int print_text(const char *verb, int argc, char **argv, void (*print)(struct rdn_buf *, const struct rdn_ir *)) {
    static const struct opt opts[] = { { NULL, OPT_FLAG, NULL } };
    struct args a;
    int rc;
    if (!args_read(&a, verb, argc, argv, opts) || !args_words(&a, 1, 1))
        return EXIT_USAGE;
    redan_engine *e = open_engine("interp", 1);
    if (!e)
        return EXIT_FINDINGS;
    redan_ruleset *rs = load_rules(e, &a, a.words[0], DIAG_FULL, false, &rc);
    if (rs) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        print(&b, rs->ir);
        if (args_flag(&a, "--json") && print != rdn_dsl_doc) {
            struct rdn_buf json;
            rdn_buf_init(&json, &rdn_libc_mem);
            text_json(&json, verb, rdn_buf_str(&b), b.n);
            out_buf(stdout, &json);
            rdn_buf_fini(&json);
        } else {
            out_buf(stdout, &b);
        }
        rdn_buf_fini(&b);
    }
    redan_release(rs);
    redan_close(e);
    return rc;
}

int cmd_cost(int argc, char **argv) { return print_text("cost", argc, argv, rdn_dsl_cost); }
int cmd_layout(int argc, char **argv) { return print_text("layout", argc, argv, rdn_dsl_layout); }
int cmd_hash(int argc, char **argv) { return print_text("hash", argc, argv, rdn_dsl_hash); }
int cmd_doc(int argc, char **argv) { return print_text("doc", argc, argv, rdn_dsl_doc); }
