/* SPDX-License-Identifier: Apache-2.0
 * plugin_verb.c: `redan plugin VERB`: finds the verb; and what all of them share. */
#include "tools/plugin_tool.h"
#include "base/text.h"
#include <string.h>

static const struct { const char *name; int (*fn)(int, char **); const char *usage, *help; } verbs[] = {
#define SUBVERB(name, fn, usage, help) { name, fn, usage, help },
#include "tools/plugin_verbs.def"
#undef SUBVERB
};
enum { NVERBS = sizeof verbs / sizeof *verbs };

int cmd_plugin(int argc, char **argv) {
    const char *names[NVERBS], *what = argc > 1 ? argv[1] : "help";
    for (size_t i = 0; i < NVERBS; i++) {
        names[i] = verbs[i].name;
        if (strcmp(what, verbs[i].name) != 0)
            continue;
        if (argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
            printf("usage: redan plugin %s %s\n\n%s\n", what, verbs[i].usage, verbs[i].help);
            return EXIT_GOOD;
        }
        return verbs[i].fn(argc - 1, argv + 1);
    }
    if (strcmp(what, "help") == 0 || strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        for (size_t i = 0; i < NVERBS; i++)
            printf("  %-6s %s\n         %s\n", verbs[i].name, verbs[i].usage, verbs[i].help);
        return argc > 1 ? EXIT_GOOD : EXIT_USAGE;
    }
    int at = rdn_nearest(what, names, NVERBS);
    return at >= 0 ? usage("plugin: no verb '%.40s', did you mean '%s'?", what, names[at]) : usage("plugin: no verb '%.40s'", what);
}

/* ---- findings ---- */
static void on_finding(void *ctx, const struct rdn_finding *f) {
    struct project *p = ctx;
    struct rdn_buf *b = &p->lines;
    if (p->json) {
        rdn_buf_printf(b, "%s{\"code\":\"%s\",\"warning\":%s,\"file\":", p->nlines++ ? "," : "", f->code, f->warning ? "true" : "false");
        rdn_buf_json(b, f->file, strlen(f->file));
        rdn_buf_printf(b, ",\"line\":%u,\"col\":%u,\"text\":", f->line, f->col);
        rdn_buf_json(b, f->text, strlen(f->text));
        rdn_buf_putc(b, '}');
        return;
    }
    p->nlines++;
    if (f->line)
        rdn_buf_printf(b, "%s:%u:%u: ", f->file, f->line, f->col ? f->col : 1);
    else
        rdn_buf_printf(b, "%s: ", f->file);
    rdn_buf_printf(b, "%s %s%s\n", f->code, f->warning ? "warning: " : "", f->text);
}

void find_error(struct project *p, const redan_error *e) {
    const char *text = e->text[0] ? e->text : redan_strerror(e->code);
    rdn_find(&p->report, e->id[0] ? e->id : "R4302", e->where[0] ? e->where : p->path, e->line, e->column, "%s", text);
}

void project_member(struct project *p, const char *name, const char *json) {
    if (p->json)
        printf("\"%s\":%s,", name, json);
}

bool project_open(struct project *p, const char *schema, int argc, char **argv, const struct opt *opts, int most_words) {
    char verb[40];
    snprintf(verb, sizeof verb, "plugin %s", argv[0]);
    if (!args_read(&p->args, "plugin", argc, argv, opts) || !args_words(&p->args, 0, most_words))
        return false;
    p->json = args_flag(&p->args, "--json");
    p->schema = schema;
    p->path = p->args.nwords ? p->args.words[0] : ".";
    p->report = (struct rdn_report){ .take = on_finding, .ctx = p };
    rdn_buf_init(&p->lines, &rdn_libc_mem);
    if (p->json)
        printf("{\"schema\":\"%s\",", schema);
    return true;
}

int project_close(struct project *p, int rc) {
    redan_release(p->rs);
    redan_close(p->eng);
    rdn_pack_close(&p->pack);
    if (p->json) {
        printf("\"findings\":[%s],\"errors\":%u,\"warnings\":%u}\n", rdn_buf_str(&p->lines), p->report.errors, p->report.warnings);
    } else {
        fputs(rdn_buf_str(&p->lines), stdout);
        if (p->report.errors || p->report.warnings)
            printf("%u error%s, %u warning%s\n", p->report.errors, p->report.errors == 1 ? "" : "s", p->report.warnings, p->report.warnings == 1 ? "" : "s");
    }
    rdn_buf_fini(&p->lines);
    return p->report.errors && rc == EXIT_GOOD ? EXIT_FINDINGS : rc;
}

/* ---- the project ---- */
bool project_load(struct project *p) {
    redan_error e = { 0 };
    if (!rdn_pack_is(p->path)) {
        rdn_find(&p->report, "R4201", p->path, 0, 0, "not a folder with plugin.yaml and not a .rdb file");
        return false;
    }
    bool good = rdn_pack_open(&rdn_libc_mem, p->path, &p->pack, &p->report, &e) == 0;
    if (!good && !p->report.errors)                      /* memory */
        find_error(p, &e);
    return good;
}

/* "(eur: float) -> float" and "fraud_model(eur: float) -> float" are one signature. */
static const char *bare_signature(const struct rdn_manifest_fn *f) {
    size_t n = strlen(f->name);
    return strncmp(f->signature, f->name, n) == 0 && f->signature[n] == '(' ? f->signature + n : f->signature;
}

struct compiling { struct project *p; bool made; };
static void on_diag(void *ctx, const redan_diag *d) {
    struct compiling *c = ctx;
    struct project *p = c->p;
    const struct rdn_pack_file *yaml = rdn_pack_find(&p->pack, RDN_PART_MANIFEST);
    if (d->code[0] == 'W')
        return;
    if (!c->made) {
        rdn_find(&p->report, "R4222", p->rules_path, d->line, d->col, "the rules do not compile: %s %s", d->code, d->text);
    } else if (d->line >= 3 && d->line - 3 < p->pack.m.nfns) {
        const struct rdn_manifest_fn *f = &p->pack.m.fns[d->line - 3];
        bool taken = strncmp(d->code, "E030", 4) == 0 && strstr(d->text, f->name);
        rdn_find(&p->report, taken ? "R4212" : "R4221", yaml->shown, f->line, f->col, "%s: %s%s", f->name,
                 taken ? "the name is provided already: " : "the signature is not one of the rule language: ", d->text);
    }
}

static bool compile(struct project *p, const char *name, const char *text, size_t n, bool made) {
    redan_compilation c = REDAN_COMPILATION_INIT;
    struct compiling on = { p, made };
    redan_error e = { 0 };
    char dir[4096];
    if (!p->eng && !(p->eng = open_engine("interp", 1)))
        return false;
    size_t len = (size_t)(base_name(name) - name);
    snprintf(dir, sizeof dir, "%.*s", len ? (int)len : 1, len ? name : ".");
    c.ctx = &on;
    c.on_diag = on_diag;
    c.base_dir = dir;
    if (redan_compile(p->eng, base_name(name), text, n, &c, &p->rs, &e) == 0)
        return true;
    if (!p->report.errors)
        find_error(p, &e);
    return false;
}

bool project_manifest_rules(struct project *p) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_buf_puts(&b, "ruleset plugin version 1\n  undefined skip\n");
    for (uint32_t i = 0; i < p->pack.m.nfns; i++) {
        const struct rdn_manifest_fn *f = &p->pack.m.fns[i];
        if (strchr(f->signature, '\n'))
            rdn_find(&p->report, "R4221", rdn_pack_find(&p->pack, RDN_PART_MANIFEST)->shown, f->line, f->col, "%s: a signature is one line", f->name);
        rdn_buf_printf(&b, "plugin %s%s deadline %ums\n", f->name, bare_signature(f), p->pack.m.time_cap_ms);
    }
    bool good = !p->report.errors && compile(p, "plugin", rdn_buf_str(&b), b.n, true);
    rdn_buf_fini(&b);
    return good;
}

bool project_rules(struct project *p, const char *rules) {
    const struct rdn_pack_file *own = rdn_pack_find(&p->pack, RDN_PART_RULES);
    if (rules) {
        size_t n;
        char *text = read_file(rules, &n);
        p->rules_path = rules;
        bool good = text && compile(p, rules, text, n, false);
        if (!text)
            rdn_find(&p->report, "R4201", rules, 0, 0, "the rules are not readable");
        free(text);
        return good;
    }
    if (!own)
        return project_manifest_rules(p);
    snprintf(p->rules_buf, sizeof p->rules_buf, "%s", own->shown);
    p->rules_path = p->rules_buf;
    return compile(p, p->rules_path, own->p, own->n, false);
}

const struct rdn_call *project_call(const struct project *p, const struct rdn_manifest_fn *f, uint32_t *ret_index) {
    const struct rdn_ir *ir = p->rs->ir;
    for (uint32_t i = 0; i < ir->ncalls; i++)
        if (!ir->calls[i].kernel && strcmp(ir->calls[i].name, f->name) == 0) {
            if (ret_index)
                *ret_index = i;
            return &ir->calls[i];
        }
    return NULL;
}

void project_signature(struct rdn_buf *b, const struct rdn_ir *ir, const struct rdn_call *c) {
    rdn_buf_printf(b, "%s(", c->name);
    for (uint32_t i = 0; i < c->nparams; i++) {
        rdn_buf_printf(b, "%s%s: ", i ? ", " : "", c->params[i].name);
        if (c->params[i].type->kind == RDN_K_EVENT)
            rdn_buf_puts(b, ir->events[c->params[i].type->n].name);
        else
            rdn_type_print(b, c->params[i].type);
    }
    rdn_buf_puts(b, ") -> ");
    rdn_type_print(b, c->rtype);
}

bool project_start(struct project *p, bool tested) {
    static char list[1024];
    const char *modules[32], *given = args_value(&p->args, "--preload");
    uint32_t n = 0;
    redan_error e = { 0 };
    snprintf(list, sizeof list, "%s", given ? given : "");
    for (char *save, *s = strtok_r(list, ",", &save); s && n < 32; s = strtok_r(NULL, ",", &save))
        modules[n++] = s;
    for (uint32_t i = 0; i < p->pack.m.nfns; i++) {
        redan_plugin_options o = REDAN_PLUGIN_OPTIONS_INIT;
        o.name = p->pack.m.fns[i].name;
        o.file = p->path;
        o.preload = given ? modules : NULL;
        o.npreload = n;
        o.group = p->pack.m.group;                       /* it is alone here: there is no other group to be kept out of, */
        o.native_threads = p->pack.m.threads;            /* and nobody whose threads are fewer for it */
        o.flags = tested ? 0 : REDAN_PLUGIN_UNTESTED;
        if (project_call(p, &p->pack.m.fns[i], NULL) && redan_plugin(p->eng, &o, &e) < 0) {
            find_error(p, &e);
            return false;
        }
    }
    if (redan_activate(p->eng, p->rs, NULL, NULL, &e) == 0)
        return true;
    find_error(p, &e);
    return false;
}
