/* SPDX-License-Identifier: Apache-2.0
 * out.c: colours only on a terminal, progress only for long work. */
#include "tools/tool.h"
#include "base/clock.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool color_wanted(const struct args *a, FILE *f) {
    const char *v = args_value(a, "--color"), *force = getenv("CLICOLOR_FORCE"), *no = getenv("NO_COLOR");
    if (v && strcmp(v, "auto") != 0)
        return strcmp(v, "always") == 0;
    if (no && *no)
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return isatty(fileno(f));
}

void out_buf(FILE *f, struct rdn_buf *b) {
    fwrite(rdn_buf_str(b), 1, b->n, f);
    b->n = 0;
}

enum { MODE_OFF, MODE_BAR, MODE_PLAIN };
#define BAR_AFTER_NS 300000000
#define LINE_EVERY_NS 5000000000

void progress_start(struct progress *p, const struct args *a, const char *what, uint64_t total) {
    const char *v = args_value(a, "--progress");
    int mode = isatty(fileno(stderr)) ? MODE_BAR : MODE_PLAIN;
    if (v && strcmp(v, "off") == 0)
        mode = MODE_OFF;
    if (v && strcmp(v, "plain") == 0)
        mode = MODE_PLAIN;
    *p = (struct progress){ what, total, rdn_mono_ns(), 0, mode, false };
    p->last = p->start;
}

void progress_step(struct progress *p, uint64_t done) {
    if (p->mode == MODE_OFF)
        return;
    int64_t now = rdn_mono_ns(), wait = p->mode == MODE_BAR ? BAR_AFTER_NS : LINE_EVERY_NS;
    if (now - p->last < wait)
        return;
    p->last = now;
    p->shown = true;
    double s = (double)(now - p->start) * 1e-9, rate = (double)done / s;
    if (p->total)
        fprintf(stderr, "%s%s: %3.0f %%, %.0f/s, %.0f s left%s", p->mode == MODE_BAR ? "\r" : "", p->what, 100.0 * (double)done / (double)p->total,
                rate, (double)(p->total - done) / (rate > 0 ? rate : 1), p->mode == MODE_BAR ? "   " : "\n");
    else
        fprintf(stderr, "%s%s: %llu, %.0f/s%s", p->mode == MODE_BAR ? "\r" : "", p->what, (unsigned long long)done, rate,
                p->mode == MODE_BAR ? "   " : "\n");
    fflush(stderr);
}

void progress_end(struct progress *p) {
    if (p->mode == MODE_BAR && p->shown)
        fprintf(stderr, "\r%60s\r", "");
}
