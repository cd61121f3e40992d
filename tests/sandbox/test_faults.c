/* SPDX-License-Identifier: Apache-2.0
 * test_faults.c: each system call that starts or confines a worker fails once. The host names the step, and keeps nothing: no process,
 * no descriptor. Wants root: only then are all steps taken. Run with FAULTY, the path of faulty-worker, in the environment. */
#include "tests/sandbox/kit.h"
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox/probe.h"

static const struct { const char *call, *id, *words; } rows[] = {
#define FAULT(name, number, condition, error, code, text) { #name, code, text },
#include "tests/sandbox/failing_calls.def"
#undef FAULT
};

/* Opens a plugin with that list to preload in an engine of its own; answers how. Nothing may be left either way. */
static redan_error try_with(const char *module) {
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .worker_path = getenv("FAULTY") };
    struct rdn_plugin_spec s = { .name = "f", .ret = KIT_T(INT), .preload = &module, .npreload = 1, .lanes = 2, .load_cap_ms = 10000 };
    struct rdn_plugins *ps;
    struct rdn_plugin *p = NULL;
    redan_error e = { 0 };
    int before = kit_entries("/proc/self/fd");
    s.file = kit_file("plugin.py", "import redan\n@redan.plugin\ndef f() -> int:\n    return 1\n");
    if (rdn_plugins_open(&o, &ps, &e) < 0)
        fail_msg("%s: %s %s", module, e.id, e.text);
    if (rdn_plugin_open(ps, &s, &p, &e) == 0)
        rdn_plugin_close(p);
    rdn_plugins_close(ps);
    if (kit_entries("/proc/self/fd") != before)
        fail_msg("%s: %d descriptors before, %d after", module, before, kit_entries("/proc/self/fd"));
    if (waitpid(-1, NULL, WNOHANG) != -1)
        fail_msg("%s: a process is left", module);
    return e;
}

static void each_call(void **state) {
    (void)state;
    char module[16];
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(module, sizeof module, "fault.%zu", i);
        redan_error e = try_with(module);
        bool ok = !strcmp(e.id, rows[i].id) && strstr(e.text, rows[i].words);
        wrong += !ok;
        printf("%-24s %s %s%s\n", rows[i].call, e.id, e.text, ok ? "" : "   <- expected another");
        if (!ok)
            printf("%-24s %s %s\n", "", rows[i].id, rows[i].words);
    }
    assert_int_equal(wrong, 0);
}

/* The way itself is not what fails. */
static void none(void **state) {
    (void)state;
    redan_error e = try_with("threading");
    if (*e.id)
        fail_msg("%s %s", e.id, e.text);
}

int main(void) {
    struct rdn_probe p;
    struct rdn_probe_wish w = { false, false };
    if (rdn_probe_run(&w, &p, NULL) < 0 || p.tier < RDN_TIER_FULL) {
        printf("not everything can be confined here: tier below full\n");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(none), cmocka_unit_test(each_call) };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
