/* SPDX-License-Identifier: Apache-2.0
 * spin.c: an embedder that judges events for a while, for the tests of profilers and debuggers: spin MILLISECONDS [SWAPS [BACKEND]].
 *
 * Some of its rules overflow, so that stubs are run, too. After SWAPS new texts it prints `swapped`; at its end the number of events. */
#include <time.h>
#include "tests/unit/host/engine_kit.h"

static char text[8192];
static const char *rules(int first) {
    char *at = text + sprintf(text, "ruleset spin version %d\n  undefined skip\n" ORDER_EVENT "window n = max(qty * 3) by account on Order\n", first);
    for (int i = 0; i < 60; i++)
        at += sprintf(at, "rule r%d on Order { when f * %d.5 + f / 3.0 > %d.0 or qty * %lld > %d flag A }\n", i, first + i, i * 1000, i ? 3ll : 40000000000000ll, i * 100000);
    return text;
}

/* Where the test of gdb stops first. */
__attribute__((noinline)) static void start_judging(void) {
    puts("swapped");
    fflush(stdout);
}

int main(int argc, char **argv) {
    struct kit k;
    struct timespec a, b;
    int64_t events = 0, ms = argc > 1 ? atoi(argv[1]) : 1000;
    kit_backend = argc > 3 ? argv[3] : "x64";
    kit_start(&k, rules(1));
    for (int i = 0; argc > 2 && i < atoi(argv[2]); i++) {
        redan_ruleset *rs = kit_compile(k.eng, rules(2 + i));
        kit_activate(k.eng, rs);
        redan_release(rs);
        redan_lane_idle(k.lane);
    }
    start_judging();
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        for (int i = 0; i < 1000; i++, events++)
            kit_judge(&k, events * 1000);
        clock_gettime(CLOCK_MONOTONIC, &b);
    } while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
    kit_stop(&k);
    printf("%lld events\n", (long long)events);
    return 0;
}
