/* SPDX-License-Identifier: Apache-2.0
 * check.h: what the parts of the checker share. Private to dsl/check*.c, names.c, warn.c, cost.c, winhash.c, schema.c.
 *
 * One struct rdn_ck lives for one rdn_check(). Everything raises through the pass (pass.h); nothing here frees. An
 * expression is typed in one context only, and typing it again is cheap (rdn_expr.sens), because min, in and others
 * look at their arguments more than once. */
#ifndef RDN_CHECK_H
#define RDN_CHECK_H
#include "dsl/builtins.h"
#include "dsl/bounds.h"
#include "dsl/pass.h"

typedef const struct rdn_type *rdn_ty;

/* Names to things, by interned pointer: one table for every space of names. A space is any address. */
struct rdn_scope_slot { rdn_name name; const void *space; void *val; };
struct rdn_scope { struct rdn_arena *arena; struct rdn_scope_slot *v; uint32_t n, cap; };
void *rdn_scope_get(const struct rdn_scope *, rdn_name, const void *space);          /* NULL when absent */
bool  rdn_scope_put(struct rdn_scope *, rdn_name, const void *space, void *val);     /* false: is there, and kept */

enum rdn_ctx_kind { RDN_CTX_CONST, RDN_CTX_FN, RDN_CTX_KERNEL, RDN_CTX_LET, RDN_CTX_WINDOW, RDN_CTX_RULE, RDN_CTX_TEST };
struct rdn_ctx {                                         /* where an expression stands */
    uint8_t kind;
    const struct rdn_d_event *ev;                        /* let, window, rule */
    const struct rdn_d_param_ *ps; uint32_t nps;         /* fn, kernel, eval: parameters */
    const struct rdn_d_call *kernel;                     /* space of its counter and lets: struct rdn_loc */
    struct rdn_deps *deps; uint32_t stamp;
};
struct rdn_loc { rdn_ty type; uint32_t index; };
struct rdn_what { const char *noun, *name; };            /* a place, for messages: {"argument of", "sqrt"}; name may be NULL */
#define RDN_WHAT(noun, name) ((struct rdn_what){ noun, name })

struct rdn_emit_shape { rdn_name code; uint32_t n; rdn_name *names; rdn_ty *types; };
struct rdn_ck {
    struct rdn_pass *c; struct rdn_file *f;
    rdn_ty B, I, F, T, U, X, D;                          /* bool int float time dur text date */
    rdn_name now, ts, score;
    struct rdn_scope scope;
    char global, rule, test, builtin, code, emit;        /* addresses: spaces of names. Fields: the event; lets: the event's name */
    RDN_VEC(struct rdn_d_event *) events; RDN_VEC(struct rdn_d_window *) wins; RDN_VEC(struct rdn_d_rule *) rules;
    RDN_VEC(struct rdn_d_let *) lets;
    uint32_t count[RDN_D_TEST + 1];
    unsigned level;                                      /* declarations being checked inside each other */
    uint32_t stamp;
    bool codes_known;                                    /* space `code` is filled */
    RDN_VEC(const char *) near; uint32_t near_left;      /* options of a hint; how many may still be compared */
    struct rdn_mem mem; struct rdn_buf buf;              /* a buffer in the arena: canonical texts, keys */
    RDN_VEC(const char *) type_names;                    /* by index of the type, for canonical texts */
};

#define RDN_BIT(kind) (1u << (kind))
enum {
    RDN_NUM_KINDS = RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_FLOAT) | RDN_BIT(RDN_K_DEC),
    RDN_DAY_KINDS = RDN_BIT(RDN_K_TIME) | RDN_BIT(RDN_K_DUR) | RDN_BIT(RDN_K_DATE),
    RDN_ORD_KINDS = RDN_NUM_KINDS | RDN_DAY_KINDS,
    RDN_CHAR_KINDS = RDN_BIT(RDN_K_TEXT) | RDN_BIT(RDN_K_SYM) | RDN_BIT(RDN_K_STR),
    RDN_KEY_KINDS = RDN_BIT(RDN_K_BOOL) | RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_DEC) | RDN_BIT(RDN_K_SYM) | RDN_BIT(RDN_K_STR) |
                    RDN_BIT(RDN_K_ENUM) | RDN_DAY_KINDS,
    RDN_PART_KINDS = RDN_BIT(RDN_K_SYM) | RDN_BIT(RDN_K_STR) | RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_ENUM),
    RDN_KERNEL_KINDS = RDN_BIT(RDN_K_BOOL) | RDN_BIT(RDN_K_INT) | RDN_BIT(RDN_K_FLOAT) | RDN_BIT(RDN_K_ARR)
};
static inline bool rdn_is(rdn_ty t, unsigned kinds) { return RDN_BIT(t->kind) & kinds; }

/* check.c */
struct rdn_ctx rdn_ck_ctx(struct rdn_ck *, enum rdn_ctx_kind, const struct rdn_d_event *, struct rdn_deps *);
bool rdn_ck_once(struct rdn_ck *, struct rdn_decl *, void (*)(struct rdn_ck *, struct rdn_decl *));   /* false: it is in work (a cycle) */
void rdn_ck_ready(struct rdn_ck *, struct rdn_decl *, void (*)(struct rdn_ck *, struct rdn_decl *));  /* checks it now if it was not; its error is its own */
void rdn_ck_let_now(struct rdn_ck *, struct rdn_decl *);
const struct rdn_d_event *rdn_ck_event(struct rdn_ck *, rdn_name, struct rdn_span);                   /* E0305 */
bool rdn_ck_parted(const struct rdn_ck *, const struct rdn_d_event *);
void rdn_ck_chain(struct rdn_ck *, struct rdn_decl *, struct rdn_deps *);
static inline struct rdn_decl *rdn_ck_global(const struct rdn_ck *k, rdn_name n) { return rdn_scope_get(&k->scope, n, &k->global); }
void *rdn_ck_find(const struct rdn_ck *, rdn_name, enum rdn_d_kind);                                  /* global of that kind or NULL */
const char *rdn_decl_word(const struct rdn_decl *);

/* Hints: collect options, then ask. */
void rdn_near_begin(struct rdn_ck *);
void rdn_near_add(struct rdn_ck *, const char *);
void rdn_near_kinds(struct rdn_ck *, unsigned kinds);                                                 /* globals; bits of enum rdn_d_kind */
void rdn_near_space(struct rdn_ck *, const void *space);
const char *rdn_near_end(struct rdn_ck *, const char *word);

/* names.c */
rdn_ty rdn_ck_local(const struct rdn_ck *, const struct rdn_ctx *, rdn_name, uint32_t *ret_index);
const struct rdn_d_field *rdn_ck_field(const struct rdn_ck *, const struct rdn_d_event *, rdn_name);
struct rdn_d_let *rdn_ck_find_let(const struct rdn_ck *, rdn_name, const struct rdn_d_event *);
rdn_ty rdn_ck_name(struct rdn_ck *, struct rdn_expr *, struct rdn_ctx *);
rdn_ty rdn_ck_window_at(struct rdn_ck *, struct rdn_expr *, struct rdn_d_window *, struct rdn_ctx *);  /* w[k] */
struct rdn_d_window *rdn_ck_window_name(const struct rdn_ck *, const struct rdn_ctx *, const struct rdn_expr *);   /* a NAME that means a window, or NULL */

/* check_num.c, check_expr.c, check_bin.c, check_call.c */
void   rdn_ck_fit(struct rdn_ck *, struct rdn_expr *, rdn_ty);                                        /* gives a number literal its type */
rdn_ty rdn_ck_fit_default(struct rdn_ck *, struct rdn_expr *, rdn_ty want);
rdn_ty rdn_ck_beside(struct rdn_ck *, struct rdn_expr *, rdn_ty other, uint8_t op);
bool   rdn_ck_frac(const struct rdn_expr *);                                                          /* of a number literal */
bool   rdn_ck_whole(const struct rdn_expr *, rdn_i128 *ret);                                           /* a number literal that is whole */
int64_t rdn_ck_litint(struct rdn_ck *, struct rdn_expr *, int64_t lo, int64_t hi);                    /* E0410 */
rdn_ty rdn_ck_type(struct rdn_ck *, struct rdn_expr *, struct rdn_ctx *, rdn_ty want);                /* want may be NULL */
rdn_ty rdn_ck_want(struct rdn_ck *, struct rdn_expr *, rdn_ty, struct rdn_ctx *, struct rdn_what);    /* in a place of that type */
void   rdn_ck_want_key(struct rdn_ck *, struct rdn_expr *, rdn_ty, struct rdn_ctx *, struct rdn_what);
rdn_ty rdn_ck_join(struct rdn_ck *, struct rdn_expr *, struct rdn_expr *, struct rdn_expr *, struct rdn_ctx *, rdn_ty want, const char *what);
rdn_ty rdn_ck_bin(struct rdn_ck *, struct rdn_expr *, struct rdn_ctx *, rdn_ty want);
rdn_ty rdn_ck_in(struct rdn_ck *, struct rdn_expr *, struct rdn_ctx *);
rdn_ty rdn_ck_call(struct rdn_ck *, struct rdn_expr *, struct rdn_ctx *, rdn_ty want);
const char *rdn_ck_hint(struct rdn_ck *, rdn_ty wanted, rdn_ty found);
static inline char *rdn_tn(struct rdn_ck *k, rdn_ty t) { return rdn_type_name(k->c->arena, t); }

/* check_data.c */
void rdn_ck_const(struct rdn_ck *, struct rdn_expr *, rdn_ty, struct rdn_what, struct rdn_cell *ret); /* the stored value */
bool rdn_cell_le(rdn_ty, const struct rdn_cell *, const struct rdn_cell *);
void rdn_ck_key_bytes(struct rdn_ck *, rdn_ty, const struct rdn_cell *);                              /* appends to k->buf; equal values, equal bytes */
void rdn_ck_table_shape(struct rdn_ck *, const struct rdn_d_table *);
void rdn_ck_param(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_list(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_table(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_calendar(struct rdn_ck *, struct rdn_decl *);
/* check_file.c */
struct rdn_datafile { const char *p, *end; };
struct rdn_datafile rdn_datafile_open(struct rdn_ck *, const char *path, uint32_t len, struct rdn_span);   /* E0710, E0711 */
bool rdn_datafile_line(struct rdn_datafile *, const char **ret, size_t *ret_len);                     /* without blank lines and comments */
void rdn_datafile_cell(struct rdn_ck *, const char *s, size_t n, rdn_ty, struct rdn_span, struct rdn_cell *ret);
bool rdn_ck_text_value(struct rdn_ck *, rdn_ty, const char *s, size_t n, struct rdn_cell *ret);       /* false: does not fit */

/* check_fn.c, check_window.c, check_rule.c, check_test.c */
void rdn_ck_scalar(struct rdn_ck *, rdn_ty, struct rdn_span, const char *what);
void rdn_ck_event_decl(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_fn(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_let(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_plugin(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_kernel(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_window(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_rule(struct rdn_ck *, struct rdn_decl *);
void rdn_ck_undef(struct rdn_ck *, struct rdn_d_act *, bool header);
void rdn_ck_test(struct rdn_ck *, struct rdn_decl *);

/* walk.c: the operands of an expression that are expressions of their own, in order. */
struct rdn_kids { struct rdn_expr *few[3], *const *v; uint32_t n, nfew; };
struct rdn_kids rdn_expr_kids(const struct rdn_expr *);
static inline struct rdn_expr *rdn_kid(const struct rdn_kids *k, uint32_t i) { return i < k->nfew ? k->few[i] : k->v[i - k->nfew]; }
uint64_t rdn_expr_size(const struct rdn_expr *);         /* parts after expanding fns, at most 10^9 */

/* winhash.c, warn.c */
void rdn_ck_window_canon(struct rdn_ck *, struct rdn_d_window *);                                     /* fills canon and hash */
void rdn_canon_put(struct rdn_ck *, struct rdn_expr *);                                               /* canonical text, appended to k->buf */
void rdn_ck_warnings(struct rdn_ck *);
#endif
