/* SPDX-License-Identifier: Apache-2.0
 * rows.h: what every cmocka test includes, and a check that prints the row of a table that failed. */
#ifndef RDN_TEST_ROWS_H
#define RDN_TEST_ROWS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* Fails the test after printing why; the format names the row. */
#define check(cond, ...)                                                  \
    do {                                                                  \
        if (!(cond)) {                                                    \
            print_error("%s:%d: %s: ", __FILE__, __LINE__, #cond);        \
            print_error(__VA_ARGS__);                                     \
            print_error("\n");                                            \
            fail();                                                       \
        }                                                                 \
    } while (0)
#define each(i, table) (size_t i = 0; i < sizeof(table) / sizeof(table)[0]; i++)
#endif
