/* SPDX-License-Identifier: Apache-2.0
 * market_in.c: see market_in.h. */
#include "tools/market_in.h"
#include "base/clock.h"
#include "base/text.h"
#include "market/decimal.h"
#include "market/feed.h"
#include <string.h>
#include <time.h>

/* Rows have these columns whatever the format; what an event does not have is empty. Those of orders come from FIX. */
const char market_columns[] = "ts,ts_event,file,symbol,action,side,px,qty,order_id,other_id,seq,last,fault,bid,bid_qty,ask,ask_qty,valid,"
                              "type,cl_ord_id,orig_id,account,trader,sender,ord_type,tif,short,exec_type,ord_status,exec_id,last_px,last_qty,leaves_qty,cum_qty,text";
struct market_in {
    redan_replay *replay;
    redan_replay_event e;
    const char *const *files; uint32_t n;
    redan_book_rows *rows[RDN_LANES_MAX]; uint32_t nrows;
    bool shown, failed;                                  /* shown: the books as they were before the first event */
};

/* --- options --- */

static bool read_speed(const struct args *a, double *ret) {
    const char *v = args_value(a, "--speed");
    size_t n = v ? strlen(v) : 0;
    *ret = 0;
    if (!v || strcmp(v, "max") == 0)
        return true;
    return (n > 1 && v[n - 1] == 'x' && rdn_read_f64(v, n - 1, ret) && *ret > 0 && *ret <= 1e9) || (usage("--speed %.40s: max, 1x, 20x … expected", v), false);
}

static bool read_when(const struct args *a, const char *name, int64_t *ret) {
    const char *v = args_value(a, name);
    return !v || rdn_read_time(v, strlen(v), ret) || (usage("%s %.40s: a time such as 2026-03-03T15:00:00Z expected", name, v), false);
}

static bool read_date(const struct args *a, int64_t *ret) {
    const char *v = args_value(a, "--date");
    int32_t days;
    *ret = 0;
    if (!v || rdn_read_time(v, strlen(v), ret))
        return true;
    if (!rdn_read_date(v, strlen(v), &days))
        return usage("--date %.40s: a day such as 2026-03-03, or its midnight such as 2026-03-03T05:00:00Z, expected", v), false;
    *ret = days * INT64_C(86400000000000);
    return true;
}

/* Levels a book has room for: a full one is not valid, and the books of a crypto exchange are deep. */
static bool read_room(const struct args *a, redan_feed_options *ret) {
    uint64_t window = 0, far = 0;
    if (!args_count(a, "--window", 256, &window) || !args_count(a, "--far", 1, &far))
        return false;
    ret->window = window <= UINT32_MAX ? (uint32_t)window : UINT32_MAX;
    ret->far = far <= UINT32_MAX ? (uint32_t)far : UINT32_MAX;
    return true;
}

static void print_why(const struct args *a, const redan_error *err) {
    if (strcmp(err->id, "R8230") == 0 || strstr(err->text, "tick"))
        usage("%s: %s; the size of a price step is given as --tick 0.01", a->verb, err->text);
    else
        print_error(err);
}

struct market_in *market_open(const struct args *a, const char *format, const char *const *files, uint32_t n) {
    redan_replay_file f[64] = { 0 };
    redan_replay_options o = REDAN_REPLAY_OPTIONS_INIT;
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    redan_feed_options feed = REDAN_FEED_OPTIONS_INIT;
    redan_error err = { 0 };
    struct market_in *m = calloc(1, sizeof *m);
    in.symbol = args_value(a, "--symbol");
    in.tick = feed.auto_tick = args_value(a, "--tick");
    in.lot = args_value(a, "--lot");
    feed.format = format;
    feed.max_orders = 1 << 22;
    feed.max_instruments = 8192;
    if (!m || n > 64 || !read_speed(a, &o.speed) || !read_date(a, &feed.date_ns) || !read_room(a, &feed) || !read_when(a, "--from", &o.from_ns) || !read_when(a, "--to", &o.to_ns)) {
        if (n > 64)
            usage("at most 64 files");
        free(m);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        f[i] = (redan_replay_file){ .path = files[i], .seed = args_value(a, "--seed"), .feed = feed, .instruments = in.symbol ? &in : NULL, .n = in.symbol != NULL };
    o.files = f;
    o.n = n;
    m->files = files;
    m->n = n;
    if (redan_replay_open(&m->replay, &o, &err) < 0) {
        print_why(a, &err);
        free(m);
        return NULL;
    }
    return m;
}

void market_close(struct market_in *m) {
    if (!m)
        return;
    for (uint32_t i = 0; i < m->nrows; i++)
        redan_book_rows_close(m->rows[i]);
    redan_replay_close(m->replay);
    free(m);
}

/* --- events --- */

const redan_replay_event *market_next(struct market_in *m) {
    redan_error err = { 0 };
    for (;;) {
        uint32_t n;
        int64_t wait;
        if (redan_replay_step(m->replay, rdn_mono_ns(), &m->e, 1, &n, &wait, &err) < 0) {
            print_error(&err);
            m->failed = true;
            return NULL;
        }
        if (n)
            return &m->e;
        if (wait < 0)
            return NULL;
        struct timespec t = { wait / 1000000000, wait % 1000000000 };
        nanosleep(&t, NULL);
    }
}

bool market_failed(const struct market_in *m) { return m->failed; }
const redan_feed *market_feed(struct market_in *m, uint32_t file) { return redan_replay_feed(m->replay, file); }

/* --- books in rules --- */

bool market_to_rules(struct market_in *m, redan_lane *const *lanes, uint32_t n) {
    redan_feed *feeds[64];
    redan_error err = { 0 };
    for (uint32_t i = 0; i < m->n; i++)
        feeds[i] = redan_replay_feed(m->replay, i);
    for (; m->nrows < n; m->nrows++)
        if (redan_book_rows_open(&m->rows[m->nrows], lanes[m->nrows], feeds, m->n, &err) < 0) {
            print_error(&err);
            return false;
        }
    return true;
}

bool market_show(struct market_in *m) {
    redan_error err = { 0 };
    bool good = true;
    for (uint32_t i = 0; good && i < m->nrows; i++) {
        for (uint32_t f = 0; good && !m->shown && f < m->n; f++)       /* events before --from were not handed out */
            good = redan_book_rows_publish(m->rows[i], f, NULL, 0, &err) == 0;
        good = good && redan_book_rows_publish(m->rows[i], m->e.file, &m->e.e, 1, &err) == 0;
    }
    m->shown = true;
    if (!good)
        print_error(&err);
    return good;
}

/* --- rows --- */

size_t market_price(const redan_feed *f, uint32_t instrument, int64_t ticks, char *out) {
    return rdn_decimal_text(out, (rdn_i128)ticks * f->instruments[instrument].tick_nano);
}

const char *market_action(uint8_t action) {
    switch (action) {
    case REDAN_MARKET_ADD:     return "add";
    case REDAN_MARKET_REDUCE:  return "reduce";
    case REDAN_MARKET_DELETE:  return "delete";
    case REDAN_MARKET_MODIFY:  return "modify";
    case REDAN_MARKET_REPLACE: return "replace";
    case REDAN_MARKET_EXECUTE: return "execute";
    case REDAN_MARKET_LEVEL:   return "level";
    case REDAN_MARKET_CLEAR:   return "clear";
    case REDAN_MARKET_QUOTE:   return "quote";
    case REDAN_MARKET_STATUS:  return "status";
    case REDAN_MARKET_ORDER:   return "order";
    case REDAN_MARKET_TRADE:   return "trade";
    case REDAN_MARKET_FILL:    return "fill";
    case REDAN_MARKET_GAP:     return "gap";
    case REDAN_MARKET_FAULT:   return "fault";
    }
    return "?";
}

struct row { char *p; size_t n; bool begun; };

/* A column more. Texts with a comma, a quote or a line's end are quoted. */
static void text(struct row *r, const char *s, size_t n) {
    if (r->begun)
        r->p[r->n++] = ',';
    r->begun = true;
    bool quote = memchr(s, ',', n) || memchr(s, '"', n) || memchr(s, '\n', n) || memchr(s, '\r', n);
    if (quote)
        r->p[r->n++] = '"';
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            r->p[r->n++] = '"';
        r->p[r->n++] = s[i] == '\n' || s[i] == '\r' ? ' ' : s[i];
    }
    if (quote)
        r->p[r->n++] = '"';
}
static void word(struct row *r, const char *s) { text(r, s, strlen(s)); }
static void i64(struct row *r, int64_t v, bool has) {
    char t[RDN_TEXT_MAX];
    text(r, t, has ? rdn_text_i64(t, v) : 0);
}
static void u64(struct row *r, uint64_t v) {
    char t[32];
    text(r, t, v ? (size_t)snprintf(t, sizeof t, "%llu", (unsigned long long)v) : 0);
}
static void price(struct row *r, const redan_feed *f, uint32_t instrument, int64_t ticks, bool has) {
    char t[RDN_TEXT_MAX];
    text(r, t, has ? market_price(f, instrument, ticks, t) : 0);
}
static void amount(struct row *r, const redan_feed *f, uint32_t instrument, int64_t lots, bool has) {
    char t[RDN_TEXT_MAX];
    text(r, t, has ? rdn_decimal_text(t, (rdn_i128)lots * f->instruments[instrument].lot_nano) : 0);
}
static void nano(struct row *r, int64_t v, bool has) {
    char t[RDN_TEXT_MAX];
    text(r, t, has ? rdn_decimal_text(t, v) : 0);
}

static void book_columns(struct row *r, const redan_feed *f, uint32_t instrument, bool known) {
    redan_book_line_data l = { .flags = REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK };
    if (known)
        redan_book_line(f, instrument, &l);
    bool bid = known && l.seq && !(l.flags & REDAN_BOOK_NO_BID), ask = known && l.seq && !(l.flags & REDAN_BOOK_NO_ASK);
    price(r, f, instrument, l.bid_px, bid);
    amount(r, f, instrument, l.bid_qty, bid);
    price(r, f, instrument, l.ask_px, ask);
    amount(r, f, instrument, l.ask_qty, ask);
    word(r, l.flags & REDAN_BOOK_VALID ? "1" : "0");
}

static void code(struct row *r, char c) { text(r, &c, c != 0); }
static void fix_text(struct row *r, redan_fix_text t) { text(r, t.p ? t.p : "", t.len); }

static void order_columns(struct row *r, const redan_fix *o) {
    code(r, o->type);
    fix_text(r, o->cl_ord_id);
    fix_text(r, o->orig_id);
    fix_text(r, o->account);
    fix_text(r, o->on_behalf_sub.len ? o->on_behalf_sub : o->sender_sub);
    fix_text(r, o->sender);
    code(r, o->ord_type);
    code(r, o->tif);
    word(r, o->side == '5' ? "short" : o->side == '6' ? "exempt" : "");
    code(r, o->exec_type);
    code(r, o->ord_status);
    fix_text(r, o->exec_id);
    nano(r, o->last_px, o->exec_type == 'F');
    nano(r, o->last_qty, o->exec_type == 'F');
    nano(r, o->leaves_qty, o->type == '8');
    nano(r, o->cum_qty, o->type == '8');
    fix_text(r, o->text);
}

size_t market_row(struct market_in *m, const redan_replay_event *x, char out[MARKET_ROW]) {
    const redan_mevent *e = &x->e;
    const redan_feed *f = market_feed(m, x->file);
    struct row r = { out, 0, false };
    const char *symbol = redan_feed_symbol(f, e->instrument);
    redan_fix order = { 0 };
    redan_feed_order(f, e, &order);
    bool order_px = e->action != REDAN_MARKET_ORDER || order.px, priced = symbol && order_px && e->action != REDAN_MARKET_STATUS && e->action != REDAN_MARKET_CLEAR &&
                                                                         e->action != REDAN_MARKET_GAP;
    i64(&r, e->ts_recv_ns, true);
    i64(&r, e->ts_event_ns, true);
    word(&r, m->files[x->file]);
    word(&r, symbol ? symbol : "");
    word(&r, market_action(e->action));
    word(&r, e->side == REDAN_BID ? "bid" : e->side == REDAN_ASK ? "ask" : "");
    price(&r, f, e->instrument, e->px_ticks, priced);
    amount(&r, f, e->instrument, e->qty_lots, symbol && e->qty_lots);
    u64(&r, e->order_id);
    u64(&r, e->other_id);
    u64(&r, e->seq);
    word(&r, e->flags & REDAN_MF_LAST ? "1" : "0");
    word(&r, redan_fault_name(e->action == REDAN_MARKET_FAULT ? e->flags : x->fault));
    book_columns(&r, f, e->instrument, symbol != NULL);
    order_columns(&r, &order);
    return r.n;
}
