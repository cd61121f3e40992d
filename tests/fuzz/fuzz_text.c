/* SPDX-License-Identifier: Apache-2.0
 * fuzz_text.c: the readers of base/text.h. What was read and is written again must read the same. */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/text.h"

static void must(bool ok) {
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *s = (const char *)data;
    char t[RDN_TEXT_MAX];
    int64_t i, j;
    int32_t d, e;
    double x, y;
    if (rdn_read_time(s, n, &i))
        must(rdn_read_time(t, rdn_text_time(t, i), &j) && j == i);
    if (rdn_read_dur(s, n, &i))
        must(rdn_read_dur(t, rdn_text_dur(t, i), &j) && j == i);
    if (rdn_read_date(s, n, &d))
        must(rdn_read_date(t, rdn_text_date(t, d), &e) && e == d);
    if (rdn_read_i64(s, n, &i))
        must(rdn_read_i64(t, rdn_text_i64(t, i), &j) && j == i);
    if (rdn_read_f64(s, n, &x) && x - x == 0)
        must(rdn_read_f64(t, rdn_text_float(t, x), &y) && memcmp(&x, &y, sizeof x) == 0);
    if (n >= 8) {
        memcpy(&x, data, 8);
        rdn_text_float_short(t, x);
    }
    must(rdn_utf8_len(s, n) <= n);
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_buf_json(&b, s, n);
    must(rdn_utf8_valid(s, n) == rdn_utf8_valid(b.p, b.n));
    rdn_buf_fini(&b);
    return 0;
}
