/* SPDX-License-Identifier: Apache-2.0
 * stateful_native.c: a native plugin that counts, in variants: what its save and load do wrong. Its answer is the count, and 1000 for
 * each time it was made active. */
#include <redan/plugin.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

REDAN_DECLARE("org.example.stateful", "1.0.0")

enum { GOOD, NO_LOAD, LOAD_FAILS, SAVE_FAILS, SAVES_TOO_MUCH, SAVE_LOOPS, NO_SAVE };
struct me { int64_t n, activated; bool active; const redan_host *host; };

static int create(const redan_host *h, const char *config, void **ret_self, redan_error *reterr) {
    struct me *m = calloc(1, sizeof *m);
    (void)config, (void)reterr;
    if (m)
        m->host = h;
    *ret_self = m;
    return !m;
}

static int activate(void *self, redan_error *reterr) {
    struct me *m = self;
    (void)reterr;
    m->active = true;
    m->activated++;
    return 0;
}

static void deactivate(void *self) { ((struct me *)self)->active = false; }

static int call(void *self, const redan_call *c) {
    struct me *m = self;
    for (uint32_t i = 0; i < c->nrows; i++)
        ((int64_t *)c->out)[i] = ++m->n + 1000 * m->activated;
    return 0;
}

static int save(void *self, void *buf, size_t cap, size_t *ret_len) {
    struct me *m = self;
    static volatile int zero;
    if (!m->active || cap != 1 << 20 || VARIANT == SAVE_FAILS) {
        m->host->error(m->host->ctx, "stateful.c", 7, "the books are open");
        return 1;
    }
    while (VARIANT == SAVE_LOOPS && !zero)
        ;
    memcpy(buf, &m->n, sizeof m->n);
    *ret_len = VARIANT == SAVES_TOO_MUCH ? cap + 1 : sizeof m->n;
    return 0;
}

static int load(void *self, const void *buf, size_t len, redan_error *reterr) {
    struct me *m = self;
    if (m->active || len != sizeof m->n || VARIANT == LOAD_FAILS) {
        strcpy(reterr->text, "another currency");
        return 1;
    }
    memcpy(&m->n, buf, len);
    return 0;
}

static const redan_fn fn = { sizeof fn, 0, "count(x: int) -> int", call };
static const redan_fn *const fns[] = { &fn, NULL };
static const redan_plugin_desc desc = { sizeof desc, REDAN_PLUGIN_ABI, "org.example.stateful", "1.0.0", fns, create, NULL, activate, deactivate, NULL,
                                        VARIANT == NO_SAVE ? NULL : save, VARIANT == NO_LOAD ? NULL : load, NULL };
REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t abi, uint32_t index) { return abi == REDAN_PLUGIN_ABI && index == 0 ? &desc : NULL; }
