/* SPDX-License-Identifier: Apache-2.0
 * window_impl.h: what the window files share. Private to state/.
 *
 * A row of rdn_win_ops is one aggregate over one kind of span and one class of values; it sees one key's state as raw memory
 * whose layout it chose itself. Everything is relative to a state's start, so states may be copied and moved freely. */
#ifndef RDN_WINDOW_IMPL_H
#define RDN_WINDOW_IMPL_H
#include "state/keytab.h"
#include "state/window.h"

struct rdn_word { int64_t v; uint64_t cause; };          /* in two registers */
#define RDN_WORD_WIDE 255u                               /* .cause: a value, but not of 64 bits */
struct rdn_win_ops {
    void (*layout)(struct rdn_win *);                    /* sets state_bytes and the offsets it needs */
    void (*init)(struct rdn_win *, void *st, int64_t now);
    void (*update)(struct rdn_win *, void *st, int64_t now, const struct rdn_cell *val, int64_t span);
    void (*read)(struct rdn_win *, void *st, int64_t now, struct rdn_cell *ret);
    struct rdn_word (*word)(struct rdn_win *, void *st, int64_t now);   /* what read answers, as rdn_win_word_of says */
    bool (*dead)(struct rdn_win *, const void *st, int64_t now);   /* nothing of the key can count any more; NULL: never */
};
struct rdn_win {
    const struct rdn_win_ops *ops;
    struct rdn_keytab tab;
    const struct rdn_window *def;
    const struct rdn_syms *syms;
    const struct rdn_mem *mem;
    size_t state_bytes;
    uint64_t over;                                       /* width in ns, 0: none */
    uint32_t slots;                                      /* pane slots (P + 1), ring slots, or hashes of the exact stage */
    uint32_t vsize;                                      /* bytes of a stored value */
    uint32_t off[4];                                     /* of the arrays in a state; each file names its own */
    uint32_t mask;                                       /* of a small index inside the state */
    uint8_t vkind, scale;                                /* of the value */
    bool rdec;                                           /* the result is a decimal: .d */
    bool half_life;
    uint32_t warmup;
    double pow10;                                        /* 10^scale */
    uint64_t secret;                                     /* odd; spreads hashes over the small indices */
    struct { uint64_t width, lo; int64_t q; } pane, coarse;   /* width; start and index of the pane used last */
    struct rdn_win_stats count;
};

extern const struct rdn_win_ops *rdn_pane_ops(const struct rdn_window *);
extern const struct rdn_win_ops *rdn_ring_ops(const struct rdn_window *);
extern const struct rdn_win_ops *rdn_all_ops(const struct rdn_window *);
extern const struct rdn_win_ops *rdn_distinct_ops(const struct rdn_window *);

/* Classes of values: how they are kept and compared. */
enum rdn_vclass { RDN_VC_FLOAT, RDN_VC_INT, RDN_VC_TEXT };
static inline enum rdn_vclass rdn_vclass_of(const struct rdn_type *t) {
    return !t || (t->kind != RDN_K_FLOAT && t->kind != RDN_K_STR) ? RDN_VC_INT
           : t->kind == RDN_K_STR                                 ? RDN_VC_TEXT
                                                                  : RDN_VC_FLOAT;
}

/* A 128-bit sum without the alignment of __int128. */
struct rdn_wide { uint64_t lo; int64_t hi; };
static inline rdn_i128 rdn_wide_get(struct rdn_wide w) { return (rdn_i128)((rdn_u128)(uint64_t)w.hi << 64 | w.lo); }
static inline struct rdn_wide rdn_wide_of(rdn_i128 v) { return (struct rdn_wide){ (uint64_t)v, (int64_t)(v >> 64) }; }

/* A stored decimal fits its low word. */
static inline int64_t rdn_win_int(const struct rdn_cell *c) { return c->i; }
/* int and dec become double on entry (10.5). */
static inline double rdn_win_float(const struct rdn_win *w, const struct rdn_cell *c) {
    if (w->vkind == RDN_K_FLOAT)
        return c->f;
    if (w->vkind == RDN_K_INT)
        return (double)c->i;
    return (double)c->i / w->pow10;                      /* float(dec) of a stored mantissa */
}
/* int and dur sums, and every delta, are undefined outside int64; sums of decimals keep 128 bits. */
static inline void rdn_win_put_wide(const struct rdn_win *w, struct rdn_cell *ret, rdn_i128 v) {
    if (w->rdec)
        ret->d = v;
    else if (rdn_fits_i64(v))
        ret->i = (int64_t)v;
    else
        ret->cause = RDN_CAUSE_OVERFLOW;
}
static inline void rdn_win_put_delta(struct rdn_cell *ret, int64_t first, int64_t last) {
    int64_t v;
    if (__builtin_sub_overflow(last, first, &v))
        ret->cause = RDN_CAUSE_OVERFLOW;
    else
        ret->d = v;                                      /* and .i */
}
static inline double rdn_win_avg(const struct rdn_win *w, rdn_i128 s, uint64_t n) {
    return (w->vkind == RDN_K_DEC ? rdn_dec_to_f64(s, w->scale) : rdn_i128_to_f64(s)) / (double)n;
}
/* The low word is all of an integer, a double or a decimal of 64 bits. */
static inline struct rdn_word rdn_win_word_of(const struct rdn_win *w, const struct rdn_cell *c) {
    if (c->cause)
        return (struct rdn_word){ 0, c->cause };
    return (struct rdn_word){ c->i, w->rdec && !rdn_fits_i64(c->d) ? RDN_WORD_WIDE : RDN_DEFINED };
}
/* stddev, or zscore of the last value. */
void rdn_win_spread(const struct rdn_win *, struct rdn_cell *ret, double mean, double m2, uint64_t n, double last);

/* Kept values: 8 bytes of an integer or a double, or for str(n) the length and the bytes. */
void rdn_win_keep(const struct rdn_win *, void *slot, const struct rdn_cell *);
static inline uint32_t rdn_win_vsize(const struct rdn_type *t) {
    return t && t->kind == RDN_K_STR ? 4 + (t->n + 3u) / 4 * 4 : 8;
}
static inline int64_t rdn_load_i64(const void *p) { int64_t v; memcpy(&v, p, sizeof v); return v; }
static inline double rdn_load_f64(const void *p) { double v; memcpy(&v, p, sizeof v); return v; }
static inline void rdn_win_put_kept(const struct rdn_win *w, struct rdn_cell *ret, const void *slot) {
    if (__builtin_expect(w->vkind == RDN_K_STR, 0)) {
        memcpy(&ret->t.len, slot, 4);
        ret->t.p = (const char *)slot + 4;
    } else {
        ret->d = rdn_load_i64(slot);                     /* a double's bits, too */
    }
}

/* Pane of a time, floor(now / width), remembering the pane used last: a division costs more than the rest of an update. */
#define RDN_PANE_OF(cache, now)                                                                     \
    ((uint64_t)(now) - (cache).lo < (cache).width                                                   \
         ? (cache).q                                                                                \
         : ((cache).q = rdn_floor_div((now), (cache).width), (cache).lo = (uint64_t)(cache).q * (cache).width, (cache).q))
static inline int64_t rdn_floor_div(int64_t t, uint64_t width) {
    if (t >= 0)
        return (int64_t)((uint64_t)t / width);
    return -(int64_t)((~(uint64_t)t) / width) - 1;       /* ~t = -t - 1 >= 0 */
}
static inline uint32_t rdn_round8(size_t n) { return (uint32_t)((n + 7) / 8 * 8); }
/* Slots of a power of two for `n` entries in a small index. */
static inline uint32_t rdn_small_index(uint32_t n) {
    uint32_t m = 4;
    while (m < n + n / 2)
        m *= 2;
    return m;
}
#endif
