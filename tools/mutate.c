/* SPDX-License-Identifier: Apache-2.0
 * mutate.c: `redan test --mutate`. Works on the text: the spans of the compiled rules say where comparisons, numbers and
 * conditions stand, so every mutant is an ordinary file that is compiled and tested like any other.
 *
 * flip    a comparison becomes its neighbour (< becomes <=, == becomes !=, ...)
 * move    the last digit of a number in a condition goes up by one
 * drop    the condition of a rule becomes false
 * A mutant that does not compile, or whose tests fail, is noticed. */
#include "tools/mutate.h"
#include "host/testrun.h"
#include <ctype.h>
#include <string.h>

struct mutator {
    const struct args *args;
    const char *file, *dir;
    const struct rdn_ir *ir;
    redan_engine *eng;
    uint32_t made, survived;
    bool json;
    struct progress bar;
};

static uint32_t line_of(const struct mutator *m, uint32_t at) {
    uint32_t n = 1;
    for (uint32_t i = 0; i < at; i++)
        n += m->ir->source[i] == '\n';
    return n;
}

static bool noticed(struct mutator *m, const char *text, size_t len) {
    redan_compilation c = REDAN_COMPILATION_INIT;
    redan_ruleset *rs = NULL;
    struct rdn_test_sink sink = { .stop_at_first = true };
    c.base_dir = m->dir;
    if (redan_compile(m->eng, m->file, text, len, &c, &rs, NULL) < 0)
        return true;
    bool ok = redan_activate(m->eng, rs, NULL, NULL, NULL) == 0 && rdn_tests_run(m->eng, rs, 0, &sink, NULL) == 0;
    redan_release(rs);
    return !ok;
}

/* Judges the file with [a, b) replaced. */
static void try_change(struct mutator *m, const struct rdn_rule *r, const char *kind, uint32_t a, uint32_t b, const char *to) {
    const struct rdn_ir *ir = m->ir;
    size_t n = strlen(to), len = ir->source_len - (b - a) + n;
    char *text = malloc(len + 1);
    if (!text)
        return;
    memcpy(text, ir->source, a);
    memcpy(text + a, to, n);
    memcpy(text + a + n, ir->source + b, ir->source_len - b);
    m->made++;
    progress_step(&m->bar, m->made);
    if (!noticed(m, text, len)) {
        m->survived++;
        if (m->json)
            printf("{\"schema\":\"redan.mutant/1\",\"rule\":\"%s\",\"line\":%u,\"kind\":\"%s\",\"from\":\"%.*s\",\"to\":\"%s\"}\n", r->name, line_of(m, a),
                   kind, (int)(b - a < 60 && strcmp(kind, "drop") ? b - a : 0), ir->source + a, to);
        else
            printf("  survived: %s:%u: rule %s: %s '%.*s' -> '%s'\n", m->file, line_of(m, a), r->name, kind, (int)(b - a), ir->source + a, to);
    }
    free(text);
}

static void move_number(struct mutator *m, const struct rdn_rule *r, struct rdn_span s) {
    char to[80];
    uint32_t last = s.b;
    if (s.b - s.a >= sizeof to - 1 || !isdigit((unsigned char)m->ir->source[s.a]))
        return;
    /* The last digit of the mantissa: before an exponent or a unit. */
    for (uint32_t i = s.a; i < s.b && (isdigit((unsigned char)m->ir->source[i]) || m->ir->source[i] == '.' || m->ir->source[i] == '_'); i++)
        if (isdigit((unsigned char)m->ir->source[i]))
            last = i;
    if (last == s.b)
        return;
    snprintf(to, sizeof to, "%.*s", (int)(s.b - s.a), m->ir->source + s.a);
    to[last - s.a] = to[last - s.a] == '9' ? '8' : (char)(to[last - s.a] + 1);
    try_change(m, r, "move", s.a, s.b, to);
}

static void flip_comparison(struct mutator *m, const struct rdn_rule *r, struct rdn_span left, struct rdn_span right) {
    static const struct { const char *op, *to; } flips[] = { { "<=", "<" }, { ">=", ">" }, { "==", "!=" }, { "!=", "==" }, { "<", "<=" }, { ">", ">=" } };
    for (uint32_t i = left.b; i < right.a; i++) {
        if (m->ir->source[i] == '#')
            while (i < right.a && m->ir->source[i] != '\n')
                i++;
        for (size_t k = 0; k < sizeof flips / sizeof *flips; k++) {
            size_t n = strlen(flips[k].op);
            if (i + n <= right.a && memcmp(m->ir->source + i, flips[k].op, n) == 0) {
                try_change(m, r, "flip", i, i + (uint32_t)n, flips[k].to);
                return;
            }
        }
    }
}

static bool inside(struct rdn_span outer, struct rdn_span s) { return s.a >= outer.a && s.b <= outer.b; }

/* Nodes of the condition's own text; bodies of lets and fns have spans elsewhere and are left to their own rules. */
static void walk(struct mutator *m, const struct rdn_rule *r, rdn_id id) {
    const struct rdn_node *n = &m->ir->nodes.v[id];
    struct rdn_span s = m->ir->spans.v[n->span], when = m->ir->spans.v[r->when_span];
    rdn_id buf[3];
    uint32_t count;
    const rdn_id *args = rdn_node_args(m->ir, n, buf, &count);
    if (!inside(when, s) || n->op == RDN_OP_USE)
        return;
    if (n->op == RDN_OP_CONST)
        move_number(m, r, s);
    if (n->op >= RDN_OP_EQ && n->op <= RDN_OP_GE && count == 2) {
        struct rdn_span a = m->ir->spans.v[m->ir->nodes.v[args[0]].span], b = m->ir->spans.v[m->ir->nodes.v[args[1]].span];
        if (inside(s, a) && inside(s, b) && a.b <= b.a)
            flip_comparison(m, r, a, b);
    }
    for (uint32_t i = 0; i < count; i++)
        walk(m, r, args[i]);
}

int mutate_file(const struct args *a, const char *path, const redan_ruleset *rs) {
    char dir[4096];
    size_t n = (size_t)(base_name(path) - path);
    snprintf(dir, sizeof dir, "%.*s", n ? (int)n : 1, n ? path : ".");
    struct mutator m = { .args = a, .file = base_name(path), .dir = dir, .ir = rs->ir, .json = args_flag(a, "--json") };
    m.eng = open_engine(args_value(a, "--backend"), 1);
    if (!m.eng)
        return EXIT_USAGE;
    progress_start(&m.bar, a, "mutants", 0);
    for (uint32_t i = 0; i < rs->ir->nrules; i++) {
        const struct rdn_rule *r = &rs->ir->rules[i];
        struct rdn_span when = rs->ir->spans.v[r->when_span];
        walk(&m, r, r->when);
        try_change(&m, r, "drop", when.a, when.b, "false");
    }
    progress_end(&m.bar);
    if (m.json)
        printf("{\"schema\":\"redan.mutants/1\",\"made\":%u,\"noticed\":%u,\"survived\":%u}\n", m.made, m.made - m.survived, m.survived);
    else
        printf("%s: %u mutants, %u noticed, %u survived\n", m.file, m.made, m.made - m.survived, m.survived);
    redan_close(m.eng);
    return m.survived ? EXIT_FINDINGS : EXIT_GOOD;
}
