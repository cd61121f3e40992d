/* SPDX-License-Identifier: Apache-2.0
 * fuzz_event.c: any bytes as a line of events or control (LANGUAGE.md 17.1). A row that is read is valid; and a row of any bytes
 * is either refused or judged without a fault. */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "dsl/dsl.h"
#include "host/line.h"

static const char rules[] =
    "ruleset fuzz version 1\n  undefined reject U\n"
    "event All { b: bool  i: int  f: float  d: dec(4)  t: time  u: dur  y: date  s: sym  c: str(5)  e: enum(buy,sell)\n"
    "            v: float[3]  w: int[2,2]  ob: bool?  oi: int?  od: dec(9)?  os: sym?  oc: str(256)? }\n"
    "event Other { s: sym }\n"
    "param p: int = 3 in 1..9\nparam q: float = 0.5\nparam z: dec(2) = 1.00\n"
    "table lim by s: sym, e: enum(buy,sell) { n: dec(2) m: int } from host keys 4\n"
    "rule r on All { when i > p  reject BIG }\n";

static struct rdn_arena arena;
static struct rdn_syms *syms;
static struct rdn_line_reader *reader;
static struct rdn_ir *ir;

static void must(bool ok) {
    if (!ok)
        abort();
}

static void compile(const char *text) {
    struct rdn_dsl_result res;
    redan_error e;
    rdn_arena_init(&arena, &rdn_libc_mem);
    must(rdn_dsl_compile(&arena, syms, text, strlen(text), &(struct rdn_dsl_options){0}, &res, &e) == 0);
    for (uint32_t i = 0; i < res.ndiags && !res.ir; i++)
        fprintf(stderr, "%s %u:%u %s\n", res.diags[i].code, res.diags[i].line, res.diags[i].col, res.diags[i].text);
    must(res.ir != NULL);
    ir = res.ir;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    must(rdn_syms_open(&syms, &rdn_libc_mem, 1000) == 0);
    compile(rules);
    must(rdn_line_open(&rdn_libc_mem, syms, &reader) == 0);
    rdn_line_rules(reader, ir);
    return 0;
}

/* Bytes as a row: what a C caller may hand in. */
static void as_row(const uint8_t *data, size_t n) {
    const struct rdn_event *ev = &ir->events[0];
    uint8_t *row = malloc(ev->size);
    must(row != NULL);
    for (uint32_t i = 0; i < ev->size; i++)
        row[i] = n ? data[i % n] : 0;
    if (rdn_row_valid(ev, row, rdn_sym_count(syms)))
        for (uint32_t i = 0; i < ev->nfields; i++) {
            struct rdn_cell c;
            rdn_row_field(ev, &ev->fields[i], row, &c);
            must(c.cause == RDN_DEFINED || c.cause == RDN_CAUSE_MISSING);
        }
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static struct rdn_line line;
    rdn_line_read(reader, (const char *)data, n, &line);
    if (line.kind == RDN_LINE_EVENT)
        must(line.index < ir->nevents && rdn_row_valid(&ir->events[line.index], line.row, rdn_sym_count(syms)));
    if (line.kind == RDN_LINE_BAD)
        must(memchr(line.why, 0, sizeof line.why) && line.why[0]);
    as_row(data, n);
    return 0;
}
