/* SPDX-License-Identifier: Apache-2.0
 * test_hostile.c: a worker that writes anything it likes into its answer page, while the host reads it.
 *
 * The page's address is given to the plugin (W_ADDR, plain mode only); a real attacker would search for it. The host must
 * neither crash nor wait past the deadline, and must refuse or bound whatever comes back. Meant for ASan and UBSan too. */
#include "tests/sandbox/kit.h"

static const struct { const char *note, *body; } scribbles[] = {
    { "random bytes over everything", "    for _ in range(20): ct.memmove(W_ADDR, random.randbytes(12288 + 4096), 12288 + 4096)\n    return 'x'\n" },
    { "random bytes, then silence", "    ct.memmove(W_ADDR, random.randbytes(16384), 16384)\n    while True: pass\n" },
    { "future numbers", "    p = ct.cast(W_ADDR, ct.POINTER(ct.c_uint32))\n    for i in range(1 << 12): p[0] = i\n    return 'x'\n" },
    { "its own number too early", "    p = ct.cast(W_ADDR, ct.POINTER(ct.c_uint32))\n    p[16] = 0; p[17] = 1; p[0] = n\n    while True: ct.memset(W_ADDR + 8192, 0xff, 4096 + 256)\n" },
    { "too many rows", "    p = ct.cast(W_ADDR, ct.POINTER(ct.c_uint32))\n    p[16] = 0; p[17] = 0x7fffffff; p[0] = n\n    while True: pass\n" },
    { "unknown status", "    p = ct.cast(W_ADDR, ct.POINTER(ct.c_uint32))\n    p[16] = 0xdead; p[17] = 1; p[0] = n\n    while True: pass\n" },
    { "huge lengths", "    p = ct.cast(W_ADDR, ct.POINTER(ct.c_uint32))\n    p[16] = 1; p[17] = 1\n    for i in range(26, 32): p[i] = 0xffffffff\n    ct.memset(W_ADDR + 128, 0x41, 3136)\n    p[0] = n\n    while True: pass\n" },
    { "rewriting while it is read", "    p = ct.cast(W_ADDR, ct.POINTER(ct.c_uint32))\n    p[16] = 0; p[17] = 1\n    ct.memset(W_ADDR + 8192, 0, 4096)\n    p[0] = n\n"
      "    v = ct.cast(W_ADDR + 12288, ct.POINTER(ct.c_uint8))\n    while True:\n        v[0] = 0xc3; v[1] = 0x28; v[0] = 0x41; v[1] = 0; v[255] = 7; v[255] = 0\n" },
    { "sleeping for ever", "    p = ct.cast(W_ADDR, ct.POINTER(ct.c_uint32))\n    p[1] = 0\n    return 'x'\n" },
};

static void scribbling(void **state) {
    (void)state;
    static const char *const preload[] = { "ctypes" };
    for (size_t i = 0; i < sizeof scribbles / sizeof *scribbles; i++) {
        char text[2048];
        snprintf(text, sizeof text, "import ctypes as ct, random\nn = 1\ndef f():\n    global n\n    n += 1\n%s", scribbles[i].body);
        struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .plain = true, .group = "hostile", .preload = preload, .npreload = 1,
                                          .ret = KIT_TEXT(256), .time_cap_ns = 5 * KIT_MS }, text);
        for (int round = 0; round < 8; round++) {
            struct rdn_wire_value got = { .i = 0 };
            int64_t start = rdn_mono_ns();
            enum rdn_outcome out = rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got);
            int64_t took = rdn_mono_ns() - start;
            if (took > 1000 * KIT_MS)
                fail_msg("%s: the lane waited %.1f ms", scribbles[i].note, (double)took / 1e6);
            if (out == RDN_OUT_VALUE)
                assert_true(got.text.n <= 256 && strlen(got.text.p) == got.text.n);
            rdn_plugin_settle(p, 0, 2000 * KIT_MS);
            const struct rdn_plugin_status *s = kit_status(p);
            assert_true(strlen(s->error) < sizeof s->error && strlen(s->message) < sizeof s->message && s->log_len <= sizeof s->log);
            for (const char *c = s->message; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                    fail_msg("%s: a control character reached a message", scribbles[i].note);
            rdn_plugin_resume(p);
        }
        rdn_plugin_close(p);
    }
}

/* A plugin cannot write into the host's page, whatever it maps. */
static void request_is_read_only(void **state) {
    (void)state;
    static const char *const preload[] = { "ctypes" };
    struct rdn_wire_param x = { "x", KIT_T(INT) };
    struct rdn_plugin *p = kit_open((struct rdn_plugin_spec){ .group = "hostile", .preload = preload, .npreload = 1, .ret = KIT_T(INT), .params = &x, .nparams = 1 },
        "import redan, ctypes, gc\n@redan.plugin\ndef f(x: int) -> int:\n    l = ctypes.CDLL(None)\n    l.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
        "    for o in gc.get_objects():\n        if isinstance(o, memoryview) and o.readonly and o.nbytes >= 4096:\n"
        "            a = ctypes.addressof(ctypes.c_char.from_buffer_copy(o[:1]))\n            b = (ctypes.c_char * 1)\n"
        "            class Buf(ctypes.Structure): _fields_ = [('buf', ctypes.c_void_p), ('obj', ctypes.py_object), ('rest', ctypes.c_char * 64)]\n"
        "            q = Buf()\n            ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(o), ctypes.byref(q), 0)\n"
        "            return l.mprotect(q.buf, 4096, 3)\n    return 99\n");
    struct rdn_wire_value in = { .i = 1 }, got = { .i = 0 };
    assert_int_equal(rdn_plugin_call(p, 0, &in, 1, 0, 0, &got), RDN_OUT_VALUE);
    assert_int_equal(got.i, -1);
    rdn_plugin_close(p);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(scribbling), cmocka_unit_test(request_is_read_only) };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
