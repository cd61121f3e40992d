/* SPDX-License-Identifier: Apache-2.0
 * answer.c: decision, state and swap lines (LANGUAGE.md 17.2). */
#include "host/answer.h"
#include "base/text.h"
#include <string.h>

static void put_value(struct rdn_buf *o, const redan_value *v);

static void put_array(struct rdn_buf *o, const redan_value *v) {
    uint32_t rows = v->rows ? v->rows : 1, cols = v->len / rows;
    if (v->rows)
        rdn_buf_putc(o, '[');
    for (uint32_t r = 0; r < rows; r++) {
        rdn_buf_puts(o, r ? ",[" : "[");
        for (uint32_t c = 0; c < cols; c++) {
            redan_value x = { .type = v->type == REDAN_T_INTS ? REDAN_T_INT : REDAN_T_FLOAT };
            if (x.type == REDAN_T_INT)
                x.as.i = v->as.ints[r * cols + c];
            else
                x.as.f = v->as.floats[r * cols + c];
            if (c)
                rdn_buf_putc(o, ',');
            put_value(o, &x);
        }
        rdn_buf_putc(o, ']');
    }
    if (v->rows)
        rdn_buf_putc(o, ']');
}

static void put_value(struct rdn_buf *o, const redan_value *v) {
    char t[RDN_TEXT_MAX];
    switch (v->type) {
    case REDAN_T_BOOL:
        rdn_buf_puts(o, v->as.i ? "true" : "false");
        return;
    case REDAN_T_FLOAT:
        rdn_buf_printf(o, __builtin_isfinite(v->as.f) ? "%s" : "\"%s\"", (rdn_text_float(t, v->as.f), t));
        return;
    case REDAN_T_DEC:
        rdn_text_dec(t, (rdn_i128)((rdn_u128)(uint64_t)v->as.dec.hi << 64 | v->as.dec.lo), v->scale);
        rdn_buf_printf(o, "\"%s\"", t);
        return;
    case REDAN_T_DATE:
        rdn_text_date(t, (int32_t)v->as.i);
        rdn_buf_printf(o, "\"%s\"", t);
        return;
    case REDAN_T_TEXT:
        rdn_buf_json(o, v->as.text, v->len);
        return;
    case REDAN_T_INTS:
    case REDAN_T_FLOATS:
        put_array(o, v);
        return;
    default:
        rdn_buf_printf(o, "%lld", (long long)v->as.i);
    }
}

static void put_name(struct rdn_buf *o, const char *s) { rdn_buf_json(o, s, strlen(s)); }

static void put_codes(struct rdn_buf *o, struct redan_lane *l, const char *member, const uint32_t *codes, uint32_t n) {
    rdn_buf_printf(o, ",\"%s\":[", member);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            rdn_buf_putc(o, ',');
        put_name(o, redan_code_name(l, codes[i]));
    }
    rdn_buf_putc(o, ']');
}

static void put_emits(struct rdn_buf *o, const redan_verdict *v) {
    rdn_buf_puts(o, ",\"emit\":[");
    for (uint32_t i = 0; i < v->nemits; i++) {
        rdn_buf_puts(o, i ? ",{" : "{");
        put_name(o, v->emits[i].name);
        rdn_buf_puts(o, ":{");
        for (uint32_t k = 0; k < v->emits[i].nfields; k++) {
            if (k)
                rdn_buf_putc(o, ',');
            put_name(o, v->emits[i].names[k]);
            rdn_buf_putc(o, ':');
            put_value(o, &v->emits[i].fields[k]);
        }
        rdn_buf_puts(o, "}}");
    }
    rdn_buf_putc(o, ']');
}

static void put_undefined(struct rdn_buf *o, struct redan_lane *l, const redan_verdict *v) {
    rdn_buf_puts(o, ",\"undefined\":[");
    for (uint32_t i = 0; i < v->nundefined; i++) {
        redan_undefined u = { 0 };
        redan_cause(l, i, &u);
        rdn_buf_puts(o, i ? ",[" : "[");
        put_name(o, redan_rule_name(l, u.rule));
        rdn_buf_printf(o, ",\"%s\",\"%u:%u\"]", rdn_cause_text(u.cause), u.line, u.col);
    }
    rdn_buf_putc(o, ']');
}

static void put_messages(struct rdn_buf *o, struct redan_lane *l, const redan_verdict *v) {
    rdn_buf_puts(o, ",\"msgs\":[");
    for (uint32_t i = 0; i < v->ncodes; i++) {
        char buf[1025];
        if (i)
            rdn_buf_putc(o, ',');
        if (l->b->src[l->b->last_codes + i].act->has_msg)
            rdn_buf_json(o, buf, (size_t)redan_message(l, i, buf, sizeof buf));
        else
            rdn_buf_puts(o, "null");
    }
    rdn_buf_putc(o, ']');
}

void rdn_answer_decision(struct rdn_buf *o, struct redan_lane *l, const redan_verdict *v, uint64_t n, const char *type, bool full) {
    rdn_buf_printf(o, "{\"n\":%llu,\"type\":", (unsigned long long)n);
    put_name(o, type);
    rdn_buf_printf(o, ",\"now\":%lld,\"late\":%s,\"verdict\":\"%s\",\"for\":%lld,\"score\":%lld", (long long)v->now_ns,
                   v->flags & REDAN_LATE ? "true" : "false", rdn_verb_text(v->verdict), (long long)v->for_ns, (long long)v->score);
    put_codes(o, l, "codes", v->codes, v->ncodes);
    put_emits(o, v);
    put_undefined(o, l, v);
    put_codes(o, l, "shadow", v->shadow, v->nshadow);
    if (full)
        put_messages(o, l, v);
    rdn_buf_putc(o, '}');
}

void rdn_answer_error(struct rdn_buf *o, const char *why) {
    rdn_buf_puts(o, "{\"error\":");
    put_name(o, why);
    rdn_buf_putc(o, '}');
}

/* ---- state ---- */
static void put_key(struct rdn_buf *o, const struct rdn_syms *syms, const struct rdn_window *w, const uint64_t *words) {
    rdn_buf_puts(o, "[[");
    for (uint32_t i = 0; i < w->nkeys; i++) {
        struct rdn_cell c;
        rdn_key_decode(words, w->ktypes, w->nkeys, i, &c);
        if (i)
            rdn_buf_putc(o, ',');
        rdn_value_json(o, syms, w->ktypes[i], &c);
    }
    rdn_buf_puts(o, "],");
}

static void put_window(struct rdn_buf *o, struct redan_lane *l, uint32_t i) {
    const struct rdn_window *w = &l->b->rs->ir->windows[i];
    struct rdn_win *win = l->b->wins[i];
    struct rdn_win_stats s;
    rdn_win_stats(win, &s);
    put_name(o, w->name);
    rdn_buf_printf(o, ":{\"keys\":%llu,\"evicted\":%llu,\"refused\":%llu,\"skipped\":%llu,\"values\":[", (unsigned long long)s.keys,
                   (unsigned long long)s.evicted, (unsigned long long)s.refused, (unsigned long long)s.skipped);
    uint32_t it = 0;
    const uint64_t *words;
    for (bool first = true; rdn_win_next(win, &it, &words); first = false) {
        struct rdn_cell c;
        if (!first)
            rdn_buf_putc(o, ',');
        put_key(o, l->eng->syms, w, words);
        rdn_key_begin(&l->b->key);
        for (uint32_t k = 0; k < w->nkeys; k++) {
            rdn_key_decode(words, w->ktypes, w->nkeys, k, &c);
            rdn_key_add(&l->b->key, w->ktypes[k], &c);
        }
        rdn_key_end(&l->b->key);
        rdn_win_read(win, &l->b->key, l->has_high_water ? l->high_water : 0, &c);
        if (c.cause)
            rdn_buf_printf(o, "\"%s\"", rdn_cause_text(c.cause));
        else
            rdn_value_json(o, l->eng->syms, w->rtype, &c);
        rdn_buf_putc(o, ']');
    }
    rdn_buf_puts(o, "]}");
}

void rdn_answer_state(struct rdn_buf *o, struct redan_lane *l) {
    rdn_buf_putc(o, '{');
    for (uint32_t i = 0; i < l->b->rs->ir->nwindows; i++) {
        if (i)
            rdn_buf_putc(o, ',');
        put_window(o, l, i);
    }
    rdn_buf_putc(o, '}');
}

static void put_windows(struct rdn_buf *o, const struct rdn_ir *ir, const uint8_t *cold, bool want_cold) {
    bool first = true;
    for (uint32_t i = 0; i < ir->nwindows; i++) {
        if ((cold[i] != 0) != want_cold)
            continue;
        if (!first)
            rdn_buf_putc(o, ',');
        put_name(o, ir->windows[i].name);
        first = false;
    }
}

void rdn_answer_swap(struct rdn_buf *o, const struct rdn_ir *ir, const uint8_t *cold) {
    rdn_buf_puts(o, "{\"swap\":");
    put_name(o, ir->name);
    rdn_buf_puts(o, ",\"kept\":[");
    put_windows(o, ir, cold, false);
    rdn_buf_puts(o, "],\"cold\":[");
    put_windows(o, ir, cold, true);
    rdn_buf_puts(o, "]}");
}
