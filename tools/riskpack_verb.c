/* SPDX-License-Identifier: Apache-2.0
 * riskpack_verb.c: `redan riskpack`: rows of events, orders and what is expected of them, through the ledger and the standard pre-trade
 * pack. Compared are verdict and codes of every order, and of the last one also the codes that were waived, the FIX answer and the
 * commands of the whole row.
 *
 * Lengths of windows are literals of the language: rows with other lengths are judged by a copy of the pack with those, as a firm
 * would write it. Nothing else of the text is touched. */
#include "tools/riskpack.h"
#include "base/buf.h"
#include "market/risk_codes.h"
#include <pretrade35_text.h>
#include <string.h>

enum { COPIES = 64, GROUPS = 64, OWN_MAX = 4096 };
struct copy { int64_t ms[RP_LENGTHS]; redan_engine *eng; redan_ruleset *rs, *again; };
struct group { char name[12]; uint32_t right, wrong; };
struct pack {
    struct args args;
    const char *backend;
    char *text; size_t len;
    struct rp_defaults def;
    struct copy copies[COPIES]; uint32_t ncopies;
    struct group groups[GROUPS]; uint32_t ngroups;
    uint32_t right, wrong, other, none, lengths;
    bool quiet, first, swap, restart, fix;
    struct rp_fix said;                                   /* --with fix: orders and executions as messages */
};
/* A row at work. */
struct trial {
    struct pack *p;
    struct copy *c;
    struct rp_row row;
    redan_lane *lane;
    struct rdn_ledger_host *host;
    bool mute;                                            /* what follows was judged before */
    bool said;                                            /* the order in hand came as a message */
    uint32_t ncommands;
    struct rdn_buf commands, diff, a, b;
};

/* ---- copies of the pack ---- */
/* In the line that begins with "window NAME " the word behind " over " becomes MSms. */
static bool set_length(struct rdn_buf *b, const char *name, int64_t ms) {
    char head[64];
    size_t n = (size_t)snprintf(head, sizeof head, "\nwindow %s", name);
    const char *text = rdn_buf_str(b), *at = strstr(text, head), *over;
    while (at && at[n] != ' ')
        at = strstr(at + 1, head);
    const char *end = at ? strchr(at + 1, '\n') : NULL;
    over = at ? strstr(at, " over ") : NULL;
    if (!over || !end || over > end)
        return false;
    struct rdn_buf out;
    rdn_buf_init(&out, b->mem);
    rdn_buf_put(&out, text, (size_t)(over + 6 - text));
    rdn_buf_printf(&out, "%lldms", (long long)ms);
    rdn_buf_puts(&out, over + 6 + strcspn(over + 6, " "));
    rdn_buf_fini(b);
    *b = out;
    return true;
}

static bool set_lengths(struct rdn_buf *b, const int64_t *ms) {
    static const char *const names[RP_LENGTHS][2] = { { "sent", "sent_cxl" }, { "same", NULL }, { "traded", NULL } };
    for (int i = 0; i < RP_LENGTHS; i++)
        for (int k = 0; k < 2 && names[i][k]; k++)
            if (!set_length(b, names[i][k], ms[i]))
                return usage("riskpack: the pack has no window %s with a length", names[i][k]), false;
    return true;
}

static bool compile(struct copy *c, struct rdn_buf *b, redan_ruleset **ret) {
    redan_error err = { 0 };
    if (redan_compile(c->eng, "pretrade35.rdn", rdn_buf_str(b), b->n, NULL, ret, &err) == 0)
        return true;
    print_error(&err);
    return false;
}

static struct copy *find_copy(struct pack *p, const int64_t *ms) {
    for (uint32_t i = 0; i < p->ncopies; i++)
        if (memcmp(p->copies[i].ms, ms, sizeof p->copies[i].ms) == 0)
            return &p->copies[i];
    if (p->ncopies == COPIES)
        return usage("riskpack: more than %d different lengths of windows", COPIES), NULL;
    struct copy *c = &p->copies[p->ncopies];
    struct rdn_buf b;
    redan_error err = { 0 };
    memcpy(c->ms, ms, sizeof c->ms);
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_buf_put(&b, p->text, p->len);
    bool good = set_lengths(&b, ms) && (c->eng = open_engine(p->backend, 1)) && compile(c, &b, &c->rs) && compile(c, &b, &c->again);
    rdn_buf_fini(&b);
    if (good && redan_activate(c->eng, c->rs, NULL, NULL, &err) < 0) {
        print_error(&err);
        good = false;
    }
    p->ncopies++;
    return good ? c : NULL;
}

/* ---- commands ---- */
static const redan_value *field(const redan_emit *e, const char *name) {
    for (uint32_t i = 0; i < e->nfields; i++)
        if (strcmp(e->names[i], name) == 0)
            return &e->fields[i];
    return NULL;
}
static void put_text(struct rdn_buf *b, const redan_emit *e, const char *name) {
    const redan_value *v = field(e, name);
    rdn_buf_json(b, v ? v->as.text : "", v ? v->len : 0);
}
static int by_text(const void *a, const void *b, void *syms) {
    uint32_t n;
    return strcmp(rdn_sym_text(syms, *(const uint32_t *)a, &n), rdn_sym_text(syms, *(const uint32_t *)b, &n));
}

/* Own resting orders that R27 wants gone: at once, or only if this order was accepted. False: no command. */
static bool put_own(struct trial *t, struct rdn_buf *b, const redan_emit *e, const redan_verdict *v) {
    static uint32_t ids[OWN_MAX];
    const redan_value *smp = field(e, "smp"), *symbol = field(e, "symbol"), *side = field(e, "side"), *reach = field(e, "reach");
    const redan_value *any = field(e, "any_px"), *later = field(e, "if_accepted");
    if (!smp || !symbol || !side || !reach || !any || !later || (later->as.i && v->verdict != REDAN_ACCEPT))
        return false;
    uint32_t n, len, count = rdn_ledger_own(rdn_ledger_host_ledger(t->host), rdn_sym_find(t->row.syms, smp->as.text, smp->len),
        rdn_sym_find(t->row.syms, symbol->as.text, symbol->len), side->len != 3, (int64_t)reach->as.dec.lo, any->as.i, ids, OWN_MAX);
    n = count < OWN_MAX ? count : OWN_MAX;
    qsort_r(ids, n, sizeof *ids, by_text, t->row.syms);
    rdn_buf_puts(b, "\"command\":\"cancel_orders\",\"ids\":[");
    for (uint32_t i = 0; i < n; i++) {
        const char *text = rdn_sym_text(t->row.syms, ids[i], &len);
        rdn_buf_puts(b, i ? "," : "");
        rdn_buf_json(b, text, len);
    }
    rdn_buf_putc(b, ']');
    return true;
}

/* An emit as the command the gateway is given, members in order of their names. It carries the time of the event that caused it, which
 * may lie before the engine's. */
static void add_command(struct trial *t, const struct rdn_ledger_out *o, const redan_emit *e, const redan_verdict *v) {
    struct rdn_buf *b = &t->a;
    b->n = 0;
    if (strcmp(e->name, "cancel_orders") == 0) {
        rdn_buf_puts(b, "\"command\":\"cancel_orders\",\"key\":");
        put_text(b, e, "key");
        rdn_buf_puts(b, ",\"scope\":");
        put_text(b, e, "scope");
    } else if (strcmp(e->name, "cancel_session") == 0) {
        rdn_buf_puts(b, "\"command\":\"cancel_orders\",\"session\":");
        put_text(b, e, "session");
    } else if (strcmp(e->name, "suspend_algo") == 0 || strcmp(e->name, "suspend_account") == 0) {
        rdn_buf_puts(b, "\"command\":\"suspend\",\"key\":");
        put_text(b, e, e->name + 8);
        rdn_buf_printf(b, ",\"scope\":\"%s\"", e->name + 8);
    } else if (strcmp(e->name, "cancel_own") != 0 || !put_own(t, b, e, v)) {
        return;
    }
    rdn_buf_puts(&t->commands, t->ncommands++ ? ",{" : "{");
    rdn_buf_put(&t->commands, rdn_buf_str(b), b->n);
    rdn_buf_printf(&t->commands, ",\"ts\":%lld}", (long long)o->ts);
}

static void decided(void *ctx, redan_lane *lane, const struct rdn_ledger_out *o, const redan_verdict *v) {
    struct trial *t = ctx;
    (void)lane;
    for (uint32_t i = 0; i < v->nemits && !t->mute; i++)
        add_command(t, o, &v->emits[i], v);
}

/* ---- comparing ---- */
static void differs(struct trial *t, const struct rdn_json *order, const char *what, struct rdn_buf *want, struct rdn_buf *got) {
    const struct rdn_json *id = order ? rdn_json_get(t->row.json, order, "id") : NULL;
    if (strcmp(rdn_buf_str(want), rdn_buf_str(got)) == 0)
        return;
    rdn_buf_printf(&t->diff, "    %.*s%s%s: wanted %s, got %s", id ? (int)id->len : 0, id ? id->text : "", id ? " " : "", what, rdn_buf_str(want), rdn_buf_str(got));
    for (uint32_t i = 0; ; i++) {
        redan_undefined u;
        if (!order || redan_cause(t->lane, i, &u) < 0)
            break;
        rdn_buf_printf(&t->diff, "%s %s at %u:%u", i ? "," : "; undefined", redan_rule_name(t->lane, u.rule), u.line, u.col);
    }
    rdn_buf_putc(&t->diff, '\n');
}

/* Codes as a set: sorted, with commas. */
static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }
static void put_set(struct rdn_buf *b, const char **names, uint32_t n) {
    qsort(names, n, sizeof *names, by_name);
    b->n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!i || strcmp(names[i], names[i - 1]) != 0)
            rdn_buf_printf(b, "%s%s", i ? "," : "", names[i]);
    rdn_buf_str(b);
}
static uint32_t wanted_names(struct trial *t, const struct rdn_json *list, const char **names, char *room, size_t cap) {
    uint32_t n = 0;
    for (const struct rdn_json *j = rdn_json_first(t->row.json, list); j && n < 64 && j->len + 1 < cap; j = rdn_json_next(t->row.json, j)) {
        names[n++] = memcpy(room, j->text, j->len);
        room[j->len] = 0;
        room += j->len + 1;
        cap -= j->len + 1;
    }
    return n;
}
static void compare_set(struct trial *t, const struct rdn_json *order, const struct rdn_json *want, const char *what, const uint32_t *codes, uint32_t n) {
    const char *names[256];
    char room[4096];
    if (!want)
        return;
    put_set(&t->a, names, wanted_names(t, want, names, room, sizeof room));
    for (uint32_t i = 0; i < n && i < 256; i++)
        names[i] = redan_code_name(t->lane, codes[i]);
    put_set(&t->b, names, n < 256 ? n : 256);
    differs(t, order, what, &t->a, &t->b);
}

static void put_answer(struct trial *t, struct rdn_buf *b, bool replace, const redan_verdict *v) {
    const char *names[256];
    struct rdn_fix_answer f;
    uint32_t n = 0;
    for (; n < v->ncodes && n < 256; n++)
        names[n] = redan_code_name(t->lane, v->codes[n]);
    b->n = 0;
    if (v->verdict != REDAN_REJECT || !rdn_risk_answer(names, n, replace, &f))
        rdn_buf_puts(b, "null");
    else if (t->said)
        rp_fix_answer(&t->p->said, &f, b);
    else if (replace)
        rdn_buf_printf(b, "{\"102\":%u,\"102_fix44\":%u,\"35\":\"9\",\"434\":\"2\",\"58\":\"%s\"}", f.reason, f.reason44, f.code);
    else
        rdn_buf_printf(b, "{\"103\":%u,\"103_fix44\":%u,\"150\":\"8\",\"35\":\"8\",\"39\":\"8\",\"58\":\"%s\"}", f.reason, f.reason44, f.code);
}

static void compare(struct trial *t, const struct rdn_json *order, const struct rdn_ledger_in *e, const redan_verdict *v) {
    const struct rdn_json *x = rdn_json_get(t->row.json, order, "expect");
    x = x ? x : rdn_json_get(t->row.json, t->row.root, "expect");
    const struct rdn_json *verdict = rdn_json_get(t->row.json, x, "verdict"), *fix = rdn_json_get(t->row.json, x, "fix");
    if (verdict) {
        t->a.n = t->b.n = 0;
        rdn_buf_put(&t->a, verdict->text, verdict->len);
        rdn_buf_puts(&t->b, rdn_verb_text(v->verdict));
        differs(t, order, "verdict", &t->a, &t->b);
    }
    compare_set(t, order, rdn_json_get(t->row.json, x, "codes"), "codes", v->codes, v->ncodes);
    compare_set(t, order, rdn_json_get(t->row.json, x, "waived"), "waived", v->shadow, v->nshadow);
    if (fix) {
        t->a.n = 0;
        rp_canon(&t->a, t->row.json, fix);
        put_answer(t, &t->b, e->order == RDN_LO_REPLACE, v);
        differs(t, order, "fix", &t->a, &t->b);
    }
}

/* ---- a row ---- */
static void leave(struct trial *t) {
    rdn_ledger_host_close(t->host);
    redan_lane_close(t->lane);
    t->host = NULL;
    t->lane = NULL;
}
static bool enter(struct trial *t) {
    struct rdn_ledger_options o;
    redan_lane_options lo = REDAN_LANE_OPTIONS_INIT;
    redan_error err = { 0 };
    if (!rp_options(&t->row, &o))
        return false;
    if (redan_lane_open(t->c->eng, &lo, &t->lane, &err) < 0 || rdn_ledger_host_open(t->lane, &o, decided, t, &t->host, &err) < 0) {
        snprintf(t->row.why, sizeof t->row.why, "%s", err.text);
        return false;
    }
    return rp_params(&t->row, t->lane) && rp_setup(&t->row, rdn_ledger_host_ledger(t->host));
}

static bool take_event(struct trial *t, const struct rdn_json *j) {
    struct rdn_ledger_in e;
    redan_verdict v;
    if (!rp_event(&t->row, j, &e))
        return false;
    t->said = t->p->fix && rp_fix_event(&t->p->said, t->row.syms, &e);
    int rc = rdn_ledger_host_event(t->host, &e, &v);
    if (e.kind != RDN_LK_ORDER || t->mute)
        return true;
    if (rc < 0) {
        rdn_buf_printf(&t->diff, "    an order was not judged: %s\n", redan_strerror(rc));
        return true;
    }
    compare(t, j, &e, &v);
    return true;
}

static bool take_events(struct trial *t) {
    const struct rdn_json *all = rdn_json_get(t->row.json, t->row.root, "events");
    for (const struct rdn_json *j = all ? rdn_json_first(t->row.json, all) : NULL; j; j = rdn_json_next(t->row.json, j))
        if (!take_event(t, j))
            return false;
    return true;
}

/* The same text is activated before the last order; or ledger and windows are made anew from what came before it. */
static bool disturb(struct trial *t) {
    redan_error err = { 0 };
    if (t->p->swap && redan_activate(t->c->eng, t->lane->b->rs == t->c->rs ? t->c->again : t->c->rs, NULL, NULL, &err) < 0) {
        snprintf(t->row.why, sizeof t->row.why, "%s", err.text);
        return false;
    }
    if (!t->p->restart)
        return true;
    leave(t);
    t->mute = true;
    bool good = enter(t) && take_events(t);
    t->mute = false;
    return good;
}

static bool run_row(struct trial *t) {
    const struct rdn_json *order = rdn_json_get(t->row.json, t->row.root, "order"), *x = rdn_json_get(t->row.json, t->row.root, "expect");
    const struct rdn_json *commands = x ? rdn_json_get(t->row.json, x, "commands") : NULL;
    bool good = order && x && enter(t) && take_events(t) && disturb(t) && take_event(t, order);
    if (good && commands) {
        t->a.n = t->b.n = 0;
        rp_canon(&t->a, t->row.json, commands);
        rdn_buf_printf(&t->b, "[%s]", rdn_buf_str(&t->commands));
        differs(t, NULL, "commands", &t->a, &t->b);
    }
    const char *why = good ? rdn_ledger_check(rdn_ledger_host_ledger(t->host)) : NULL;
    if (why)
        rdn_buf_printf(&t->diff, "    the ledger worked out anew differs in its %s\n", why);
    leave(t);
    return good;
}

static struct group *group_of(struct pack *p, const struct rdn_json *rule) {
    char name[12];
    uint32_t i = 0;
    snprintf(name, sizeof name, "%.*s", rule ? (int)rule->len : 1, rule ? rule->text : "-");
    while (i < p->ngroups && strcmp(p->groups[i].name, name) != 0)
        i++;
    if (i == GROUPS)
        return &p->groups[GROUPS - 1];
    if (i == p->ngroups)
        memcpy(p->groups[p->ngroups++].name, name, sizeof name);
    return &p->groups[i];
}

static bool lengths_of(struct trial *t, int64_t *ms) {
    bool other = false;
    for (int i = 0; i < RP_LENGTHS; i++) {
        const struct rdn_json *g = rdn_json_get(&t->p->def.json, t->p->def.root, "limits");
        const struct rdn_json *d = g ? rdn_json_get(&t->p->def.json, g, rp_lengths[i]) : NULL;
        int64_t usual = 0;
        if (!rp_int(rp_limit(&t->row, rp_lengths[i]), &ms[i]) || ms[i] <= 0 || ms[i] > 86400000)
            return false;
        other |= rp_int(d, &usual) && usual != ms[i];
    }
    t->p->lengths += other;
    return true;
}

static void report(struct pack *p, struct trial *t, bool expressible) {
    const struct rdn_json *id = rdn_json_get(t->row.json, t->row.root, "id"), *name = rdn_json_get(t->row.json, t->row.root, "name");
    struct group *g = group_of(p, rdn_json_get(t->row.json, t->row.root, "rule"));
    if (expressible && !t->diff.n) {
        p->right++;
        g->right++;
        return;
    }
    printf("%.*s %.*s%s%s\n", id ? (int)id->len : 0, id ? id->text : "", name ? (int)name->len : 0, name ? name->text : "",
           expressible ? "" : ": not expressible: ", expressible ? "" : t->row.why);
    if (expressible) {
        p->wrong++;
        g->wrong++;
        fputs(p->quiet ? "" : rdn_buf_str(&t->diff), stdout);
    } else {
        p->none++;
    }
}

/* False: no use to go on. */
static bool judge_line(struct pack *p, struct rdn_json_reader *json, const char *line, size_t len, uint64_t number) {
    struct trial t = { .p = p, .row = { .json = json, .def = &p->def } };
    int64_t ms[RP_LENGTHS];
    t.row.root = rdn_json_read(json, line, len);
    if (!t.row.root || t.row.root->kind != RDN_JSON_OBJECT)
        return usage("riskpack: line %llu: %s", (unsigned long long)number, t.row.root ? "not an object" : json->why), false;
    t.row.setup = rdn_json_get(json, t.row.root, "setup");
    bool known = lengths_of(&t, ms);
    if (known && !(t.c = find_copy(p, ms)))
        return false;
    rdn_buf_init(&t.commands, &rdn_libc_mem), rdn_buf_init(&t.diff, &rdn_libc_mem), rdn_buf_init(&t.a, &rdn_libc_mem), rdn_buf_init(&t.b, &rdn_libc_mem);
    if (known)
        t.row.syms = t.c->eng->syms;
    else
        snprintf(t.row.why, sizeof t.row.why, "length of a window");
    bool good = known && run_row(&t);
    report(p, &t, good);
    rdn_buf_fini(&t.commands), rdn_buf_fini(&t.diff), rdn_buf_fini(&t.a), rdn_buf_fini(&t.b);
    return true;
}

static int judge_file(struct pack *p, char *text, size_t len) {
    struct rdn_json_reader json;
    struct progress bar;
    uint64_t number = 0;
    bool good = true;
    progress_start(&bar, &p->args, "rows", 0);
    rdn_json_init(&json, &rdn_libc_mem);
    for (char *at = text, *end = text + len; good && at < end && !(p->first && p->wrong + p->none);) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        number++;
        if (strspn(at, " \t\r") < (size_t)(stop - at))
            good = judge_line(p, &json, at, (size_t)(stop - at), number);
        at = stop + 1;
        progress_step(&bar, number);
    }
    rdn_json_fini(&json);
    progress_end(&bar);
    if (!good)
        return EXIT_USAGE;
    for (uint32_t i = 0; i < p->ngroups; i++)
        printf("%s%s %u/%u", i ? " " : "", p->groups[i].name, p->groups[i].right, p->groups[i].right + p->groups[i].wrong);
    printf("%s%u right, %u wrong, %u not expressible\n", p->ngroups ? "\n" : "", p->right, p->wrong, p->none);
    if (p->fix)
        printf("%llu orders and executions went through FIX 4.4, %llu it cannot say\n", (unsigned long long)p->said.said, (unsigned long long)p->said.unsaid);
    if (p->lengths)
        printf("%u rows ran with another window length in the text of the pack: lengths are literals\n", p->lengths);
    return p->wrong || p->none ? EXIT_FINDINGS : EXIT_GOOD;
}

static bool read_defaults(struct pack *p, char **ret_text) {
    const char *path = args_value(&p->args, "--defaults");
    size_t len;
    rdn_json_init(&p->def.json, &rdn_libc_mem);
    if (!path)
        return usage("riskpack: --defaults FILE is needed: limits, an instrument, an account that rows do not name"), false;
    if (!(*ret_text = read_file(path, &len)))
        return false;
    p->def.root = rdn_json_read(&p->def.json, *ret_text, len);
    if (!p->def.root || p->def.root->kind != RDN_JSON_OBJECT)
        return usage("riskpack: %s: %s", path, p->def.root ? "not an object" : p->def.json.why), false;
    return true;
}

int cmd_riskpack(int argc, char **argv) {
    static const struct opt opts[] = { { "--defaults", OPT_VALUE, "" }, { "--pack", OPT_VALUE, "" }, { "--backend", OPT_VALUE, "" }, { "--with", OPT_VALUE, "" },
                                       { "--quiet", OPT_FLAG, "" }, { "--first", OPT_FLAG, "" }, { NULL, OPT_FLAG, NULL } };
    static struct pack p;
    char *defaults = NULL, *rows = NULL, *pack = NULL;
    size_t len;
    if (!args_read(&p.args, "riskpack", argc, argv, opts) || !args_words(&p.args, 1, 1))
        return EXIT_USAGE;
    const char *with = args_value(&p.args, "--with"), *path = args_value(&p.args, "--pack");
    p.backend = args_value(&p.args, "--backend");
    p.quiet = args_flag(&p.args, "--quiet");
    p.first = args_flag(&p.args, "--first");
    p.swap = with && strcmp(with, "swap") == 0;
    p.restart = with && strcmp(with, "restart") == 0;
    p.fix = with && strcmp(with, "fix") == 0;
    if (with && !p.swap && !p.restart && !p.fix)
        return usage("riskpack: --with %.40s: swap, restart or fix expected", with);
    if (p.fix && !rp_fix_there)
        return usage("R9013 this build has no market data");
    p.text = (char *)(uintptr_t)pretrade35_text;
    p.len = sizeof pretrade35_text - 1;
    int rc = EXIT_USAGE;
    if ((!path || (p.text = pack = read_file(path, &p.len))) && read_defaults(&p, &defaults) && (rows = read_file(p.args.words[0], &len)))
        rc = judge_file(&p, rows, len);
    for (uint32_t i = 0; i < p.ncopies; i++) {
        redan_release(p.copies[i].rs);
        redan_release(p.copies[i].again);
        redan_close(p.copies[i].eng);
    }
    rdn_json_fini(&p.def.json);
    free(defaults), free(rows), free(pack);
    return rc;
}
