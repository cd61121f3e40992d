/* SPDX-License-Identifier: Apache-2.0
 * stream.c: see stream.h. */
#include "tools/stream.h"
#include <string.h>

bool stream_open(struct stream *s, redan_engine *e, uint32_t n) {
    memset(s, 0, sizeof *s);
    s->eng = e;
    for (; s->nlanes < n; s->nlanes++) {
        redan_lane_options o = REDAN_LANE_OPTIONS_INIT;
        redan_error err = { 0 };
        o.index = s->nlanes;
        o.flags = REDAN_LANE_MAY_WAIT | REDAN_LANE_BATCHES;
        if (redan_lane_open(e, &o, &s->lanes[s->nlanes], &err) < 0) {
            print_error(&err);
            return false;
        }
    }
    return true;
}

void stream_close(struct stream *s) {
    for (uint32_t i = 0; i < s->nlanes; i++)
        redan_lane_close(s->lanes[i]);
    s->nlanes = 0;
}

const struct rdn_ir *stream_ir(const struct stream *s) { return s->lanes[0]->b->rs->ir; }

const char *stream_control(struct stream *s, const struct rdn_line *l) {
    for (uint32_t i = 0; i < s->nlanes; i++) {
        if (l->kind == RDN_LINE_PARAM && !rdn_lane_param(s->lanes[i], l->index, &l->val))
            return "parameter outside its range";
        if (l->kind == RDN_LINE_CALL)
            rdn_lane_mock(s->lanes[i], l->index, l->none ? NULL : &l->val);
        if (l->kind == RDN_LINE_ROW && !rdn_lane_row(s->lanes[i], l->index, l->keys, l->none ? NULL : l->vals))
            return "the host table is full";
    }
    return NULL;
}

static void judge_on(redan_lane *l, uint32_t event, const uint8_t *row, int64_t now, bool half, redan_verdict *ret) {
    rdn_judge_start(l);
    if (half)
        rdn_judge_rules(l, event, row, now, ret);
    else
        rdn_lane_judge(l, event, row, now, NULL, ret);
}

redan_lane *stream_judge(struct stream *s, uint32_t event, const uint8_t *row, bool half, redan_verdict *ret) {
    int64_t ts;
    memcpy(&ts, row, sizeof ts);
    if (!s->has_high_water || ts > s->high_water)
        s->high_water = ts;
    s->has_high_water = true;
    s->n++;
    uint32_t lane = rdn_route_lane(s->eng, &stream_ir(s)->events[event], row, s->nlanes);
    if (lane != REDAN_ALL_LANES) {
        judge_on(s->lanes[lane], event, row, s->high_water, half, ret);
        return s->lanes[lane];
    }
    /* Of an event that goes everywhere lane 0 reports; it is judged last, so that its texts are still there. */
    for (uint32_t i = s->nlanes; i-- > 0;)
        judge_on(s->lanes[i], event, row, s->high_water, half && i == 0, ret);
    return s->lanes[0];
}

bool stream_wait(struct stream *s, uint32_t event, const uint8_t *row) {
    uint32_t size = stream_ir(s)->events[event].size;
    bool may = s->nlanes == 1 && size <= STREAM_ROW_BYTES && s->lanes[0]->b->ahead.mask[event] && (!s->queued || s->event == event) && s->queued < STREAM_ROWS;
    if (!may)
        return false;
    s->event = event;
    memcpy(s->rows + (size_t)s->queued++ * size, row, size);
    return true;
}
void stream_release(struct stream *s, stream_told *told, void *ctx) {
    uint32_t n = s->queued, size = n ? stream_ir(s)->events[s->event].size : 0;
    uint32_t looked = n ? rdn_ahead_look(s->lanes[0], s->event, s->rows, size, n) : 0;
    s->queued = 0;
    for (uint32_t i = 0; i < n; i++) {
        redan_verdict v;
        redan_lane *l = s->lanes[0];
        if (i < looked) {
            rdn_ahead_judge(l, s->event, s->rows, size, i, &v);
            s->high_water = l->high_water;
            s->has_high_water = true;
            s->n++;
        } else {
            l = stream_judge(s, s->event, s->rows + (size_t)i * size, false, &v);
        }
        told(ctx, l, s->event, &v);
    }
}

void stream_finish(redan_lane *l, uint32_t event, const redan_verdict *v) { rdn_judge_accept(l, event, v); }

void stream_replan(struct stream *s) {
    redan_error err = { 0 };
    if (redan_replan(s->eng, 0, NULL, &err) < 0)
        print_error(&err);                               /* and the rules go on as they are */
    for (uint32_t i = 0; i < s->nlanes; i++)
        rdn_lane_sync(s->lanes[i]);
}

int stream_swap(struct stream *s, redan_ruleset *rs, redan_error *reterr) {
    int rc = redan_activate(s->eng, rs, NULL, NULL, reterr);
    memset(s->cold, 0, sizeof s->cold);
    for (uint32_t i = 0; rc == 0 && i < s->nlanes; i++) {
        rdn_lane_sync(s->lanes[i]);
        for (uint32_t w = 0; w < rs->ir->nwindows; w++)
            s->cold[w] |= s->lanes[i]->b->cold[w];
    }
    return rc;
}
