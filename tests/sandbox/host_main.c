/* SPDX-License-Identifier: Apache-2.0
 * host_main.c: a host to be killed: opens a plugin with three lanes, gets a worker busy, says so, and waits.
 *
 *   host idle|looping|stubborn|reloading [SEED]     reloading: a new text and a call again and again, to be killed at any moment */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "plugins/worker.h"

static const char *text_of(const char *what) {
    if (!strcmp(what, "idle"))
        return "import redan\n@redan.plugin\ndef f() -> int:\n    return 1\n";
    if (!strcmp(what, "looping"))
        return "import redan\n@redan.plugin\ndef f() -> int:\n    while True: pass\n";
    return "import redan\n@redan.plugin\ndef f() -> int:\n    while True:\n        try:\n            x = 0\n            while True: x += 1\n"
           "        except BaseException: pass\n";
}

_Noreturn static void reload_for_ever(struct rdn_plugin *p, const char *file) {
    for (int i = 0;; i++) {
        struct rdn_wire_value got;
        FILE *f = fopen(file, "w");
        if (f) {
            fprintf(f, "import redan\n@redan.plugin\ndef f() -> int:\n    return %d\n", i);
            fclose(f);
        }
        rdn_plugin_reload(p, file, NULL, NULL);
        rdn_plugin_call(p, (uint32_t)i % 3, NULL, 0, 0, 0, &got);
    }
}

int main(int argc, char **argv) {
    static const char *const none[] = { "threading" };
    bool reloading = argc > 1 && !strcmp(argv[1], "reloading");
    char file[] = "redan-host-XXXXXX";
    struct rdn_plugins *ps;
    struct rdn_plugin *p;
    redan_error e = { 0 };
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .spare = reloading, .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0 };
    struct rdn_plugin_spec s = { .name = "f", .file = file, .ret = { .kind = RDN_WIRE_INT }, .lanes = 3, .grace_ms = 100, .time_cap_ns = 2000000000 };
    int fd = mkstemp(file);
    const char *text = text_of(argc > 1 && !reloading ? argv[1] : "idle");
    if (reloading) {
        s.preload = none;                               /* starts in a fifth of the time */
        s.npreload = 1;
    }
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return 2;
    int rc = rdn_plugins_open(&o, &ps, &e);
    if (rc == REDAN_E_NOSUP) {
        printf("skip: %s %s\n", e.id, e.text);
        return 77;
    }
    if (rc < 0 || rdn_plugin_open(ps, &s, &p, &e) < 0) {
        fprintf(stderr, "%s %s\n", e.id, e.text);
        return 2;
    }
    if (reloading)
        reload_for_ever(p, file);
    unlink(file);
    rdn_plugin_post(p, 0, NULL, 0, 1, 0, 0);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
