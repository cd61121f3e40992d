/* SPDX-License-Identifier: Apache-2.0
 * bytes.h: integers out of bytes in a stated order, at any address. [any] */
#ifndef RDN_BYTES_H
#define RDN_BYTES_H
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bytes.h is for little-endian hosts"
#endif
static inline uint32_t rdn_le32(const void *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }
static inline uint64_t rdn_le64(const void *p) { uint64_t v; memcpy(&v, p, sizeof v); return v; }
static inline uint16_t rdn_be16(const void *p) { uint16_t v; memcpy(&v, p, sizeof v); return __builtin_bswap16(v); }
static inline uint32_t rdn_be32(const void *p) { return __builtin_bswap32(rdn_le32(p)); }
static inline uint64_t rdn_be64(const void *p) { return __builtin_bswap64(rdn_le64(p)); }
static inline uint64_t rdn_be48(const void *p) { return (uint64_t)rdn_be16(p) << 32 | rdn_be32((const char *)p + 2); }
static inline void rdn_put_be16(void *p, uint16_t v) { v = __builtin_bswap16(v); memcpy(p, &v, sizeof v); }
static inline void rdn_put_be32(void *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, sizeof v); }
static inline void rdn_put_be64(void *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, sizeof v); }
static inline void rdn_put_be48(void *p, uint64_t v) { rdn_put_be16(p, (uint16_t)(v >> 32)); rdn_put_be32((char *)p + 2, (uint32_t)v); }
#endif
