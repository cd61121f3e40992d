/* SPDX-License-Identifier: Apache-2.0
 * x64.c: the executor `x64`: native x86-64 code for the conditions of a rule set (plan.h, x64_gen.h), interp for the rest. */
#include "jit/cpu.h"
#include "jit/exec_impl.h"
#include "jit/run.h"
#include "jit/selfcheck.h"

static int available(redan_error *reterr) {
    const char *lacks = rdn_cpu_lacks();
    return lacks ? rdn_fail(reterr, NOSUP, "R2102", "x64 needs AVX2 and FMA; this CPU lacks %s", lacks) : 0;
}

static int build(struct rdn_program *p, redan_error *reterr) {
    struct rdn_unit *u;
    int rc = rdn_unit_open(p->ir, p->mem, &u, reterr);
    if (rc)
        return rc == REDAN_E_SYS ? REDAN_E_NOSUP : rc;
    p->x = u;
    p->info.code_bytes = (uint32_t)u->code.bytes;
    p->info.plan_us = u->plan_us;
    p->info.emit_us = u->emit_us;
    return rdn_selfcheck(p, rdn_selfcheck_us, reterr);
}
static void close_(struct rdn_program *p) {
    rdn_unit_close(p->x);
    p->x = NULL;
}
static int frame_open(struct rdn_frame *f, redan_error *reterr) { return rdn_run_open(f, f->prog->x, reterr); }

const struct rdn_exec_impl rdn_exec_x64 = {
    .name = "x64", .available = available, .build = build, .close = close_, .frame_open = frame_open, .frame_close = rdn_run_close,
    .begin = rdn_run_begin, .params_changed = rdn_run_params, .window = rdn_run_window, .rules = rdn_run_rules,
};
