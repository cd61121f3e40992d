/* SPDX-License-Identifier: Apache-2.0
 * py_alloc.c: counts what the interpreter takes, for `peak` in messages and status. Not a cap: C code and NumPy do not come
 * this way, the kernel's limits do that. Counts from the fork on; one thread. */
#include "plugins/py_role.h"
#include <malloc.h>

static PyObjectArenaAllocator arenas;
static PyMemAllocatorEx raw;
static uint64_t live, peak;

static void add(size_t n) {
    live += n;
    peak = live > peak ? live : peak;
}

static void drop(size_t n) { live = live > n ? live - n : 0; }        /* memory from before the fork may be freed after it */

static void *arena_alloc(void *ctx, size_t n) {
    void *p = arenas.alloc(arenas.ctx, n);
    (void)ctx;
    if (p)
        add(n);
    return p;
}

static void arena_free(void *ctx, void *p, size_t n) {
    (void)ctx;
    drop(n);
    arenas.free(arenas.ctx, p, n);
}

static void *counted(void *p) {
    if (p)
        add(malloc_usable_size(p));
    return p;
}

static void *raw_malloc(void *ctx, size_t n) { (void)ctx; return counted(raw.malloc(raw.ctx, n)); }
static void *raw_calloc(void *ctx, size_t n, size_t size) { (void)ctx; return counted(raw.calloc(raw.ctx, n, size)); }

static void *raw_realloc(void *ctx, void *old, size_t n) {
    (void)ctx;
    size_t was = old ? malloc_usable_size(old) : 0;
    void *p = raw.realloc(raw.ctx, old, n);
    if (p)
        drop(was);
    return counted(p);
}

static void raw_free(void *ctx, void *p) {
    (void)ctx;
    if (p)
        drop(malloc_usable_size(p));
    raw.free(raw.ctx, p);
}

/* Large objects of all domains end in the raw allocator or in arenas, so two hooks see everything of the interpreter. */
void rdn_py_alloc_hook(void) {
    PyObject_GetArenaAllocator(&arenas);
    PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
    PyObjectArenaAllocator a = { NULL, arena_alloc, arena_free };
    PyMemAllocatorEx r = { NULL, raw_malloc, raw_calloc, raw_realloc, raw_free };
    PyObject_SetArenaAllocator(&a);
    PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &r);
}

void rdn_py_alloc_begin(void) { live = peak = 0; }

void rdn_py_alloc_report(struct rdn_res *r) {
    r->live_bytes = live;
    r->peak_bytes = peak;
}
