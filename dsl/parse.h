/* SPDX-License-Identifier: Apache-2.0
 * parse.h: what the parts of the parser share. Private to parse*.c.
 *
 * parse.c        tokens, types, lists of fields, the file
 * parse_expr.c   expressions and messages
 * parse_decl.c   declarations
 * parse_rule.c   windows, actions, rules
 * parse_test.c   tests */
#ifndef RDN_PARSE_H
#define RDN_PARSE_H
#include "dsl/lex.h"
#include "dsl/bounds.h"

struct rdn_parser {
    struct rdn_pass *c;
    struct rdn_lex lex;
    struct rdn_tok t[3];                                 /* the current token and two ahead */
    uint32_t last;                                       /* end of the token taken last */
    uint32_t nest, nodes;                                /* E0702, E0705 */
    rdn_exprs stack;                                     /* open lists of expressions, innermost last */
};

/* What only the parser knows of a token; fmt.c asks for it. In order of the text, a token may have several. */
enum rdn_mark_kind {
    RDN_MARK_DECL,                                       /* opens a declaration */
    RDN_MARK_START,                                      /* opens a clause, field, row, step or action */
    RDN_MARK_UNARY,                                      /* a minus sign */
    RDN_MARK_TIGHT,                                      /* a bracket that belongs to the word before it */
    RDN_MARK_MORE,                                       /* ".." that allows more codes */
    RDN_MARK_CELL,                                       /* and up: column 0, 1, ... of a declaration that fits a line */
};
struct rdn_mark { uint32_t at; uint8_t kind; };
struct rdn_marks { RDN_VEC(struct rdn_mark) list; };
void rdn_p_note(struct rdn_parser *, unsigned kind);
static inline void rdn_p_mark(struct rdn_parser *p, unsigned kind) {
    if (p->c->marks)
        rdn_p_note(p, kind);                             /* about the current token */
}

static inline struct rdn_span rdn_tok_pos(const struct rdn_tok *t) { return (struct rdn_span){ t->a, t->b }; }
static inline bool rdn_p_at(const struct rdn_parser *p, enum rdn_word w) { return p->t[0].word == w; }
/* Words, written as a string too, for a look ahead. */
static inline bool rdn_p_ahead(const struct rdn_parser *p, unsigned n, enum rdn_word w) { return p->t[n].like == w; }

void rdn_p_open(struct rdn_parser *, struct rdn_pass *, const char *src, uint32_t at, uint32_t end);
struct rdn_tok rdn_p_take(struct rdn_parser *);        /* the current token; stays at the end of the text */
bool rdn_p_accept(struct rdn_parser *, enum rdn_word);
struct rdn_tok rdn_p_expect(struct rdn_parser *, enum rdn_word);                   /* E0201 */
__attribute__((noreturn)) void rdn_p_unexpected(struct rdn_parser *, const char *wanted);
struct rdn_tok rdn_p_ident(struct rdn_parser *, const char *what);                 /* E0201; E0304: reserved */
struct rdn_tok rdn_p_new_name(struct rdn_parser *);                                /* E0304 also for predefined names */
struct rdn_tok rdn_p_string(struct rdn_parser *, const char *what);
rdn_name rdn_p_name(struct rdn_parser *, const struct rdn_tok *);              /* identifier, or the text of any token */
int64_t rdn_p_duration(struct rdn_parser *);
/* An integer with an optional minus, in lo ... hi or `code`. */
int64_t rdn_p_integer(struct rdn_parser *, int64_t lo, int64_t hi, const char *code, const char *what);
void rdn_p_deeper(struct rdn_parser *, struct rdn_span);   /* undo with nest-- */
__attribute__((format(printf, 4, 5), noreturn))
void rdn_p_refuse(struct rdn_parser *, const char *code, struct rdn_span, const char *fmt, ...);   /* without a hint */

const struct rdn_type *rdn_parse_type(struct rdn_parser *);
void rdn_parse_fields(struct rdn_parser *, rdn_fields *, bool optional);       /* "{" ... "}" of events and tables */
void rdn_parse_params(struct rdn_parser *, rdn_plist *, bool events);          /* "(" ... ")" */

struct rdn_expr *rdn_parse_expr(struct rdn_parser *);    /* inside another expression */
struct rdn_expr *rdn_parse_top(struct rdn_parser *);     /* a whole one: counts its parts from 0 */
struct rdn_expr *rdn_parse_sum(struct rdn_parser *);     /* "sum" of the grammar, without counting from 0 */
struct rdn_expr *rdn_parse_const(struct rdn_parser *);   /* "sum", counting from 0 */
rdn_exprs rdn_parse_list_end(struct rdn_parser *, uint32_t from);              /* pops what stands above `from` into a list */
struct rdn_tok rdn_parse_args(struct rdn_parser *, rdn_exprs *, enum rdn_word close);   /* the closing token */

struct rdn_decl *rdn_parse_decl(struct rdn_parser *, const struct rdn_tok *kw);
struct rdn_decl *rdn_parse_window(struct rdn_parser *);
struct rdn_decl *rdn_parse_rule(struct rdn_parser *);
struct rdn_decl *rdn_parse_test(struct rdn_parser *);
void rdn_parse_action(struct rdn_parser *, struct rdn_d_act *, bool undef);
void rdn_parse_message(struct rdn_parser *, const struct rdn_tok *, struct rdn_d_act *);
void rdn_decl_init(struct rdn_decl *, struct rdn_parser *, enum rdn_d_kind, const struct rdn_tok *name);
#endif
