/* SPDX-License-Identifier: Apache-2.0
 * orders.c: the table of live orders (orders.h). */
#include "market/orders.h"

#include <sys/mman.h>
#include <redan/redan.h>

#include "base/fault.h"

void *rdn_market_reserve(size_t bytes) {
    void *p = rdn_fault_hit() ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void rdn_market_release(void *p, size_t bytes) {
    if (p)
        munmap(p, bytes);
}

int rdn_orders_open(struct rdn_orders *t, uint32_t max, bool by_instrument) {
    uint32_t slots = 64;
    while (slots < 2 * (uint64_t)max)
        slots *= 2;
    *t = (struct rdn_orders){ .mask = slots - 1, .max = max, .by_instrument = by_instrument, .bytes = slots * sizeof(struct rdn_order) };
    void *p = rdn_market_reserve(t->bytes);
    if (!p)
        return REDAN_E_NOMEM;
    (void)madvise(p, t->bytes, MADV_HUGEPAGE);            /* every order is a random access: fewer misses of the TLB */
    t->slots = p;
    return 0;
}

void rdn_orders_close(struct rdn_orders *t) {
    rdn_market_release(t->slots, t->bytes);
    *t = (struct rdn_orders){ 0 };
}

bool rdn_orders_add(struct rdn_orders *t, struct rdn_order o) {
    if (t->n >= t->max)
        return false;
    rdn_orders_put(t, rdn_orders_place(t, o.id, o.place >> 1), o);
    return true;
}

void rdn_orders_remove(struct rdn_orders *t, struct rdn_order *o) {
    uint32_t hole = (uint32_t)(o - t->slots);
    for (uint32_t i = (hole + 1) & t->mask; t->slots[i].qty; i = (i + 1) & t->mask) {
        uint32_t home = rdn_orders_home(t, t->slots[i].id, t->slots[i].place >> 1);
        if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
            t->slots[hole] = t->slots[i];
            hole = i;
        }
    }
    t->slots[hole].qty = 0;
    t->n--;
}

/* A removal moves later ones of its run into its place, which is looked at again. */
void rdn_orders_clear(struct rdn_orders *t, uint32_t instrument) {
    for (uint32_t i = 0; t->n && i <= t->mask;) {
        if (t->slots[i].qty && t->slots[i].place >> 1 == instrument)
            rdn_orders_remove(t, &t->slots[i]);
        else
            i++;
    }
}

void rdn_orders_clear_all(struct rdn_orders *t) {
    for (uint32_t i = 0; t->n && i <= t->mask; i++)
        if (t->slots[i].qty) {
            t->slots[i].qty = 0;
            t->n--;
        }
}
