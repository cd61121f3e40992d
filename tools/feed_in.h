/* SPDX-License-Identifier: Apache-2.0
 * feed_in.h: where `run`, `explain` and `cover` get their events: JSON lines (17.1), or CSV rows or market
 * events (--feed) through a map. One shape for all:
 * a struct rdn_line an input line. */
#ifndef RDN_FEED_IN_H
#define RDN_FEED_IN_H
#include "host/line.h"
#include "tools/market_in.h"

/* What every verb that judges a stream knows; `run` alone has a --speed. */
#define FEED_OPTIONS \
    { "--format", OPT_VALUE, "" }, { "--map", OPT_VALUE, "" }, { "--feed", OPT_VALUE, "" }, MARKET_OPTIONS, { "--from", OPT_VALUE, "" }, { "--to", OPT_VALUE, "" }

struct feed {
    FILE *f;
    const char *name;
    bool own, failed;                                    /* failed: reading ended with an error, a message was printed */
    char *line; size_t cap, len;                         /* the line at hand, without LF */
    uint64_t lines;                                      /* read so far, blank ones too */
    uint64_t skipped;                                    /* rows the map has no entry for */
    struct rdn_line_reader *json;
    struct market_in *market;                            /* --feed: `line` is an event of it as a row */
    bool books;                                          /* and the rules read host tables, which its books may fill */
    struct csv_map *map;                                 /* NULL: JSON lines */
    const struct rdn_ir *ir;
    struct rdn_syms *syms;
};
/* Opens EVENTS (NULL: standard input) in the format the options ask for. False after a message. */
bool feed_open(struct feed *, const struct args *, const char *path, struct rdn_syms *);
void feed_close(struct feed *);
bool feed_is_file(const struct feed *);                  /* all of it is there already */
bool feed_has_more(const struct feed *);                 /* the descriptor can be read at once: more lines, or the end */
/* What names mean from now on. False after a message: the map does not fit the rules. */
bool feed_rules(struct feed *, const struct rdn_ir *);
/* The books of --feed become rows of the lanes' host tables. False after a message: the tables are not those of books. */
bool feed_lanes(struct feed *, redan_lane *const *lanes, uint32_t n);
/* Brings those rows up to the line at hand: after feed_fetch, once everything before is judged. False after a message, with .failed. */
bool feed_show(struct feed *);
/* True unless at the end: fetches the next line, so that a swap can act before it is read. */
bool feed_fetch(struct feed *);
void feed_read(struct feed *, struct rdn_line *ret);
void feed_tell_skipped(const struct feed *);             /* on standard error, at the end */

/* csv_map.c */
/* The map of --map FILE (YAML). header: the names of the columns, of rows that have no header line; or NULL. */
struct csv_map *csv_map_open(const char *path, const char *header);
void csv_map_close(struct csv_map *);
bool csv_map_rules(struct csv_map *, const struct rdn_ir *, struct rdn_syms *);
void csv_map_read(struct csv_map *, const char *line, size_t len, struct rdn_line *ret, uint64_t *skipped);
#endif
