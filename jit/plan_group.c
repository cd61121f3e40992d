/* SPDX-License-Identifier: Apache-2.0
 * plan_group.c: how each rule is run, and the groups of conditions that native code computes for it (plan.h). */
#include <string.h>
#include "jit/plan_impl.h"

static void leave_to_interp(struct rdn_plan *pl, uint32_t rule) {
    bool late = pl->ir->rules[pl->ir->events[pl->event].rules[rule]].late;
    pl->nhow[pl->rules[rule].how]--;
    pl->nhow[RDN_RULE_INTERP]++;
    pl->rules[rule].how = RDN_RULE_INTERP;
    if (pl->rules[rule].guard)
        pl->guard[(late ? pl->words : 0) + rule / 64] &= ~(1ull << rule % 64);
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
void rdn_plan_add_sets(struct rdn_plan *pl, const uint64_t *sets, uint32_t n) {
    size_t was = (size_t)pl->ndeps * pl->dep_words, more = (size_t)n * pl->dep_words;
    uint64_t *all = rdn_new_n(pl->arena, uint64_t, was + more + 1);
    memcpy(all, pl->deps, was * sizeof *all);
    memcpy(all + was, sets, more * sizeof *all);
    pl->deps = all;
    pl->ndeps += n;
}

/* ---- conditions and groups ---- */
void rdn_plan_cond(struct rdn_choice *c, uint32_t bit, const rdn_pid *v, uint32_t n, rdn_pid without) {
    struct rdn_plan *pl = c->pl;
    rdn_pid first = rdn_plan_jump(c, v, n, without);
    struct rdn_pcond *k = rdn_push(pl->grow, &pl->conds);
    *k = (struct rdn_pcond){.bit = bit, .clause = pl->clauses.n, .njumps = first != 0, .dep = RDN_NO_DEP};
    if (first)
        rdn_push_val(pl->grow, &pl->clauses, first);
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != first && v[i] != without)
            rdn_push_val(pl->grow, &pl->clauses, v[i]);
    k->nclauses = pl->clauses.n - k->clause;
}
uint32_t rdn_plan_close_group(struct rdn_plan *pl, uint32_t first) {
    rdn_push_val(pl->grow, &pl->groups, ((struct rdn_pgroup){.cond = first, .nconds = pl->conds.n - first}));
    return pl->groups.n - 1;
}

/* What a late rule's gate asks, or what is left behind it. */
static void half(struct rdn_choice *c, uint32_t rule, bool gate, uint32_t bit) {
    uint32_t n, k = 0;
    const rdn_pid *v = rdn_plan_conjuncts(c->pl, &c->pl->rules[rule].root, &n);
    rdn_pid *some = rdn_new_n(c->tmp, rdn_pid, n);
    for (uint32_t i = 0; i < n; i++)
        if (!c->costly[v[i]] == gate)
            some[k++] = v[i];
    rdn_plan_cond(c, bit, some, k, 0);
}
/* Gates taint the rule behind them: its set is the rule alone. */
static void gates(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    uint64_t *sets = rdn_new_n(c->tmp, uint64_t, (size_t)pl->nhow[RDN_RULE_LATE] * pl->dep_words + 1);
    pl->gates.word = pl->out_words;
    for (uint32_t i = 0; i < pl->nrules; i++) {
        if (pl->rules[i].how != RDN_RULE_LATE)
            continue;
        half(c, i, true, 64 * pl->gates.word + pl->gates.n);
        pl->conds.v[pl->conds.n - 1].dep = pl->ndeps + pl->gates.n;
        sets[(size_t)pl->gates.n++ * pl->dep_words + i / 64] |= 1ull << i % 64;
    }
    pl->out_words += (pl->gates.n + 63) / 64;
    if (pl->gates.n)
        rdn_plan_add_sets(pl, sets, pl->gates.n);
}
static void behind_gates(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    pl->gates.group = pl->groups.n;
    for (uint32_t i = 0; i < pl->nrules; i++)
        if (pl->rules[i].how == RDN_RULE_LATE) {
            uint32_t first = pl->conds.n;
            half(c, i, false, i);
            rdn_plan_close_group(pl, first);
        }
}
static void dense(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    for (uint32_t i = 0; i < pl->nrules; i++) {
        uint32_t n;
        const rdn_pid *v = rdn_plan_conjuncts(pl, &pl->rules[i].root, &n);
        if (pl->rules[i].how == RDN_RULE_FLAT || pl->rules[i].how == RDN_RULE_BRANCH)
            rdn_plan_cond(c, i, v, n, 0);
    }
    rdn_plan_kill(c);
    gates(c);
    rdn_plan_close_group(pl, 0);
}

/* ---- shared values ---- */
static void reach(struct rdn_plan *pl, uint32_t *seen, rdn_pid p) {
    uint32_t k;
    if (seen[p]++)
        return;
    const struct rdn_pnode *n = rdn_pnode_at(pl, p);
    if (n->flags & RDN_P_SLOT)
        return;
    const rdn_pid *v = rdn_pargs(pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        reach(pl, seen, v[i]);
}
/* A shared value that group 0 has no use for is made where it is needed, unless it is large: what a rare group needs is rarely
 * needed, and a late read is not there yet when group 0 runs. */
static void unshare(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    uint32_t kept = 0, *seen = rdn_new_n(c->tmp, uint32_t, pl->nodes.n);
    const struct rdn_pgroup *g = &pl->groups.v[0];
    for (uint32_t i = 0; i < g->nconds; i++)
        for (uint32_t k = 0; k < pl->conds.v[i].nclauses; k++)
            reach(pl, seen, pl->clauses.v[pl->conds.v[i].clause + k]);
    for (uint32_t i = 0; i < pl->indexes.n; i++)
        reach(pl, seen, pl->indexes.v[i].of.pid);
    for (uint32_t i = 0; i < pl->ladders.n; i++)
        reach(pl, seen, pl->ladders.v[i].of.pid);
    for (uint32_t i = 0; i < pl->pures.n; i++)
        reach(pl, seen, pl->pures.v[i].of.pid);
    for (uint32_t i = 0; i < pl->shared.n; i++) {
        rdn_pid p = pl->shared.v[i];
        struct rdn_pnode *n = rdn_pnode_at(pl, p);
        if (!seen[p] && !(n->flags & RDN_P_EARLY) && c->size[p] <= RDN_UNSHARE_SIZE)
            n->flags &= (uint16_t)~RDN_P_SHARED;
        else
            pl->shared.v[kept++] = p;
    }
    pl->shared.n = kept;
}

/* ---- inputs ---- */
/* Values made before the group runs are read from their slots: `made` is a flag such nodes have, 0: there are none. What has the stamp
 * `always` is an input of the group. */
struct inputs { struct rdn_plan *pl; uint32_t *seen, *place, stamp, always, made, level; };   /* by node; place: in pl->inputs */
static void inputs_of(struct inputs *in, rdn_pid p) {
    struct rdn_plan *pl = in->pl;
    const struct rdn_pnode *n = rdn_pnode_at(pl, p);
    bool input = n->type == RDN_TY_F64 && ((n->flags & RDN_P_SLOT) || n->op == RDN_OP_FIELD), again = in->seen[p] == in->stamp;
    if (in->stamp != in->always && in->seen[p] == in->always)
        return;
    if (again && input)
        pl->inputs.v[in->place[p]].uses++;
    bool made = (n->flags & in->made & RDN_P_SHARED) || ((n->flags & RDN_P_EARLY) && n->level <= in->level);
    if ((again && (input || (n->flags & RDN_P_SHARED))) || (made && !input))
        return;
    in->seen[p] = in->stamp;
    if (input) {
        in->place[p] = pl->inputs.n;
        rdn_push_val(pl->grow, &pl->inputs, ((struct rdn_pinput){p, 1}));
    }
    if (n->flags & RDN_P_SLOT)
        return;
    uint32_t k;
    const rdn_pid *args = rdn_pargs(pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        inputs_of(in, args[i]);
}
static void begin_inputs(struct inputs *in, struct rdn_pgroup *g, unsigned made, uint32_t level) {
    in->always = ++in->stamp;
    in->made = made;
    in->level = level;
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
        for (uint32_t k = 0; k < (c->njumps ? c->njumps : c->nclauses); k++)
            inputs_of(in, pl->clauses.v[c->clause + k]);
    }
}
static void inputs_behind_jumps(struct inputs *in, const struct rdn_pgroup *g) {
    const struct rdn_plan *pl = in->pl;
    for (uint32_t i = 0; i < g->nconds; i++) {
        struct rdn_pcond *c = &pl->conds.v[g->cond + i];
        if (!c->njumps)
            continue;
        in->stamp++;
        c->input = pl->inputs.n;
        for (uint32_t k = c->njumps; k < c->nclauses; k++)
            inputs_of(in, pl->clauses.v[c->clause + k]);
        c->ninputs = pl->inputs.n - c->input;
    }
}
static void all_inputs(struct rdn_plan *pl, struct rdn_arena *tmp) {
    struct inputs in = {.pl = pl, .seen = rdn_new_n(tmp, uint32_t, pl->nodes.n), .place = rdn_new_n(tmp, uint32_t, pl->nodes.n)};
    for (uint32_t g = 0; g < pl->groups.n; g++) {
        begin_inputs(&in, &pl->groups.v[g], g ? RDN_P_SHARED : 0, RDN_LEVELS);
        for (uint32_t i = 0; !g && i < pl->shared.n; i++)
            inputs_of(&in, pl->shared.v[i]);
        cond_inputs(&in, &pl->groups.v[g]);
        end_inputs(&in, &pl->groups.v[g]);
        inputs_behind_jumps(&in, &pl->groups.v[g]);
    }
    for (uint32_t level = 0; level < pl->levels; level++) {
        begin_inputs(&in, &pl->operands[level], 0, level);
        for (uint32_t i = 0; i < pl->items.n; i++)
            if (rdn_plan_level(pl, pl->items.v[i]) == level)
                inputs_of(&in, pl->items.v[i]);
        end_inputs(&in, &pl->operands[level]);
    }
}

/* Late gathers of a group: each slot that its conditions read. */
static void late_of(struct rdn_plan *pl, uint32_t *seen, uint32_t stamp, rdn_pid p) {
    const struct rdn_pnode *n = rdn_pnode_at(pl, p);
    uint32_t k;
    if (seen[p] == stamp || (n->flags & RDN_P_SHARED))
        return;
    seen[p] = stamp;
    if (n->flags & RDN_P_SLOT) {
        if (n->op != RDN_OP_PARAM && pl->gathers.v[n->gather].late)
            rdn_push_val(pl->grow, &pl->late, n->gather);
        return;
    }
    const rdn_pid *v = rdn_pargs(pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        late_of(pl, seen, stamp, v[i]);
}
static void all_late(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    uint32_t *seen = rdn_new_n(c->tmp, uint32_t, pl->nodes.n), any = 0;
    for (uint32_t g = 0; g < pl->gathers.n; g++)
        any |= pl->gathers.v[g].late;
    for (uint32_t g = 1; any && g < pl->groups.n; g++) {
        struct rdn_pgroup *gr = &pl->groups.v[g];
        gr->late = pl->late.n;
        for (uint32_t i = 0; i < gr->nconds; i++)
            for (uint32_t k = 0; k < pl->conds.v[gr->cond + i].nclauses; k++)
                late_of(pl, seen, g, pl->clauses.v[pl->conds.v[gr->cond + i].clause + k]);
        gr->nlate = pl->late.n - gr->late;
    }
}

void rdn_plan_groups(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    uint32_t nnative = 0;
    pl->interp = rdn_new_n(pl->arena, uint64_t, 2 * (size_t)pl->words + 1);
    pl->guard = rdn_new_n(pl->arena, uint64_t, 2 * (size_t)pl->words + 1);
    for (uint32_t i = 0; i < pl->nrules; i++) {
        pl->nhow[pl->rules[i].how]++;
        bool late = pl->ir->rules[pl->ir->events[pl->event].rules[i]].late;
        if (pl->rules[i].how != RDN_RULE_INTERP) {
            nnative++;
            pl->guard[(late ? pl->words : 0) + i / 64] |= (uint64_t)pl->rules[i].guard << i % 64;
            pl->any_guard |= pl->rules[i].guard;
        } else if (!rdn_plan_without(c->opt, i))
            leave_to_interp(pl, i);
    }
    pl->scored = rdn_new_n(pl->arena, uint64_t, (size_t)pl->words + 1);
    for (uint32_t i = 0; i < pl->scores.n; i++)
        pl->scored[pl->scores.v[i].rule / 64] |= 1ull << pl->scores.v[i].rule % 64;
    pl->out_words = pl->words;
    if (nnative) {
        dense(c);
        rdn_plan_tables(c);
        behind_gates(c);
        unshare(c);
        all_late(c);
    }
    all_inputs(pl, c->tmp);
    rdn_plan_total(pl);
}
