/* SPDX-License-Identifier: Apache-2.0
 * redan.c: main of the tool: finds the verb and calls it. */
#include "tools/tool.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

static const struct { const char *name; int (*fn)(int, char **); const char *usage, *help; } verbs[] = {
#define VERB(name, fn, usage, help) { name, fn, usage, help },
#include "tools/verbs.def"
#undef VERB
};
enum { NVERBS = sizeof verbs / sizeof *verbs };

static int help(FILE *f) {
    fprintf(f, "usage: redan VERB ...\n\n");
    for (size_t i = 0; i < NVERBS; i++)
        fprintf(f, "  %-8s %s\n", verbs[i].name, verbs[i].help);
    fprintf(f, "\n`redan help VERB` shows its options. Options stand anywhere. --json, --color auto|always|never and\n"
               "--progress auto|plain|off are known to all.\n");
    return f == stdout ? EXIT_GOOD : EXIT_USAGE;
}

static int help_on(const char *verb) {
    for (size_t i = 0; i < NVERBS; i++)
        if (strcmp(verbs[i].name, verb) == 0) {
            printf("usage: redan %s %s\n\n%s\n", verb, verbs[i].usage, verbs[i].help);
            return EXIT_GOOD;
        }
    return usage("no verb '%.40s'", verb);
}

/* The nearest verb, and the two after it. */
static int unknown(const char *verb) {
    const char *names[NVERBS];
    size_t n = NVERBS;
    for (size_t i = 0; i < n; i++)
        names[i] = verbs[i].name;
    fprintf(stderr, "redan: no verb '%.40s'", verb);
    for (int found = 0; found < 3; found++) {
        int at = rdn_nearest(verb, names, n);
        if (at < 0)
            break;
        fprintf(stderr, "%s '%s'", found ? "," : "; did you mean", names[at]);
        names[at] = names[--n];
    }
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return help(stderr);
    const char *verb = argv[1];
    if (strcmp(verb, "help") == 0 || strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)
        return argc > 2 ? help_on(argv[2]) : help(stdout);
    if (strcmp(verb, "--version") == 0) {
        printf("redan %u.%u.%u\n", redan_version() >> 16, redan_version() >> 8 & 255, redan_version() & 255);
        return EXIT_GOOD;
    }
    for (size_t i = 0; i < NVERBS; i++) {
        if (strcmp(verbs[i].name, verb) != 0)
            continue;
        if (argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0))
            return help_on(verb);
        int rc = verbs[i].fn(argc - 1, argv + 1);
        if (fflush(stdout) == 0 && !ferror(stdout))
            return rc;
        fprintf(stderr, "redan: standard output: %s\n", strerror(errno));
        return EXIT_FINDINGS;
    }
    return unknown(verb);
}
