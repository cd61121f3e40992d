/* SPDX-License-Identifier: Apache-2.0
 * two_average.c: the functions of two_average.lua in C, as a native plugin: the peer of bench-lua. */
#include <redan/plugin.h>

REDAN_DECLARE("org.example.averages", "1.0.0")

static struct averages { double fast, slow; } of_gap, of_signal;
static int above;

static inline double step(struct averages *a, double bid, double ask) {
    double mid = (bid + ask) * 0.5;
    a->fast += 0.2 * (mid - a->fast);
    a->slow += 0.05 * (mid - a->slow);
    return a->fast - a->slow;
}

static int gap(void *self, const redan_call *c) {
    const double *bid = (const double *)c->in[0].data, *ask = (const double *)c->in[1].data;
    struct averages a = of_gap;
    double *out = (double *)c->out;
    (void)self;
    for (uint32_t i = 0; i < c->nrows; i++)
        out[i] = step(&a, bid[i], ask[i]);
    of_gap = a;
    return 0;
}

static int signal_rows(void *self, const redan_call *c) {
    const double *bid = (const double *)c->in[0].data, *ask = (const double *)c->in[1].data;
    struct averages a = of_signal;
    int64_t *out = (int64_t *)c->out;
    (void)self;
    for (uint32_t i = 0; i < c->nrows; i++) {
        int now = step(&a, bid[i], ask[i]) > 0.0;
        out[i] = now - above;
        above = now;
    }
    of_signal = a;
    return 0;
}

static const redan_fn gap_fn = { sizeof gap_fn, 0, "gap(bid: float, ask: float) -> float", gap };
static const redan_fn signal_fn = { sizeof signal_fn, 0, "signal(bid: float, ask: float) -> int", signal_rows };
static const redan_fn *const fns[] = { &gap_fn, &signal_fn, NULL };
static const redan_plugin_desc desc = { sizeof desc, REDAN_PLUGIN_ABI, "org.example.averages", "1.0.0", fns, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };

REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t host_abi, uint32_t index) {
    return host_abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : NULL;
}
