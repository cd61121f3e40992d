/* SPDX-License-Identifier: Apache-2.0
 * riskpack_fix.c: orders and executions of a row as FIX 4.4 messages: written, read back, and judged as what came out; refusals as the
 * messages that answer them. */
#include "tools/riskpack.h"
#include "market/fix_ledger.h"
#include <string.h>

const bool rp_fix_there = true;
enum { NANO = 1000000000, TICK = 100000 };

static redan_fix_text text_of(const struct rdn_syms *syms, uint32_t id) {
    redan_fix_text t;
    t.p = rdn_sym_text(syms, id, &t.len);
    return t;
}

static bool say_order(const struct rdn_syms *s, const struct rdn_ledger_in *e, redan_fix *m) {
    static const char types[] = { [RDN_LO_NEW] = 'D', [RDN_LO_REPLACE] = 'G', [RDN_LO_CANCEL] = 'F' };
    int64_t qty = e->order == RDN_LO_CANCEL ? 1 : e->qty;  /* a cancel's means nothing */
    m->type = types[e->order];
    m->side = e->side == 0 ? '1' : e->short_exempt ? '6' : e->is_short ? '5' : '2';
    m->ord_type = e->ord_type ? '1' : '2';
    m->cl_ord_id = text_of(s, e->id), m->orig_id = text_of(s, e->orig_id), m->account = text_of(s, e->account), m->sender_sub = text_of(s, e->trader);
    m->algo = text_of(s, e->algo), m->sender = text_of(s, e->session), m->venue = text_of(s, e->venue), m->symbol = text_of(s, e->symbol), m->smp = text_of(s, e->smp);
    bool good = !__builtin_mul_overflow(qty, (int64_t)NANO, &m->qty) && !__builtin_mul_overflow(e->px, (int64_t)TICK, &m->px);
    redan_fix_fill(m);
    m->has = e->has_px ? m->has | UINT64_C(1) << RDN_FIX_px : m->has & ~(UINT64_C(1) << RDN_FIX_px);
    return good;
}

static bool say_report(struct rp_fix *f, const struct rdn_syms *s, const struct rdn_ledger_in *e, redan_fix *m) {
    static const char types[RDN_LK_COUNT] = { [RDN_LK_ACK] = '0', [RDN_LK_FILL] = 'F', [RDN_LK_CANCELLED] = '4', [RDN_LK_EXPIRED] = 'C',
                                              [RDN_LK_VENUE_REJECT] = '8', [RDN_LK_REPLACED] = '5' };
    bool reject = e->kind == RDN_LK_REPLACE_REJECT, good = true;
    m->type = reject ? '9' : '8';
    m->ord_status = '0';
    m->order_id = (redan_fix_text){ "V1", 2 };
    m->cl_ord_id = text_of(s, e->id);
    if (reject) {
        m->orig_id = m->cl_ord_id;
        m->reject_to = '2';
    } else {
        m->exec_type = types[e->kind];
        m->exec_id = (redan_fix_text){ f->exec_id, (uint32_t)snprintf(f->exec_id, sizeof f->exec_id, "e%llu", (unsigned long long)++f->execs) };
        m->symbol = (redan_fix_text){ "-", 1 };           /* the order's id says it all */
        m->side = '1';
        good = !__builtin_mul_overflow(e->qty, (int64_t)NANO, &m->last_qty) && !__builtin_mul_overflow(e->px, (int64_t)TICK, &m->last_px);
    }
    redan_fix_fill(m);
    return good;
}

bool rp_fix_event(struct rp_fix *f, struct rdn_syms *syms, struct rdn_ledger_in *e) {
    redan_fix m = { .ts_ns = e->ts };
    struct rdn_ledger_in got;
    size_t used;
    bool order = e->kind == RDN_LK_ORDER, report = e->kind >= RDN_LK_ACK && e->kind <= RDN_LK_REPLACE_REJECT;
    if (!order && !report)
        return false;
    bool good = order ? say_order(syms, e, &m) : say_report(f, syms, e, &m);
    size_t n = good ? redan_fix_encode(&m, f->text, sizeof f->text) : 0;
    good = n && redan_fix_decode(f->text, n, &f->order, &used) == 0 && used == n && rdn_fix_event(syms, &f->order, &got) == 0;
    *(good ? &f->said : &f->unsaid) += 1;
    if (good)
        *e = got;
    return good;
}

/* A refusal as it is read by who gets it; false: it cannot be written or is read as another one. */
static bool hear(const redan_fix *order, const struct rdn_fix_answer *a, bool in_44, char *text, size_t cap, redan_fix *ret) {
    redan_fix m;
    size_t used;
    rdn_fix_refusal(order, a, in_44, &m);
    size_t n = redan_fix_encode(&m, text, cap);
    return n && redan_fix_decode(text, n, ret, &used) == 0 && used == n && ret->cl_ord_id.len == order->cl_ord_id.len &&
           memcmp(ret->cl_ord_id.p, order->cl_ord_id.p, ret->cl_ord_id.len) == 0;
}

void rp_fix_answer(struct rp_fix *f, const struct rdn_fix_answer *a, struct rdn_buf *ret) {
    char text[2][1024];
    redan_fix m, m44;
    if (!hear(&f->order, a, false, text[0], sizeof text[0], &m) || !hear(&f->order, a, true, text[1], sizeof text[1], &m44))
        rdn_buf_puts(ret, "a message that cannot be read");
    else if (m.type == '9')
        rdn_buf_printf(ret, "{\"102\":%llu,\"102_fix44\":%llu,\"35\":\"9\",\"434\":\"%c\",\"58\":\"%.*s\"}", (unsigned long long)m.cancel_reason,
                       (unsigned long long)m44.cancel_reason, m44.reject_to, (int)m44.text.len, m44.text.p);
    else
        rdn_buf_printf(ret, "{\"103\":%llu,\"103_fix44\":%llu,\"150\":\"%c\",\"35\":\"%c\",\"39\":\"%c\",\"58\":\"%.*s\"}", (unsigned long long)m.reject_reason,
                       (unsigned long long)m44.reject_reason, m44.exec_type, m44.type, m44.ord_status, (int)m44.text.len, m44.text.p);
}
