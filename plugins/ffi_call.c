/* SPDX-License-Identifier: Apache-2.0
 * ffi_call.c: C functions that know nothing of Redan, declared by their signature: kind cfn. Only in redan-worker-native.so.
 *
 * One cif a function, made while loading. Scalars, fixed text (const char *, terminated copies are the plugin's business: the bytes
 * are zero padded, so a text of full width is not terminated and is refused), and const pointers to event rows. No varargs, no
 * structure by value, no callbacks: closures need executable memory (PLUGINS.md 8). */
#include "plugins/native_role.h"
#include <ffi.h>
#include <stdlib.h>
#include <string.h>

struct call {
    ffi_cif cif;
    ffi_type *types[16];
    void (*symbol)(void);
    const struct rdn_wfn *fn;
    const struct rdn_wcol *params;
};

static ffi_type *type_of(uint16_t kind) {
    switch ((enum rdn_wire_kind)kind) {
    case RDN_WIRE_BOOL: case RDN_WIRE_ENUM: return &ffi_type_uint8;
    case RDN_WIRE_INT: case RDN_WIRE_DEC: case RDN_WIRE_TIME: case RDN_WIRE_DUR: return &ffi_type_sint64;
    case RDN_WIRE_DATE: return &ffi_type_sint32;
    case RDN_WIRE_SYM: return &ffi_type_uint32;
    case RDN_WIRE_FLOAT: return &ffi_type_double;
    case RDN_WIRE_TEXT: case RDN_WIRE_EVENT: case RDN_WIRE_FARR: case RDN_WIRE_IARR: return &ffi_type_pointer;
    }
    return NULL;
}

void *rdn_ffi_prepare(const struct rdn_load *l, const struct rdn_wfn *fn, void (*symbol)(void)) {
    static struct call calls[RDN_MAX_FNS];
    static uint32_t ncalls;
    struct call *c = &calls[ncalls];
    ffi_type *ret = type_of(fn->ret_type);
    c->params = (const struct rdn_wcol *)((const char *)l + l->cols.off) + fn->first_col;
    c->fn = fn;
    c->symbol = symbol;
    for (uint32_t i = 0; i < fn->ncols; i++)
        c->types[i] = type_of(c->params[i].type);
    if (!ret || ret == &ffi_type_pointer || ncalls == RDN_MAX_FNS || ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, fn->ncols, ret, c->types) != FFI_OK) {
        rdn_native_error("SignatureError", "R4131 %s: a C function answers a number, a truth value or an enum", fn->name);
        return NULL;
    }
    ncalls++;
    return c;
}

static bool by_pointer(uint16_t kind) { return kind == RDN_WIRE_TEXT || kind >= RDN_WIRE_EVENT; }

void rdn_ffi_rows(void *ffi, const redan_call *rows) {
    struct call *c = ffi;
    const void *pointers[16];
    void *args[16];
    for (uint32_t row = 0; row < rows->nrows; row++) {
        union { ffi_arg small; int64_t i; double f; uint8_t bytes[16]; } ret = { .i = 0 };
        bool fits = true;
        for (uint32_t i = 0; i < rows->ncols; i++) {
            uint16_t width = c->params[i].width;
            const char *at = (const char *)rows->in[i].data + (size_t)width * row;
            pointers[i] = at;
            args[i] = by_pointer(c->params[i].type) ? (void *)&pointers[i] : (void *)(uintptr_t)at;
            fits = fits && (c->params[i].type != RDN_WIRE_TEXT || memchr(at, 0, width));
        }
        if (!fits) {
            rows->status[row] = RDN_ROW_BAD;
            continue;
        }
        ffi_call(&c->cif, c->symbol, &ret, args);
        memcpy((uint8_t *)rows->out + (size_t)c->fn->ret_width * row, &ret, c->fn->ret_width);   /* little endian: the low bytes */
    }
}
