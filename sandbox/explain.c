/* SPDX-License-Identifier: Apache-2.0
 * explain.c: prints what syscalls.def says, so that text and filter cannot differ. */
#include "sandbox/explain.h"
#include <seccomp.h>
#include <string.h>

static void print_cond(struct rdn_buf *b, const struct rdn_policy_cond *c, bool first) {
    rdn_buf_puts(b, first ? " when " : " and ");
    switch (c->op) {
    case SCMP_CMP_EQ: rdn_buf_printf(b, "arg%u = %lld", c->arg, (long long)c->a); break;
    case SCMP_CMP_LE: rdn_buf_printf(b, "arg%u <= %llu", c->arg, (unsigned long long)c->a); break;
    default:
        rdn_buf_printf(b, "(arg%u & 0x%llx) = 0x%llx", c->arg, (unsigned long long)c->a, (unsigned long long)c->b);
        break;
    }
}

void rdn_explain_policy(struct rdn_buf *b, uint32_t got, enum rdn_policy_mode mode) {
    static const char *const modes[] = { "denied with EPERM and reported by the kernel", "denied with EPERM and reported by the worker",
                                         "denied with EPERM", "the worker is killed" };
    unsigned n;
    const struct rdn_policy_row *rows = rdn_policy_rows(&n);
    rdn_buf_puts(b, "layers:");
    for (unsigned i = 0; rdn_mech_text(i); i++)
        if (got & 1u << i)
            rdn_buf_printf(b, " %s", rdn_mech_text(i));
    rdn_buf_puts(b, "\n");
    for (unsigned i = 0; i < n; i++) {
        rdn_buf_printf(b, "%-6s %s", rows[i].kill ? "kill" : "allow", rows[i].call);
        for (uint32_t k = 0; k < rdn_policy_nconds(&rows[i]); k++)
            print_cond(b, &rows[i].conds[k], k == 0);
        rdn_buf_printf(b, ": %s\n", rows[i].reason);
    }
    rdn_buf_printf(b, "any other call: %s; other architectures: the worker is killed\n", modes[mode < RDN_POLICY_MODES ? mode : 0]);
}

const char *rdn_explain_hint(const char *call) {
    static const struct { const char *call, *text; } hints[] = {
#define HINT(name, words) { #name, words },
#include "sandbox/hints.def"
#undef HINT
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (!strcmp(hints[i].call, call))
            return hints[i].text;
    return NULL;
}
