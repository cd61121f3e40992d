/* SPDX-License-Identifier: Apache-2.0
 * hash.h: the hash functions the language fixes (LANGUAGE.md 5, 9, 10.8). */
#ifndef RDN_HASH_H
#define RDN_HASH_H
#include <stddef.h>
#include <stdint.h>

#define RDN_FNV64_INIT 0xcbf29ce484222325u
static inline uint64_t rdn_fnv64_more(uint64_t h, const void *data, size_t len) {
    const unsigned char *p = data;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}
static inline uint64_t rdn_fnv64(const void *data, size_t len) { return rdn_fnv64_more(RDN_FNV64_INIT, data, len); }

static inline uint32_t rdn_fnv32(const void *data, size_t len) {
    const unsigned char *p = data;
    uint32_t h = 0x811c9dc5u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x01000193u;
    return h;
}

static inline uint64_t rdn_mix64(uint64_t x) {
    uint64_t z = x + 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
#endif
