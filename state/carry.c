/* SPDX-License-Identifier: Apache-2.0
 * carry.c: a window's state over a hot swap (LANGUAGE.md chapter 13).
 *
 * The caller matched the structural hashes, so value, span and keys are the same; capacity, eviction and warm-up may differ and
 * are no part of a state. With equal capacity the two windows exchange their memory: O(1), whatever they hold. Otherwise keys
 * move one by one, in order of insertion, and the order of use is laid over them: O(keys). Both orders survive either way,
 * because the new window may evict by the one the old did not need. */
#include "state/window_impl.h"

static bool same_layout(const struct rdn_win *a, const struct rdn_win *b) {
    return a->ops == b->ops && a->tab.words == b->tab.words && a->tab.stride == b->tab.stride && a->state_bytes == b->state_bytes
           && a->over == b->over && a->slots == b->slots && a->vkind == b->vkind && a->scale == b->scale
           && a->half_life == b->half_life;
}

static void swap_memory(struct rdn_keytab *a, struct rdn_keytab *b) {
    struct rdn_keytab t = *a;
    *a = *b;
    *b = t;
}

/* In order of insertion, then every key is used once more in the old order of use. `to` is empty. */
static void copy_keys(struct rdn_keytab *to, const struct rdn_keytab *from) {
    for (uint32_t id = rdn_kt_next(&from->ins, RDN_KT_NONE); id != RDN_KT_NONE; id = rdn_kt_next(&from->ins, id)) {
        const uint64_t *key = rdn_keytab_key(from, id);
        uint32_t now = rdn_keytab_insert(to, key, rdn_key_hash(key, from->words));
        memcpy(rdn_keytab_state(to, now), rdn_keytab_state(from, id), from->state_bytes);
    }
    for (uint32_t id = rdn_kt_next(&from->lru, RDN_KT_NONE); id != RDN_KT_NONE; id = rdn_kt_next(&from->lru, id)) {
        const uint64_t *key = rdn_keytab_key(from, id);
        rdn_keytab_touch(to, rdn_keytab_find(to, key, rdn_key_hash(key, from->words)));
    }
}

bool rdn_win_copy(struct rdn_win *to, const struct rdn_win *from) {
    if (!same_layout(to, from) || from->tab.n > to->tab.cap)
        return false;
    rdn_keytab_clear(&to->tab);
    copy_keys(&to->tab, &from->tab);
    to->count = from->count;
    return true;
}

bool rdn_win_carry(struct rdn_win *to, struct rdn_win *from) {
    if (!same_layout(to, from))
        return false;
    if (to->tab.cap == from->tab.cap) {
        swap_memory(&to->tab, &from->tab);
        to->count = from->count;
    } else if (!rdn_win_copy(to, from)) {
        return false;
    }
    rdn_keytab_clear(&from->tab);
    from->count = (struct rdn_win_stats){ 0 };
    return true;
}
