/* SPDX-License-Identifier: Apache-2.0
 * load.c: files in, diagnostics out. */
#include "tools/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool write_all(int fd, const char *p, size_t n) {
    for (ssize_t k; n; p += k, n -= (size_t)k)
        if ((k = write(fd, p, n)) < 0)
            return false;
    return true;
}

bool replace_file(const char *path, const struct rdn_buf *b, unsigned mode) {
    char tmp[4200];
    snprintf(tmp, sizeof tmp, "%.4100s.tmp%d", path, getpid());
    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool good = write_all(fd, b->p, b->n) && (!mode || fchmod(fd, mode) == 0);
    good = close(fd) == 0 && good && rename(tmp, path) == 0;
    int was = errno;
    if (!good)
        unlink(tmp);
    errno = was;
    return good;
}

char *read_file(const char *path, size_t *ret_len) {
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "redan: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    size_t n = 0, cap = 1 << 16;
    char *p = malloc(cap + 1);
    while (p && !feof(f) && !ferror(f)) {
        n += fread(p + n, 1, cap - n, f);
        if (n == cap) {
            char *q = realloc(p, (cap *= 2) + 1);
            if (!q)
                free(p);
            p = q;
        }
    }
    bool bad = !p || ferror(f);
    if (bad)
        fprintf(stderr, "redan: %s: %s\n", path, p ? strerror(errno) : "out of memory");
    if (f != stdin)
        fclose(f);
    if (bad) {
        free(p);
        return NULL;
    }
    p[n] = 0;
    *ret_len = n;
    return p;
}

void print_error(const redan_error *e) {
    fprintf(stderr, "redan: ");
    if (e->where[0] && e->line && e->column)
        fprintf(stderr, "%s:%u:%u: ", e->where, e->line, e->column);
    else if (e->where[0] && e->line)
        fprintf(stderr, "%s:%u: ", e->where, e->line);
    else if (e->where[0])
        fprintf(stderr, "%s: ", e->where);
    fprintf(stderr, "%s%s%s\n", e->id, e->id[0] ? " " : "", e->text[0] ? e->text : redan_strerror(e->code));
}

redan_engine *open_engine(const char *backend, uint32_t lanes) {
    redan_options o = REDAN_OPTIONS_INIT;
    redan_engine *e;
    redan_error err = { 0 };
    o.lanes = lanes;
    o.backend = backend;
    o.max_syms = 1u << 26;
    if (redan_open(&e, &o, &err) < 0) {
        print_error(&err);
        return NULL;
    }
    e->offline = true;
    return e;
}

struct sink {
    const struct args *args;
    const char *file, *src;
    size_t len;
    enum diag_style style;
    bool warnings, color;
    bool any_error;
    uint32_t n;
};

/* Byte offset of a line and column. */
static uint32_t offset_of(const struct sink *s, uint32_t line, uint32_t col) {
    const char *p = s->src, *end = s->src + s->len;
    while (line > 1 && p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        p++;
        line--;
    }
    return (uint32_t)((p ? p : end) - s->src) + col - 1;
}

static void print_json(const struct sink *s, const redan_diag *d) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_buf_puts(&b, "{\"schema\":\"redan.diag/1\",\"file\":");
    rdn_buf_json(&b, s->file, strlen(s->file));
    rdn_buf_printf(&b, ",\"code\":\"%s\",\"line\":%u,\"col\":%u,\"end_line\":%u,\"end_col\":%u,\"text\":", d->code, d->line, d->col, d->end_line, d->end_col);
    rdn_buf_json(&b, d->text, strlen(d->text));
    rdn_buf_puts(&b, ",\"hint\":");
    if (d->hint)
        rdn_buf_json(&b, d->hint, strlen(d->hint));
    else
        rdn_buf_puts(&b, "null");
    rdn_buf_puts(&b, "}\n");
    out_buf(stdout, &b);
    rdn_buf_fini(&b);
}

static void on_diag(void *ctx, const redan_diag *d) {
    struct sink *s = ctx;
    bool warning = d->code[0] == 'W';
    s->n += warning;
    if ((warning && !s->warnings) || s->style == DIAG_NONE)
        return;
    if (s->style == DIAG_JSON) {
        print_json(s, d);
        return;
    }
    struct rdn_dsl_diag x = { .warning = warning, .line = d->line, .col = d->col, .end_line = d->end_line, .end_col = d->end_col, .text = d->text, .hint = d->hint };
    memcpy(x.code, d->code, sizeof x.code);
    x.span.a = offset_of(s, d->line, d->col);
    x.span.b = offset_of(s, d->end_line, d->end_col);
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    if (s->style == DIAG_SHORT)
        rdn_dsl_print_short(&b, &x);
    else
        rdn_dsl_print_diag(&b, s->file, s->src, (uint32_t)s->len, &x, s->color);
    out_buf(stdout, &b);
    rdn_buf_fini(&b);
}

static void dir_name(const char *path, char *ret, size_t cap) {
    size_t n = (size_t)(base_name(path) - path);
    snprintf(ret, cap, "%.*s", n ? (int)n : 1, n ? path : ".");
}

redan_ruleset *load_rules(redan_engine *e, const struct args *a, const char *path, enum diag_style style, bool warnings, int *ret_rc) {
    size_t len;
    char dir[4096];
    char *text = read_file(path, &len);
    *ret_rc = EXIT_USAGE;
    if (!text)
        return NULL;
    dir_name(path, dir, sizeof dir);
    if (style == DIAG_FULL && args_flag(a, "--json"))
        style = DIAG_JSON;
    struct sink s = { a, base_name(path), text, len, style, warnings, color_wanted(a, stdout), false, 0 };
    redan_compilation c = REDAN_COMPILATION_INIT;
    c.ctx = &s;
    c.on_diag = on_diag;
    c.base_dir = dir;
    redan_ruleset *rs = NULL;
    redan_error err = { 0 };
    int rc = redan_compile(e, base_name(path), text, len, &c, &rs, &err);
    free(text);
    *ret_rc = rc == 0 ? EXIT_GOOD : EXIT_FINDINGS;
    if (rc < 0 && rc != REDAN_E_SYNTAX && rc != REDAN_E_TYPE) {
        print_error(&err);
        *ret_rc = EXIT_USAGE;
    }
    return rc == 0 ? rs : NULL;
}
