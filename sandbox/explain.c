/* SPDX-License-Identifier: Apache-2.0
 * explain.c: prints what syscalls.def says, so that text and filter cannot differ. */
#include "sandbox/explain.h"
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_cond(struct rdn_buf *b, const struct rdn_policy_cond *c, bool first) {
    rdn_buf_puts(b, first ? " when " : " and ");
    switch (c->op) {
    case SCMP_CMP_EQ: rdn_buf_printf(b, "arg%u = %lld", c->arg, (long long)c->a); break;
    case SCMP_CMP_LE: rdn_buf_printf(b, "arg%u <= %llu", c->arg, (unsigned long long)c->a); break;
    case RDN_POLICY_UPTO: rdn_buf_printf(b, "1 <= arg%u <= %llu", c->arg, (unsigned long long)c->a); break;
    default:
        rdn_buf_printf(b, "(arg%u & 0x%llx) = 0x%llx", c->arg, (unsigned long long)c->a, (unsigned long long)c->b);
        break;
    }
}

static void print_row(struct rdn_buf *b, const struct rdn_policy_row *r) {
    static const char *const does[] = { [RDN_CALL_ALLOWED] = "allow", [RDN_CALL_KILLS] = "kill", [RDN_CALL_ABSENT] = "absent" };
    rdn_buf_printf(b, "%-6s %s", does[r->does], r->call);
    for (uint32_t k = 0; k < rdn_policy_nconds(r); k++)
        print_cond(b, &r->conds[k], k == 0);
    rdn_buf_printf(b, ": %s\n", r->reason);
}

static const char *const modes[] = { "denied with EPERM and reported by the kernel", "denied with EPERM and reported by the worker", "denied with EPERM",
                                     "the worker is killed" };
static const char *mode_text(enum rdn_policy_mode mode) { return modes[mode < RDN_POLICY_MODES ? mode : 0]; }

bool rdn_explain_call(struct rdn_buf *b, const char *call, enum rdn_policy_mode mode) {
    unsigned n;
    char name[64], *end;
    const struct rdn_policy_row *rows = rdn_policy_rows(RDN_LIST_ALL, &n);
    unsigned long nr = strtoul(call, &end, 10);
    snprintf(name, sizeof name, "%.60s", call);
    if (*call && !*end && nr < 100000)
        rdn_policy_call_name((uint32_t)nr, name, sizeof name);
    bool import = !strcmp(name, "import"), any = false, always = false;
    if (!import && seccomp_syscall_resolve_name(name) == __NR_SCMP_ERROR)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(rows[i].call, name)) {
            print_row(b, &rows[i]);
            any = true;
            always = always || rows[i].does == RDN_CALL_KILLS || !rdn_policy_nconds(&rows[i]);
        }
    const char *hint = rdn_explain_hint(name);
    if (import)
        rdn_buf_puts(b, "import: a module that was not there before the worker was confined cannot be loaded any more: R4204");
    else if (!always)
        rdn_buf_printf(b, "%s%s: %s", any ? "else   " : "", name, mode_text(mode));
    if (hint)
        rdn_buf_printf(b, "; %s", hint);
    if (b->n && b->p[b->n - 1] != '\n')
        rdn_buf_putc(b, '\n');
    return true;
}

void rdn_explain_policy(struct rdn_buf *b, uint32_t got, enum rdn_policy_mode mode) {
    static const char *const whose[RDN_LISTS] = {
        [RDN_LIST_ALL] = "", [RDN_LIST_LOADING] = "Native workers, until their library is loaded, also:\n",
        [RDN_LIST_THREADS] = "those with native.threads, until then, also:\n", [RDN_LIST_MAKING] = "Lua workers, which make machine code and are without mdwe, also:\n",
    };
    rdn_buf_puts(b, "layers:");
    for (unsigned i = 0; rdn_mech_text(i); i++)
        if (got & 1u << i)
            rdn_buf_printf(b, " %s", rdn_mech_text(i));
    rdn_buf_puts(b, "\n");
    for (enum rdn_policy_list l = 0; l < RDN_LISTS; l++) {
        unsigned n;
        const struct rdn_policy_row *rows = rdn_policy_rows(l, &n);
        rdn_buf_puts(b, whose[l]);
        for (unsigned i = 0; i < n; i++)
            print_row(b, &rows[i]);
    }
    rdn_buf_printf(b, "any other call: %s; other architectures: the worker is killed\n", mode_text(mode));
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
