/* SPDX-License-Identifier: Apache-2.0
 * feed_kit.h: a feed with one instrument of tick 0.01, and bytes through it in pieces. */
#ifndef RDN_FEED_KIT_H
#define RDN_FEED_KIT_H
#include <redan/market.h>

#include "tests/unit/rows.h"

redan_feed *kit_open(const char *format, const char *symbol, uint32_t number);
/* Decodes and applies all of it, `piece` bytes more at a time. */
void kit_feed(redan_feed *, const void *data, size_t len, size_t piece);
uint32_t kit_flags(const redan_feed *);                  /* of the line of instrument 0 */
uint64_t kit_fault(const redan_feed *, uint32_t fault);
#endif
