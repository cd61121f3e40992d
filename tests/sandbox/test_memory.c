/* SPDX-License-Identifier: Apache-2.0
 * test_memory.c: what a cap of 8 MiB gives to every way of taking memory. Runs with Debian's NumPy and, through numpy2.py, with
 * NumPy 2. In each row the author saw MemoryError or a NULL, never a kill. */
#include "tests/sandbox/kit.h"
#include <unistd.h>

#define F0 "import redan\n@redan.plugin\ndef f() -> int:\n"
static struct rdn_plugin_spec int_spec(void) { return (struct rdn_plugin_spec){ .ret = KIT_T(INT) }; }

#define FILL(expr, step) "import redan, ctypes\n@redan.plugin\ndef f() -> int:\n    a = []\n    n = 0\n    try:\n        while n < 64 << 20:\n" \
    "            a.append(" expr ")\n            n += " step "\n    except MemoryError:\n        a.clear()\n    return n\n"
static const struct { const char *note, *text; double least, most; } fills[] = {
    { "4 KiB objects", FILL("bytearray(4096)", "4096"), 6.5, 8.6 },
    { "512 KiB objects", FILL("bytearray(1 << 19)", "1 << 19"), 6.5, 8.6 },
    { "tuples", FILL("(n, n + 1, n + 2)", "64 + 3 * 32 + 8"), 6.5, 8.6 },
    { "numpy 64 KiB", "import numpy as np\n" FILL("np.ones(8192)", "65536"), 6.5, 8.6 },
    { "numpy 4 MiB", "import numpy as np\n" FILL("np.ones(1 << 19)", "4 << 20"), 4.0, 4.0 },
    { "one block", "import redan\n@redan.plugin\ndef f() -> int:\n    lo, hi = 0, 64 << 20\n    while hi - lo > 65536:\n        m = (lo + hi) // 2\n"
      "        try:\n            b = bytearray(m)\n            del b\n            lo = m\n        except MemoryError: hi = m\n    return lo\n", 6.5, 8.6 },
    { "C malloc", "import redan, ctypes\nm = ctypes.CDLL(None).malloc\nm.restype = ctypes.c_void_p\nm.argtypes = [ctypes.c_size_t]\n@redan.plugin\n"
      "def f() -> int:\n    n = 0\n    while n < 64 << 20:\n        p = m(1 << 18)\n        if not p: return n\n        ctypes.memset(p, 1, 1 << 18)\n"
      "        n += 1 << 18\n    return n\n", 6.5, 8.6 },
    { "shared mapping", "import redan, ctypes\nm = ctypes.CDLL(None).mmap\nm.restype = ctypes.c_void_p\n"
      "m.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]\n@redan.plugin\ndef f() -> int:\n    n = 0\n"
      "    while m(None, 1 << 20, 3, 0x21, -1, 0) != 2**64 - 1 and n < 64 << 20: n += 1 << 20\n    return n\n", 0, 0 },
};

static void memory(void **state) {
    (void)state;
    static const char *const preload[] = { "numpy", "ctypes" };
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        struct rdn_plugin_spec s = int_spec();
        s.group = "memory";
        s.preload = preload;
        s.npreload = 2;
        s.time_cap_ns = 3000 * KIT_MS;
        struct rdn_plugin *p = kit_open(s, fills[i].text);
        struct rdn_wire_value got = { .i = 0 };
        enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got);
        double mib = (double)got.i / 1048576.0;
        printf("8 MiB cap, %-16s %.2f MiB\n", fills[i].note, mib);
        if (out != RDN_OUT_VALUE || mib < fills[i].least || mib > fills[i].most)
            fail_msg("%s: %s %.2f MiB; %s", fills[i].note, rdn_outcome_text(out), mib, kit_status(p)->error);
        rdn_plugin_close(p);
    }
}

/* After MemoryError the worker is as good as before. */
static void memory_recovers(void **state) {
    (void)state;
    struct rdn_plugin *p = kit_open(int_spec(), F0 "    a = [bytes(1 << 20) for _ in range(5)]\n    return len(b'x' * (1 << 24))\n");
    struct rdn_wire_value got;
    for (int i = 0; i < 20; i++)
        assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got), RDN_OUT_MEMORY);
    assert_int_equal(kit_status(p)->restarts, 0);
    if (!strstr(kit_status(p)->message, "R4305 plugin f gen 1 lane 0: memory cap 8 MiB reached at plugin.py:5 in f, peak "))
        fail_msg("%s", kit_status(p)->message);
    double peak = (double)kit_status(p)->peak_bytes / 1048576.0;
    if (peak < 5.0 || peak > 8.0)
        fail_msg("peak %.2f MiB", peak);
    rdn_plugin_close(p);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory), cmocka_unit_test(memory_recovers) };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
