/* SPDX-License-Identifier: Apache-2.0
 * opts.c: options of a verb. */
#include "tools/tool.h"
#include "base/text.h"
#include <stdarg.h>
#include <string.h>

static const struct opt common[] = {
    { "--json", OPT_FLAG, "one JSON object, or one a line" },
    { "--color", OPT_VALUE, "auto, always or never" },
    { "--progress", OPT_VALUE, "auto, plain or off" },
    { NULL, OPT_FLAG, NULL },
};

int usage(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fputs("redan: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return EXIT_USAGE;
}

static const struct opt *find(const struct opt *opts, const char *name, size_t len) {
    for (; opts->name; opts++)
        if (strlen(opts->name) == len && memcmp(opts->name, name, len) == 0)
            return opts;
    return NULL;
}

static bool unknown_option(const char *verb, const char *name, size_t len, const struct opt *opts) {
    const char *names[64];
    char word[64];
    size_t n = 0;
    for (const struct opt *o = opts; o->name && n < 60; o++)
        names[n++] = o->name;
    for (const struct opt *o = common; o->name; o++)
        names[n++] = o->name;
    snprintf(word, sizeof word, "%.*s", (int)len, name);
    int at = rdn_nearest(word, names, n);
    if (at >= 0)
        usage("%s: unknown option %s, did you mean %s?", verb, word, names[at]);
    else
        usage("%s: unknown option %s", verb, word);
    return false;
}

static bool one_of(const struct args *a, const char *name, const char *x, const char *y, const char *z) {
    const char *v = args_value(a, name);
    if (!v || strcmp(v, x) == 0 || strcmp(v, y) == 0 || strcmp(v, z) == 0)
        return true;
    usage("%s: %s %.40s: %s, %s or %s expected", a->verb, name, v, x, y, z);
    return false;
}

bool args_read(struct args *a, const char *verb, int argc, char **argv, const struct opt *opts) {
    *a = (struct args){ .verb = verb };
    bool only_words = false;
    for (int i = 1; i < argc; i++) {
        const char *s = argv[i];
        if (!only_words && strcmp(s, "--") == 0) {
            only_words = true;
            continue;
        }
        if (only_words || strncmp(s, "--", 2) != 0) {
            if (a->nwords == sizeof a->words / sizeof *a->words)
                return usage("%s: too many words", verb), false;
            a->words[a->nwords++] = s;
            continue;
        }
        size_t len = strcspn(s, "=");
        const struct opt *o = find(opts, s, len);
        if (!o && !(o = find(common, s, len)))
            return unknown_option(verb, s, len, opts);
        const char *value = s[len] ? s + len + 1 : NULL;
        if (o->kind == OPT_FLAG && value)
            return usage("%s: %s takes no value", verb, o->name), false;
        if (o->kind == OPT_VALUE && !value && !(value = i + 1 < argc ? argv[++i] : NULL))
            return usage("%s: %s needs a value", verb, o->name), false;
        if (a->ngiven == sizeof a->given / sizeof *a->given)
            return usage("%s: too many options", verb), false;
        a->given[a->ngiven].name = o->name;
        a->given[a->ngiven++].value = value;
    }
    return one_of(a, "--color", "auto", "always", "never") && one_of(a, "--progress", "auto", "plain", "off");
}

bool args_flag(const struct args *a, const char *name) {
    for (int i = 0; i < a->ngiven; i++)
        if (strcmp(a->given[i].name, name) == 0)
            return true;
    return false;
}

const char *args_value(const struct args *a, const char *name) {
    for (int i = a->ngiven - 1; i >= 0; i--)
        if (strcmp(a->given[i].name, name) == 0)
            return a->given[i].value;
    return NULL;
}

bool args_count(const struct args *a, const char *name, uint64_t low, uint64_t *ret) {
    const char *v = args_value(a, name);
    if (!v)
        return true;
    size_t n = strlen(v);
    uint64_t x = 0;
    bool good = n >= 1 && n <= 18 && strspn(v, "0123456789") == n;
    for (size_t i = 0; good && i < n; i++)
        x = x * 10 + (uint64_t)(v[i] - '0');
    if (!good || x < low)
        return usage("%s %.40s: a whole number from %llu expected", name, v, (unsigned long long)low), false;
    *ret = x;
    return true;
}

bool args_words(const struct args *a, int min, int max) {
    if (a->nwords >= min && a->nwords <= max)
        return true;
    usage("%s: wrong number of files; see `redan %s%s`", a->verb, strcmp(a->verb, "plugin") ? "help " : "", strcmp(a->verb, "plugin") ? a->verb : "plugin help");
    return false;
}
