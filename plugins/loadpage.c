/* SPDX-License-Identifier: Apache-2.0
 * loadpage.c: the sealed page that carries a plugin's text and signature to the workers of one generation. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/buf.h"
#include "plugins/pack.h"
#include "plugins/parts.h"

static void align(struct rdn_buf *b, size_t to) {
    while (b->n % to)
        rdn_buf_putc(b, 0);
}

static void put_file(struct rdn_buf *b, uint16_t kind, const char *name, const char *text, size_t n) {
    struct rdn_wfile f = { .kind = kind, .name_len = (uint16_t)strlen(name), .bytes = (uint32_t)n };
    rdn_buf_put(b, (const char *)&f, sizeof f);
    rdn_buf_put(b, name, f.name_len);
    align(b, 64);
    rdn_buf_put(b, text, n);
    align(b, 64);
}

static uint32_t put_names(struct rdn_buf *names, const struct rdn_wire_type *t) {
    uint32_t first = (uint32_t)names->n;
    for (uint16_t i = 0; i < t->nnames; i++)
        rdn_buf_put(names, t->names[i], strlen(t->names[i]) + 1);
    if (t->kind == RDN_WIRE_EVENT)
        rdn_buf_put(names, t->event, strlen(t->event) + 1);
    return first;
}

static struct rdn_wcol describe(struct rdn_buf *names, const char *name, const struct rdn_wire_type *t) {
    struct rdn_wcol c = { .type = t->kind, .width = (uint16_t)rdn_wire_width(t), .enum_first = put_names(names, t) };
    snprintf(c.name, sizeof c.name, "%s", name);
    switch ((enum rdn_wire_kind)t->kind) {
    case RDN_WIRE_DEC: c.scale = t->scale; break;
    case RDN_WIRE_ENUM: c.flags = t->nnames; break;
    case RDN_WIRE_EVENT:
        c.flags = t->nfields;
        c.layout_hash = t->layout_hash;
        break;
    case RDN_WIRE_FARR: case RDN_WIRE_IARR:
        c.layout_hash = t->cols ? t->cols : 1;
        c.flags = t->cols > 1 ? 2 : 1;
        break;
    case RDN_WIRE_BOOL: case RDN_WIRE_INT: case RDN_WIRE_FLOAT: case RDN_WIRE_TIME: case RDN_WIRE_DUR: case RDN_WIRE_DATE:
    case RDN_WIRE_TEXT: case RDN_WIRE_SYM: break;
    }
    return c;
}

static bool is_event(const struct rdn_wfunc *f, uint32_t i) { return f->params[i].type.kind == RDN_WIRE_EVENT; }

/* The parameters of one function after the other, then the fields of each event parameter in turn. */
static void put_columns(const struct rdn_plugin *p, struct rdn_buf *cols, struct rdn_buf *names) {
    uint32_t next = 0;
    for (uint32_t k = 0; k < p->nfns; k++)
        next += p->fns[k].ncols;
    for (const struct rdn_wfunc *f = p->fns; f < p->fns + p->nfns; f++)
        for (uint32_t i = 0; i < f->ncols; i++) {
            struct rdn_wcol c = describe(names, f->params[i].name, &f->params[i].type);
            c.arena_off = f->cols[i].off;
            c.first_field = next;
            next += is_event(f, i) ? f->params[i].type.nfields : 0;
            rdn_buf_put(cols, (const char *)&c, sizeof c);
        }
}

static void put_fields(const struct rdn_wire_type *event, struct rdn_buf *cols, struct rdn_buf *names) {
    for (uint16_t k = 0; k < event->nfields; k++) {
        const struct rdn_wire_field *f = &event->fields[k];
        struct rdn_wcol c = describe(names, f->name, &f->type);
        c.arena_off = f->offset;
        c.scale |= (uint16_t)((f->present_bit + 1) << 8);
        rdn_buf_put(cols, (const char *)&c, sizeof c);
    }
}

static void put_functions(const struct rdn_plugin *p, struct rdn_buf *fns, struct rdn_buf *cols, struct rdn_buf *names) {
    uint32_t first = 0;
    for (const struct rdn_wfunc *f = p->fns; f < p->fns + p->nfns; f++) {
        struct rdn_wfn fn = { .first_col = first, .ncols = f->ncols, .ret_type = f->ret.kind, .ret_width = (uint16_t)f->ret_width,
                              .ret_scale = f->ret.scale, .enum_count = f->ret.nnames };
        fn.enum_first = put_names(names, &f->ret);
        snprintf(fn.name, sizeof fn.name, "%s", f->name);
        rdn_buf_put(fns, (const char *)&fn, sizeof fn);
        first += f->ncols;
    }
    put_columns(p, cols, names);
    for (const struct rdn_wfunc *f = p->fns; f < p->fns + p->nfns; f++)
        for (uint32_t i = 0; i < f->ncols; i++)
            if (is_event(f, i))
                put_fields(&f->params[i].type, cols, names);
}

/* Modules, the entry first; then data under the names that redan.data() takes. */
static void put_files(struct rdn_buf *files, const struct rdn_pack *k) {
    for (uint32_t i = 0; i < k->nfiles; i++)
        if (k->files[i].part == RDN_PART_ENTRY || k->files[i].part == RDN_PART_MODULE)
            put_file(files, 1, k->files[i].name, k->files[i].p, k->files[i].n);
    for (uint32_t d = 0; d < k->m.ndata; d++)
        for (uint32_t i = 0; i < k->nfiles; i++)
            if (k->files[i].part == RDN_PART_DATA && !strcmp(k->files[i].name, k->m.data[d].value)) {
                put_file(files, 2, k->m.data[d].name, k->files[i].p, k->files[i].n);
                break;
            }
}

/* Kind cfn: "name=symbol" by function; the native role reads it from the span `id`. */
static void put_symbols(struct rdn_buf *id, const struct rdn_pack *k) {
    for (uint32_t i = 0; !strcmp(k->m.kind, "cfn") && i < k->m.nfns; i++) {
        rdn_buf_printf(id, "%s=%s", k->m.fns[i].name, k->m.fns[i].symbol ? k->m.fns[i].symbol : k->m.fns[i].name);
        rdn_buf_putc(id, 0);
    }
}

static struct rdn_wspan append(struct rdn_buf *to, const struct rdn_buf *part) {
    align(to, 64);
    struct rdn_wspan s = { (uint32_t)to->n, (uint32_t)part->n };
    rdn_buf_put(to, part->p ? part->p : "", part->n);
    return s;
}

static void fill(struct rdn_gen *g, struct rdn_buf *page, struct rdn_buf *parts, const struct rdn_pack *k) {
    struct rdn_plugin *p = g->plugin;
    struct rdn_buf *files = &parts[0], *fns = &parts[1], *cols = &parts[2], *names = &parts[3], *config = &parts[4], *id = &parts[5];
    struct rdn_load head = { .magic = RDN_LOAD_MAGIC, .version = RDN_WIRE_VERSION, .generation = g->number, .cap_bytes = g->mem_cap,
                             .nfns = p->nfns, .flags = p->plain ? RDN_LOAD_PLAIN | RDN_LOAD_TEST_ADDR : 0 };
    put_files(files, k);
    put_symbols(id, k);
    put_functions(p, fns, cols, names);
    if (k->m.nconfig)
        rdn_manifest_config(&k->m, config);
    for (uint32_t i = 0; i < p->nfns; i++) {
        head.ncols += p->fns[i].ncols;
        head.max_rows = p->fns[i].max_rows > head.max_rows ? p->fns[i].max_rows : head.max_rows;
    }
    rdn_buf_put(page, (const char *)&head, sizeof head);
    head.files = append(page, files);
    head.fns = append(page, fns);
    head.cols = append(page, cols);
    head.enums = append(page, names);
    head.config = append(page, config);
    head.id = append(page, id);
    align(page, RDN_PAGE);
    head.total_bytes = (uint32_t)page->n;
    memcpy(head.sha256, g->sha256, sizeof head.sha256);
    if (!page->failed)
        memcpy(page->p, &head, sizeof head);
}

static int to_memfd(struct rdn_gen *g, const struct rdn_buf *page, redan_error *reterr) {
    rdn_auto_close int fd = rdn_page_create("redan-load", page->n);
    if (fd < 0 || pwrite(fd, page->p, page->n, 0) != (ssize_t)page->n)
        return rdn_fail_sys(reterr, "memfd_create");
    if (rdn_page_seal(fd, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        return rdn_fail_sys(reterr, "F_ADD_SEALS");
    g->load_bytes = (uint32_t)page->n;
    g->load_fd = rdn_take_fd(&fd);
    return 0;
}

int rdn_load_build(struct rdn_gen *g, const struct rdn_pack *k, redan_error *reterr) {
    struct rdn_buf page, parts[6];
    rdn_buf_init(&page, g->plugin->ps->mem);
    for (int i = 0; i < 6; i++)
        rdn_buf_init(&parts[i], g->plugin->ps->mem);
    fill(g, &page, parts, k);
    bool failed = page.failed;
    for (int i = 0; i < 6; i++) {
        failed = failed || parts[i].failed;
        rdn_buf_fini(&parts[i]);
    }
    int rc = failed ? rdn_fail(reterr, NOMEM, "", "load page") : page.n > RDN_LOAD_MAX ? rdn_fail(reterr, PLUGIN, "R4205", "the plugin is larger than 64 MiB")
           : to_memfd(g, &page, reterr);
    rdn_buf_fini(&page);
    return rc;
}
