/* SPDX-License-Identifier: Apache-2.0
 * test_clock.c: real and fake time. */
#include "tests/unit/rows.h"
#include <time.h>
#include "base/clock.h"

static void clocks(void **state) {
    (void)state;
    int64_t a = rdn_mono_ns(), b = rdn_mono_ns();
    assert_true(a > 0 && b >= a);
    int64_t before = (int64_t)time(NULL), now = rdn_real_ns() / 1000000000;
    assert_true(now >= before - 1 && now <= before + 60);
}

static void fake(void **state) {
    (void)state;
    rdn_clock_fake(0);
    assert_int_equal(rdn_mono_ns(), 0);
    rdn_clock_fake(12345);
    assert_int_equal(rdn_mono_ns(), 12345);
    assert_true(rdn_real_ns() != 12345);
    rdn_clock_fake(-1);
    assert_true(rdn_mono_ns() != 12345);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(clocks), cmocka_unit_test(fake)};
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
