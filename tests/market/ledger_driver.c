/* SPDX-License-Identifier: Apache-2.0
 * ledger_driver.c: the ledger alone, for ledger_oracle.py: one row of a case file a line, without its last order; every row of a host
 * table and every event for the rules goes to standard output. An order is accepted when its id begins with a, and with an override
 * when it begins with u.
 *
 *   ledger_driver DEFAULTS.json < ROWS.jsonl
 *
 *   R TABLE KEY... = VALUE...     a row; nothing behind = deletes it
 *   E EVENT TS VALUE...           an event; - is no value
 *   .                             all that follows from one event of the row
 *   !                             the row is over */
#include <stdio.h>
#include <string.h>
#include "tools/riskpack.h"

static const struct { const char *name; uint8_t nkeys, ncols; } tables[] = {
#define LTABLE(name, nkeys, ncols, text) { #name, nkeys, ncols },
#include "market/ledger.def"
};
static const struct { const char *name; uint8_t n; } events[] = {
#define LEVENT(name, nfields, text) { #name, nfields },
#include "market/ledger.def"
};
static const uint8_t key_types[] = {
#define LKEY(id, name, type) RDN_LY_##type,
#include "market/ledger.def"
};
static const uint8_t col_types[] = {
#define LCOL(id, name, type, scale) RDN_LY_##type,
#include "market/ledger.def"
};
static const uint8_t field_types[] = {
#define LFIELD(id, name, type, scale) RDN_LY_##type,
#include "market/ledger.def"
};

static void put(const struct rdn_syms *syms, uint8_t type, int64_t v) {
    uint32_t len;
    if (type == RDN_LY_SYM)
        printf(" '%s'", rdn_sym_text(syms, (uint32_t)v, &len));
    else
        printf(" %lld", (long long)v);
}
static bool take_row(void *ctx, unsigned table, const int64_t *k, const int64_t *v) {
    unsigned key = 0, col = 0;
    for (unsigned t = 0; t < table; t++)
        key += tables[t].nkeys, col += tables[t].ncols;
    printf("R %s", tables[table].name);
    for (unsigned i = 0; i < tables[table].nkeys; i++)
        put(ctx, key_types[key + i], k[i]);
    printf(" =");
    for (unsigned i = 0; v && i < tables[table].ncols; i++)
        put(ctx, col_types[col + i], v[i]);
    putchar('\n');
    return true;
}
static void take_event(void *ctx, const struct rdn_ledger_out *o) {
    unsigned field = 0;
    for (unsigned e = 0; e < o->event; e++)
        field += events[e].n;
    printf("E %s %lld", events[o->event].name, (long long)o->ts);
    for (unsigned i = 0; i < events[o->event].n; i++)
        if (o->present >> i & 1)
            put(ctx, field_types[field + i], o->v[i]);
        else
            printf(" -");
    putchar('\n');
}

static bool run(struct rp_row *r) {
    struct rdn_ledger_options o;
    struct rdn_ledger *l = NULL;
    redan_error err = { 0 };
    const struct rdn_json *all = rdn_json_get(r->json, r->root, "events");
    if (!rp_options(r, &o))
        return false;
    o.syms = r->syms;
    o.sink = (struct rdn_ledger_sink){ r->syms, take_row, take_event };
    bool good = rdn_ledger_open(&l, &o, &err) == 0 && rp_setup(r, l) && all;
    for (const struct rdn_json *j = good ? rdn_json_first(r->json, all) : NULL; j && good; j = rdn_json_next(r->json, j)) {
        struct rdn_ledger_in e;
        uint32_t len;
        good = rp_event(r, j, &e);
        if (good && rdn_ledger_begin(l, &e) == 0 && e.kind == RDN_LK_ORDER) {
            char first = *rdn_sym_text(r->syms, e.id, &len);
            rdn_ledger_end(l, &e, first == 'a' || first == 'u', first == 'u');
        }
        const char *why = rdn_ledger_check(l);
        if (why)
            printf("differs: %s\n", why);
        puts(".");
    }
    puts("!");
    rdn_ledger_close(l);
    return good;
}

int main(int argc, char **argv) {
    static char line[1 << 24], text[1 << 16];
    struct rp_defaults def;
    struct rdn_json_reader json;
    struct rdn_syms *syms;
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    bool good = true;
    rdn_json_init(&def.json, &rdn_libc_mem);
    rdn_json_init(&json, &rdn_libc_mem);
    if (!f || !(def.root = rdn_json_read(&def.json, text, n)) || rdn_syms_open(&syms, &rdn_libc_mem, 1 << 20) < 0)
        return 2;
    while (good && fgets(line, sizeof line, stdin)) {
        struct rp_row r = { .json = &json, .def = &def, .syms = syms };
        r.root = rdn_json_read(&json, line, strlen(line));
        r.setup = r.root ? rdn_json_get(&json, r.root, "setup") : NULL;
        good = r.root && run(&r);
        if (!good)
            fprintf(stderr, "ledger_driver: %s\n", r.root ? r.why : json.why);
    }
    fclose(f);
    rdn_json_fini(&json);
    rdn_json_fini(&def.json);
    rdn_syms_close(syms);
    return good ? 0 : 1;
}
