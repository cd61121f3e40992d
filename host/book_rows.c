/* SPDX-License-Identifier: Apache-2.0
 * book_rows.c: order books as host tables of rules (redan/market.h).
 *
 * The tables and their columns are the rows of `shapes`. Values are worked out from the published line of a book, exactly, at scale 10: half
 * a step of 10^-9, which the middle needs. A row lacks nothing or is not there.
 *
 * A feed's books are looked at by the number of their last line, so that what did not change costs one comparison. */
#include "host/host.h"
#include "market/feed.h"

enum value { V_AT, V_VALID, V_CROSSED, V_DEPTH, V_BID, V_ASK, V_SPREAD, V_MID, V_BID_QTY, V_ASK_QTY, VALUES };
enum kind { K_TIME, K_BOOL, K_PRICE, K_SIZE };
enum { BOTH = REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK, SCALE = 10, TABLES = 3, FEEDS = 64 };
static const struct { uint8_t kind, lacks; } values[VALUES] = {     /* lacks: flags of a line that has no such value */
    [V_AT] = { K_TIME, 0 },          [V_VALID] = { K_BOOL, 0 },       [V_CROSSED] = { K_BOOL, 0 },    [V_DEPTH] = { K_BOOL, 0 },
    [V_BID] = { K_PRICE, REDAN_BOOK_NO_BID },    [V_ASK] = { K_PRICE, REDAN_BOOK_NO_ASK },            [V_SPREAD] = { K_PRICE, BOTH },
    [V_MID] = { K_PRICE, BOTH },     [V_BID_QTY] = { K_SIZE, REDAN_BOOK_NO_BID },                     [V_ASK_QTY] = { K_SIZE, REDAN_BOOK_NO_ASK },
};
static const struct shape { const char *name; struct { const char *name; uint8_t value; } cols[VALUES]; } shapes[TABLES] = {
    { "book", { { "at", V_AT }, { "valid", V_VALID }, { "crossed", V_CROSSED }, { "depth", V_DEPTH }, { "bid", V_BID }, { "ask", V_ASK },
                { "spread", V_SPREAD }, { "mid", V_MID }, { "bid_qty", V_BID_QTY }, { "ask_qty", V_ASK_QTY } } },
    { "bid", { { "px", V_BID }, { "qty", V_BID_QTY } } },
    { "ask", { { "px", V_ASK }, { "qty", V_ASK_QTY } } },
};

struct column { uint8_t value, scale; bool whole; };                 /* whole: an int */
struct bound { int32_t table; uint32_t ncols; struct column cols[VALUES]; };          /* table -1: the rules have none */
struct seen { uint32_t line, sym; bool settled, shown; };            /* line: its number when it was last published */
struct source { const redan_feed *feed; struct seen *seen; };        /* by instrument */
struct redan_book_rows {
    redan_lane *lane;
    uint64_t generation;                                             /* of the rules that `tables` speaks of */
    redan_error why;                                                 /* .code: they do not fit */
    bool wanted;                                                     /* they have one of the tables */
    struct bound tables[TABLES];
    uint32_t n;
    struct source sources[FEEDS];
};

/* ---- the active rules ---- */
static bool bind_column(const struct shape *s, const struct rdn_column *c, struct column *ret) {
    uint32_t i = 0;
    while (i < VALUES && s->cols[i].name && strcmp(s->cols[i].name, c->name) != 0)
        i++;
    if (i == VALUES || !s->cols[i].name)
        return false;
    static const uint8_t want[] = { [K_TIME] = RDN_K_TIME, [K_BOOL] = RDN_K_BOOL, [K_PRICE] = RDN_K_DEC, [K_SIZE] = RDN_K_DEC };
    unsigned kind = values[s->cols[i].value].kind;
    *ret = (struct column){ s->cols[i].value, c->type->scale, kind == K_SIZE && c->type->kind == RDN_K_INT };
    return c->type->kind == want[kind] || ret->whole;
}

static int bind_table(const struct redan_ruleset *rs, const struct shape *s, struct bound *ret, redan_error *reterr) {
    uint32_t at = rdn_name_find(rs->host_tables, rs->nhost_tables, s->name);
    *ret = (struct bound){ .table = -1 };
    if (at == UINT32_MAX)
        return 0;
    const struct rdn_table *t = &rs->ir->tables[at];
    if (t->nkeys != 1 || t->keys[0].type->kind != RDN_K_SYM)
        return rdn_fail(reterr, LAYOUT, "R8240", "table %s: its rows are found by one sym", s->name);
    for (; ret->ncols < t->ncols; ret->ncols++)
        if (!bind_column(s, &t->cols[ret->ncols], &ret->cols[ret->ncols]))
            return rdn_fail(reterr, LAYOUT, "R8240", "table %s: order books have no column '%.60s' of that type", s->name, t->cols[ret->ncols].name);
    ret->table = (int32_t)at;
    return 0;
}

static int bind_rules(struct redan_book_rows *r) {
    int rc = 0;
    r->generation = r->lane->active->generation;
    r->wanted = false;
    r->why.code = 0;
    for (unsigned i = 0; i < TABLES && rc == 0; i++) {
        rc = bind_table(r->lane->b->rs, &shapes[i], &r->tables[i], &r->why);
        r->wanted |= r->tables[i].table >= 0;
    }
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < r->sources[i].feed->max_instruments; k++)
            r->sources[i].seen[k] = (struct seen){ .shown = r->sources[i].seen[k].shown };
    return rc;
}

/* ---- values ---- */
static bool exactly(rdn_i128 m, unsigned scale, rdn_i128 *ret) {
    rdn_i128 back;
    return rdn_dec_rescale(m, SCALE, scale, ret) && rdn_dec_rescale(*ret, scale, SCALE, &back) && back == m;
}

/* At SCALE; ticks and lots are below 2^63, their units below 2^40. */
static rdn_i128 amount(const struct rdn_instrument *in, const redan_book_line_data *l, unsigned value) {
    switch (value) {
    case V_BID:     return (rdn_i128)l->bid_px * in->tick_nano * 10;
    case V_ASK:     return (rdn_i128)l->ask_px * in->tick_nano * 10;
    case V_SPREAD:  return ((rdn_i128)l->ask_px - l->bid_px) * in->tick_nano * 10;
    case V_MID:     return ((rdn_i128)l->ask_px + l->bid_px) * in->tick_nano * 5;
    case V_BID_QTY: return (rdn_i128)l->bid_qty * in->lot_nano * 10;
    default:        return (rdn_i128)l->ask_qty * in->lot_nano * 10;
    }
}

static bool fill(const redan_feed *f, const struct rdn_instrument *in, const redan_book_line_data *l, struct column c, struct rdn_cell *ret) {
    rdn_i128 m;
    *ret = (struct rdn_cell){ 0 };
    switch (c.value) {
    case V_AT:      ret->i = l->ts_recv_ns; return true;
    case V_VALID:   ret->i = (l->flags & REDAN_BOOK_VALID) != 0; return true;
    case V_CROSSED: ret->i = (l->flags & REDAN_BOOK_CROSSED) != 0; return true;
    case V_DEPTH:   ret->i = f->books.orders.peak || f->books.book[in - f->instruments].by_levels; return true;
    default:        break;
    }
    if (!(l->flags & REDAN_BOOK_VALID) || (l->flags & values[c.value].lacks) || !exactly(amount(in, l, c.value), c.scale, &m) || !rdn_fits_i64(m))
        return false;
    if (c.whole)
        ret->i = (int64_t)m;
    else
        ret->d = m;
    return true;
}

/* Whether every price and size of the instrument fits the columns: one step of it does. */
static int units_fit(const struct redan_book_rows *r, const struct rdn_instrument *in, redan_error *reterr) {
    static const redan_book_line_data step = { .bid_qty = 1, .ask_px = 1, .ask_qty = 1 };    /* a middle of half a step */
    rdn_i128 m;
    for (unsigned t = 0; t < TABLES; t++)
        for (uint32_t i = 0; i < r->tables[t].ncols; i++) {
            struct column c = r->tables[t].cols[i];
            unsigned kind = values[c.value].kind;
            if (kind != K_TIME && kind != K_BOOL && !exactly(amount(in, &step, c.value == V_BID ? V_ASK : c.value), c.scale, &m))
                return rdn_fail(reterr, LAYOUT, "R8241", "table %s: %s of %s has more digits after the point than its type", shapes[t].name,
                                r->lane->b->rs->ir->tables[r->tables[t].table].cols[i].name, in->symbol);
        }
    return 0;
}

/* ---- publication ---- */
static int settle(const struct redan_book_rows *r, const struct rdn_instrument *in, struct seen *s, redan_error *reterr) {
    int rc = units_fit(r, in, reterr);
    if (rc == 0 && (rc = redan_sym(r->lane->eng, in->symbol, strlen(in->symbol), &s->sym)) < 0)
        return rdn_fail_(reterr, rc, "", "symbol '%s': %s", in->symbol, redan_strerror(rc));
    s->settled = rc == 0;
    return rc;
}

static int put_rows(struct redan_book_rows *r, const struct source *src, uint32_t instrument, const redan_book_line_data *l, redan_error *reterr) {
    const struct rdn_instrument *in = &src->feed->instruments[instrument];
    struct rdn_cell key = { .i = src->seen[instrument].sym }, vals[VALUES];
    int rc = 0;
    for (unsigned t = 0; t < TABLES; t++) {
        const struct bound *b = &r->tables[t];
        bool whole = true;
        if (b->table < 0)
            continue;
        for (uint32_t i = 0; whole && i < b->ncols; i++)
            whole = fill(src->feed, in, l, b->cols[i], &vals[i]);
        if (!rdn_lane_row(r->lane, (uint32_t)b->table, &key, whole ? vals : NULL))
            rc = rdn_fail(reterr, FULL, "R3407", "table %s has no room for %s: say how many with `keys N`", shapes[t].name, in->symbol);
    }
    return rc;
}

static int publish_book(struct redan_book_rows *r, const struct source *src, uint32_t instrument, redan_error *reterr) {
    redan_book_line_data l;
    struct seen *s = &src->seen[instrument];
    int rc = redan_book_line(src->feed, instrument, &l);
    if (rc < 0)
        return rdn_fail_(reterr, rc, "", "the book of %s is written by another thread", src->feed->instruments[instrument].symbol);
    if (l.seq == s->line || (!s->shown && (l.flags & BOTH) == BOTH))
        return 0;
    if (!s->settled && (rc = settle(r, &src->feed->instruments[instrument], s, reterr)) < 0)
        return rc;
    s->line = l.seq;
    s->shown = true;
    return put_rows(r, src, instrument, &l, reterr);
}

static int first_of(int rc, int later) { return rc < 0 ? rc : later; }

static int publish_all(struct redan_book_rows *r, const struct source *src, redan_error *reterr) {
    int rc = 0;
    for (uint32_t i = 0; i < src->feed->books.n; i++)
        rc = first_of(rc, publish_book(r, src, i, rc < 0 ? NULL : reterr));
    return rc;
}

int redan_book_rows_publish(redan_book_rows *r, uint32_t feed, const redan_mevent *ev, uint32_t n, redan_error *reterr) {
    int rc = 0;
    rdn_tag_lane(r->lane, "redan_book_rows_publish");
    if ((rc = rdn_engine_alive(r->lane->eng, reterr)) < 0)
        return rc;
    if (feed >= r->n || !rdn_lane_sync(r->lane))
        return rdn_fail(reterr, INVAL, "", "no feed %u, or no active rules", feed);
    if (__builtin_expect(r->generation != r->lane->active->generation, 0) && bind_rules(r) == 0)
        for (uint32_t i = 0; i < r->n; i++)
            rc = first_of(rc, publish_all(r, &r->sources[i], rc < 0 ? NULL : reterr));
    if (r->why.code) {
        if (reterr)
            *reterr = r->why;
        return r->why.code;
    }
    if (!r->wanted)
        return rc;
    const struct source *src = &r->sources[feed];
    bool all = n == 0;
    for (uint32_t i = 0; i < n; i++) {
        all |= ev[i].instrument == REDAN_ALL_INSTRUMENTS || ev[i].instrument == REDAN_BY_ORDER;
        if (ev[i].instrument < src->feed->books.n)
            rc = first_of(rc, publish_book(r, src, ev[i].instrument, rc < 0 ? NULL : reterr));
    }
    return all ? first_of(rc, publish_all(r, src, rc < 0 ? NULL : reterr)) : rc;
}

/* ---- set-up ---- */
int redan_book_rows_open(redan_book_rows **ret, redan_lane *lane, redan_feed *const *feeds, uint32_t n, redan_error *reterr) {
    if (!ret || !lane || !feeds || n == 0 || n > FEEDS)
        return rdn_fail(reterr, INVAL, "", "a lane and 1 to %d feeds expected", FEEDS);
    rdn_tag_lane(lane, "redan_book_rows_open");
    if (!rdn_lane_sync(lane))
        return rdn_fail(reterr, INVAL, "R3008", "no rule set is active");
    struct redan_book_rows *r = rdn_zalloc(&lane->eng->mem, sizeof *r);
    if (!r)
        return rdn_fail(reterr, NOMEM, "", "no memory for books as rows");
    r->lane = lane;
    for (; r->n < n; r->n++) {
        struct source *s = &r->sources[r->n];
        *s = (struct source){ feeds[r->n], rdn_zalloc(&lane->eng->mem, feeds[r->n]->max_instruments * sizeof *s->seen) };
        if (!s->seen) {
            redan_book_rows_close(r);
            return rdn_fail(reterr, NOMEM, "", "no memory for the books of feed %u", r->n);
        }
    }
    int rc = bind_rules(r);
    if (rc < 0) {
        if (reterr)
            *reterr = r->why;
        redan_book_rows_close(r);
        return rc;
    }
    *ret = r;
    return 0;
}

void redan_book_rows_close(redan_book_rows *r) {
    if (!r)
        return;
    for (uint32_t i = 0; i < r->n; i++)
        rdn_free(&r->lane->eng->mem, r->sources[i].seen, r->sources[i].feed->max_instruments * sizeof(struct seen));
    rdn_free(&r->lane->eng->mem, r, sizeof *r);
}
