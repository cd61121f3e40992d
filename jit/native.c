/* SPDX-License-Identifier: Apache-2.0
 * native.c: see native.h. */
#include "jit/native.h"
#include "jit/jit.h"
#include "jit/selfcheck.h"

int rdn_native_open(struct rdn_program *p, redan_error *reterr) {
    struct rdn_unit *u;
    int rc = rdn_unit_open(p->jit, p->ir, p->impl->emitter, p->mem, &u, reterr);
    if (rc)
        return rc == REDAN_E_SYS ? REDAN_E_NOSUP : rc;
    p->x = u;
    p->info.code_bytes = (uint32_t)u->code.bytes;
    p->info.plan_us = u->plan_us;
    p->info.emit_us = u->emit_us;
    p->must_sync = u->code.must_sync;
    return 0;
}
int rdn_native_check(struct rdn_program *p, redan_error *reterr) {
    int rc = rdn_selfcheck(p, rdn_jit_selfcheck_us(p->jit), reterr);
    if (rc == REDAN_E_NOSUP)
        rdn_jit_selfcheck_failed(p->jit);
    return rc;
}
int rdn_native_build(struct rdn_program *p, redan_error *reterr) {
    int rc = rdn_native_open(p, reterr);
    return rc ? rc : rdn_native_check(p, reterr);
}
void rdn_native_close(struct rdn_program *p) {
    rdn_unit_close(p->x);
    p->x = NULL;
}
int rdn_native_frame_open(struct rdn_frame *f, redan_error *reterr) { return rdn_run_open(f, f->prog->x, reterr); }

bool rdn_program_rule_plan(const struct rdn_program *p, uint32_t event, uint32_t at, struct rdn_rule_plan *ret) {
    static const char *const how[][2] = {
#define TECHNIQUE(name, text, doc) { text, doc },
#include "jit/technique.def"
#undef TECHNIQUE
    };
    const struct rdn_unit *u = p->x;
    if (!u)
        return false;
    const struct rdn_plan *pl = u->events[event].plan;
    const struct rdn_prule *r = &pl->rules[at];
    *ret = (struct rdn_rule_plan){how[r->how][0], how[r->how][1], r->by ? pl->nodes.v[r->by].src : 0, (double)r->pass, (double)r->ns};
    return true;
}
