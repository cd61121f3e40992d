/* SPDX-License-Identifier: Apache-2.0
 * ledger_host.c: see ledger_host.h. */
#include "host/ledger_host.h"
#include <stdio.h>
#include <string.h>

struct col { const char *name; uint8_t type, scale; };
struct shape { const char *name; uint32_t nkeys, ncols, key, col; };   /* first of its keys and columns */
static const struct col keys[] = {
#define LKEY(id, name, type) { #name, RDN_LY_##type, 0 },
#include "market/ledger.def"
};
static const struct col cols[] = {
#define LCOL(id, name, type, scale) { #name, RDN_LY_##type, scale },
#include "market/ledger.def"
};
static const struct col fields[] = {
#define LFIELD(id, name, type, scale) { #name, RDN_LY_##type, scale },
#include "market/ledger.def"
};
static struct shape tables[] = {
#define LTABLE(name, nkeys, ncols, text) { #name, nkeys, ncols, 0, 0 },
#include "market/ledger.def"
};
static struct shape events[] = {
#define LEVENT(name, nfields, text) { #name, 0, nfields, 0, 0 },
#include "market/ledger.def"
};
#define LTABLE(name, nkeys, ncols, text) + nkeys
enum { KEYS = 0
#include "market/ledger.def"
};
#define LTABLE(name, nkeys, ncols, text) + ncols
enum { COLS = 0
#include "market/ledger.def"
};
#define LEVENT(name, nfields, text) + nfields
enum { FIELDS = 0
#include "market/ledger.def"
};
_Static_assert(KEYS == sizeof keys / sizeof *keys && COLS == sizeof cols / sizeof *cols && FIELDS == sizeof fields / sizeof *fields, "ledger.def counts them");
/* Which row of `keys` a table begins with: all of them stand in the order of the tables. */
__attribute__((constructor)) static void number(void) {
    for (unsigned t = 1; t < RDN_LT_COUNT; t++) {
        tables[t].key = tables[t - 1].key + tables[t - 1].nkeys;
        tables[t].col = tables[t - 1].col + tables[t - 1].ncols;
    }
    for (unsigned e = 1; e < RDN_LE_COUNT; e++)
        events[e].col = events[e - 1].col + events[e - 1].ncols;
}

struct rdn_ledger_host {
    redan_lane *lane;
    struct rdn_ledger *led;
    rdn_ledger_decided *decided; void *ctx;
    const struct rdn_active *bound;                       /* whose tables and events these are */
    int32_t table[RDN_LT_COUNT], event[RDN_LE_COUNT];     /* of the rule set, -1: it has none */
    uint32_t id[RDN_LE_COUNT], rows[RDN_LT_COUNT];        /* the engine's number of the event; rows a table had */
    uint32_t override;                                    /* code OVERRIDE_USED */
    redan_verdict v;                                      /* of the order in hand */
    int rc;
    bool publishing;
    uint8_t row[1024];
};

/* ---- the active rules ---- */
static bool fits(const struct col *c, const char *name, const struct rdn_type *t, bool optional) {
    static const uint8_t kind[] = { [RDN_LY_SYM] = RDN_K_SYM, [RDN_LY_ENUM] = RDN_K_ENUM, [RDN_LY_INT] = RDN_K_INT, [RDN_LY_BOOL] = RDN_K_BOOL,
                                    [RDN_LY_TIME] = RDN_K_TIME, [RDN_LY_DEC] = RDN_K_DEC, [RDN_LY_OPT_DEC] = RDN_K_DEC };
    return strcmp(c->name, name) == 0 && t->kind == kind[c->type] && (t->kind != RDN_K_DEC || t->scale == c->scale) &&
           optional == (c->type == RDN_LY_OPT_DEC);
}

static bool table_fits(const struct shape *s, const struct rdn_table *t) {
    bool good = s->nkeys == t->nkeys && s->ncols == t->ncols;
    for (uint32_t i = 0; good && i < s->nkeys; i++)
        good = fits(&keys[s->key + i], t->keys[i].name, t->keys[i].type, false);
    for (uint32_t i = 0; good && i < s->ncols; i++)
        good = fits(&cols[s->col + i], t->cols[i].name, t->cols[i].type, false);
    return good;
}

static int bind_tables(struct rdn_ledger_host *h, const struct redan_ruleset *rs, redan_error *reterr) {
    for (unsigned t = 0; t < RDN_LT_COUNT; t++) {
        uint32_t i = rdn_name_find(rs->host_tables, rs->nhost_tables, tables[t].name);
        h->table[t] = i == UINT32_MAX ? -1 : (int32_t)i;
        if (i != UINT32_MAX && !table_fits(&tables[t], &rs->ir->tables[i]))
            return rdn_fail(reterr, LAYOUT, "R3409", "table %s of '%.60s' has other keys or columns than the ledger's", tables[t].name, rs->ir->name);
    }
    return 0;
}

static int bind_events(struct rdn_ledger_host *h, const struct rdn_ir *ir, redan_error *reterr) {
    for (unsigned e = 0; e < RDN_LE_COUNT; e++) {
        uint32_t i = 0;
        while (i < ir->nevents && strcmp(ir->events[i].name, events[e].name) != 0)
            i++;
        h->event[e] = i == ir->nevents ? -1 : (int32_t)i;
        if (i == ir->nevents)
            continue;
        const struct rdn_event *x = &ir->events[i];
        bool good = x->nfields == events[e].ncols && x->size <= sizeof h->row;
        for (uint32_t f = 0; good && f < x->nfields; f++)
            good = fits(&fields[events[e].col + f], x->fields[f].name, x->fields[f].type, x->fields[f].optional);
        if (!good)
            return rdn_fail(reterr, LAYOUT, "R3409", "event %s of '%.60s' has other fields than the ledger's", events[e].name, ir->name);
        int rc = redan_event(h->lane->eng, x->name, x->layout_hash, &h->id[e], reterr);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Finds tables and events of newly adopted rules. True: some table does not have the rows it had. */
static bool adopt(struct rdn_ledger_host *h, redan_error *reterr) {
    bool lost = false;
    const struct redan_ruleset *rs = h->lane->b->rs;
    h->bound = h->lane->active;
    h->rc = bind_tables(h, rs, reterr);
    if (h->rc == 0)
        h->rc = bind_events(h, rs->ir, reterr);
    for (h->override = 0; h->override < rs->ir->ncodes && strcmp(rs->ir->codes[h->override], "OVERRIDE_USED") != 0;)
        h->override++;
    for (unsigned t = 0; t < RDN_LT_COUNT; t++) {
        if (h->rc < 0)
            h->table[t] = -1;
        lost |= h->table[t] >= 0 && rdn_tab_rows(h->lane->b->tabs[h->table[t]]) != h->rows[t];
    }
    return lost;
}

static bool in_step(struct rdn_ledger_host *h) {
    redan_error err;
    if (!rdn_lane_sync(h->lane))
        return false;
    if (__builtin_expect(h->bound != h->lane->active, 0) && adopt(h, &err) && !h->publishing) {
        h->publishing = true;
        rdn_ledger_publish(h->led);
        h->publishing = false;
    }
    return h->rc == 0;
}

/* ---- the ledger's sink ---- */
static void to_cells(const struct col *c, uint32_t n, const int64_t *v, struct rdn_cell *ret) {
    for (uint32_t i = 0; i < n; i++) {
        ret[i].cause = 0;
        if (c[i].type == RDN_LY_DEC)
            ret[i].d = v[i];
        else
            ret[i].i = v[i];
    }
}

static bool take_row(void *ctx, unsigned t, const int64_t *k, const int64_t *v) {
    struct rdn_ledger_host *h = ctx;
    struct rdn_cell kc[4] = { 0 }, vc[12] = { 0 };
    if (h->table[t] < 0)
        return true;
    to_cells(&keys[tables[t].key], tables[t].nkeys, k, kc);
    if (v)
        to_cells(&cols[tables[t].col], tables[t].ncols, v, vc);
    bool good = rdn_lane_row(h->lane, (uint32_t)h->table[t], kc, v ? vc : NULL);
    h->rows[t] = rdn_tab_rows(h->lane->b->tabs[h->table[t]]);
    return good;
}

static void take_event(void *ctx, const struct rdn_ledger_out *o) {
    struct rdn_ledger_host *h = ctx;
    redan_verdict other, *v = o->event == RDN_LE_Order || o->event == RDN_LE_CancelReq ? &h->v : &other;
    if (h->event[o->event] < 0)
        return;
    const struct rdn_event *e = &h->lane->b->rs->ir->events[h->event[o->event]];
    memset(h->row, 0, e->size);
    memcpy(h->row, &o->ts, sizeof o->ts);
    uint64_t present = 0;
    for (uint32_t f = 0; f < e->nfields; f++) {
        const struct rdn_field *x = &e->fields[f];
        if (x->optional && !(o->present >> f & 1))
            continue;
        present |= x->optional ? (uint64_t)1 << x->present_bit : 0;
        memcpy(h->row + x->offset, &o->v[f], x->size);    /* little endian: the low bytes */
    }
    if (e->has_present)
        memcpy(h->row + 8, &present, sizeof present);
    int rc = redan_eval(h->lane, h->id[o->event], h->row, v);
    h->rc = rc < 0 ? rc : h->rc;
    if (rc == 0 && h->decided)
        h->decided(h->ctx, h->lane, o, v);
}

/* ---- calls ---- */
int rdn_ledger_host_open(redan_lane *lane, const struct rdn_ledger_options *o, rdn_ledger_decided *decided, void *ctx, struct rdn_ledger_host **ret,
                         redan_error *reterr) {
    struct rdn_ledger_host *h = rdn_zalloc(&lane->eng->mem, sizeof *h);
    struct rdn_ledger_options opt = *o;
    if (!h)
        return rdn_fail(reterr, NOMEM, "", "no memory for a ledger");
    *h = (struct rdn_ledger_host){ .lane = lane, .decided = decided, .ctx = ctx };
    opt.syms = lane->eng->syms;
    opt.sink = (struct rdn_ledger_sink){ h, take_row, take_event };
    int rc = rdn_lane_sync(lane) ? 0 : rdn_fail(reterr, INVAL, "R3008", "no rule set is active");
    if (rc == 0) {
        adopt(h, reterr);
        rc = h->rc < 0 ? h->rc : rdn_ledger_open(&h->led, &opt, reterr);
    }
    if (rc < 0) {
        rdn_ledger_host_close(h);
        return rc;
    }
    *ret = h;
    return 0;
}

void rdn_ledger_host_close(struct rdn_ledger_host *h) {
    if (!h)
        return;
    rdn_ledger_close(h->led);
    rdn_free(&h->lane->eng->mem, h, sizeof *h);
}

struct rdn_ledger *rdn_ledger_host_ledger(struct rdn_ledger_host *h) { return h->led; }

static bool has_code(const redan_verdict *v, uint32_t code) {
    for (uint32_t i = 0; i < v->ncodes; i++)
        if (v->codes[i] == code)
            return true;
    return false;
}

int rdn_ledger_host_event(struct rdn_ledger_host *h, const struct rdn_ledger_in *e, redan_verdict *ret) {
    if (!in_step(h))
        return h->rc < 0 ? h->rc : REDAN_E_INVAL;
    int rc = rdn_ledger_begin(h->led, e);
    if (rc < 0 || h->rc < 0 || e->kind != RDN_LK_ORDER)
        return rc < 0 ? rc : h->rc;
    rdn_ledger_end(h->led, e, h->v.verdict == REDAN_ACCEPT, has_code(&h->v, h->override));
    if (ret)
        *ret = h->v;
    return 0;
}
