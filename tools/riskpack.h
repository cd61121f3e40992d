/* SPDX-License-Identifier: Apache-2.0
 * riskpack.h: rows of test cases of the standard pre-trade pack: set-ups and events out of JSON (riskpack_row.c), judged and compared
 * (riskpack_verb.c), through FIX where that is asked for (riskpack_fix.c). */
#ifndef RDN_RISKPACK_H
#define RDN_RISKPACK_H
#include "host/ledger_host.h"
#include "tools/tool.h"
#include "base/buf.h"
#include "base/json_read.h"
#include "market/risk_codes.h"
#include <redan/market.h>

enum { RP_LENGTHS = 3, RP_PARAMS = 11 };
struct rp_defaults { struct rdn_json_reader json; const struct rdn_json *root; };
struct rp_row {
    struct rdn_json_reader *json;                         /* of the line */
    const struct rdn_json *root, *setup;
    const struct rp_defaults *def;
    struct rdn_syms *syms;
    char why[300];                                        /* after a failure: why the row has no form */
};
/* A member of the row's set-up limits, or the default. */
const struct rdn_json *rp_limit(const struct rp_row *, const char *name);
bool rp_int(const struct rdn_json *, int64_t *ret);
bool rp_dec(const struct rdn_json *, unsigned scale, int64_t *ret);
extern const char *const rp_lengths[RP_LENGTHS];          /* limits that are lengths of windows, in ms */
/* Ids remembered and the silence of a session; then all reference data. False: .why. */
bool rp_options(struct rp_row *, struct rdn_ledger_options *ret);
bool rp_setup(struct rp_row *, struct rdn_ledger *);
/* Limits that are parameters of the rules, by name. */
bool rp_params(struct rp_row *, redan_lane *);
bool rp_event(struct rp_row *, const struct rdn_json *, struct rdn_ledger_in *ret);
/* Members in order of their names, so that equal values are equal texts. */
void rp_canon(struct rdn_buf *, const struct rdn_json_reader *, const struct rdn_json *);

/* riskpack_fix.c: the event as a FIX message that was written and read. False: none, or one that FIX cannot say; it stays as it is. */
struct rp_fix { uint64_t said, unsaid, execs; char exec_id[24], text[4096]; redan_fix order; };      /* order: the last one said, its texts in text */
extern const bool rp_fix_there;                           /* built with market data */
bool rp_fix_event(struct rp_fix *, struct rdn_syms *, struct rdn_ledger_in *);
/* The message that refuses it, as a row's expectation is written. */
void rp_fix_answer(struct rp_fix *, const struct rdn_fix_answer *, struct rdn_buf *ret);
#endif
