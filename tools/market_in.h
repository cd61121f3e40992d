/* SPDX-License-Identifier: Apache-2.0
 * market_in.h: market files and tapes as the tool reads them: options, merged events, and an event as a row of text with the columns of
 * market_columns, for maps (csv_map.h) and `redan feed convert`. One thread. */
#ifndef RDN_MARKET_IN_H
#define RDN_MARKET_IN_H
#include "tools/tool.h"
#include <redan/market.h>

/* What every verb that reads market data knows. */
#define MARKET_OPTIONS \
    { "--tick", OPT_VALUE, "" }, { "--lot", OPT_VALUE, "" }, { "--symbol", OPT_VALUE, "" }, { "--date", OPT_VALUE, "" }, { "--seed", OPT_VALUE, "" }, \
    { "--window", OPT_VALUE, "" }, { "--far", OPT_VALUE, "" }

struct market_in;
extern const char market_columns[];
/* Opens the files. `format`: of all of them, NULL: found out. False after a message. */
struct market_in *market_open(const struct args *, const char *format, const char *const *files, uint32_t n);
void market_close(struct market_in *);                   /* takes NULL */
/* The next event, waited for when --speed says so; books are as of it. NULL: the end, or an error that was printed. */
const redan_replay_event *market_next(struct market_in *);
bool market_failed(const struct market_in *);
/* Rules read the books of the files as host tables: on each of the lanes, whose rules are active. False after a message. */
bool market_to_rules(struct market_in *, redan_lane *const *lanes, uint32_t n);
/* The books as of the event at hand, for what is judged next. False after a message. */
bool market_show(struct market_in *);
const redan_feed *market_feed(struct market_in *, uint32_t file);
/* The event as a row, without LF; bytes. `cap` of MARKET_ROW is always enough. */
enum { MARKET_ROW = 16384 };
size_t market_row(struct market_in *, const redan_replay_event *, char out[MARKET_ROW]);
/* Ticks as a price of that instrument; at least RDN_TEXT_MAX bytes. */
size_t market_price(const redan_feed *, uint32_t instrument, int64_t ticks, char *out);
const char *market_action(uint8_t action);               /* "add"; "?" */
#endif
