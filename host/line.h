/* SPDX-License-Identifier: Apache-2.0
 * line.h: the JSON lines of LANGUAGE.md 17.1: events and control lines in. The same reader serves `redan run`, replay and the
 * daemon's socket. A bad line has a reason and changes nothing. One thread. */
#ifndef RDN_LINE_H
#define RDN_LINE_H
#include "base/json_read.h"
#include "ir/ir.h"

enum rdn_line_kind { RDN_LINE_BAD, RDN_LINE_EMPTY, RDN_LINE_EVENT, RDN_LINE_PARAM, RDN_LINE_CALL, RDN_LINE_ROW };
struct rdn_line {
    uint8_t kind;
    uint32_t index;                                      /* event, parameter, call or table of the rule set */
    const uint8_t *row;                                  /* EVENT: valid, in the layout of chapter 5 */
    bool none;                                           /* CALL: fails; ROW: delete */
    struct rdn_cell val;                                 /* PARAM, CALL */
    struct rdn_cell keys[8], vals[256];                  /* ROW */
    char why[200];                                       /* BAD */
};
/* Makes the line a bad one with its reason; answers false. */
bool rdn_line_bad(struct rdn_line *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct rdn_line_reader;
int  rdn_line_open(const struct rdn_mem *, struct rdn_syms *, struct rdn_line_reader **ret);
void rdn_line_close(struct rdn_line_reader *);
void rdn_line_rules(struct rdn_line_reader *, const struct rdn_ir *);        /* what names mean from now on; borrowed */
/* Reads one line (without its LF). Everything *ret points to is valid until the next call. */
void rdn_line_read(struct rdn_line_reader *, const char *line, size_t len, struct rdn_line *ret);
/* A JSON value at a language type (`eval --vectors`): false when it does not fit. Texts are borrowed from the tree. */
bool rdn_line_value(struct rdn_json_reader *, struct rdn_syms *, const struct rdn_json *, const struct rdn_type *, void *room, struct rdn_cell *ret);
/* Writes a field of a row (the present bit too). The caller has checked that the value fits. */
void rdn_row_put(const struct rdn_field *, uint8_t *row, const struct rdn_cell *);
#endif
