/* SPDX-License-Identifier: Apache-2.0
 * op_text.c: text functions (LANGUAGE.md chapter 8). Texts are UTF-8 and borrowed; new ones are made in scratch. Searching
 * compares bytes, which is right for UTF-8; only len and find count code points. */
#include "ir/op.h"
#include "base/text.h"
#include <string.h>

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* [+-] digits . digits exponent, at most 64 characters; inf, -inf and nan as they are printed. */
static bool read_float(const char *s, size_t n, double *ret) {
    if ((n == 3 && !memcmp(s, "inf", 3)) || (n == 4 && !memcmp(s, "-inf", 4))) {
        *ret = s[0] == '-' ? -__builtin_inf() : __builtin_inf();
        return true;
    }
    if (n == 3 && !memcmp(s, "nan", 3)) {
        *ret = __builtin_nan("");
        return true;
    }
    size_t i = n && (s[0] == '+' || s[0] == '-'), whole = 0, frac = 0, exp = 0;
    if (n > 64)
        return false;
    for (; i < n && digit(s[i]); i++)
        whole++;
    if (i < n && s[i] == '.')
        for (i++; i < n && digit(s[i]); i++)
            frac++;
    if (!whole && !frac)
        return false;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        i += i < n && (s[i] == '+' || s[i] == '-');
        for (; i < n && digit(s[i]); i++)
            exp++;
        if (!exp || exp > 3)
            return false;
    }
    return i == n && rdn_read_f64(s, n, ret);
}

static bool read_int(const char *s, size_t n, int64_t *ret) {
    size_t digits = n - (n && s[0] == '-');
    return digits >= 1 && digits <= 20 && rdn_read_i64(s, n, ret);
}

void rdn_op_parse(const struct rdn_opx *x) {
    const char *s = x->a[0]->t.p;
    size_t n = x->a[0]->t.len;
    int64_t i = 0;
    double f = 0;
    bool ok = x->n->op == RDN_OP_STR2I ? read_int(s, n, &i) : x->n->op == RDN_OP_STR2F ? read_float(s, n, &f)
            : x->n->op == RDN_OP_STR2T ? rdn_read_time(s, n, &i) : rdn_read_dur(s, n, &i);
    if (!ok)
        rdn_ret_undef(x, RDN_CAUSE_RANGE);
    else if (x->n->op == RDN_OP_STR2F)
        rdn_ret_f(x, f);
    else
        rdn_ret_i(x, i);
}

void rdn_op_name(const struct rdn_opx *x) {
    const struct rdn_cell *a = x->a[0];
    if (x->n->op == RDN_OP_SYMFIND) {
        rdn_ret_i(x, rdn_sym_find(x->ir->syms, a->t.p, a->t.len));
        return;
    }
    const char *s = "";
    uint32_t len = 0;
    const struct rdn_type *t = rdn_ir_ltype(x->ir, x->n->a);
    if (x->n->op == RDN_OP_SYMTEXT) {
        if (a->i >= 0 && a->i < (int64_t)rdn_sym_count(x->ir->syms))
            s = rdn_sym_text(x->ir->syms, (uint32_t)a->i, &len);
    } else if (t->kind == RDN_K_ENUM && (uint64_t)a->i < t->n) {
        s = t->members[a->i];
        len = (uint32_t)strlen(s);
    }
    rdn_ret_t(x, s, len);
}

/* A text of n bytes in scratch, or NULL after leaving undefined(overflow). */
static char *new_text(const struct rdn_opx *x, size_t n) {
    char *p = rdn_scratch_alloc(x->sc, n);
    if (!p)
        rdn_ret_undef(x, RDN_CAUSE_OVERFLOW);
    return p;
}

static void ret_copy(const struct rdn_opx *x, const char *s, size_t n) {
    char *p = new_text(x, n);
    if (p) {
        memcpy(p, s, n);
        rdn_ret_t(x, p, n);
    }
}

void rdn_op_totext(const struct rdn_opx *x) {
    const struct rdn_cell *a = x->a[0];
    const struct rdn_node *na = rdn_node_a(x);
    const struct rdn_type *t = rdn_ir_ltype(x->ir, x->n->a);
    char s[RDN_TEXT_MAX];
    size_t n = 0;
    switch ((enum rdn_kind)t->kind) {
    case RDN_K_BOOL: rdn_ret_t(x, a->i ? "true" : "false", a->i ? 4 : 5); return;
    case RDN_K_STR: case RDN_K_TEXT: rdn_ret_cell(x->ret, a); return;
    case RDN_K_SYM: {
        const char *p = "";
        uint32_t len = 0;
        if (a->i >= 0 && a->i < (int64_t)rdn_sym_count(x->ir->syms))
            p = rdn_sym_text(x->ir->syms, (uint32_t)a->i, &len);
        rdn_ret_t(x, p, len);
        return;
    }
    case RDN_K_ENUM: {
        const char *p = (uint64_t)a->i < t->n ? t->members[a->i] : "";
        rdn_ret_t(x, p, strlen(p));
        return;
    }
    case RDN_K_INT: n = rdn_text_i64(s, a->i); break;
    case RDN_K_FLOAT: n = rdn_text_float_short(s, a->f); break;
    case RDN_K_DEC: n = rdn_text_dec(s, rdn_mantissa(na, a), rdn_scale_of(na)); break;
    case RDN_K_TIME: n = rdn_text_time(s, a->i); break;
    case RDN_K_DUR: n = rdn_text_dur(s, a->i); break;
    case RDN_K_DATE: n = rdn_text_date(s, (int32_t)a->i); break;
    case RDN_K_ARR: case RDN_K_EVENT: case RDN_K_NONE: case RDN_K_COUNT: break;
    }
    ret_copy(x, s, n);
}

void rdn_op_concat(const struct rdn_opx *x) {
    const struct rdn_cell *a = x->a[0], *b = x->a[1];
    if (!a->t.len || !b->t.len) {
        rdn_ret_cell(x->ret, a->t.len ? a : b);
        return;
    }
    size_t n = (size_t)a->t.len + b->t.len;
    char *p = n > UINT32_MAX ? NULL : rdn_scratch_alloc(x->sc, n);
    if (!p) {
        rdn_ret_undef(x, RDN_CAUSE_OVERFLOW);
        return;
    }
    memcpy(p, a->t.p, a->t.len);
    memcpy(p + a->t.len, b->t.p, b->t.len);
    rdn_ret_t(x, p, n);
}

void rdn_op_search(const struct rdn_opx *x) {
    const char *s = x->a[0]->t.p;
    size_t n = x->a[0]->t.len;
    if (x->n->op == RDN_OP_LEN) {
        rdn_ret_i(x, (int64_t)rdn_utf8_len(s, n));
        return;
    }
    const char *u = x->a[1]->t.p;
    size_t m = x->a[1]->t.len;
    if (x->n->op == RDN_OP_STARTS || x->n->op == RDN_OP_ENDS) {
        const char *at = x->n->op == RDN_OP_STARTS || m > n ? s : s + (n - m);
        rdn_ret_i(x, m <= n && (m == 0 || memcmp(at, u, m) == 0));
        return;
    }
    const char *at = m == 0 ? s : m <= n ? memmem(s, n, u, m) : NULL;
    bool found = at || m == 0;
    if (x->n->op == RDN_OP_CONTAINS)
        rdn_ret_i(x, found);
    else
        rdn_ret_i(x, !found ? -1 : m == 0 ? 0 : (int64_t)rdn_utf8_len(s, (size_t)(at - s)));
}

void rdn_op_recase(const struct rdn_opx *x) {
    const char *s = x->a[0]->t.p;
    size_t n = x->a[0]->t.len;
    char *p = new_text(x, n), first = x->n->op == RDN_OP_LOWER ? 'A' : 'a';
    if (!p)
        return;
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(s[i] - first) < 26 ? (char)(s[i] ^ 0x20) : s[i];
    rdn_ret_t(x, p, n);
}

/* Bytes of the white space character that ends (at_end) or starts the text, 0 if there is none (the list of chapter 8). */
static size_t space(const char *s, size_t n, bool at_end) {
    static const struct { char s[4]; uint8_t n; } wide[] = {
        { "\xc2\x85", 2 }, { "\xc2\xa0", 2 }, { "\xe1\x9a\x80", 3 }, { "\xe2\x80\xa8", 3 }, { "\xe2\x80\xa9", 3 },
        { "\xe2\x80\xaf", 3 }, { "\xe2\x81\x9f", 3 }, { "\xe3\x80\x80", 3 },
    };
    if (!n)
        return 0;
    char c = at_end ? s[n - 1] : s[0];
    if (c == ' ' || (c >= '\t' && c <= '\r'))
        return 1;
    const char *p = at_end && n >= 3 ? s + n - 3 : s;
    if (n >= 3 && !memcmp(p, "\xe2\x80", 2) && (unsigned char)p[2] >= 0x80 && (unsigned char)p[2] <= 0x8a)
        return 3;                                        /* U+2000 ... U+200A */
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (n >= wide[i].n && !memcmp(at_end ? s + n - wide[i].n : s, wide[i].s, wide[i].n))
            return wide[i].n;
    return 0;
}

void rdn_op_trim(const struct rdn_opx *x) {
    const char *s = x->a[0]->t.p;
    size_t n = x->a[0]->t.len, k;
    while ((k = space(s, n, false)) > 0)
        s += k, n -= k;
    while ((k = space(s, n, true)) > 0)
        n -= k;
    rdn_ret_t(x, s, n);
}
