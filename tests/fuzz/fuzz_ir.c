/* SPDX-License-Identifier: Apache-2.0
 * fuzz_ir.c: the text form of a rule set, any bytes.
 *
 * What reads (so verifies) prints to a text that reads to the same; every operation and kernel in it runs on made-up operands
 * of the verified types: the verifier must have refused whatever would read or write beyond them. */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "ir/kernel.h"
#include "ir/range.h"

enum { NODES = 4000, PATHS = 600 };
static int64_t room[4096];                               /* behind every made-up array: the largest there is */

static void must(bool ok) {
    if (!ok)
        abort();
}

static char *print(const struct rdn_ir *ir, size_t *ret_len) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_ir_print(&b, ir);
    must(!b.failed);
    char *s = rdn_arena_strndup(ir->arena, b.p, b.n);
    *ret_len = b.n;
    rdn_buf_fini(&b);
    return s;
}

/* What a source might give. */
static void make_up(const struct rdn_ir *ir, rdn_id id, struct rdn_cell *c) {
    static const int64_t ints[] = { 0, 1, -1, INT64_MIN, INT64_MAX, 7 };
    const struct rdn_type *t = rdn_ir_ltype(ir, id);
    memset(c, 0, sizeof *c);
    if (id % 11 == 0) {
        c->cause = RDN_CAUSE_COLD;
        return;
    }
    switch ((enum rdn_cell_type)ir->nodes.v[id].type) {
    case RDN_TY_B1: c->i = id & 1; break;
    case RDN_TY_I64: c->i = t->kind == RDN_K_ENUM || t->kind == RDN_K_SYM ? 0 : t->kind == RDN_K_DATE ? 20000 : ints[id % 6]; break;
    case RDN_TY_F64: c->f = id % 5 == 0 ? __builtin_nan("") : (double)id / 3; break;
    case RDN_TY_D64: c->d = ints[id % 6]; break;
    case RDN_TY_W128: c->d = id & 1 ? RDN_I128_MIN : RDN_I128_MAX; break;
    case RDN_TY_STR: c->t.p = "12\xc3\xa9"; c->t.len = t->kind == RDN_K_STR && t->n < 4 ? t->n : 4; break;
    case RDN_TY_VEC: case RDN_TY_IVEC: c->w = room; break;
    case RDN_TY_ROW: case RDN_TY_COUNT: break;
    }
}

static void run_nodes(const struct rdn_ir *ir) {
    static struct rdn_cell cells[NODES];
    static const struct rdn_cell *ptrs[NODES];
    static char base[1 << 20] __attribute__((aligned(16)));
    struct rdn_scratch sc = { base, sizeof base, 0 };
    for (rdn_id id = 1; id < ir->nodes.n && id < NODES; id++) {
        const struct rdn_node *n = &ir->nodes.v[id];
        rdn_id buf[3];
        uint32_t k;
        const rdn_id *args = rdn_node_args(ir, n, buf, &k);
        bool source = n->op <= RDN_OP_KPARAM;
        if (n->op == RDN_OP_CONST)
            cells[id] = ir->consts.v[n->aux].val;
        else if (source || k > NODES)
            make_up(ir, id, &cells[id]);
        else {
            for (uint32_t i = 0; i < k; i++)
                ptrs[i] = &cells[args[i]];
            memset(&cells[id], 0, sizeof cells[id]);
            rdn_op_apply(ir, id, ptrs, k, &sc, &cells[id]);
        }
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        if (n->type != RDN_TY_ROW)
            rdn_value_json(&b, ir->syms, rdn_ir_ltype(ir, id), &cells[id]);
        rdn_buf_fini(&b);
    }
}

/* Block functions and reference: the same bits, the same cause. */
static void run_kernel(struct rdn_kernel_state *ks, const struct rdn_ir *ir, uint32_t c, const struct rdn_cell *args, const struct rdn_cell *params) {
    struct rdn_cell ret[2] = { { .cause = RDN_DEFINED }, { .cause = RDN_DEFINED } };
    for (unsigned way = 0; way < 2; way++) {
        rdn_kernel_use(ks, way ? NULL : rdn_block());
        rdn_kernel_run(ks, ir, c, args, params, 0, &ret[way]);
    }
    must(ret[0].cause == ret[1].cause && (ret[0].cause || ret[0].i == ret[1].i));
}

static void run_kernels(const struct rdn_ir *ir) {
    struct rdn_kernel_state *ks;
    struct rdn_cell args[16] = { 0 }, *params = rdn_new_n(ir->arena, struct rdn_cell, ir->nparams + 1);
    for (uint32_t c = 0; c < ir->ncalls; c++)
        if (ir->calls[c].kernel && ir->calls[c].paths > PATHS)
            return;
    for (uint32_t i = 0; i < ir->nparams; i++)
        params[i] = ir->params[i].val;
    if (rdn_kernel_open(ir, &rdn_libc_mem, &ks))
        return;
    for (uint32_t c = 0; c < ir->ncalls; c++)
        if (ir->calls[c].kernel) {
            for (uint32_t i = 0; i < ir->calls[c].nparams; i++)
                args[i] = (struct rdn_cell){ .w = ir->calls[c].params[i].type->kind == RDN_K_ARR ? room : NULL };
            run_kernel(ks, ir, c, args, params);
        }
    rdn_kernel_close(ks);
}

static void look(struct rdn_arena *a, struct rdn_syms *syms, const struct rdn_ir *ir) {
    struct rdn_ir *again;
    redan_error err = { 0 };
    size_t n, m;
    uint8_t hash[32], same[32];
    char *text = print(ir, &n);
    must(rdn_ir_read(a, syms, text, n, &again, &err) == 0);
    rdn_ir_hash(ir, hash);
    rdn_ir_hash(again, same);
    must(!strcmp(print(again, &m), text) && n == m && !memcmp(hash, same, 32));
    struct rdn_range *g = rdn_new_n(a, struct rdn_range, ir->nodes.n);
    rdn_range_of(ir, 0, g);
    for (rdn_id id = 0; id < ir->nodes.n; id++)
        must(g[id].lo <= g[id].hi);
    run_nodes(ir);
    run_kernels(ir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct rdn_arena a;
    struct rdn_syms *syms;
    struct rdn_ir *ir;
    redan_error err = { 0 };
    rdn_arena_init(&a, &rdn_libc_mem);
    if (rdn_syms_open(&syms, &rdn_libc_mem, 1000))
        return 0;
    jmp_buf oom;
    if (rdn_ir_read(&a, syms, (const char *)data, n, &ir, &err) == 0) {
        a.oom = &oom;
        if (!setjmp(oom))
            look(&a, syms, ir);
    } else {
        must(err.code < 0 && err.text[0]);
    }
    rdn_syms_close(syms);
    rdn_arena_fini(&a);
    return 0;
}
