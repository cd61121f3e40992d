/* SPDX-License-Identifier: Apache-2.0
 * tape.h: a tape in place, for whoever replays it. */
#ifndef RDN_TAPE_H
#define RDN_TAPE_H
#include <redan/market.h>

/* As redan_tape_next, without a copy: events of one block, good until the next call. Instruments in front of them are known. [lane] */
int rdn_tape_some(redan_tape *, uint32_t cap, const redan_mevent **ret, uint32_t *ret_n, redan_error *);
#endif
