/* SPDX-License-Identifier: Apache-2.0
 * ir_hash.c: the identity of a rule set in records: BLAKE2b-256 of its text form and of the version of the tz database. The
 * form has the spans, since positions are part of an answer, but neither the file's name nor its text. */
#include "base/tz.h"
#include "ir/form.h"
#include <sodium.h>
#include <string.h>

void rdn_ir_hash(const struct rdn_ir *ir, uint8_t ret[32]) {
    struct rdn_buf b;
    rdn_buf_init(&b, ir->arena->mem);
    rdn_form_print(&b, ir, false, false);
    rdn_buf_puts(&b, "tz ");
    rdn_buf_puts(&b, rdn_tz_version());
    bool failed = b.failed;
    if (!failed)
        crypto_generichash(ret, 32, (const unsigned char *)b.p, b.n, NULL, 0);
    rdn_buf_fini(&b);
    if (failed && ir->arena->oom)
        longjmp(*ir->arena->oom, 1);
}
