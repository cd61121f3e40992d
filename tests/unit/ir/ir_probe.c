/* SPDX-License-Identifier: Apache-2.0
 * ir_probe.c: compiles each rule file named, verifies the rule set, prints it, reads it back and compares text and hash.
 * `--print` writes the text form instead. Exit 1 with the file's name when anything differs. */
#include "dsl/dsl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path, size_t *ret_len) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t cap = 1 << 23;
    char *s = malloc(cap);
    *ret_len = s ? fread(s, 1, cap, f) : 0;
    fclose(f);
    return s;
}

static char *print(struct rdn_arena *a, const struct rdn_ir *ir) {
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_ir_print(&b, ir);
    char *s = rdn_arena_strndup(a, b.p, b.n);
    rdn_buf_fini(&b);
    return s;
}

static int back_and_forth(struct rdn_arena *a, struct rdn_syms *syms, struct rdn_ir *ir, const char *path) {
    redan_error err = { 0 };
    struct rdn_ir *again;
    if (rdn_ir_verify(ir, &err) < 0)
        return printf("%s: %s\n", path, err.text), 1;
    char *text = print(a, ir);
    if (rdn_ir_read(a, syms, text, strlen(text), &again, &err) < 0)
        return printf("%s: %s\n", path, err.text), 1;
    uint8_t hash[32], same[32];
    rdn_ir_hash(ir, hash);
    rdn_ir_hash(again, same);
    if (strcmp(print(a, again), text) || memcmp(same, hash, 32))
        return printf("%s: another text or hash after reading back\n", path), 1;
    return 0;
}

static int one(const char *path, bool only_print, int *ret_good) {
    struct rdn_arena a;
    struct rdn_syms *syms;
    struct rdn_dsl_result res;
    redan_error err = { 0 };
    size_t len = 0;
    char *text = slurp(path, &len), dir[4096];
    int bad = 0;
    rdn_arena_init(&a, &rdn_libc_mem);
    snprintf(dir, sizeof dir, "%s", path);
    *(strrchr(dir, '/') ? strrchr(dir, '/') : dir) = 0;
    struct rdn_dsl_options opt = { .file = path, .base_dir = dir };
    if (!text || rdn_syms_open(&syms, &rdn_libc_mem, 1 << 20))
        return 2;
    if (rdn_dsl_compile(&a, syms, text, len, &opt, &res, &err) == 0 && res.ir) {
        ++*ret_good;
        if (only_print)
            fputs(print(&a, res.ir), stdout);
        else
            bad = back_and_forth(&a, syms, res.ir, path);
    }
    rdn_syms_close(syms);
    rdn_arena_fini(&a);
    free(text);
    return bad;
}

int main(int argc, char **argv) {
    bool only_print = argc > 1 && !strcmp(argv[1], "--print");
    int bad = 0, good = 0;
    for (int i = 1 + only_print; i < argc; i++)
        bad |= one(argv[i], only_print, &good);
    if (!only_print)
        printf("%d of %d files are rule sets%s\n", good, argc - 1, bad ? "; see above" : ", all round");
    return bad;
}
