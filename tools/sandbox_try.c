/* SPDX-License-Identifier: Apache-2.0
 * sandbox_try.c: `redan sandbox try FILE.py...`: load each file into a confined worker of its own and call attack() once.
 *
 *   a file      "FILE:" when there are several
 *   line 1      OUTCOME ANSWER          names of plugins/outcomes.def; - when there is no answer
 *   then        violation NAME (FILE:LINE)      one a denied system call
 *   exit        0 nothing obtained, 1 an answer begins with GOT:, 2 could not run */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "plugins/worker.h"
#include "sandbox/explain.h"
#include "sandbox/probe.h"
#include "sandbox/profile.h"
#include "tools/sandbox_try.h"

enum { MAX_PRELOAD = 32 };
struct order {
    char **files;
    int nfiles;
    const char *function;
    bool json, container, container_user, tier;
    unsigned lack;
    struct rdn_plugins_options opt;
    struct rdn_plugin_spec spec;
    const char *preload[MAX_PRELOAD];
    char list[1024];
};
static const char usage[] =
    "usage: redan sandbox try FILE.py... [--preload a,b] [--site DIR] [--deny notify|trap|errno|kill] [--function NAME]\n"
    "                                 [--deadline-ms N] [--mem-mib N] [--require TIER] [--tier] [--json]\n"
    "                 as on a lesser machine: [--no-userns] [--container[=root|user]] [--lack landlock|listener|filter] [--without LAYER]\n"
    "       redan sandbox explain [CALL]   the system calls a worker may make; what becomes of one, by the name or number of a violation\n"
    "       redan sandbox probe       what this machine offers\n";

static int fail(const char *text) {
    fprintf(stderr, "redan sandbox: %s\n", text);
    return 2;
}

static int fail_with(const redan_error *e) {
    if (e->line)
        fprintf(stderr, "%s:%u: %s %s\n", e->where, e->line, e->id, e->text);
    else
        fprintf(stderr, "redan sandbox: %s%s%s%s%s\n", e->id, *e->id ? " " : "", e->where, *e->where ? ": " : "", e->text);
    return 2;
}

/* --- options ---------------------------------------------------------------------------------------------------- */

static void split_preload(struct order *o, const char *text) {
    char *save = NULL;
    snprintf(o->list, sizeof o->list, "%s", text);
    o->spec.npreload = 0;
    for (char *s = strtok_r(o->list, ",", &save); s && o->spec.npreload < MAX_PRELOAD; s = strtok_r(NULL, ",", &save))
        o->preload[o->spec.npreload++] = s;
}

static bool parse_deny(struct order *o, const char *text) {
    static const char *const modes[] = { "notify", "trap", "errno", "kill" };
    for (uint8_t i = 0; i < 4; i++)
        if (!strcmp(text, modes[i])) {
            o->opt.deny = i;
            return true;
        }
    return false;
}

static bool parse_layer(struct order *o, const char *text) {
    for (unsigned i = 0; rdn_mech_text(i); i++)
        if (!strcmp(text, rdn_mech_text(i))) {
            o->opt.ablate |= 1u << i;
            if (1u << i & (RDN_GOT_NS | RDN_GOT_PIDNS))
                o->opt.no_ns = true;
            return true;
        }
    return false;
}

static bool parse_container(struct order *o, const char *who) {
    o->container = true;
    o->container_user = who && !strcmp(who, "user");
    return !who || !strcmp(who, "root") || o->container_user;
}

static bool parse_lack(struct order *o, const char *what) {
    static const char *const names[] = { "landlock", "listener", "filter" };
    for (unsigned i = 0; i < 3; i++)
        if (!strcmp(what, names[i])) {
            o->lack |= 1u << i;
            return true;
        }
    return false;
}

static bool parse_tier(struct order *o, const char *name) {
    for (int t = RDN_TIER_MINIMAL; t <= RDN_TIER_FULL; t++)
        if (!strcmp(name, rdn_tier_text((enum rdn_tier)t))) {
            o->opt.require_tier = (uint8_t)t;
            return true;
        }
    return false;
}

static bool parse(struct order *o, int argc, char **argv) {
    static const struct option options[] = {
        { "preload", 1, NULL, 'p' }, { "deny", 1, NULL, 'd' }, { "no-userns", 0, NULL, 'u' }, { "container", 2, NULL, 'c' },
        { "json", 0, NULL, 'j' }, { "function", 1, NULL, 'f' }, { "deadline-ms", 1, NULL, 't' }, { "mem-mib", 1, NULL, 'm' },
        { "without", 1, NULL, 'w' }, { "tier", 0, NULL, 'T' }, { "lack", 1, NULL, 'l' }, { "require", 1, NULL, 'r' },
        { "site", 1, NULL, 's' }, { 0 },
    };
    bool ok = true;
    optind = 0;
    for (int c; ok && (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (c) {
        case 'p': split_preload(o, optarg); break;
        case 'd': ok = parse_deny(o, optarg); break;
        case 'u': o->opt.no_userns = true; break;
        case 'c': ok = parse_container(o, optarg); break;
        case 'j': o->json = true; break;
        case 'f': o->function = optarg; break;
        case 't': o->spec.time_cap_ns = strtoll(optarg, NULL, 10) * 1000000; break;
        case 'm': o->spec.mem_cap_mib = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'w': ok = parse_layer(o, optarg); break;
        case 'T': o->tier = true; break;
        case 'l': ok = parse_lack(o, optarg); break;
        case 'r': ok = parse_tier(o, optarg); break;
        case 's': o->opt.python_site = optarg; break;
        default: ok = false;
        }
    o->files = argv + optind;
    o->nfiles = argc - optind;
    return ok && o->nfiles > 0;
}

static bool numpy_installed(void) { return access("/usr/lib/python3/dist-packages/numpy/__init__.py", R_OK) == 0; }

/* --- output ----------------------------------------------------------------------------------------------------- */

static void print_line(const char *s) {                 /* the answer is the plugin's text: no escape sequence reaches a terminal */
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            printf("\\x%02x", (unsigned char)*s);
        else
            putchar(*s);
}

static void print_plain(const struct rdn_plugin_status *s, const char *answer) {
    printf("%s ", rdn_outcome_text(s->last));
    print_line(answer ? answer : "-");
    putchar('\n');
    for (uint32_t i = 0; i < s->nkept; i++)
        printf("violation %s (%s)\n", s->kept[i].name, *s->kept[i].place ? s->kept[i].place : "-");
}

static void json_text(struct rdn_buf *b, const char *name, const char *text) {
    rdn_buf_printf(b, ",\"%s\":", name);
    if (text)
        rdn_buf_json(b, text, strlen(text));
    else
        rdn_buf_puts(b, "null");
}

static void json_layers(struct rdn_buf *b, uint32_t layers) {
    rdn_buf_puts(b, ",\"layers\":[");
    for (unsigned i = 0, n = 0; rdn_mech_text(i); i++)
        if (layers & 1u << i)
            rdn_buf_printf(b, "%s\"%s\"", n++ ? "," : "", rdn_mech_text(i));
    rdn_buf_putc(b, ']');
}

static void print_json(const struct order *o, const struct rdn_plugin_status *s, const char *answer, const char *tier) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_buf_printf(&b, "{\"schema\":1");
    json_text(&b, "file", o->spec.file);
    json_text(&b, "outcome", rdn_outcome_text(s->last));
    json_text(&b, "answer", answer);
    json_text(&b, "tier", tier);
    json_layers(&b, s->layers);
    rdn_buf_printf(&b, ",\"ready\":%s", s->lanes_ready ? "true" : "false");
    json_text(&b, "error", *s->error ? s->error : NULL);
    rdn_buf_puts(&b, ",\"violations\":[");
    for (uint32_t i = 0; i < s->nkept; i++) {
        rdn_buf_puts(&b, i ? ",{\"call\":" : "{\"call\":");
        rdn_buf_json(&b, s->kept[i].name, strlen(s->kept[i].name));
        json_text(&b, "place", *s->kept[i].place ? s->kept[i].place : NULL);
        json_text(&b, "hint", rdn_explain_hint(s->kept[i].name));
        rdn_buf_putc(&b, '}');
    }
    rdn_buf_puts(&b, "]}\n");
    fputs(rdn_buf_str(&b), stdout);
    rdn_buf_fini(&b);
}

/* --- running ---------------------------------------------------------------------------------------------------- */

/* A file that does not load is an outcome too: an endless loop at import is a timeout like any other. */
static bool load_outcome(const redan_error *e, struct rdn_plugin_status *s) {
    static const struct { const char *id; enum rdn_outcome out; } rows[] = {
        { "R4320", RDN_OUT_EXCEPTION }, { "R4302", RDN_OUT_EXCEPTION }, { "R4321", RDN_OUT_TIMEOUT }, { "R4322", RDN_OUT_MEMORY },
        { "R4306", RDN_OUT_DIED },
    };
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(e->id, rows[i].id)) {
            s->last = rows[i].out;
            snprintf(s->error, sizeof s->error, "%s", e->text);
            return true;
        }
    return false;
}

static int show(const struct order *o, const struct rdn_plugin_status *s, const char *answer, const char *tier) {
    if (o->json) {
        print_json(o, s, answer, tier);
    } else {
        if (o->nfiles > 1)
            printf("%s:\n", o->spec.file);
        print_plain(s, answer);
        if (o->tier)
            printf("tier %s\n", tier);
    }
    return answer && !strncmp(answer, "GOT:", 4);
}

static int call_once(const struct order *o, struct rdn_plugins *ps, const char *tier) {
    struct rdn_plugin *p;
    struct rdn_plugin_status *s = calloc(1, sizeof *s);
    redan_error e = { 0 };
    int rc = 2;
    if (!s)
        return fail("out of memory");
    if (rdn_plugin_open(ps, &o->spec, &p, &e) < 0) {
        rc = load_outcome(&e, s) ? show(o, s, NULL, tier) : fail_with(&e);
        free(s);
        return rc;
    }
    struct rdn_wire_value answer;
    enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &answer);
    char text[260] = "";
    if (out == RDN_OUT_VALUE)
        memcpy(text, answer.text.p, answer.text.n);
    rdn_plugin_settle(p, 0, INT64_C(3000000000));
    rdn_plugin_status(p, s);
    rc = show(o, s, out == RDN_OUT_VALUE ? text : NULL, tier);
    rdn_plugin_close(p);
    free(s);
    return rc;
}

static int run_try(int argc, char **argv) {
    struct order o = { .function = "attack", .opt = { .spin_off = true, .require_tier = RDN_TIER_MINIMAL } };
    struct rdn_plugins *ps;
    redan_error e = { 0 };
    split_preload(&o, numpy_installed() ? "ctypes,numpy" : "ctypes");
    if (!parse(&o, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if ((o.container && rdn_profile_container(!o.container_user, &e) < 0) || (o.lack && rdn_profile_lack(o.lack, &e) < 0))
        return fail_with(&e);
    o.spec.name = o.function;
    o.spec.preload = o.preload;
    o.spec.plain = true;
    o.spec.ret = (struct rdn_wire_type){ .kind = RDN_WIRE_TEXT, .size = 256 };
    if (rdn_plugins_open(&o.opt, &ps, &e) < 0)
        return fail_with(&e);
    int worst = 0;
    for (int i = 0; i < o.nfiles; i++) {
        o.spec.file = o.files[i];
        int rc = call_once(&o, ps, rdn_tier_text(rdn_plugins_tier(ps)));
        worst = rc > worst ? rc : worst;
        fflush(stdout);
    }
    rdn_plugins_close(ps);
    return worst;
}

/* What this machine offers, or the list a worker would get here. */
static int run_probe(bool explain, const char *call) {
    struct rdn_probe p;
    struct rdn_probe_wish w = { false, false };
    struct rdn_buf b;
    redan_error e = { 0 };
    if (rdn_probe_run(&w, &p, &e) < 0)
        return fail_with(&e);
    rdn_buf_init(&b, &rdn_libc_mem);
    enum rdn_policy_mode mode = p.bits & RDN_GOT_LISTENER ? RDN_POLICY_NOTIFY : RDN_POLICY_TRAP;
    bool known = true;
    if (call)
        known = rdn_explain_call(&b, call, mode);
    else if (explain)
        rdn_explain_policy(&b, p.bits, mode);
    else
        rdn_probe_print(&p, &b);
    fputs(rdn_buf_str(&b), stdout);
    rdn_buf_fini(&b);
    return known ? 0 : fail("explain: no system call of that name or number");
}

int cmd_sandbox(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "try"))
        return run_try(argc - 1, argv + 1);
    if (!strcmp(what, "probe") || !strcmp(what, "explain"))
        return argc > 3 || (argc > 2 && *what == 'p') ? fail("one name or number of a call at most") : run_probe(*what == 'e', argc > 2 ? argv[2] : NULL);
    fputs(usage, stderr);
    return 2;
}
