/* SPDX-License-Identifier: Apache-2.0
 * test_elf.c: shared objects made to be slow to check, and damaged ones. Each file here took minutes while work grew with the square of
 * what the file holds; now all of them together take well under a second of this thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <elf.h>
#include <time.h>
#include <unistd.h>
#include "base/hash.h"
#include "plugins/elfcheck.h"
#include <redan/plugin.h>

#if defined __aarch64__
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif
enum { BYTES = 12 << 20, HEADS = 64, DYNS = 256, AT_DYN = 8192, AT_HASH = 16384, AT_REST = 20480 };

/* A file with one loaded segment over all of it, at address 0, so that addresses are offsets. */
static struct { union { uint8_t *p; Elf64_Ehdr *h; }; Elf64_Phdr *ph; Elf64_Dyn *dyn; uint32_t nph, ndyn, at; } f;

static void head(uint32_t type, uint64_t off, uint64_t bytes) {
    f.ph[f.nph++] = (Elf64_Phdr){ .p_type = type, .p_flags = PF_R, .p_offset = off, .p_vaddr = off, .p_filesz = bytes, .p_memsz = bytes, .p_align = 8 };
    f.h->e_phnum = (uint16_t)f.nph;
}

static void dyn(int64_t tag, uint64_t val) { f.dyn[f.ndyn++] = (Elf64_Dyn){ .d_tag = tag, .d_un.d_val = val }; }

static void begin(void) {
    f.p = calloc(1, BYTES);
    assert_non_null(f.p);
    f.ph = (void *)(f.p + 64);
    f.dyn = (void *)(f.p + AT_DYN);
    f.nph = f.ndyn = 0;
    f.at = AT_REST;
    *f.h = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN, .e_machine = MACHINE, .e_version = 1,
                         .e_phoff = 64, .e_ehsize = 64, .e_phentsize = sizeof(Elf64_Phdr) };
    head(PT_LOAD, 0, BYTES);
    head(PT_DYNAMIC, AT_DYN, DYNS * sizeof(Elf64_Dyn));
    head(PT_GNU_STACK, 0, 0);
}

/* Symbols with these names and the table of their texts. */
static void symbols(uint32_t n, const char *text, size_t ntext, uint32_t step) {
    uint32_t *hash = (uint32_t *)(void *)(f.p + AT_HASH), str = f.at + (n + 1) * (uint32_t)sizeof(Elf64_Sym);
    Elf64_Sym *sym = (void *)(f.p + f.at);
    assert_true(str + ntext <= BYTES);
    hash[0] = 1, hash[1] = n + 1;
    for (uint32_t i = 0; i < n; i++)
        sym[i + 1] = (Elf64_Sym){ .st_name = (uint32_t)(1 + i * step % (ntext > 64 ? ntext - 64 : 1)), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };
    memcpy(f.p + str, text, ntext);
    dyn(DT_HASH, AT_HASH);
    dyn(DT_SYMTAB, f.at);
    dyn(DT_STRTAB, str);
    dyn(DT_STRSZ, ntext);
    f.at = (uint32_t)(str + ntext + 63) & ~63u;
}

static uint32_t texts;
static void count(void *ctx, const struct rdn_finding *x) {
    (void)ctx;
    texts += x->text[0] != 0;
}

/* Checks it and frees it; more than a second of CPU fails (the alarm ends what would take for ever). */
static void check(const char *what, uint32_t least_errors) {
    static const char *const canons[] = { "Order;ts:time;qty:int;" };
    struct rdn_elf_wish w = { .canons = canons, .ncanons = 1 };
    struct rdn_report r = { .take = count };
    struct rdn_elf_note note;
    struct timespec a, b;
    texts = 0;
    alarm(60);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    rdn_elf_check("lib.so", f.p, BYTES, &w, &r);
    rdn_elf_note_read(f.p, BYTES, &note);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    alarm(0);
    double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    printf("%s: %u errors, %u warnings, %.0f ms\n", what, r.errors, r.warnings, s * 1e3);
    if (s > 1.0 || texts > 200 || r.errors < least_errors)
        fail_msg("%s: %.2f s, %u findings, %u errors", what, s, texts, r.errors);
    free(f.p);
}

static char *names(size_t n, bool end) {
    char *t = malloc(n);
    assert_non_null(t);
    memset(t, 'a', n);
    for (size_t i = 0; end && i < n; i += 13)
        t[i] = 0;
    t[0] = 0;
    return t;
}

/* 61 segments of notes over the same 11 MiB of empty notes. */
static void test_many_notes(void **state) {
    (void)state;
    begin();
    char *t = names(64, true);
    symbols(1, t, 64, 1);
    while (f.nph < HEADS - 1)
        head(PT_NOTE, f.at, BYTES - f.at);
    check("notes", 2);
    free(t);
}

/* One note of 11 MiB in 61 segments, of the type that is searched for its end. */
static void test_long_notes(void **state) {
    (void)state;
    begin();
    char *t = names(64, true);
    symbols(1, t, 64, 1);
    Elf64_Nhdr *n = (void *)(f.p + f.at);
    *n = (Elf64_Nhdr){ .n_namesz = 6, .n_descsz = BYTES - f.at - 64, .n_type = 2 };
    memcpy(n + 1, "Redan", 6);
    memset((char *)(n + 1) + 8, 'x', n->n_descsz);
    memcpy((char *)(n + 1) + 8, "Order;", 6);
    while (f.nph < HEADS - 1)
        head(PT_NOTE, f.at, BYTES - f.at);
    check("long notes", 2);
    free(t);
}

/* 300,000 undefined symbols that every allowed library is asked for, sixteen times over. */
static void test_many_undefined(void **state) {
    (void)state;
    begin();
    size_t n = 4 << 20;
    char *t = names(n, true);
    memcpy(t + n - 40, "\0libstdc++.so.6", 16);
    symbols(300000, t, n, 13);
    for (int i = 0; i < 40; i++)
        dyn(DT_NEEDED, n - 39);
    check("undefined symbols", 20);
    free(t);
}

/* The same with names that have no end for megabytes, in a table that does not end in a zero. */
static void test_endless_names(void **state) {
    (void)state;
    begin();
    size_t n = 4 << 20;
    char *t = names(n, false);
    symbols(300000, t, n, 1);
    check("endless names", 1);
    begin();
    t[n - 1] = 0;
    symbols(300000, t, n, 1);
    check("long names", 20);
    free(t);
}

/* 64 libraries times 65,535 versions, all the same entry. */
static void test_many_versions(void **state) {
    (void)state;
    begin();
    char *t = names(4096, true);
    memcpy(t + 4000, "\0libc.so.6", 11);
    symbols(1, t, 4096, 13);
    for (int i = 0; i < 40; i++)
        dyn(DT_NEEDED, 4001);
    Elf64_Verneed *v = (void *)(f.p + f.at);
    for (int i = 0; i < 64; i++)
        v[i] = (Elf64_Verneed){ .vn_version = 1, .vn_cnt = 65535, .vn_file = 4001, .vn_aux = 4096, .vn_next = sizeof *v };
    Elf64_Vernaux *x = (void *)(f.p + f.at + 4096);
    for (int i = 0; i < 128; i++)
        x[i] = (Elf64_Vernaux){ .vna_name = 1 };
    dyn(DT_VERNEED, f.at);
    dyn(DT_VERNEEDNUM, 64);
    check("versions", 20);
    free(t);
}

/* A real library, this program's own C library, with bytes changed: nothing outside the file is read (ASan), whatever they say. */
static void test_damaged(void **state) {
    (void)state;
    uint64_t seed = 11;
    uint32_t sound = 0;
    begin();
    char *t = names(4096, true);
    symbols(40, t, 4096, 13);
    head(PT_NOTE, f.at, 4096);
    for (int i = 0; i < 3; i++)
        dyn(DT_NEEDED, 13 * (uint64_t)i + 1);
    dyn(DT_VERNEED, f.at);
    dyn(DT_VERNEEDNUM, 3);
    enum { SMALL = 64 << 10 };
    for (int i = 0; i < 3000; i++) {
        struct rdn_report r = { 0 };
        struct rdn_elf_wish w = { .foreign = i & 1 };
        uint8_t *copy = malloc(SMALL);
        assert_non_null(copy);
        memcpy(copy, f.p, SMALL);
        ((Elf64_Phdr *)(void *)(copy + 64))->p_filesz = SMALL;
        for (int k = 0; k < 1 + i % 7; k++) {
            uint64_t x = rdn_mix64(seed++);
            static const uint32_t from[] = { 0, 64, AT_DYN, AT_HASH, AT_REST }, span[] = { 64, 600, 400, 16, 4096 };
            uint32_t part = (uint32_t)(x % 5);
            copy[from[part] + (x >> 8) % span[part]] = (x >> 40) % 3 ? (uint8_t)(x >> 32) : 0xff;
        }
        rdn_elf_check("lib.so", copy, SMALL, &w, &r);
        sound += r.errors < 3;
        free(copy);
    }
    assert_true(sound < 3000);
    free(f.p);
    free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_notes),    cmocka_unit_test(test_long_notes),    cmocka_unit_test(test_many_undefined),
        cmocka_unit_test(test_endless_names), cmocka_unit_test(test_many_versions), cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
