/* SPDX-License-Identifier: Apache-2.0
 * elf_file.c: see elf_file.h. */
#include "plugins/elf_file.h"
#include <string.h>

enum { MAX_PH = 64, MAX_DYN = 512, MAX_SYMS = 1 << 20, MAX_NOTES = 64 << 10 };
#if defined __x86_64__
static const uint16_t machine = EM_X86_64;
#elif defined __aarch64__
static const uint16_t machine = EM_AARCH64;
#else
static const uint16_t machine = EM_NONE;
#endif

static const void *in_file(const struct rdn_elf *e, uint64_t off, uint64_t bytes) {
    return off <= e->n && bytes <= e->n - off ? e->p + off : NULL;
}

const void *rdn_elf_at(const struct rdn_elf *e, uint64_t addr, uint64_t bytes, unsigned align) {
    for (uint32_t i = 0; i < e->nph; i++) {
        const Elf64_Phdr *h = &e->ph[i];
        if (h->p_type == PT_LOAD && addr >= h->p_vaddr && addr - h->p_vaddr <= h->p_filesz && bytes <= h->p_filesz - (addr - h->p_vaddr))
            return (h->p_offset + (addr - h->p_vaddr)) % align ? NULL : in_file(e, h->p_offset + (addr - h->p_vaddr), bytes);
    }
    return NULL;
}

const char *rdn_elf_str(const struct rdn_elf *e, uint64_t offset) {
    return offset < e->nstr ? e->str + offset : "";     /* read_symbols saw to it that the table ends in a zero */
}

bool rdn_elf_dyn(const struct rdn_elf *e, int64_t tag, uint64_t *ret) {
    for (uint32_t i = 0; i < e->ndyn && e->dyn[i].d_tag != DT_NULL; i++)
        if (e->dyn[i].d_tag == tag) {
            *ret = e->dyn[i].d_un.d_val;
            return true;
        }
    return false;
}

/* The number of symbols stands in one of the two hash tables only. */
static uint32_t count_gnu(const struct rdn_elf *e, uint64_t addr) {
    const uint32_t *h = rdn_elf_at(e, addr, 16, 4);
    if (!h || !h[0])
        return 0;
    uint32_t nbuckets = h[0], first = h[1], most = 0;
    uint64_t buckets_at = addr + 16 + (uint64_t)h[2] * 8, chains_at = buckets_at + (uint64_t)nbuckets * 4;
    const uint32_t *buckets = rdn_elf_at(e, buckets_at, (uint64_t)nbuckets * 4, 4);
    for (uint32_t i = 0; buckets && i < nbuckets; i++)
        most = buckets[i] > most ? buckets[i] : most;
    if (most < first)
        return first;
    for (uint32_t i = most; i < MAX_SYMS; i++) {
        const uint32_t *c = rdn_elf_at(e, chains_at + (uint64_t)(i - first) * 4, 4, 4);
        if (!c)
            return 0;
        if (*c & 1)
            return i + 1;
    }
    return 0;
}

static void read_symbols(struct rdn_elf *e) {
    uint64_t at, hash;
    const uint32_t *h;
    if (rdn_elf_dyn(e, DT_STRTAB, &at) && rdn_elf_dyn(e, DT_STRSZ, &hash) && (e->str = rdn_elf_at(e, at, hash, 1))) {
        const char *last = memrchr(e->str, 0, hash);
        e->nstr = last ? (size_t)(last - e->str) + 1 : 0;
    }
    if (!rdn_elf_dyn(e, DT_SYMTAB, &at))
        return;
    uint32_t n = 0;
    if (rdn_elf_dyn(e, DT_HASH, &hash) && (h = rdn_elf_at(e, hash, 8, 4)))
        n = h[1];
    else if (rdn_elf_dyn(e, DT_GNU_HASH, &hash))
        n = count_gnu(e, hash);
    if (n <= MAX_SYMS && (e->sym = rdn_elf_at(e, at, (uint64_t)n * sizeof *e->sym, 8)))
        e->nsym = n;
    if (rdn_elf_dyn(e, DT_VERSYM, &at))
        e->versym = rdn_elf_at(e, at, (uint64_t)e->nsym * 2, 2);
}

bool rdn_elf_open(struct rdn_elf *e, const void *bytes, size_t n, const char **ret_why) {
    *e = (struct rdn_elf){ .p = bytes, .n = n };
    const Elf64_Ehdr *h = bytes;
    uint64_t flags;
    *ret_why = "not an ELF file";
    if (n < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    *ret_why = "not a 64-bit little-endian shared object";
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_DYN)
        return false;
    *ret_why = "built for another processor";
    if (h->e_machine != machine)
        return false;
    *ret_why = "damaged: its headers point outside the file";
    if (h->e_phentsize != sizeof *e->ph || h->e_phnum > MAX_PH || h->e_phoff % 8 || !(e->ph = in_file(e, h->e_phoff, (uint64_t)h->e_phnum * sizeof *e->ph)))
        return false;
    e->nph = h->e_phnum;
    e->exec_stack = true;                               /* the kernel's reading of a file without the header */
    for (uint32_t i = 0; i < e->nph; i++) {
        if (e->ph[i].p_type == PT_GNU_STACK)
            e->exec_stack = e->ph[i].p_flags & PF_X;
        if (e->ph[i].p_type == PT_DYNAMIC && e->ph[i].p_offset % 8 == 0 && (e->dyn = in_file(e, e->ph[i].p_offset, e->ph[i].p_filesz)))
            e->ndyn = (uint32_t)(e->ph[i].p_filesz / sizeof *e->dyn);
    }
    if (!e->dyn || e->ndyn > MAX_DYN)
        return false;
    read_symbols(e);
    e->textrel = rdn_elf_dyn(e, DT_TEXTREL, &flags) || (rdn_elf_dyn(e, DT_FLAGS, &flags) && flags & DF_TEXTREL);
    e->static_tls = rdn_elf_dyn(e, DT_FLAGS, &flags) && flags & DF_STATIC_TLS;
    return e->str && e->sym;
}

const Elf64_Nhdr *rdn_elf_note(const struct rdn_elf *e, struct rdn_elf_notes *at, const char **ret_name, const uint8_t **ret_desc) {
    for (; at->segment < e->nph && at->seen < MAX_NOTES; at->segment++, at->off = 0) {
        const Elf64_Phdr *p = &e->ph[at->segment];
        const Elf64_Nhdr *h = p->p_type != PT_NOTE || p->p_offset % 4 || at->off + sizeof *h > p->p_filesz ? NULL
                            : in_file(e, p->p_offset + at->off, sizeof *h);
        if (!h)
            continue;
        uint64_t name = sizeof *h, desc = name + ((h->n_namesz + UINT64_C(3)) & ~UINT64_C(3)), end = desc + ((h->n_descsz + UINT64_C(3)) & ~UINT64_C(3));
        if (end > p->p_filesz - at->off || !in_file(e, p->p_offset + at->off, end))
            continue;
        at->off += end;
        at->seen += end;
        *ret_name = (const char *)h + name;
        *ret_desc = (const uint8_t *)h + desc;
        return h;
    }
    return NULL;
}

/* The table that the dynamic linker itself uses: a bucket by hash, in it a chain that ends at an odd hash. */
static bool defines_hashed(const struct rdn_elf *e, uint64_t addr, const char *name) {
    const uint32_t *h = rdn_elf_at(e, addr, 16, 4);
    if (!h || !h[0])
        return false;
    uint64_t buckets = addr + 16 + (uint64_t)h[2] * 8, chains = buckets + (uint64_t)h[0] * 4;
    uint32_t hash = 5381;
    for (const char *p = name; *p; p++)
        hash = hash * 33 + (unsigned char)*p;
    const uint32_t *b = rdn_elf_at(e, buckets + (uint64_t)(hash % h[0]) * 4, 4, 4);
    for (uint32_t i = b ? *b : 0; i >= h[1] && i < e->nsym; i++) {
        const uint32_t *c = rdn_elf_at(e, chains + (uint64_t)(i - h[1]) * 4, 4, 4);
        if (!c)
            return false;
        if ((*c | 1) == (hash | 1) && e->sym[i].st_shndx != SHN_UNDEF && !strcmp(rdn_elf_str(e, e->sym[i].st_name), name))
            return true;
        if (*c & 1)
            return false;
    }
    return false;
}

bool rdn_elf_defines(const struct rdn_elf *e, const char *name) {
    uint64_t addr;
    if (rdn_elf_dyn(e, DT_GNU_HASH, &addr))
        return defines_hashed(e, addr, name);
    for (uint32_t i = 1; i < e->nsym; i++)
        if (e->sym[i].st_shndx != SHN_UNDEF && !strcmp(rdn_elf_str(e, e->sym[i].st_name), name))
            return true;
    return false;
}

uint64_t rdn_elf_image_bytes(const struct rdn_elf *e) {
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t i = 0; i < e->nph; i++)
        if (e->ph[i].p_type == PT_LOAD) {
            low = e->ph[i].p_vaddr < low ? e->ph[i].p_vaddr : low;
            high = e->ph[i].p_vaddr + e->ph[i].p_memsz > high ? e->ph[i].p_vaddr + e->ph[i].p_memsz : high;
        }
    return high > low ? high - low : 0;
}
