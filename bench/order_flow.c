/* SPDX-License-Identifier: Apache-2.0
 * order_flow.c: see order_flow.h. */
#include "bench/order_flow.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNTS = 1024 };
#define DAY_NS 1340285400000000000                       /* 2012-06-21 09:30 in New York */

static bool bind(struct flow *f, redan_engine *e) {
    static const char order[] = "Order;ts:time;account:sym;symbol:sym;side:enum(buy,sell);qty:int;px:dec(4);tif:enum(day,ioc)?;";
    static const char trade[] = "Trade;ts:time;symbol:sym;px:dec(4);qty:int;";
    static const struct { const char *name, *canon; } rows[] = { { "Order", order }, { "Trade", trade } };
    redan_error err;
    for (int i = 0; i < 2; i++) {
        uint64_t h = 0xcbf29ce484222325u;
        for (const char *s = rows[i].canon; *s; s++)
            h = (h ^ (unsigned char)*s) * 0x100000001b3u;
        if (redan_event(e, rows[i].name, h, i ? &f->trade : &f->order, &err) < 0) {
            fprintf(stderr, "%s: %s\n", rows[i].name, err.text);
            return false;
        }
    }
    return true;
}

static struct flow_event *add(struct flow *f, uint32_t *cap) {
    if (f->n == *cap) {
        uint32_t want = *cap ? *cap * 2 : 1 << 16;
        struct flow_event *p = realloc(f->events, want * sizeof *p);
        if (!p)
            return NULL;
        f->events = p;
        *cap = want;
    }
    struct flow_event *x = &f->events[f->n++];
    memset(x, 0, sizeof *x);
    return x;
}

struct symbols { uint32_t accounts[ACCOUNTS], symbols[8]; };

static bool add_order(struct flow *f, uint32_t *cap, const struct symbols *s, int64_t ts, uint32_t account, uint32_t symbol, bool sell, int64_t qty, int64_t px) {
    struct flow_event *x = add(f, cap);
    if (!x)
        return false;
    x->event = f->order;
    x->account = account;
    x->order = (struct flow_order){ .ts = ts, .account = s->accounts[account], .symbol = s->symbols[symbol], .side = sell, .qty = qty, .px = px };
    return true;
}

static bool add_trade(struct flow *f, uint32_t *cap, const struct symbols *s, int64_t ts, uint32_t symbol, int64_t qty, int64_t px) {
    struct flow_event *x = add(f, cap);
    if (!x)
        return false;
    x->event = f->trade;
    x->account = ACCOUNTS;
    x->trade = (struct flow_trade){ .ts = ts, .symbol = s->symbols[symbol], .px = px, .qty = qty };
    return true;
}

/* time,type,id,size,price,direction: seconds after midnight, price in 1/10000. */
static bool read_lobster(struct flow *f, const struct symbols *s, FILE *in) {
    char line[256], digits[10];
    uint32_t cap = 0;
    while (fgets(line, sizeof line, in)) {
        long long sec, id, size, price;
        int type, direction;
        if (sscanf(line, "%lld.%9[0-9],%d,%lld,%lld,%lld,%d", &sec, digits, &type, &id, &size, &price, &direction) != 7)
            continue;
        int64_t ns = 0;
        for (int i = 0, end = (int)strlen(digits); i < 9; i++)
            ns = ns * 10 + (i < end ? digits[i] - '0' : 0);
        int64_t ts = DAY_NS + (sec - 34200) * 1000000000 + ns;
        bool good = true;
        if (type == 1)
            good = add_order(f, &cap, s, ts, (uint32_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 54), 0, direction < 0, size, price);
        else if (type == 4 || type == 5)
            good = add_trade(f, &cap, s, ts, 0, size, price);
        if (!good)
            return false;
    }
    return f->n > 0;
}

static uint64_t draw(uint64_t *x) {                      /* xorshift64* */
    *x ^= *x >> 12;
    *x ^= *x << 25;
    *x ^= *x >> 27;
    return *x * 0x2545f4914f6cdd1du;
}

static bool generate(struct flow *f, const struct symbols *s, uint32_t n, uint64_t seed) {
    int64_t px[8], ts = DAY_NS;
    uint32_t cap = 0;
    uint64_t x = seed * 2 + 1;
    for (int i = 0; i < 8; i++)
        px[i] = 1000000 + (int64_t)(draw(&x) % 5000000) / 100 * 100;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t r = draw(&x);
        uint32_t symbol = (uint32_t)(r >> 60) & 7;
        ts += r % 16 < 11 ? (int64_t)(r >> 8) % 200000 : (int64_t)(r >> 8) % 90000000;
        px[symbol] += ((int64_t)(r >> 20) % 5 - 2) * 100;
        int64_t lot = (int64_t)(r >> 24) % 8 ? 100 : 1 + (int64_t)(r >> 28) % 900;
        bool good = i < 8 || (r >> 40) % 8 == 0
                        ? add_trade(f, &cap, s, ts, i < 8 ? i : symbol, lot, px[i < 8 ? i : symbol])
                        : add_order(f, &cap, s, ts, (uint32_t)(r >> 44) % ACCOUNTS, symbol, r >> 48 & 1, lot, px[symbol] + (int64_t)((r >> 50) % 40 - 20) * 100);
        if (!good)
            return false;
    }
    return true;
}

bool flow_open(struct flow *f, redan_engine *e, const char *path, uint32_t n, uint64_t seed) {
    static const char *const names[] = { "AAPL", "MSFT", "SPY", "ES", "TSLA", "NVDA", "AMD", "IBM" };
    struct symbols s;
    *f = (struct flow){ .source = path ? "LOBSTER" : "generated" };
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        char name[16];
        redan_sym(e, name, (size_t)snprintf(name, sizeof name, "acct%04u", i), &s.accounts[i]);
    }
    for (uint32_t i = 0; i < 8; i++)
        redan_sym(e, names[i], strlen(names[i]), &s.symbols[i]);
    if (!bind(f, e))
        return false;
    if (!path)
        return generate(f, &s, n, seed);
    FILE *in = fopen(path, "rb");
    if (!in) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    bool good = read_lobster(f, &s, in);
    fclose(in);
    return good;
}

char *flow_rules(uint32_t n, size_t *ret_len) {
    static const char head[] =
        "ruleset generated version 1\n  undefined reject RISK_UNDEFINED\n  partition by account\n"
        "event Order { account: sym  symbol: sym  side: enum(buy, sell)  qty: int  px: dec(4)  tif: enum(day, ioc)? }\n"
        "event Trade { symbol: sym  px: dec(4)  qty: int }\n"
        "param max_qty: int = 50_000  in 1..1_000_000\n"
        "let notional on Order = qty * px\n"
        "window last_px = last(px) by symbol on Trade\n"
        "window msgs = count() over 1s by account on Order\n"
        "window sent = sum(notional) over 60s by account, symbol on accepted Order\n"
        "rule r0 on Order { when qty > max_qty or qty <= 0 reject QTY \"qty {qty} outside 1..{max_qty}\" }\n";
    static const char *const rules[] = {
        "rule r%u on Order { when qty > %u and px > %u.0000 and side == \"buy\" reject SIZE \"qty {qty} at {px}\" }\n",
        "rule r%u on Order { when abs(px / last_px - 1.0) > %u%% and qty > %u hold AWAY \"price {px} away from {last_px}\" undefined skip }\n",
        "rule r%u on Order { when msgs > %u and notional > %u.00 throttle RATE for 250ms }\n",
        "rule r%u on Order { when sent + notional > %u000000.00 or (side == \"sell\" and qty > %u) reject CREDIT \"sent {sent}\" }\n",
    };
    size_t cap = sizeof head + (size_t)n * 160, len = sizeof head - 1;
    char *text = malloc(cap);
    if (!text)
        return NULL;
    memcpy(text, head, sizeof head);
    for (uint32_t i = 1; i < n; i++) {
        static const uint32_t base[][2] = { { 20000, 300 }, { 10, 1000 }, { 200, 5000 }, { 50, 30000 } };
        /* Formats of the table above: each takes the rule's number and two thresholds. */
        len += (size_t)snprintf(text + len, cap - len, rules[i % 4], i, base[i % 4][0] + i, base[i % 4][1] + 7 * i);
    }
    *ret_len = len;
    return text;
}

void flow_close(struct flow *f) {
    free(f->events);
    *f = (struct flow){ 0 };
}
