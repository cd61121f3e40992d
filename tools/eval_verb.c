/* SPDX-License-Identifier: Apache-2.0
 * eval_verb.c: `redan eval`: one constant expression, or a file of them (LANGUAGE.md 17.8). */
#include "tools/tool.h"
#include "host/line.h"
#include <string.h>

enum { BINDINGS = 64 };

struct evaluator {
    struct rdn_syms *syms;
    struct rdn_arena arena;
    struct rdn_types *types;
    struct rdn_buf out;
};

/* The value of a text; false: *ret_code is its first mistake. */
static bool evaluate(struct evaluator *v, const char *text, size_t len, const struct rdn_dsl_binding *b, uint32_t n, const struct rdn_type **ret_type,
                     struct rdn_cell *ret, struct rdn_dsl_result *res) {
    rdn_id root = RDN_NO_NODE;
    redan_error err = { 0 };
    if (rdn_dsl_expr(&v->arena, v->syms, v->types, text, len, b, n, res, &root, &err) < 0 || !res->ir)
        return false;
    struct rdn_scratch scratch;
    if (!rdn_fold_room(res->ir, &v->arena, &scratch))
        return false;
    rdn_fold(res->ir, root, &scratch, ret);
    *ret_type = rdn_ir_ltype(res->ir, root);
    return true;
}

static int eval_one(struct evaluator *v, const char *text) {
    struct rdn_dsl_result res = { 0 };
    const struct rdn_type *t;
    struct rdn_cell c;
    if (!evaluate(v, text, strlen(text), NULL, 0, &t, &c, &res)) {
        for (uint32_t i = 0; i < res.ndiags && i < 1; i++)
            rdn_buf_printf(&v->out, "%s %s\n", res.diags[i].code, res.diags[i].text);
        out_buf(stdout, &v->out);
        return EXIT_FINDINGS;
    }
    rdn_type_print(&v->out, t);
    rdn_buf_putc(&v->out, ' ');
    if (c.cause)
        rdn_buf_printf(&v->out, "undefined(%s)", rdn_cause_text(c.cause));
    else
        rdn_value_json(&v->out, v->syms, t, &c);
    rdn_buf_putc(&v->out, '\n');
    out_buf(stdout, &v->out);
    return EXIT_GOOD;
}

/* One line of JSON (LANGUAGE.md 17.8). */
static bool put_answer(struct evaluator *v, const char *text, size_t len, const struct rdn_dsl_binding *b, uint32_t n) {
    struct rdn_dsl_result res = { 0 };
    const struct rdn_type *t;
    struct rdn_cell c;
    if (!evaluate(v, text, len, b, n, &t, &c, &res)) {
        rdn_buf_printf(&v->out, "{\"reject\":\"%s\"}\n", res.ndiags ? res.diags[0].code : "E0705");
        return false;
    }
    if (c.cause) {
        rdn_buf_printf(&v->out, "{\"undefined\":\"%s\"}\n", rdn_cause_text(c.cause));
        return true;
    }
    char *name = rdn_type_name(&v->arena, t);
    rdn_buf_puts(&v->out, "{\"type\":");
    rdn_buf_json(&v->out, name, strlen(name));
    rdn_buf_puts(&v->out, ",\"value\":");
    rdn_value_json(&v->out, v->syms, t, &c);
    rdn_buf_puts(&v->out, "}\n");
    return true;
}

/* {"NAME":[TYPE,VALUE],...}; -1 when a binding does not fit. */
static int read_bindings(struct evaluator *v, struct rdn_json_reader *r, const struct rdn_json *o, struct rdn_dsl_binding *ret) {
    int n = 0;
    for (const struct rdn_json *j = o ? rdn_json_first(r, o) : NULL; j && n < BINDINGS; j = rdn_json_next(r, j), n++) {
        const struct rdn_json *type = j->kind == RDN_JSON_ARRAY && j->n == 2 ? rdn_json_first(r, j) : NULL;
        if (!type || type->kind != RDN_JSON_STRING)
            return -1;
        ret[n].name = rdn_arena_strndup(&v->arena, j->name, j->name_len);
        ret[n].type = rdn_dsl_type(&v->arena, v->types, type->text, type->len);
        if (!ret[n].type)
            return -1;
        void *room = rdn_arena_alloc(&v->arena, rdn_type_elems(ret[n].type) * 8u);
        if (!rdn_line_value(r, v->syms, rdn_json_next(r, type), ret[n].type, room, &ret[n].val))
            return -1;
    }
    return n;
}

static bool eval_line(struct evaluator *v, struct rdn_json_reader *r, const char *line, size_t len) {
    const struct rdn_json *o = rdn_json_read(r, line, len);
    const struct rdn_json *expr = o && o->kind == RDN_JSON_OBJECT ? rdn_json_get(r, o, "expr") : NULL;
    struct rdn_dsl_binding b[BINDINGS];
    rdn_arena_init(&v->arena, &rdn_libc_mem);
    v->types = rdn_types_new(&v->arena);
    int n = expr && expr->kind == RDN_JSON_STRING ? read_bindings(v, r, rdn_json_get(r, o, "bindings"), b) : -1;
    if (n >= 0) {
        put_answer(v, expr->text, expr->len, b, (uint32_t)n);
    }
    rdn_arena_fini(&v->arena);
    return n >= 0;
}

static int eval_file(struct evaluator *v, const char *path) {
    size_t len, at = 0, line = 0;
    char *text = read_file(path, &len);
    if (!text)
        return EXIT_USAGE;
    struct rdn_json_reader r;
    rdn_json_init(&r, &rdn_libc_mem);
    int rc = EXIT_GOOD;
    while (at < len && rc == EXIT_GOOD) {
        const char *nl = memchr(text + at, '\n', len - at);
        size_t n = nl ? (size_t)(nl - text) - at : len - at;
        line++;
        if (n && !eval_line(v, &r, text + at, n))
            rc = usage("%s:%zu: no {\"expr\":TEXT,\"bindings\":{NAME:[TYPE,VALUE]}}", base_name(path), line);
        at += n + 1;
        if (v->out.n > 1 << 16)
            out_buf(stdout, &v->out);
    }
    out_buf(stdout, &v->out);
    rdn_json_fini(&r);
    free(text);
    return rc;
}

int cmd_eval(int argc, char **argv) {
    static const struct opt opts[] = { { "--vectors", OPT_VALUE, "" }, { "--backend", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    struct args a;
    if (!args_read(&a, "eval", argc, argv, opts))
        return EXIT_USAGE;
    const char *file = args_value(&a, "--vectors"), *backend = args_value(&a, "--backend");
    if (backend && !rdn_backend_known(backend))
        return usage("unknown backend '%.40s'", backend);
    if (!file && a.nwords != 1)
        return usage("eval takes one expression, or --vectors FILE");
    struct evaluator v = { 0 };
    rdn_buf_init(&v.out, &rdn_libc_mem);
    int rc = EXIT_USAGE;
    if (rdn_syms_open(&v.syms, &rdn_libc_mem, 1 << 20) == 0) {
        if (file) {
            rc = eval_file(&v, file);
        } else {
            rdn_arena_init(&v.arena, &rdn_libc_mem);
            v.types = rdn_types_new(&v.arena);
            rc = args_flag(&a, "--json") ? put_answer(&v, a.words[0], strlen(a.words[0]), NULL, 0) ? EXIT_GOOD : EXIT_FINDINGS : eval_one(&v, a.words[0]);
            out_buf(stdout, &v.out);
            rdn_arena_fini(&v.arena);
        }
    }
    rdn_syms_close(v.syms);
    rdn_buf_fini(&v.out);
    return rc;
}
