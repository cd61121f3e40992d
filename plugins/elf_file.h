/* SPDX-License-Identifier: Apache-2.0
 * elf_file.h: a shared object as bytes: its dynamic section, symbols, versions and notes. No offset of the file is believed before it
 * lies inside the file; strings end inside their table. For elfcheck.c and the native worker. */
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
/* `bytes` bytes at an address of the loaded image, or NULL. */
const void *rdn_elf_at(const struct rdn_elf *, uint64_t addr, uint64_t bytes);
bool rdn_elf_dyn(const struct rdn_elf *, int64_t tag, uint64_t *ret);
/* The next note, or NULL. *at begins at 0. */
const Elf64_Nhdr *rdn_elf_note(const struct rdn_elf *, uint64_t *at, const char **ret_name, const uint8_t **ret_desc);
uint64_t rdn_elf_image_bytes(const struct rdn_elf *);   /* address space that loading it takes */
#endif
