/* SPDX-License-Identifier: Apache-2.0
 * plugin_call.c: `redan plugin call DIR FUNCTION ARG...`: one cold call in a confined worker. Arguments as in tests/rows.csv. */
#include "tools/plugin_tool.h"
#include "plugins/parts.h"
#include "base/clock.h"
#include <string.h>
#include <unistd.h>

struct calling { struct project *p; struct rdn_plugin *w; uint32_t fn; struct rdn_arena arena; struct rdn_wire_value args[16], ret; enum rdn_outcome out; };

static void print_signature(const struct rdn_ir *ir, const struct rdn_call *c) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    project_signature(&b, ir, c);
    puts(rdn_buf_str(&b));
    rdn_buf_fini(&b);
}

static int describe(struct project *p) {
    for (uint32_t i = 0; i < p->pack.m.nfns && !p->json; i++) {
        const struct rdn_call *c = project_call(p, &p->pack.m.fns[i], NULL);
        if (c)
            print_signature(p->rs->ir, c);
    }
    return EXIT_GOOD;
}

static bool read_args(struct calling *c) {
    const struct rdn_wfunc *f = &c->w->fns[c->fn];
    int given = c->p->args.nwords - 2;
    if (given != (int)f->ncols) {
        usage("plugin call: %s takes %u arguments, %d given", f->name, f->ncols, given);
        return false;
    }
    for (uint32_t i = 0; i < f->ncols; i++) {
        const char *s = c->p->args.words[i + 2];
        if (!rdn_wire_read(&c->arena, &f->params[i].type, s, strlen(s), &c->args[i])) {
            usage("plugin call: '%.60s' is no value for '%s'", s, f->params[i].name);
            return false;
        }
    }
    return true;
}

static int report(struct calling *c, int64_t ns) {
    struct rdn_plugin_status *s = calloc(1, sizeof *s);
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    if (c->out == RDN_OUT_VALUE)
        rdn_wire_print(&b, &c->w->fns[c->fn].ret, &c->ret);
    if (c->out > RDN_OUT_UNDEFINED && s) {
        rdn_plugin_settle(c->w, 0, INT64_C(3000000000));
        rdn_plugin_status(c->w, s);
        char code[8];
        snprintf(code, sizeof code, "R43%02u", (unsigned)c->out);
        rdn_find(&c->p->report, rdn_code_text(code) ? code : "R4302", c->p->path, 0, 0, "%s%s%s", rdn_outcome_text(c->out), *s->error ? ": " : "", s->error);
    }
    if (c->p->json) {
        printf("\"outcome\":\"%s\",\"ns\":%lld,\"answer\":", rdn_outcome_text(c->out), (long long)ns);
        struct rdn_buf j;
        rdn_buf_init(&j, &rdn_libc_mem);
        rdn_buf_json(&j, rdn_buf_str(&b), b.n);
        printf("%s,", c->out == RDN_OUT_VALUE ? rdn_buf_str(&j) : "null");
        rdn_buf_fini(&j);
    } else if (c->out <= RDN_OUT_UNDEFINED) {
        printf("%s\n", c->out == RDN_OUT_VALUE ? rdn_buf_str(&b) : "undefined");
    }
    rdn_buf_fini(&b);
    free(s);
    return c->out == RDN_OUT_TIMEOUT || c->out == RDN_OUT_KILLED ? EXIT_TIMEOUT : c->out > RDN_OUT_UNDEFINED ? EXIT_FINDINGS : EXIT_GOOD;
}

static int call(struct project *p, const struct rdn_manifest_fn *f) {
    struct calling c = { .p = p };
    uint32_t index;
    if (!project_call(p, f, &index))
        return usage("plugin call: the rules do not declare '%s'", f->name);
    if (!project_start(p, false))
        return EXIT_FINDINGS;
    c.w = p->rs->plugins[index];
    c.fn = p->rs->plugin_fns[index];
    rdn_arena_init(&c.arena, &rdn_libc_mem);
    int rc = EXIT_USAGE;
    if (read_args(&c)) {
        uint8_t row;
        int64_t t = rdn_mono_ns();
        c.out = rdn_plugin_call_fn(c.w, c.fn, 0, c.args, c.w->fns[c.fn].ncols, 1, 0, 0, &c.ret, &row);
        rc = report(&c, rdn_mono_ns() - t);
    }
    rdn_arena_fini(&c.arena);
    return rc;
}

/* FILE.so SYMBOL SIGNATURE ARG...: a plugin of kind cfn in a folder of its own for the length of the call. */
static bool make_folder(struct project *p, char dir[64]) {
    char path[128];
    size_t n;
    char *bytes = read_file(p->args.words[0], &n);
    snprintf(dir, 64, "/tmp/redan-call-XXXXXX");
    if (!bytes || !mkdtemp(dir)) {
        free(bytes);
        return false;
    }
    snprintf(path, sizeof path, "%s/lib.so", dir);
    FILE *lib = fopen(path, "wb");
    bool good = lib && fwrite(bytes, 1, n, lib) == n;
    if (lib)
        good &= fclose(lib) == 0;
    free(bytes);
    snprintf(path, sizeof path, "%s/plugin.yaml", dir);
    FILE *yaml = fopen(path, "w");
    const char *sig = strchr(p->args.words[2], '(');
    if (yaml) {
        fprintf(yaml, "schema: 1\nplugin: {id: redan.call, version: 0.0.0, kind: cfn, entry: lib.so}\nlimits: {time_cap_ms: 1000}\ncfn:\n  f:\n    symbol: %s\n    signature: >-\n      %s\n",
                p->args.words[1], sig ? sig : p->args.words[2]);
        good &= fclose(yaml) == 0;
    }
    return good && yaml;
}

static void remove_folder(const char *dir) {
    char path[128];
    snprintf(path, sizeof path, "%s/lib.so", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/plugin.yaml", dir);
    unlink(path);
    rmdir(dir);
}

static int call_symbol(struct project *p) {
    char dir[64];
    int rc = EXIT_FINDINGS;
    if (p->args.nwords < 3 || strpbrk(p->args.words[1], " \n:#{}[]\"'") || strchr(p->args.words[2], '\n'))
        return project_close(p, usage("plugin call: FILE.so SYMBOL '(a: float) -> float' ARG... expected"));
    if (!make_folder(p, dir))
        return project_close(p, usage("plugin call: %s cannot be copied to /tmp", p->args.words[0]));
    p->path = dir;
    if (project_load(p) && project_rules(p, NULL)) {
        memmove(&p->args.words[1], &p->args.words[2], sizeof *p->args.words * (size_t)(p->args.nwords - 2));       /* as for a folder: where, which, arguments */
        p->args.nwords--;
        rc = call(p, &p->pack.m.fns[0]);
    }
    rc = project_close(p, rc);
    remove_folder(dir);
    return rc;
}

int plugin_call(int argc, char **argv) {
    static const struct opt opts[] = { { "--rules", OPT_VALUE, "" }, { "--preload", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    static struct project p;
    if (!project_open(&p, "redan.plugin.call/1", argc, argv, opts, 20))
        return EXIT_USAGE;
    if (!rdn_pack_is(p.path) && strstr(p.path, ".so"))
        return call_symbol(&p);
    if (!project_load(&p) || !project_rules(&p, args_value(&p.args, "--rules")))
        return project_close(&p, EXIT_FINDINGS);
    if (p.args.nwords < 2)
        return project_close(&p, describe(&p));
    const struct rdn_manifest_fn *f = rdn_pack_function(&p.pack, p.args.words[1]);
    return project_close(&p, f ? call(&p, f) : usage("plugin call: %s has no function '%.60s'", p.pack.m.id, p.args.words[1]));
}
