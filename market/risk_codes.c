/* SPDX-License-Identifier: Apache-2.0
 * risk_codes.c: see risk_codes.h. */
#include "market/risk_codes.h"
#include <stddef.h>
#include <string.h>

static const struct { const char *name; uint8_t reason; } rows[] = {
#define RCODE(name, reason) { #name, reason },
#include "market/risk_codes.def"
#undef RCODE
};

/* 103 of FIX 4.4 for those beyond 15; 102 for those a cancel reject has a number for. */
static uint8_t in_44(uint8_t reason) {
    return reason <= 15 ? reason : reason == 20 || reason == 25 || reason == 26 || reason == 27 ? 3 : 99;
}
static uint8_t of_replace(uint8_t reason) { return reason == 16 ? 8 : reason == 18 ? 18 : reason == 6 ? 6 : reason == 5 ? 1 : 2; }

bool rdn_risk_answer(const char *const *codes, uint32_t n, bool replace, struct rdn_fix_answer *ret) {
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint32_t i = 0;
        while (i < n && strcmp(codes[i], rows[r].name) != 0)
            i++;
        if (i == n || !rows[r].reason)
            continue;
        uint8_t reason = replace ? of_replace(rows[r].reason) : rows[r].reason;
        ret->code = rows[r].name;
        ret->reason = reason;
        ret->reason44 = !replace ? in_44(reason) : reason == 1 || reason == 6 ? reason : 2;
        return true;
    }
    return false;
}
