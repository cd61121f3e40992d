/* SPDX-License-Identifier: Apache-2.0
 * fix_ledger.c: see fix_ledger.h. */
#include "market/fix_ledger.h"

#include <string.h>

#include "base/hash.h"

enum { SHARE = 1000000000, TICK = 100000 };               /* a share, and 10^-4 of money, in units of a FIX amount */

static bool whole(int64_t v, int64_t unit, int64_t *ret) {
    *ret = v / unit;
    return v % unit == 0;
}

static bool names(struct rdn_syms *syms, const redan_fix *m, struct rdn_ledger_in *e) {
    const redan_fix_text trader = m->on_behalf_sub.len ? m->on_behalf_sub : m->sender_sub, none = { 0 };
    const struct { redan_fix_text t; uint32_t *at; } rows[] = {
        { m->cl_ord_id, &e->id }, { m->orig_id, &e->orig_id }, { m->account, &e->account }, { trader, &e->trader }, { m->algo, &e->algo }, { m->sender, &e->session },
        { m->venue, &e->venue }, { m->symbol, &e->symbol }, { m->smp, &e->smp }, { none, &e->scope }, { none, &e->key }, { none, &e->state }, { none, &e->who } };
    bool good = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        good = good && rows[i].t.len < 256 && rdn_sym_intern(syms, rows[i].t.len ? rows[i].t.p : "", rows[i].t.len, rows[i].at) >= 0;
    return good;
}

static int order(const redan_fix *m, struct rdn_ledger_in *e) {
    e->kind = RDN_LK_ORDER;
    e->order = m->type == 'D' ? RDN_LO_NEW : m->type == 'G' ? RDN_LO_REPLACE : RDN_LO_CANCEL;
    e->ord_type = m->ord_type == '1';
    e->has_px = m->has >> RDN_FIX_px & 1;
    e->is_short = m->side == '5' || m->side == '6';
    e->short_exempt = m->side == '6';
    if (e->order != RDN_LO_CANCEL && m->ord_type != '1' && m->ord_type != '2')
        return REDAN_E_NOSUP;
    return whole(m->qty, SHARE, &e->qty) && whole(m->px, TICK, &e->px) ? 0 : REDAN_E_INVAL;
}

/* What ExecType 150 is to the ledger; the others change nothing. */
static const struct { char exec_type; uint8_t kind; } reports[] = { { '0', RDN_LK_ACK }, { 'F', RDN_LK_FILL }, { '4', RDN_LK_CANCELLED }, { 'C', RDN_LK_EXPIRED },
                                                                    { '8', RDN_LK_VENUE_REJECT }, { '5', RDN_LK_REPLACED } };
/* A fill counts whatever its price: finer than 10^-4 it is rounded to the account's loss. */
static int report(const redan_fix *m, struct rdn_ledger_in *e) {
    size_t i = 0, n = sizeof reports / sizeof *reports;
    while (i < n && reports[i].exec_type != m->exec_type)
        i++;
    if (i == n || !m->cl_ord_id.len)
        return REDAN_E_NOSUP;
    e->kind = reports[i].kind;
    e->has_account = m->account.len > 0;
    if (e->kind == RDN_LK_FILL)
        e->exec_id = rdn_fnv64(m->exec_id.p, m->exec_id.len) | 1;   /* 0 would be none */
    if (!whole(m->last_px, TICK, &e->px))
        e->px += (e->side == 0 && m->last_px > 0) - (e->side == 1 && m->last_px < 0);
    return whole(m->last_qty, SHARE, &e->qty) ? 0 : REDAN_E_INVAL;
}

int rdn_fix_event(struct rdn_syms *syms, const redan_fix *m, struct rdn_ledger_in *e) {
    memset(e, 0, sizeof *e);
    e->ts = m->ts_ns ? m->ts_ns : m->sent_ns;
    e->side = m->side && m->side != '1';
    if (!names(syms, m, e))
        return REDAN_E_FULL;
    switch (m->type) {
    case 'D': case 'F': case 'G': return order(m, e);
    case '8': return report(m, e);
    case '9': return e->kind = RDN_LK_REPLACE_REJECT, m->reject_to == '2' ? 0 : REDAN_E_NOSUP;
    }
    return REDAN_E_NOSUP;
}

void rdn_fix_refusal(const redan_fix *order, const struct rdn_fix_answer *a, bool in_44, redan_fix *ret) {
    static const redan_fix_text none = { "NONE", 4 };     /* OrderID 37 of an order that no venue has */
    uint64_t reason = in_44 ? a->reason44 : a->reason;
    *ret = (redan_fix){ .type = '8', .order_id = none, .cl_ord_id = order->cl_ord_id, .text = { a->code, (uint32_t)strlen(a->code) }, .ord_status = '8' };
    if (order->type == 'G') {
        ret->type = '9';
        ret->orig_id = order->orig_id;
        ret->reject_to = '2';
        ret->cancel_reason = reason;
        ret->ord_status = a->reason == 1 ? '8' : '0';     /* of an order that is not known: rejected */
    } else {
        ret->exec_type = '8';
        ret->exec_id = order->cl_ord_id;                  /* one answer an order: as unlike as the orders are */
        ret->symbol = order->symbol;
        ret->side = order->side;
        ret->reject_reason = reason;
    }
    redan_fix_fill(ret);
    ret->has |= UINT64_C(1) << (order->type == 'G' ? RDN_FIX_cancel_reason : RDN_FIX_reject_reason);      /* 0 is a reason too */
}
