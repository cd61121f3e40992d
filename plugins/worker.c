/* SPDX-License-Identifier: Apache-2.0
 * worker.c: one worker as the host holds it: its pages, its state, and its place in a lane. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "plugins/parts.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static bool may_move(enum rdn_wstate from, enum rdn_wstate to) {
#define TO(NAME) (1u << RDN_W_##NAME)
    static const uint32_t next[RDN_W_STATES] = {
#define STATE(NAME, to) [RDN_W_##NAME] = to,
#include "plugins/states.def"
#undef STATE
    };
#undef TO
    return next[from] >> to & 1;
}

bool rdn_work_move(struct rdn_work *w, enum rdn_wstate from, enum rdn_wstate to) {
    uint32_t was = from;
    return may_move(from, to) && atomic_compare_exchange_strong(&w->state, &was, (uint32_t)to);
}

void rdn_work_die(struct rdn_work *w) { atomic_store(&w->state, RDN_W_DEAD); }

static void *map(int fd, size_t bytes, int prot) {
    void *m = mmap(NULL, bytes, prot, MAP_SHARED | MAP_POPULATE, fd, 0);
    return m == MAP_FAILED ? NULL : m;
}

/* The host keeps the only writable mapping of req: it is made before the seal that forbids new ones. */
static int make_pages(struct rdn_work *w, redan_error *reterr) {
    w->req_fd = rdn_page_create("redan-req", w->req_bytes);
    w->res_fd = rdn_page_create("redan-res", w->res_bytes);
    if (w->req_fd < 0 || w->res_fd < 0)
        return rdn_fail_sys(reterr, "memfd_create");
    w->req = map(w->req_fd, w->req_bytes, PROT_READ | PROT_WRITE);
    w->res = map(w->res_fd, w->res_bytes, PROT_READ);
    if (!w->req || !w->res)
        return rdn_fail_sys(reterr, "mmap");
    if (rdn_page_seal(w->req_fd, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0 ||
        rdn_page_seal(w->res_fd, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        return rdn_fail_sys(reterr, "F_ADD_SEALS");
    return 0;
}

/* FNV-1a over what makes the numbers of a lane its own: the same on replay, different from its siblings. */
static uint64_t lane_seed(const struct rdn_gen *g, uint32_t lane) {
    uint64_t h = 0xcbf29ce484222325u, parts[] = { g->plugin->ps->opt.seed, g->number, lane };
    for (const char *p = g->plugin->name; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    for (size_t i = 0; i < sizeof parts; i++)
        h = (h ^ ((const unsigned char *)parts)[i]) * 0x100000001b3u;
    return h;
}

int rdn_work_new(struct rdn_gen *g, struct rdn_wlane *lane, struct rdn_work **ret, redan_error *reterr) {
    struct rdn_plugins *ps = g->plugin->ps;
    struct rdn_work *w = rdn_zalloc(ps->mem, sizeof *w);
    if (!w)
        return rdn_fail(reterr, NOMEM, "", "worker");
    w->req_fd = w->res_fd = w->pidfd = w->listener = -1;
    w->gen = g;
    w->lane = lane;
    w->req_bytes = g->req_bytes;
    w->res_bytes = g->res_bytes;
    g->nworks++;
    int rc = make_pages(w, reterr);
    if (rc < 0) {
        rdn_work_free(w);
        return rc;
    }
    w->req->lane = lane->index;
    w->req->seed = lane_seed(g, lane->index);
    w->req->spin_ns = g->plugin->spin_ns;
    atomic_store(&w->req->seq, 1u);
    atomic_store(&w->posted, 1u);
    w->token = ++ps->tokens;
    *ret = w;
    return 0;
}

void rdn_work_free(struct rdn_work *w) {
    int fds[] = { w->req_fd, w->res_fd, w->pidfd, w->listener };
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (w->req)
        munmap(w->req, w->req_bytes);
    if (w->res)
        munmap((void *)(uintptr_t)w->res, w->res_bytes);
    w->gen->nworks--;
    rdn_free(w->gen->plugin->ps->mem, w, sizeof *w);
}

void rdn_work_publish(struct rdn_work *w) { atomic_store(&w->lane->cur, w); }
