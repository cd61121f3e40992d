/* SPDX-License-Identifier: Apache-2.0
 * doctor_verb.c: `redan doctor`: what this machine offers, each line tried, not guessed. Exit 1 when something is missing that a
 * user would notice. */
#include "tools/tool.h"
#include "base/tz.h"
#include "jit/jit.h"
#include "ir/block.h"
#include "plugins/worker.h"
#include "sandbox/probe.h"
#include "sandbox/wire.h"
#include <redan/plugin.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

static const char sample[] = "ruleset doctor version 1\n  undefined skip\nevent E { v: int  x: float }\nrule r on E { when v > 1 and x < 2.0 flag A }\n";

struct report { bool json; int problems; };

static void line(struct report *r, bool good, const char *what, const char *text, const char *hint) {
    r->problems += !good;
    if (r->json) {
        struct rdn_buf b;
        rdn_buf_init(&b, &rdn_libc_mem);
        rdn_buf_printf(&b, "{\"schema\":\"redan.doctor/1\",\"what\":\"%s\",\"good\":%s,\"text\":", what, good ? "true" : "false");
        rdn_buf_json(&b, text, strlen(text));
        rdn_buf_puts(&b, ",\"hint\":");
        rdn_buf_json(&b, hint ? hint : "", hint ? strlen(hint) : 0);
        rdn_buf_puts(&b, "}\n");
        out_buf(stdout, &b);
        rdn_buf_fini(&b);
        return;
    }
    printf("%-4s %-12s %s%s%s\n", good ? "ok" : "BAD", what, text, hint && !good ? "; " : "", hint && !good ? hint : "");
}

/* What is wrong, with its code; `text` names the place, `hint` the remedy. */
static void problem(struct report *r, const char *code, const char *what, const char *text, const char *hint) {
    char whole[600];
    snprintf(whole, sizeof whole, "%s %s", code, text);
    line(r, false, what, whole, hint);
}

/* Where machine code is, when there is any. */
static void check_code_memory(struct report *r, redan_engine *e) {
    struct rdn_jit_counts c;
    char text[200];
    rdn_jit_counts(e->jit, &c);
    if (!c.arena_bytes)
        return;
    snprintf(text, sizeof text, "%.0f KiB of %.0f MiB, %s; a rule set took %.1f ms", (double)c.arena_used / 1024, (double)c.arena_bytes / (1 << 20),
             c.is_alias ? "two views of anonymous memory" : "two views of a memfd: perf reads its names from a jit dump only", (double)c.last_compile_ns / 1e6);
    line(r, true, "code memory", text, NULL);
}

static void check_backends(struct report *r) {
    redan_engine *e = open_engine("auto", 1);
    redan_ruleset *rs = NULL;
    redan_error err = { 0 };
    char text[256];
    if (e && redan_compile(e, "doctor", sample, sizeof sample - 1, NULL, &rs, &err) == 0) {
        const struct rdn_program_info *i = rdn_program_info(rs->prog);
        snprintf(text, sizeof text, "%s%s%s", i->backend, i->note[0] ? ": " : "", i->note);
        line(r, !i->note[0], "executor", text, "rules run, but slower");
        check_code_memory(r, e);
    } else {
        line(r, false, "executor", err.text, NULL);
    }
    redan_release(rs);
    redan_close(e);
}

static void check_kernels(struct report *r) {
    const struct rdn_block *b = rdn_block();
    char text[80] = "reference, one path at a time";
    if (b)
        snprintf(text, sizeof text, "%s, %u paths at a time%s", b->name, b->lanes, b->has_fma ? "" : ", without fma");
    line(r, b && b->has_fma, "kernels", text, "kernels give the same bits, but slower");
}

static void check_zones(struct report *r) {
    bool good = rdn_tz_find("America/New_York", strlen("America/New_York")) != NULL;
    char text[160];
    snprintf(text, sizeof text, "tz database %s", good ? rdn_tz_version() : "not found");
    line(r, good, "time zones", text, "install the package tzdata");
}

static void check_sandbox(struct report *r) {
    struct rdn_probe_wish wish = { false, false };
    struct rdn_probe p;
    redan_error err = { 0 };
    if (rdn_probe_run(&wish, &p, &err) < 0) {
        line(r, false, "confinement", err.text, "plugins are refused");
        return;
    }
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_probe_print(&p, &b);
    while (b.n && b.p[b.n - 1] == '\n')
        b.n--;
    line(r, p.tier >= 2, "confinement", rdn_buf_str(&b), "plugins need seccomp and at least the container tier");
    rdn_buf_fini(&b);
}

/* ---- Python: a plugin that says its version, called from a rule ---- */
static const char python_rules[] = "ruleset doctor version 1\n  undefined skip\nevent E { v: int }\nplugin version(v: int) -> int deadline 50ms\n"
                                   "rule r on E { when v > 0 emit Python { version: version(v) } }\n";
static const char python_code[] = "import sys\nimport redan\n\n\n@redan.plugin\ndef version(v: int) -> int:\n"
                                  "    return sys.version_info[0] * 1000 + sys.version_info[1]\n";

/* The version as 3011, 0 when three calls were late, negative with the error set. */
static int call_python(redan_engine *e, const char *file, redan_error *err) {
    redan_plugin_options o = REDAN_PLUGIN_OPTIONS_INIT;
    redan_lane_options lo = REDAN_LANE_OPTIONS_INIT;
    redan_ruleset *rs = NULL;
    redan_lane *lane = NULL;
    struct { int64_t ts, v; } row = { 1, 1 };
    redan_verdict v;
    uint32_t event;
    o.name = "version";
    o.file = file;
    lo.flags = REDAN_LANE_MAY_WAIT;
    int rc = redan_plugin(e, &o, err);
    if (rc == 0)
        rc = redan_compile(e, "doctor", python_rules, sizeof python_rules - 1, NULL, &rs, err);
    if (rc == 0)
        rc = redan_activate(e, rs, NULL, NULL, err);
    if (rc == 0)
        rc = redan_event(e, "E", rs->ir->events[0].layout_hash, &event, err);
    if (rc == 0)
        rc = redan_lane_open(e, &lo, &lane, err);
    for (int i = 0; i < 3 && rc == 0; i++)
        if (redan_eval(lane, event, &row, &v) == 0 && v.nemits)
            rc = (int)v.emits[0].fields[0].as.i;
    redan_lane_close(lane);
    redan_release(rs);
    return rc;
}

static void check_python(struct report *r) {
    char file[] = "/tmp/redan-doctor-XXXXXX.py", text[400];
    redan_error err = { 0 };
    int fd = mkstemps(file, 3);
    if (fd < 0 || write(fd, python_code, sizeof python_code - 1) != (ssize_t)sizeof python_code - 1) {
        line(r, false, "Python", "no room for a file in /tmp", NULL);
    } else {
        redan_engine *e = open_engine("auto", 1);
        int version = e ? call_python(e, file, &err) : -1;
        redan_close(e);
        if (version > 0)
            snprintf(text, sizeof text, "%d.%d in a confined worker", version / 1000, version % 1000);
        else
            snprintf(text, sizeof text, "%s%s%s", version < 0 ? err.id : "a call took longer than 50 ms", version < 0 && *err.id ? " " : "", version < 0 ? err.text : "");
        line(r, version > 0, "Python", text, "rules that call plugins use their defaults");
    }
    if (fd >= 0) {
        close(fd);
        unlink(file);
    }
}

/* ---- what plugins and kernels stand on ---- */
/* The roles that redan-worker can take here, by the files beside it. */
static void check_worker(struct report *r) {
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL };
    struct rdn_plugins *ps = NULL;
    redan_error err = { 0 };
    char text[4400], path[4200];
    if (rdn_plugins_open(&o, &ps, &err) < 0) {
        snprintf(text, sizeof text, "%s %s", err.id, err.text);
        line(r, false, "worker", text, "rules that call plugins use their defaults");
        return;
    }
    const char *worker = rdn_plugins_worker(ps);
    snprintf(path, sizeof path, "%.4100s-native.so", worker);
    bool native = access(path, R_OK) == 0;
    snprintf(text, sizeof text, "%s, protocol %u, plugin ABI %u%s", worker, RDN_WIRE_VERSION, REDAN_PLUGIN_ABI, native ? "" : ", no native plugins (built without libffi)");
    line(r, true, "worker", text, NULL);
    rdn_plugins_close(ps);
}

/* Meson builds Redan and native plugins from 1.0 on; the wheel wants 1.3, which pip's build isolation brings along. */
static void check_meson(struct report *r) {
    unsigned major = 0, minor = 0;
    char text[300], path[200] = "", version[64] = "";
    FILE *f = popen("command -v meson && meson --version 2>/dev/null", "r");
    bool found = f && fgets(path, sizeof path, f) && fgets(version, sizeof version, f) && sscanf(version, "%u.%u", &major, &minor) == 2;
    if (f)
        pclose(f);
    version[strcspn(version, "\n")] = 0;
    path[strcspn(path, "\n")] = 0;
    bool wheel = major > 1 || (major == 1 && minor >= 3);
    if (!found)
        snprintf(text, sizeof text, "none here; building native plugins needs 1.0, the wheel 1.3");
    else
        snprintf(text, sizeof text, "%s is %.20s; needed: 1.0 for native plugins, 1.3 for the wheel%s", path, version,
                 wheel ? "" : " (without build isolation it would be this one, and fail)");
    if (!found || major >= 1)
        line(r, true, "Meson", text, NULL);
    else
        problem(r, "R4502", "Meson", text, "install Meson 1.0 or newer, or put a newer one before it on PATH");
}

static const char *place_of(void (*fn)(void)) {
    Dl_info i;
    return dladdr((void *)(uintptr_t)fn, &i) && i.dli_fname ? i.dli_fname : "?";
}

/* Opened, never linked: a machine without a device runs the same program. */
static void check_cuda(struct report *r) {
    static const char *const names[] = { "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2" };
    char text[500];
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *nvrtc = NULL;
    int driver = 0, major = 0, minor = 0;
    int (*driver_version)(int *) = NULL, (*compiler_version)(int *, int *) = NULL;
    for (size_t i = 0; !nvrtc && i < sizeof names / sizeof *names; i++)
        nvrtc = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (cuda)
        *(void **)&driver_version = dlsym(cuda, "cuDriverGetVersion");
    if (nvrtc)
        *(void **)&compiler_version = dlsym(nvrtc, "nvrtcVersion");
    bool has_driver = driver_version && driver_version(&driver) == 0, has_compiler = compiler_version && compiler_version(&major, &minor) == 0;
    char d[200] = "none here", c[200] = "none here";
    if (has_driver)
        snprintf(d, sizeof d, "%d.%d (%s)", driver / 1000, driver % 1000 / 10, place_of((void (*)(void))driver_version));
    if (has_compiler)
        snprintf(c, sizeof c, "%d.%d (%s)", major, minor, place_of((void (*)(void))compiler_version));
    bool newer = has_driver && has_compiler && major * 1000 + minor * 10 > driver;
    snprintf(text, sizeof text, "driver %s, NVRTC %s; kernels run on %s", d, c, has_driver && has_compiler && !newer ? "the host until a device is opened" : "the host");
    if (newer)
        problem(r, "R4501", "CUDA", text, "this NVRTC is newer than the driver, which would not load its code: update the driver, or use an older NVRTC");
    else
        line(r, true, "CUDA", text, NULL);
}

int cmd_doctor(int argc, char **argv) {
    static const struct opt opts[] = { { NULL, OPT_FLAG, NULL } };
    struct args a;
    if (!args_read(&a, "doctor", argc, argv, opts) || !args_words(&a, 0, 0))
        return EXIT_USAGE;
    struct report r = { .json = args_flag(&a, "--json") };
    check_backends(&r);
    check_kernels(&r);
    check_zones(&r);
    check_sandbox(&r);
    check_python(&r);
    check_worker(&r);
    check_meson(&r);
    check_cuda(&r);
    return r.problems ? EXIT_FINDINGS : EXIT_GOOD;
}
