/* SPDX-License-Identifier: Apache-2.0
 * crc.h: the checksum of tapes: CRC-32 as zlib has it. A block of a tape is read as fast as memory where the processor multiplies
 * without carries; zlib's own code takes as long for a record as a book does. [any] */
#ifndef RDN_CRC_H
#define RDN_CRC_H
#include <stddef.h>
#include <stdint.h>

uint32_t rdn_crc32(const void *bytes, size_t n);
#endif
