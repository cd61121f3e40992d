/* SPDX-License-Identifier: Apache-2.0
 * plan_kill.c: rules that share their clauses: each distinct clause (atom) is computed once into an output bit behind the rules',
 * and a false one rules out the set of rules that have it. What is left of the rules fires. */
#include "jit/plan_impl.h"

static bool candidate(const struct rdn_choice *c, uint32_t i) { return c->pl->rules[i].how == RDN_RULE_FLAT; }

struct sums { uint32_t rules, atoms; double flat, kill; };
/* Distinct clauses of the rules that nothing better was found for, and what both ways cost. Leaves c->count marked. */
static struct sums add_up(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    struct sums s = {0};
    for (uint32_t i = 0; i < pl->nrules; i++) {
        uint32_t n;
        const rdn_pid *v = rdn_plan_conjuncts(pl, &pl->rules[i].root, &n);
        if (!candidate(c, i))
            continue;
        rdn_pid by = rdn_plan_jump(c, v, n, 0);
        s.rules++;
        s.flat += rdn_plan_rule_ns(c, v, n, 0, by);
        for (uint32_t k = 0; k < n; k++)
            if (!c->count[v[k]]++) {
                s.atoms++;
                s.kill += rdn_plan_rule_ns(c, &v[k], 1, 0, 0) + (1 - rdn_plan_pass(c, v[k])) * (k_ns_kill + pl->words * k_ns_kill_word);
            }
    }
    s.flat *= s.flat > k_near ? k_far : 1;
    s.kill += pl->words * k_ns_kill_all;
    return s;
}
static void unmark(struct rdn_choice *c) {
    for (rdn_pid p = 0; p < c->pl->nodes.n; p++)
        c->count[p] = 0;
}

void rdn_plan_kill_wins(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    bool forced = c->opt->force == RDN_RULE_KILL;
    struct sums s = add_up(c);
    unmark(c);
    bool good = s.rules >= k_kill_rules && s.atoms <= k_kill_atoms * s.rules && s.kill < s.flat;
    if (!s.rules || pl->words > RDN_KILL_WORDS || (!forced && !good) || (size_t)s.atoms * pl->dep_words * 8 > RDN_KILL_BYTES)
        return;
    for (uint32_t i = 0; i < pl->nrules; i++)
        if (candidate(c, i)) {
            pl->rules[i].how = RDN_RULE_KILL;
            pl->rules[i].ns = (float)(s.kill / s.rules);
        }
}

void rdn_plan_kill(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    uint32_t most = 0, n;
    for (uint32_t i = 0; i < pl->nrules; i++)
        if (pl->rules[i].how == RDN_RULE_KILL) {
            rdn_plan_conjuncts(pl, &pl->rules[i].root, &n);
            most += n;
        }
    if (!most)
        return;
    uint64_t *sets = rdn_new_n(c->tmp, uint64_t, (size_t)most * pl->dep_words);
    pl->kill = (struct rdn_pkill){.word = pl->out_words, .set = pl->ndeps, .rules = rdn_new_n(pl->arena, uint64_t, pl->words)};
    for (uint32_t i = 0; i < pl->nrules; i++) {
        const rdn_pid *v = rdn_plan_conjuncts(pl, &pl->rules[i].root, &n);
        if (pl->rules[i].how != RDN_RULE_KILL)
            continue;
        pl->kill.rules[i / 64] |= 1ull << i % 64;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t *atom = &c->count[v[k]];            /* its number + 1 */
            if (!*atom) {
                *atom = ++pl->kill.natoms;
                rdn_plan_cond(c, 64 * pl->kill.word + *atom - 1, &v[k], 1, 0);
                pl->conds.v[pl->conds.n - 1].dep = pl->kill.set + *atom - 1;
                pl->conds.v[pl->conds.n - 1].njumps = 0;
            }
            sets[(size_t)(*atom - 1) * pl->dep_words + i / 64] |= 1ull << i % 64;
        }
    }
    unmark(c);
    pl->out_words += (pl->kill.natoms + 63) / 64;
    rdn_plan_add_sets(pl, sets, pl->kill.natoms);
}
