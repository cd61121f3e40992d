/* SPDX-License-Identifier: Apache-2.0
 * test_dec.c: the corners of dec.h; base_diff.py covers the plain. */
#include "tests/unit/rows.h"
#include <math.h>
#include "base/dec.h"

static void rescale(void **state) {
    (void)state;
    static const struct { rdn_i128 m; unsigned from, to; bool ok; rdn_i128 want; } rows[] = {
        {25, 1, 0, true, 2},                           /* ties to even, both ways and both signs */
        {35, 1, 0, true, 4},
        {-25, 1, 0, true, -2},
        {-35, 1, 0, true, -4},
        {251, 2, 0, true, 3},
        {7, 0, 18, true, (rdn_i128)7000000000000000000},
        {RDN_I128_MAX, 3, 3, true, RDN_I128_MAX},
        {RDN_I128_MIN, 3, 3, true, RDN_I128_MIN},
        {RDN_I128_MAX, 0, 1, false, 0},
        {RDN_I128_MIN, 0, 1, false, 0},
        {RDN_I128_MIN / 10, 0, 1, true, RDN_I128_MIN / 10 * 10},
    };
    for each (i, rows) {
        rdn_i128 v = 4711;
        bool ok = rdn_dec_rescale(rows[i].m, rows[i].from, rows[i].to, &v);
        check(ok == rows[i].ok && v == (ok ? rows[i].want : 4711), "row %zu", i);
    }
}

static void compare(void **state) {
    (void)state;
    static const struct { rdn_i128 a; unsigned sa; rdn_i128 b; unsigned sb; int want; } rows[] = {
        {10, 1, 1, 0, 0},      {1, 0, 10, 1, 0},       {11, 1, 1, 0, 1},  {-11, 1, -1, 0, -1},
        {RDN_I128_MAX, 0, RDN_I128_MAX, 18, 1},        /* the scaled side leaves 128 bits */
        {RDN_I128_MIN, 0, RDN_I128_MIN, 18, -1},
        {RDN_I128_MAX, 18, RDN_I128_MIN, 0, 1},
        {0, 18, 0, 0, 0},
    };
    for each (i, rows) {
        check(rdn_dec_cmp(rows[i].a, rows[i].sa, rows[i].b, rows[i].sb) == rows[i].want, "row %zu", i);
        check(rdn_dec_cmp(rows[i].b, rows[i].sb, rows[i].a, rows[i].sa) == -rows[i].want, "row %zu reversed", i);
    }
}

static void divide(void **state) {
    (void)state;
    rdn_i128 e38 = rdn_pow10(38);
    const struct { rdn_i128 a; unsigned sa; rdn_i128 b; unsigned sb, n; int rc; rdn_i128 want; } rows[] = {
        {1, 0, 3, 0, 4, 0, 3333},
        {2, 0, 3, 0, 4, 0, 6667},
        {1, 0, 8, 0, 2, 0, 12},                        /* 0.125 */
        {3, 0, 8, 0, 2, 0, 38},                        /* 0.375 */
        {-1, 0, 8, 0, 2, 0, -12},
        {1, 0, 0, 5, 2, 5, 0},
        {0, 18, -7, 0, 18, 0, 0},
        {e38, 0, e38, 0, 18, 0, rdn_pow10(18)},        /* the numerator has 187 bits */
        {RDN_I128_MAX, 0, 1, 0, 0, 0, RDN_I128_MAX},
        {RDN_I128_MIN, 0, 1, 0, 0, 0, RDN_I128_MIN},
        {RDN_I128_MIN, 0, -1, 0, 0, 4, 0},
        {RDN_I128_MAX, 0, 1, 0, 1, 4, 0},
        {RDN_I128_MAX, 0, 1, 18, 18, 4, 0},
        {RDN_I128_MIN, 18, RDN_I128_MIN, 0, 0, 0, 0},  /* the denominator has 187 bits */
        {1, 18, RDN_I128_MAX, 0, 0, 0, 0},
        {RDN_I128_MAX, 0, RDN_I128_MAX - 1, 0, 18, 0, rdn_pow10(18)},
    };
    for each (i, rows) {
        rdn_i128 v = 4711;
        int rc = rdn_dec_div(rows[i].a, rows[i].sa, rows[i].b, rows[i].sb, rows[i].n, &v);
        check(rc == rows[i].rc && v == (rc ? 4711 : rows[i].want), "row %zu: rc %d", i, rc);
    }
}

static void doubles(void **state) {
    (void)state;
    static const struct { double x; unsigned scale; int rc; rdn_i128 want; } rows[] = {
        {0.1, 18, 0, 100000000000000006},              /* the binary value, not the text */
        {2.5, 0, 0, 2}, {3.5, 0, 0, 4}, {-2.5, 0, 0, -2}, {0.5, 0, 0, 0}, {-0.0, 4, 0, 0},
        {0x1p126, 0, 0, (rdn_i128)1 << 126},
        {0x1p127, 0, 4, 0},
        {-0x1p127, 0, 0, RDN_I128_MIN},
        {-0x1.0000000000001p127, 0, 4, 0},
        {1e300, 0, 4, 0}, {1e300, 18, 4, 0}, {5e-324, 18, 0, 0}, {NAN, 2, 3, 0}, {INFINITY, 2, 6, 0}, {-INFINITY, 2, 6, 0},
    };
    for each (i, rows) {
        rdn_i128 v = 4711;
        int rc = rdn_f64_to_dec(rows[i].x, rows[i].scale, &v);
        check(rc == rows[i].rc && v == (rc ? 4711 : rows[i].want), "row %zu: rc %d", i, rc);
    }
    assert_true(rdn_dec_to_f64(1, 1) == 0.1);
    assert_true(rdn_i128_to_f64(((rdn_i128)1 << 53) + 1) == 0x1p53);
    assert_true(rdn_i128_to_f64(RDN_I128_MIN) == -0x1p127);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rescale), cmocka_unit_test(compare), cmocka_unit_test(divide), cmocka_unit_test(doubles),
    };
    return cmocka_run_group_tests_name("dec", tests, NULL, NULL);
}
