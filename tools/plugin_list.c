/* SPDX-License-Identifier: Apache-2.0
 * plugin_list.c: `redan plugin list`: plugins in folders, and what isolation they would get here. Without a daemon nothing is live. */
#include "tools/plugin_tool.h"
#include "sandbox/probe.h"
#include <dirent.h>
#include <string.h>
#include <sodium.h>

static void one(struct project *p, const char *path, uint32_t *n) {
    static struct rdn_pack k;
    redan_error e = { 0 };
    char hex[65];
    struct rdn_buf b;
    if (rdn_pack_open(&rdn_libc_mem, path, &k, &p->report, &e) < 0) {
        rdn_pack_close(&k);
        return;
    }
    sodium_bin2hex(hex, sizeof hex, k.sha256, sizeof k.sha256);
    rdn_buf_init(&b, &rdn_libc_mem);
    for (uint32_t i = 0; i < k.m.nfns; i++)
        rdn_buf_printf(&b, p->json ? "%s\"%s\"" : "%s%s", i ? "," : "", k.m.fns[i].name);
    if (p->json)
        printf("%s{\"path\":\"%s\",\"id\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\",\"state\":\"not loaded\",\"sha256\":\"%s\",\"functions\":[%s]}", *n ? "," : "", path,
               k.m.id, k.m.version, k.m.kind, hex, rdn_buf_str(&b));
    else
        printf("%-28s %-10s %-7s %.12s  %s  %s\n", k.m.id, k.m.version, k.m.kind, hex, path, rdn_buf_str(&b));
    ++*n;
    rdn_buf_fini(&b);
    rdn_pack_close(&k);
}

static bool has_manifest(const char *dir) {
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/plugin.yaml", dir);
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    return f;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void folder(struct project *p, const char *dir, uint32_t *n) {
    struct dirent **list;
    if (has_manifest(dir) || strstr(dir, ".rdb")) {
        one(p, dir, n);
        return;
    }
    int k = scandir(dir, &list, NULL, by_name);
    if (k < 0)
        rdn_find(&p->report, "R4201", dir, 0, 0, "not a folder");
    for (int i = 0; i < k; i++) {
        char path[4400];
        size_t len = strlen(list[i]->d_name);
        snprintf(path, sizeof path, "%.4000s/%s", dir, list[i]->d_name);
        if (list[i]->d_name[0] != '.' && (has_manifest(path) || (len > 4 && !strcmp(list[i]->d_name + len - 4, ".rdb"))))
            one(p, path, n);
        free(list[i]);
    }
    if (k >= 0)
        free(list);
}

int plugin_list(int argc, char **argv) {
    static const struct opt opts[] = { { NULL, OPT_FLAG, NULL } };
    static struct project p;
    struct rdn_probe probe = { 0 };
    struct rdn_probe_wish wish = { false, false };
    redan_error e = { 0 };
    uint32_t n = 0;
    if (!project_open(&p, "redan.plugin.list/1", argc, argv, opts, 500))
        return EXIT_USAGE;
    bool known = rdn_probe_run(&wish, &probe, &e) == 0;
    if (p.json)
        printf("\"isolation\":\"%s\",\"plugins\":[", known ? rdn_tier_text((enum rdn_tier)probe.tier) : "none");
    for (int i = 0; i < p.args.nwords || i == 0; i++)
        folder(&p, p.args.nwords ? p.args.words[i] : ".", &n);
    if (p.json)
        printf("],");
    else
        printf("%u plugin%s; isolation here: %s\n", n, n == 1 ? "" : "s", known ? rdn_tier_text((enum rdn_tier)probe.tier) : "none, plugins are refused");
    return project_close(&p, EXIT_GOOD);
}
