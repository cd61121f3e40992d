/* SPDX-License-Identifier: Apache-2.0
 * feed_in.c: lines from a file or standard input; LF alone ends one. */
#include "tools/feed_in.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

bool feed_open(struct feed *d, const struct args *a, const char *path, struct rdn_syms *syms) {
    const char *format = args_value(a, "--format"), *map = args_value(a, "--map");
    bool json = !format || strcmp(format, "jsonl") == 0, lobster = format && strcmp(format, "lobster") == 0;
    *d = (struct feed){ .syms = syms };
    if (!json && !lobster && strcmp(format, "csv") != 0)
        return usage("--format %.40s: jsonl, lobster or csv expected", format), false;
    if (json != !map)
        return usage(json ? "--map goes with --format lobster or csv" : "--format %s needs --map FILE", format), false;
    if (map && !(d->map = csv_map_open(map, lobster)))
        return false;
    if (rdn_line_open(&rdn_libc_mem, syms, &d->json) < 0)
        return usage("out of memory"), false;
    d->name = path ? path : "-";
    d->own = path && strcmp(path, "-") != 0;
    d->f = d->own ? fopen(path, "rb") : stdin;
    if (!d->f)
        return usage("%s: %s", path, strerror(errno)), false;
    return true;
}

bool feed_is_file(const struct feed *d) {
    struct stat st;
    return fstat(fileno(d->f), &st) == 0 && S_ISREG(st.st_mode);
}

bool feed_has_more(const struct feed *d) {
    struct pollfd p = { fileno(d->f), POLLIN, 0 };
    return poll(&p, 1, 0) != 0;
}

void feed_close(struct feed *d) {
    if (d->own && d->f)
        fclose(d->f);
    free(d->line);
    csv_map_close(d->map);
    rdn_line_close(d->json);
    *d = (struct feed){ 0 };
}

bool feed_rules(struct feed *d, const struct rdn_ir *ir) {
    d->ir = ir;
    rdn_line_rules(d->json, ir);
    return !d->map || csv_map_rules(d->map, ir, d->syms);
}

bool feed_fetch(struct feed *d) {
    ssize_t n = getdelim(&d->line, &d->cap, '\n', d->f);
    if (n < 0) {
        d->failed = ferror(d->f);
        if (d->failed)
            usage("%s: %s", d->name, strerror(errno));
        return false;
    }
    d->len = (size_t)n - (d->line[n - 1] == '\n');
    d->lines++;
    return true;
}

void feed_read(struct feed *d, struct rdn_line *ret) {
    if (d->map)
        csv_map_read(d->map, d->line, d->len, ret, &d->skipped);
    else
        rdn_line_read(d->json, d->line, d->len, ret);
}
