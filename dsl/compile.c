/* SPDX-License-Identifier: Apache-2.0
 * compile.c: the passes in order, and the one place where memory that ended or a full symbol table comes out.
 *
 * The passes recurse over chains of 256 declarations with trees of height 200 each, so they run on a thread whose stack is
 * reserved and committed by touch. The thread blocks every signal: handlers of the embedder stay on the embedder's threads. */
#include "base/fault.h"
#include "dsl/pass.h"
#include "dsl/bounds.h"
#include "base/buf.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_BYTES ((size_t)256 << 20)
#define GUARD_BYTES ((size_t)64 << 10)
enum { FIRST = 100 };                                    /* diagnostics handed out */

struct job {
    struct rdn_pass pass;
    struct rdn_arena work;                               /* of the passes: the tree, maps, arrays while they grow */
    const char *text;
    size_t len;
    struct rdn_ir *ir;
    bool syntax;                                         /* the mistake is one of the parser's */
};

/* Runs fn(arg) on a thread with STACK_BYTES of stack; NOMEM when there is none. */
static int on_large_stack(void *(*fn)(void *), void *arg) {
    char *stack = rdn_fault_hit() ? MAP_FAILED : mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return REDAN_E_NOMEM;
    mprotect(stack, GUARD_BYTES, PROT_NONE);             /* the lowest pages: an overrun faults */
    pthread_attr_t attr;
    pthread_t t;
    sigset_t all, was;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    int rc = pthread_create(&t, &attr, fn, arg);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    pthread_attr_destroy(&attr);
    if (rc == 0)
        pthread_join(t, NULL);
    munmap(stack, STACK_BYTES);
    return rc == 0 ? 0 : REDAN_E_NOMEM;
}

/* ---- the passes ---- */
static void too_large(struct rdn_pass *c) {
    struct rdn_dsl_diag d = { .code = "E0704", .line = 1, .col = 1, .end_line = 1, .end_col = 1 };
    d.text = rdn_arena_printf(c->arena, "file is larger than %d bytes", RDN_LIM_FILE_BYTES);
    rdn_push_val(c->arena, &c->diags, d);
    c->src = "";
}

static bool parse(struct rdn_pass *c) {
    struct rdn_guard g;
    RDN_TRY(c, g) {
        c->file = rdn_parse(c);
        RDN_DONE(c, g);
        return true;
    }
    rdn_keep_raised(c);
    return false;
}

static void place(struct rdn_pass *c, struct rdn_dsl_diag *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        rdn_linecol(c, v[i].span.a, &v[i].line, &v[i].col);
        rdn_linecol(c, v[i].span.b, &v[i].end_line, &v[i].end_col);
    }
}

/* The pass owns a copy of the text; false with E0704. */
static bool take_source(struct rdn_pass *c, const char *text, size_t len) {
    if (len > RDN_LIM_FILE_BYTES) {
        too_large(c);
        return false;
    }
    c->src = rdn_arena_strndup(c->arena, text, len);
    c->len = (uint32_t)len;
    return true;
}

static void *run(void *arg) {
    struct job *j = arg;
    struct rdn_pass *c = &j->pass;
    if (setjmp(c->out))
        return NULL;                                     /* c->fatal says why */
    c->fatal = REDAN_E_NOMEM;
    c->arena->oom = c->work->oom = &c->out;
    if (take_source(c, j->text, j->len)) {
        c->types = rdn_types_new(c->arena);
        j->syntax = !parse(c);
        if (!j->syntax && rdn_check(c))
            j->ir = rdn_lower(c);
    }
    place(c, c->diags.v, c->diags.n);
    place(c, c->warns.v, c->warns.n);
    c->fatal = 0;
    return NULL;
}

/* ---- what came out ---- */
static void first_error(const struct rdn_dsl_diag *d, bool syntax, const char *file, redan_error *reterr) {
    if (!reterr)
        return;
    rdn_fail_(reterr, syntax ? REDAN_E_SYNTAX : REDAN_E_TYPE, d->code, "%s", d->text);
    reterr->line = d->line;
    reterr->column = d->col;
    snprintf(reterr->where, sizeof reterr->where, "%s", file ? file : "<input>");
    for (char *s = reterr->text; *s; s++)                /* a name in a message may hold a line end: test "a\nb" */
        *s = (unsigned char)*s < 0x20 ? ' ' : *s;
}

static int give_up(int rc, redan_error *reterr) {
    return rc == REDAN_E_FULL ? rdn_fail(reterr, FULL, "R1002", "no room for more symbols") : rdn_fail(reterr, NOMEM, "", "out of memory");
}

static void give(const struct rdn_pass *c, bool any, struct rdn_dsl_result *ret) {
    uint32_t n = c->diags.n ? c->diags.n : c->warns.n;
    ret->diags = c->diags.n ? c->diags.v : c->warns.v;
    ret->ndiags = n > FIRST && !any ? FIRST : n;
    ret->more = n - ret->ndiags;
    ret->src = c->src;
    ret->len = c->len;
}

int rdn_dsl_compile(struct rdn_arena *arena, struct rdn_syms *syms, const char *text, size_t len, const struct rdn_dsl_options *opt,
                    struct rdn_dsl_result *ret, redan_error *reterr) {
    static const struct rdn_dsl_options none;
    jmp_buf *oom = arena->oom;
    arena->oom = NULL;
    *ret = (struct rdn_dsl_result){ 0 };
    struct job *j = rdn_new(arena, struct job);
    int rc = j ? 0 : REDAN_E_NOMEM;
    if (rc == 0) {
        *j = (struct job){ .text = text, .len = len };
        rdn_arena_init(&j->work, arena->mem);
        j->work.max_bytes = arena->max_bytes;
        j->work.brief = true;
        rdn_pass_init(&j->pass, arena, &j->work, NULL, syms, "", 0);
        j->pass.opt = opt ? opt : &none;
        rc = on_large_stack(run, j);
        rdn_arena_fini(&j->work);
    }
    arena->oom = oom;
    if (rc == 0 && j->pass.fatal)
        rc = j->pass.fatal;
    if (rc < 0)
        return give_up(rc, reterr);
    ret->ir = j->ir;
    give(&j->pass, j->pass.opt->any_diags, ret);
    if (!ret->ir && ret->ndiags)
        first_error(&ret->diags[0], j->syntax, j->pass.opt->file, reterr);
    return 0;
}

/* ---- one expression, one type ---- */
struct expr_job {
    const char *text;
    size_t len;
    const struct rdn_dsl_binding *bindings;
    uint32_t nbindings;
    rdn_id root;
};

static struct rdn_ir *lower_one(struct rdn_pass *c, struct expr_job *j) {
    struct rdn_d_param_ *locals = rdn_new_n(c->arena, struct rdn_d_param_, j->nbindings + 1);
    for (uint32_t i = 0; i < j->nbindings; i++) {
        locals[i].name = rdn_ast_name(c, j->bindings[i].name, strlen(j->bindings[i].name));
        locals[i].type = j->bindings[i].type;
    }
    struct rdn_expr *x = rdn_parse_expr_text(c, c->src, c->len, false);
    rdn_check_expr(c, x, locals, j->nbindings);
    return rdn_lower_expr(c, x, j->bindings, j->nbindings, &j->root);
}

static struct rdn_ir *try_expr(struct rdn_pass *c, struct expr_job *j) {
    struct rdn_guard g;
    RDN_TRY(c, g) {
        struct rdn_ir *ir = lower_one(c, j);
        RDN_DONE(c, g);
        return ir;
    }
    rdn_keep_raised(c);
    return NULL;
}

static struct rdn_ir *run_expr(struct rdn_pass *c, struct expr_job *j) {
    if (setjmp(c->out))
        return NULL;
    c->fatal = REDAN_E_NOMEM;
    c->arena->oom = &c->out;
    struct rdn_ir *ir = NULL;
    if (take_source(c, j->text, j->len)) {
        c->file = rdn_new(c->arena, struct rdn_file);
        *c->file = (struct rdn_file){ .src = c->src, .len = c->len, .name = rdn_ast_name(c, "anon", 4) };
        ir = try_expr(c, j);
    }
    place(c, c->diags.v, c->diags.n);
    c->fatal = 0;
    return ir;
}

int rdn_dsl_expr(struct rdn_arena *arena, struct rdn_syms *syms, struct rdn_types *types, const char *text, size_t len,
                 const struct rdn_dsl_binding *bindings, uint32_t nbindings, struct rdn_dsl_result *ret, rdn_id *ret_root, redan_error *reterr) {
    static const struct rdn_dsl_options none;
    jmp_buf *oom = arena->oom;
    struct expr_job j = { text, len, bindings, nbindings, RDN_NO_NODE };
    arena->oom = NULL;
    *ret = (struct rdn_dsl_result){ 0 };
    struct rdn_pass *c = rdn_new(arena, struct rdn_pass);
    if (!c) {
        arena->oom = oom;
        return give_up(REDAN_E_NOMEM, reterr);
    }
    rdn_pass_init(c, arena, arena, types, syms, "", 0);
    c->opt = &none;
    struct rdn_ir *ir = run_expr(c, &j);
    arena->oom = oom;
    if (c->fatal)
        return give_up(c->fatal, reterr);
    ret->ir = ir;
    *ret_root = j.root;
    give(c, true, ret);
    if (!ir && ret->ndiags)
        first_error(&ret->diags[0], ret->diags[0].code[1] == '0' && ret->diags[0].code[2] < '3', NULL, reterr);
    return 0;
}

static const struct rdn_type *try_type(struct rdn_pass *c, const char *text, size_t len) {
    struct rdn_guard g;
    RDN_TRY(c, g) {
        const struct rdn_type *t = rdn_parse_type_text(c, text, len);
        RDN_DONE(c, g);
        return t;
    }
    return NULL;
}

const struct rdn_type *rdn_dsl_type(struct rdn_arena *arena, struct rdn_types *types, const char *text, size_t len) {
    if (len == 4 && memcmp(text, "text", 4) == 0)
        return rdn_type_simple(types, RDN_K_TEXT);
    jmp_buf *oom = arena->oom;
    arena->oom = NULL;
    struct rdn_pass *c = len > RDN_LIM_FILE_BYTES ? NULL : rdn_new(arena, struct rdn_pass);
    const struct rdn_type *t = NULL;
    if (c)
        rdn_pass_init(c, arena, arena, types, NULL, text, (uint32_t)len);
    if (c && setjmp(c->out) == 0) {
        arena->oom = &c->out;
        t = try_type(c, text, len);
    }
    arena->oom = oom;
    return t;
}
