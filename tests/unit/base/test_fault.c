/* SPDX-License-Identifier: Apache-2.0
 * test_fault.c: the countdown. */
#include "tests/unit/rows.h"
#include "base/fault.h"

static void fires_once_on_the_nth(void **state) {
    (void)state;
    assert_false(rdn_fault_hit());
    for (uint64_t n = 1; n < 20; n++) {
        rdn_fault_arm(n);
        for (uint64_t i = 1; i < 30; i++)
            check(rdn_fault_hit() == (i == n), "armed %d, call %d", (int)n, (int)i);
        assert_int_equal(rdn_fault_seen(), 29);
    }
    rdn_fault_arm(0);
    assert_false(rdn_fault_hit());
    assert_int_equal(rdn_fault_seen(), 0);             /* off: nothing is counted */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fires_once_on_the_nth)};
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
