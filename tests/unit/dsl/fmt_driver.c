/* SPDX-License-Identifier: Apache-2.0
 * fmt_driver.c: formats sources for test_fmt.py. Records "LENGTH\n" and bytes in; out the same, or "- CODE\n" for a mistake. */
#include "dsl/dsl.h"
#include <stdio.h>

int main(void) {
    unsigned n;
    while (scanf("%u", &n) == 1 && getchar() == '\n') {
        char *src = rdn_zalloc(&rdn_libc_mem, n + 1u);
        struct rdn_buf out;
        redan_error e;
        rdn_buf_init(&out, &rdn_libc_mem);
        if (!src || fread(src, 1, n, stdin) != n)
            return 1;
        if (rdn_dsl_format(src, n, &out, &e) < 0) {
            printf("- %s\n", e.id);
        } else {
            printf("%zu\n", out.n);
            fwrite(rdn_buf_str(&out), 1, out.n, stdout);
        }
        rdn_buf_fini(&out);
        rdn_free(&rdn_libc_mem, src, n + 1u);
    }
    return 0;
}
