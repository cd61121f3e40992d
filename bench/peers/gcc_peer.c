/* SPDX-License-Identifier: Apache-2.0
 * gcc_peer.c: see gcc_peer.h. Contraction is off: the answers must be equal bit for bit. */
#include "bench/peers/gcc_peer.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
int gcc_peer_open(struct gcc_peer *p, const struct rule_set *s, int flat, const char **ret_why) {
    static unsigned number;
    char src[80], cmd[400];
    *p = (struct gcc_peer){0};
    *ret_why = "gcc not found or it failed";
    snprintf(p->path, sizeof p->path, "/tmp/redan-peer-%d-%u.so", (int)getpid(), number++);
    snprintf(src, sizeof src, "%s.c", p->path);
    char *text = set_as_c(s, flat);
    FILE *f = fopen(src, "w");
    int written = f && fputs(text, f) >= 0;
    free(text);
    if (f)
        fclose(f);
    snprintf(cmd, sizeof cmd, "gcc -O3 -march=native -ffp-contract=off -shared -fPIC -w -o %s %s 2>/dev/null", p->path, src);
    double from = now_ms();
    int rc = written ? system(cmd) : -1;
    p->compile_ms = now_ms() - from;
    unlink(src);
    if (rc)
        return 0;
    p->dl = dlopen(p->path, RTLD_NOW | RTLD_LOCAL);
    void *sym = p->dl ? dlsym(p->dl, "judge") : NULL;
    if (!sym)
        return *ret_why = "dlopen failed", 0;
    memcpy(&p->judge, &sym, sizeof sym);
    return 1;
}
void gcc_peer_close(struct gcc_peer *p) {
    if (p->dl)
        dlclose(p->dl);
    if (p->path[0])
        unlink(p->path);
}
