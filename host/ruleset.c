/* SPDX-License-Identifier: Apache-2.0
 * ruleset.c: from text to an immutable, runnable rule set. [any]; nothing here is seen by a lane before redan_activate. */
#include "dsl/dsl.h"
#include "host/host.h"
#include <stdlib.h>
#include <string.h>

void rdn_ruleset_ref(struct redan_ruleset *rs) { atomic_fetch_add_explicit(&rs->refs, 1, memory_order_relaxed); }

void rdn_ruleset_unref(struct redan_ruleset *rs) {
    if (atomic_fetch_sub_explicit(&rs->refs, 1, memory_order_acq_rel) != 1)
        return;
    const struct rdn_ir *ir = rs->ir;
    rdn_program_close(rs->prog);
    for (uint32_t i = 0; rs->lists && i < ir->nlists; i++)
        rdn_listset_close(rs->lists[i]);
    for (uint32_t i = 0; rs->tables && i < ir->ntables; i++)
        rdn_tab_close(rs->tables[i]);
    for (uint32_t i = 0; rs->cals && i < ir->ncals; i++)
        rdn_cal_close(rs->cals[i]);
    struct redan_engine *e = rs->eng;
    rdn_arena_fini(&rs->arena);
    rdn_free(&e->mem, rs, sizeof *rs);
}

static void report(const redan_compilation *c, const struct rdn_dsl_result *r) {
    for (uint32_t i = 0; c && c->on_diag && i < r->ndiags; i++) {
        const struct rdn_dsl_diag *d = &r->diags[i];
        redan_diag out = { .size = sizeof out, .line = d->line, .col = d->col, .end_line = d->end_line, .end_col = d->end_col,
                           .text = d->text, .hint = d->hint };
        memcpy(out.code, d->code, sizeof out.code);
        c->on_diag(c->ctx, &out);
    }
}

static int open_data(struct redan_ruleset *rs) {
    const struct rdn_ir *ir = rs->ir;
    const struct rdn_mem *mem = &rs->eng->mem;
    rs->lists = rdn_new_n(&rs->arena, struct rdn_listset *, ir->nlists + 1);
    rs->tables = rdn_new_n(&rs->arena, struct rdn_tab *, ir->ntables + 1);
    rs->cals = rdn_new_n(&rs->arena, struct rdn_cal *, ir->ncals + 1);
    rs->plugins = rdn_new_n(&rs->arena, struct rdn_plugin *, ir->ncalls + 1);
    rs->plugin_fns = rdn_new_n(&rs->arena, uint8_t, ir->ncalls + 1);
    if (!rs->lists || !rs->tables || !rs->cals || !rs->plugins || !rs->plugin_fns)
        return REDAN_E_NOMEM;
    int rc = 0;
    for (uint32_t i = 0; i < ir->nlists && rc == 0; i++)
        rc = rdn_listset_open(&ir->lists[i], mem, &rs->lists[i]);
    for (uint32_t i = 0; i < ir->ntables && rc == 0; i++)
        if (!ir->tables[i].host)
            rc = rdn_tab_open(&ir->tables[i], mem, &rs->tables[i]);
    for (uint32_t i = 0; i < ir->ncals && rc == 0; i++)
        rc = rdn_cal_open(&ir->cals[i], ir->lists, mem, &rs->cals[i]);
    return rc;
}

/* What one rule can add to a verdict. */
static void count_rule(struct redan_ruleset *rs, const struct rdn_rule *r, struct rdn_rule_info *info, struct rdn_event_info *ev) {
    const struct rdn_ir *ir = rs->ir;
    info->points = rs->npoints;
    info->known = true;
    for (uint32_t k = 0; k <= r->nacts; k++) {
        const struct rdn_action *a = k < r->nacts ? &r->acts[k] : r->undef;
        if (!a || a->verb == RDN_V_SKIP)
            continue;
        info->known &= a->verb != RDN_V_SCORE || (k < r->nacts && ir->nodes.v[a->points].op == RDN_OP_CONST);
        info->scores |= a->verb == RDN_V_SCORE;
        if (a->verb == RDN_V_EMIT) {
            ev->max_emits++;
            ev->max_values += a->nfields;
        } else {
            ev->max_codes++;
        }
    }
    rs->npoints += info->scores ? r->nacts + 1 : 0;
    ev->has_late |= r->late;
}

static int count_all(struct redan_ruleset *rs) {
    const struct rdn_ir *ir = rs->ir;
    rs->rules = rdn_new_n(&rs->arena, struct rdn_rule_info, ir->nrules + 1);
    rs->events = rdn_new_n(&rs->arena, struct rdn_event_info, ir->nevents + 1);
    if (!rs->rules || !rs->events)
        return REDAN_E_NOMEM;
    for (uint32_t i = 0; i < ir->nevents; i++) {
        const struct rdn_event *e = &ir->events[i];
        struct rdn_event_info *info = &rs->events[i];
        info->scorers = rdn_new_n(&rs->arena, uint64_t, e->nrules / 64 + 1);
        info->none_scorers = rdn_new_n(&rs->arena, uint64_t, e->nrules / 64 + 1);
        if (!info->scorers || !info->none_scorers)
            return REDAN_E_NOMEM;
        for (uint32_t k = 0; k < e->nrules; k++) {
            count_rule(rs, &ir->rules[e->rules[k]], &rs->rules[e->rules[k]], info);
            if (rs->rules[e->rules[k]].scores)
                info->scorers[k / 64] |= (uint64_t)1 << k % 64;
            if (ir->rules[e->rules[k]].undef && ir->rules[e->rules[k]].undef->verb == RDN_V_SCORE)
                info->none_scorers[k / 64] |= (uint64_t)1 << k % 64;
            info->scores |= rs->rules[e->rules[k]].scores;
        }
        rs->max_codes = info->max_codes > rs->max_codes ? info->max_codes : rs->max_codes;
        rs->max_emits = info->max_emits > rs->max_emits ? info->max_emits : rs->max_emits;
        rs->max_values = info->max_values > rs->max_values ? info->max_values : rs->max_values;
    }
    rs->may_wait = ir->ncalls > 0;
    return 0;
}

static int by_hash(const void *a, const void *b) {
    const struct rdn_hash_row *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->window < y->window ? -1 : x->window > y->window;
}

static int index_hashes(struct redan_ruleset *rs) {
    uint32_t n = rs->ir->nwindows;
    rs->by_hash = rdn_new_n(&rs->arena, struct rdn_hash_row, n + 1);
    if (!rs->by_hash)
        return REDAN_E_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        rs->by_hash[i] = (struct rdn_hash_row){ rs->ir->windows[i].hash, i };
    if (n > 1)
        qsort(rs->by_hash, n, sizeof *rs->by_hash, by_hash);
    return 0;
}

static int by_name(const void *a, const void *b) { return strcmp(((const struct rdn_name_row *)a)->name, ((const struct rdn_name_row *)b)->name); }

uint32_t rdn_name_find(const struct rdn_name_row *rows, uint32_t n, const char *name) {
    uint32_t lo = 0;
    while (lo < n) {
        uint32_t mid = lo + (n - lo) / 2;
        int c = strcmp(rows[mid].name, name);
        if (c == 0)
            return rows[mid].at;
        if (c < 0)
            lo = mid + 1;
        else
            n = mid;
    }
    return UINT32_MAX;
}

static int index_names(struct redan_ruleset *rs) {
    const struct rdn_ir *ir = rs->ir;
    rs->params = rdn_new_n(&rs->arena, struct rdn_name_row, ir->nparams + 1);
    rs->calls = rdn_new_n(&rs->arena, struct rdn_name_row, ir->ncalls + 1);
    rs->host_tables = rdn_new_n(&rs->arena, struct rdn_name_row, ir->ntables + 1);
    if (!rs->params || !rs->calls || !rs->host_tables)
        return REDAN_E_NOMEM;
    for (uint32_t i = 0; i < ir->nparams; i++)
        rs->params[i] = (struct rdn_name_row){ ir->params[i].name, i };
    for (uint32_t i = 0; i < ir->ncalls; i++)
        rs->calls[i] = (struct rdn_name_row){ ir->calls[i].name, i };
    for (uint32_t i = 0; i < ir->ntables; i++)
        if (ir->tables[i].host)
            rs->host_tables[rs->nhost_tables++] = (struct rdn_name_row){ ir->tables[i].name, i };
    qsort(rs->params, ir->nparams, sizeof *rs->params, by_name);
    qsort(rs->calls, ir->ncalls, sizeof *rs->calls, by_name);
    qsort(rs->host_tables, rs->nhost_tables, sizeof *rs->host_tables, by_name);
    return 0;
}

/* The limits of LANGUAGE.md chapter 15 bound each declaration, and thousands of them multiply: a hostile file ends here, with NOMEM,
 * and not where the machine's memory does. The bound holds for what the rule set keeps and for the passes' working memory each;
 * 10,000 rules of four clauses keep 10 MiB. */
#define RULESET_BYTES_MAX ((size_t)2 << 30)

static int read_text(struct redan_ruleset *rs, const char *name, const char *text, size_t len, const redan_compilation *c, redan_error *reterr) {
    struct rdn_dsl_options opt = { .file = name, .base_dir = c ? c->base_dir : NULL };
    struct rdn_dsl_result res = { 0 };
    redan_error first = { 0 };
    int rc = rdn_dsl_compile(&rs->arena, rs->eng->syms, text, len, &opt, &res, &first);
    if (rc == 0)
        report(c, &res);
    if (rc == 0 && !res.ir)
        rc = first.code ? first.code : REDAN_E_TYPE;
    if (rc == REDAN_E_NOMEM && rs->arena.bytes > RULESET_BYTES_MAX / 2)
        return rdn_fail(reterr, NOMEM, "R1001", "the rule set needs more than %zu MiB compiled; fns that expand to less would help", RULESET_BYTES_MAX >> 20);
    if (rc < 0) {
        if (reterr)
            *reterr = first;
        return rc;
    }
    rs->ir = res.ir;
    rs->nwarnings = res.ndiags + res.more;
    return rdn_ir_verify(rs->ir, reterr);
}

/* Planned by events of the active rules, where they are of the same layouts. */
static int open_program(struct redan_ruleset *rs, redan_error *reterr) {
    struct rdn_arena tmp;
    rs->planned = rdn_new_n(&rs->arena, bool, rs->ir->nevents + 1);
    if (!rs->planned)
        return rdn_fail(reterr, NOMEM, "R1001", "no memory for the tables of '%.60s'", rs->ir->name);
    rdn_arena_init(&tmp, &rs->eng->mem);
    const struct rdn_sampled *s = rdn_engine_samples(rs->eng, rs->ir, &tmp);
    for (uint32_t e = 0; s && e < rs->ir->nevents; e++)
        rs->planned[e] = s[e].n >= RDN_SAMPLE_MAX / 2;
    int rc = rdn_program_open_sampled(rs->eng->jit, rs->ir, rs->eng->backend, s, &rs->eng->mem, &rs->prog, reterr);
    rdn_arena_fini(&tmp);
    return rc;
}

static int build(struct redan_ruleset *rs, const char *name, const char *text, size_t len, const redan_compilation *c, redan_error *reterr) {
    int rc = read_text(rs, name, text, len, c, reterr);
    if (rc < 0)
        return rc;
    if (open_data(rs) < 0 || count_all(rs) < 0 || index_hashes(rs) < 0 || index_names(rs) < 0)
        return rdn_fail(reterr, NOMEM, "R1001", "no memory for the tables of '%.60s'", rs->ir->name);
    return open_program(rs, reterr);
}

int rdn_ruleset_open(struct redan_engine *e, const char *name, const char *text, size_t len, const redan_compilation *c,
                     struct redan_ruleset **ret, redan_error *reterr) {
    redan_compilation known = REDAN_COMPILATION_INIT;
    int rc = rdn_options_copy(&known, c, 0, "redan_compilation", reterr);
    if (rc < 0)
        return rc;
    struct redan_ruleset *rs = rdn_zalloc(&e->mem, sizeof *rs);
    if (!rs)
        return rdn_fail(reterr, NOMEM, "", "no memory for a rule set");
    rs->eng = e;
    rs->refs = 1;
    rdn_arena_init(&rs->arena, &e->mem);
    rs->arena.max_bytes = RULESET_BYTES_MAX;
    rc = build(rs, name, text, len, &known, reterr);
    rdn_arena_trim(RDN_SPARE_KEPT);
    if (rc < 0) {
        rdn_ruleset_unref(rs);
        return rc;
    }
    *ret = rs;
    return 0;
}
