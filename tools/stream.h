/* SPDX-License-Identifier: Apache-2.0
 * stream.h: one stream of events over one or several lanes in this thread, as `run --lanes` and `explain` need it: H and n are
 * given before routing (LANGUAGE.md 17.2), control lines and swaps act on every lane. */
#ifndef RDN_STREAM_H
#define RDN_STREAM_H
#include "tools/tool.h"
#include "host/line.h"

struct stream {
    redan_engine *eng;
    redan_lane *lanes[RDN_LANES_MAX]; uint32_t nlanes;
    int64_t high_water; bool has_high_water;
    uint64_t n;
    uint8_t cold[1 << 15];                               /* by window, after a swap */
};
/* Opens `n` lanes on the engine, whose rule set is active. False after a message. */
bool stream_open(struct stream *, redan_engine *, uint32_t n);
void stream_close(struct stream *);
const struct rdn_ir *stream_ir(const struct stream *);
/* A control line; NULL, or why it is bad. */
const char *stream_control(struct stream *, const struct rdn_line *);
/* Judges an event; returns the lane that reports. With `half`, stops before accepted windows change: call stream_finish then. */
redan_lane *stream_judge(struct stream *, uint32_t event, const uint8_t *row, bool half, redan_verdict *ret);
void stream_finish(redan_lane *, uint32_t event, const redan_verdict *);
/* Activates and adopts on every lane; fills .cold. */
int  stream_swap(struct stream *, redan_ruleset *, redan_error *);
#endif
