/* SPDX-License-Identifier: Apache-2.0
 * civil.c: the proleptic Gregorian calendar in closed form, by eras of 400 years that begin on March 1. */
#include "base/text.h"

enum { DAYS_ERA = 146097, EPOCH_SHIFT = 719468 };      /* days from 0000-03-01 to 1970-01-01 */

int64_t rdn_days_from_civil(int year, unsigned m, unsigned d) {
    int64_t y = (int64_t)year - (m <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * ((int64_t)m + (m > 2 ? -3 : 9)) + 2) / 5 + (int64_t)d - 1;
    return era * DAYS_ERA + yoe * 365 + yoe / 4 - yoe / 100 + doy - EPOCH_SHIFT;
}

void rdn_civil_from_days(int64_t days, int *ret_y, unsigned *ret_m, unsigned *ret_d) {
    int64_t z = days + EPOCH_SHIFT;
    int64_t era = (z >= 0 ? z : z - (DAYS_ERA - 1)) / DAYS_ERA;
    int64_t doe = z - era * DAYS_ERA;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;                  /* months from March */
    *ret_d = (unsigned)(doy - (153 * mp + 2) / 5 + 1);
    *ret_m = (unsigned)(mp < 10 ? mp + 3 : mp - 9);
    *ret_y = (int)(yoe + era * 400 + (*ret_m <= 2));
}
