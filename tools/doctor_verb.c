/* SPDX-License-Identifier: Apache-2.0
 * doctor_verb.c: `redan doctor`: what this machine offers, each line tried, not guessed. Exit 1 when something is missing that a
 * user would notice. */
#include "tools/tool.h"
#include "base/tz.h"
#include "sandbox/probe.h"
#include <string.h>

static const char sample[] = "ruleset doctor version 1\n  undefined skip\nevent E { v: int  x: float }\nrule r on E { when v > 1 and x < 2.0 flag A }\n";

struct report { bool json; int problems; };

static void line(struct report *r, bool good, const char *what, const char *text, const char *hint) {
    r->problems += !good;
    if (r->json) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        rdn_buf_printf(&b, "{\"schema\":\"redan.doctor/1\",\"what\":\"%s\",\"good\":%s,\"text\":", what, good ? "true" : "false");
        rdn_buf_json(&b, text, strlen(text));
        rdn_buf_puts(&b, ",\"hint\":");
        rdn_buf_json(&b, hint ? hint : "", hint ? strlen(hint) : 0);
        rdn_buf_puts(&b, "}\n");
        out_buf(stdout, &b);
        rdn_buf_fini(&b);
        return;
    }
    printf("%-4s %-12s %s%s%s\n", good ? "ok" : "BAD", what, text, hint && !good ? "; " : "", hint && !good ? hint : "");
}

static void check_backends(struct report *r) {
    redan_engine *e = open_engine("auto", 1);
    redan_ruleset *rs = NULL;
    redan_error err = { 0 };
    char text[256];
    if (e && redan_compile(e, "doctor", sample, sizeof sample - 1, NULL, &rs, &err) == 0) {
        const struct rdn_program_info *i = rdn_program_info(rs->prog);
        snprintf(text, sizeof text, "%s%s%s", i->backend, i->note[0] ? ": " : "", i->note);
        line(r, !i->note[0], "executor", text, "rules run, but slower");
    } else {
        line(r, false, "executor", err.text, NULL);
    }
    redan_release(rs);
    redan_close(e);
}

static void check_zones(struct report *r) {
    bool good = rdn_tz_find("America/New_York", strlen("America/New_York")) != NULL;
    char text[160];
    snprintf(text, sizeof text, "tz database %s", good ? rdn_tz_version() : "not found");
    line(r, good, "time zones", text, "install the package tzdata");
}

static void check_sandbox(struct report *r) {
    struct rdn_probe_wish wish = { false, false };
    struct rdn_probe p;
    redan_error err = { 0 };
    if (rdn_probe_run(&wish, &p, &err) < 0) {
        line(r, false, "confinement", err.text, "plugins are refused");
        return;
    }
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_probe_print(&p, &b);
    while (b.n && b.p[b.n - 1] == '\n')
        b.n--;
    line(r, p.tier >= 2, "confinement", rdn_buf_str(&b), "plugins need seccomp and at least the container tier");
    rdn_buf_fini(&b);
}

int cmd_doctor(int argc, char **argv) {
    static const struct opt opts[] = { { NULL, OPT_FLAG, NULL } };
    struct args a;
    if (!args_read(&a, "doctor", argc, argv, opts) || !args_words(&a, 0, 0))
        return EXIT_USAGE;
    struct report r = { .json = args_flag(&a, "--json") };
    check_backends(&r);
    check_zones(&r);
    check_sandbox(&r);
    return r.problems ? EXIT_FINDINGS : EXIT_GOOD;
}
