/* SPDX-License-Identifier: Apache-2.0
 * test_err.c: what a failed call leaves behind. */
#include "tests/unit/rows.h"
#include <errno.h>
#include "base/err.h"

static void codes_have_texts(void **state) {
    (void)state;
    for (int c = -1; c >= REDAN_E_LAST; c--)
        check(strcmp(redan_strerror(c), "unknown error") != 0, "code %d", c);
    assert_string_equal(redan_strerror(0), "ok");
    assert_string_equal(redan_strerror(REDAN_E_LAST - 1), "unknown error");
    assert_string_equal(redan_strerror(1), "unknown error");
    assert_int_equal(redan_version(), REDAN_VERSION);
}

static void fail_fills_every_field(void **state) {
    (void)state;
    redan_error e;
    memset(&e, 0xaa, sizeof e);
    assert_int_equal(rdn_fail(&e, INVAL, "R3001", "lane %d is\nnot open", 7), REDAN_E_INVAL);
    assert_int_equal(e.code, REDAN_E_INVAL);
    assert_string_equal(e.id, "R3001");
    assert_string_equal(e.text, "lane 7 is not open");
    assert_string_equal(e.where, "");
    assert_int_equal(e.sys, 0);
    assert_int_equal(e.line, 0);
    assert_int_equal(e.column, 0);
}

static void fail_sys_keeps_errno(void **state) {
    (void)state;
    redan_error e;
    errno = ENOENT;
    assert_int_equal(rdn_fail_sys(&e, "open"), REDAN_E_SYS);
    assert_int_equal(e.sys, ENOENT);
    assert_string_equal(e.where, "open");
    assert_string_equal(e.text, "open: No such file or directory");
}

static void wrap_puts_a_noun_in_front(void **state) {
    (void)state;
    redan_error e;
    rdn_fail(&e, CORRUPT, "", "bad magic");
    assert_int_equal(rdn_wrap(&e, REDAN_E_CORRUPT, "policy %s", "a.yaml"), REDAN_E_CORRUPT);
    assert_string_equal(e.text, "policy a.yaml: bad magic");
}

static void long_texts_are_cut(void **state) {
    (void)state;
    redan_error e;
    char s[600];
    memset(s, 'x', sizeof s - 1);
    s[sizeof s - 1] = 0;
    rdn_fail(&e, INVAL, "R30011234", "%s", s);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    assert_string_equal(e.id, "R300112");
    rdn_wrap(&e, REDAN_E_INVAL, "%s", s);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void nobody_has_to_listen(void **state) {
    (void)state;
    errno = EPERM;
    assert_int_equal(rdn_fail(NULL, FULL, "", "%s", "x"), REDAN_E_FULL);
    assert_int_equal(rdn_fail_sys(NULL, "open"), REDAN_E_SYS);
    assert_int_equal(rdn_wrap(NULL, REDAN_E_FULL, "x"), REDAN_E_FULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_have_texts),   cmocka_unit_test(fail_fills_every_field),
        cmocka_unit_test(fail_sys_keeps_errno), cmocka_unit_test(wrap_puts_a_noun_in_front),
        cmocka_unit_test(long_texts_are_cut), cmocka_unit_test(nobody_has_to_listen),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
