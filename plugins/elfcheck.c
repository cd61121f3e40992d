/* SPDX-License-Identifier: Apache-2.0
 * elfcheck.c: see elfcheck.h. */
#include "plugins/elfcheck.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "base/hash.h"
#include "base/scope.h"
#include "plugins/elf_file.h"
#include "plugins/layout.h"
#include <redan/plugin.h>

/* A file made to be slow: what is beyond these is refused or not looked at, whatever it says. */
enum { MAX_LIBS = 16, MAX_NAME = 1024, MAX_MISSING = 20, MAX_VERSIONS = 1024 };
/* What a native worker has in memory; anything else would have to be found on a file system it does not have. */
static const char *const allowed[] = {
    "libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
};
static const char *const folders[] = {
#if defined __x86_64__
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#elif defined __aarch64__
    "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
    "/lib64", "/usr/lib64", "/lib", "/usr/lib",
};

struct lib { const char *name; void *map; size_t n; struct rdn_elf elf; };
struct check {
    struct rdn_elf elf;
    const struct rdn_elf_wish *wish;
    const char *file;
    struct rdn_report *report;
    struct lib libs[MAX_LIBS]; uint32_t nlibs;
    uint32_t missing, unique;                           /* findings of a kind; after MAX_MISSING only their number is told */
    struct lib world[4]; uint32_t nworld, clashes;      /* what every native worker has */
};

static bool is_allowed(const char *name) {
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (!strcmp(allowed[i], name))
            return true;
    return false;
}

/* ---- libraries ---- */
static bool map_library(struct lib *l) {
    char path[256];
    const char *why;
    struct stat st;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%.100s", folders[i], l->name);
        rdn_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
            continue;
        l->n = (size_t)st.st_size;
        l->map = mmap(NULL, l->n, PROT_READ, MAP_PRIVATE, fd, 0);
        if (l->map != MAP_FAILED && rdn_elf_open(&l->elf, l->map, l->n, &why))
            return true;
        if (l->map != MAP_FAILED)
            munmap(l->map, l->n);
        l->map = NULL;
    }
    return false;
}

static void add_library(struct check *c, const char *name) {
    for (uint32_t i = 0; i < c->nlibs; i++)
        if (!strcmp(c->libs[i].name, name))
            return;
    if (c->nlibs == MAX_LIBS)
        return;
    struct lib *l = &c->libs[c->nlibs];
    *l = (struct lib){ .name = name };
    c->nlibs += map_library(l);
}

static void check_needed(struct check *c) {
    for (uint32_t i = 0; i < c->elf.ndyn && c->elf.dyn[i].d_tag != DT_NULL; i++) {
        if (c->elf.dyn[i].d_tag != DT_NEEDED)
            continue;
        const char *name = rdn_elf_str(&c->elf, c->elf.dyn[i].d_un.d_val);
        if (!strncmp(name, "libpython", 9))
            rdn_find(c->report, "R4104", c->file, 0, 0, "links %.60s: code that needs Python is a Python plugin", name);
        else if (!is_allowed(name))
            rdn_find(c->report, "R4116", c->file, 0, 0, "needs %.60s; a native worker has libc, libm, libstdc++ and libgcc_s: link it statically", name);
        else
            add_library(c, name);
    }
}

/* ---- symbols ---- */
static void undefined(struct check *c, const Elf64_Sym *s, const char *name) {
    /* The four that crt files leave weak in every shared object, and are looked up by no one's code. */
    static const char *const usual[] = { "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__", "__cxa_finalize" };
    bool weak = ELF64_ST_BIND(s->st_info) == STB_WEAK;
    for (size_t i = 0; weak && i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(usual[i], name))
            return;
    bool known = false;
    for (uint32_t i = 0; i < c->nlibs && !known && strnlen(name, MAX_NAME) < MAX_NAME; i++)
        known = rdn_elf_defines(&c->libs[i].elf, name);
    if (known || ++c->missing > MAX_MISSING)
        return;
    if (weak)
        rdn_find_warning(c->report, "R4105", c->file, 0, 0, "weak symbol '%.100s' has no definition: it would be NULL", name);
    else if (!strncmp(name, "Py", 2) || !strncmp(name, "_Py", 3))
        rdn_find(c->report, "R4104", c->file, 0, 0, "uses '%.100s' of Python: code that needs Python is a Python plugin", name);
    else
        rdn_find(c->report, "R4103", c->file, 0, 0, "no allowed library provides '%.100s': link with -Wl,--no-undefined to see it at build time", name);
}

/* An exported name that a library of every worker has, too, is bound to the library: the plugin's own calls go there, silently. Weak
 * ones are templates that both sides have for the same reason. */
static void clash(struct check *c, const Elf64_Sym *s, const char *name) {
    static const char *const in_worker[] = { "libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1" };
    uint64_t flags = 0;
    if (ELF64_ST_BIND(s->st_info) != STB_GLOBAL || rdn_elf_dyn(&c->elf, DT_SYMBOLIC, &flags) || (rdn_elf_dyn(&c->elf, DT_FLAGS, &flags) && flags & DF_SYMBOLIC))
        return;
    for (size_t i = c->nworld ? sizeof in_worker : 0; i < sizeof in_worker / sizeof *in_worker; i++) {
        c->world[c->nworld] = (struct lib){ .name = in_worker[i] };
        c->nworld += map_library(&c->world[c->nworld]);
    }
    for (uint32_t i = 0; i < c->nworld; i++)
        if (rdn_elf_defines(&c->world[i].elf, name) && ++c->clashes <= MAX_MISSING) {
            (c->wish->foreign ? rdn_find_warning : rdn_find)(c->report, "R4117", c->file, 0, 0, "exports '%.100s', which %s has too: its own calls would go there; make it static, "
                                                             "or build with -fvisibility=hidden", name, c->world[i].name);
            return;
        }
}

static void check_symbols(struct check *c) {
    bool entry = false;
    uint32_t extra = 0;
    const char *first = "";
    for (uint32_t i = 1; i < c->elf.nsym; i++) {
        const Elf64_Sym *s = &c->elf.sym[i];
        const char *name = rdn_elf_str(&c->elf, s->st_name);
        unsigned bind = ELF64_ST_BIND(s->st_info), type = ELF64_ST_TYPE(s->st_info), seen = ELF64_ST_VISIBILITY(s->st_other);
        if (bind == STB_LOCAL || type == STT_SECTION || !*name)
            continue;
        if (s->st_shndx == SHN_UNDEF) {
            undefined(c, s, name);
            continue;
        }
        if (bind == STB_GNU_UNIQUE && ++c->unique <= MAX_MISSING)
            rdn_find(c->report, "R4106", c->file, 0, 0, "'%.100s' is a unique symbol, which can never be unloaded: build with -fno-gnu-unique", name);
        if (seen == STV_HIDDEN || seen == STV_INTERNAL || s->st_shndx == SHN_ABS)
            continue;
        if (!strcmp(name, "redan_plugin_entry") && type == STT_FUNC)
            entry = true;
        else if (!extra++)
            first = name;
        if (strnlen(name, MAX_NAME) < MAX_NAME)
            clash(c, s, name);
    }
    if (c->missing > MAX_MISSING)
        rdn_find(c->report, "R4103", c->file, 0, 0, "%u symbols in all have no definition", c->missing);
    if (!entry && !c->wish->foreign)
        rdn_find(c->report, "R4112", c->file, 0, 0, "redan_plugin_entry is not exported: define it with REDAN_API");
    if (extra && !c->wish->foreign)
        rdn_find_warning(c->report, "R4111", c->file, 0, 0, "exports %u more symbol%s, '%.80s' first: build with -fvisibility=hidden", extra, extra == 1 ? "" : "s", first);
}

/* ---- versions: what the file asks of a library against what that library here defines ---- */
static bool defines_version(const struct lib *l, const char *version) {
    uint64_t at, n;
    if (!rdn_elf_dyn(&l->elf, DT_VERDEF, &at) || !rdn_elf_dyn(&l->elf, DT_VERDEFNUM, &n))
        return false;
    for (uint64_t i = 0; i < n && i < 1024; i++) {
        const Elf64_Verdef *d = rdn_elf_at(&l->elf, at, sizeof *d, 4);
        const Elf64_Verdaux *a = d ? rdn_elf_at(&l->elf, at + d->vd_aux, sizeof *a, 4) : NULL;
        if (!a)
            return false;
        if (!strcmp(rdn_elf_str(&l->elf, a->vda_name), version))
            return true;
        if (!d->vd_next)
            return false;
        at += d->vd_next;
    }
    return false;
}

/* False when there is enough to say already. */
static bool check_version(struct check *c, const char *lib, const char *version, uint32_t *found) {
    for (uint32_t i = 0; i < c->nlibs; i++)
        if (!strcmp(c->libs[i].name, lib) && !defines_version(&c->libs[i], version) && ++*found)
            rdn_find(c->report, "R4115", c->file, 0, 0, "needs %.60s of %.60s, which this machine's does not have: build on the oldest system it runs on", version, lib);
    return *found < MAX_MISSING;
}

static void check_versions(struct check *c) {
    uint64_t at, n;
    uint32_t left = MAX_VERSIONS, found = 0;
    if (!rdn_elf_dyn(&c->elf, DT_VERNEED, &at) || !rdn_elf_dyn(&c->elf, DT_VERNEEDNUM, &n))
        return;
    for (uint64_t i = 0; i < n && i < 64; i++) {
        const Elf64_Verneed *v = rdn_elf_at(&c->elf, at, sizeof *v, 4);
        if (!v)
            return;
        uint64_t aux = at + v->vn_aux;
        for (unsigned k = 0; k < v->vn_cnt; k++) {
            const Elf64_Vernaux *a = rdn_elf_at(&c->elf, aux, sizeof *a, 4);
            if (!a || !left-- || !check_version(c, rdn_elf_str(&c->elf, v->vn_file), rdn_elf_str(&c->elf, a->vna_name), &found))
                return;
            aux += a->vna_next;
        }
        if (!v->vn_next)
            return;
        at += v->vn_next;
    }
}

/* ---- the note ---- */
static bool find_note(const struct rdn_elf *e, struct rdn_elf_note *ret) {
    struct rdn_elf_notes at = { 0 };
    const char *name;
    const uint8_t *desc;
    for (const Elf64_Nhdr *h; (h = rdn_elf_note(e, &at, &name, &desc));) {
        struct redan_note_desc d;
        if (h->n_namesz != 6 || memcmp(name, "Redan", 6) != 0 || h->n_type != 1 || h->n_descsz < sizeof d)
            continue;
        memcpy(&d, desc, sizeof d);
        *ret = (struct rdn_elf_note){ .abi = d.abi, .minor = d.minor, .caps = d.caps, .nlayouts = d.nlayouts < 8 ? d.nlayouts : 8 };
        snprintf(ret->id, sizeof ret->id, "%.63s", d.id);
        snprintf(ret->version, sizeof ret->version, "%.23s", d.version);
        for (uint32_t i = 0; i < ret->nlayouts; i++)
            ret->layouts[i] = (struct rdn_elf_layout){ d.layouts[i].name_hash, d.layouts[i].layout_hash };
        return true;
    }
    return false;
}

bool rdn_elf_note_read(const void *bytes, size_t n, struct rdn_elf_note *ret) {
    struct rdn_elf e;
    const char *why;
    memset(ret, 0, sizeof *ret);
    return rdn_elf_open(&e, bytes, n, &why) && find_note(&e, ret);
}

/* The plugin's own text of an event (note type 2), or NULL. */
static const char *own_canon(const struct check *c, const char *host) {
    struct rdn_elf_notes at = { 0 };
    const char *name;
    const uint8_t *desc;
    size_t n = strcspn(host, ";");
    for (const Elf64_Nhdr *h; (h = rdn_elf_note(&c->elf, &at, &name, &desc));)
        if (h->n_namesz == 6 && !memcmp(name, "Redan", 6) && h->n_type == 2 && h->n_descsz > n && !memcmp(desc, host, n) && desc[n] == ';' &&
            memchr(desc, 0, h->n_descsz))
            return (const char *)desc;
    return NULL;
}

static void check_layouts(struct check *c, const struct rdn_elf_note *note) {
    for (uint32_t k = 0; k < c->wish->ncanons; k++) {
        const char *host = c->wish->canons[k], *own = own_canon(c, host);
        size_t n = strcspn(host, ";");
        char how[300];
        if (own && rdn_layout_differs(host, own, how, sizeof how)) {
            rdn_find(c->report, "R4102", c->file, 0, 0, "layout of event '%.*s' differs: %s; make its header again with redan bindgen and rebuild", (int)n, host, how);
            continue;
        }
        uint64_t name = rdn_fnv64(host, n), layout = rdn_fnv64(host, strlen(host));
        for (uint32_t i = 0; !own && i < note->nlayouts; i++)
            if (note->layouts[i].name_hash == name && note->layouts[i].layout_hash != layout)
                rdn_find(c->report, "R4102", c->file, 0, 0, "layout of event '%.*s' differs: host %016llx, plugin %016llx; make its header again with redan bindgen and rebuild",
                         (int)n, host, (unsigned long long)layout, (unsigned long long)note->layouts[i].layout_hash);
    }
}

static void check_note(struct check *c) {
    struct rdn_elf_note note;
    if (!find_note(&c->elf, &note)) {
        rdn_find(c->report, "R4113", c->file, 0, 0, "no Redan note: write REDAN_DECLARE(...) once in the plugin");
        return;
    }
    if (note.abi != REDAN_PLUGIN_ABI)
        rdn_find(c->report, "R4101", c->file, 0, 0, "built for plugin ABI %u, this host speaks %u: rebuild it with this version's header", note.abi, REDAN_PLUGIN_ABI);
    check_layouts(c, &note);
}

void rdn_elf_check(const char *shown, const void *bytes, size_t n, const struct rdn_elf_wish *w, struct rdn_report *report) {
    struct check c = { .wish = w, .file = shown, .report = report };
    const char *why;
    uint64_t x;
    if (!rdn_elf_open(&c.elf, bytes, n, &why)) {
        rdn_find(report, "R4114", shown, 0, 0, "%s", why);
        return;
    }
    if (!w->foreign)
        check_note(&c);
    check_needed(&c);
    check_symbols(&c);
    check_versions(&c);
    if (c.elf.exec_stack)
        rdn_find(report, "R4108", shown, 0, 0, "asks for an executable stack: build with -Wl,-z,noexecstack");
    if (c.elf.textrel)
        rdn_find(report, "R4110", shown, 0, 0, "has text relocations: build with -fPIC");
    if (c.elf.static_tls)
        rdn_find(report, "R4107", shown, 0, 0, "uses the static TLS model, of which a running process has little left: build with -fPIC, without -ftls-model");
    if (rdn_elf_dyn(&c.elf, DT_RPATH, &x) || rdn_elf_dyn(&c.elf, DT_RUNPATH, &x))
        rdn_find_warning(report, "R4109", shown, 0, 0, "has a search path for libraries (%.100s), which is ignored", rdn_elf_str(&c.elf, x));
    for (uint32_t i = 0; i < c.nlibs; i++)
        munmap(c.libs[i].map, c.libs[i].n);
    for (uint32_t i = 0; i < c.nworld; i++)
        munmap(c.world[i].map, c.world[i].n);
}
