/* SPDX-License-Identifier: Apache-2.0
 * enc_kit.h: rows that write one instruction with random operands and say what objdump should read there. */
#ifndef RDN_ENC_KIT_H
#define RDN_ENC_KIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "jit/x64_enc.h"

struct arg { unsigned d, s, v, x, y, z, n; struct x64_mem m; int32_t i; int64_t q; enum x_cc cc; const char *mt; };
static const char *const r64[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11"};
static const char *const r32[] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d"};
static const char *const r8[] = {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b"};
static const char *const cct[] = {"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"};
static const unsigned usable[] = {X_RAX, X_RCX, X_RDX, X_RSI, X_RDI, X_R8, X_R9, X_R10, X_R11};

/* An immediate as objdump shows it: sign-extended to the operand's width. */
static const char *hex(int64_t v, int width) {
    static char t[4][24];
    static unsigned k;
    char *o = t[k++ & 3];
    if (width == 4)
        snprintf(o, sizeof t[0], "0x%x", (uint32_t)v);
    else if (width == 1)
        snprintf(o, sizeof t[0], "0x%x", (uint8_t)v);
    else
        snprintf(o, sizeof t[0], "0x%llx", (unsigned long long)v);
    return o;
}
#define ROW(name, emit, ...) static void name(struct x64_buf *b, const struct arg *a, char *t) { emit; sprintf(t, __VA_ARGS__); }
typedef void row_fn(struct x64_buf *, const struct arg *, char *);
enum { PER_ROW = 40, ROWS_MAX = 140, LINES = ROWS_MAX * PER_ROW };

static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void) { return seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17; }

static void random_arg(struct arg *a, char *mt) {
    *a = (struct arg){.d = usable[rnd() % 9], .s = usable[rnd() % 9], .v = rnd() % 16, .x = rnd() % 16, .y = rnd() % 16, .z = rnd() % 16,
                      .n = 2 + rnd() % 62, .cc = (enum x_cc)(rnd() % 16), .mt = mt};
    a->i = rnd() % 3 ? (int32_t)rnd() : (int32_t)(rnd() % 256) - 128;
    a->q = (int64_t)(rnd() | 1ull << 62) ^ (rnd() & 1 ? INT64_MIN : 0);
    static const unsigned bases[] = {X_RSI, X_RDI, X_R8, X_R9, X_R10, X_R11, X_RAX, X_RCX, X_RIP};
    unsigned base = bases[rnd() % 9];
    int32_t disp = rnd() % 3 ? (int32_t)(rnd() % 256) - 128 : (int32_t)(rnd() % 200000) - 100000;
    if (base == X_RIP) {
        a->m = x_at(X_RIP, (int32_t)(rnd() % 4096));
        sprintf(mt, "[rip:0x%x]", (unsigned)a->m.disp);
    } else {
        a->m = x_at((uint8_t)base, disp);
        sprintf(mt, "[%s%c0x%x]", r64[base], disp < 0 ? '-' : '+', (unsigned)(disp < 0 ? -disp : disp));
    }
}

/* "mov    rax,QWORD PTR [rip+0x10]        # 0x2a" becomes "mov rax,QWORD PTR [rip:0x2a]". */
static void normalise(const char *in, char *out) {
    char *o = out, *rip = NULL;
    for (const char *p = in; *p && *p != '\n' && *p != '#'; p++) {
        char c = *p == '\t' ? ' ' : *p;
        if (c == ' ' && (o == out || o[-1] == ' '))
            continue;
        *o++ = c;
    }
    while (o > out && o[-1] == ' ')
        o--;
    *o = 0;
    const char *target = strstr(in, "# 0x");
    if (target && (rip = strstr(out, "[rip"))) {
        char tail[64], *close = strchr(rip, ']');
        snprintf(tail, sizeof tail, "%s", close ? close : "");
        sprintf(rip, "[rip:0x%lx%s", strtoul(target + 2, NULL, 16), tail);
    }
}

static char want[LINES][96], got[LINES][160];
static uint32_t at[LINES + 1];
static uint8_t bytes[LINES * X_INSN_MAX + 64];

static bool disassemble(size_t n, unsigned lines) {
    char bin[] = "/tmp/redan-enc-XXXXXX", cmd[160], line[256];
    int fd = mkstemp(bin);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        return false;
    close(fd);
    snprintf(cmd, sizeof cmd, "objdump -D -b binary -m i386:x86-64 -M intel -w --no-show-raw-insn %s 2>/dev/null", bin);
    FILE *p = popen(cmd, "r");
    unsigned k = 0, seen = 0;
    while (p && fgets(line, sizeof line, p)) {
        char *end, *colon = strchr(line, ':');
        unsigned long off = strtoul(line, &end, 16);
        if (!colon || end != colon || k >= lines)
            continue;
        seen++;
        while (k < lines && at[k] < off)
            k++;
        if (k < lines && at[k] == off)
            normalise(colon + 1, got[k]);
    }
    if (p)
        pclose(p);
    unlink(bin);
    return seen > 0;
}

static void check_rows(row_fn *const *rows, unsigned n) {
    struct x64_buf b = {bytes, bytes, bytes + sizeof bytes - X_INSN_MAX, false};
    unsigned bad = 0;
    assert_true(n <= ROWS_MAX);
    memset(got, 0, sizeof got);
    for (unsigned i = 0; i < n * PER_ROW; i++) {
        struct arg a;
        char mt[64];
        random_arg(&a, mt);
        at[i] = x_pos(&b);
        rows[i / PER_ROW](&b, &a, want[i]);
        assert_true(x_pos(&b) - at[i] <= X_INSN_MAX);
    }
    at[n * PER_ROW] = x_pos(&b);
    assert_false(b.full);
    assert_true(disassemble(x_pos(&b), n * PER_ROW));
    for (unsigned i = 0; i < n * PER_ROW; i++)
        if (strcmp(want[i], got[i]) && bad++ < 20)
            print_error("row %u: wrote \"%s\", objdump reads \"%s\"\n", i / PER_ROW, want[i], got[i]);
    assert_int_equal(bad, 0);
}
static bool no_objdump(void) {
    bool none = system("objdump --version >/dev/null 2>&1") != 0;
    if (none)
        puts("skipped: no objdump");
    return none;
}
#endif
