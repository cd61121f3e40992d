/* SPDX-License-Identifier: Apache-2.0
 * gdb.c: see gdb.h. The ELF file has the functions as one section without contents, where they stand in memory. */
#include "jit/gdb.h"
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- the interface: names and layout are GDB's ---- */
enum { JIT_NOACTION, JIT_REGISTER_FN, JIT_UNREGISTER_FN };
struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
};
struct jit_descriptor {
    uint32_t version, action_flag;
    struct jit_code_entry *relevant_entry, *first_entry;
};
struct jit_descriptor __jit_debug_descriptor = { 1, JIT_NOACTION, NULL, NULL };
void __jit_debug_register_code(void);
__attribute__((noinline)) void __jit_debug_register_code(void) { __asm__ volatile("" ::: "memory"); }

/* ---- one file ---- */
enum { NOTHING, TEXT, EH_FRAME, SYMTAB, STRTAB, SECTIONS };
static const char section_names[] = "\0.text\0.eh_frame\0.symtab\0.strtab";
static const uint8_t section_name_at[SECTIONS] = { 0, 1, 7, 17, 25 };
struct object {                                          /* followed by .eh_frame, symbols, strings */
    struct jit_code_entry entry;
    struct object *next;
    const uint8_t *code;
    size_t code_bytes;
    Elf64_Ehdr head;
    Elf64_Shdr sections[SECTIONS];
    uint8_t rest[];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;

struct out { uint8_t *p; };                              /* room was counted */
static void put(struct out *o, const void *p, size_t n) {
    memcpy(o->p, p, n);
    o->p += n;
}
static void put_u8(struct out *o, unsigned v) { *o->p++ = (uint8_t)v; }
static void put_u32(struct out *o, uint32_t v) { put(o, &v, 4); }
static void put_u64(struct out *o, uint64_t v) { put(o, &v, 8); }
static void pad(struct out *o, const uint8_t *from) {
    while ((o->p - from) % 8)
        put_u8(o, 0);                                    /* DW_CFA_nop */
}

/* DWARF numbers: rbp is 6, rsp 7, the return address 16. */
enum { CFA_ADVANCE1 = 0x02, CFA_ADVANCE4 = 0x04, CFA_REMEMBER = 0x0a, CFA_RESTORE_STATE = 0x0b, CFA_DEF = 0x0c, CFA_DEF_REG = 0x0d, CFA_DEF_OFFSET = 0x0e };
enum { CIE_BYTES = 24, FDE_BYTES = 56, AFTER_PUSH = 5, AFTER_MOV = 8 };
static void put_cie(struct out *o) {
    const uint8_t *start = o->p + 4;
    put_u32(o, CIE_BYTES - 4);
    put_u32(o, 0);                                       /* a CIE */
    put_u8(o, 1);                                        /* version */
    put_u8(o, 0);                                        /* no augmentation: absolute addresses */
    put_u8(o, 1);                                        /* code alignment */
    put_u8(o, 0x78);                                     /* data alignment -8 */
    put_u8(o, 16);                                       /* return address */
    put_u8(o, CFA_DEF), put_u8(o, 7), put_u8(o, 8);      /* at entry: the address was pushed */
    put_u8(o, 0x80 | 16), put_u8(o, 1);
    while (o->p < start + CIE_BYTES - 4)
        put_u8(o, 0);
}
/* Every function begins endbr64; push rbp; mov rbp,rsp and pops rbp once, right before ret; stubs stand behind that. */
static void put_fde(struct out *o, const uint8_t *section, const struct rdn_code_row *r) {
    uint8_t *start = o->p + 4;
    put_u32(o, FDE_BYTES - 4);
    put_u32(o, (uint32_t)(o->p - section));              /* back to the CIE, which comes first */
    put_u64(o, (uintptr_t)r->code);
    put_u64(o, r->bytes);
    put_u8(o, CFA_ADVANCE1), put_u8(o, AFTER_PUSH);
    put_u8(o, CFA_DEF_OFFSET), put_u8(o, 16);
    put_u8(o, 0x80 | 6), put_u8(o, 2);
    put_u8(o, CFA_ADVANCE1), put_u8(o, AFTER_MOV - AFTER_PUSH);
    put_u8(o, CFA_DEF_REG), put_u8(o, 6);
    if (r->leave) {
        put_u8(o, CFA_REMEMBER);
        put_u8(o, CFA_ADVANCE4), put_u32(o, r->leave + 1 - AFTER_MOV);   /* pop rbp has one byte, ret too */
        put_u8(o, CFA_DEF), put_u8(o, 7), put_u8(o, 8);
        put_u8(o, CFA_ADVANCE1), put_u8(o, 1);
        put_u8(o, CFA_RESTORE_STATE);
    }
    while (o->p < start + FDE_BYTES - 4)
        put_u8(o, 0);
}

static void section(struct object *x, unsigned i, uint32_t type, uint64_t flags, const uint8_t *at, size_t size) {
    x->sections[i] = (Elf64_Shdr){ .sh_name = section_name_at[i], .sh_type = type, .sh_flags = flags, .sh_size = size, .sh_addralign = 8,
                                   .sh_offset = (uint64_t)(at - (uint8_t *)&x->head) };
}
static void fill(struct object *x, const struct rdn_code_row *rows, uint32_t n) {
    struct out o = { x->rest };
    uint8_t *at = o.p;
    put_cie(&o);
    for (uint32_t i = 0; i < n; i++)
        put_fde(&o, at, &rows[i]);
    put_u32(&o, 0);                                      /* the end of .eh_frame */
    pad(&o, at);
    section(x, EH_FRAME, SHT_PROGBITS, SHF_ALLOC, at, (size_t)(o.p - at));
    x->sections[EH_FRAME].sh_addr = (uintptr_t)at;
    at = o.p;
    Elf64_Sym sym = { .st_name = 0 };
    uint32_t name = sizeof section_names;
    put(&o, &sym, sizeof sym);
    for (uint32_t i = 0; i < n; i++) {
        sym = (Elf64_Sym){ .st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = TEXT,
                           .st_value = (uint64_t)(rows[i].code - x->code), .st_size = rows[i].bytes };
        put(&o, &sym, sizeof sym);
        name += (uint32_t)strlen(rows[i].name) + 1;
    }
    section(x, SYMTAB, SHT_SYMTAB, 0, at, (size_t)(o.p - at));
    x->sections[SYMTAB].sh_link = STRTAB;
    x->sections[SYMTAB].sh_info = 1;                     /* the first that is global */
    x->sections[SYMTAB].sh_entsize = sizeof sym;
    at = o.p;
    put(&o, section_names, sizeof section_names);
    for (uint32_t i = 0; i < n; i++)
        put(&o, rows[i].name, strlen(rows[i].name) + 1);
    section(x, STRTAB, SHT_STRTAB, 0, at, (size_t)(o.p - at));
    x->entry.symfile_size = (uint64_t)(o.p - (uint8_t *)&x->head);
    section(x, TEXT, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, (uint8_t *)&x->head, x->code_bytes);
    x->sections[TEXT].sh_addr = (uintptr_t)x->code;
    x->sections[TEXT].sh_offset = 0;
    x->head = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_REL,
                            .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_shoff = sizeof x->head, .e_ehsize = sizeof x->head,
                            .e_shentsize = sizeof *x->sections, .e_shnum = SECTIONS, .e_shstrndx = STRTAB };
}

/* ---- the sink ---- */
static void tell(struct object *x, uint32_t action) {
    __jit_debug_descriptor.relevant_entry = &x->entry;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
}
static void add(void *ctx, const struct rdn_code_row *rows, uint32_t n) {
    (void)ctx;
    size_t bytes = sizeof(struct object) + CIE_BYTES + (size_t)n * FDE_BYTES + 16 + (n + 1) * sizeof(Elf64_Sym) + sizeof section_names;
    for (uint32_t i = 0; i < n; i++)
        bytes += strlen(rows[i].name) + 1;
    struct object *x = n ? calloc(1, bytes) : NULL;
    if (!x)
        return;                                          /* a debugger sees less; nothing depends on it */
    const struct rdn_code_row *last = &rows[n - 1];
    x->code = rows[0].code;
    x->code_bytes = (size_t)(last->code + last->bytes - x->code);
    x->entry.symfile_addr = (const char *)&x->head;
    fill(x, rows, n);
    pthread_mutex_lock(&lock);
    x->next = objects;
    objects = x;
    x->entry.next_entry = __jit_debug_descriptor.first_entry;
    if (x->entry.next_entry)
        x->entry.next_entry->prev_entry = &x->entry;
    __jit_debug_descriptor.first_entry = &x->entry;
    tell(x, JIT_REGISTER_FN);
    pthread_mutex_unlock(&lock);
}
static void forget(struct object *x) {
    struct jit_code_entry *e = &x->entry;
    if (e->next_entry)
        e->next_entry->prev_entry = e->prev_entry;
    if (e->prev_entry)
        e->prev_entry->next_entry = e->next_entry;
    else
        __jit_debug_descriptor.first_entry = e->next_entry;
    tell(x, JIT_UNREGISTER_FN);
    free(x);
}
static void drop(void *ctx, const uint8_t *code, size_t bytes) {
    (void)ctx;
    pthread_mutex_lock(&lock);
    for (struct object **p = &objects, *x; (x = *p);) {
        if (x->code >= code && x->code < code + bytes) {
            *p = x->next;
            forget(x);
        } else {
            p = &x->next;
        }
    }
    pthread_mutex_unlock(&lock);
}
struct rdn_code_sink rdn_gdb_sink(void) { return (struct rdn_code_sink){ NULL, add, drop }; }
