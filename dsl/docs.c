/* SPDX-License-Identifier: Apache-2.0
 * docs.c: a rule set as Markdown (`redan doc`): what it declares, in its author's words.
 *
 * The words are the comments: the block right above a declaration and the one at the end of its first line. Definitions
 * are the source text itself, so the page cannot differ from the rules. */
#include "dsl/parse.h"
#include <string.h>

struct doc {
    struct rdn_pass pass;
    struct rdn_arena arena;
    const struct rdn_ir *ir;
    const struct rdn_file *f;
    struct rdn_buf *out;
    RDN_VEC(struct rdn_span) comments;                   /* in order of the text */
};

#define SRC(d) ((d)->pass.src)
static void put(struct doc *d, const char *s) { rdn_buf_puts(d->out, s); }

/* ---- comments ---- */
static void collect(struct doc *d) {
    struct rdn_lex l = { SRC(d), 0, d->pass.len };
    struct rdn_tok t = { .kind = RDN_TOK_ID };
    for (uint32_t at = 0; t.kind != RDN_TOK_EOF; at = t.b) {
        rdn_lex_next(&d->pass, &l, &t);
        while (at < t.a) {
            const char *eol = SRC(d)[at] == '#' ? memchr(SRC(d) + at, '\n', t.a - at) : SRC(d) + at;
            uint32_t end = eol ? (uint32_t)(eol - SRC(d)) : t.a;
            if (SRC(d)[at] == '#')
                rdn_push_val(&d->arena, &d->comments, ((struct rdn_span){ at, end }));
            at = end + (end < t.a);
        }
    }
}

static uint32_t line_of(struct doc *d, uint32_t off) {
    uint32_t line, col;
    rdn_linecol(&d->pass, off, &line, &col);
    return line;
}
static bool alone(struct doc *d, uint32_t off) {         /* nothing but space in front of it on its line */
    while (off > 0 && (SRC(d)[off - 1] == ' ' || SRC(d)[off - 1] == '\t'))
        off--;
    return off == 0 || SRC(d)[off - 1] == '\n';
}

/* First comment at or behind an offset. */
static uint32_t comment_at(const struct doc *d, uint32_t off) {
    uint32_t lo = 0, hi = d->comments.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (d->comments.v[mid].a < off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool is_ruler(const struct doc *d, uint32_t i) {  /* a line of dashes parts a file; it says nothing of what follows */
    const char *s = SRC(d) + d->comments.v[i].a + 1, *e = SRC(d) + d->comments.v[i].b;
    while (s < e && *s == ' ')
        s++;
    return e - s >= 3 && (memcmp(s, "---", 3) == 0 || memcmp(s, "===", 3) == 0);
}

/* The text of a comment without # and white space. */
static const char *words(const struct doc *d, uint32_t i, uint32_t *ret_n) {
    const char *s = SRC(d) + d->comments.v[i].a + 1, *e = SRC(d) + d->comments.v[i].b;
    while (s < e && (*s == ' ' || *s == '\t'))
        s++;
    while (e > s && (e[-1] == ' ' || e[-1] == '\t' || e[-1] == '\r'))
        e--;
    *ret_n = (uint32_t)(e - s);
    return s;
}

/* Comments [from, to) that stand right above the line of `off`, each on its own line. */
static uint32_t block_above(struct doc *d, uint32_t off, uint32_t to) {
    uint32_t from = to, line = line_of(d, off);
    while (from > 0 && alone(d, d->comments.v[from - 1].a) && line_of(d, d->comments.v[from - 1].a) + 1 == line) {
        if (is_ruler(d, from - 1))
            break;
        from--;
        line--;
    }
    return from;
}

/* A table cell or list entry: one line, bars escaped. */
static void put_flat(struct doc *d, const char *s, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        bool space = s[i] == '\n' || s[i] == '\r' || s[i] == '\t' || s[i] == ' ';
        if (space && i > 0 && (s[i - 1] == '\n' || s[i - 1] == ' ' || s[i - 1] == '\t' || s[i - 1] == '\r'))
            continue;
        if (s[i] == '|')
            rdn_buf_putc(d->out, '\\');
        rdn_buf_putc(d->out, space ? ' ' : s[i]);
    }
}
static void put_comment(struct doc *d, uint32_t i, const char *before) {
    uint32_t n;
    const char *s = words(d, i, &n);
    put(d, before);
    put_flat(d, s, n);
}

/* The comment at the end of the line of `off`, behind `before`. */
static void put_trailing(struct doc *d, uint32_t off, const char *before) {
    uint32_t i = comment_at(d, off);
    if (i < d->comments.n && line_of(d, d->comments.v[i].a) == line_of(d, off))
        put_comment(d, i, before);
}

static void put_above(struct doc *d, uint32_t off, const char *before) {
    uint32_t to = comment_at(d, off);
    for (uint32_t i = block_above(d, off, to); i < to; i++)
        put_comment(d, i, before);
}

/* ---- source ---- */
static unsigned longest_ticks(const char *s, uint32_t n) {
    unsigned most = 0, run = 0;
    for (uint32_t i = 0; i < n; i++) {
        run = s[i] == '`' ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most;
}
static void put_ticks(struct doc *d, unsigned n) {
    while (n--)
        rdn_buf_putc(d->out, '`');
}

static void put_code(struct doc *d, struct rdn_span s) {
    unsigned ticks = longest_ticks(SRC(d) + s.a, s.b - s.a) + 1;
    put_ticks(d, ticks);
    put(d, ticks > 1 ? " " : "");
    put_flat(d, SRC(d) + s.a, s.b - s.a);
    put(d, ticks > 1 ? " " : "");
    put_ticks(d, ticks);
}

/* Spaces that every line of a block but the first begins with. */
static uint32_t margin(const char *s, uint32_t n) {
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i] != '\n')
            continue;
        uint32_t k = i + 1;
        while (k < n && s[k] == ' ')
            k++;
        if (k < n && s[k] != '\n' && s[k] != '\r' && k - i - 1 < least)
            least = k - i - 1;
    }
    return least;
}

static void put_block(struct doc *d, struct rdn_span span) {
    const char *s = SRC(d) + span.a;
    uint32_t n = span.b - span.a, cut = margin(s, n);
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\n' || s[n - 1] == '\t' || s[n - 1] == '\r'))
        n--;
    unsigned ticks = longest_ticks(s, n) < 3 ? 3 : longest_ticks(s, n) + 1;
    put(d, "\n");
    put_ticks(d, ticks);
    put(d, "rdn\n");
    for (uint32_t i = 0; i < n; i++) {
        if (s[i] != '\r')
            rdn_buf_putc(d->out, s[i]);
        for (uint32_t k = 0; s[i] == '\n' && k < cut && i + 1 < n && s[i + 1] == ' '; k++)
            i++;
    }
    put(d, "\n");
    put_ticks(d, ticks);
    put(d, "\n");
}

static void put_ns(struct doc *d, uint64_t ps) {
    unsigned long long t = (ps + 50) / 100;
    rdn_buf_printf(d->out, "%llu.%llu ns", t / 10, t % 10);
}

/* ---- sections ---- */
static void heading(struct doc *d, const struct rdn_decl *x) {
    rdn_buf_printf(d->out, "\n### %s", x->name);
    if (x->kind == RDN_D_LET)
        rdn_buf_printf(d->out, " on %s", ((const struct rdn_d_let *)x)->on);
    put(d, "\n");
    size_t before = d->out->n;
    put_above(d, x->kw.a, "\n");
    put_trailing(d, x->kw.a, "\n");
    if (d->out->n > before)
        put(d, "\n");
}

static void event(struct doc *d, const struct rdn_decl *x) {
    const rdn_fields *fs = &((const struct rdn_d_event *)x)->fields;
    const struct rdn_event *e = &d->ir->events[x->index];
    heading(d, x);
    if (fs->n > 0)
        put(d, "\n| field | type | |\n|---|---|---|\n");
    for (uint32_t i = 0; i < fs->n; i++) {
        const struct rdn_d_field *q = &fs->v[i];
        uint32_t line = line_of(d, q->pos.a);
        rdn_buf_printf(d->out, "| %s | ", q->name);
        rdn_type_print(d->out, q->type);
        put(d, q->opt ? ", optional |" : " |");
        bool last = i + 1 == fs->n || line_of(d, q[1].pos.a) != line;
        if (last && line != line_of(d, x->kw.a))
            put_trailing(d, q->pos.a, " ");
        put(d, " |\n");
    }
    rdn_buf_printf(d->out, "\n%u bytes, layout %016llx, at most ", e->size, (unsigned long long)e->layout_hash);
    put_ns(d, e->cost_ps);
    put(d, " an event.\n");
}

#define PARAM_HEAD "\n| parameter | type | default | range | |\n|---|---|---|---|---|\n"
static void param(struct doc *d, const struct rdn_decl *x) {
    const struct rdn_d_param *q = (const void *)x;
    rdn_buf_printf(d->out, "| %s | ", x->name);
    rdn_type_print(d->out, q->ty);
    put(d, " | ");
    put_code(d, q->v->pos);
    put(d, " | ");
    if (q->lo)
        put_code(d, (struct rdn_span){ q->lo->pos.a, q->hi->pos.b });
    put(d, " |");
    put_above(d, x->kw.a, " ");
    put_trailing(d, x->kw.a, " ");
    put(d, " |\n");
}

static void window(struct doc *d, const struct rdn_decl *x) {
    const struct rdn_window *w = &d->ir->windows[x->index];
    heading(d, x);
    put_block(d, x->whole);
    rdn_buf_printf(d->out, "\n%s, %llu bytes a key, up to %u keys, ", w->accepted ? "Counts accepted events" : "Includes the event being judged",
                   (unsigned long long)w->key_bytes, w->cap);
    put_ns(d, w->cost_ps);
    rdn_buf_printf(d->out, ". Keeps its state over a swap while its hash is %016llx.\n", (unsigned long long)w->hash);
}

static void rule(struct doc *d, const struct rdn_decl *x) {
    const struct rdn_rule *r = &d->ir->rules[x->index];
    heading(d, x);
    rdn_buf_printf(d->out, "\nOn %s%s", d->ir->events[r->event].name, r->shadow ? ", in shadow: judged and logged, never acts" : "");
    if (r->priority)
        rdn_buf_printf(d->out, ", priority %d", r->priority);
    put(d, ", at most ");
    put_ns(d, r->cost_ps);
    put(d, ".\n");
    put_block(d, x->whole);
}

static void plain(struct doc *d, const struct rdn_decl *x) {
    heading(d, x);
    put_block(d, x->whole);
}

static void test(struct doc *d, const struct rdn_decl *x) {
    put(d, "- ");
    put_flat(d, x->name, (uint32_t)strlen(x->name));
    put(d, "\n");
}

static void section(struct doc *d, const char *title, enum rdn_d_kind kind, void (*one)(struct doc *, const struct rdn_decl *)) {
    bool any = false;
    for (uint32_t i = 0; i < d->f->decls.n; i++) {
        const struct rdn_decl *x = d->f->decls.v[i];
        if (x->kind != kind)
            continue;
        if (!any)
            rdn_buf_printf(d->out, "\n## %s\n%s", title, kind == RDN_D_TEST ? "\n" : kind == RDN_D_PARAM ? PARAM_HEAD : "");
        any = true;
        one(d, x);
    }
}

static void head(struct doc *d) {
    const struct rdn_file *f = d->f;
    rdn_buf_printf(d->out, "# %s, version %u\n", f->name, f->version);
    put_above(d, f->pos.a, "\n");
    put(d, "\n");
    if (f->undef) {
        put(d, "\n- Undefined: ");
        put_code(d, f->undef->pos);
        put_trailing(d, f->undef->pos.a, ": ");
    }
    if (f->has_budget) {
        put(d, "\n- Budget an event: ");
        put_code(d, f->bpos);
        put_trailing(d, f->bpos.a, ": ");
    }
    if (f->partition) {
        rdn_buf_printf(d->out, "\n- Partitioned by %s", f->partition);
        put_trailing(d, f->ppos.a, ": ");
    }
    put(d, f->undef || f->has_budget || f->partition ? "\n" : "");
}

static void write(struct doc *d) {
    collect(d);
    head(d);
    section(d, "Events", RDN_D_EVENT, event);
    section(d, "Parameters", RDN_D_PARAM, param);
    section(d, "Lists", RDN_D_LIST, plain);
    section(d, "Tables", RDN_D_TABLE, plain);
    section(d, "Calendars", RDN_D_CALENDAR, plain);
    section(d, "Functions", RDN_D_FN, plain);
    section(d, "Plugins", RDN_D_PLUGIN, plain);
    section(d, "Kernels", RDN_D_KERNEL, plain);
    section(d, "Values", RDN_D_LET, plain);
    section(d, "Windows", RDN_D_WINDOW, window);
    section(d, "Rules", RDN_D_RULE, rule);
    section(d, "Tests", RDN_D_TEST, test);
}

static void parse_and_write(struct doc *d) {
    struct rdn_guard g;
    RDN_TRY(&d->pass, g) {
        d->f = rdn_parse(&d->pass);                      /* the text of a checked rule set: it parses */
        write(d);
        RDN_DONE(&d->pass, g);
    }
}

void rdn_dsl_doc(struct rdn_buf *out, const struct rdn_ir *ir) {
    struct doc *d = rdn_zalloc(out->mem, sizeof *d);
    if (!d) {
        out->failed = true;
        return;
    }
    rdn_arena_init(&d->arena, out->mem);
    rdn_pass_init(&d->pass, &d->arena, &d->arena, NULL, NULL, ir->source, ir->source_len);
    d->ir = ir;
    d->out = out;
    if (setjmp(d->pass.out) == 0) {
        d->arena.oom = &d->pass.out;
        d->pass.types = rdn_types_new(&d->arena);
        parse_and_write(d);
    } else
        out->failed = true;
    rdn_arena_fini(&d->arena);
    rdn_free(out->mem, d, sizeof *d);
}
