/* SPDX-License-Identifier: Apache-2.0
 * winhash.c: canonical text of expressions and windows, and the structural hash by which a swap finds a window's state
 * again (LANGUAGE.md 13). Everything that changes what a window counts is in the text; names of windows and contents of
 * data are not. Lets and fns stand in it by their own hash, computed once. O(size of the expression). */
#include <string.h>
#include "base/hash.h"
#include "dsl/aggs.h"
#include "dsl/check.h"

static const char *const op_text[] = { "and", "or", "==", "!=", "<", "<=", ">", ">=", "in", "??", "+", "-", "*", "/", "mod", "not", "neg" };

static uint64_t bits(double f) {
    uint64_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* printf is half the cost of these texts, which every swap makes; these three are what they consist of. */
static void put_int(struct rdn_buf *b, char sign, rdn_i128 v) {
    char s[48], *p = s + sizeof s;
    rdn_u128 u = v < 0 ? -(rdn_u128)v : (rdn_u128)v;
    do
        *--p = (char)('0' + (int)(u % 10));
    while (u /= 10);
    if (v < 0)
        *--p = '-';
    *--p = sign;
    rdn_buf_put(b, p, (size_t)(s + sizeof s - p));
}

static void put_hex(struct rdn_buf *b, const char *sign, uint64_t v) {
    char s[16];
    for (int i = 15; i >= 0; i--, v >>= 4)
        s[i] = "0123456789abcdef"[v & 15];
    rdn_buf_puts(b, sign);
    rdn_buf_put(b, s, sizeof s);
}

static void put_type(struct rdn_ck *k, rdn_ty t) {
    while (k->type_names.n <= t->index)
        rdn_push_val(k->c->work, &k->type_names, NULL);
    const char **name = &k->type_names.v[t->index];
    if (!*name)
        *name = rdn_type_name(k->c->work, t);
    rdn_buf_puts(&k->buf, *name);
}

static void put_num(struct rdn_buf *b, const struct rdn_expr *x) {
    if (x->t->kind == RDN_K_INT) {
        put_int(b, 'i', x->val.i);
    } else if (x->t->kind == RDN_K_FLOAT) {
        put_hex(b, "f", bits(x->val.f));
    } else {
        put_int(b, 'd', x->val.d);
        put_int(b, 's', x->t->scale);
    }
}

static void put_lit(struct rdn_buf *b, const struct rdn_expr *x) {
    const struct rdn_cell *v = &x->lit.v;
    switch (x->lit.ty->kind) {
    case RDN_K_TEXT: rdn_buf_json(b, v->t.p, v->t.len); return;
    case RDN_K_BOOL: rdn_buf_puts(b, v->i ? "true" : "false"); return;
    case RDN_K_FLOAT: put_hex(b, "f", bits(v->f)); return;
    case RDN_K_TIME: put_int(b, 't', v->i); return;
    case RDN_K_DUR: put_int(b, 'u', v->i); return;
    default: put_int(b, 'a', v->i); return;
    }
}

/* The hash of what was appended to the buffer since `from`, which is taken off again. */
static uint64_t pop_hash(struct rdn_buf *b, size_t from) {
    const uint64_t h = rdn_fnv64(b->p + from, b->n - from);
    b->n = from;
    return h;
}

static uint64_t let_hash(struct rdn_ck *k, struct rdn_d_let *l) {
    const size_t from = k->buf.n;
    if (!l->hashed) {
        rdn_canon_put(k, l->x);
        l->chash = pop_hash(&k->buf, from);
        l->hashed = true;
    }
    return l->chash;
}

static uint64_t fn_hash(struct rdn_ck *k, struct rdn_d_fn *d) {
    const size_t from = k->buf.n;
    if (!d->hashed) {
        for (uint32_t i = 0; i < d->ps.n; i++) {
            if (i)
                rdn_buf_putc(&k->buf, ',');
            put_type(k, d->ps.v[i].type);
        }
        rdn_buf_puts(&k->buf, "->");
        put_type(k, d->ty);
        rdn_buf_putc(&k->buf, '=');
        rdn_canon_put(k, d->x);
        d->chash = pop_hash(&k->buf, from);
        d->hashed = true;
    }
    return d->chash;
}

static void put_typed(struct rdn_ck *k, char sign, const char *name, rdn_ty t) {
    rdn_buf_putc(&k->buf, sign);
    rdn_buf_puts(&k->buf, name);
    rdn_buf_putc(&k->buf, ':');
    put_type(k, t);
}

static void put_name(struct rdn_ck *k, const struct rdn_expr *x) {
    struct rdn_buf *b = &k->buf;
    switch ((enum rdn_name_src)x->src) {
    case RDN_SRC_LOC: put_int(b, '%', x->index); return;
    case RDN_SRC_FIELD:
        put_typed(k, '.', x->name.v, x->t);
        if (x->opt)
            rdn_buf_putc(b, '?');
        return;
    case RDN_SRC_LET: put_hex(b, "^", let_hash(k, x->let)); return;
    case RDN_SRC_PARAM: put_typed(k, '$', x->name.v, x->t); return;
    case RDN_SRC_WIN: put_hex(b, "@", x->w->hash); return;
    case RDN_SRC_EVENT: rdn_buf_printf(b, "event:%s", x->name.v); return;
    case RDN_SRC_LIST: rdn_buf_printf(b, "list:%s", x->name.v); return;
    case RDN_SRC_CAL: rdn_buf_printf(b, "cal:%s", x->name.v); return;
    case RDN_SRC_NONE: case RDN_SRC_NOW: case RDN_SRC_TS: case RDN_SRC_SCORE: break;
    }
    rdn_buf_puts(b, x->name.v);
}

/* What opens the form of an expression with operands; what closes it is ")" or "]". */
static void put_head(struct rdn_ck *k, const struct rdn_expr *x) {
    struct rdn_buf *b = &k->buf;
    switch ((enum rdn_x_kind)x->kind) {
    case RDN_X_UN: case RDN_X_BIN:
        rdn_buf_putc(b, '(');
        rdn_buf_puts(b, op_text[x->op]);
        return;
    case RDN_X_IF: rdn_buf_puts(b, "(if"); return;
    case RDN_X_RANGE: rdn_buf_puts(b, "(range"); return;
    case RDN_X_SET: rdn_buf_putc(b, '['); return;
    case RDN_X_CALL:
        if (x->fn)
            put_hex(b, "(fn", fn_hash(k, x->fn));
        else
            rdn_buf_printf(b, "(%s", x->call.f);
        return;
    case RDN_X_DOT:
        rdn_buf_printf(b, "(row %s.%s:", x->tb->d.name, x->dot.f);
        put_type(k, x->t);
        return;
    case RDN_X_IDX:
        if (x->w)
            put_hex(b, "(win @", x->w->hash);
        else
            rdn_buf_puts(b, "(at");
        return;
    case RDN_X_NUM: case RDN_X_LIT: case RDN_X_NAME: case RDN_X_NONE: return;
    }
}

void rdn_canon_put(struct rdn_ck *k, struct rdn_expr *x) {
    struct rdn_buf *b = &k->buf;
    if (x->co) {
        rdn_buf_puts(b, "(to ");
        put_type(k, x->co);
        rdn_buf_putc(b, ' ');
    }
    if (rdn_is_num(x)) {
        put_num(b, x);
    } else if (x->kind == RDN_X_LIT) {
        put_lit(b, x);
    } else if (x->kind == RDN_X_NAME) {
        put_name(k, x);
    } else {
        const struct rdn_kids kids = rdn_expr_kids(x);
        put_head(k, x);
        for (uint32_t i = 0; i < kids.n; i++) {
            if (i || x->kind != RDN_X_SET)
                rdn_buf_putc(b, ' ');
            rdn_canon_put(k, rdn_kid(&kids, i));
        }
        rdn_buf_putc(b, x->kind == RDN_X_SET ? ']' : ')');
    }
    if (x->co)
        rdn_buf_putc(b, ')');
}

static void put_list(struct rdn_ck *k, struct rdn_expr *const *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            rdn_buf_putc(&k->buf, ' ');
        rdn_canon_put(k, v[i]);
    }
}

static void put_span(struct rdn_buf *b, const struct rdn_d_window *w) {
    if (w->over_ns)
        rdn_buf_printf(b, "|span=time:%lld", (long long)w->over_ns);
    else if (w->events)
        rdn_buf_printf(b, "|span=events:%u", w->events);
    else
        rdn_buf_puts(b, "|span=all");
}

static void put_resets(struct rdn_buf *b, const struct rdn_d_window *w) {
    rdn_name names[RDN_LIM_RESETS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->resets.n; i++) {         /* by their bytes; at most four */
        uint32_t at = n++;
        for (; at && strcmp(names[at - 1], w->resets.v[i].event) > 0; at--)
            names[at] = names[at - 1];
        names[at] = w->resets.v[i].event;
    }
    for (uint32_t i = 0; i < n; i++)
        rdn_buf_printf(b, "%s%s", i ? " " : "|reset=", names[i]);
}

void rdn_ck_window_canon(struct rdn_ck *k, struct rdn_d_window *w) {
    struct rdn_buf *b = &k->buf;
    const size_t from = b->n;
    const bool exact = w->opos[RDN_OPT_EXACT].b;
    rdn_buf_printf(b, "window1|%s|", w->agg);
    put_list(k, w->xs.v, w->xs.n);
    rdn_buf_puts(b, "|value=");
    if (w->vt)
        put_type(k, w->vt);
    else
        rdn_buf_putc(b, '-');
    put_span(b, w);
    rdn_buf_printf(b, "|panes=%u|exact=%u|by=", w->P, exact ? w->exact : w->aggk == RDN_AGG_DISTINCT && !w->events ? 64 : 0);
    put_list(k, w->by.v, w->by.n);
    rdn_buf_printf(b, "|on=%s|accepted=%d|local=%d|where=", w->on, w->accepted, w->local);
    if (w->where)
        rdn_canon_put(k, w->where);
    else
        rdn_buf_putc(b, '-');
    put_resets(b, w);
    if (b->failed)
        rdn_give_up(k->c, REDAN_E_NOMEM);
    w->canon = rdn_arena_strndup(k->c->arena, b->p + from, b->n - from);
    w->hash = pop_hash(b, from);
}
