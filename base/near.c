/* SPDX-License-Identifier: Apache-2.0
 * near.c: "did you mean": optimal string alignment distance, three rows at a time. Cold. */
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 256 };                                /* names end at 64 bytes, symbols at 255 */

static int lower(char c) { return c >= 'A' && c <= 'Z' ? c + 32 : (unsigned char)c; }
static int min2(int a, int b) { return a < b ? a : b; }

static int distance(const char *a, size_t na, const char *b, size_t nb, int cap) {
    if ((na > nb ? na - nb : nb - na) > (size_t)cap || na >= LONGEST || nb >= LONGEST)
        return cap + 1;
    int rows[3][LONGEST + 1];
    int *before = rows[0], *prev = rows[1], *cur = rows[2];
    for (size_t j = 0; j <= nb; j++)
        prev[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        cur[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int x = lower(a[i - 1]), y = lower(b[j - 1]);
            int v = min2(min2(prev[j], cur[j - 1]) + 1, prev[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                v = min2(v, before[j - 2] + 1);
            cur[j] = v;
        }
        int *t = before;
        before = prev;
        prev = cur;
        cur = t;
    }
    return prev[nb];
}

int rdn_nearest(const char *word, const char *const *options, size_t n) {
    size_t len = strlen(word);
    int cap = len <= 3 ? 1 : len <= 7 ? 2 : 3, best = -1, best_d = 0;
    for (size_t i = 0; i < n; i++) {
        int d = distance(word, len, options[i], strlen(options[i]), cap);
        if (d > cap)
            continue;
        if (best < 0 || d < best_d || (d == best_d && strcmp(options[i], options[best]) < 0)) {
            best = (int)i;
            best_d = d;
        }
    }
    return best;
}
