/* SPDX-License-Identifier: Apache-2.0
 * ledger_host.c: see ledger_host.h. */
#include "host/ledger_host.h"
#include "base/buf.h"
#include "base/hash.h"
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

static const char *const members[RDN_LY_COUNT][2] = {
#define LENUM(type, first, second) [RDN_LY_##type] = { #first, #second },
#include "market/ledger.def"
};

struct rdn_ledger_host {
    redan_lane *lane;
    struct rdn_ledger *led;
    rdn_ledger_decided *decided; void *ctx;
    uint32_t id[RDN_LE_COUNT];                            /* the engine's number of an event, whatever rules are active */
    int32_t table[RDN_LT_COUNT];                          /* of the lane's rules, -1: they have none */
    uint32_t rows[RDN_LT_COUNT];                          /* how many the table had after the last one was written */
    bool lacks[RDN_LT_COUNT];                             /* it had no room for one */
    bool gap, retry;                                      /* some table lacks rows; and there may be room by now */
    uint32_t override;                                    /* code OVERRIDE_USED of the lane's rules */
    int unfit;                                            /* LAYOUT: a table of the lane's rules is not the ledger's */
    int rc;                                               /* of the event in hand: what could not be judged, and why */
    bool judged; redan_verdict v;                         /* the order in hand was, and how */
    uint8_t row[1024];
};

/* ---- the lane's rules ---- */
static bool is_enum(const struct rdn_type *t, const char *const *m) {
    return m[0] && t->kind == RDN_K_ENUM && t->n == 2 && strcmp(t->members[0], m[0]) == 0 && strcmp(t->members[1], m[1]) == 0;
}
static bool fits(const struct col *c, const struct rdn_column *x) {
    static const uint8_t kinds[RDN_LY_COUNT] = { [RDN_LY_SYM] = RDN_K_SYM, [RDN_LY_INT] = RDN_K_INT, [RDN_LY_BOOL] = RDN_K_BOOL, [RDN_LY_TIME] = RDN_K_TIME,
                                                 [RDN_LY_DEC] = RDN_K_DEC };
    bool same = is_enum(x->type, members[c->type]) || (!members[c->type][0] && x->type->kind == kinds[c->type]);
    return same && strcmp(c->name, x->name) == 0 && (x->type->kind != RDN_K_DEC || x->type->scale == c->scale);
}

static bool table_fits(const struct shape *s, const struct rdn_table *t) {
    bool good = s->nkeys == t->nkeys && s->ncols == t->ncols;
    for (uint32_t i = 0; good && i < s->nkeys; i++)
        good = fits(&keys[s->key + i], &t->keys[i]);
    for (uint32_t i = 0; good && i < s->ncols; i++)
        good = fits(&cols[s->col + i], &t->cols[i]);
    return good;
}

/* Tables by name. True: some table is there now that does not hold all rows of the ledger. */
static bool find_tables(struct rdn_ledger_host *h, redan_error *reterr) {
    const struct redan_ruleset *rs = h->lane->b->rs;
    bool anew = false;
    h->unfit = 0;
    for (unsigned t = 0; t < RDN_LT_COUNT; t++) {
        uint32_t i = rdn_name_find(rs->host_tables, rs->nhost_tables, tables[t].name);
        bool whole = h->table[t] >= 0 && !h->lacks[t], good = i == UINT32_MAX || table_fits(&tables[t], &rs->ir->tables[i]);
        h->table[t] = i == UINT32_MAX || !good ? -1 : (int32_t)i;
        if (!good)
            h->unfit = rdn_fail(reterr, LAYOUT, "R3409", "table %s of '%.60s' has other keys or columns than the ledger's", tables[t].name, rs->ir->name);
        /* A swap takes all rows of a table along or none. */
        anew |= h->table[t] >= 0 && !(whole && rdn_tab_rows(h->lane->b->tabs[i]) == h->rows[t]);
    }
    for (h->override = 0; h->override < rs->ir->ncodes && strcmp(rs->ir->codes[h->override], "OVERRIDE_USED") != 0;)
        h->override++;
    return anew;
}

static void write_all(struct rdn_ledger_host *h) {
    memset(h->lacks, 0, sizeof h->lacks);
    h->gap = h->retry = false;
    rdn_ledger_publish(h->led);
}

/* The lane has adopted other rules, and judges nothing by them before this returns. It does so where events are judged, between the
 * ledger's changes: its state is whole. */
static void follow(void *ctx) {
    struct rdn_ledger_host *h = ctx;
    redan_error err = { 0 };
    char line[sizeof err.id + sizeof err.text + 32];
    if (find_tables(h, &err))
        write_all(h);
    if (h->unfit < 0) {
        snprintf(line, sizeof line, "%s %s; its orders are refused", err.id, err.text);
        h->lane->eng->opt.log(h->lane->eng->opt.ctx, 1, line);
    }
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
    uint32_t had = h->rows[t];
    h->rows[t] = rdn_tab_rows(h->lane->b->tabs[h->table[t]]);
    h->lacks[t] |= !good;
    h->gap |= !good;
    h->retry |= h->lacks[t] && h->rows[t] < had;
    return good;
}

static void fill_row(struct rdn_ledger_host *h, const struct rdn_event *e, const struct rdn_ledger_out *o) {
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
}

/* An order whose rules cannot see all there is to see is not judged. */
static int ready_for_order(struct rdn_ledger_host *h) {
    if (h->retry)
        write_all(h);
    return h->unfit < 0 ? h->unfit : h->gap ? REDAN_E_FULL : 0;
}

static int judge(struct rdn_ledger_host *h, const struct rdn_ledger_out *o, redan_verdict *ret) {
    uint32_t mode;
    int rc = rdn_judge_enter(h->lane, h->row);            /* the one place where rules change: follow() */
    int32_t x = rc == 0 ? rdn_lane_event(h->lane, h->id[o->event]) : -1;
    if (rc == 0 && x < 0)
        return REDAN_E_NOSUP;
    if (rc == 0 && o->event == RDN_LE_Order)
        rc = ready_for_order(h);
    if (rc < 0)
        return rc;
    fill_row(h, &h->lane->b->rs->ir->events[x], o);
    rdn_judge_start(h->lane);
    bool good = rdn_judge_mode(h->lane, &mode);
    rc = rdn_judge_row(h->lane, h->id[o->event], h->row, ret);
    if (!good)
        rdn_judge_mode_back(h->lane, mode, 1);
    return rc;
}

static void take_event(void *ctx, const struct rdn_ledger_out *o) {
    struct rdn_ledger_host *h = ctx;
    bool order = o->event == RDN_LE_Order || o->event == RDN_LE_CancelReq;
    redan_verdict other, *v = order ? &h->v : &other;
    int rc = judge(h, o, v);
    h->judged |= order && rc == 0;
    if (rc < 0 && h->rc == 0 && (order || rc != REDAN_E_NOSUP))      /* what else the rules do not declare they do not get */
        h->rc = rc;
    if (rc == 0 && h->decided)
        h->decided(h->ctx, h->lane, o, v);
}

/* ---- calls ---- */
static void put_type(struct rdn_buf *b, const struct col *c) {
    static const char *const names[RDN_LY_COUNT] = { [RDN_LY_SYM] = "sym", [RDN_LY_INT] = "int", [RDN_LY_BOOL] = "bool", [RDN_LY_TIME] = "time" };
    if (names[c->type])
        rdn_buf_puts(b, names[c->type]);
    else if (members[c->type][0])
        rdn_buf_printf(b, "enum(%s,%s)", members[c->type][0], members[c->type][1]);
    else
        rdn_buf_printf(b, "dec(%u)%s", c->scale, c->type == RDN_LY_OPT_DEC ? "?" : "");
}
/* The ledger's events by their layouts (LANGUAGE.md 5): from now on the engine activates no rules that declare another one. */
static int bind_events(struct rdn_ledger_host *h, redan_error *reterr) {
    struct rdn_buf b;
    int rc = 0;
    rdn_buf_init(&b, &h->lane->eng->mem);
    for (unsigned e = 0; e < RDN_LE_COUNT && rc == 0; e++) {
        b.n = 0;
        rdn_buf_printf(&b, "%s;ts:time;", events[e].name);
        for (uint32_t f = 0; f < events[e].ncols; f++) {
            rdn_buf_printf(&b, "%s:", fields[events[e].col + f].name);
            put_type(&b, &fields[events[e].col + f]);
            rdn_buf_putc(&b, ';');
        }
        rc = b.failed ? rdn_fail(reterr, NOMEM, "", "no memory for a ledger")
                      : redan_event(h->lane->eng, events[e].name, rdn_fnv64(b.p, b.n), &h->id[e], reterr);
    }
    rdn_buf_fini(&b);
    return rc;
}

static int start(struct rdn_ledger_host *h, const struct rdn_ledger_options *o, redan_error *reterr) {
    struct rdn_ledger_options opt = *o;
    opt.syms = h->lane->eng->syms;
    opt.sink = (struct rdn_ledger_sink){ h, take_row, take_event };
    memset(h->table, 0xff, sizeof h->table);
    if (h->lane->adopted)
        return rdn_fail(reterr, INVAL, "", "lane %u has a ledger already", h->lane->index);
    if (!rdn_lane_sync(h->lane))
        return rdn_fail(reterr, INVAL, "R3008", "no rule set is active");
    find_tables(h, reterr);
    int rc = h->unfit < 0 ? h->unfit : bind_events(h, reterr);
    if (rc == 0)
        rc = rdn_ledger_open(&h->led, &opt, reterr);
    if (rc < 0)
        return rc;
    h->lane->adopted = follow;
    h->lane->adopted_ctx = h;
    return 0;
}

int rdn_ledger_host_open(redan_lane *lane, const struct rdn_ledger_options *o, rdn_ledger_decided *decided, void *ctx, struct rdn_ledger_host **ret,
                         redan_error *reterr) {
    struct rdn_ledger_host *h = rdn_zalloc(&lane->eng->mem, sizeof *h);
    if (!h)
        return rdn_fail(reterr, NOMEM, "", "no memory for a ledger");
    *h = (struct rdn_ledger_host){ .lane = lane, .decided = decided, .ctx = ctx };
    int rc = start(h, o, reterr);
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
    if (h->lane->adopted_ctx == h)
        h->lane->adopted = NULL, h->lane->adopted_ctx = NULL;
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
    h->rc = 0;
    h->judged = false;
    int rc = rdn_ledger_begin(h->led, e);
    if (rc < 0 || e->kind != RDN_LK_ORDER)
        return rc < 0 ? rc : h->rc;
    bool good = h->judged && h->rc == 0;
    rdn_ledger_end(h->led, e, good && h->v.verdict == REDAN_ACCEPT, good && has_code(&h->v, h->override));
    if (good && ret)
        *ret = h->v;
    return h->rc;
}
