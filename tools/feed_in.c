/* SPDX-License-Identifier: Apache-2.0
 * feed_in.c: lines from a file or standard input; LF alone ends one. */
#include "tools/feed_in.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

/* --feed FILE...: market files, merged. */
static bool open_market(struct feed *d, const struct args *a, struct rdn_syms *syms) {
    static const char *files[64];
    const char *map = args_value(a, "--map");
    uint32_t n = 0;
    for (int i = 0; i < a->ngiven; i++)
        if (strcmp(a->given[i].name, "--feed") == 0 && n++ < 64)
            files[n - 1] = a->given[i].value;
    if (!map)
        return usage("--feed needs --map FILE: which market event is which event of the rules"), false;
    if (a->nwords > 1)
        return usage("--feed takes the place of EVENTS"), false;
    *d = (struct feed){ .syms = syms, .name = files[0], .cap = MARKET_ROW, .line = malloc(MARKET_ROW) };
    return d->line && rdn_line_open(&rdn_libc_mem, syms, &d->json) == 0 && (d->market = market_open(a, args_value(a, "--format"), files, n)) &&
           (d->map = csv_map_open(map, market_columns));
}

bool feed_open(struct feed *d, const struct args *a, const char *path, struct rdn_syms *syms) {
    const char *format = args_value(a, "--format"), *map = args_value(a, "--map");
    bool json = !format || strcmp(format, "jsonl") == 0, lobster = format && strcmp(format, "lobster") == 0;
    if (args_value(a, "--feed"))
        return open_market(d, a, syms);
    *d = (struct feed){ .syms = syms };
    if (!json && !lobster && strcmp(format, "csv") != 0)
        return usage("--format %.40s: jsonl, lobster or csv expected", format), false;
    if (json != !map)
        return usage(json ? "--map goes with --format lobster or csv" : "--format %s needs --map FILE", format), false;
    if (map && !(d->map = csv_map_open(map, lobster ? "time,type,id,size,price,direction" : NULL)))
        return false;
    if (rdn_line_open(&rdn_libc_mem, syms, &d->json) < 0)
        return usage("out of memory"), false;
    d->name = path ? path : "-";
    d->own = path && strcmp(path, "-") != 0;
    d->f = d->own ? fopen(path, "rb") : stdin;
    if (!d->f)
        return usage("%s: %s", path, strerror(errno)), false;
    return true;
}

bool feed_is_file(const struct feed *d) {
    struct stat st;
    if (d->market)
        return true;
    return fstat(fileno(d->f), &st) == 0 && S_ISREG(st.st_mode);
}

bool feed_has_more(const struct feed *d) {
    if (d->market)
        return true;
    struct pollfd p = { fileno(d->f), POLLIN, 0 };
    return poll(&p, 1, 0) != 0;
}

void feed_close(struct feed *d) {
    if (d->own && d->f)
        fclose(d->f);
    free(d->line);
    market_close(d->market);
    csv_map_close(d->map);
    if (d->json)
        rdn_line_close(d->json);
    *d = (struct feed){ 0 };
}

bool feed_lanes(struct feed *d, redan_lane *const *lanes, uint32_t n) { return !d->market || market_to_rules(d->market, lanes, n); }

bool feed_show(struct feed *d) {
    if (d->books && !market_show(d->market))
        d->failed = true;
    return !d->failed;
}

bool feed_rules(struct feed *d, const struct rdn_ir *ir) {
    d->ir = ir;
    d->books = false;
    for (uint32_t i = 0; d->market && i < ir->ntables; i++)
        d->books |= ir->tables[i].host;
    rdn_line_rules(d->json, ir);
    return !d->map || csv_map_rules(d->map, ir, d->syms);
}

static bool fetch_event(struct feed *d) {
    const redan_replay_event *e = market_next(d->market);
    d->failed = !e && market_failed(d->market);
    if (!e)
        return false;
    d->len = market_row(d->market, e, d->line);
    d->lines++;
    return true;
}

bool feed_fetch(struct feed *d) {
    if (d->market)
        return fetch_event(d);
    ssize_t n = getdelim(&d->line, &d->cap, '\n', d->f);
    if (n < 0) {
        d->failed = ferror(d->f);
        if (d->failed)
            usage("%s: %s", d->name, strerror(errno));
        return false;
    }
    d->len = (size_t)n - (d->line[n - 1] == '\n');
    d->lines++;
    return true;
}

void feed_tell_skipped(const struct feed *d) {
    if (d->skipped)
        fprintf(stderr, "%llu %s without an entry in the map were skipped\n", (unsigned long long)d->skipped, d->market ? "market events" : "rows");
}

void feed_read(struct feed *d, struct rdn_line *ret) {
    if (d->map)
        csv_map_read(d->map, d->line, d->len, ret, &d->skipped);
    else
        rdn_line_read(d->json, d->line, d->len, ret);
}
