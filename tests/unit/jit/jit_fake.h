/* SPDX-License-Identifier: Apache-2.0
 * jit_fake.h: a lane that is not there: windows, tables, lists and calendars answer with a function of the question, now and
 * then with nothing. And a random source. For tests of executors. */
#ifndef RDN_JIT_FAKE_H
#define RDN_JIT_FAKE_H
#include <math.h>
#include <string.h>
#include "base/hash.h"
#include "jit/exec.h"

struct fake { const struct rdn_ir *ir; struct rdn_cell row[16]; uint64_t salt; };

/* Draws come from a seed, or from bytes as far as they go (a fuzzer's) and are 0 behind them. */
static uint64_t fake_seed = 1;
static const uint8_t *fake_bytes, *fake_end;
static inline uint64_t fake_take(size_t n) {
    uint64_t v = 0;
    size_t left = (size_t)(fake_end - fake_bytes);
    memcpy(&v, fake_bytes, n < left ? n : left);
    fake_bytes += n < left ? n : left;
    return v;
}
static inline uint64_t rnd(void) { return fake_bytes ? fake_take(8) : rdn_mix64(fake_seed += 0x9e3779b97f4a7c15u); }
static inline uint32_t below(uint32_t n) { return (uint32_t)((fake_bytes ? fake_take(n > 256 ? 4 : 1) : rnd()) % n); }

static const int64_t edge_i64[] = {0, 1, -1, 2, -2, 7, 10, 100, 200, 1000, 99999, INT32_MAX, INT32_MIN, (1ll << 31), (1ll << 53) + 1, (1ll << 53) - 1,
                                   INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 1000000007, -3000000000, 9000000000000000};
static const double edge_f64[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1.0000000000000002, 0.9999999999999999, 4.9e-324, -4.9e-324, 2.2250738585072014e-308, 1e308,
                                  -1e308, 1e-300, 3.5, -2.5, 2.5, 123456.789, 9007199254740993.0, 9.3e18, INFINITY, -INFINITY, NAN};
#define N_OF(a) (sizeof(a) / sizeof *(a))

static inline int64_t any_i64(void) { return below(3) ? edge_i64[below(N_OF(edge_i64))] : (int64_t)((rnd() >> below(64)) * (below(2) ? 1 : UINT64_MAX)); }
/* rare: infinities and NaN come in one of 8 draws only, so that most conditions have a value */
static inline double any_f64(void) {
    uint32_t k = below(8) ? below(N_OF(edge_f64) - 3) : below(N_OF(edge_f64));
    return below(3) ? edge_f64[k] : (double)(int64_t)rnd() / 9.2e18 * 1000.0;
}

static inline void fake_cell(const struct rdn_type *t, uint64_t h, struct rdn_cell *ret) {
    memset(ret, 0, sizeof *ret);
    switch (rdn_cell_of(t)) {
    case RDN_TY_F64: ret->f = edge_f64[h % N_OF(edge_f64)]; break;
    case RDN_TY_B1: ret->i = h & 1; break;
    case RDN_TY_D64: case RDN_TY_W128: ret->d = edge_i64[h % N_OF(edge_i64)]; if (h >> 40 & 1) ret->d *= 1000; break;   /* now and then beyond 64 bits */
    case RDN_TY_STR: ret->t.p = "abc"; ret->t.len = h % 4; break;
    default: ret->i = t->kind == RDN_K_ENUM ? (int64_t)(h % t->n) : t->kind == RDN_K_SYM ? (int64_t)(h % 3) : edge_i64[h % N_OF(edge_i64)];
    }
}
static inline void fake_wread(void *lane, uint32_t w, const struct rdn_key *key, bool prev, struct rdn_cell *ret) {
    struct fake *k = lane;
    uint64_t h = rdn_mix64(rdn_fnv64(key->w, 8 * (size_t)key->words) ^ (w * 2 + prev) ^ k->salt);
    fake_cell(k->ir->windows[w].rtype, h >> 8, ret);
    if (key->absent || !(h & 7))
        ret->cause = RDN_CAUSE_COLD;
}
static inline const struct rdn_cell *fake_tread(void *lane, uint32_t t, const struct rdn_key *key) {
    struct fake *k = lane;
    uint64_t h = rdn_mix64(rdn_fnv64(key->w, 8 * (size_t)key->words) ^ (t + 77) ^ k->salt);
    if (key->absent || !(h & 7))
        return NULL;
    for (uint32_t i = 0; i < k->ir->tables[t].ncols && i < 16; i++) {
        fake_cell(k->ir->tables[t].cols[i].type, rdn_mix64(h + i), &k->row[i]);
        if (k->ir->tables[t].cols[i].type->kind == RDN_K_DEC)
            k->row[i].d = (int64_t)k->row[i].d;          /* tables hold decimals of 64 bits */
    }
    return k->row;
}
static inline bool fake_inlist(void *lane, uint32_t l, const struct rdn_cell *c) { (void)lane; return rdn_mix64((uint64_t)c->i + l) & 1; }
static inline bool fake_incal(void *lane, uint32_t c, int64_t now) { (void)lane; return rdn_mix64((uint64_t)now + c) & 1; }
static inline void fake_call(void *lane, uint32_t c, const struct rdn_cell *a, uint32_t n, const uint8_t *row, struct rdn_cell *ret) {
    (void)lane, (void)c, (void)a, (void)n, (void)row;
    memset(ret, 0, sizeof *ret);
    ret->cause = RDN_CAUSE_PLUGIN;
}
static const struct rdn_helpers fake_helpers = {.wread = fake_wread, .tread = fake_tread, .inlist = fake_inlist, .incal = fake_incal, .call = fake_call};

/* A valid row of an event; each optional field present half of the time. */
static inline void fake_row(const struct rdn_ir *ir, const struct rdn_event *ev, uint8_t *row) {
    uint64_t present = rnd();
    int64_t ts = 1700000000000000000 + (int64_t)(rnd() >> 8);
    memset(row, 0, ev->size);
    memcpy(row, &ts, 8);
    if (ev->has_present)
        memcpy(row + 8, &present, 8);
    for (uint32_t i = 0; i < ev->nfields; i++) {
        const struct rdn_field *f = &ev->fields[i];
        uint8_t *p = row + f->offset;
        int64_t v = below(2) ? any_i64() : (int64_t)below(100) - 20;
        int32_t d = (int32_t)v;
        uint32_t s = below(rdn_sym_count(ir->syms));
        double x = any_f64();
        switch ((enum rdn_kind)f->type->kind) {
        case RDN_K_BOOL: *p = v & 1; break;
        case RDN_K_ENUM: *p = (uint8_t)below(f->type->n); break;
        case RDN_K_FLOAT: memcpy(p, &x, 8); break;
        case RDN_K_DATE: memcpy(p, &d, 4); break;
        case RDN_K_SYM: memcpy(p, &s, 4); break;
        case RDN_K_STR: memset(p, 'a' + (int)below(2), below(3)); break;   /* none to two */
        default:
            if (f->size == 8)
                memcpy(p, &v, 8);
        }
    }
}
#endif
