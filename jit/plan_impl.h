/* SPDX-License-Identifier: Apache-2.0
 * plan_impl.h: between the files of the planner that choose how rules are run (plan_choose.c, plan_group.c, plan_index.c,
 * plan_kill.c). All of it happens after marking, sharing and dep sets. Private to these files and plan.c. */
#ifndef RDN_PLAN_IMPL_H
#define RDN_PLAN_IMPL_H
#include "jit/plan.h"

struct rdn_choice {                                      /* lives in tmp */
    struct rdn_plan *pl; struct rdn_arena *tmp; const struct rdn_plan_options *opt;
    struct rdn_passes *passes;                           /* plan_pass.c's; NULL: no samples */
    float *pass, *ns;                                    /* by node: how often it holds, below 0: not asked yet; what computing it costs */
    uint8_t *costly;                                     /* by node: reads a window or row, or asks interp */
    uint8_t *size;                                       /* by node: operations when nothing is shared, 255: or more */
    bool no_late;                                        /* a shared value too large to be made more than once has a costly read below it */
    uint32_t *asked;                                     /* by node: rules that compare it with a constant for equality */
    uint32_t *count;                                     /* by node: scratch, all 0 between uses */
};
#define RDN_KILL_BYTES ((size_t)1 << 20)
#define RDN_UNSHARE_SIZE 40                              /* a value of more operations stays shared whoever uses it */
/* plan.c */
double rdn_plan_op_ns(const struct rdn_pnode *);
/* plan_pass.c: `of` is NULL, or events to look at */
void   rdn_plan_passes(struct rdn_choice *, const struct rdn_sampled *of);
double rdn_plan_pass(struct rdn_choice *, rdn_pid);
/* plan_choose.c */
void   rdn_plan_choose(struct rdn_choice *);             /* how, by, pass and ns of each rule */
double rdn_plan_ns(struct rdn_choice *, const rdn_pid *v, uint32_t n, rdn_pid without);   /* of computing them all */
/* As one rule among many, with a jump on `by` in front (0: none). */
double rdn_plan_rule_ns(struct rdn_choice *, const rdn_pid *v, uint32_t n, rdn_pid without, rdn_pid by);
void   rdn_plan_total(struct rdn_plan *);                /* its ns, when groups and tables are made */
/* The clause to jump on, not `without`; 0: none is worth it. */
rdn_pid rdn_plan_jump(struct rdn_choice *, const rdn_pid *v, uint32_t n, rdn_pid without);

/* plan_index.c */
struct rdn_pthreshold { rdn_pid word; bool flip; int64_t key; };
bool rdn_plan_word(const struct rdn_plan *, rdn_pid);    /* can C read it as one word? */
/* word == constant, or one of at most RDN_INDEX_KEYS constants; false: another form. */
#define RDN_INDEX_KEYS 16u
bool rdn_plan_equality(const struct rdn_plan *, rdn_pid clause, rdn_pid *ret_word);
bool rdn_plan_threshold(const struct rdn_plan *, rdn_pid clause, struct rdn_pthreshold *ret);
void rdn_plan_tables(struct rdn_choice *);               /* indexes, ladders and pures, with their groups */

/* plan_kill.c */
void rdn_plan_kill_wins(struct rdn_choice *);            /* turns the FLAT and BRANCH rules into KILL ones when that is cheaper */
void rdn_plan_kill(struct rdn_choice *);                 /* atoms of the KILL rules */

/* plan_group.c */
void rdn_plan_groups(struct rdn_choice *);
void rdn_plan_cond(struct rdn_choice *, uint32_t bit, const rdn_pid *v, uint32_t n, rdn_pid without);   /* appended to plan->conds */
void rdn_plan_add_sets(struct rdn_plan *, const uint64_t *sets, uint32_t n);  /* behind the dep sets there are */
uint32_t rdn_plan_close_group(struct rdn_plan *, uint32_t first_cond);   /* of the conditions since; its number */

#define PLAN(name, value, why) static const double k_##name __attribute__((unused)) = value;
#include "jit/plan.def"
#undef PLAN
static inline struct rdn_pnode *rdn_pnode_at(const struct rdn_plan *pl, rdn_pid p) { return &pl->nodes.v[p]; }
#endif
