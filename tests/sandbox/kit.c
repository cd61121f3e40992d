/* SPDX-License-Identifier: Apache-2.0
 * kit.c: see kit.h. */
#include "tests/sandbox/kit.h"
#include <dirent.h>
#include <unistd.h>

struct rdn_plugins *kit;
static char folder[] = "/tmp/redan-kit-XXXXXX";

int kit_setup(void **state) {
    (void)state;
    redan_error e = { 0 };
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .python_site = getenv("REDAN_TEST_SITE"), .spare = getenv("REDAN_TEST_SPARE") };
    int rc = rdn_plugins_open(&o, &kit, &e);
    if (rc == REDAN_E_NOSUP) {
        printf("%s %s\n", e.id, e.text);
        exit(77);
    }
    if (rc < 0 || !mkdtemp(folder)) {
        printf("%s %s %s\n", e.id, e.where, e.text);
        return -1;
    }
    return 0;
}

int kit_teardown(void **state) {
    (void)state;
    char command[128];
    rdn_plugins_close(kit);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

const char *kit_file(const char *name, const char *text) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static struct rdn_plugin *try_open(struct rdn_plugin_spec *spec, const char *text, redan_error *e) {
    struct rdn_plugin *p = NULL;
    spec->name = spec->name ? spec->name : "f";
    spec->file = kit_file(spec->file ? spec->file : "plugin.py", text);
    /* Tests that are not about time must not fail on a busy machine. */
    spec->time_cap_ns = spec->time_cap_ns ? spec->time_cap_ns : 10000 * KIT_MS;
    spec->load_cap_ms = spec->load_cap_ms ? spec->load_cap_ms : 10000;
    return rdn_plugin_open(kit, spec, &p, e) < 0 ? NULL : p;
}

struct rdn_plugin *kit_open(struct rdn_plugin_spec spec, const char *text) {
    redan_error e = { 0 };
    struct rdn_plugin *p = try_open(&spec, text, &e);
    if (!p)
        fail_msg("%s %s:%u: %s\n%s", e.id, e.where, e.line, e.text, text);
    return p;
}

redan_error kit_refused(struct rdn_plugin_spec spec, const char *text) {
    redan_error e = { 0 };
    struct rdn_plugin *p = try_open(&spec, text, &e);
    if (p)
        fail_msg("was accepted:\n%s", text);
    return e;
}

static int rising(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t kit_percentile(int64_t *v, size_t n, int percent) {
    qsort(v, n, sizeof *v, rising);
    return v[(n - 1) * (size_t)percent / 100];
}

const struct rdn_plugin_status *kit_status(struct rdn_plugin *p) {
    static struct rdn_plugin_status s;
    rdn_plugin_status(p, &s);
    return &s;
}

void kit_judge(const char *what, int64_t value, int64_t bar) {
    if (value <= bar)
        return;
    if (getenv("REDAN_FIGURES"))
        fail_msg("%s: %.3f ms, at most %.3f ms allowed", what, (double)value / 1e6, (double)bar / 1e6);
    printf("%s: %.3f ms is over %.3f ms; a shared machine may do that, REDAN_FIGURES=1 makes it a failure\n", what, (double)value / 1e6, (double)bar / 1e6);
    skip();
}

int kit_children(int pid, int *out, int cap) {
    char path[300];
    int n = 0, child;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", pid, e->d_name);
        FILE *f = *e->d_name == '.' ? NULL : fopen(path, "r");
        while (f && n < cap && fscanf(f, "%d", &child) == 1)
            out[n++] = child;
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return n;
}

int kit_entries(const char *folder) {
    DIR *d = opendir(folder);
    int n = d ? -2 : 0;                                 /* . and .. */
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}
