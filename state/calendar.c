/* SPDX-License-Identifier: Apache-2.0
 * calendar.c: is a time inside a session (LANGUAGE.md chapter 9). O(sessions), with one look-up of a date per list named.
 *
 * An answer comes with the span in which it holds: up to the next minute of the local day at which a session opens or closes,
 * midnight, or the next change of the clock. Who keeps the span asks again a few times a day. */
#include "state/data.h"

#include <string.h>

#include "base/tz.h"

enum { DAY_SECONDS = 86400 };
struct rdn_cal {
    const struct rdn_calendar *def;
    const struct rdn_tz *tz;
    const struct rdn_mem *mem;
    struct rdn_listset **lists;                          /* by index of the rule set's lists; NULL where unused */
    uint32_t nlists;
};

static int open_list(struct rdn_cal *c, const struct rdn_list *lists, uint32_t i) {
    return c->lists[i] ? 0 : rdn_listset_open(&lists[i], c->mem, &c->lists[i]);
}

static uint32_t lists_named(const struct rdn_calendar *d) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        const struct rdn_session *s = &d->sessions[i];
        if (s->list >= 0 && (uint32_t)s->list >= n)
            n = (uint32_t)s->list + 1;
        for (uint32_t j = 0; j < s->nexcept; j++)
            n = s->except[j] >= n ? s->except[j] + 1 : n;
    }
    return n;
}

static int open_lists(struct rdn_cal *c, const struct rdn_list *lists) {
    for (uint32_t i = 0; i < c->def->n; i++) {
        const struct rdn_session *s = &c->def->sessions[i];
        int rc = s->list >= 0 ? open_list(c, lists, (uint32_t)s->list) : 0;
        for (uint32_t j = 0; rc == 0 && j < s->nexcept; j++)
            rc = open_list(c, lists, s->except[j]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int rdn_cal_open(const struct rdn_calendar *d, const struct rdn_list *lists, const struct rdn_mem *mem, struct rdn_cal **ret) {
    const struct rdn_tz *tz = rdn_tz_find(d->zone, strlen(d->zone));
    if (!tz)
        return REDAN_E_INVAL;
    struct rdn_cal *c = rdn_zalloc(mem, sizeof *c);
    if (!c)
        return REDAN_E_NOMEM;
    *c = (struct rdn_cal){ .def = d, .tz = tz, .mem = mem };
    uint32_t n = lists_named(d);
    if (n && !(c->lists = rdn_zalloc(mem, n * sizeof *c->lists))) {
        rdn_cal_close(c);
        return REDAN_E_NOMEM;
    }
    c->nlists = n;
    int rc = open_lists(c, lists);
    if (rc < 0) {
        rdn_cal_close(c);
        return rc;
    }
    *ret = c;
    return 0;
}

void rdn_cal_close(struct rdn_cal *c) {
    if (!c)
        return;
    for (uint32_t i = 0; i < c->nlists; i++)
        rdn_listset_close(c->lists[i]);
    if (c->lists)
        rdn_free(c->mem, c->lists, c->nlists * sizeof *c->lists);
    rdn_free(c->mem, c, sizeof *c);
}

static bool listed(const struct rdn_cal *c, uint32_t list, int64_t day) {
    struct rdn_cell v = { .i = day };
    return rdn_listset_has(c->lists[list], &v);
}

/* `day` from 1970-01-01, a Thursday. */
static bool opens_on(const struct rdn_cal *c, const struct rdn_session *s, int64_t day) {
    unsigned weekday = (unsigned)(((day + 3) % 7 + 7) % 7);   /* 0 Monday */
    if (s->list < 0 ? !(s->days >> weekday & 1) : !listed(c, (uint32_t)s->list, day))
        return false;
    for (uint32_t i = 0; i < s->nexcept; i++)
        if (listed(c, s->except[i], day))
            return false;
    return true;
}

static bool open_in(const struct rdn_cal *c, int64_t day, uint32_t minute) {
    for (uint32_t i = 0; i < c->def->n; i++) {
        const struct rdn_session *s = &c->def->sessions[i];
        if (s->open < s->close) {
            if (minute >= s->open && minute < s->close && opens_on(c, s, day))
                return true;
        } else if ((minute >= s->open && opens_on(c, s, day)) || (minute < s->close && opens_on(c, s, day - 1))) {
            return true;                                 /* past midnight it belongs to the day it opened */
        }
    }
    return false;
}

static void narrow(uint32_t *from, uint32_t *until, uint32_t minute, uint32_t edge) {
    if (edge <= minute)
        *from = edge > *from ? edge : *from;
    else
        *until = edge < *until ? edge : *until;
}

bool rdn_cal_span_at(const struct rdn_cal *c, int64_t now, struct rdn_cal_span *ret) {
    const int64_t far = INT64_MAX / 1000000000;
    int64_t sec = now / 1000000000 - (now % 1000000000 < 0);
    struct rdn_tz_span zone;
    rdn_tz_span(c->tz, sec, &zone);
    int64_t local = sec + zone.offset, day = local / DAY_SECONDS - (local % DAY_SECONDS < 0), midnight = day * DAY_SECONDS - zone.offset;
    uint32_t minute = (uint32_t)(local - day * DAY_SECONDS) / 60, from = 0, until = DAY_SECONDS / 60;
    for (uint32_t i = 0; i < c->def->n; i++) {
        narrow(&from, &until, minute, c->def->sessions[i].open);
        narrow(&from, &until, minute, c->def->sessions[i].close);
    }
    int64_t first = midnight + from * 60, last = midnight + until * 60;
    first = first > zone.from ? first : zone.from;
    last = last < zone.until ? last : zone.until;
    first = first > -far ? first : -far; /* the rest of a second at either end of time is looked up each time */
    last = last < far ? last : far;
    *ret = (struct rdn_cal_span){ first * 1000000000, last * 1000000000, open_in(c, day, minute) };
    return ret->open;
}
