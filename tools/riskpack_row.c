/* SPDX-License-Identifier: Apache-2.0
 * riskpack_row.c: one line of a case file as reference data and events of the ledger. */
#include "tools/riskpack.h"
#include "base/buf.h"
#include "base/text.h"
#include "host/line.h"
#include <stddef.h>
#include <string.h>

static bool no_form(struct rp_row *r, const char *what, const char *name, size_t len) {
    snprintf(r->why, sizeof r->why, "%s %.*s", what, (int)(len < 60 ? len : 60), name);
    return false;
}

/* ---- values ---- */
static const struct rdn_json *get(const struct rp_row *r, const struct rdn_json *o, const char *name) { return o ? rdn_json_get(r->json, o, name) : NULL; }
static const struct rdn_json *def(const struct rp_row *r, const char *group, const char *name) {
    const struct rdn_json *g = rdn_json_get(&r->def->json, r->def->root, group);
    return g ? rdn_json_get(&r->def->json, g, name) : NULL;
}
const struct rdn_json *rp_limit(const struct rp_row *r, const char *name) {
    const struct rdn_json *x = get(r, get(r, r->setup, "limits"), name);
    return x ? x : def(r, "limits", name);
}
bool rp_int(const struct rdn_json *j, int64_t *ret) { return j && j->kind == RDN_JSON_INT && rdn_read_i64(j->text, j->len, ret); }
bool rp_dec(const struct rdn_json *j, unsigned scale, int64_t *ret) {
    const struct rdn_type t = { .kind = RDN_K_DEC, .scale = (uint8_t)scale };
    struct rdn_cell c;
    if (!j || !rdn_line_value(NULL, NULL, j, &t, NULL, &c))
        return false;
    *ret = (int64_t)c.d;
    return true;
}
static bool sym(const struct rp_row *r, const struct rdn_json *j, uint32_t *ret) {
    return j && j->kind == RDN_JSON_STRING && j->len < 256 && rdn_sym_intern(r->syms, j->text, j->len, ret) >= 0;
}
static bool name_sym(const struct rp_row *r, const char *name, size_t len, uint32_t *ret) { return len < 256 && rdn_sym_intern(r->syms, name, len, ret) >= 0; }

/* ---- reference data ---- */
const char *const rp_lengths[RP_LENGTHS] = { "rate_ms", "dup_ms", "vel_ms" };
static const struct { const char *name; bool dec, by_symbol; } limits[] = {
#define SYMBOL true
#define ACCOUNT false
#define INT false
#define DEC true
#define LLIMIT(name, type, scale, by) { #name, type, by },
#include "market/ledger.def"
#undef SYMBOL
#undef ACCOUNT
#undef INT
#undef DEC
};

static bool limit_value(const struct rdn_json *j, uint32_t i, int64_t *ret) { return limits[i].dec ? rp_dec(j, 2, ret) : rp_int(j, ret); }
static uint32_t limit_named(const char *name, size_t len) {
    uint32_t i = 0;
    while (i < RDN_LL_COUNT && (strlen(limits[i].name) != len || memcmp(limits[i].name, name, len) != 0))
        i++;
    return i;
}

bool rp_options(struct rp_row *r, struct rdn_ledger_options *ret) {
    int64_t recent, silent;
    if (!rp_int(rp_limit(r, "id_recent"), &recent) || !rp_int(rp_limit(r, "hb_ms"), &silent) || recent < 0 || recent > 65536 || silent < 0 || silent > INT64_MAX / 1000000)
        return no_form(r, "limit", "id_recent or hb_ms", 18);
    *ret = (struct rdn_ledger_options){ .id_recent = (uint32_t)recent, .silent_ns = silent * 1000000 };
    return true;
}

static bool limits_in(struct rp_row *r, struct rdn_ledger *l, const struct rdn_json *set, uint32_t account, uint32_t symbol) {
    for (const struct rdn_json *j = rdn_json_first(r->json, set); j; j = rdn_json_next(r->json, j)) {
        uint32_t i = limit_named(j->name, j->name_len);
        int64_t v;
        if (i == RDN_LL_COUNT || !limit_value(j, i, &v) || rdn_ledger_limit(l, account, symbol, i, v) < 0)
            return no_form(r, "limit", j->name, j->name_len);
    }
    return true;
}

static bool set_limits(struct rp_row *r, struct rdn_ledger *l) {
    for (uint32_t i = 0; i < RDN_LL_COUNT; i++) {
        int64_t v;
        if (!limit_value(rp_limit(r, limits[i].name), i, &v) || rdn_ledger_limit(l, RDN_LEDGER_NONE, RDN_LEDGER_NONE, i, v) < 0)
            return no_form(r, "limit", limits[i].name, strlen(limits[i].name));
    }
    const struct rdn_json *by = get(r, r->setup, "limits_by_account");
    for (const struct rdn_json *j = by ? rdn_json_first(r->json, by) : NULL; j; j = rdn_json_next(r->json, j)) {
        uint32_t a;
        if (!name_sym(r, j->name, j->name_len, &a) || !limits_in(r, l, j, a, RDN_LEDGER_NONE))
            return false;
    }
    by = get(r, r->setup, "limits_by_account_symbol");
    for (const struct rdn_json *j = by ? rdn_json_first(r->json, by) : NULL; j; j = rdn_json_next(r->json, j)) {
        const char *slash = memchr(j->name, '/', j->name_len);
        uint32_t a, s;
        if (!slash || !name_sym(r, j->name, (size_t)(slash - j->name), &a) || !name_sym(r, slash + 1, (size_t)(j->name + j->name_len - slash - 1), &s) ||
            !limits_in(r, l, j, a, s))
            return no_form(r, "limits of", j->name, j->name_len);
    }
    return true;
}

/* A member of the account or instrument, or its default; the reader it lies in does not matter for plain values. */
static const struct rdn_json *own_or(const struct rp_row *r, const struct rdn_json *o, const char *group, const char *name) {
    const struct rdn_json *x = get(r, o, name);
    return x ? x : def(r, group, name);
}
static bool absent(const struct rdn_json *j) { return !j || j->kind == RDN_JSON_NULL; }

static bool set_account(struct rp_row *r, struct rdn_ledger *l, const char *name, size_t len, const struct rdn_json *o) {
    const struct rdn_json *capital = own_or(r, o, "account", "capital");
    uint32_t a, desk;
    int64_t v = 0;
    return (name_sym(r, name, len, &a) && sym(r, own_or(r, o, "account", "desk"), &desk) && (absent(capital) || rp_dec(capital, 2, &v)) &&
            rdn_ledger_account(l, a, desk, !absent(capital), v) == 0) || no_form(r, "account", name, len);
}
static bool set_accounts(struct rp_row *r, struct rdn_ledger *l) {
    static const char *const always[] = { "ACC1", "ACC2" };
    const struct rdn_json *accounts = get(r, r->setup, "accounts");
    for (int i = 0; i < 2; i++)
        if (!set_account(r, l, always[i], 4, get(r, accounts, always[i])))
            return false;
    for (const struct rdn_json *j = accounts ? rdn_json_first(r->json, accounts) : NULL; j; j = rdn_json_next(r->json, j))
        if (!set_account(r, l, j->name, j->name_len, j))
            return false;
    return true;
}

static bool set_ticks(const struct rp_row *r, const struct rdn_json *o, struct rdn_linst *in) {
    const struct rdn_json *bands = get(r, o, "tick_bands");
    in->nticks = 1;
    if (!rp_dec(own_or(r, o, "instrument", "tick"), 4, &in->ticks[0].tick))
        return false;
    for (const struct rdn_json *j = bands ? rdn_json_first(r->json, bands) : NULL; j; j = rdn_json_next(r->json, j)) {
        const struct rdn_json *from = rdn_json_first(r->json, j);
        if (in->nticks == 8 || !rp_dec(from, 4, &in->ticks[in->nticks].from) || !rp_dec(rdn_json_next(r->json, from), 4, &in->ticks[in->nticks].tick))
            return false;
        in->nticks++;
    }
    return true;
}
static bool set_instrument(struct rp_row *r, struct rdn_ledger *l, const char *name, size_t len, const struct rdn_json *o) {
    struct rdn_linst in = { 0 };
    uint32_t s;
    const struct rdn_json *close = own_or(r, o, "instrument", "prev_close"), *adv = own_or(r, o, "instrument", "adv");
    const struct rdn_json *bands = own_or(r, o, "instrument", "bands"), *neg = own_or(r, o, "instrument", "neg_ok");
    in.has_close = !absent(close);
    in.has_adv = !absent(adv);
    in.bands = bands && bands->kind == RDN_JSON_TRUE;
    in.neg_ok = neg && neg->kind == RDN_JSON_TRUE;
    bool good = name_sym(r, name, len, &s) && sym(r, own_or(r, o, "instrument", "ccy"), &in.ccy) && rp_int(own_or(r, o, "instrument", "lot"), &in.lot) &&
                rp_int(own_or(r, o, "instrument", "mult"), &in.mult) && rp_int(own_or(r, o, "instrument", "margin_bps"), &in.margin_bps) &&
                (!in.has_close || rp_dec(close, 4, &in.prev_close)) && (!in.has_adv || rp_int(adv, &in.adv)) && set_ticks(r, o, &in);
    return (good && rdn_ledger_instrument(l, s, &in) == 0) || no_form(r, "instrument", name, len);
}

static bool set_currencies(struct rp_row *r, struct rdn_ledger *l) {
    const struct rdn_json *fx = rdn_json_get(&r->def->json, r->def->root, "fx"), *own = get(r, r->setup, "fx");
    const struct rdn_json_reader *in[] = { &r->def->json, r->json };
    const struct rdn_json *of[] = { fx, own };
    for (int k = 0; k < 2; k++)
        for (const struct rdn_json *j = of[k] ? rdn_json_first(in[k], of[k]) : NULL; j; j = rdn_json_next(in[k], j)) {
            uint32_t ccy;
            int64_t rate;
            if (!name_sym(r, j->name, j->name_len, &ccy) || !rp_dec(j, 6, &rate) || rdn_ledger_currency(l, ccy, rate) < 0)
                return no_form(r, "rate of", j->name, j->name_len);
        }
    return true;
}

static bool three(const struct rp_row *r, const struct rdn_json_reader *in, const struct rdn_json *list, uint32_t ret[3]) {
    const struct rdn_json *j = rdn_json_first(in, list);
    for (int i = 0; i < 3; i++, j = rdn_json_next(in, j))
        if (!sym(r, j, &ret[i]))
            return false;
    return true;
}
static bool set_permissions(struct rp_row *r, struct rdn_ledger *l) {
    const struct rdn_json *own = get(r, r->setup, "permissions");
    const struct rdn_json_reader *in = own ? r->json : &r->def->json;
    const struct rdn_json *all = own ? own : rdn_json_get(in, r->def->root, "permissions");
    for (const struct rdn_json *j = all ? rdn_json_first(in, all) : NULL; j; j = rdn_json_next(in, j)) {
        uint32_t who[3];
        if (!three(r, in, j, who) || rdn_ledger_permit(l, who[0], who[1], who[2], true) < 0)
            return no_form(r, "permission", "", 0);
    }
    return true;
}

bool rp_setup(struct rp_row *r, struct rdn_ledger *l) {
    static const char *const known[] = { "limits", "limits_by_account", "limits_by_account_symbol", "instruments", "accounts", "fx", "permissions" };
    for (const struct rdn_json *j = r->setup ? rdn_json_first(r->json, r->setup) : NULL; j; j = rdn_json_next(r->json, j)) {
        size_t i = 0;
        while (i < 7 && (strlen(known[i]) != j->name_len || memcmp(known[i], j->name, j->name_len) != 0))
            i++;
        if (i == 7)
            return no_form(r, "set-up", j->name, j->name_len);
    }
    if (!set_accounts(r, l) || !set_limits(r, l) || !set_currencies(r, l) || !set_permissions(r, l))
        return false;
    const struct rdn_json *all = get(r, r->setup, "instruments");
    if (!all)
        return set_instrument(r, l, "AAA", 3, NULL);
    for (const struct rdn_json *j = rdn_json_first(r->json, all); j; j = rdn_json_next(r->json, j))
        if (!set_instrument(r, l, j->name, j->name_len, j))
            return false;
    return true;
}

bool rp_params(struct rp_row *r, redan_lane *lane) {
    static const char *const names[RP_PARAMS] = { "static_bps", "dyn_bps", "sweep_bps", "reexec_n", "dup_k", "smp_mode", "otr_min", "otr_warn", "otr_stop",
                                                  "conc_bps", "stale_after" };
    const struct rdn_ir *ir = lane->b->rs->ir;
    for (int i = 0; i < RP_PARAMS; i++) {
        bool stale = i == RP_PARAMS - 1;
        struct rdn_cell c = { 0 };
        uint32_t k = 0;
        while (k < ir->nparams && strcmp(ir->params[k].name, names[i]) != 0)
            k++;
        if (!rp_int(rp_limit(r, stale ? "stale_ms" : names[i]), &c.i) || (stale && __builtin_mul_overflow(c.i, 1000000, &c.i)) || k == ir->nparams ||
            !rdn_lane_param(lane, k, &c))
            return no_form(r, "parameter", names[i], strlen(names[i]));
    }
    return true;
}

/* ---- events ---- */
enum member { IGNORED, SYM, INT, PX, BOOL, WORD };
#define AT(field) offsetof(struct rdn_ledger_in, field)
static const struct member_row { const char *name; uint8_t type; size_t at, has; } members[] = {
    { "type", IGNORED, 0, 0 }, { "expect", IGNORED, 0, 0 }, { "ts_event", IGNORED, 0, 0 }, { "bid_qty", IGNORED, 0, 0 }, { "ask_qty", IGNORED, 0, 0 },
    { "id", SYM, AT(id), 0 }, { "orig_id", SYM, AT(orig_id), 0 }, { "account", SYM, AT(account), 0 }, { "trader", SYM, AT(trader), 0 },
    { "algo", SYM, AT(algo), 0 }, { "session", SYM, AT(session), 0 }, { "venue", SYM, AT(venue), 0 }, { "symbol", SYM, AT(symbol), 0 },
    { "smp", SYM, AT(smp), 0 }, { "scope", SYM, AT(scope), 0 }, { "key", SYM, AT(key), 0 }, { "state", SYM, AT(state), 0 },
    { "requested_by", SYM, AT(requested_by), 0 }, { "ts", INT, AT(ts), 0 }, { "qty", INT, AT(qty), 0 }, { "from", INT, AT(from), 0 },
    { "until", INT, AT(until), 0 }, { "max_qty", INT, AT(max_qty), 0 }, { "uses", INT, AT(uses), 0 }, { "px", PX, AT(px), AT(has_px) },
    { "bid", PX, AT(bid), AT(has_bid) }, { "ask", PX, AT(ask), AT(has_ask) }, { "lo", PX, AT(lo), 0 }, { "hi", PX, AT(hi), 0 },
    { "prev_close", PX, AT(prev), 0 }, { "mark", PX, AT(mark), 0 }, { "on", BOOL, AT(on), 0 }, { "allow", BOOL, AT(on), 0 },
    { "authorised", BOOL, AT(on), 0 }, { "short", BOOL, AT(is_short), 0 }, { "short_exempt", BOOL, AT(short_exempt), 0 },
    { "kind", WORD, 0, 0 }, { "side", WORD, 0, 0 }, { "ord_type", WORD, 0, 0 }, { "latch", WORD, 0, 0 }, { "mode", WORD, 0, 0 },
    { "name", WORD, 0, 0 }, { "value", WORD, 0, 0 }, { "who", WORD, 0, 0 }, { "codes", WORD, 0, 0 }, { "approved_by", WORD, 0, 0 },
    { "bids", WORD, 0, 0 }, { "asks", WORD, 0, 0 } };
static const char *const kinds[RDN_LK_COUNT] = {
    "Order", "Ack", "Fill", "Cancelled", "Expired", "VenueReject", "Replaced", "ReplaceReject", "Heartbeat", "Disconnect", "Kill", "Release", "Status",
    "Band", "Index", "Ssr", "Trade", "Quote", "Depth", "Gap", "Resync", "Permission", "Restrict", "Limit", "Mode", "Position", "Locate", "Ticket" };

static bool word_in(const struct rdn_json *j, const char *const *words, uint8_t n, uint8_t *ret) {
    for (*ret = 0; *ret < n; ++*ret)
        if (rdn_json_is(j, words[*ret]))
            return true;
    return false;
}

static bool read_codes(const struct rp_row *r, const struct rdn_json *list, struct rdn_ledger_in *e) {
    static const char *const names[] = {
#define LWAIVE(code) #code,
#include "market/ledger.def"
    };
    for (const struct rdn_json *j = rdn_json_first(r->json, list); j; j = rdn_json_next(r->json, j)) {
        uint8_t i;
        if (word_in(j, names, RDN_LW_COUNT, &i))
            e->codes |= 1u << i;
        else
            e->bad = true;                                /* it asks for more than a ticket may lift */
    }
    return list->kind == RDN_JSON_ARRAY;
}
static bool read_approved(const struct rp_row *r, const struct rdn_json *list, struct rdn_ledger_in *e) {
    for (const struct rdn_json *j = rdn_json_first(r->json, list); j; j = rdn_json_next(r->json, j))
        if (e->napproved == 8 || !sym(r, j, &e->approved_by[e->napproved++]))
            return false;
    return list->kind == RDN_JSON_ARRAY;
}
static bool read_levels(const struct rp_row *r, const struct rdn_json *list, struct rdn_ledger_in *e, int side) {
    for (const struct rdn_json *j = rdn_json_first(r->json, list); j && e->ndepth[side] < RDN_LEDGER_LEVELS; j = rdn_json_next(r->json, j)) {
        struct rdn_ledger_level *x = &e->depth[side][e->ndepth[side]++];
        const struct rdn_json *px = rdn_json_first(r->json, j);
        if (!rp_dec(px, 4, &x->px) || !rp_int(rdn_json_next(r->json, px), &x->qty))
            return false;
    }
    return list->kind == RDN_JSON_ARRAY;
}

/* Members with a meaning of their own. */
static bool read_word(const struct rp_row *r, const struct rdn_json *o, const struct rdn_json *j, const char *name, struct rdn_ledger_in *e) {
    static const char *const orders[] = { "new", "replace", "cancel" }, *const sides[] = { "buy", "sell" }, *const types[] = { "limit", "market" };
    static const char *const latches[] = { "algo", "velocity", "loss" };
    if (strcmp(name, "kind") == 0)
        return word_in(j, orders, 3, &e->order);
    if (strcmp(name, "side") == 0)
        return word_in(j, sides, 2, &e->side);
    if (strcmp(name, "ord_type") == 0)
        return word_in(j, types, 2, &e->ord_type);
    if (strcmp(name, "latch") == 0)
        return word_in(j, latches, 3, &e->release);
    if (strcmp(name, "mode") == 0)
        return e->on = rdn_json_is(j, "reduce_only"), j->kind == RDN_JSON_STRING;
    if (strcmp(name, "codes") == 0)
        return read_codes(r, j, e);
    if (strcmp(name, "approved_by") == 0)
        return read_approved(r, j, e);
    if (strcmp(name, "bids") == 0 || strcmp(name, "asks") == 0)
        return read_levels(r, j, e, *name == 'a');
    if (strcmp(name, "who") == 0 && j->kind == RDN_JSON_ARRAY) {
        uint32_t who[3];
        bool good = three(r, r->json, j, who);
        return e->trader = who[0], e->account = who[1], e->algo = who[2], good;
    }
    if (strcmp(name, "who") == 0)
        return sym(r, j, &e->who);
    const struct rdn_json *limit = get(r, o, "name");     /* name and value of a limit */
    e->limit = limit ? limit_named(limit->text, limit->len) : RDN_LL_COUNT;
    return e->limit < RDN_LL_COUNT && (strcmp(name, "name") == 0 || limit_value(j, e->limit, &e->value));
}

static bool read_member(const struct rp_row *r, const struct rdn_json *o, const struct rdn_json *j, struct rdn_ledger_in *e) {
    const struct member_row *m = members, *end = members + sizeof members / sizeof *members;
    char *base = (char *)e;
    while (m < end && (strlen(m->name) != j->name_len || memcmp(m->name, j->name, j->name_len) != 0))
        m++;
    if (m == end)
        return false;
    switch ((enum member)m->type) {
    case IGNORED:
        return true;
    case SYM:
        return sym(r, j, (uint32_t *)(void *)(base + m->at));
    case INT:
        return rp_int(j, (int64_t *)(void *)(base + m->at));
    case PX:
        if (m->has)
            *(bool *)(base + m->has) = j->kind != RDN_JSON_NULL;
        return (m->has && j->kind == RDN_JSON_NULL) || rp_dec(j, 4, (int64_t *)(void *)(base + m->at));
    case BOOL:
        *(bool *)(base + m->at) = j->kind == RDN_JSON_TRUE;
        return j->kind == RDN_JSON_TRUE || j->kind == RDN_JSON_FALSE;
    case WORD:
        return read_word(r, o, j, m->name, e);
    }
    return false;
}

bool rp_event(struct rp_row *r, const struct rdn_json *o, struct rdn_ledger_in *e) {
    const struct rdn_json *type = get(r, o, "type");
    uint32_t empty;
    if (!type || !name_sym(r, "", 0, &empty))
        return no_form(r, "event without", "type", 4);
    memset(e, 0, sizeof *e);
    e->id = e->orig_id = e->account = e->trader = e->algo = e->session = e->venue = e->symbol = e->smp = e->scope = e->key = e->state = e->who = empty;
    if (!word_in(type, kinds, RDN_LK_COUNT, &e->kind))
        return no_form(r, "event", type->text, type->len);
    e->on = e->kind == RDN_LK_RELEASE;                    /* authorised, unless it says otherwise */
    for (const struct rdn_json *j = rdn_json_first(r->json, o); j; j = rdn_json_next(r->json, j))
        if (!read_member(r, o, j, e))
            return no_form(r, "member", j->name, j->name_len);
    return true;
}

/* ---- canonical text ---- */
static void canon_members(struct rdn_buf *b, const struct rdn_json_reader *r, const struct rdn_json *o) {
    const struct rdn_json *all[64];
    uint32_t n = 0;
    for (const struct rdn_json *j = rdn_json_first(r, o); j && n < 64; j = rdn_json_next(r, j)) {
        uint32_t i = n++;
        for (; i && strcmp(all[i - 1]->name, j->name) > 0; i--)
            all[i] = all[i - 1];
        all[i] = j;
    }
    for (uint32_t i = 0; i < n; i++) {
        rdn_buf_putc(b, i ? ',' : '{');
        rdn_buf_json(b, all[i]->name, all[i]->name_len);
        rdn_buf_putc(b, ':');
        rp_canon(b, r, all[i]);
    }
    rdn_buf_puts(b, n ? "}" : "{}");
}
void rp_canon(struct rdn_buf *b, const struct rdn_json_reader *r, const struct rdn_json *j) {
    const char *sep = "";
    if (j->kind == RDN_JSON_OBJECT) {
        canon_members(b, r, j);
    } else if (j->kind == RDN_JSON_ARRAY) {
        rdn_buf_putc(b, '[');
        for (const struct rdn_json *x = rdn_json_first(r, j); x; x = rdn_json_next(r, x), sep = ",") {
            rdn_buf_puts(b, sep);
            rp_canon(b, r, x);
        }
        rdn_buf_putc(b, ']');
    } else if (j->kind == RDN_JSON_STRING) {
        rdn_buf_json(b, j->text, j->len);
    } else if (j->kind == RDN_JSON_INT || j->kind == RDN_JSON_REAL) {
        rdn_buf_put(b, j->text, j->len);
    } else {
        rdn_buf_puts(b, j->kind == RDN_JSON_NULL ? "null" : j->kind == RDN_JSON_TRUE ? "true" : "false");
    }
}
