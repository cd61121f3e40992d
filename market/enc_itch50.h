/* SPDX-License-Identifier: Apache-2.0
 * enc_itch50.h: market events as ITCH 5.0 messages, for round trips: what the decoder reads, written. [any] */
#ifndef RDN_ENC_ITCH50_H
#define RDN_ENC_ITCH50_H
#include <redan/market.h>
#include <stdbool.h>

enum { RDN_ITCH50_MAX = 64 };
struct rdn_itch50_out {
    uint16_t locate, tracking;
    char     symbol[9];                  /* padded to 8 with spaces by the writer */
    int64_t  date_ns;
    uint32_t px_per_tick;                /* units of 1/10,000 */
};
/* One message with its two bytes of length, at most RDN_ITCH50_MAX bytes; 0: ITCH has none for this event. A trade is P, with
 * order_id as the reference and other_id as the match number. */
size_t rdn_itch50_write(const struct rdn_itch50_out *, const redan_mevent *, unsigned char *out);
#endif
