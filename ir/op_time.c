/* SPDX-License-Identifier: Apache-2.0
 * op_time.c: fields of local time. The zone is ir->zones[aux]; [0] is UTC. */
#include "ir/op.h"
#include "base/text.h"
#include "base/tz.h"

void rdn_op_time(const struct rdn_opx *x) {
    enum { DAY_S = 86400 };
    int64_t ns = x->a[0]->i, s = rdn_floor_div(ns, 1000000000), r = 0;
    if (x->n->op == RDN_OP_MILLI) {
        rdn_ret_i(x, (int64_t)((uint64_t)ns - (uint64_t)s * 1000000000u) / 1000000);   /* s * 10^9 may lie below the range */
        return;
    }
    s += rdn_tz_offset(x->ir->zones[x->n->aux], s);
    int64_t day = rdn_floor_div(s, DAY_S), of_day = s - day * DAY_S;
    int y;
    unsigned m, d;
    rdn_civil_from_days(day, &y, &m, &d);
    switch (x->n->op) {
    case RDN_OP_HOUR: r = of_day / 3600; break;
    case RDN_OP_MINUTE: r = of_day / 60 % 60; break;
    case RDN_OP_SECOND: r = of_day % 60; break;
    case RDN_OP_DAY: r = d; break;
    case RDN_OP_MONTH: r = m; break;
    case RDN_OP_YEAR: r = y; break;
    case RDN_OP_WEEKDAY: r = (day % 7 + 7 + 4) % 7; break;   /* 1970-01-01 was a Thursday */
    case RDN_OP_YEARDAY: r = day - rdn_days_from_civil(y, 1, 1) + 1; break;
    case RDN_OP_DATE: r = day; break;
    }
    rdn_ret_i(x, r);
}
