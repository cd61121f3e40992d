/* SPDX-License-Identifier: Apache-2.0
 * plugin_bench.c: `redan plugin bench`: calls in the real sandbox, timed from the host's side; arguments are the golden rows, round
 * and round. R4227 when the slower end (p99) is above half the deadline. */
#include "tools/plugin_tool.h"
#include "plugins/parts.h"
#include "base/clock.h"
#include <string.h>

enum { MAX_CALLS = 100000, MAX_SIZES = 8 };
struct benching { struct project *p; struct rdn_arena arena; struct rdn_golden *rows; uint32_t nrows, sizes[MAX_SIZES], nsizes, printed; uint64_t calls; int64_t *ns; };

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool read_sizes(struct benching *b) {
    const char *v = args_value(&b->p->args, "--rows");
    for (const char *s = v ? v : "1,16,256"; *s; s += *s == ',') {
        char *end;
        unsigned long x = strtoul(s, &end, 10);
        if (end == s || (*end && *end != ',') || x < 1 || x > RDN_MAX_ROWS || b->nsizes == MAX_SIZES)
            return usage("plugin bench: --rows %.40s: up to %d numbers from 1 to %d expected", v, MAX_SIZES, RDN_MAX_ROWS), false;
        b->sizes[b->nsizes++] = (uint32_t)x;
        s = end;
    }
    return true;
}

/* The golden rows of this function, repeated; zeros when it has none. */
static struct rdn_wire_value *arguments(struct benching *b, const struct rdn_wfunc *f, uint32_t fn, uint32_t n) {
    struct rdn_wire_value *v = rdn_new_n(&b->arena, struct rdn_wire_value, (size_t)n * (f->ncols + 1));
    uint32_t at = 0;
    for (uint32_t i = 0; v && i < n; i++)
        for (uint32_t tried = 0; tried < b->nrows; tried++, at++)
            if (b->rows[at % b->nrows].fn == fn) {
                memcpy(&v[(size_t)i * f->ncols], b->rows[at++ % b->nrows].args, sizeof *v * f->ncols);
                break;
            }
    return v;
}

static bool has_rows(const struct benching *b, uint32_t fn) {
    for (uint32_t i = 0; i < b->nrows; i++)
        if (b->rows[i].fn == fn)
            return true;
    return false;
}

static void print(struct benching *b, const struct rdn_plugin *w, const struct rdn_wfunc *f, uint32_t n, uint64_t k) {
    qsort(b->ns, k, sizeof *b->ns, by_value);
    double p50 = (double)b->ns[k / 2] / 1000, p99 = (double)b->ns[k * 99 / 100] / 1000;
    if (b->p->json)
        printf("%s{\"function\":\"%s\",\"rows\":%u,\"calls\":%llu,\"p50_us\":%.2f,\"p99_us\":%.2f,\"row_p50_ns\":%.1f,\"row_p99_ns\":%.1f}", b->printed++ ? "," : "", f->name, n,
               (unsigned long long)k, p50, p99, p50 * 1000 / n, p99 * 1000 / n);
    else
        printf("%-20s %5u rows  call %9.2f us p50 %9.2f us p99   row %9.1f ns p50 %9.1f ns p99   %llu calls\n", f->name, n, p50, p99, p50 * 1000 / n, p99 * 1000 / n,
               (unsigned long long)k);
    if (p99 * 1000 > (double)rdn_call_allowed(w, f) / 2) {
        const struct rdn_manifest_fn *m = rdn_pack_function(&b->p->pack, f->name);
        rdn_find(&b->p->report, "R4227", rdn_pack_find(&b->p->pack, RDN_PART_MANIFEST)->shown, m->line, m->col, "%s: %.1f us p99 for %u rows, the deadline is %.1f ms", f->name,
                 p99, n, (double)rdn_call_allowed(w, f) / 1e6);
    }
}

static void measure(struct benching *b, struct rdn_plugin *w, uint32_t fn, uint32_t n) {
    const struct rdn_wfunc *f = &w->fns[fn];
    struct rdn_wire_value *args = n <= f->max_rows ? arguments(b, f, fn, n) : NULL, *ret = rdn_new_n(&b->arena, struct rdn_wire_value, n);
    uint8_t *outs = rdn_arena_alloc(&b->arena, n);
    int64_t until = rdn_mono_ns() + 1000000000, t;
    uint64_t k = 0, lost = 0;
    for (uint64_t i = 0; args && ret && outs && k < b->calls && (t = rdn_mono_ns()) < until; i++) {
        enum rdn_outcome out = rdn_plugin_call_fn(w, fn, 0, args, f->ncols, n, 0, 0, ret, outs);
        int64_t took = rdn_mono_ns() - t;
        if (out == RDN_OUT_NOT_READY || out >= RDN_OUT_TRIPPED || out == RDN_OUT_TIMEOUT || out == RDN_OUT_DIED) {
            lost++;
            rdn_plugin_settle(w, 0, INT64_C(1000000000));
            if (lost > 2)
                break;
        } else if (i >= 16) {                            /* the first calls touch memory for the first time */
            b->ns[k++] = took;
        }
    }
    if (lost)
        rdn_find(&b->p->report, "R4227", b->p->path, 0, 0, "%s: %llu of the calls with %u rows were late or lost", f->name, (unsigned long long)lost, n);
    else if (k)
        print(b, w, f, n, k);
}

static void measure_all(struct benching *b, struct rdn_plugin *w) {
    const struct rdn_pack_file *file = rdn_pack_find(&b->p->pack, RDN_PART_ROWS);
    redan_error e = { 0 };
    if (file && rdn_rows_read(&b->arena, w->fns, w->nfns, file->shown, file->p, file->n, &b->rows, &b->nrows, &e) < 0)
        find_error(b->p, &e);
    for (uint32_t fn = 0; fn < w->nfns; fn++) {
        bool plain = true;                               /* zeros serve where there is no golden row, but not as rows of events */
        for (uint32_t i = 0; i < w->fns[fn].ncols; i++)
            plain = plain && w->fns[fn].params[i].type.kind < RDN_WIRE_EVENT;
        for (uint32_t i = 0; i < b->nsizes && (plain || has_rows(b, fn)); i++)
            measure(b, w, fn, b->sizes[i]);
    }
}

static int bench(struct benching *b) {
    struct project *p = b->p;
    struct rdn_plugin *w = NULL;
    struct rdn_plugin_status *s = calloc(1, sizeof *s);
    uint32_t index;
    if (!s || !project_start(p, false)) {
        free(s);
        return EXIT_FINDINGS;
    }
    for (uint32_t i = 0; i < p->pack.m.nfns && !w; i++)
        if (project_call(p, &p->pack.m.fns[i], &index))
            w = p->rs->plugins[index];
    if (p->json)
        printf("\"functions\":[");
    if (w)
        measure_all(b, w);
    if (p->json)
        printf("],");
    if (w) {
        rdn_plugin_status(w, s);
        double load = (double)s->load_ns / 1e6, peak = (double)s->peak_bytes / 1048576;
        if (p->json)
            printf("\"load_ms\":%.2f,\"peak_mib\":%.2f,\"mem_cap_mib\":%llu,\"tier\":\"%s\",", load, peak, (unsigned long long)(w->live->mem_cap >> 20), rdn_tier_text(rdn_plugins_tier(w->ps)));
        else
            printf("loading %.1f ms of %.0f (the interpreter's start in it); peak memory %.2f MiB of %llu; isolation %s\n", load, (double)w->load_ns / 1e6, peak,
                   (unsigned long long)(w->live->mem_cap >> 20), rdn_tier_text(rdn_plugins_tier(w->ps)));
    }
    free(s);
    return EXIT_GOOD;
}

int plugin_bench(int argc, char **argv) {
    static const struct opt opts[] = { { "--rows", OPT_VALUE, "" }, { "--rules", OPT_VALUE, "" }, { "--preload", OPT_VALUE, "" }, { "--calls", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    static struct project p;
    struct benching b = { .p = &p, .calls = 20000 };
    if (!project_open(&p, "redan.plugin.bench/1", argc, argv, opts, 1) || !read_sizes(&b) || !args_count(&p.args, "--calls", 1, &b.calls))
        return EXIT_USAGE;
    b.calls = b.calls < MAX_CALLS ? b.calls : MAX_CALLS;
    if (!project_load(&p) || !project_rules(&p, args_value(&p.args, "--rules")))
        return project_close(&p, EXIT_FINDINGS);
    rdn_arena_init(&b.arena, &rdn_libc_mem);
    b.ns = rdn_new_n(&b.arena, int64_t, b.calls);
    int rc = b.ns ? bench(&b) : EXIT_FINDINGS;
    rdn_arena_fini(&b.arena);
    return project_close(&p, rc);
}
