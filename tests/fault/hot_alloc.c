/* SPDX-License-Identifier: Apache-2.0
 * hot_alloc.c: judging allocates nothing. Every door to memory is watched while events are judged and swaps are adopted: malloc and
 * its kind, mmap and its kind are replaced in this binary, the end of the heap is compared, and the engine's allocator counts. The rules use every kind of window,
 * tables, lists, calendars, text functions, emits and messages that nobody asks for. A control shows that the watch sees each door.
 *
 *   hot_alloc BACKEND */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "host/host.h"
#include "tests/unit/host/engine_kit.h"

/* ---- the doors ---- */
static _Thread_local bool watching;
static _Thread_local unsigned long seen;
static _Thread_local const char *first;
static void *heap_end;
static void door(const char *name) {
    if (watching && !seen++)
        first = name;
}
static void look(void) {
    seen = 0;
    first = NULL;
    heap_end = sbrk(0);
    watching = true;
}
static unsigned long look_away(void) {
    if (sbrk(0) != heap_end)
        door("brk");
    watching = false;
    return seen;
}

/* glibc's own names of what is replaced. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
void *malloc(size_t n) { return door("malloc"), __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return door("calloc"), __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return door("realloc"), __libc_realloc(p, n); }
void free(void *p) {
    if (p)
        door("free");
    __libc_free(p);
}
void *aligned_alloc(size_t a, size_t n) { return door("aligned_alloc"), __libc_memalign(a, n); }
void *memalign(size_t a, size_t n) { return door("memalign"), __libc_memalign(a, n); }
int posix_memalign(void **ret, size_t a, size_t n) {
    door("posix_memalign");
    *ret = __libc_memalign(a, n);
    return *ret ? 0 : ENOMEM;
}
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off) {
    door("mmap");
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, off);
}
int munmap(void *at, size_t n) { return door("munmap"), (int)syscall(SYS_munmap, at, n); }
int mprotect(void *at, size_t n, int prot) { return door("mprotect"), (int)syscall(SYS_mprotect, at, n, prot); }
int madvise(void *at, size_t n, int advice) { return door("madvise"), (int)syscall(SYS_madvise, at, n, advice); }

static void doors_are_watched(void **state) {
    (void)state;
    void *volatile p;
    struct books books = { 0 };
    static const char *const names[] = { "malloc", "calloc", "realloc", "posix_memalign", "mmap", "brk", "the engine's" };
    for each (i, names) {
        look();
        switch (i) {
        case 0: p = malloc(10); break;
        case 1: p = calloc(1, 10); break;
        case 2: p = realloc(NULL, 10); break;
        case 3: check(posix_memalign((void **)&p, 64, 10) == 0, "posix_memalign"); break;
        case 4: p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); break;
        case 5: check(brk((char *)sbrk(0) + 4096) == 0, "brk"); break;
        default: p = book_realloc(&books, NULL, 0, 10); break;
        }
        check(look_away() > 0, "%s is not watched", names[i]);
        if (i == 4)
            munmap(p, 4096);
        else if (i == 6)
            book_realloc(&books, p, 10, 0);
        else if (i < 4)
            free(p);
    }
}

/* ---- rules ---- */
#define EVERYTHING(CODE, KEYS)                                                                                        \
    HEAD "event Reset { account: sym }\nparam lim: int = 50 in 1..1000\nparam h: int = 5 in 1..100\n"                  \
         "list vip: sym = [\"A1\", \"A2\"]\nlist days: date = [2026-12-25]\n"                                          \
         "table t by account: sym { credit: dec(2)  note: str(8) } = { \"A1\": 5.00, \"x\"  default: 1.00, \"y\" }\n"  \
         "table rows by account: sym, side: int { c: int } from host keys 100\n"                                       \
         "calendar hours tz \"America/New_York\" { mon..fri 09:30..16:00 except days }\n"                              \
         "plugin model(x: float) -> float deadline 1ms default 0.25\n"                                                 \
         "fn twice(x: int) -> int = x + x\nlet val on Order = px * qty\nlet name on Order = upper(trim(tag))\n"        \
         "window c1 = count() over 10s by account on Order keys " KEYS " reset on Reset\n"                             \
         "window c2 = sum(val) over 10s by account, side on Order keys " KEYS " evict oldest\n"                        \
         "window c3 = avg(f) over 10s by account on Order panes 7 keys " KEYS " evict idle\n"                          \
         "window c4 = stddev(f) over 10s on Order\nwindow c5 = zscore(f) over 10s by side on Order exact 8\n"          \
         "window c6 = min(qty) over 10 events by account on Order\nwindow c7 = max(px) over 10s on Order exact 16\n"   \
         "window c8 = first(tag) over 10s by account on Order\nwindow c9 = last(tag) by account on accepted Order\n"   \
         "window d1 = distinct(account) over 10s by side on Order\nwindow d2 = distinct(qty) on Order\n"               \
         "window d3 = distinct(tag) over 20 events on Order\nwindow e1 = ewma(f, 10) by account on Order keys " KEYS "\n" \
         "window e2 = ewma(f, 5s) on Order\nwindow e3 = delta(qty) over 10s by account on Order\n"                     \
         "window s1 = sum(f) by account on accepted Order where qty > 3\nwindow s2 = count() over 5 events on accepted Order\n" \
         "rule r1 on Order { when qty > lim and account in vip reject BIG \"{qty} {val} {name} {c9} {c2}\" }\n"        \
         "rule r2 on Order { when val + c2 > t[account].credit flag CREDIT \"{t[account].note}\" score P twice(h) }\n" \
         "rule r3 on Order { when now in hours and qty mod 3 == 0 or rows[account, 1].c > 2 hold HOURS for 5s \"{now} {account}\" }\n"    \
         "rule r4 on Order { when cross_up(c4, e2) or prev(c1) > 3 or c5 > 1.0 or d1 + d2 + d3 > 5 flag STATS }\n"     \
         "rule r5 on Order { when starts_with(name, \"A\") or contains(tag, \"q\") or find(tag, \"z\") > 0 flag " CODE " emit T { n: name, l: lower(account), t: text(px), v: vec(f, 1.0), c: c9, f: c8 } }\n" \
         "rule r6 on Order shadow { when model(f) > 0.1 and c6 + e3 > 0 or c7 > 1.00 throttle SH }\n"                  \
         "rule r7 on Order { when opt / (qty mod 7) > 1 or int(tag) > 4 flag U undefined flag UNDEF }\n"               \
         "rule r8 on Order { when score > 3 or e1 > 0.5 or s1 > 2.0 or s2 > 4 flag LATE }\n"                           \
         "rule r9 on Reset { when c1 == 0 and c2[account, \"buy\"] >= 0.00 flag RESET }\n"
static const char *const texts[] = { EVERYTHING("ONE", "40"), EVERYTHING("TWO", "60"), EVERYTHING("THREE", "40") };

static redan_engine *eng;
static redan_lane *lane;
static uint32_t accounts[64], order, reset;
static struct books books;
static unsigned long fired[16], emitted;
static int64_t clock_ns = 1772550000000000000;

static void judge_one(int i) {
    static struct order row;
    struct { int64_t ts; uint32_t account, pad; } r;
    redan_verdict v;
    row = (struct order){ .ts = clock_ns += i % 50 ? 37000000 : 4000000000, .present = (uint64_t)(i % 3 == 0), .account = accounts[i * 7 % 64], .side = (uint8_t)(i % 2),
                          .qty = i * 31 % 120, .px = i * 1237 % 90000, .f = i * 17 % 23 / 3.0, .b = 1, .opt = i % 9 };
    memcpy(row.tag, &"aq 7z"[i % 4], 1 + (size_t)i % 2);
    check(redan_eval(lane, order, &row, &v) == 0, "order %d", i);
    for (uint32_t k = 0; k < v.ncodes + v.nshadow; k++)
        fired[(k < v.ncodes ? v.codes[k] : v.shadow[k - v.ncodes]) % 16]++;
    emitted += v.nemits;
    if (i % 16)
        return;
    r.ts = clock_ns;
    r.account = accounts[i % 64];
    r.pad = 0;
    check(redan_eval(lane, reset, &r, &v) == 0, "reset %d", i);
    for (uint32_t k = 0; k < v.ncodes; k++)
        fired[v.codes[k] % 16]++;
}

static void judging_allocates_nothing(void **state) {
    (void)state;
    enum { EVENTS = 4000 };
    redan_ruleset *rs[3];
    struct order batch[32];
    static redan_verdict out[32];
    size_t done;
    eng = kit_engine(1, &books);
    for (int i = 0; i < 3; i++)
        rs[i] = kit_compile(eng, texts[i]);
    kit_activate(eng, rs[0]);
    order = kit_bind(eng);
    check(redan_event(eng, "Reset", layout_of("Reset;ts:time;account:sym;"), &reset, NULL) == 0, "bind");
    for (uint32_t i = 0; i < 64; i++) {
        char name[8];
        check(redan_sym(eng, name, (size_t)snprintf(name, sizeof name, "A%u", i), &accounts[i]) == 0, "sym");
    }
    lane = kit_lane(eng, 0, REDAN_LANE_MAY_WAIT | REDAN_LANE_BATCHES);
    for (int round = 0; round < 6; round++) {
        /* The swap itself may allocate; adopting it, with all windows, may not: the first event after it adopts. */
        if (round)
            kit_activate(eng, rs[round % 3]);
        if (round == 3) {
            const struct rdn_cell keys[2] = { { .i = accounts[1] }, { .i = 1 } }, val = { .i = 5 }, lim = { .i = 20 };
            redan_lane_idle(lane);
            look();
            check(rdn_lane_param(lane, 0, &lim) && rdn_lane_row(lane, 0 + (strcmp(lane->b->rs->ir->tables[0].name, "rows") != 0), keys, &val), "param and row");
            check(look_away() == 0, "setting a parameter and a row: %s", first);
        }
        size_t calls = books.calls;
        look();
        for (int i = 0; i < EVENTS; i++)
            judge_one(i + round * 11);
        unsigned long n = look_away();
        check(n == 0 && books.calls == calls, "round %d: %lu calls of memory functions, the first is %s", round, n, first);
    }
    for (int i = 0; i < 32; i++)
        batch[i] = (struct order){ .ts = clock_ns + i, .account = accounts[i], .qty = 1 };
    look();
    check(redan_eval_batch(lane, order, batch, sizeof *batch, 32, out, &done) == 0 && done > 0, "batch");
    check(look_away() == 0, "batch: %s", first);
    for (int i = 0; i < 11; i++)                         /* BIG CREDIT P HOURS STATS ONE SH U UNDEF LATE RESET: no rule is dead */
        check(fired[i] > 0, "%s never fired", redan_code_name(lane, (uint32_t)i));
    check(emitted > 0, "no emits");
    redan_lane_close(lane);
    for (int i = 0; i < 3; i++)
        redan_release(rs[i]);
    redan_close(eng);
}

int main(int argc, char **argv) {
    static const struct CMUnitTest tests[] = { cmocka_unit_test(doors_are_watched), cmocka_unit_test(judging_allocates_nothing) };
    kit_backend = argc > 1 ? argv[1] : "interp";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
