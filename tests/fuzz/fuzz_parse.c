/* SPDX-License-Identifier: Apache-2.0
 * fuzz_parse.c: rule text of any bytes through every pass, the printers and the formatter.
 *
 * Beyond not crashing: the answer is a rule set or diagnostics, these lie in the text in order, and formatted text formats to
 * itself, gets the same codes and keeps every layout and window hash. */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/hash.h"
#include "base/sym.h"
#include "base/text.h"
#include "dsl/dsl.h"

static void must(bool ok) {
    if (!ok)
        abort();
}

/* The codes in order: positions differ between a text and its formatted form, and so may the order within a line. */
struct codes { unsigned n; char code[128][6]; uint64_t hashes; };

static void look(const struct rdn_dsl_result *r, struct codes *ret) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    ret->n = r->ndiags < 128 ? r->ndiags : 128;
    for (uint32_t i = 0; i < r->ndiags; i++) {
        const struct rdn_dsl_diag *d = &r->diags[i];
        must(rdn_dsl_code_text(d->code) != NULL && d->text != NULL);
        must(d->span.a <= d->span.b && d->span.b <= r->len && d->line > 0 && d->col > 0 && d->warning == (r->ir != NULL));
        must(i == 0 || r->diags[i - 1].span.a <= d->span.a);
        rdn_dsl_print_diag(&b, "f", r->src, r->len, d, i & 1);
        rdn_dsl_print_short(&b, d);
        if (i < 128)
            memcpy(ret->code[i], d->code, 6);
    }
    must(r->ir || r->ndiags > 0);
    ret->hashes = 0;
    if (r->ir) {
        rdn_dsl_doc(&b, r->ir);
        b.n = 0;
        rdn_dsl_hash(&b, r->ir);
        ret->hashes = rdn_fnv64(rdn_buf_str(&b), b.n);
        b.n = 0;
    }
    must(b.failed || rdn_utf8_valid(rdn_buf_str(&b), b.n));
    rdn_buf_fini(&b);
}

static bool compile(const char *text, size_t n, struct codes *ret) {
    struct rdn_arena arena;
    struct rdn_syms *syms = NULL;
    struct rdn_dsl_result r;
    redan_error e;
    rdn_arena_init(&arena, &rdn_libc_mem);
    must(rdn_syms_open(&syms, &rdn_libc_mem, 1u << 16) == 0);
    int rc = rdn_dsl_compile(&arena, syms, text, n, NULL, &r, &e);
    must(rc == 0 || rc == REDAN_E_FULL || rc == REDAN_E_NOMEM);
    if (rc == 0)
        look(&r, ret);
    rdn_syms_close(syms);
    rdn_arena_fini(&arena);
    return rc == 0;
}

static void format(const char *text, size_t n, const struct codes *want) {
    struct rdn_buf once, twice;
    redan_error e;
    rdn_buf_init(&once, &rdn_libc_mem);
    rdn_buf_init(&twice, &rdn_libc_mem);
    int rc = rdn_dsl_format(text, n, &once, &e);
    must(rc == 0 || rc == REDAN_E_SYNTAX);
    if (rc == 0) {
        struct codes got;
        must(rdn_dsl_format(rdn_buf_str(&once), once.n, &twice, &e) == 0);
        must(once.n == twice.n && memcmp(rdn_buf_str(&once), rdn_buf_str(&twice), once.n) == 0);
        if (compile(rdn_buf_str(&once), once.n, &got))
            must(got.n == want->n && memcmp(got.code, want->code, got.n * sizeof *got.code) == 0 && got.hashes == want->hashes);
    }
    rdn_buf_fini(&once);
    rdn_buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct codes codes;
    if (compile((const char *)data, n, &codes))
        format((const char *)data, n, &codes);
    return 0;
}
