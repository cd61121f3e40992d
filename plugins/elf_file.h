/* SPDX-License-Identifier: Apache-2.0
 * elf_file.h: a shared object as bytes: its dynamic section, symbols, versions and notes. No offset of the file is believed before it
 * lies inside the file; strings end inside their table. A file may be made to be slow to read: notes and symbols are looked at in time
 * linear in what is looked at, and there is a bound on that. For elfcheck.c and the native worker. */
#ifndef RDN_ELF_FILE_H
#define RDN_ELF_FILE_H
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rdn_elf {
    const uint8_t *p; size_t n;
    const Elf64_Phdr *ph; uint32_t nph;
    const Elf64_Dyn *dyn; uint32_t ndyn;
    const Elf64_Sym *sym; uint32_t nsym;
    const uint16_t *versym;                             /* by symbol, or NULL */
    const char *str; size_t nstr;
    bool exec_stack, textrel, static_tls;
};
/* False with a reason in *ret_why when it is no ELF64 shared object of this machine. */
bool rdn_elf_open(struct rdn_elf *, const void *bytes, size_t n, const char **ret_why);
const char *rdn_elf_str(const struct rdn_elf *, uint64_t offset);        /* "" when outside */
/* `bytes` bytes at an address of the loaded image, aligned to `align` in the file, or NULL. */
const void *rdn_elf_at(const struct rdn_elf *, uint64_t addr, uint64_t bytes, unsigned align);
bool rdn_elf_dyn(const struct rdn_elf *, int64_t tag, uint64_t *ret);
/* The next note, or NULL; at begins as { 0 }. Notes beyond the first 64 KiB of all of them are not looked at. */
struct rdn_elf_notes { uint32_t segment; uint64_t off, seen; };
const Elf64_Nhdr *rdn_elf_note(const struct rdn_elf *, struct rdn_elf_notes *at, const char **ret_name, const uint8_t **ret_desc);
/* Whether it defines the symbol; by its hash table where it has the usual one. For libraries of this machine. */
bool rdn_elf_defines(const struct rdn_elf *, const char *name);
uint64_t rdn_elf_image_bytes(const struct rdn_elf *);   /* address space that loading it takes */
#endif
