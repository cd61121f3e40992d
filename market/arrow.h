/* SPDX-License-Identifier: Apache-2.0
 * arrow.h: chunks of columns as the Arrow C data interface, without a copy: the consumer's arrays are the chunk's own memory, which
 * lives until the last of them is released.
 *
 * The three structures are those of the interface's definition; whoever includes another header with them includes it first or later, the
 * guard is the same. Releasing is [any]; a stream takes the lock of its cursor's pass for each chunk. */
#ifndef RDN_ARROW_H
#define RDN_ARROW_H
#include "market/columns.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* False: no memory; *ret is untouched. Of a table: a struct of its columns. Prices say their tick and quantities their lot ("redan.tick",
 * "redan.lot") where all instruments of `feed` (NULL: not told) have the same. */
bool rdn_arrow_schema(enum rdn_market_table, bool decimal, const redan_feed *feed, struct ArrowSchema *ret);
bool rdn_arrow_column_schema(enum rdn_market_table, uint32_t column, bool decimal, const redan_feed *feed, struct ArrowSchema *ret);
bool rdn_arrow_array(struct rdn_columns *, struct ArrowArray *ret);
bool rdn_arrow_column_array(struct rdn_columns *, uint32_t column, struct ArrowArray *ret);
bool rdn_arrow_stream(struct rdn_cursor *, struct ArrowArrayStream *ret);
#endif
