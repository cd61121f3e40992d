/* SPDX-License-Identifier: Apache-2.0
 * plugin_check.c: `redan plugin check`: manifest, signatures against the rules, the author's text, native files. Nothing of the
 * plugin is executed. */
#include "tools/plugin_check.h"
#include "plugins/elfcheck.h"
#include <string.h>

static void print_type(struct rdn_buf *b, const struct rdn_ir *ir, const struct rdn_type *t) {
    if (t->kind == RDN_K_EVENT)
        rdn_buf_puts(b, ir->events[t->n].name);
    else
        rdn_type_print(b, t);
}

/* Writes both types; false when they are one. */
static bool differ(const struct rdn_ir *x, const struct rdn_type *a, const struct rdn_ir *y, const struct rdn_type *b, char mine[64], char theirs[64]) {
    struct rdn_buf p, q;
    rdn_buf_init(&p, &rdn_libc_mem);
    rdn_buf_init(&q, &rdn_libc_mem);
    print_type(&p, x, a);
    print_type(&q, y, b);
    snprintf(mine, 64, "%.63s", rdn_buf_str(&p));
    snprintf(theirs, 64, "%.63s", rdn_buf_str(&q));
    rdn_buf_fini(&p);
    rdn_buf_fini(&q);
    return strcmp(mine, theirs) != 0;
}

struct side { struct project *p; const struct rdn_ir *mine, *rules; const char *manifest, *path; };

static void compare(const struct side *s, const struct rdn_manifest_fn *f, const struct rdn_call *m, const struct rdn_call *r) {
    char mine[64], theirs[64];
    if (m->nparams != r->nparams) {
        rdn_find(&s->p->report, "R4222", s->manifest, f->line, f->col, "%s takes %u parameters here, %u in %s", f->name, m->nparams, r->nparams, s->path);
        return;
    }
    for (uint32_t i = 0; i < m->nparams; i++)
        if (strcmp(m->params[i].name, r->params[i].name) != 0)
            rdn_find(&s->p->report, "R4222", s->manifest, f->line, f->col, "%s: parameter '%s' is '%s' in %s", f->name, m->params[i].name, r->params[i].name, s->path);
        else if (differ(s->mine, m->params[i].type, s->rules, r->params[i].type, mine, theirs))
            rdn_find(&s->p->report, "R4222", s->manifest, f->line, f->col, "%s: parameter '%s' is %s here, %s in %s", f->name, m->params[i].name, mine, theirs, s->path);
    if (differ(s->mine, m->rtype, s->rules, r->rtype, mine, theirs))
        rdn_find(&s->p->report, "R4222", s->manifest, f->line, f->col, "%s: the answer is %s here, %s in %s", f->name, mine, theirs, s->path);
}

static const struct rdn_call *call_named(const struct rdn_ir *ir, const char *name) {
    for (uint32_t i = 0; i < ir->ncalls; i++)
        if (!ir->calls[i].kernel && strcmp(ir->calls[i].name, name) == 0)
            return &ir->calls[i];
    return NULL;
}

/* Functions of the manifest against the rules that declare them. Signatures that name an event cannot be read without rules, so the
 * manifest's are compiled in the company of the rules' own text only when they name none. */
static void against_rules(struct side *s) {
    const struct rdn_manifest *m = &s->p->pack.m;
    uint32_t declared = 0;
    for (uint32_t i = 0; i < m->nfns; i++) {
        const struct rdn_call *r = call_named(s->rules, m->fns[i].name), *mine = s->mine ? call_named(s->mine, m->fns[i].name) : NULL;
        if (!r) {
            rdn_find_warning(&s->p->report, "R4211", s->manifest, m->fns[i].line, m->fns[i].col, "%s is not declared in %s", m->fns[i].name, s->path);
            continue;
        }
        declared++;
        if (mine)
            compare(s, &m->fns[i], mine, r);
        if (r->deadline_ns > (int64_t)m->time_cap_ms * 1000000)
            rdn_find(&s->p->report, "R4226", s->manifest, m->fns[i].line, m->fns[i].col, "%s: deadline %lld ms in %s is above limits.time_cap_ms %u", m->fns[i].name,
                     (long long)(r->deadline_ns / 1000000), s->path, m->time_cap_ms);
    }
    if (!declared)
        rdn_find(&s->p->report, "R4211", s->manifest, 0, 0, "%s declares none of the plugin's functions", s->path);
}

static bool names_event(const struct project *p) {
    for (uint32_t i = 0; i < p->rs->ir->ncalls; i++)
        for (uint32_t k = 0; k < p->rs->ir->calls[i].nparams; k++)
            if (p->rs->ir->calls[i].params[k].type->kind == RDN_K_EVENT)
                return true;
    return false;
}

/* Both sides compiled: first the manifest's own signatures, then the rules, which stay. */
static bool compile_both(struct project *p, const char *rules) {
    const struct rdn_pack_file *own = rdn_pack_find(&p->pack, RDN_PART_RULES);
    struct side s = { .p = p, .manifest = rdn_pack_find(&p->pack, RDN_PART_MANIFEST)->shown };
    if (!rules && !own)
        return project_rules(p, NULL);
    if (!project_rules(p, rules))
        return false;
    redan_ruleset *theirs = p->rs, *mine = NULL;
    const char *path = p->rules_path;
    s.rules = theirs->ir;
    s.path = base_name(path);
    if (!names_event(p)) {
        p->rs = NULL;
        project_manifest_rules(p);
        mine = p->rs;
        s.mine = mine ? mine->ir : NULL;
    }
    p->rs = theirs;
    p->rules_path = path;
    against_rules(&s);
    redan_release(mine);
    return !p->report.errors;
}

static void check_native(struct project *p) {
    const struct rdn_pack_file *f = rdn_pack_find(&p->pack, RDN_PART_ENTRY);
    const char *canons[64];
    struct rdn_elf_wish w = { .foreign = strcmp(p->pack.m.kind, "cfn") == 0, .canons = canons };
    for (; p->rs && w.ncanons < p->rs->ir->nevents && w.ncanons < 64; w.ncanons++)
        canons[w.ncanons] = p->rs->ir->events[w.ncanons].canon;
    rdn_elf_check(f->shown, f->p, f->n, &w, &p->report);
}

bool plugin_check_all(struct project *p, const char *rules) {
    if (!project_load(p))
        return false;
    bool compiled = compile_both(p, rules) || p->rs;
    if (rdn_pack_is_native(&p->pack))
        check_native(p);
    if (!compiled)
        return false;
    if (!rdn_pack_is_native(&p->pack))
        plugin_source_check(p);
    return !p->report.errors;
}

static int check_file(struct project *p) {
    size_t n;
    char *bytes = read_file(p->path, &n);
    struct rdn_elf_wish w = { 0 };
    if (!bytes)
        return project_close(p, EXIT_USAGE);
    rdn_elf_check(p->path, bytes, n, &w, &p->report);
    free(bytes);
    if (!p->json && !p->report.errors && !p->report.warnings)
        printf("%s: good\n", p->path);
    return project_close(p, EXIT_GOOD);
}

int plugin_check(int argc, char **argv) {
    static const struct opt opts[] = { { "--rules", OPT_VALUE, "" }, { "--preload", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    static struct project p;
    if (!project_open(&p, "redan.plugin.check/1", argc, argv, opts, 1))
        return EXIT_USAGE;
    size_t n = strlen(p.path);
    if (!rdn_pack_is(p.path) && n > 3 && strstr(p.path, ".so"))
        return check_file(&p);
    if (plugin_check_all(&p, args_value(&p.args, "--rules")) && !p.json)
        printf("%s %s: %u function%s, good\n", p.pack.m.id, p.pack.m.version, p.pack.m.nfns, p.pack.m.nfns == 1 ? "" : "s");
    return project_close(&p, EXIT_GOOD);
}
