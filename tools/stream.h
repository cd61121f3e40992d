/* SPDX-License-Identifier: Apache-2.0
 * stream.h: one stream of events over one or several lanes in this thread, as `run --lanes` and `explain` need it: H and n are
 * given before routing (LANGUAGE.md 17.2), control lines and swaps act on every lane. */
#ifndef RDN_STREAM_H
#define RDN_STREAM_H
#include "tools/tool.h"
#include "host/line.h"

enum { STREAM_ROWS = 64, STREAM_ROW_BYTES = 4096 };
struct stream {
    redan_engine *eng;
    redan_lane *lanes[RDN_LANES_MAX]; uint32_t nlanes;
    int64_t high_water; bool has_high_water;
    uint64_t n;
    uint8_t cold[1 << 15];                               /* by window, after a swap */
    uint32_t event, queued;                              /* rows of one event that wait (stream_wait) */
    _Alignas(8) uint8_t rows[STREAM_ROWS * STREAM_ROW_BYTES];
};
/* Opens `n` lanes on the engine, whose rule set is active. False after a message. */
bool stream_open(struct stream *, redan_engine *, uint32_t n);
void stream_close(struct stream *);
const struct rdn_ir *stream_ir(const struct stream *);
/* A control line; NULL, or why it is bad. */
const char *stream_control(struct stream *, const struct rdn_line *);
/* Judges an event; returns the lane that reports. With `half`, stops before accepted windows change: call stream_finish then. */
redan_lane *stream_judge(struct stream *, uint32_t event, const uint8_t *row, bool half, redan_verdict *ret);
/* Look-ahead: a row may wait for more of its event, so that the executor judges what depends on the row alone for all of them at once.
 * False: it may not, since others wait or its rules have no batches. Nothing else is done to the stream until stream_release has
 * judged those that wait, in order, each followed by `told`. */
bool stream_wait(struct stream *, uint32_t event, const uint8_t *row);
typedef void stream_told(void *ctx, redan_lane *, uint32_t event, const redan_verdict *);
void stream_release(struct stream *, stream_told *told, void *ctx);
void stream_finish(redan_lane *, uint32_t event, const redan_verdict *);
/* Plans the active rules again by what the lanes have seen, when there is reason to (redan_replan); nothing waits. */
void stream_replan(struct stream *);
/* Activates and adopts on every lane; fills .cold. */
int  stream_swap(struct stream *, redan_ruleset *, redan_error *);
#endif
