/* SPDX-License-Identifier: Apache-2.0
 * quotes.c: a native plugin of two functions. Build it with its meson.build, then `redan plugin test .`
 *
 * Rows come as columns, answers go out as one. status[i] = 1 means: undefined. No memory is taken in a call. */
#include <redan/plugin.h>
#include <stdlib.h>
#include <string.h>

REDAN_DECLARE("org.example.quotes", "1.0.0")

struct quotes { int64_t floor; };                       /* fewer orders than this say nothing */

static int mid(void *self, const redan_call *c) {
  const double *bid = (const double *)c->in[0].data, *ask = (const double *)c->in[1].data;
  double *out = (double *)c->out;
  (void)self;
  for (uint32_t i = 0; i < c->nrows; i++) {
    out[i] = (bid[i] + ask[i]) / 2;
    c->status[i] = bid[i] > ask[i];                     /* a crossed market has none */
  }
  return 0;
}

static int imbalance(void *self, const redan_call *c) {
  const struct quotes *q = (const struct quotes *)self;
  const int64_t *bids = (const int64_t *)c->in[0].data, *asks = (const int64_t *)c->in[1].data;
  double *out = (double *)c->out;
  for (uint32_t i = 0; i < c->nrows; i++) {
    int64_t all = bids[i] + asks[i];
    c->status[i] = all < q->floor || all <= 0;
    out[i] = c->status[i] ? 0 : (double)(bids[i] - asks[i]) / (double)all;
  }
  return 0;
}

/* The configuration is one JSON object of our own manifest; a library would read more of it. */
static int create(const redan_host *host, const char *config_json, void **ret_self, redan_error *reterr) {
  const char *at = strstr(config_json, "\"floor\":");
  struct quotes *q = (struct quotes *)malloc(sizeof *q);
  (void)host, (void)reterr;
  if (!q)
    return REDAN_E_NOMEM;
  q->floor = at ? strtoll(at + 8, NULL, 10) : 1;
  *ret_self = q;
  return 0;
}

static void destroy(void *self) { free(self); }

static const redan_fn mid_fn = { sizeof mid_fn, 0, "mid(bid: float, ask: float) -> float", mid };
static const redan_fn imbalance_fn = { sizeof imbalance_fn, 0, "imbalance(bids: int, asks: int) -> float", imbalance };
static const redan_fn *const fns[] = { &mid_fn, &imbalance_fn, NULL };
static const redan_plugin_desc desc = { sizeof desc, REDAN_PLUGIN_ABI, "org.example.quotes", "1.0.0", fns, create, destroy, NULL, NULL, NULL, NULL, NULL, NULL };

REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t host_abi, uint32_t index) {
  return host_abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : NULL;
}
