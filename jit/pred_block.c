/* SPDX-License-Identifier: Apache-2.0
 * pred_block.c: a predicate program over up to 512 events (pred.h). In parts that fit the first cache; tests of 64
 * events make a word of bits. Built once for each instruction set.
 *
 * Columns of 8-byte elements are read where they stand; what is narrower, or a row, is copied into columns first. */
#include "jit/pred.h"
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef const union rdn_pred_word *column;

/* ---- 64 tests as a word ---- */
#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX2__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
/* Columns are as aligned as their elements. */
typedef double floats __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t wholes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
#define F(x, j) (*(const floats *)(const void *)&(x)[j])
#define I(x, j) (*(const wholes *)(const void *)&(x)[j])

/* All ones or zero in each lane: 16 lanes as bits. */
static inline __attribute__((always_inline)) uint64_t bits16(const wholes *m) {
#if defined(__AVX512DQ__)
    return _mm512_movepi64_mask((__m512i)m[0]) | (uint64_t)_mm512_movepi64_mask((__m512i)m[1]) << 8;
#elif defined(__AVX2__)
    uint64_t r = 0;
    for (unsigned i = 0; i < 4; i++)
        r |= (uint64_t)(unsigned)_mm256_movemask_pd((__m256d)m[i]) << 4 * i;
    return r;
#elif defined(__SSE2__)
    __m128i h[4];
    for (unsigned i = 0; i < 4; i++)                     /* one half of each mask is enough */
        h[i] = _mm_castps_si128(_mm_shuffle_ps((__m128)m[2 * i], (__m128)m[2 * i + 1], 0x88));
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(h[0], h[1]), _mm_packs_epi32(h[2], h[3])));
#else
    uint64_t r = 0;
    for (unsigned i = 0; i < 16; i++)
        r |= (uint64_t)(m[i / LANES][i % LANES] & 1) << i;
    return r;
#endif
}
/* ret: bit j of the test's lanes at j. */
#define WORD(ret, test)                                                     \
    do {                                                                    \
        uint64_t r_ = 0;                                                    \
        for (unsigned g_ = 0; g_ < 64; g_ += 16) {                          \
            wholes m_[16 / LANES];                                          \
            for (unsigned l_ = 0; l_ < 16 / LANES; l_++) {                  \
                unsigned j = g_ + l_ * LANES;                               \
                m_[l_] = (wholes)(test);                                    \
            }                                                               \
            r_ |= bits16(m_) << g_;                                         \
        }                                                                   \
        (ret) = r_;                                                         \
    } while (0)

/* ---- predicates ---- */
#define EACH(op, places, test)                                              \
    case op:                                                                \
        for (uint32_t i = 0; i < s->n; i++)                                 \
            for (uint32_t w = 0; w < words; w++) {                          \
                if (!all[s->guard[i]][w]) {                                 \
                    t[i][w] = 0;                                            \
                    continue;                                               \
                }                                                           \
                places                                                      \
                WORD(t[i][w], test);                                        \
            }                                                               \
        return;
#define EACH4(prefix, places, left, right)                                  \
    EACH(prefix##LT, places, left < right)                                  \
    EACH(prefix##LE, places, left <= right)                                 \
    EACH(prefix##EQ, places, left == right)                                 \
    EACH(prefix##NE, places, left != right)
#define EACH6(prefix, places, left, right)                                  \
    EACH4(prefix, places, left, right)                                      \
    EACH(prefix##GT, places, left > right)                                  \
    EACH(prefix##GE, places, left >= right)
#define X column x = v[s->a[i]] + 64 * w;
#define XY X column y = v[s->b[i]] + 64 * w;
#define KL const double k = s->k[i].f; const double l = s->l[i].f;

static void against_constants(const struct rdn_pred_step *s, const column *v, uint64_t (*all)[RDN_BLOCK_WORDS], uint32_t words) {
    uint64_t (*t)[RDN_BLOCK_WORDS] = all + s->out;
    switch (s->kind) {
    EACH6(RDN_PRED_FX_, X const double c = s->c[i].f;, F(x, j), c)
    EACH6(RDN_PRED_IX_, X const int64_t c = s->c[i].i;, I(x, j), c)
    }
}
static void of_two(const struct rdn_pred_step *s, const column *v, uint64_t (*all)[RDN_BLOCK_WORDS], uint32_t words) {
    uint64_t (*t)[RDN_BLOCK_WORDS] = all + s->out;
    switch (s->kind) {
    EACH4(RDN_PRED_L_, XY KL const double c = s->c[i].f;, F(x, j) * k + F(y, j) * l, c)
    EACH4(RDN_PRED_P_, XY KL, F(x, j) * k, F(y, j) * l)
    EACH4(RDN_PRED_II_, XY, I(x, j), I(y, j))
    }
}

/* ---- junctions ---- */
static void join(const struct rdn_pred_step *s, uint64_t (*t)[RDN_BLOCK_WORDS], uint32_t width) {
    bool is_and = s->kind <= RDN_PRED_ANDN;
    const uint32_t *a = s->a;
    for (uint32_t i = 0; i < s->n; i++, a += width) {
        uint64_t x[RDN_BLOCK_WORDS];
        memcpy(x, t[a[0]], sizeof x);
        for (uint32_t k = 1; k < width; k++)
            for (unsigned w = 0; w < RDN_BLOCK_WORDS; w++)
                x[w] = is_and ? x[w] & t[a[k]][w] : x[w] | t[a[k]][w];
        memcpy(t[s->b[i]], x, sizeof x);
    }
}
static uint32_t width_of(const struct rdn_pred_step *s) {
    if (s->kind == RDN_PRED_ANDN || s->kind == RDN_PRED_ORN)
        return s->cell;
    return s->kind >= RDN_PRED_OR2 ? s->kind - RDN_PRED_OR2 + 2u : s->kind - RDN_PRED_AND1 + 1u;
}

/* ---- operations ---- */
static uint64_t wrap(int64_t v) { return (uint64_t)v; }
static int64_t divided(int64_t a, int64_t b, bool rest) { return b == 0 || b == -1 ? 0 : rest ? a % b : a / b; }   /* those are marked */
static int64_t truncated(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : 0; }
static bool product_leaves(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r);
}

#define FLOAT(op, value) case RDN_PC_##op: for (uint32_t j = 0; j < n; j++) r[j].f = (value); break;
static void float_op(const struct rdn_pred_op *o, struct rdn_pred_block *b, uint32_t n) {
    union rdn_pred_word *restrict r = b->own[o->dst].v;
    column a = b->v[o->a], x = b->v[o->b];
    switch (o->code) {
    FLOAT(F_ADD, a[j].f + x[j].f)
    FLOAT(F_SUB, a[j].f - x[j].f)
    FLOAT(F_MUL, a[j].f * x[j].f)
    FLOAT(F_DIV, a[j].f / x[j].f)
    FLOAT(F_NEG, -a[j].f)
    FLOAT(F_ABS, fabs(a[j].f))
    FLOAT(F_SQRT, sqrt(a[j].f))
    FLOAT(F_FLOOR, floor(a[j].f))
    FLOAT(F_CEIL, ceil(a[j].f))
    FLOAT(F_TRUNC, trunc(a[j].f))
    FLOAT(F_MIN, x[j].f < a[j].f ? x[j].f : a[j].f)
    FLOAT(F_MAX, x[j].f > a[j].f ? x[j].f : a[j].f)
    FLOAT(F_OFI, (double)a[j].i / o->k.f)
    }
}
/* Without a result: NaN. */
static void mark_nan(struct rdn_pred_block *b, column r, uint32_t words) {
    for (uint32_t w = 0; w < words; w++, r += 64) {
        uint64_t bad;
        WORD(bad, F(r, j) != F(r, j));
        b->bad[w] |= bad;
    }
}
/* fails: why there is no result */
#define WHOLE(op, value, fails)                                             \
    case RDN_PC_##op:                                                       \
        for (uint32_t w = 0; w < words; w++) {                              \
            uint64_t bad = 0;                                               \
            for (unsigned j = 0; j < 64; j++) {                             \
                int64_t p = a[64 * w + j].i, q = x[64 * w + j].i, v = (int64_t)(value); \
                (void)p, (void)q;                                           \
                r[64 * w + j].i = v;                                        \
                bad |= (uint64_t)(fails) << j;                              \
            }                                                               \
            if (o->check)                                                   \
                b->bad[w] |= bad;                                           \
        }                                                                   \
        break;
static void whole_op(const struct rdn_pred_op *o, struct rdn_pred_block *b, uint32_t words) {
    union rdn_pred_word *restrict r = b->own[o->dst].v;
    column a = b->v[o->a], x = b->v[o->b];
    switch (o->code) {
    WHOLE(I_ADD, wrap(p) + wrap(q), ((p ^ v) & (q ^ v)) < 0)
    WHOLE(I_SUB, wrap(p) - wrap(q), ((p ^ q) & (p ^ v)) < 0)
    WHOLE(I_MUL, wrap(p) * wrap(q), product_leaves(p, q))
    WHOLE(I_SCALE, wrap(p) * wrap(o->k.i), product_leaves(p, o->k.i))
    WHOLE(I_DIV, divided(p, q, false), q == 0 || q == -1)
    WHOLE(I_MOD, divided(p, q, true), q == 0 || q == -1)
    WHOLE(I_NEG, 0 - wrap(p), p == INT64_MIN)
    WHOLE(I_ABS, p < 0 ? 0 - wrap(p) : wrap(p), p == INT64_MIN)
    WHOLE(I_MIN, q < p ? q : p, 0)
    WHOLE(I_MAX, q > p ? q : p, 0)
    WHOLE(I_AND, p & q, 0)
    WHOLE(I_OR, p | q, 0)
    WHOLE(I_XOR, p ^ q, 0)
    WHOLE(I_NOT, ~p, 0)
    WHOLE(I_OFF, truncated(a[64 * w + j].f), !(a[64 * w + j].f >= -0x1p63 && a[64 * w + j].f < 0x1p63))
    }
}
/* Between truth values and numbers. */
static void mixed_op(const struct rdn_pred_op *o, struct rdn_pred_block *b, uint32_t words) {
    const uint64_t *c = b->t[o->a];
    for (uint32_t w = 0; w < words; w++)
        for (unsigned j = 0; j < 64; j++) {
            uint32_t at = 64 * w + j;
            bool yes = c[w] >> j & 1;
            if (o->code == RDN_PC_I_OFB)
                b->own[o->dst].v[at].i = yes;
            else
                b->own[o->dst].v[at] = yes ? b->v[o->b][at] : b->v[o->c][at];
        }
}
static void truth_op(const struct rdn_pred_op *o, struct rdn_pred_block *b, uint32_t words) {
    for (uint32_t w = 0; w < words; w++) {
        uint64_t *r = &b->t[o->dst][w];
        if (o->code == RDN_PC_B_OFI) {
            column x = b->v[o->a] + 64 * w;
            WORD(*r, I(x, j) != 0);
            continue;
        }
        uint64_t p = b->t[o->a][w];
        if (o->code == RDN_PC_B_NOT)
            *r = ~p;
        else if (o->code == RDN_PC_B_EQ)
            *r = ~(p ^ b->t[o->b][w]);
        else
            *r = (p & b->t[o->b][w]) | (~p & b->t[o->c][w]);
    }
}
static void run_op(const struct rdn_pred_op *o, struct rdn_pred_block *b, uint32_t words) {
    switch ((enum rdn_pred_code)o->code) {
    case RDN_PC_F_SEL: case RDN_PC_I_SEL: case RDN_PC_I_OFB: mixed_op(o, b, words); break;
    case RDN_PC_B_OFI: case RDN_PC_B_NOT: case RDN_PC_B_EQ: case RDN_PC_B_SEL: truth_op(o, b, words); break;
    case RDN_PC_I_ADD: case RDN_PC_I_SUB: case RDN_PC_I_MUL: case RDN_PC_I_SCALE: case RDN_PC_I_DIV: case RDN_PC_I_MOD: case RDN_PC_I_NEG:
    case RDN_PC_I_ABS: case RDN_PC_I_MIN: case RDN_PC_I_MAX: case RDN_PC_I_AND: case RDN_PC_I_OR: case RDN_PC_I_XOR: case RDN_PC_I_NOT:
    case RDN_PC_I_OFF:
        whole_op(o, b, words);
        break;
    case RDN_PC_F_ADD: case RDN_PC_F_SUB: case RDN_PC_F_MUL: case RDN_PC_F_DIV: case RDN_PC_F_NEG: case RDN_PC_F_ABS: case RDN_PC_F_SQRT:
    case RDN_PC_F_FLOOR: case RDN_PC_F_CEIL: case RDN_PC_F_TRUNC: case RDN_PC_F_MIN: case RDN_PC_F_MAX: case RDN_PC_F_OFI:
        float_op(o, b, 64 * words);
        if (o->check)
            mark_nan(b, b->own[o->dst].v, words);
        break;
    case RDN_PC_F_OFW: case RDN_PC_W_OFI: case RDN_PC_W_ADD: case RDN_PC_W_SUB: case RDN_PC_W_MUL: case RDN_PC_W_SCALE: case RDN_PC_W_MOD:
    case RDN_PC_W_NEG: case RDN_PC_W_ABS: case RDN_PC_W_MIN: case RDN_PC_W_MAX: case RDN_PC_W_SEL: case RDN_PC_COUNT:
        break;                                           /* not in blocks */
    }
}

/* ---- inputs ---- */
static int64_t element(const uint8_t *p, unsigned load) {
    int64_t v;
    int32_t d;
    uint32_t u;
    switch (load) {
    case RDN_LOAD_U8: return *p;
    case RDN_LOAD_U32: memcpy(&u, p, 4); return u;
    case RDN_LOAD_I32: memcpy(&d, p, 4); return d;
    default: memcpy(&v, p, 8); return v;
    }
}
static void copy_elements(const struct rdn_pred_input *in, const uint8_t *from, size_t stride, uint32_t n, union rdn_pred_word *to) {
    switch (in->load) {                                  /* a loop each, so that none has a switch in it */
    case RDN_LOAD_64: for (uint32_t i = 0; i < n; i++) to[i].i = element(from + i * stride, RDN_LOAD_64); break;
    case RDN_LOAD_U32: for (uint32_t i = 0; i < n; i++) to[i].i = element(from + i * stride, RDN_LOAD_U32); break;
    case RDN_LOAD_I32: for (uint32_t i = 0; i < n; i++) to[i].i = element(from + i * stride, RDN_LOAD_I32); break;
    default: for (uint32_t i = 0; i < n; i++) to[i].i = element(from + i * stride, RDN_LOAD_U8);
    }
}
/* Events [at, at + n) of a batch. */
struct part { const struct rdn_batch *b; uint32_t at, n; };
static void input_column(const struct rdn_pred_input *in, struct rdn_pred_block *b, const struct part *p) {
    static const uint8_t sizes[] = {[RDN_LOAD_SLOW] = 8, [RDN_LOAD_64] = 8, [RDN_LOAD_U32] = 4, [RDN_LOAD_I32] = 4, [RDN_LOAD_U8] = 1};
    const uint8_t *from = in->load == RDN_LOAD_SLOW ? (const uint8_t *)p->b->now : p->b->rows ? NULL : p->b->columns[in->column];
    union rdn_pred_word *own = b->own[in->cell].v;
    size_t size = sizes[in->load];
    b->v[in->cell] = own;
    if (in->is_param || !from)
        return;
    from += p->at * size;
    if (size == 8 && (uintptr_t)from % 8 == 0 && p->n % 64 == 0)
        b->v[in->cell] = (column)(const void *)from;
    else if (size == 8)
        memcpy(own, from, 8 * (size_t)p->n);
    else
        copy_elements(in, from, size, p->n, own);
}
/* 64 rows at a time stay in the first cache while each input takes its own. */
static void turn_rows(const struct rdn_pred_input *in, uint32_t nin, struct rdn_pred_block *b, const struct part *p) {
    for (uint32_t at = 0; at < p->n; at += 64)
        for (uint32_t i = 0; i < nin; i++)
            if (in[i].load != RDN_LOAD_SLOW)
                copy_elements(&in[i], p->b->rows + (p->at + at) * p->b->stride + in[i].at, p->b->stride, p->n - at < 64 ? p->n - at : 64,
                              b->own[in[i].cell].v + at);
}
static void mark_not_finite(const struct rdn_pred_input *in, uint32_t nin, struct rdn_pred_block *b, uint32_t words) {
    for (uint32_t i = 0; i < nin; i++)
        for (uint32_t w = 0; in[i].is_float && w < words; w++) {
            column x = b->v[in[i].cell] + 64 * w;
            uint64_t bad;
            WORD(bad, F(x, j) - F(x, j) != 0);
            b->bad[w] |= bad;
        }
}

/* ---- answers ---- */
/* Bit j of row i becomes bit i of row j. */
static void turn_bits(uint64_t *m) {
    uint64_t mask = 0x00000000ffffffffu;
    for (unsigned j = 32; j; j >>= 1, mask ^= mask << j)
        for (unsigned k = 0; k < 64; k = (k + j + 1) & ~j) {
            uint64_t x = (m[k] >> j ^ m[k + j]) & mask;
            m[k] ^= x << j;
            m[k + j] ^= x;
        }
}
static void answer(const struct rdn_preds *p, const struct rdn_pred_block *b, const struct part *part, uint32_t w) {
    uint32_t n = part->n - 64 * w < 64 ? part->n - 64 * w : 64, words = p->plan->words, at = part->at + 64 * w;
    for (uint32_t rw = 0; rw < words; rw++) {
        uint64_t m[64], any = 0;
        for (unsigned i = 0; i < 64; i++)
            any |= m[i] = b->t[p->rules + 64 * rw + i][w];
        if (any)                                         /* else all are 0, turned or not */
            turn_bits(m);
        for (uint32_t j = 0; j < n; j++)
            part->b->fired[(size_t)(at + j) * words + rw] = m[j];
    }
    for (uint32_t j = 0; j < n; j++)
        part->b->mark[at + j] |= b->bad[w] >> j & 1;
}

static void run_part(const struct rdn_preds *p, struct rdn_pred_block *b, const struct part *part) {
    uint32_t words = (part->n + 63) / 64;
    memset(b->bad, 0, sizeof b->bad);
    for (uint32_t i = 0; i < p->nwords; i++)
        input_column(&p->words[i], b, part);
    for (uint32_t i = 0; i < p->ninputs; i++)
        input_column(&p->inputs[i], b, part);
    if (part->b->rows) {
        turn_rows(p->words, p->nwords, b, part);
        turn_rows(p->inputs, p->ninputs, b, part);
    }
    mark_not_finite(p->words, p->nwords, b, words);
    mark_not_finite(p->inputs, p->ninputs, b, words);
    for (const struct rdn_pred_step *s = p->steps, *end = s + p->nsteps; s < end; s++) {
        if (s->kind == RDN_PRED_OPS)
            for (uint32_t i = 0; i < s->n; i++)
                run_op(&s->ops[i], b, words);
        else if (s->kind <= RDN_PRED_IX_NE)
            against_constants(s, b->v, b->t, words);
        else if (s->kind < RDN_PRED_AND1)
            of_two(s, b->v, b->t, words);
        else
            join(s, b->t, width_of(s));
    }
    for (uint32_t w = 0; w < words; w++)
        answer(p, b, part, w);
}

void RDN_PRED_BLOCK(const struct rdn_preds *p, struct rdn_pred_block *b, const struct rdn_batch *batch);
void RDN_PRED_BLOCK(const struct rdn_preds *p, struct rdn_pred_block *b, const struct rdn_batch *batch) {
    for (uint32_t at = 0; at < batch->n; at += RDN_BLOCK_EVENTS) {
        struct part part = {batch, at, batch->n - at < RDN_BLOCK_EVENTS ? batch->n - at : RDN_BLOCK_EVENTS};
        run_part(p, b, &part);
    }
}
