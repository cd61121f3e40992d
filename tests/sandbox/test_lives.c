/* SPDX-License-Identifier: Apache-2.0
 * test_lives.c: what a worker is in the kernel's own words; spare zygotes, backoff, and a worker that computes without a call.
 * Run with HOSTILE, the path of hostile-worker, in the environment. */
#include "tests/sandbox/kit.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox/wire.h"

#define F0 "import redan\n@redan.plugin\ndef f() -> int:\n"
static const char *const ctypes_only[] = { "ctypes" };
static struct rdn_plugin_spec spec(const char *group) {
    return (struct rdn_plugin_spec){ .ret = KIT_T(INT), .group = group, .preload = ctypes_only, .npreload = 1 };
}

static int64_t ask(struct rdn_plugin *p) {
    struct rdn_wire_value got = { .i = -1 };
    return rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got) == RDN_OUT_VALUE ? got.i : -1;
}

/* --- in the kernel's words -------------------------------------------------------------------------------------- */

static void proc_file(int pid, const char *name, char *out, size_t cap) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, cap - 1, f) : 0;
    out[n] = 0;
    if (f)
        fclose(f);
}

static int entries(int pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return kit_entries(path);
}

static void same_ns(int pid, const char *name, bool expected) {
    char path[64], ours[64] = "", theirs[64] = "";
    snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, name);
    ssize_t n = readlink(path, theirs, sizeof theirs - 1);
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    ssize_t k = readlink(path, ours, sizeof ours - 1);
    if (n <= 0 || k <= 0 || !strcmp(ours, theirs) != expected)
        fail_msg("namespace %s: %s here, %s there", name, ours, theirs);
}

static const struct { uint32_t layer; const char *line; } words[] = {
    { RDN_GOT_SECCOMP, "\nSeccomp:\t2\n" },         { RDN_GOT_NNP, "\nNoNewPrivs:\t1\n" },
    { RDN_GOT_CAPS, "\nCapEff:\t0000000000000000\n" }, { RDN_GOT_CAPS, "\nCapPrm:\t0000000000000000\n" },
    { 0, "\nThreads:\t1\n" },
};

/* The layers a worker reports are those the kernel shows; the host itself shows none of them. */
static void kernel_view(void **state) {
    (void)state;
    char text[4096], own[4096];
    int zygotes[8], workers[8];
    struct rdn_plugin *p = kit_open(spec("kernel"), F0 "    return 1\n");
    int nz = kit_children(getpid(), zygotes, 8), nw = nz ? kit_children(zygotes[nz - 1], workers, 8) : 0;
    assert_int_equal(nw, 1);
    uint32_t layers = kit_status(p)->layers;
    proc_file(workers[0], "status", text, sizeof text);
    proc_file(getpid(), "status", own, sizeof own);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((layers & words[i].layer) == words[i].layer && !strstr(text, words[i].line))
            fail_msg("expected %s in\n%s", words[i].line, text);
    assert_null(strstr(own, "\nSeccomp:\t2\n"));
    if (geteuid() == 0 && layers & RDN_GOT_CLOSED) {
        assert_int_equal(entries(workers[0], "fd"), 0);
        assert_true(entries(getpid(), "fd") > 3);
    }
    if (geteuid() == 0 && layers & RDN_GOT_NS) {
        static const char *const apart[] = { "mnt", "net", "ipc", "uts", "pid" };
        for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
            same_ns(workers[0], apart[i], false);
        same_ns(getpid(), "mnt", true);
        assert_int_equal(entries(workers[0], "root"), 0);
    }
    if (layers & RDN_GOT_UID)
        assert_null(strstr(text, "\nUid:\t0\t"));
    proc_file(workers[0], "environ", text, sizeof text);
    assert_null(strstr(text, "PATH="));
    rdn_plugin_close(p);
}

/* --- spare zygotes ---------------------------------------------------------------------------------------------- */

/* Runs first: no other engine of this process has zygotes yet. */
static void spare(void **state) {
    (void)state;
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .spare = true };
    struct rdn_plugins *mine, *was = kit;
    int before[8], after[8], nbefore, nafter = 0;
    assert_int_equal(rdn_plugins_open(&o, &mine, NULL), 0);
    kit = mine;
    struct rdn_plugin *bad = kit_open(spec("spare"), "import redan, ctypes\n@redan.plugin\ndef f() -> int:\n    return ctypes.string_at(0)\n");
    struct rdn_plugin *good = kit_open(spec("spare"), F0 "    return 3\n");
    for (int i = 0; i < 100 && (nbefore = kit_children(getpid(), before, 8)) < 2; i++)
        usleep(10000);
    assert_int_equal(ask(bad), -1);
    rdn_plugin_settle(bad, 0, 3000 * KIT_MS);
    assert_int_equal(kit_status(bad)->restarts, 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ask(good), 3);                 /* of the old zygote, which lives as long as it has workers */
    /* Crashed memory makes no further workers as soon as there is a spare: with the next texts that zygote ends. */
    bool gone = false;
    char text[128];
    int64_t until = rdn_mono_ns() + 20000 * KIT_MS;
    for (int i = 0; !gone && rdn_mono_ns() < until; i++) {
        snprintf(text, sizeof text, F0 "    return 4 + 0 * %d\n", i);
        assert_int_equal(rdn_plugin_reload(good, kit_file("next.py", text), NULL, NULL), 0);
        assert_int_equal(rdn_plugin_reload(bad, kit_file("next.py", text), NULL, NULL), 0);
        assert_int_equal(ask(good), 4);
        usleep(20000);
        nafter = kit_children(getpid(), after, 8);
        gone = nafter == 2;
        for (int k = 0; k < nafter; k++)
            gone = gone && after[k] != before[0];
    }
    if (!gone)
        fail_msg("%d zygotes, the first is %d, it was %d", nafter, after[0], before[0]);
    /* Both die: another one is started. */
    kill(after[0], SIGKILL);
    kill(after[1], SIGKILL);
    int64_t start = rdn_mono_ns();
    usleep(50000);                                      /* their workers follow them */
    while (ask(good) != 4 && rdn_mono_ns() < start + 5000 * KIT_MS)
        usleep(1000);
    printf("both zygotes were killed; their plugin answers again after %.1f ms\n", (double)(rdn_mono_ns() - start) / 1e6);
    assert_int_equal(ask(good), 4);
    rdn_plugin_close(good);
    rdn_plugin_close(bad);
    rdn_plugins_close(mine);
    kit = was;
}

/* A zygote that is stopped answers nobody, and its socket fills. Found by storm after 90 s: every opener waited for ever. */
static void hung(void **state) {
    (void)state;
    struct rdn_plugins *mine, *was = kit;
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL };
    redan_error e = { 0 };
    int before[8], after[8], nbefore = kit_children(getpid(), before, 8);
    assert_int_equal(rdn_plugins_open(&o, &mine, NULL), 0);
    kit = mine;
    struct rdn_plugin *p = kit_open(spec("hung"), F0 "    return 3\n");
    int n = kit_children(getpid(), after, 8), zygote = 0;
    for (int i = 0; i < n; i++) {
        bool old = false;
        for (int k = 0; k < nbefore; k++)
            old = old || before[k] == after[i];
        zygote = old ? zygote : after[i];
    }
    assert_true(zygote > 0);
    kill(zygote, SIGSTOP);
    assert_true(rdn_plugin_reload(p, kit_file("next.py", F0 "    return 4\n"), NULL, &e) < 0);
    assert_string_equal(e.id, "R4403");
    assert_non_null(strstr(e.text, "no answer within 2 s"));
    int64_t start = rdn_mono_ns();
    assert_int_equal(rdn_plugin_reload(p, kit_file("next.py", F0 "    return 4\n"), NULL, NULL), 0);
    printf("the next reload came through after %.1f ms\n", (double)(rdn_mono_ns() - start) / 1e6);
    assert_int_equal(ask(p), 4);
    rdn_plugin_close(p);
    rdn_plugins_close(mine);
    kit = was;
}

/* --- again and again -------------------------------------------------------------------------------------------- */

static void backoff(void **state) {
    (void)state;
    int64_t took[2];
    struct rdn_plugin *p = kit_open(spec("backoff"), "import redan, os\n@redan.plugin\ndef f() -> int:\n    os._exit(1)\n");
    for (int i = 0; i < 2; i++) {
        ask(p);
        int64_t start = rdn_mono_ns();
        rdn_plugin_settle(p, 0, 5000 * KIT_MS);
        took[i] = rdn_mono_ns() - start;
    }
    printf("after the first death ready in %.1f ms, after the second in %.1f ms\n", (double)took[0] / 1e6, (double)took[1] / 1e6);
    assert_true(took[1] >= 90 * KIT_MS && took[0] < took[1]);
    ask(p);
    rdn_plugin_settle(p, 0, 5000 * KIT_MS);
    assert_true(kit_status(p)->quarantined);
    rdn_plugin_close(p);
}

/* A worker that computes between calls is killed within two seconds; the real one, idle, is not. */
static void idle_burn(void **state) {
    (void)state;
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .worker_path = getenv("HOSTILE"), .seed = 0xb1 };
    struct rdn_plugins *mine, *was = kit;
    struct rdn_plugin *quiet = kit_open(spec("idle"), F0 "    return 1\n");
    assert_int_equal(rdn_plugins_open(&o, &mine, NULL), 0);
    kit = mine;
    struct rdn_plugin_spec s = spec("burn");
    s.ret = KIT_TEXT(8);
    struct rdn_plugin *p = kit_open(s, "x\n");
    struct rdn_wire_value got;
    assert_int_equal(rdn_plugin_call(p, 0, NULL, 0, 0, 0, &got), RDN_OUT_VALUE);
    for (int i = 0; i < 500 && !kit_status(p)->deaths; i++)
        usleep(10000);
    assert_true(kit_status(p)->deaths >= 1);
    assert_int_equal(kit_status(quiet)->deaths, 0);
    rdn_plugin_close(p);
    rdn_plugins_close(mine);
    kit = was;
    rdn_plugin_close(quiet);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(spare), cmocka_unit_test(kernel_view), cmocka_unit_test(hung), cmocka_unit_test(backoff), cmocka_unit_test(idle_burn) };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
