/* SPDX-License-Identifier: Apache-2.0
 * bindgen_verb.c: `redan bindgen`: the rows of a rule file's events for C, NumPy and Python, with layout hashes (LANGUAGE.md 5). */
#include "tools/tool.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */
/* Rule files may use any word; what the target language keeps for itself, or what this file's output uses, gets a '_'. */
static const char c_words[] =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
    "int int32_t int64_t linux long mutable namespace new noexcept not not_eq nullptr offsetof operator or or_eq "
    "private protected public register reinterpret_cast requires restrict return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename "
    "typeof uint32_t uint64_t uint8_t union unix unsigned using virtual void volatile wchar_t while xor xor_eq ";
static const char python_words[] =
    "Decimal False LAYOUT Literal None True and as assert async await break class continue dataclass date "
    "def del elif else except finally for from global if import in is lambda nonlocal not np or pass raise return "
    "try while with yield ";

static bool is_word(const char *words, const char *name) {
    size_t n = strlen(name);
    for (const char *p = words; *p; p += strcspn(p, " ") + 1)
        if (strncmp(p, name, n) == 0 && p[n] == ' ')
            return true;
    return false;
}

static bool is_field(const struct rdn_event *e, const char *name) {
    for (uint32_t i = 0; i < e->nfields; i++)
        if (strcmp(e->fields[i].name, name) == 0)
            return true;
    return false;
}

struct ident { char text[72]; };                         /* identifiers have at most 64 bytes */
static struct ident field_ident(const struct rdn_event *e, const char *name, const char *words) {
    struct ident id;
    size_t n = (size_t)snprintf(id.text, sizeof id.text, "%s", name);
    bool taken = is_word(words, name) || (e->has_present && strcmp(name, "present") == 0);
    while (taken && n + 1 < sizeof id.text) {
        id.text[n++] = '_';
        id.text[n] = 0;
        taken = is_field(e, id.text);
    }
    return id;
}

static struct ident event_ident(const struct rdn_event *e, const char *words) {
    struct ident id;
    snprintf(id.text, sizeof id.text, "%s%s", e->name, is_word(words, e->name) ? "_" : "");
    return id;
}

/* ---- C ---- */
static const char *c_type(const struct rdn_type *t) {
    static const char *const names[RDN_K_COUNT] = { [RDN_K_BOOL] = "uint8_t", [RDN_K_INT] = "int64_t", [RDN_K_FLOAT] = "double",
        [RDN_K_DEC] = "int64_t", [RDN_K_TIME] = "int64_t", [RDN_K_DUR] = "int64_t", [RDN_K_DATE] = "int32_t", [RDN_K_SYM] = "uint32_t",
        [RDN_K_STR] = "char", [RDN_K_ENUM] = "uint8_t" };
    return t->kind == RDN_K_ARR ? names[t->elem] : names[t->kind];
}

/* NAME_CANON, for REDAN_EVENT of redan/plugin.h. Enum members are the only part that could need escapes, and they are words. */
static void put_canon(struct rdn_buf *b, const struct rdn_event *e) {
    rdn_buf_puts(b, "#define ");
    for (const char *p = e->name; *p; p++)
        rdn_buf_putc(b, (char)toupper((unsigned char)*p));
    rdn_buf_printf(b, "_CANON \"%s\"\n", e->canon);
}

static void put_upper(struct rdn_buf *b, const char *s) {
    for (; *s; s++)
        rdn_buf_putc(b, (char)toupper((unsigned char)*s));
}

/* Members that differ in case only keep their spelling. */
static bool differ_in_case_only(const struct rdn_type *t) {
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcasecmp(t->members[i], t->members[k]) == 0)
                return true;
    return false;
}

static void c_enums(struct rdn_buf *b, const struct rdn_event *e) {
    for (uint32_t i = 0; i < e->nfields; i++) {
        const struct rdn_type *t = e->fields[i].type;
        if (t->kind != RDN_K_ENUM)
            continue;
        rdn_buf_puts(b, "enum {");
        for (uint32_t k = 0; k < t->n; k++) {
            rdn_buf_puts(b, k ? ", " : " ");
            put_upper(b, e->name);
            rdn_buf_putc(b, '_');
            put_upper(b, e->fields[i].name);
            rdn_buf_putc(b, '_');
            if (differ_in_case_only(t))
                rdn_buf_puts(b, t->members[k]);
            else
                put_upper(b, t->members[k]);
        }
        rdn_buf_puts(b, " };\n");
    }
}

static void c_event(struct rdn_buf *b, const struct rdn_event *e) {
    struct ident event = event_ident(e, c_words);
    c_enums(b, e);
    rdn_buf_printf(b, "struct %s {\n    int64_t ts;                          /* 0: ns since 1970 UTC */\n", event.text);
    if (e->has_present)
        rdn_buf_puts(b, "    uint64_t present;                    /* 8: bit i is set when the i-th optional field has a value */\n");
    for (uint32_t i = 0; i < e->nfields; i++) {
        const struct rdn_field *f = &e->fields[i];
        char decl[160], type[1024];
        struct ident id = field_ident(e, f->name, c_words);
        struct rdn_buf t;
        rdn_buf_init(&t, &rdn_libc_mem);
        rdn_type_print(&t, f->type);
        snprintf(type, sizeof type, "%s", rdn_buf_str(&t));
        rdn_buf_fini(&t);
        if (f->type->kind == RDN_K_STR)
            snprintf(decl, sizeof decl, "char %s[%u];", id.text, f->type->n);
        else if (f->type->kind == RDN_K_ARR && f->type->ndim == 2)
            snprintf(decl, sizeof decl, "%s %s[%u][%u];", c_type(f->type), id.text, f->type->dim[0], f->type->dim[1]);
        else if (f->type->kind == RDN_K_ARR)
            snprintf(decl, sizeof decl, "%s %s[%u];", c_type(f->type), id.text, f->type->dim[0]);
        else
            snprintf(decl, sizeof decl, "%s %s;", c_type(f->type), id.text);
        rdn_buf_printf(b, "    %-36s /* %u: %s", decl, f->offset, type);
        if (f->optional)
            rdn_buf_printf(b, ", optional, present bit %u", f->present_bit);
        rdn_buf_puts(b, " */\n");
    }
    rdn_buf_printf(b, "} __attribute__((aligned(8)));\n#define ");
    put_upper(b, e->name);
    rdn_buf_printf(b, "_LAYOUT 0x%016llxu\n", (unsigned long long)e->layout_hash);
    put_canon(b, e);
    rdn_buf_printf(b, "static_assert(sizeof(struct %s) == %u, \"layout of %s\");\n", event.text, e->size, e->name);
    for (uint32_t i = 0; i < e->nfields; i++)
        rdn_buf_printf(b, "static_assert(offsetof(struct %s, %s) == %u, \"layout of %s\");\n", event.text, field_ident(e, e->fields[i].name, c_words).text,
                       e->fields[i].offset, e->name);
    rdn_buf_putc(b, '\n');
}

/* ---- Python ---- */
static void numpy_format(char *ret, size_t cap, const struct rdn_type *t) {
    static const char *const names[RDN_K_COUNT] = { [RDN_K_BOOL] = "u1", [RDN_K_INT] = "<i8", [RDN_K_FLOAT] = "<f8", [RDN_K_DEC] = "<i8",
        [RDN_K_TIME] = "<i8", [RDN_K_DUR] = "<i8", [RDN_K_DATE] = "<i4", [RDN_K_SYM] = "<u4", [RDN_K_ENUM] = "u1" };
    if (t->kind == RDN_K_STR)
        snprintf(ret, cap, "'S%u'", t->n);
    else if (t->kind == RDN_K_ARR && t->ndim == 2)
        snprintf(ret, cap, "('%s', (%u, %u))", names[t->elem], t->dim[0], t->dim[1]);
    else if (t->kind == RDN_K_ARR)
        snprintf(ret, cap, "('%s', (%u,))", names[t->elem], t->dim[0]);
    else
        snprintf(ret, cap, "'%s'", names[t->kind]);
}

static void numpy_event(struct rdn_buf *b, const struct rdn_event *e) {
    char f[64];
    rdn_buf_printf(b, "%s_LAYOUT = 0x%016llx\n%s = np.dtype({\n    'names': ['ts'", e->name, (unsigned long long)e->layout_hash, event_ident(e, python_words).text);
    if (e->has_present)
        rdn_buf_puts(b, ", 'present'");
    for (uint32_t i = 0; i < e->nfields; i++)
        rdn_buf_printf(b, ", '%s'", field_ident(e, e->fields[i].name, "").text);
    rdn_buf_printf(b, "],\n    'formats': ['<i8'%s", e->has_present ? ", '<u8'" : "");
    for (uint32_t i = 0; i < e->nfields; i++) {
        numpy_format(f, sizeof f, e->fields[i].type);
        rdn_buf_printf(b, ", %s", f);
    }
    rdn_buf_printf(b, "],\n    'offsets': [0%s", e->has_present ? ", 8" : "");
    for (uint32_t i = 0; i < e->nfields; i++)
        rdn_buf_printf(b, ", %u", e->fields[i].offset);
    rdn_buf_printf(b, "],\n    'itemsize': %u})\n", e->size);
    for (uint32_t i = 0; i < e->nfields; i++) {
        const struct rdn_type *t = e->fields[i].type;
        if (t->kind != RDN_K_ENUM)
            continue;
        rdn_buf_printf(b, "%s_%s = {", e->name, e->fields[i].name);
        for (uint32_t k = 0; k < t->n; k++)
            rdn_buf_printf(b, "%s'%s': %u", k ? ", " : "", t->members[k], k);
        rdn_buf_puts(b, "}\n");
    }
    rdn_buf_putc(b, '\n');
}

static void class_type(struct rdn_buf *b, const struct rdn_type *t) {
    static const char *const names[RDN_K_COUNT] = { [RDN_K_BOOL] = "bool", [RDN_K_INT] = "int", [RDN_K_FLOAT] = "float", [RDN_K_DEC] = "Decimal",
        [RDN_K_TIME] = "int", [RDN_K_DUR] = "int", [RDN_K_DATE] = "date", [RDN_K_SYM] = "str", [RDN_K_STR] = "str" };
    if (t->kind == RDN_K_ENUM) {
        rdn_buf_puts(b, "Literal[");
        for (uint32_t k = 0; k < t->n; k++)
            rdn_buf_printf(b, "%s'%s'", k ? ", " : "", t->members[k]);
        rdn_buf_puts(b, "]");
    } else if (t->kind == RDN_K_ARR) {
        rdn_buf_printf(b, t->ndim == 2 ? "list[list[%s]]" : "list[%s]", names[t->elem]);
    } else {
        rdn_buf_puts(b, names[t->kind]);
    }
}

static void class_event(struct rdn_buf *b, const struct rdn_event *e) {
    rdn_buf_printf(b, "@dataclass(slots=True, kw_only=True)\nclass %s:\n    LAYOUT = 0x%016llx\n    ts: int  # ns since 1970 UTC\n", event_ident(e, python_words).text,
                   (unsigned long long)e->layout_hash);
    for (uint32_t i = 0; i < e->nfields; i++) {
        const struct rdn_field *f = &e->fields[i];
        rdn_buf_printf(b, "    %s: ", field_ident(e, f->name, python_words).text);
        class_type(b, f->type);
        if (f->optional)
            rdn_buf_puts(b, " | None = None");
        struct rdn_buf t;
        rdn_buf_init(&t, &rdn_libc_mem);
        rdn_type_print(&t, f->type);
        rdn_buf_printf(b, "  # %s\n", rdn_buf_str(&t));
        rdn_buf_fini(&t);
    }
    rdn_buf_puts(b, "\n\n");
}

static const struct { const char *name, *head; void (*event)(struct rdn_buf *, const struct rdn_event *); } forms[] = {
    { "c", "#include <assert.h>\n#include <stddef.h>\n#include <stdint.h>\n\n", c_event },
    { "numpy", "import numpy as np\n\n", numpy_event },
    { "dataclass", "from __future__ import annotations\n\nfrom dataclasses import dataclass\nfrom datetime import date\nfrom decimal import Decimal\nfrom typing import Literal\n\n\n", class_event },
};
enum { NFORMS = sizeof forms / sizeof *forms };

int cmd_bindgen(int argc, char **argv) {
    static const struct opt opts[] = { { "--as", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    struct args a;
    int rc;
    size_t form = 0;
    if (!args_read(&a, "bindgen", argc, argv, opts) || !args_words(&a, 1, 1))
        return EXIT_USAGE;
    const char *as = args_value(&a, "--as");
    while (as && form < NFORMS && strcmp(forms[form].name, as) != 0)
        form++;
    if (form == NFORMS)
        return usage("--as %.40s: c, numpy or dataclass expected", as);
    redan_engine *e = open_engine("interp", 1);
    if (!e)
        return EXIT_FINDINGS;
    redan_ruleset *rs = load_rules(e, &a, a.words[0], DIAG_FULL, false, &rc);
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    if (rs) {
        rdn_buf_printf(&b, "%s Made by `redan bindgen` from %s. Do not edit.%s\n", form ? "#" : "/*", base_name(a.words[0]), form ? "" : " */");
        rdn_buf_puts(&b, forms[form].head);
        for (uint32_t i = 0; i < rs->ir->nevents; i++)
            forms[form].event(&b, &rs->ir->events[i]);
        out_buf(stdout, &b);
    }
    rdn_buf_fini(&b);
    redan_release(rs);
    redan_close(e);
    return rc;
}
