/* SPDX-License-Identifier: Apache-2.0
 * lex.h: source text to tokens, one at a time (LANGUAGE.md chapter 2). Private to dsl/.
 *
 * A lexer is a position: copying it is a bookmark. It allocates nothing; the texts of strings and the digits of numbers
 * are decoded when the parser takes the token. A token that is not one raises E0103 ... E0111 and leaves the position. */
#ifndef RDN_LEX_H
#define RDN_LEX_H
#include "dsl/pass.h"

enum rdn_tok_kind { RDN_TOK_EOF, RDN_TOK_ID, RDN_TOK_NUM, RDN_TOK_DUR, RDN_TOK_STR, RDN_TOK_TIME, RDN_TOK_DATE, RDN_TOK_CLOCK, RDN_TOK_SIGN };
enum rdn_word {
    RDN_NO_WORD,
#define WORD(name, text, cls) RDN_W_##name,
#define PAIR(name, a, b) RDN_W_##name,
#define SIGN(name, a) RDN_W_##name,
#include "dsl/tokens.def"
#undef WORD
#undef PAIR
#undef SIGN
    RDN_W_COUNT
};
struct rdn_tok {
    uint8_t kind;
    uint8_t word;                                        /* RDN_W_* of an identifier or sign */
    uint8_t like;                                        /* the same, and of a string whose text is that word */
    bool frac;                                           /* NUM: has a point, an exponent, % or bps */
    uint32_t a, b;                                       /* [a, b) in the source */
    int64_t i;                                           /* DUR, TIME: ns; DATE: days; CLOCK: minutes */
};
struct rdn_lex { const char *src; uint32_t at, end; };   /* tokens of [at, end) */

void rdn_lex_next(struct rdn_pass *, struct rdn_lex *, struct rdn_tok *ret);
/* E0101, E0102: bytes that no source may hold. Over the whole of src. */
void rdn_lex_bytes(struct rdn_pass *, const char *src, uint32_t len, bool controls);
const char *rdn_word_text(enum rdn_word);
bool rdn_word_reserved(enum rdn_word);
bool rdn_word_predef(enum rdn_word);

/* One escape at s[0] == '\\': bytes written to out (at most 4), 0 when it is none; *ret_used bytes of source. */
size_t rdn_lex_escape(const char *s, const char *end, char out[4], size_t *ret_used);
/* Text of a STR token, in the arena, terminated. */
const char *rdn_lex_str(struct rdn_pass *, const char *src, const struct rdn_tok *, uint32_t *ret_len);
/* Value of a NUM token; the digits are in the arena. */
struct rdn_num rdn_lex_num(struct rdn_pass *, const char *src, const struct rdn_tok *);
#endif
