/* SPDX-License-Identifier: Apache-2.0
 * x64v_rows.c: rows into columns, 4 rows a round: two neighbouring 8-byte fields by two loads, two inserts and an unpack each way,
 * what stands alone or is narrow by itself. Columns not read are not touched. Columns stand in the scratch, RDN_BATCH_MAX elements of
 * 8 bytes apart whatever their width.
 *
 * rdi block, r8-r11 the rows, rdx rcx rsi where elements of 8, 4 and 1 bytes go,
 * rax an element. */
#include "jit/exec.h"
#include "jit/x64v_gen.h"

static const uint8_t rows[4] = {X_R8, X_R9, X_R10, X_R11};
static int32_t place(uint32_t c) { return (int32_t)(c * 8 * RDN_BATCH_MAX); }
static uint32_t wide_at(const struct xv_gen *g, uint32_t offset) {
    for (uint32_t c = 0; c < g->cols.n; c++)
        if (g->cols.v[c].ext == XV_E64 && g->cols.v[c].source != XV_COL_NOW && g->cols.v[c].offset == offset)
            return c;
    return UINT32_MAX;
}
static void pair(struct xv_gen *g, uint32_t low, uint32_t high, uint32_t offset) {
    struct x64_buf *b = &g->b;
    int32_t o = (int32_t)offset;
    for (unsigned i = 0; i < 2; i++) {
        xx_load(b, i, x_at(rows[i], o));
        xy_insert(b, i, i, x_at(rows[i + 2], o));
    }
    xy_rr(b, XV_UNPCKLPD, 2, 0, 1);
    xy_store(b, x_at(X_RDX, place(rdn_fault(XV_ROWS_PAIR) ? high : low)), 2);
    xy_rr(b, XV_UNPCKHPD, 3, 0, 1);
    xy_store(b, x_at(X_RDX, place(high)), 3);
}
static void single(struct xv_gen *g, uint32_t c) {
    struct x64_buf *b = &g->b;
    const struct xv_col *k = &g->cols.v[c];
    for (unsigned i = 0; i < 4; i++) {
        struct x64_mem from = x_at(rows[i], (int32_t)k->offset);
        if (xv_elem((enum xv_ext)k->ext) == 8) {
            x_mov_rm(b, X_RAX, from);
            x_mov_mr(b, x_at(X_RDX, place(c) + 8 * (int32_t)i), X_RAX);
        } else if (xv_elem((enum xv_ext)k->ext) == 4) {
            x_mov32_rm(b, X_RAX, from);
            x_mov32_mr(b, x_at(X_RCX, place(c) + (rdn_fault(XV_ROWS_NARROW) ? 8 : 4) * (int32_t)i), X_RAX);
        } else {
            x_movzx8_rm(b, X_RAX, from);
            x_mov8_mr(b, x_at(X_RSI, place(c) + (int32_t)i), X_RAX);
        }
    }
}

uint32_t xv_emit_rows(struct xv_gen *g) {
    struct x64_buf *b = &g->b;
    uint64_t done = 0;
    while (x_pos(b) & 63 && !b->full) {
        x_start(b);
        x_b(b, 0xcc);
    }
    uint32_t at = x_pos(b), top;
    x_enter(b);
    x_mov_rm(b, X_RDX, x_at(X_RDI, offsetof(struct xv_block, scratch8)));
    x_mov_rm(b, X_RCX, x_at(X_RDI, offsetof(struct xv_block, scratch4)));
    x_mov_rm(b, X_RSI, x_at(X_RDI, offsetof(struct xv_block, scratch1)));
    x_mov_rm(b, X_RAX, x_at(X_RDI, offsetof(struct xv_block, stride4)));
    x_shr(b, X_RAX, 2);
    x_mov_rm(b, X_R8, x_at(X_RDI, offsetof(struct xv_block, rows)));
    for (unsigned i = 1; i < 4; i++) {
        x_mov_rr(b, rows[i], rows[i - 1]);
        if (!rdn_fault(XV_ROWS_STRIDE))
            x_alu_rr(b, X_ADD, rows[i], X_RAX);
    }
    top = x_pos(b);
    for (uint32_t c = 0; c < g->cols.n; c++) {
        const struct xv_col *k = &g->cols.v[c];
        if (k->source == XV_COL_NOW || (done >> c & 1))
            continue;
        uint32_t below = k->ext == XV_E64 && k->offset >= 8 ? wide_at(g, k->offset - 8) : UINT32_MAX;
        uint32_t above = k->ext == XV_E64 ? wide_at(g, k->offset + 8) : UINT32_MAX;
        if (below != UINT32_MAX && !(done >> below & 1)) {
            pair(g, below, c, k->offset - 8);
            done |= 1ull << below;
        } else if (above != UINT32_MAX && !(done >> above & 1)) {
            pair(g, c, above, k->offset);
            done |= 1ull << above;
        } else {
            single(g, c);
        }
        done |= 1ull << c;
    }
    for (unsigned i = 0; i < 4; i++)
        x_alu_rm(b, X_ADD, rows[i], x_at(X_RDI, offsetof(struct xv_block, stride4)));
    x_alu_ri(b, X_ADD, X_RDX, 32);
    x_alu_ri(b, X_ADD, X_RCX, 16);
    x_alu_ri(b, X_ADD, X_RSI, 4);
    x_add_mi(b, x_at(X_RDI, offsetof(struct xv_block, count)), -1);
    x_jcc_to(b, X_NE, top);
    x_vzeroupper(b);
    x_leave(b);
    return at;
}
