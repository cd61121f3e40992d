/* SPDX-License-Identifier: Apache-2.0
 * jit_verb.c: `redan jit plan` and `redan jit dump`: what was chosen for each rule and why, and the machine code of it.
 *
 * --sample EVENTS plans by what clauses do on events of a file, as an engine does that has judged them.
 *
 * dump compiles into an arena of its own whose sink keeps the functions; objdump reads them when it is there. */
#include "tools/feed_in.h"
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "jit/jit.h"
#include "jit/sample.h"

/* ---- plan ---- */
/* The source text of a node on one line, at most `cap` - 1 bytes. */
static void node_text(const struct rdn_ir *ir, rdn_id id, char *ret, size_t cap) {
    struct rdn_span s = id ? ir->spans.v[ir->nodes.v[id].span] : (struct rdn_span){ 0, 0 };
    size_t n = 0;
    for (uint32_t i = s.a; i < s.b && i < ir->source_len && n + 1 < cap; i++) {
        char c = ir->source[i];
        bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (!blank || (n && ret[n - 1] != ' '))
            ret[n++] = blank ? ' ' : c;
    }
    ret[n] = 0;
}

static void plan_json(const struct rdn_ir *ir, const struct rdn_event *ev, const struct rdn_rule *r, const struct rdn_rule_plan *p) {
    char by[200];
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    node_text(ir, p->by, by, sizeof by);
    rdn_buf_printf(&b, "{\"schema\":\"redan.plan/1\",\"event\":\"%s\",\"rule\":\"%s\",\"technique\":\"%s\",\"by\":", ev->name, r->name, p->technique);
    rdn_buf_json(&b, by, strlen(by));
    rdn_buf_printf(&b, ",\"pass\":%.4f,\"ns\":%.2f}\n", p->pass, p->ns);
    out_buf(stdout, &b);
    rdn_buf_fini(&b);
}

/* The techniques in use, each with what it means. */
static void plan_legend(const struct rdn_program *p, uint32_t event, const struct rdn_event *ev) {
    const char *seen[16];
    uint32_t n = 0;
    for (uint32_t i = 0; i < ev->nrules; i++) {
        struct rdn_rule_plan rp;
        uint32_t k = 0;
        if (!rdn_program_rule_plan(p, event, i, &rp))
            return;
        while (k < n && strcmp(seen[k], rp.technique) != 0)
            k++;
        if (k < n || n == sizeof seen / sizeof *seen)
            continue;
        seen[n++] = rp.technique;
        printf("  %-8s %s\n", rp.technique, rp.doc);
    }
}

static void plan_event(const struct rdn_program *p, const struct rdn_ir *ir, uint32_t event, bool json) {
    const struct rdn_event *ev = &ir->events[event];
    if (!json)
        printf("%s: %u rule%s on %s\n  %-24s %-8s %6s %7s  %s\n", ev->name, ev->nrules, ev->nrules == 1 ? "" : "s", rdn_program_info(p)->backend,
               "rule", "how", "pass", "ns", "by");
    for (uint32_t i = 0; i < ev->nrules; i++) {
        const struct rdn_rule *r = &ir->rules[ev->rules[i]];
        struct rdn_rule_plan rp = { .technique = "interp", .pass = 1 };
        char by[72];
        rdn_program_rule_plan(p, event, i, &rp);
        node_text(ir, rp.by, by, sizeof by);
        if (json)
            plan_json(ir, ev, r, &rp);
        else if (by[0])
            printf("  %-24s %-8s %6.3f %7.1f  %s\n", r->name, rp.technique, rp.pass, rp.ns, by);
        else
            printf("  %-24s %-8s %6s %7.1f  -\n", r->name, rp.technique, "-", rp.ns);
    }
    if (json)
        return;
    printf("  %-24s %-8s %6s %7.1f\n", "all", "", "", rdn_program_event_ns(p, event));
    plan_legend(p, event, ev);
}

/* ---- dump ---- */
struct kept { char *name; uint8_t *code; uint32_t bytes; };
struct dump { const char *event; struct kept *v; uint32_t n; };

static void keep(void *ctx, const struct rdn_code_row *rows, uint32_t n) {
    struct dump *d = ctx;
    for (uint32_t i = 0; i < n; i++) {
        const char *slash = strchr(rows[i].name, '/'), *end = slash ? strchr(slash + 1, '/') : NULL;
        size_t len = end ? (size_t)(end - slash - 1) : 0;
        if (d->event && (len != strlen(d->event) || strncmp(slash + 1, d->event, len) != 0))
            continue;
        struct kept *v = realloc(d->v, (d->n + 1) * sizeof *v);
        if (!v)
            return;
        d->v = v;
        v[d->n] = (struct kept){ strdup(rows[i].name), malloc(rows[i].bytes), rows[i].bytes };
        if (v[d->n].code)
            memcpy(v[d->n].code, rows[i].code, rows[i].bytes);
        d->n++;
    }
}

#if defined __aarch64__
#define MACHINE "aarch64"
#else
#define MACHINE "i386:x86-64 --no-show-raw-insn"
#endif
/* objdump's listing of one function; false when there is no objdump, or it knows no such processor. */
static bool disassemble(const struct kept *k) {
    char path[] = "/tmp/redan-dump-XXXXXX", line[256];
    bool body = false;
    int fd = mkstemp(path);
    if (fd < 0)
        return false;
    if (write(fd, k->code, k->bytes) == (ssize_t)k->bytes) {
        snprintf(line, sizeof line, "objdump -D -b binary -m " MACHINE " %s 2> /dev/null", path);
        FILE *f = popen(line, "r");
        while (f && fgets(line, sizeof line, f))
            if (body)
                fputs(line, stdout);
            else
                body = strstr(line, "<.data>:") != NULL;     /* behind what objdump says of the file */
        if (f)
            pclose(f);
    }
    close(fd);
    unlink(path);
    return body;
}

static void print_dump(struct dump *d) {
    bool readable = true;
    for (uint32_t i = 0; i < d->n; i++) {
        struct kept *k = &d->v[i];
        if (k->name && k->code) {
            printf("%s: %u bytes\n", k->name, k->bytes);
            readable = readable && disassemble(k);
        }
        free(k->name);
        free(k->code);
    }
    if (!readable)
        printf("code is not listed: no objdump\n");
    free(d->v);
}

/* ---- samples ---- */
/* Of each type RDN_SAMPLE_MAX events, each with the same chance. */
static bool read_samples(const struct args *a, const char *path, redan_engine *e, const struct rdn_ir *ir, struct rdn_arena *mem, struct rdn_sampled *ret) {
    static struct rdn_line l;
    struct feed f;
    uint64_t *seen = rdn_new_n(mem, uint64_t, ir->nevents + 1), rnd = 0;
    if (!feed_open(&f, a, path, e->syms) || !feed_rules(&f, ir)) {
        feed_close(&f);
        return false;
    }
    while (feed_fetch(&f)) {
        feed_read(&f, &l);
        if (l.kind != RDN_LINE_EVENT)
            continue;
        struct rdn_sampled *s = &ret[l.index];
        size_t size = ir->events[l.index].size;
        uint64_t at = seen[l.index]++;
        if (!s->rows)
            *s = (struct rdn_sampled){ 0, size, rdn_arena_alloc(mem, RDN_SAMPLE_MAX * size), rdn_new_n(mem, int64_t, RDN_SAMPLE_MAX) };
        at = at < RDN_SAMPLE_MAX ? at : rdn_mix64(rnd++) % seen[l.index];
        if (at >= RDN_SAMPLE_MAX)
            continue;
        s->n += s->n < RDN_SAMPLE_MAX;
        memcpy(s->rows + at * size, l.row, size);
        memcpy(&s->now[at], l.row, 8);
    }
    bool good = !f.failed;
    feed_close(&f);
    return good;
}

/* ---- both ---- */
static int32_t find_event(const struct rdn_ir *ir, const char *name) {
    for (uint32_t e = 0; e < ir->nevents; e++)
        if (strcmp(ir->events[e].name, name) == 0)
            return (int32_t)e;
    return -1;
}

static int show_plans(const struct args *a, const struct rdn_ir *ir, const struct rdn_sampled *sampled, bool dump, int32_t only) {
    struct dump d = { .event = only >= 0 ? ir->events[only].name : NULL };
    struct rdn_jit_options o = { .arena_bytes = (size_t)64 << 20, .selfcheck_us = 500, .nsinks = dump, .sinks = { { &d, keep, NULL } } };
    const char *backend = args_value(a, "--backend");
    struct rdn_program *p = NULL;
    struct rdn_jit *jit = NULL;
    redan_error err = { 0 };
    int rc = rdn_jit_open(&o, &rdn_libc_mem, &jit, &err);
    if (rc == 0)
        rc = rdn_program_open_sampled(jit, ir, backend ? backend : "auto", sampled, &rdn_libc_mem, &p, &err);
    if (rc < 0)
        print_error(&err);
    for (uint32_t e = 0; rc == 0 && e < ir->nevents; e++)
        if ((only < 0 || only == (int32_t)e) && ir->events[e].nrules)
            plan_event(p, ir, e, args_flag(a, "--json"));
    if (dump)
        print_dump(&d);
    rdn_program_close(p);
    rdn_jit_close(jit);
    return rc < 0 ? EXIT_USAGE : EXIT_GOOD;
}

static int show(const struct args *a, redan_engine *e, const struct rdn_ir *ir, bool dump, int32_t only) {
    jmp_buf oom;
    struct rdn_arena mem;
    const char *log = args_value(a, "--sample");
    rdn_arena_init(&mem, &rdn_libc_mem);
    mem.oom = &oom;
    if (setjmp(oom)) {
        rdn_arena_fini(&mem);
        return usage("jit: no memory"), EXIT_USAGE;
    }
    struct rdn_sampled *sampled = log ? rdn_new_n(&mem, struct rdn_sampled, ir->nevents + 1) : NULL;
    if (sampled && !read_samples(a, log, e, ir, &mem, sampled)) {
        rdn_arena_fini(&mem);
        return EXIT_USAGE;
    }
    int rc = show_plans(a, ir, sampled, dump, only);
    rdn_arena_fini(&mem);
    return rc;
}

int cmd_jit(int argc, char **argv) {
    static const struct opt opts[] = { { "--event", OPT_VALUE, "" }, { "--backend", OPT_VALUE, "" }, { "--sample", OPT_VALUE, "" },
                                       { "--format", OPT_VALUE, "" }, { "--map", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    struct args a;
    int rc;
    if (!args_read(&a, "jit", argc, argv, opts) || !args_words(&a, 2, 2))
        return EXIT_USAGE;
    bool dump = strcmp(a.words[0], "dump") == 0;
    if (!dump && strcmp(a.words[0], "plan") != 0)
        return usage("jit: 'plan' or 'dump', not '%.40s'", a.words[0]);
    redan_engine *e = open_engine("interp", 1);
    redan_ruleset *rs = e ? load_rules(e, &a, a.words[1], DIAG_FULL, false, &rc) : NULL;
    const char *name = args_value(&a, "--event");
    int32_t only = rs && name ? find_event(rs->ir, name) : -1;
    if (!e)
        rc = EXIT_USAGE;
    else if (rs && name && only < 0)
        rc = usage("jit: no event '%.40s' in %s", name, base_name(a.words[1]));
    else if (rs)
        rc = show(&a, e, rs->ir, dump, only);
    redan_release(rs);
    redan_close(e);
    return rc;
}
