/* SPDX-License-Identifier: Apache-2.0
 * data_driver.c: lists, calendars and host tables under a line protocol, for data_model.py. One answer a line.
 *
 *   L i type value...                                              list i
 *   Q i value                                                      is it in list i
 *   C i zone (days list open close n except*n)...                  calendar i; list -1: the weekdays
 *   N i now                                                        is calendar i open
 *   T i cap nkeys type... ncols (name type)...                     host table i
 *   G i key... value...     D i key...     F i key...              sets, deletes, finds a row
 *   M to from                                                      carries: 1 or 0        J i    rows */
#include <stdlib.h>

#include "state/data.h"
#include "tests/unit/state/state_lines.h"

enum { LISTS = 8, TABLES = 4, WORDS = 4096, COLS = 8 };
static struct { struct rdn_list def; struct rdn_type type; struct rdn_listset *set; } lists[LISTS];
static struct rdn_list list_defs[LISTS];
static struct { struct rdn_calendar def; struct rdn_session sessions[8]; uint32_t except[8][4]; char zone[64]; struct rdn_cal *cal; struct rdn_cal_span span; } cals[1];
static struct {
    struct rdn_table def;
    struct rdn_column keys[COLS], cols[COLS];
    struct rdn_type types[2 * COLS];
    char names[COLS][32];
    struct rdn_tab *tab;
} tables[TABLES];

static void check(int rc) {
    if (rc < 0)
        exit(3);
}

static void define_list(int i, char **w, int n) {
    rdn_listset_close(lists[i].set);
    for (uint32_t j = 0; j < lists[i].def.n; j++)
        if (lists[i].type.kind == RDN_K_STR)
            free((char *)lists[i].def.vals[j].t.p);
    free(lists[i].def.vals);
    lists[i].type = type_of(w[0]);
    struct rdn_cell *vals = aligned_alloc(16, (size_t)n * sizeof *vals);
    for (int j = 1; j < n; j++) {
        char *text = malloc(300);
        parse(&lists[i].type, w[j], &vals[j - 1], text);
        if (lists[i].type.kind != RDN_K_STR)
            free(text);
    }
    lists[i].def = list_defs[i] = (struct rdn_list){ "l", &lists[i].type, vals, (uint32_t)n - 1 };
    check(rdn_listset_open(&lists[i].def, &rdn_libc_mem, &lists[i].set));
}

static void define_calendar(int i, char **w, int n) {
    rdn_cal_close(cals[i].cal);
    snprintf(cals[i].zone, sizeof cals[i].zone, "%s", w[0]);
    cals[i].span = (struct rdn_cal_span){ 0 };
    cals[i].def = (struct rdn_calendar){ "c", cals[i].zone, cals[i].sessions, 0 };
    for (int j = 1; j < n;) {
        struct rdn_session *s = &cals[i].sessions[cals[i].def.n];
        uint32_t *except = cals[i].except[cals[i].def.n++];
        *s = (struct rdn_session){ (uint8_t)atoi(w[j]), atoi(w[j + 1]), (uint16_t)atoi(w[j + 2]), (uint16_t)atoi(w[j + 3]), except, (uint32_t)atoi(w[j + 4]) };
        j += 5;
        for (uint32_t k = 0; k < s->nexcept; k++)
            except[k] = (uint32_t)atoi(w[j++]);
    }
    check(rdn_cal_open(&cals[i].def, list_defs, &rdn_libc_mem, &cals[i].cal));
}

static void define_table(int i, char **w) {
    struct rdn_table *d = &tables[i].def;
    rdn_tab_close(tables[i].tab);
    *d = (struct rdn_table){ .name = "t", .keys = tables[i].keys, .cols = tables[i].cols, .host = true, .cap = (uint32_t)atoi(w[0]), .nkeys = (uint32_t)atoi(w[1]) };
    w += 2;
    for (uint32_t j = 0; j < d->nkeys; j++) {
        tables[i].types[j] = type_of(*w++);
        d->keys[j] = (struct rdn_column){ "k", &tables[i].types[j] };
    }
    d->ncols = (uint32_t)atoi(*w++);
    for (uint32_t j = 0; j < d->ncols; j++) {
        snprintf(tables[i].names[j], sizeof tables[i].names[j], "%s", *w++);
        tables[i].types[COLS + j] = type_of(*w++);
        d->cols[j] = (struct rdn_column){ tables[i].names[j], &tables[i].types[COLS + j] };
    }
    check(rdn_tab_open(d, &rdn_libc_mem, &tables[i].tab));
}

static char **key_of(int i, char **w, struct rdn_key *k) {
    static char text[COLS][300];
    struct rdn_cell c;
    rdn_key_begin(k);
    for (uint32_t j = 0; j < tables[i].def.nkeys; j++) {
        parse(tables[i].keys[j].type, *w++, &c, text[j]);
        rdn_key_add(k, tables[i].keys[j].type, &c);
    }
    rdn_key_end(k);
    return w;
}

static void set_row(int i, char **w, bool row) {
    static char text[COLS][300];
    struct rdn_cell vals[COLS];
    struct rdn_key k;
    w = key_of(i, w, &k);
    for (uint32_t j = 0; row && j < tables[i].def.ncols; j++)
        parse(tables[i].cols[j].type, *w++, &vals[j], text[j]);
    printf("%d", rdn_tab_set(tables[i].tab, &k, row ? vals : NULL));
    memset(text, '?', sizeof text);                      /* the table has its own copy, or the next answer shows it */
}

static void find_row(int i, char **w) {
    struct rdn_key k;
    key_of(i, w, &k);
    const struct rdn_cell *vals = rdn_tab_find(tables[i].tab, &k);
    printf("%s", vals ? "row" : "missing");
    for (uint32_t j = 0; vals && j < tables[i].def.ncols; j++) {
        putchar(' ');
        put(tables[i].cols[j].type, &vals[j]);
    }
}

static void command(char **w, int n) {
    static char text[300];
    struct rdn_cell c;
    int i = atoi(w[1]);
    switch (w[0][0]) {
    case 'L': define_list(i, w + 2, n - 2); return;
    case 'Q':
        parse(&lists[i].type, w[2], &c, text);
        printf("%d", rdn_listset_has(lists[i].set, &c));
        return;
    case 'C': define_calendar(i, w + 2, n - 2); return;
    case 'N': printf("%d", rdn_cal_open_at(cals[i].cal, strtoll(w[2], NULL, 10), &cals[i].span)); return;
    case 'T': define_table(i, w + 2); return;
    case 'G': set_row(i, w + 2, true); return;
    case 'D': set_row(i, w + 2, false); return;
    case 'F': find_row(i, w + 2); return;
    case 'M': printf("%d", rdn_tab_carry(tables[i].tab, tables[atoi(w[2])].tab)); return;
    case 'J': printf("%u", rdn_tab_rows(tables[i].tab)); return;
    }
    exit(4);
}

int main(void) {
    static char line[1 << 20];
    static char *w[WORDS];
    check(rdn_syms_open(&syms, &rdn_libc_mem, 1 << 20));
    while (fgets(line, sizeof line, stdin)) {
        int n = 0;
        for (char *p = strtok(line, " \n"); p && n < WORDS; p = strtok(NULL, " \n"))
            w[n++] = p;
        if (n < 2)
            continue;
        command(w, n);
        putchar('\n');
    }
    for (int i = 0; i < LISTS; i++)
        define_list(i, (char *[]){ "i" }, 1), rdn_listset_close(lists[i].set), free(lists[i].def.vals);
    for (int i = 0; i < TABLES; i++)
        rdn_tab_close(tables[i].tab);
    rdn_cal_close(cals[0].cal);
    rdn_syms_close(syms);
    return 0;
}
