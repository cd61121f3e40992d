/* SPDX-License-Identifier: Apache-2.0
 * fmt.h: tokens and lines between fmt.c (text in and out) and fmt_layout.c (where they stand). Private to the two. */
#ifndef RDN_FMT_H
#define RDN_FMT_H
#include "dsl/parse.h"

enum { RDN_FMT_COMMENT = 100, RDN_FMT_CELLS = 5, RDN_FMT_NO_CELL = 255 };
struct rdn_ftok {
    uint32_t a, b;
    uint8_t kind, word;                                  /* enum rdn_tok_kind or RDN_FMT_COMMENT; enum rdn_word */
    uint8_t breaks;                                      /* line ends in front of it: 0, 1, 2 for more */
    uint8_t cell;                                        /* column it opens, RDN_FMT_NO_CELL */
    bool decl, start, unary, tight, more;                /* enum rdn_mark_kind */
    uint16_t gap;                                        /* spaces in front of it, within its line */
};
struct rdn_fline {
    uint32_t first, end;                                 /* tokens [first, end); a trailing comment is the last */
    uint16_t indent;                                     /* spaces */
    bool blank, whole;                                   /* an empty line before; exactly one declaration */
};
struct rdn_ftext {
    struct rdn_arena *arena;
    const char *src;
    RDN_VEC(struct rdn_ftok) toks;
    RDN_VEC(struct rdn_fline) lines;
};
void rdn_fmt_layout(struct rdn_ftext *);                 /* lines from tokens; gaps, indents, columns */
#endif
