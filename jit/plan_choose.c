/* SPDX-License-Identifier: Apache-2.0
 * plan_choose.c: the technique of each rule, from pass rates and costs (plan.def).
 *
 * Rules go by an equality when enough of them ask the same word, else by a rare threshold when several ask the same word, else
 * behind a rare clause when only they need a costly read. The rest is computed: by kill sets when clauses are shared, else
 * with a jump when some clause is rare, else flat. A wrong guess costs time, never an answer. */
#include "jit/plan_impl.h"

/* ---- costs ---- */
double rdn_plan_ns(struct rdn_choice *c, const rdn_pid *v, uint32_t n, rdn_pid without) {
    double ns = 0;
    for (uint32_t i = 0; i < n; i++)
        ns += v[i] == without ? 0 : c->ns[v[i]] + k_ns_and;
    return ns;
}
/* all: what computing its clauses costs. */
static double rule_ns(struct rdn_choice *c, double all, uint32_t n, rdn_pid without, rdn_pid by) {
    if (!by)
        return k_ns_rule + all + (n - (without != 0) == 1 ? k_ns_one : 0);
    double p = rdn_plan_pass(c, by), wrong = p < 0.5 ? p : 1 - p;
    return k_ns_jump + c->ns[by] + wrong * k_ns_wrong + p * (all - c->ns[by] - k_ns_and);
}
double rdn_plan_rule_ns(struct rdn_choice *c, const rdn_pid *v, uint32_t n, rdn_pid without, rdn_pid by) {
    return rule_ns(c, rdn_plan_ns(c, v, n, without), n, without, by);
}
/* The clause to jump on and what the rule costs then. */
static rdn_pid jump(struct rdn_choice *c, const rdn_pid *v, uint32_t n, rdn_pid without, double *ret_ns) {
    double all = rdn_plan_ns(c, v, n, without), best = rule_ns(c, all, n, without, 0);
    rdn_pid by = 0;
    *ret_ns = best;
    best = c->opt->force == RDN_RULE_BRANCH ? 1e18 : best;
    for (uint32_t i = 0; n > 1 + (without != 0) && i < n && c->opt->force != RDN_RULE_FLAT; i++) {
        if (v[i] == without)
            continue;
        double ns = rule_ns(c, all, n, without, v[i]);
        if (ns < best) {
            *ret_ns = best = ns;
            by = v[i];
        }
    }
    return by;
}
rdn_pid rdn_plan_jump(struct rdn_choice *c, const rdn_pid *v, uint32_t n, rdn_pid without) {
    double ns;
    return jump(c, v, n, without, &ns);
}

/* ---- one technique after the other ---- */
static bool open_rule(const struct rdn_choice *c, uint32_t i) { return c->pl->rules[i].how == RDN_RULE_FLAT; }
static bool forced(const struct rdn_choice *c, enum rdn_technique t) { return c->opt->force == t; }
static bool may(const struct rdn_choice *c, enum rdn_technique t) { return c->opt->force == RDN_RULE_COUNT || c->opt->force == t; }
static void settle(struct rdn_choice *c, uint32_t i, enum rdn_technique how, rdn_pid by) {
    struct rdn_prule *r = &c->pl->rules[i];
    r->how = (uint8_t)how;
    r->by = by;
    r->pass = by ? (float)rdn_plan_pass(c, by) : 1;
}

/* A clause's key, if it can go by it: equal keys ask the same word in the same way. */
typedef rdn_pid key_fn(struct rdn_choice *, rdn_pid clause, double *ret_pass);    /* pass: of a clause that has one */
static rdn_pid equality_key(struct rdn_choice *c, rdn_pid clause, double *ret_pass) {
    rdn_pid word;
    if (!rdn_plan_equality(c->pl, clause, &word))
        return 0;
    *ret_pass = rdn_plan_pass(c, clause);
    return forced(c, RDN_RULE_INDEX) || *ret_pass <= k_index_pass ? word : 0;
}
static rdn_pid threshold_key(struct rdn_choice *c, rdn_pid clause, double *ret_pass) {
    struct rdn_pthreshold t;
    if (!rdn_plan_threshold(c->pl, clause, &t))
        return 0;
    *ret_pass = rdn_plan_pass(c, clause);
    return forced(c, RDN_RULE_LADDER) || *ret_pass <= k_ladder_pass ? t.word * 2 + t.flip : 0;
}
static rdn_pid pure_key(struct rdn_choice *c, rdn_pid clause, double *ret_pass) {
    struct rdn_pthreshold t;
    *ret_pass = 0.5;
    return rdn_plan_threshold(c->pl, clause, &t) ? t.word * 2 + t.flip : 0;
}

/* Of n clauses. */
static bool wants(const struct rdn_choice *c, uint32_t i, uint32_t n, enum rdn_technique how) {
    return open_rule(c, i) && (how == RDN_RULE_PURE ? n == 1 : n > 1 || how == RDN_RULE_INDEX || forced(c, how));
}
/* How rules go by a key. least: fewer rules of one word do not; start: once an event, look: each word, run: a sparse function. */
struct keyed { key_fn *key; enum rdn_technique how; uint32_t least; double start, look, run; };
/* Rules with one clause have one function. */
static double sparse_ns(struct rdn_choice *c, const struct keyed *k, uint32_t i, rdn_pid by) {
    uint32_t n;
    const rdn_pid *v = rdn_plan_conjuncts(c->pl, &c->pl->rules[i].root, &n);
    double ns;
    jump(c, v, n, by, &ns);
    return rdn_plan_pass(c, by) * (k->run / rdn_pnode_at(c->pl, by)->uses + ns);
}
/* What going by `by` saves of the rule's time. */
static double gain(struct rdn_choice *c, const struct keyed *k, uint32_t i, rdn_pid by) {
    uint32_t n;
    const rdn_pid *v = rdn_plan_conjuncts(c->pl, &c->pl->rules[i].root, &n);
    double else_ns;
    jump(c, v, n, 0, &else_ns);
    return k->how == RDN_RULE_PURE ? else_ns : else_ns - sparse_ns(c, k, i, by);
}
/* A clause that has a key. */
struct candidate { uint32_t rule; rdn_pid clause, word; float pass; };
struct candidates { RDN_VEC(struct candidate) v; RDN_VEC(rdn_pid) words; };        /* words: each once; c->count has how many rules ask it */
static void find_candidates(struct rdn_choice *c, const struct keyed *k, struct candidates *ret) {
    struct rdn_plan *pl = c->pl;
    for (uint32_t i = 0; i < pl->nrules; i++) {
        uint32_t n;
        const rdn_pid *v = rdn_plan_conjuncts(pl, &pl->rules[i].root, &n);
        double p;
        for (uint32_t a = 0; wants(c, i, n, k->how) && a < n; a++) {
            rdn_pid word = k->key(c, v[a], &p);
            if (!word)
                continue;
            rdn_push_val(c->tmp, &ret->v, ((struct candidate){i, v[a], word, (float)p}));
            if (!c->count[word]++)
                rdn_push_val(c->tmp, &ret->words, word);
        }
    }
}
/* Each rule's rarest candidate among those whose word at least `least` rules ask: in front, one after the other. Their number. */
static uint32_t keep_rarest(const struct rdn_choice *c, struct candidates *all, uint32_t least) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->v.n; i++) {
        struct candidate x = all->v.v[i];
        if (c->count[x.word] < least)
            continue;
        if (!n || all->v.v[n - 1].rule != x.rule)
            all->v.v[n++] = x;
        else if (x.pass < all->v.v[n - 1].pass)
            all->v.v[n - 1] = x;
    }
    return n;
}
/* Two rounds: how many could go by a word, then what they would save together. A word that saves less than the look costs is not
 * worth it, and all of them are not when they save less than the first look. */
static void by_key(struct rdn_choice *c, const struct keyed *k) {
    bool all = forced(c, k->how) || (k->how == RDN_RULE_PURE && forced(c, RDN_RULE_LADDER));
    struct candidates found = {0};
    double total = 0;
    find_candidates(c, k, &found);
    uint32_t n = keep_rarest(c, &found, all ? 1 : k->least);
    float *saves = n ? rdn_new_n(c->tmp, float, 2 * (size_t)c->pl->nodes.n + 2) : NULL;
    for (uint32_t i = 0; i < n; i++)
        saves[found.v.v[i].word] += (float)gain(c, k, found.v.v[i].rule, found.v.v[i].clause);
    for (uint32_t i = 0; i < found.words.n; i++) {
        float s = n ? saves[found.words.v[i]] : 0;
        total += s > k->look ? s - k->look : 0;
        c->count[found.words.v[i]] = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        if (all || (total > k->start && saves[found.v.v[i].word] > k->look))
            settle(c, found.v.v[i].rule, k->how, found.v.v[i].clause);
}
static struct keyed keyed_by(const struct rdn_choice *c, enum rdn_technique how) {
    switch (how) {
    case RDN_RULE_INDEX: return (struct keyed){equality_key, how, (uint32_t)k_index_rules, k_ns_start, k_ns_look, k_ns_sparse};
    case RDN_RULE_PURE: return (struct keyed){pure_key, how, (uint32_t)k_ladder_rules, 0, k_ns_pure + c->pl->words * k_ns_pure_word, 0};
    default: return (struct keyed){threshold_key, RDN_RULE_LADDER, (uint32_t)k_ladder_rules, k_ns_climb, k_ns_ladder, k_ns_rung};
    }
}
static void go_by_keys(struct rdn_choice *c) {
    static const enum rdn_technique order[] = {RDN_RULE_INDEX, RDN_RULE_PURE, RDN_RULE_LADDER};
    for (unsigned i = 0; i < 3; i++)
        if (may(c, order[i]) || (order[i] == RDN_RULE_PURE && forced(c, RDN_RULE_LADDER))) {
            struct keyed k = keyed_by(c, order[i]);
            by_key(c, &k);
        }
}

/* ---- late reads ---- */
/* How often the clauses of a rule that need no costly read hold all together; 1: there is none. */
static double cheap_pass(struct rdn_choice *c, uint32_t i, bool *ret_costly) {
    uint32_t n;
    const rdn_pid *v = rdn_plan_conjuncts(c->pl, &c->pl->rules[i].root, &n);
    double p = 1;
    *ret_costly = false;
    for (uint32_t k = 0; k < n; k++)
        if (c->costly[v[k]])
            *ret_costly = true;
        else
            p *= rdn_plan_pass(c, v[k]);
    return p;
}
static bool stands_behind(struct rdn_choice *c, uint32_t i) {
    const struct rdn_prule *r = &c->pl->rules[i];
    bool costly;
    if (r->how == RDN_RULE_INDEX || r->how == RDN_RULE_LADDER)
        return true;                                     /* what their key clause reads is kept early by keep_words */
    double p = cheap_pass(c, i, &costly);
    return r->how == RDN_RULE_FLAT && (p <= k_late_pass || (forced(c, RDN_RULE_LATE) && p < 1));
}
static void keep(struct rdn_choice *c, rdn_pid p) {
    const struct rdn_pnode *n = rdn_pnode_at(c->pl, p);
    uint32_t k;
    if (c->count[p]++ || (n->flags & RDN_P_SLOT))
        return;
    const rdn_pid *v = rdn_pargs(c->pl, n, &k);
    for (uint32_t i = 0; i < k; i++)
        keep(c, v[i]);
}
/* What a rule is found by is read in any case, and so is what a shared value is made of that it is found by. */
static void keep_words(struct rdn_choice *c) {
    struct rdn_pthreshold t;
    rdn_pid word;
    for (uint32_t i = 0; i < c->pl->nrules; i++) {
        const struct rdn_prule *r = &c->pl->rules[i];
        if (r->how == RDN_RULE_INDEX && rdn_plan_equality(c->pl, r->by, &word))
            keep(c, word);
        else if ((r->how == RDN_RULE_LADDER || r->how == RDN_RULE_PURE) && rdn_plan_threshold(c->pl, r->by, &t))
            keep(c, t.word);
    }
}
/* A costly read is late when all that depend on it stand behind something rare. */
static void late_reads(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    uint64_t *behind = rdn_new_n(c->tmp, uint64_t, pl->dep_words + 1);
    uint32_t nlate = 0;
    keep_words(c);
    for (uint32_t i = 0; i < pl->nrules; i++)
        behind[i / 64] |= (uint64_t)stands_behind(c, i) << i % 64;
    for (uint32_t g = 0; g < pl->gathers.n; g++) {
        struct rdn_gather *ga = &pl->gathers.v[g];
        const uint64_t *users = pl->deps + (size_t)ga->dep * pl->dep_words;
        bool late = c->costly[ga->pid] && !ga->inner && ga->dep != RDN_NO_DEP && !c->count[ga->pid];
        for (uint32_t w = 0; late && w < pl->dep_words; w++)
            late = !(users[w] & ~behind[w]);
        ga->late = late;
        nlate += late;
        for (uint32_t w = 0; late && w < pl->dep_words; w++)
            for (uint64_t b = users[w]; b; b &= b - 1) {
                uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(b);
                if (i < pl->nrules && open_rule(c, i))
                    pl->rules[i].how = RDN_RULE_LATE;
            }
    }
    for (rdn_pid p = 0; p < pl->nodes.n; p++)
        c->count[p] = 0;
    for (uint32_t i = 0; nlate && i < pl->nrules; i++) {
        bool costly;
        if (pl->rules[i].how == RDN_RULE_LATE)
            pl->rules[i].pass = (float)cheap_pass(c, i, &costly);
    }
}

/* ---- all of it ---- */
static void predict(struct rdn_choice *c, uint32_t i) {
    struct rdn_prule *r = &c->pl->rules[i];
    struct keyed k = keyed_by(c, (enum rdn_technique)r->how);
    uint32_t n;
    const rdn_pid *v = rdn_plan_conjuncts(c->pl, &r->root, &n);
    double flat = rdn_plan_rule_ns(c, v, n, 0, 0);
    switch ((enum rdn_technique)r->how) {
    case RDN_RULE_INTERP: r->ns = (float)k_ns_interp; break;
    case RDN_RULE_FLAT: r->ns = (float)flat; break;
    case RDN_RULE_BRANCH: r->ns = (float)rdn_plan_rule_ns(c, v, n, 0, r->by); break;
    case RDN_RULE_INDEX: case RDN_RULE_LADDER: r->ns = (float)sparse_ns(c, &k, i, r->by); break;
    case RDN_RULE_LATE: r->ns = (float)(flat + r->pass * k_ns_sparse); break;
    case RDN_RULE_PURE: case RDN_RULE_COUNT: r->ns = 0; break;      /* its ladder's time is */
    case RDN_RULE_KILL: break;                           /* plan_kill.c */
    }
}
void rdn_plan_total(struct rdn_plan *pl) {
    double near = 0, rest = 0;
    for (uint32_t i = 0; i < pl->nrules; i++) {
        unsigned how = pl->rules[i].how;
        *(how == RDN_RULE_FLAT || how == RDN_RULE_BRANCH || how == RDN_RULE_LATE ? &near : &rest) += (double)pl->rules[i].ns;
    }
    rest += pl->indexes.n ? k_ns_start + pl->indexes.n * k_ns_look : 0;
    rest += pl->ladders.n || pl->pures.n ? k_ns_climb + pl->ladders.n * k_ns_ladder + pl->pures.n * (k_ns_pure + pl->words * k_ns_pure_word) : 0;
    pl->ns = k_ns_event + near * (near > k_near ? k_far : 1) + rest;
}
static void costs(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    for (rdn_pid p = 1; p < pl->nodes.n; p++) {
        const struct rdn_pnode *n = rdn_pnode_at(pl, p);
        uint32_t k;
        if (n->flags & RDN_P_SLOT) {
            c->costly[p] = n->op != RDN_OP_PARAM && n->gather < pl->gathers.n && pl->gathers.v[n->gather].kind != RDN_G_FIELD &&
                           pl->gathers.v[n->gather].kind != RDN_G_INCAL && pl->gathers.v[n->gather].kind != RDN_G_INLIST;
            continue;
        }
        if (rdn_pnode_leaf(n) || !n->uses)
            continue;
        const rdn_pid *v = rdn_pargs(pl, n, &k);
        float ns = (float)(rdn_plan_op_ns(n) + (n->flags & RDN_P_GUARD ? k_ns_guard : 0));
        uint32_t size = 1;
        uint8_t costly = 0;
        for (uint32_t i = 0; i < k; i++) {
            ns += rdn_pnode_at(pl, v[i])->flags & RDN_P_SHARED ? 0 : c->ns[v[i]];
            costly |= c->costly[v[i]];
            size += c->size[v[i]];
        }
        c->ns[p] = ns;
        c->costly[p] = costly;
        c->size[p] = (uint8_t)(size > 255 ? 255 : size);
        c->no_late |= (n->flags & RDN_P_SHARED) && c->costly[p] && c->size[p] > RDN_UNSHARE_SIZE;
    }
}
/* How many rules compare a word with a constant. */
static void count_asked(struct rdn_choice *c) {
    for (uint32_t i = 0; i < c->pl->nrules; i++) {
        uint32_t n;
        const rdn_pid *v = rdn_plan_conjuncts(c->pl, &c->pl->rules[i].root, &n);
        rdn_pid word;
        for (uint32_t k = 0; open_rule(c, i) && k < n; k++)
            if (rdn_plan_equality(c->pl, v[k], &word))
                c->asked[word]++;
    }
}
void rdn_plan_choose(struct rdn_choice *c) {
    struct rdn_plan *pl = c->pl;
    size_t n = pl->nodes.n;
    c->asked = rdn_new_n(c->tmp, uint32_t, n);
    c->ns = rdn_new_n(c->tmp, float, n);
    c->costly = rdn_new_n(c->tmp, uint8_t, n);
    c->size = rdn_new_n(c->tmp, uint8_t, n);
    c->count = rdn_new_n(c->tmp, uint32_t, 2 * n + 2);
    rdn_plan_passes(c, c->opt->sampled);
    costs(c);
    count_asked(c);
    go_by_keys(c);
    if (may(c, RDN_RULE_LATE) && !c->no_late && !c->opt->no_late)
        late_reads(c);
    if (may(c, RDN_RULE_KILL))
        rdn_plan_kill_wins(c);
    for (uint32_t i = 0; i < pl->nrules; i++) {
        uint32_t k;
        const rdn_pid *v = rdn_plan_conjuncts(pl, &pl->rules[i].root, &k);
        rdn_pid by = open_rule(c, i) ? rdn_plan_jump(c, v, k, 0) : 0;
        if (by)
            settle(c, i, RDN_RULE_BRANCH, by);
        predict(c, i);
    }
}
