/* SPDX-License-Identifier: Apache-2.0
 * plan_group.c: how each rule is run, and the groups of conditions that native code computes for it (plan.h). */
#include "jit/plan.h"

#define PLAN(name, value, why) static const double k_##name __attribute__((unused)) = value;
#include "jit/plan.def"
#undef PLAN

static struct rdn_pnode *at(struct rdn_plan *pl, rdn_pid p) { return &pl->nodes.v[p]; }

const rdn_pid *rdn_plan_conjuncts(const struct rdn_plan *pl, const rdn_pid *root, uint32_t *ret_n) {
    const struct rdn_pnode *n = &pl->nodes.v[*root];
    *ret_n = 1;
    if (n->op != RDN_OP_AND || !(n->flags & RDN_P_NATIVE) || (n->flags & RDN_P_SHARED))
        return root;
    *ret_n = n->b;
    return pl->args.v + n->a;
}

/* ---- techniques ---- */
static void leave_to_interp(struct rdn_plan *pl, uint32_t rule) {
    bool late = pl->ir->rules[pl->ir->events[pl->event].rules[rule]].late;
    pl->rules[rule].how = RDN_RULE_INTERP;
    pl->interp[(late ? pl->words : 0) + rule / 64] |= 1ull << rule % 64;
    pl->any_late |= late;
    pl->any_early |= !late;
}
void rdn_plan_give_up(struct rdn_plan *pl, const struct rdn_pcond *c) {
    const uint64_t *set = pl->deps + (size_t)c->dep * pl->dep_words;
    if (c->dep == RDN_NO_DEP)
        leave_to_interp(pl, c->bit);
    for (uint32_t r = 0; c->dep != RDN_NO_DEP && r < pl->nrules; r++)
        if (set[r / 64] >> r % 64 & 1)
            leave_to_interp(pl, r);
}

/* The clause to jump on: an equality of an integer with many values and a constant. No guard, so the jump decides alone. */
static rdn_pid first_clause(struct rdn_plan *pl, const rdn_pid *v, uint32_t n) {
    for (uint32_t i = 0; n > 1 && i < n; i++) {
        const struct rdn_pnode *k = at(pl, v[i]), *x = at(pl, k->a);
        bool many = k->op == RDN_OP_EQ && (k->flags & RDN_P_NATIVE) && !(k->flags & RDN_P_SHARED) && x->type == RDN_TY_I64 &&
                    x->op == RDN_OP_FIELD && (x->flags & RDN_P_NATIVE) && at(pl, k->b)->op == RDN_OP_CONST && (rdn_u128)((rdn_i128)x->hi - x->lo) > 255;
        if (many && k_prior_eq_many <= k_branch_pass)
            return v[i];
    }
    return 0;
}

/* ---- groups ---- */
static void add_cond(struct rdn_plan *pl, uint32_t bit, rdn_pid first, const rdn_pid *v, uint32_t n) {
    struct rdn_pcond *c = rdn_push(pl->arena, &pl->conds);
    *c = (struct rdn_pcond){.bit = bit, .clause = pl->clauses.n, .nclauses = n, .njumps = first != 0, .dep = RDN_NO_DEP};
    if (first)
        rdn_push_val(pl->arena, &pl->clauses, first);
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != first)
            rdn_push_val(pl->arena, &pl->clauses, v[i]);
}

/* Values made before the group runs are read from their slots: `made` is a flag such nodes have, 0: there are none. */
struct inputs { struct rdn_plan *pl; uint32_t *seen, *place, stamp, made; };   /* by node; place: in pl->inputs */
static void inputs_of(struct inputs *in, rdn_pid p) {
    struct rdn_plan *pl = in->pl;
    const struct rdn_pnode *n = at(pl, p);
    bool input = n->type == RDN_TY_F64 && ((n->flags & RDN_P_SLOT) || n->op == RDN_OP_FIELD), again = in->seen[p] == in->stamp;
    if (again && input)
        pl->inputs.v[in->place[p]].uses++;
    if ((again && (input || (n->flags & RDN_P_SHARED))) || ((n->flags & in->made) && !input))
        return;
    in->seen[p] = in->stamp;
    if (input) {
        in->place[p] = pl->inputs.n;
        rdn_push_val(pl->arena, &pl->inputs, ((struct rdn_pinput){p, 1}));
    }
    if (n->flags & RDN_P_SLOT)
        return;
    uint32_t k;
    const rdn_pid *args = rdn_pargs(pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        inputs_of(in, args[i]);
}
static void begin_inputs(struct inputs *in, struct rdn_pgroup *g, unsigned made) {
    in->stamp++;
    in->made = made;
    g->input = in->pl->inputs.n;
}
/* Most used first: an insertion sort, since few stand in a wrong place. */
static void end_inputs(struct inputs *in, struct rdn_pgroup *g) {
    g->ninputs = in->pl->inputs.n - g->input;
    if (!g->ninputs)
        return;
    struct rdn_pinput *v = in->pl->inputs.v + g->input;
    for (uint32_t i = 1; i < g->ninputs; i++) {
        struct rdn_pinput x = v[i];
        uint32_t k = i;
        for (; k && v[k - 1].uses < x.uses; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}
static void cond_inputs(struct inputs *in, const struct rdn_pgroup *g) {
    const struct rdn_plan *pl = in->pl;
    for (uint32_t i = 0; i < g->nconds; i++) {
        const struct rdn_pcond *c = &pl->conds.v[g->cond + i];
        for (uint32_t k = 0; k < c->nclauses; k++)
            inputs_of(in, pl->clauses.v[c->clause + k]);
    }
}
static void all_inputs(struct rdn_plan *pl, struct rdn_arena *tmp) {
    struct inputs in = {pl, rdn_new_n(tmp, uint32_t, pl->nodes.n), rdn_new_n(tmp, uint32_t, pl->nodes.n), 0, 0};
    for (uint32_t g = 0; g < pl->groups.n; g++) {
        begin_inputs(&in, &pl->groups.v[g], g ? RDN_P_SHARED : RDN_P_EARLY);
        for (uint32_t i = 0; !g && i < pl->shared.n; i++)
            inputs_of(&in, pl->shared.v[i]);
        cond_inputs(&in, &pl->groups.v[g]);
        end_inputs(&in, &pl->groups.v[g]);
    }
    begin_inputs(&in, &pl->operands, 0);
    for (uint32_t i = 0; i < pl->items.n; i++)
        inputs_of(&in, pl->items.v[i]);
    end_inputs(&in, &pl->operands);
}

void rdn_plan_groups(struct rdn_plan *pl, struct rdn_arena *tmp) {
    struct rdn_pgroup dense = {.cond = 0};
    pl->interp = rdn_new_n(pl->arena, uint64_t, 2 * (size_t)pl->words + 1);
    for (uint32_t i = 0; i < pl->nrules; i++) {
        struct rdn_prule *pr = &pl->rules[i];
        uint32_t n;
        if (pr->how == RDN_RULE_INTERP) {
            leave_to_interp(pl, i);
        } else {
            const rdn_pid *v = rdn_plan_conjuncts(pl, &pr->root, &n);
            rdn_pid first = first_clause(pl, v, n);
            pr->how = first ? RDN_RULE_BRANCH : RDN_RULE_FLAT;
            add_cond(pl, i, first, v, n);
        }
        pl->nhow[pr->how]++;
    }
    pl->out_words = pl->words;
    dense.nconds = pl->conds.n;
    if (pl->conds.n)
        rdn_push_val(pl->arena, &pl->groups, dense);
    all_inputs(pl, tmp);
}
