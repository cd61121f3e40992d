/* SPDX-License-Identifier: Apache-2.0
 * pack.c: see pack.h. */
#include "plugins/pack.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include "base/scope.h"

enum { TEXT_MAX_BYTES = 1 << 20, PATH_BYTES = 4096 };
struct opening { struct rdn_pack *k; const char *path; struct rdn_report *report; struct first { char code[8]; uint32_t line, col; char file[96], text[256]; } first; };

static void keep_first(void *ctx, const struct rdn_finding *f) {
    struct opening *o = ctx;
    if (!f->warning && !*o->first.code) {
        snprintf(o->first.code, sizeof o->first.code, "%s", f->code);
        snprintf(o->first.file, sizeof o->first.file, "%.95s", f->file);
        snprintf(o->first.text, sizeof o->first.text, "%.255s", f->text);
        o->first.line = f->line;
        o->first.col = f->col;
    }
    if (o->report) {
        o->report->errors += !f->warning;
        o->report->warnings += f->warning;
        if (o->report->take)
            o->report->take(o->report->ctx, f);
    }
}

bool rdn_pack_is(const char *path) {
    struct stat st;
    size_t n = strlen(path);
    return (n > 4 && !strcmp(path + n - 4, ".rdb")) || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* ---- reading ---- */
/* No link is followed below `dir`, neither the file nor a folder on the way; -1 and errno. */
static int open_inside(int dir, const char *name) {
    rdn_auto_close int at = -1;
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
        char part[NAME_MAX + 1];
        if ((size_t)(slash - name) >= sizeof part) {
            errno = ENAMETOOLONG;
            return -1;
        }
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        int next = openat(at < 0 ? dir : at, part, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (next < 0)
            return -1;
        if (at >= 0)
            close(at);
        at = next;
    }
    return openat(at < 0 ? dir : at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Room in the arena, or NULL: out of memory while a descriptor is open must not jump over its end. */
static void *room(struct rdn_arena *a, size_t n) {
    jmp_buf *was = a->oom;
    a->oom = NULL;
    void *p = rdn_arena_alloc(a, n);
    a->oom = was;
    return p;
}

static bool read_all(struct opening *o, struct rdn_report *r, int dir, const char *name, const char *shown, size_t max, const char **ret, size_t *ret_n) {
    rdn_auto_close int fd = dir == AT_FDCWD ? open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : open_inside(dir, name);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        rdn_find(r, "R4201", shown, 0, 0, "%s", strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > max) {
        rdn_find(r, "R4201", shown, 0, 0, "not a file of at most %zu KiB", max >> 10);
        return false;
    }
    char *p = room(&o->k->arena, (size_t)st.st_size + 1);
    if (!p || pread(fd, p, (size_t)st.st_size, 0) != st.st_size) {
        rdn_find(r, "R4201", shown, 0, 0, "%s", p ? "changed while it was read" : "out of memory");
        return false;
    }
    *ret = p;
    *ret_n = (size_t)st.st_size;
    return true;
}

/* Code and pickled objects are told by their first bytes. */
static const char *forbidden(const struct rdn_pack_file *f) {
    static const char *const endings[] = { ".pyc", ".pyo", ".so", ".pkl", ".pickle", ".marshal", ".dll", ".dylib" };
    size_t n = strlen(f->name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (n > strlen(endings[i]) && !strcmp(f->name + n - strlen(endings[i]), endings[i]))
            return endings[i] + 1;
    if (f->n >= 4 && !memcmp(f->p, "\177ELF", 4))
        return "an ELF file";
    if (f->n >= 16 && f->p[2] == '\r' && f->p[3] == '\n' && !f->p[4])
        return "compiled Python";
    return f->n >= 3 && (unsigned char)f->p[0] == 0x80 && f->p[1] >= 2 && f->p[1] <= 5 && f->p[f->n - 1] == '.' ? "a pickle" : NULL;
}

static bool ends_in(const char *s, const char *tail) {
    size_t n = strlen(s), k = strlen(tail);
    return n > k && !strcmp(s + n - k, tail);
}

static void check_kind(const struct rdn_pack *k, const struct rdn_pack_file *f, struct rdn_report *r) {
    bool code = f->part == RDN_PART_ENTRY || f->part == RDN_PART_MODULE, native = rdn_pack_is_native(k);
    bool lua = !strcmp(k->m.kind, "lua");
    if (code && native && f->part == RDN_PART_ENTRY)
        return;                                         /* elfcheck looks into it */
    const char *what = forbidden(f);
    if (what)
        rdn_find(r, "R4205", f->shown, 0, 0, "%s is not allowed in a plugin: only %s and plain data", what, lua ? ".lua" : ".py");
    else if (code && !ends_in(f->name, lua ? ".lua" : ".py"))
        rdn_find(r, "R4205", f->shown, 0, 0, "a module of this plugin is a %s file", lua ? ".lua" : ".py");
    else if (code && memchr(f->p, 0, f->n))
        rdn_find(r, "R4205", f->shown, 0, 0, "not text: it has a zero byte");
}

static void add(struct rdn_pack *k, enum rdn_pack_part part, const char *name, const char *shown, const char *p, size_t n) {
    if (k->nfiles < RDN_BUNDLE_FILES)
        k->files[k->nfiles++] = (struct rdn_pack_file){ part, name, shown, p, n };
}

/* Where a file of the manifest comes from: the folder or the bundle. */
struct source { int dir; const struct rdn_bundle_file *files; uint32_t nfiles; };
static bool fetch(struct opening *o, const struct source *src, struct rdn_report *r, enum rdn_pack_part part, const char *name, size_t max, bool needed) {
    const char *p = NULL, *slash = strrchr(name, '/'), *plain = slash ? slash + 1 : name;
    char *shown = rdn_arena_printf(&o->k->arena, "%.300s/%s", o->path, name);
    size_t n = 0;
    if (src->dir >= 0 && (needed || faccessat(src->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)) {
        if (!read_all(o, r, src->dir, name, shown, max, &p, &n))
            return false;
    }
    for (uint32_t i = 0; i < src->nfiles; i++)
        if (!strcmp(src->files[i].name, plain)) {
            n = src->files[i].n;
            /* Code is read as structures, which a bundle does not align. */
            p = part == RDN_PART_ENTRY && n ? memcpy(rdn_arena_alloc(&o->k->arena, n), src->files[i].p, n) : src->files[i].p;
        }
    if (!p && needed)
        rdn_find(r, "R4201", shown, 0, 0, "not in the bundle");
    if (p)
        add(o->k, part, plain, shown, p, n);
    return p || !needed;
}

static void fetch_parts(struct opening *o, const struct source *src, struct rdn_report *r) {
    const struct rdn_manifest *m = &o->k->m;
    bool native = rdn_pack_is_native(o->k);
    fetch(o, src, r, RDN_PART_ENTRY, m->entry, native ? RDN_BUNDLE_MAX : TEXT_MAX_BYTES, true);
    for (uint32_t i = 0; i < m->modules.n; i++)
        fetch(o, src, r, RDN_PART_MODULE, m->modules.items[i], TEXT_MAX_BYTES, true);
    for (uint32_t i = 0; i < m->ndata; i++)
        fetch(o, src, r, RDN_PART_DATA, m->data[i].value, RDN_BUNDLE_MAX, true);
    fetch(o, src, r, RDN_PART_ROWS, m->rows, TEXT_MAX_BYTES, m->rows_given);
    if (m->rules)
        fetch(o, src, r, RDN_PART_RULES, m->rules, TEXT_MAX_BYTES, true);
    size_t text = 0, all = 0;
    for (uint32_t i = 0; i < o->k->nfiles; i++) {
        const struct rdn_pack_file *f = &o->k->files[i];
        all += f->n;
        text += f->part == RDN_PART_ENTRY || f->part == RDN_PART_MODULE ? f->n : 0;
        if (f->part != RDN_PART_MANIFEST && f->part != RDN_PART_ROWS && f->part != RDN_PART_RULES)
            check_kind(o->k, f, r);
    }
    if (!native && text > TEXT_MAX_BYTES)
        rdn_find(r, "R4205", o->path, 0, 0, "modules have %zu KiB together, at most 1024", text >> 10);
    if (all > RDN_BUNDLE_USUAL)
        rdn_find(r, "R4205", o->path, 0, 0, "the plugin has %zu KiB, at most %d", all >> 10, RDN_BUNDLE_USUAL >> 10);
}

static bool manifest(struct opening *o, const struct source *src, struct rdn_report *r) {
    if (!fetch(o, src, r, RDN_PART_MANIFEST, "plugin.yaml", RDN_MANIFEST_MAX, true))
        return false;
    const struct rdn_pack_file *f = &o->k->files[0];
    return rdn_manifest_read(&o->k->arena, f->shown, f->p, f->n, &o->k->m, r);
}

static void from_folder(struct opening *o, int dir, struct rdn_report *r) {
    if (dir < 0) {
        rdn_find(r, "R4201", o->path, 0, 0, "%s", strerror(errno));
        return;
    }
    struct source src = { .dir = dir };
    if (manifest(o, &src, r))
        fetch_parts(o, &src, r);
}

static void from_bundle(struct opening *o, struct rdn_report *r) {
    struct rdn_bundle_file *files = rdn_new_n(&o->k->arena, struct rdn_bundle_file, RDN_BUNDLE_FILES);
    struct rdn_bundle_head head;
    struct source src = { .dir = -1, .files = files };
    redan_error e = { 0 };
    const char *p;
    size_t n;
    if (!read_all(o, r, AT_FDCWD, o->path, o->path, RDN_BUNDLE_MAX, &p, &n))
        return;
    if (rdn_bundle_read(&o->k->arena, p, n, &head, files, &src.nfiles, &e) < 0) {
        rdn_find(r, e.id, o->path, 0, 0, "%s", e.text);
        return;
    }
    if (strcmp(head.kind, "plugin") != 0) {
        rdn_find(r, "R4201", o->path, 0, 0, "a bundle of kind '%.30s', not of a plugin", head.kind);
        return;
    }
    if (!manifest(o, &src, r))
        return;
    if (strcmp(head.name, o->k->m.id) != 0 || strcmp(head.version, o->k->m.version) != 0)
        rdn_find(r, "R4202", o->path, 0, 0, "the bundle says %.63s %.23s, its plugin.yaml %.63s %.23s", head.name, head.version, o->k->m.id, o->k->m.version);
    fetch_parts(o, &src, r);
}

static void from_file(struct opening *o, struct rdn_report *r) {
    static const struct rdn_manifest plain = { .kind = "python", .group = "default", .instances = "per-lane", .state = "none", .trust = "worker",
                                               .mem_cap_mib = 8, .time_cap_ms = 50, .max_rows = 256 };
    const char *slash = strrchr(o->path, '/'), *p;
    size_t n;
    o->k->m = plain;
    o->k->m.kind = ends_in(o->path, ".lua") ? "lua" : "python";
    o->k->bare = true;
    if (!read_all(o, r, AT_FDCWD, o->path, o->path, TEXT_MAX_BYTES, &p, &n))
        return;
    if (memchr(p, 0, n))
        rdn_find(r, "R4201", o->path, 0, 0, "not text");
    add(o->k, RDN_PART_ENTRY, slash ? slash + 1 : o->path, o->path, p, n);
}

static void hash(struct rdn_pack *k) {
    crypto_hash_sha256_state st;
    crypto_hash_sha256_init(&st);
    for (uint32_t i = 0; i < k->nfiles; i++) {
        uint64_t n = k->files[i].n;
        crypto_hash_sha256_update(&st, (const unsigned char *)k->files[i].name, strlen(k->files[i].name) + 1);
        crypto_hash_sha256_update(&st, (const unsigned char *)&n, sizeof n);
        crypto_hash_sha256_update(&st, (const unsigned char *)k->files[i].p, k->files[i].n);
    }
    crypto_hash_sha256_final(&st, k->sha256);
}

int rdn_pack_open(const struct rdn_mem *mem, const char *path, struct rdn_pack *k, struct rdn_report *report, redan_error *reterr) {
    jmp_buf oom;
    memset(k, 0, sizeof *k);
    rdn_arena_init(&k->arena, mem);
    bool is_pack = rdn_pack_is(path), is_bundle = is_pack && ends_in(path, ".rdb");
    /* Opened here: the jump out of memory ends in this function, and so does the descriptor. */
    rdn_auto_close int dir = is_pack && !is_bundle ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct opening o = { .k = k, .path = path, .report = report };
    struct rdn_report inner = { .take = keep_first, .ctx = &o };
    k->arena.oom = &oom;
    if (setjmp(oom)) {
        rdn_pack_close(k);
        return rdn_fail(reterr, NOMEM, "", "plugin %.150s", path);
    }
    if (!is_pack)
        from_file(&o, &inner);
    else if (is_bundle)
        from_bundle(&o, &inner);
    else
        from_folder(&o, dir, &inner);
    k->arena.oom = NULL;
    if (!*o.first.code) {
        hash(k);
        return 0;
    }
    int rc = rdn_fail(reterr, PLUGIN, o.first.code, "%s", o.first.text);
    if (reterr) {
        reterr->line = o.first.line;
        reterr->column = o.first.col;
        snprintf(reterr->where, sizeof reterr->where, "%s", o.first.file);
    }
    if (!report)
        rdn_pack_close(k);
    return rc;
}

void rdn_pack_close(struct rdn_pack *k) {
    if (k->arena.mem)
        rdn_arena_fini(&k->arena);
    memset(k, 0, sizeof *k);
}

const struct rdn_pack_file *rdn_pack_find(const struct rdn_pack *k, enum rdn_pack_part part) {
    for (uint32_t i = 0; i < k->nfiles; i++)
        if (k->files[i].part == part)
            return &k->files[i];
    return NULL;
}

bool rdn_pack_is_native(const struct rdn_pack *k) { return !strcmp(k->m.kind, "native") || !strcmp(k->m.kind, "cfn"); }

const char *rdn_pack_role(const struct rdn_pack *k) { return rdn_pack_is_native(k) ? "native" : !strcmp(k->m.kind, "lua") ? "lua" : "python"; }

const struct rdn_manifest_fn *rdn_pack_function(const struct rdn_pack *k, const char *name) {
    for (uint32_t i = 0; i < k->m.nfns; i++)
        if (!strcmp(k->m.fns[i].name, name))
            return &k->m.fns[i];
    return NULL;
}

void rdn_pack_bundle(const struct rdn_pack *k, struct rdn_buf *ret) {
    struct rdn_bundle_file files[RDN_BUNDLE_FILES];
    struct rdn_bundle_head h = { "plugin", k->m.id, k->m.version, !strcmp(k->m.kind, "python") ? k->m.python : "", 1 };
    for (uint32_t i = 0; i < k->nfiles; i++)
        files[i] = (struct rdn_bundle_file){ k->files[i].name, k->files[i].p, k->files[i].n };
    rdn_bundle_write(&h, files, k->nfiles, ret);
}
