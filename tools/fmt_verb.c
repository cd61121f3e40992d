/* SPDX-License-Identifier: Apache-2.0
 * fmt_verb.c: `redan fmt`: canonical form, in place. A file is replaced by rename, so that a crash leaves the old or the new one. */
#include "tools/tool.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool replace(const char *path, const struct rdn_buf *b) {
    struct stat st;
    if (replace_file(path, b, stat(path, &st) == 0 ? st.st_mode & 07777 : 0))
        return true;
    fprintf(stderr, "redan: %s: %s\n", path, strerror(errno));
    return false;
}

static int format_file(const char *path, bool only_check) {
    size_t len;
    char *text = read_file(path, &len);
    if (!text)
        return EXIT_USAGE;
    struct rdn_buf b;
    redan_error err = { 0 };
    rdn_buf_init(&b, &rdn_libc_mem);
    int rc = EXIT_GOOD;
    if (rdn_dsl_format(text, len, &b, &err) < 0) {
        fprintf(stderr, "%s:%u:%u: error %s: %s\n", base_name(path), err.line, err.column, err.id, err.text);
        rc = EXIT_FINDINGS;
    } else if (strcmp(path, "-") == 0 && !only_check) {
        out_buf(stdout, &b);
    } else if (b.n != len || memcmp(rdn_buf_str(&b), text, len) != 0) {
        if (only_check)
            printf("%s: not in canonical form\n", path);
        rc = only_check ? EXIT_FINDINGS : replace(path, &b) ? EXIT_GOOD : EXIT_FINDINGS;
    }
    rdn_buf_fini(&b);
    free(text);
    return rc;
}

int cmd_fmt(int argc, char **argv) {
    static const struct opt opts[] = { { "--check", OPT_FLAG, "" }, { NULL, OPT_FLAG, NULL } };
    struct args a;
    if (!args_read(&a, "fmt", argc, argv, opts) || !args_words(&a, 1, sizeof a.words / sizeof *a.words))
        return EXIT_USAGE;
    int rc = EXIT_GOOD;
    for (int i = 0; i < a.nwords; i++) {
        int r = format_file(a.words[i], args_flag(&a, "--check"));
        rc = r > rc ? r : rc;
    }
    return rc;
}
