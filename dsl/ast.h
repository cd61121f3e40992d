/* SPDX-License-Identifier: Apache-2.0
 * ast.h: the tree the parser makes and the checker annotates. All of it lives in the compilation's arena.
 *
 * The parser (parse.c, parse_expr.c) fills everything above the line "check:"; the checker (check*.c) the rest;
 * cost.c, winhash.c and lower.c only read. A span is [a, b) in bytes of the source. Names are terminated, interned
 * pointers of the arena's name table: equal names are equal pointers (rdn_ast_name). */
#ifndef RDN_AST_H
#define RDN_AST_H
#include "base/dec.h"
#include "base/vec.h"
#include "ir/ir.h"

enum rdn_x_kind { RDN_X_NUM, RDN_X_LIT, RDN_X_NAME, RDN_X_UN, RDN_X_BIN, RDN_X_IF, RDN_X_CALL, RDN_X_SET, RDN_X_RANGE,
                  RDN_X_DOT, RDN_X_IDX, RDN_X_NONE };
enum rdn_x_op { RDN_B_AND, RDN_B_OR, RDN_B_EQ, RDN_B_NE, RDN_B_LT, RDN_B_LE, RDN_B_GT, RDN_B_GE, RDN_B_IN, RDN_B_COALESCE,
                RDN_B_ADD, RDN_B_SUB, RDN_B_MUL, RDN_B_DIV, RDN_B_MOD, RDN_U_NOT, RDN_U_NEG };
enum rdn_name_src { RDN_SRC_NONE, RDN_SRC_LOC, RDN_SRC_FIELD, RDN_SRC_LET, RDN_SRC_PARAM, RDN_SRC_NOW, RDN_SRC_TS, RDN_SRC_SCORE,
                    RDN_SRC_WIN, RDN_SRC_LIST, RDN_SRC_CAL, RDN_SRC_EVENT };
typedef const char *rdn_name;

struct rdn_d_window; struct rdn_d_table; struct rdn_d_fn; struct rdn_d_call; struct rdn_d_let;
/* A number literal is an exact rational m * 10^-sc. Up to 64 characters and |exponent| <= 400 make it wider than 128
 * bits, so the digits are kept; parse.c offers the conversions the checker needs (rdn_num_*). */
struct rdn_num { const char *digits; uint32_t ndigits; int32_t sc; bool frac; };   /* no leading or trailing zeros, not terminated; none is 0; value = digits * 10^-sc */

typedef RDN_VEC(struct rdn_expr *) rdn_exprs;
struct rdn_expr {                                        /* 128 bytes: a hostile file has millions */
    uint8_t kind, op;
    uint16_t height;                                     /* of the tree, for E0702 */
    struct rdn_span pos;                                 /* includes parentheses */
    uint8_t src;                                         /* check: NAME: RDN_SRC_* */
    bool opt, idiv;                                      /* check: optional field; integer division (W0905) */
    bool sens;                                           /* private to check: typing depends on the wanted type */
    union {
        struct rdn_num num;                              /* NUM */
        struct { const struct rdn_type *ty; struct rdn_cell v; } lit;   /* LIT: text (.t), bool, time, dur, date, float inf */
        struct { rdn_name v; } name;                     /* NAME */
        struct { struct rdn_expr *a, *b; } bin;          /* BIN; UN uses a; RANGE uses a, b */
        struct { struct rdn_expr *c, *x, *y; } cond;     /* IF */
        struct { rdn_name f; struct rdn_span fpos; struct rdn_expr **xs; uint32_t n; } call;   /* CALL; SET uses xs, n */
        struct { struct rdn_expr *a; rdn_name f; struct rdn_span fpos; } dot;   /* DOT: a is IDX of a table name */
        struct { struct rdn_expr *a; struct rdn_expr **ix; uint32_t n; } idx;   /* IDX */
    };
    /* check: */
    const struct rdn_type *t;                            /* type of the value */
    const struct rdn_type *co;                           /* dec: the place wants this larger scale; NULL otherwise */
    const struct rdn_type *asked;                        /* private to check: which type was wanted last */
    uint32_t index;                                      /* field, param, list, calendar, event or column it names; LOC: number of the
                                                            parameter; kernels: then the counter, then the lets */
    uint32_t stream;                                     /* CALL of normal and uniform */
    union {                                              /* by kind: read only the member that the kind (and src) names */
        struct rdn_cell val;                             /* NUM and negated NUM: the value at type t */
        struct {
            union {
                struct rdn_d_window *w;                  /* NAME/IDX of a window, NULL on other IDX */
                struct rdn_d_let *let;                   /* NAME of a let */
                struct rdn_d_table *tb;                  /* DOT */
                struct rdn_d_fn *fn;                     /* CALL of a fn, NULL on others */
            };
            union {
                struct rdn_expr **kx;                    /* window read from another event: its keys, NAMEs of that event */
                struct rdn_d_call *pl;                   /* CALL of a plugin or kernel, NULL on others */
            };
            uint32_t nkx;
            uint8_t builtin;                             /* CALL: RDN_FN_* of builtins.h */
        };
    };
};

/* pos: of the name; of a table key: where its type begins. */
struct rdn_d_field { rdn_name name; const struct rdn_type *type; bool opt; struct rdn_span pos; };
/* pos: of the name; with an event (then type is NULL): of the event's name. */
struct rdn_d_param_ { rdn_name name; const struct rdn_type *type; rdn_name event; struct rdn_span pos; };   /* of fn, plugin, kernel; event: a plugin's row */
struct rdn_d_efield { rdn_name name; struct rdn_expr *x; struct rdn_span pos; };                            /* name: expression */
typedef RDN_VEC(struct rdn_d_field) rdn_fields;
typedef RDN_VEC(struct rdn_d_param_) rdn_plist;
typedef RDN_VEC(struct rdn_d_efield) rdn_efields;

enum rdn_d_kind { RDN_D_EVENT, RDN_D_PARAM, RDN_D_LIST, RDN_D_TABLE, RDN_D_CALENDAR, RDN_D_FN, RDN_D_LET, RDN_D_WINDOW, RDN_D_PLUGIN,
                  RDN_D_KERNEL, RDN_D_RULE, RDN_D_TEST };
struct rdn_decl {                                        /* first member of every declaration */
    uint8_t kind; bool dup, bad, used; uint8_t state;    /* check: 0 new, 1 in work, 2 done, 3 failed */
    rdn_name name; struct rdn_span pos, kw;              /* of the name; of the keyword that opens it */
    struct rdn_span whole;                               /* the declaration, for fmt and doc */
    uint32_t index;                                      /* among its kind, in declared order */
    uint32_t mark;                                       /* private to a pass: stamp of the last visit */
};
/* check: what an expression needs. The lists hold what it names itself (seldom twice), not what its lets need in turn:
 * follow lets.v[i]->deps for that. The rest counts lets and fns in. */
struct rdn_deps {
    RDN_VEC(struct rdn_d_window *) wins; RDN_VEC(struct rdn_d_let *) lets; RDN_VEC(struct rdn_d_call *) calls;
    bool score, host, plug; uint32_t depth;              /* plug: makes a plugin or kernel call; host: kernels cannot have it */
    struct rdn_d_window *last_obs;                       /* the last declared observed window of the same event that is read */
};
struct rdn_d_event { struct rdn_decl d; rdn_fields fields; uint64_t cost_ps; };
struct rdn_d_param { struct rdn_decl d; const struct rdn_type *ty; struct rdn_span tpos; struct rdn_expr *v, *lo, *hi;
                     struct rdn_cell val, vlo, vhi; bool ranged; };   /* ranged: the bounds have their values */
struct rdn_d_list { struct rdn_decl d; const struct rdn_type *ty; struct rdn_span tpos; rdn_exprs xs;
                    const char *from; uint32_t from_len; struct rdn_span spos; RDN_VEC(struct rdn_cell) vals; };
struct rdn_d_rowx { rdn_exprs k; bool isdef; rdn_exprs v; struct rdn_span pos; };
struct rdn_d_table { struct rdn_decl d; rdn_fields keys; rdn_fields cols; RDN_VEC(struct rdn_d_rowx) rows;
                     const char *from; uint32_t from_len; struct rdn_span spos; bool host; uint32_t cap;
                     RDN_VEC(struct rdn_row) vals; struct rdn_cell *def; uint64_t row_bytes; };
struct rdn_d_listref { rdn_name v; struct rdn_span pos; };
struct rdn_d_session { uint8_t days; struct rdn_d_listref list; uint16_t open, close; RDN_VEC(struct rdn_d_listref) except; };  /* list.v NULL: days */
struct rdn_d_calendar { struct rdn_decl d; const char *tz; uint32_t tz_len; struct rdn_span tzpos; RDN_VEC(struct rdn_d_session) ss; };
struct rdn_d_fn { struct rdn_decl d; rdn_plist ps; const struct rdn_type *ty; struct rdn_expr *x;
                  struct rdn_deps deps; uint64_t size, chash, cost; bool hashed; };
struct rdn_d_let { struct rdn_decl d; rdn_name on; struct rdn_span onpos; struct rdn_expr *x;
                   const struct rdn_type *t; struct rdn_deps deps; uint64_t size, chash; bool hashed; uint32_t event; };
struct rdn_d_reset { rdn_name event; struct rdn_span pos; };
enum rdn_opt { RDN_OPT_OVER, RDN_OPT_PANES, RDN_OPT_EXACT, RDN_OPT_KEYS, RDN_OPT_WARMUP, RDN_OPT_LOCAL, RDN_OPT_COUNT };
struct rdn_d_window {
    struct rdn_decl d; rdn_name agg, on; struct rdn_span aggpos, onpos, opos[RDN_OPT_COUNT];   /* opos.b == 0: not given */
    rdn_exprs xs; rdn_exprs by; struct rdn_expr *where;
    int64_t over_ns; uint32_t events, panes, exact, keys, warmup; bool has_warmup; uint8_t evict; bool accepted, local;
    RDN_VEC(struct rdn_d_reset) resets;
    /* check: */
    uint8_t aggk; bool half, prev_used; const struct rdn_type *vt, *t; uint32_t P, cap, wmin; int64_t p_ns; int32_t pk;   /* pk: key that is the partition field, -1 */
    uint32_t event; uint32_t reset_events[4];
    struct rdn_deps deps; const char *canon; uint64_t hash, cost_ps, key_bytes;
};
struct rdn_d_klet { rdn_name name; struct rdn_expr *x; struct rdn_span pos; };
struct rdn_d_call { struct rdn_decl d; rdn_plist ps; const struct rdn_type *ty; struct rdn_span tpos; int64_t deadline_ns;
                    struct rdn_expr *def; rdn_name var; struct rdn_span varpos; uint32_t cnt; RDN_VEC(struct rdn_d_klet) lets;
                    rdn_name red; struct rdn_span redpos; rdn_exprs rx;
                    struct rdn_cell dval; uint8_t redk; uint32_t rank; };              /* PLUGIN and KERNEL */
struct rdn_d_part { const char *text; uint32_t len; struct rdn_expr *x; };
struct rdn_d_act { uint8_t verb; struct rdn_span pos, cpos, fpos; rdn_name code; bool has_msg, has_for; RDN_VEC(struct rdn_d_part) msg;
                   struct rdn_expr *x; rdn_efields fields; int64_t for_ns; };   /* verb: RDN_V_* */
struct rdn_d_rule { struct rdn_decl d; rdn_name on; struct rdn_span onpos; int32_t prio; bool shadow; struct rdn_expr *when;
                    RDN_VEC(struct rdn_d_act) acts; struct rdn_d_act *undef;
                    uint32_t event; struct rdn_deps deps; bool late; uint64_t cost_ps; };
struct rdn_d_named { rdn_name name; struct rdn_span pos; };
struct rdn_d_xemit { struct rdn_d_named name; bool has_fields; rdn_efields fields; };
struct rdn_d_step {
    uint8_t kind; struct rdn_span pos, npos; rdn_name name;              /* RDN_STEP_*; name: param, call, table, event */
    int64_t at_ns; bool has_after; struct rdn_expr *x; bool none;        /* AT, after; PARAM, MOCK, EXPECT; ROW = none */
    struct rdn_d_named cause;                                            /* EXPECT undefined(cause): name.v NULL otherwise */
    rdn_exprs ks; rdn_efields fs; uint32_t repeat;   /* x of kind RDN_X_NONE: none */
    bool judged, more, has_score; uint8_t verdict; struct rdn_span vpos; int64_t score;
    RDN_VEC(struct rdn_d_named) codes; RDN_VEC(struct rdn_d_xemit) emits; RDN_VEC(struct rdn_d_named) undef;
    struct rdn_cell val, *keys, *vals; uint32_t index; uint8_t causek;   /* check: */
};
struct rdn_d_test { struct rdn_decl d; RDN_VEC(struct rdn_d_step) steps; };
struct rdn_file {
    const char *src; uint32_t len;
    rdn_name name; struct rdn_span pos; uint32_t version;                /* "anon", 0 without a header */
    struct rdn_d_act *undef; bool has_budget; int64_t budget_ns; struct rdn_span bpos; rdn_name partition; struct rdn_span ppos;
    RDN_VEC(struct rdn_decl *) decls;
};
#endif
