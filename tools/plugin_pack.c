/* SPDX-License-Identifier: Apache-2.0
 * plugin_pack.c: `redan plugin pack`: check, then one file. The same input gives the same bytes. */
#include "tools/plugin_check.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sodium.h>

/* What is there already may be an older bundle, and nothing else: not a link somebody left, not a device. */
static bool write_file(const char *path, const struct rdn_buf *b) {
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return usage("%s: not a plain file; remove it, or name another with --out", path), false;
    return replace_file(path, b, 0) || (usage("%s: %s", path, strerror(errno)), false);
}

int plugin_pack(int argc, char **argv) {
    static const struct opt opts[] = { { "--out", OPT_VALUE, "" }, { "--rules", OPT_VALUE, "" }, { "--preload", OPT_VALUE, "" }, { NULL, OPT_FLAG, NULL } };
    static struct project p;
    char name[128];
    if (!project_open(&p, "redan.plugin.pack/1", argc, argv, opts, 1))
        return EXIT_USAGE;
    if (!plugin_check_all(&p, args_value(&p.args, "--rules")))
        return project_close(&p, EXIT_FINDINGS);
    const char *dot = strrchr(p.pack.m.id, '.'), *out = args_value(&p.args, "--out");
    snprintf(name, sizeof name, "%s-%s.rdb", dot ? dot + 1 : p.pack.m.id, p.pack.m.version);
    out = out ? out : name;
    struct rdn_buf b;
    rdn_buf_init(&b, &rdn_libc_mem);
    rdn_pack_bundle(&p.pack, &b);
    int rc = write_file(out, &b) ? EXIT_GOOD : EXIT_USAGE;
    uint8_t hash[32];
    char hex[65];
    crypto_hash_sha256(hash, (const unsigned char *)(b.p ? b.p : ""), b.n);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    if (rc == EXIT_GOOD && p.json)
        printf("\"file\":\"%s\",\"bytes\":%zu,\"sha256\":\"%s\",", out, b.n, hex);
    else if (rc == EXIT_GOOD)
        printf("%s: %u files, %zu bytes, sha256 %.16s...\n", out, p.pack.nfiles, b.n, hex);
    rdn_buf_fini(&b);
    return project_close(&p, rc);
}
