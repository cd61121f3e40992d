/* SPDX-License-Identifier: Apache-2.0
 * market_stubs.c: the tool of a build without market data. */
#include "tools/market_in.h"
#include "tools/riskpack.h"

const char market_columns[] = "";
static int no_market(void) { return usage("R9013 this build has no market data"); }
struct market_in *market_open(const struct args *a, const char *format, const char *const *files, uint32_t n) {
    (void)a, (void)format, (void)files, (void)n;
    no_market();
    return NULL;
}
void market_close(struct market_in *m) { (void)m; }
const redan_replay_event *market_next(struct market_in *m) { (void)m; return NULL; }
bool market_failed(const struct market_in *m) { (void)m; return true; }
bool market_to_rules(struct market_in *m, redan_lane *const *lanes, uint32_t n) { (void)m, (void)lanes, (void)n; return false; }
bool market_show(struct market_in *m) { (void)m; return false; }
size_t market_row(struct market_in *m, const redan_replay_event *e, char out[MARKET_ROW]) { (void)m, (void)e, (void)out; return 0; }
int cmd_feed(int argc, char **argv) { (void)argc, (void)argv; return no_market(); }
const bool rp_fix_there = false;
bool rp_fix_event(struct rp_fix *f, struct rdn_syms *syms, struct rdn_ledger_in *e) { return (void)f, (void)syms, (void)e, false; }
void rp_fix_answer(struct rp_fix *f, const struct rdn_fix_answer *a, struct rdn_buf *ret) { (void)f, (void)a, (void)ret; }
