/* SPDX-License-Identifier: Apache-2.0
 * plugin_init.c: `redan plugin init`: a project in Python, C or Lua that passes check and test at once. With --from, one function for each plugin that the
 * rule file declares, answering zero of its type until somebody writes it; the rule file is copied, because events are in it. */
#include "tools/plugin_tool.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum kind { PYTHON, NATIVE, LUA };
struct making {
    struct project *p;
    enum kind kind;
    const char *name, *dir;
    redan_engine *eng;
    redan_ruleset *rs;                                   /* of --from, or NULL */
    struct rdn_buf b;
    uint32_t written;
};

static bool put_file(struct making *m, const char *name) {
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/%.100s", m->dir, name);
    FILE *f = fopen(path, "wbx");
    bool good = f && fwrite(rdn_buf_str(&m->b), 1, m->b.n, f) == m->b.n;
    if (f && fclose(f) != 0)
        good = false;
    if (!good)
        usage("%s: %s", path, strerror(errno));
    else if (m->p->json)
        printf("%s\"%s\"", m->written++ ? "," : "", path);
    else
        printf("%s\n", path);
    m->b.n = 0;
    return good;
}

static bool python_name(const char *s) {
    static const char words[] = " False None True and as assert async await break class continue def del elif else except finally for from global if import in is "
                                "lambda nonlocal not or pass raise return try while with yield redan ";
    char word[80];
    bool good = isalpha((unsigned char)*s) && strlen(s) <= 40;
    for (const char *p = s; *p; p++)
        good = good && (islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_');
    snprintf(word, sizeof word, " %.60s ", s);
    return good && !strstr(words, word);
}

/* ---- types in Python ---- */
static void annotation(struct making *m, const struct rdn_type *t) {
    struct rdn_buf *b = &m->b;
    switch (t->kind) {
    case RDN_K_DEC: rdn_buf_printf(b, "Annotated[int, redan.dec(%u)]", t->scale); return;
    case RDN_K_STR: rdn_buf_printf(b, "Annotated[str, redan.text(%u)]", t->n); return;
    case RDN_K_ENUM:
        rdn_buf_puts(b, "Annotated[int, redan.enum(");
        for (uint32_t i = 0; i < t->n; i++)
            rdn_buf_printf(b, "%s\"%s\"", i ? ", " : "", t->members[i]);
        rdn_buf_puts(b, ")]");
        return;
    case RDN_K_EVENT: rdn_buf_puts(b, m->rs->ir->events[t->n].name); return;
    case RDN_K_ARR:
        rdn_buf_puts(b, t->elem == RDN_K_INT ? "Annotated[redan.Ints, redan.ints(" : "Annotated[redan.Floats, redan.floats(");
        rdn_buf_printf(b, "%u", t->dim[0]);
        if (t->ndim == 2)
            rdn_buf_printf(b, ", %u", t->dim[1]);
        rdn_buf_puts(b, ")]");
        return;
    case RDN_K_BOOL: rdn_buf_puts(b, "bool"); return;
    case RDN_K_INT: rdn_buf_puts(b, "int"); return;
    case RDN_K_FLOAT: rdn_buf_puts(b, "float"); return;
    case RDN_K_TIME: rdn_buf_puts(b, "redan.time"); return;
    case RDN_K_DUR: rdn_buf_puts(b, "redan.dur"); return;
    case RDN_K_DATE: rdn_buf_puts(b, "redan.date"); return;
    default: rdn_buf_puts(b, t->kind == RDN_K_SYM ? "redan.sym" : "str"); return;
    }
}

/* Zero of a type: as Python writes it, and as a cell of rows.csv. */
static const char *zero(const struct rdn_type *t, bool cell) {
    switch (t->kind) {
    case RDN_K_BOOL: return cell ? "false" : "False";
    case RDN_K_FLOAT: return "0.0";
    case RDN_K_ENUM: return cell ? t->members[0] : "0";
    case RDN_K_DATE: return cell ? "1970-01-01" : "0";
    case RDN_K_SYM: case RDN_K_STR: case RDN_K_TEXT: return cell ? "" : "\"\"";
    default: return "0";
    }
}

static void zero_array(struct making *m, const struct rdn_type *t) {
    rdn_buf_putc(&m->b, '[');
    for (uint32_t i = 0; i < t->dim[0]; i++) {
        rdn_buf_puts(&m->b, i ? ", " : "");
        if (t->ndim < 2) {
            rdn_buf_putc(&m->b, '0');
            continue;
        }
        rdn_buf_putc(&m->b, '[');
        for (uint32_t k = 0; k < t->dim[1]; k++)
            rdn_buf_puts(&m->b, k ? ", 0" : "0");
        rdn_buf_putc(&m->b, ']');
    }
    rdn_buf_putc(&m->b, ']');
}

/* A cell in quotes, which holds JSON: quotes are doubled. */
static void zero_event(struct making *m, const struct rdn_event *e) {
    rdn_buf_putc(&m->b, '"');
    rdn_buf_puts(&m->b, "{\"\"ts\"\": 0");
    for (uint32_t i = 0; i < e->nfields; i++) {
        const struct rdn_type *t = e->fields[i].type;
        bool text = t->kind == RDN_K_ENUM || t->kind == RDN_K_STR || t->kind == RDN_K_TEXT || t->kind == RDN_K_DATE;
        rdn_buf_printf(&m->b, ", \"\"%s\"\": ", e->fields[i].name);
        if (t->kind == RDN_K_ARR)
            zero_array(m, t);
        else if (t->kind == RDN_K_SYM)
            rdn_buf_putc(&m->b, '0');
        else
            rdn_buf_printf(&m->b, text ? "\"\"%s\"\"" : "%s", zero(t, true));
    }
    rdn_buf_puts(&m->b, "}\"");
}

static void cell(struct making *m, const struct rdn_type *t) {
    if (t->kind == RDN_K_EVENT) {
        zero_event(m, &m->rs->ir->events[t->n]);
    } else if (t->kind == RDN_K_ARR) {
        rdn_buf_putc(&m->b, '"');
        zero_array(m, t);
        rdn_buf_putc(&m->b, '"');
    } else {
        rdn_buf_puts(&m->b, zero(t, true));
    }
}

/* ---- files made of the rules ---- */
static const struct rdn_call *nth(const struct making *m, uint32_t *i) {
    for (; *i < m->rs->ir->ncalls; ++*i)
        if (!m->rs->ir->calls[*i].kernel)
            return &m->rs->ir->calls[(*i)++];
    return NULL;
}
#define EACH_CALL(m, c, i) for (uint32_t i = 0, once_ = 1; once_; once_ = 0) for (const struct rdn_call *c; (c = nth(m, &i));)

static bool takes_event(const struct making *m, uint32_t event) {
    EACH_CALL(m, c, i)
        for (uint32_t k = 0; k < c->nparams; k++)
            if (c->params[k].type->kind == RDN_K_EVENT && c->params[k].type->n == event)
                return true;
    return false;
}

static void event_class(struct making *m, const struct rdn_event *e) {
    rdn_buf_printf(&m->b, "\n\n@redan.event\nclass %s:\n", e->name);
    for (uint32_t i = 0; i < e->nfields; i++) {
        rdn_buf_printf(&m->b, "    %s: ", e->fields[i].name);
        annotation(m, e->fields[i].type);
        rdn_buf_puts(&m->b, e->fields[i].optional ? " | None\n" : "\n");
    }
    if (!e->nfields)
        rdn_buf_puts(&m->b, "    pass\n");
}

static void code_from_rules(struct making *m) {
    rdn_buf_printf(&m->b, "\"\"\"Functions of %s that rules call.\"\"\"\nfrom typing import Annotated\n\nimport redan\n", m->rs->ir->name);
    for (uint32_t e = 0; e < m->rs->ir->nevents; e++)
        if (takes_event(m, e))
            event_class(m, &m->rs->ir->events[e]);
    EACH_CALL(m, c, i) {
        rdn_buf_printf(&m->b, "\n\n@redan.plugin\ndef %s(", c->name);
        for (uint32_t k = 0; k < c->nparams; k++) {
            rdn_buf_printf(&m->b, "%s%s: ", k ? ", " : "", c->params[k].name);
            annotation(m, c->params[k].type);
        }
        rdn_buf_puts(&m->b, ") -> ");
        annotation(m, c->rtype);
        rdn_buf_printf(&m->b, " | None:\n    return %s                  # None means: undefined\n", zero(c->rtype, false));
    }
}

/* A parameter's name may be a word of Lua; its place counts. */
static void lua_name(struct making *m, const char *name) {
    static const char words[] = " and break do else elseif end false for function goto if in local nil not or repeat return then true until while ";
    char word[80];
    snprintf(word, sizeof word, " %.70s ", name);
    rdn_buf_printf(&m->b, "%s%s", name, strstr(words, word) ? "_" : "");
}

static void lua_from_rules(struct making *m) {
    rdn_buf_printf(&m->b, "-- Functions of %s that rules call.\n", m->rs->ir->name);
    EACH_CALL(m, c, i) {
        rdn_buf_puts(&m->b, "\nredan.plugin(\"");
        project_signature(&m->b, m->rs->ir, c);
        rdn_buf_puts(&m->b, "\", function(");
        for (uint32_t k = 0; k < c->nparams; k++) {
            rdn_buf_puts(&m->b, k ? ", " : "");
            lua_name(m, c->params[k].name);
        }
        bool word = c->rtype->kind == RDN_K_BOOL;
        rdn_buf_printf(&m->b, ")\n  return %s                  -- nil means: undefined\nend)\n", word ? "false" : zero(c->rtype, false));
    }
}

static void manifest_head(struct making *m, const char *entry, const char *kind) {
    rdn_buf_printf(&m->b, "schema: 1\nplugin:\n  id: org.example.%s\n  version: 0.1.0\n  kind: %s\n  entry: %s\n", m->name, kind, entry);
    if (m->rs)
        rdn_buf_puts(&m->b, "  rules: rules.rdn\n");
    rdn_buf_puts(&m->b, "functions:\n");
}

static bool from_rules(struct making *m, const char *rules) {
    char entry[64];
    size_t n;
    uint32_t count = 0;
    bool lua = m->kind == LUA;
    snprintf(entry, sizeof entry, "%.50s.%s", m->name, lua ? "lua" : "py");
    manifest_head(m, entry, lua ? "lua" : "python");
    EACH_CALL(m, c, i) {
        rdn_buf_printf(&m->b, "  %s: {signature: \"", c->name);
        project_signature(&m->b, m->rs->ir, c);
        rdn_buf_puts(&m->b, "\"}\n");
        count++;
    }
    if (!count)
        return usage("plugin init: %s declares no plugin", rules), false;
    if (!put_file(m, "plugin.yaml"))
        return false;
    lua ? lua_from_rules(m) : code_from_rules(m);
    if (!put_file(m, entry))
        return false;
    EACH_CALL(m, c, i) {
        rdn_buf_puts(&m->b, "function");
        for (uint32_t k = 0; k < c->nparams; k++)
            rdn_buf_printf(&m->b, ",%s", c->params[k].name);
        rdn_buf_printf(&m->b, ",answer\n%s", c->name);
        for (uint32_t k = 0; k < c->nparams; k++) {
            rdn_buf_putc(&m->b, ',');
            cell(m, c->params[k].type);
        }
        rdn_buf_printf(&m->b, ",%s\n", zero(c->rtype, true));
    }
    if (!put_file(m, "tests/rows.csv"))
        return false;
    char *text = read_file(rules, &n);
    if (text)
        rdn_buf_put(&m->b, text, n);
    free(text);
    return text && put_file(m, "rules.rdn");
}

/* ---- files without rules ---- */
static bool python_files(struct making *m) {
    char file[64];
    const char *n = m->name;
    snprintf(file, sizeof file, "%.50s.py", n);
    manifest_head(m, file, "python");
    rdn_buf_printf(&m->b, "  %s: {signature: \"(amount: float, count: int) -> float\"}\nconfig:\n  weight: 0.5\n", n);
    if (!put_file(m, "plugin.yaml"))
        return false;
    rdn_buf_printf(&m->b, "\"\"\"Functions that rules call.\"\"\"\nimport redan\n\n\n@redan.plugin\ndef %s(amount: float, count: int, *, weight: float = 0.5) -> float | None:\n"
                   "    if count <= 0:\n        return None                                     # undefined\n    return weight * amount / count\n", n);
    if (!put_file(m, file))
        return false;
    rdn_buf_printf(&m->b, "function,amount,count,answer,tolerance\n%s,10.0,2,2.5,\n%s,1e6,3,166666.66666666666,1e-9\n%s,10.0,0,undefined,\n", n, n, n);
    return put_file(m, "tests/rows.csv");
}

static bool lua_files(struct making *m) {
    char file[64];
    const char *n = m->name;
    snprintf(file, sizeof file, "%.50s.lua", n);
    manifest_head(m, file, "lua");
    rdn_buf_printf(&m->b, "  %s: {signature: \"(amount: float, count: int) -> float\", batch: true}\nconfig:\n  weight: 0.5\n", n);
    if (!put_file(m, "plugin.yaml"))
        return false;
    rdn_buf_printf(&m->b,
        "-- Functions that rules call. A batch function gets columns; row i of n is col.NAME[i], from 0.\nlocal cfg = redan.config { weight = 0.5 }\n\n"
        "redan.batch(\"%s(amount: float, count: int) -> float\", function(b, out)\n  local amount, count, value, status = b.col.amount, b.col.count, out.value, out.status\n"
        "  for i = 0, b.n - 1 do\n    if count[i] > 0 then\n      value[i] = cfg.weight * amount[i] / tonumber(count[i])\n    else\n"
        "      status[i] = 1                                       -- undefined\n    end\n  end\nend)\n", n);
    if (!put_file(m, file))
        return false;
    rdn_buf_printf(&m->b, "function,amount,count,answer,tolerance\n%s,10.0,2,2.5,\n%s,1e6,3,166666.66666666666,1e-9\n%s,10.0,0,undefined,\n", n, n, n);
    return put_file(m, "tests/rows.csv");
}

static bool ci_file(struct making *m, const char *needs) {
    rdn_buf_printf(&m->b, "#!/bin/sh\n# What a CI job runs; needs redan%s\nset -e\ncd \"$(dirname \"$0\")\"\nredan plugin test .\nredan plugin pack .\n", needs);
    return put_file(m, "ci.sh");
}

static bool tests_file(struct making *m) {
    char file[80];
    snprintf(file, sizeof file, "tests/test_%.50s.py", m->name);
    return put_file(m, file);
}

/* A worker runs the plugin; where there is none, the fixture skips the test. */
static bool lua_settings(struct making *m) {
    rdn_buf_puts(&m->b, "from redan.testing import Harness\n\n\n");
    if (m->rs)
        rdn_buf_puts(&m->b, "def test_loads(redan_harness: Harness) -> None:\n    assert redan_harness.functions\n");
    else
        rdn_buf_printf(&m->b, "def test_value(redan_harness: Harness) -> None:\n    answers = redan_harness.call(\"%s\", amount=[10.0, 10.0], count=[2, 0])\n"
                       "    assert answers.values == [2.5, None]\n", m->name);
    return tests_file(m) && ci_file(m, ", and for pytest: pip install redan pytest");
}

static bool python_settings(struct making *m) {
    rdn_buf_puts(&m->b, "import pathlib\n\nfrom redan.testing import Harness\n\nFOLDER = pathlib.Path(__file__).parents[1]\n\n\n");
    if (m->rs) {
        rdn_buf_puts(&m->b, "def test_loads() -> None:\n    assert Harness(FOLDER)\n");
    } else {
        rdn_buf_printf(&m->b, "def test_value() -> None:\n    answers = Harness(FOLDER).call(\"%s\", amount=[10.0, 10.0], count=[2, 0])\n    assert answers.values == [2.5, None]\n",
                       m->name);
    }
    if (!tests_file(m))
        return false;
    rdn_buf_puts(&m->b, "[mypy]\nstrict = true\nwarn_return_any = false\n");
    if (!put_file(m, "mypy.ini"))
        return false;
    return ci_file(m, ", and for pytest and mypy: pip install redan pytest mypy");
}

static bool native_files(struct making *m) {
    char lib[80];
    const char *n = m->name;
    snprintf(lib, sizeof lib, "lib%.50s.so", n);
    manifest_head(m, lib, "native");
    rdn_buf_printf(&m->b, "  %s: {signature: \"(bid: float, ask: float) -> float\", batch: true}\n", n);
    if (!put_file(m, "plugin.yaml"))
        return false;
    rdn_buf_printf(&m->b,
        "#include <redan/plugin.h>\n\nREDAN_DECLARE(\"org.example.%s\", \"0.1.0\")\n\n"
        "static int call(void *self, const redan_call *c) {\n  const double *bid = (const double *)c->in[0].data, *ask = (const double *)c->in[1].data;\n"
        "  double *out = (double *)c->out;\n  (void)self;\n  for (uint32_t i = 0; i < c->nrows; i++) {\n    out[i] = (bid[i] + ask[i]) / 2;\n"
        "    c->status[i] = bid[i] > ask[i];                     /* crossed: undefined */\n  }\n  return 0;\n}\n\n", n);
    rdn_buf_printf(&m->b,
        "static const redan_fn fn = { sizeof fn, 0, \"%s(bid: float, ask: float) -> float\", call };\nstatic const redan_fn *const fns[] = { &fn, NULL };\n"
        "static const redan_plugin_desc desc = { sizeof desc, REDAN_PLUGIN_ABI, \"org.example.%s\", \"0.1.0\", fns, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };\n\n"
        "REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t abi, uint32_t index) {\n  return abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : NULL;\n}\n", n, n);
    snprintf(lib, sizeof lib, "%.50s.c", n);
    if (!put_file(m, lib))
        return false;
    rdn_buf_printf(&m->b, "project('%s', 'c', meson_version: '>=1.0.0', default_options: ['c_std=c99', 'b_lundef=true'])\n"
                   "# Flags and header: redan-plugin.pc. `ninja -C build` leaves the library beside plugin.yaml.\n"
                   "lib = shared_library('%s', '%s.c', dependencies: dependency('redan-plugin'), gnu_symbol_visibility: 'hidden')\n"
                   "custom_target('here', input: lib, output: 'here', build_by_default: true,\n"
                   "  command: ['cp', '@INPUT@', meson.project_source_root() / 'lib%s.so'])\n", n, n, n, n);
    if (!put_file(m, "meson.build"))
        return false;
    rdn_buf_printf(&m->b, "function,bid,ask,answer\n%s,1.0,2.0,1.5\n%s,2.0,1.0,undefined\n", n, n);
    return put_file(m, "tests/rows.csv");
}

static bool folders(const struct making *m) {
    char tests[4200];
    snprintf(tests, sizeof tests, "%.4000s/tests", m->dir);
    if ((mkdir(m->dir, 0777) < 0 && errno != EEXIST) || (mkdir(tests, 0777) < 0 && errno != EEXIST))
        return usage("%s: %s", m->dir, strerror(errno)), false;
    return true;
}

static int make(struct making *m, const char *rules) {
    int rc = EXIT_GOOD;
    if (rules && (!(m->eng = open_engine("interp", 1)) || !(m->rs = load_rules(m->eng, &m->p->args, rules, DIAG_FULL, false, &rc))))
        return rc ? rc : EXIT_FINDINGS;
    rdn_buf_init(&m->b, &rdn_libc_mem);
    bool good = folders(m);
    if (good && m->kind == NATIVE)
        good = native_files(m);
    else if (good)
        good = (rules ? from_rules(m, rules) : m->kind == LUA ? lua_files(m) : python_files(m)) && (m->kind == LUA ? lua_settings(m) : python_settings(m));
    rdn_buf_fini(&m->b);
    return good ? EXIT_GOOD : EXIT_USAGE;
}

int plugin_init(int argc, char **argv) {
    static const struct opt opts[] = { { "--from", OPT_VALUE, "" }, { "--native", OPT_FLAG, "" }, { "--lua", OPT_FLAG, "" }, { "--dir", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    static struct project p;
    if (!args_read(&p.args, "plugin", argc, argv, opts))
        return EXIT_USAGE;
    if (p.args.nwords != 1)
        return usage("plugin init: one name expected: redan plugin init NAME");
    const char *rules = args_value(&p.args, "--from"), *dir = args_value(&p.args, "--dir");
    bool native = args_flag(&p.args, "--native"), lua = args_flag(&p.args, "--lua");
    struct making m = { .p = &p, .kind = native ? NATIVE : lua ? LUA : PYTHON, .name = p.args.words[0], .dir = dir ? dir : p.args.words[0] };
    p.json = args_flag(&p.args, "--json");
    if (!python_name(m.name))
        return usage("plugin init: '%.60s': a small-letter name that Python takes expected", m.name);
    if (native && lua)
        return usage("plugin init: --native and --lua exclude each other");
    if (native && rules)
        return usage("plugin init: --native and --from exclude each other");
    if (p.json)
        printf("{\"schema\":\"redan.plugin.init/1\",\"files\":[");
    int rc = make(&m, rules);
    if (p.json)
        printf("]}\n");
    redan_release(m.rs);
    redan_close(m.eng);
    if (rc == EXIT_GOOD && !p.json)
        native ? printf("next: meson setup %s/build %s && ninja -C %s/build, then redan plugin test %s\n", m.dir, m.dir, m.dir, m.dir)
               : printf("next: redan plugin test %s\n", m.dir);
    return rc;
}
