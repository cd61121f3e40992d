/* SPDX-License-Identifier: Apache-2.0
 * corpus_main.c: runs a fuzz target over the files of its corpus, so that every build keeps what the fuzzer once found. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A block of exactly n bytes, so that ASan sees a read past the end. */
static int run_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return -1;
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(n ? n : 1);
    if (data && fread(data, 1, n, f) == n)
        LLVMFuzzerTestOneInput(data, n);
    free(data);
    return fclose(f);
}

int main(int argc, char **argv) {
    DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
    if (!d) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    int ran = 0, bad = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char path[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        ran++;
        bad += run_file(path) != 0;
    }
    closedir(d);
    printf("%d passed, %d failed\n", ran - bad, bad + (ran == 0));
    return bad || !ran;
}
