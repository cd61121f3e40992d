/* SPDX-License-Identifier: Apache-2.0
 * csv_map.h: a YAML list that says which CSV row is which event, private to csv_map.c and csv_yaml.c.
 *
 *   - event: Order
 *     when: {type: ["1"]}                              # every column named must have one of the values
 *     ts: {column: time, unit: s, date: 2012-06-21, zone: America/New_York}
 *     fields: {account: {column: id, bucket: 16}, symbol: {const: AAPL}, side: {column: direction, values: {"1": buy, "-1": sell}},
 *              qty: {column: size}, px: {column: price, scale: 4}}
 *
 * The first entry whose `when` matches takes the row; a row without one is skipped and counted. */
#ifndef RDN_CSV_MAP_H
#define RDN_CSV_MAP_H
#include "base/vec.h"
#include "ir/ir.h"

struct csv_column { const char *name; int at; };         /* at: -1 until the header is known */
struct csv_when { struct csv_column column; RDN_VEC(const char *) values; };
struct csv_pair { const char *from, *to; };
struct csv_field {
    const char *name;
    struct csv_column column; const char *constant;      /* one of the two */
    RDN_VEC(struct csv_pair) values;
    uint32_t bucket;                                     /* 0: none */
    int scale;                                           /* of a whole number, -1: the text is the value */
    int32_t field;                                       /* of the event */
};
struct csv_ts { struct csv_column column; int64_t unit_ns, base_ns; bool has_unit; const char *date, *zone; };
struct csv_entry {
    const char *event;
    RDN_VEC(struct csv_when) when;
    struct csv_ts ts;
    RDN_VEC(struct csv_field) fields;
    int32_t index;                                       /* of the event in the rules at hand, -1: they have none */
};
struct csv_map {
    struct rdn_arena arena;
    const char *path;
    RDN_VEC(struct csv_entry) entries;
    bool has_header;                                     /* the column names are known */
    const struct rdn_ir *ir;
    struct rdn_syms *syms;
    uint8_t *row;
    void *array;
};
/* csv_yaml.c: false after a message with file and line. */
bool csv_yaml_read(struct csv_map *, const char *path);
#endif
