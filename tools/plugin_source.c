/* SPDX-License-Identifier: Apache-2.0
 * plugin_source.c: the author's text is checked by a plugin of ours in its own language (plugins/check_source.py, check_source.lua) in a
 * confined worker: a hostile file can at worst end that worker. */
#include "tools/plugin_tool.h"
#include <ctype.h>
#include <source_check_text.h>
#include <string.h>

enum { MAX_FINDINGS = 500 };

static void put_text(struct rdn_buf *b, const char *s) { rdn_buf_json(b, s, strlen(s)); }

static void put_type(struct rdn_buf *b, const struct rdn_ir *ir, const struct rdn_type *t) {
    struct rdn_buf text;
    rdn_buf_init(&text, &rdn_libc_mem);
    if (t->kind == RDN_K_EVENT)
        rdn_buf_puts(&text, ir->events[t->n].name);
    else
        rdn_type_print(&text, t);
    rdn_buf_json(b, rdn_buf_str(&text), text.n);
    rdn_buf_fini(&text);
}

static void put_function(struct rdn_buf *b, const struct project *p, const struct rdn_manifest_fn *f, const char *where) {
    const struct rdn_call *c = project_call(p, f, NULL);
    if (!c)
        return;
    put_text(b, f->name);
    rdn_buf_puts(b, ":{\"params\":[");
    for (uint32_t i = 0; i < c->nparams; i++) {
        rdn_buf_puts(b, i ? ",[" : "[");
        put_text(b, c->params[i].name);
        rdn_buf_putc(b, ',');
        put_type(b, p->rs->ir, c->params[i].type);
        rdn_buf_putc(b, ']');
    }
    rdn_buf_puts(b, "],\"ret\":");
    put_type(b, p->rs->ir, c->rtype);
    rdn_buf_printf(b, ",\"batch\":%s,\"where\":", f->batch ? "true" : "null");
    put_text(b, where);
    rdn_buf_putc(b, '}');
}

static void put_events(struct rdn_buf *b, const struct rdn_ir *ir) {
    for (uint32_t e = 0; e < ir->nevents; e++) {
        rdn_buf_puts(b, e ? "," : "");
        put_text(b, ir->events[e].name);
        rdn_buf_puts(b, ":[");
        for (uint32_t i = 0; i < ir->events[e].nfields; i++) {
            const struct rdn_field *f = &ir->events[e].fields[i];
            struct rdn_buf type;
            rdn_buf_init(&type, &rdn_libc_mem);
            rdn_type_print(&type, f->type);
            rdn_buf_puts(b, i ? ",[" : "[");
            put_text(b, f->name);
            rdn_buf_printf(b, ",\"%s%s\",%u]", rdn_buf_str(&type), f->optional ? "?" : "", f->offset);
            rdn_buf_fini(&type);
        }
        rdn_buf_putc(b, ']');
    }
}

static void put_spec(struct rdn_buf *b, const struct project *p, bool quick) {
    const struct rdn_manifest *m = &p->pack.m;
    bool first = true;
    rdn_buf_printf(b, "{\"quick\":%s,\"functions\":{", quick ? "true" : "false");
    for (uint32_t i = 0; i < m->nfns; i++) {
        if (!project_call(p, &m->fns[i], NULL))
            continue;
        rdn_buf_puts(b, first ? "" : ",");
        put_function(b, p, &m->fns[i], p->rules_path ? base_name(p->rules_path) : "plugin.yaml");
        first = false;
    }
    rdn_buf_puts(b, "},\"events\":{");
    put_events(b, p->rs->ir);
    rdn_buf_puts(b, "},\"config\":[");
    for (uint32_t i = 0; i < m->nconfig; i++)
        rdn_buf_printf(b, "%s[\"%s\",%u,%u]", i ? "," : "", m->config[i].name, m->config[i].line, m->config[i].col);
    rdn_buf_puts(b, "],\"modules\":[");
    for (uint32_t i = 0; i < m->modules.n; i++)
        rdn_buf_printf(b, "%s\"%.*s\"", i ? "," : "", (int)strcspn(m->modules.items[i], "."), m->modules.items[i]);
    /* NumPy is what workers have when it is installed; importing it here would take longer than all the rest. */
    bool numpy = !args_value(&p->args, "--preload") && rdn_numpy_installed();
    rdn_buf_puts(b, numpy ? "],\"present\":[\"numpy\"],\"requires\":[" : "],\"present\":[],\"requires\":[");
    for (uint32_t i = 0; i < m->requires.n; i++) {
        rdn_buf_puts(b, i ? "," : "");
        put_text(b, m->requires.items[i]);
    }
    rdn_buf_printf(b, "],\"requires_at\":[%u,%u],\"group\":", m->requires.line, m->requires.col);
    put_text(b, m->group);
    rdn_buf_puts(b, ",\"manifest\":");
    put_text(b, rdn_pack_find(&p->pack, RDN_PART_MANIFEST)->shown);
    rdn_buf_puts(b, ",\"sources\":[");
    bool more = false;
    for (uint32_t i = 0; i < p->pack.nfiles; i++)
        if (p->pack.files[i].part == RDN_PART_ENTRY || p->pack.files[i].part == RDN_PART_MODULE) {
            rdn_buf_puts(b, more ? "," : "");
            put_text(b, p->pack.files[i].shown);
            more = true;
        }
    rdn_buf_puts(b, "]}");
}

/* For Lua: an item a line, as check_source.lua says. */
static void put_lines(struct rdn_buf *b, const struct project *p) {
    const struct rdn_manifest *m = &p->pack.m;
    for (uint32_t i = 0; i < m->nfns; i++) {
        const struct rdn_call *c = project_call(p, &m->fns[i], NULL);
        if (!c)
            continue;
        rdn_buf_printf(b, "fn %s %s %u %u ", m->fns[i].name, m->fns[i].batch ? "true" : "false", m->fns[i].line, m->fns[i].col);
        project_signature(b, p->rs->ir, c);
        rdn_buf_putc(b, '\n');
    }
    for (uint32_t i = 0; i < m->nconfig; i++)
        rdn_buf_printf(b, "config %s %u %u\n", m->config[i].name, m->config[i].line, m->config[i].col);
    for (uint32_t i = 0; i < m->modules.n; i++)
        rdn_buf_printf(b, "module %.*s\n", (int)strcspn(m->modules.items[i], "."), m->modules.items[i]);
    rdn_buf_printf(b, "manifest %s\nwhere %s\n", rdn_pack_find(&p->pack, RDN_PART_MANIFEST)->shown, p->rules_path ? base_name(p->rules_path) : "plugin.yaml");
    for (uint32_t i = 0; i < p->pack.nfiles; i++)
        if (p->pack.files[i].part == RDN_PART_ENTRY || p->pack.files[i].part == RDN_PART_MODULE)
            rdn_buf_printf(b, "source %s\n", p->pack.files[i].shown);
}

/* "E R4222 fraud/score.py 7 1 text": the path has no space that matters, because numbers follow it from the right. */
static void take_finding(struct project *p, char *line) {
    char code[8] = "", *q = line + 8;
    if (strlen(line) < 12 || (line[0] != 'E' && line[0] != 'W'))
        return;
    memcpy(code, line + 2, 5);
    for (; (q = strchr(q, ' ')); q++) {
        unsigned at = 0, col = 0;
        int used = 0;
        if (sscanf(q, " %u %u %n", &at, &col, &used) < 2 || !used)
            continue;
        *q = 0;
        if (line[0] == 'E')
            rdn_find(&p->report, rdn_code_text(code) ? code : "R4201", line + 8, at, col, "%s", q + used);
        else
            rdn_find_warning(&p->report, rdn_code_text(code) ? code : "R4201", line + 8, at, col, "%s", q + used);
        return;
    }
}

/* False: a quick check could not tell. */
static bool take_all(struct project *p, struct rdn_plugin *w) {
    for (int i = 0; i < MAX_FINDINGS; i++) {
        struct rdn_wire_value v;
        char line[300];
        if (rdn_plugin_call(w, 0, NULL, 0, 0, 0, &v) != RDN_OUT_VALUE || !v.text.n)
            return true;
        snprintf(line, sizeof line, "%.*s", (int)v.text.n, v.text.p);
        if (!strcmp(line, "full"))
            return false;
        take_finding(p, line);
    }
    return true;
}

static void fill_pack(struct rdn_pack *k, const struct project *p, const struct rdn_buf *spec, char (*names)[8]) {
    uint32_t n = 0;
    bool lua = !strcmp(p->pack.m.kind, "lua");
    const char *name = lua ? "check_source.lua" : "check_source.py", *text = lua ? lua_check_text : source_check_text;
    k->m = (struct rdn_manifest){ .kind = p->pack.m.kind, .group = "check", .instances = "per-lane", .state = "none", .trust = "worker",
                                  .mem_cap_mib = 256, .time_cap_ms = 1000, .max_rows = 1 };
    k->bare = true;
    k->files[k->nfiles++] = (struct rdn_pack_file){ RDN_PART_ENTRY, name, name, text, strlen(text) };
    k->files[k->nfiles++] = (struct rdn_pack_file){ RDN_PART_DATA, "spec", "spec", spec->p, spec->n };
    k->m.data[k->m.ndata++] = (struct rdn_manifest_pair){ .name = "spec", .value = "spec" };
    for (uint32_t i = 0; i < p->pack.nfiles; i++) {
        const struct rdn_pack_file *f = &p->pack.files[i];
        if (f->part != RDN_PART_ENTRY && f->part != RDN_PART_MODULE)
            continue;
        snprintf(names[n], sizeof names[n], "%u", n);
        k->files[k->nfiles++] = (struct rdn_pack_file){ RDN_PART_DATA, names[n], f->shown, f->p, f->n };
        k->m.data[k->m.ndata++] = (struct rdn_manifest_pair){ .name = names[n], .value = names[n] };
        n++;
    }
}

static bool word_in(const char *p, size_t n, const char *word) {
    size_t len = strlen(word);
    for (const char *q = p; (q = memmem(q, n - (size_t)(q - p), word, len)); q++)
        if ((q == p || !(isalnum((unsigned char)q[-1]) || q[-1] == '_')) && (q + len == p + n || !(isalnum((unsigned char)q[len]) || q[len] == '_')))
            return true;
    return false;
}

static bool mentions(const struct project *p, const char *word) {
    for (uint32_t i = 0; i < p->pack.nfiles; i++) {
        const struct rdn_pack_file *f = &p->pack.files[i];
        if ((f->part == RDN_PART_ENTRY || f->part == RDN_PART_MODULE) && word_in(f->p, f->n, word))
            return true;
    }
    return false;
}

enum ended { CHECKED, UNSURE, SKIPPED };
/* quick: hardly a module is imported and no namespaces are made, which takes a third of the time. The filter stands all the same, and what runs
 * is our text: it parses the author's. */
static enum ended check_once(struct project *p, bool quick) {
    static struct rdn_pack k;
    static char names[RDN_BUNDLE_FILES][8], list[1024];
    const char *given = args_value(&p->args, "--preload"), *preload[36] = { "--", "_ast", "re" };       /* re: where a source has patterns to look at */
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .no_ns = quick, .no_userns = quick };
    struct rdn_plugins *ps = NULL;
    struct rdn_plugin *w = NULL;
    struct rdn_buf spec;
    redan_error e = { 0 };
    uint32_t n = 2 + (!quick || mentions(p, "re"));
    snprintf(list, sizeof list, "%s", given ? given : "");
    for (char *save, *s = strtok_r(list, ",", &save); s && n < 36; s = strtok_r(NULL, ",", &save))
        preload[n++] = s;
    rdn_buf_init(&spec, &rdn_libc_mem);
    if (!strcmp(p->pack.m.kind, "lua"))
        put_lines(&spec, p);
    else
        put_spec(&spec, p, quick);
    memset(&k, 0, sizeof k);
    fill_pack(&k, p, &spec, names);
    struct rdn_plugin_spec s = { .name = "finding", .file = "check_source.py", .group = "check", .pack = &k, .plain = true, .load_cap_ms = 5000,
                                 .preload = preload + !quick, .npreload = n - !quick, .time_cap_ns = INT64_C(1000000000), .mem_cap_mib = 256,
                                 .ret = { .kind = RDN_WIRE_TEXT, .size = 256 } };
    int rc = rdn_plugins_open(&o, &ps, &e);
    if (rc == 0)
        rc = rdn_plugin_open(ps, &s, &w, &e);
    bool sure = rc == 0 && take_all(p, w);
    if (rc < 0)
        fprintf(stderr, "redan: sources are not checked: %s %s\n", e.id, e.text);
    rdn_plugin_close(w);
    rdn_plugins_close(ps);
    rdn_buf_fini(&spec);
    return rc < 0 ? SKIPPED : sure ? CHECKED : UNSURE;
}

int plugin_source_check(struct project *p) {
    bool quick = !args_value(&p->args, "--preload");     /* what an operator adds may import anything */
    enum ended how = check_once(p, quick);
    if (how == UNSURE)
        how = check_once(p, false);
    return how == SKIPPED;
}
