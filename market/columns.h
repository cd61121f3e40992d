/* SPDX-License-Identifier: Apache-2.0
 * columns.h: a market file as tables of columns (columns.def), a chunk of rows at a time, with books kept on the way.
 *
 *   rdn_cursor_open    [setup]   a table of a pass; further events of the pass belong to the cursor
 *   rdn_cursor_next    [lane]    a chunk, or NULL at the end; O(rows)
 *   rdn_columns_unref  [any]     the last one frees the chunk
 *
 * A chunk is one block of memory that is never moved and, once handed out, never changed: views of it may live as long as they hold a
 * reference. Columns begin at multiples of 64 bytes. An absent value is 0 in its column and a 0 bit in `valid`.
 * Memory: the chunk that is being filled, and what the pass has. */
#ifndef RDN_COLUMNS_H
#define RDN_COLUMNS_H
#include "market/reading.h"

enum rdn_market_table {
#define TABLE(NAME, name, doc) RDN_TABLE_##NAME,
#define COLUMN(NAME, name, type, absent, doc)
#include "market/columns.def"
#undef TABLE
#undef COLUMN
    RDN_TABLES
};
/* TIME: i64 nanoseconds since 1970, UTC. PX: i64 ticks, or with `decimal` DEC. QTY: i64 lots, or DEC. DEC: 128-bit units of 10^-9. */
enum rdn_column_type { RDN_COL_TIME, RDN_COL_PX, RDN_COL_QTY, RDN_COL_U64, RDN_COL_U32, RDN_COL_U16, RDN_COL_U8, RDN_COL_DEC };
enum { RDN_COLUMNS_MAX = 12, RDN_CHUNK_ROWS = 65536, RDN_CHUNK_ROWS_MAX = 1 << 20, RDN_CHUNK_DEPTH_MAX = 256, RDN_ON_EVENT = 0, RDN_ON_CHANGE = -1 };

struct rdn_column_def { const char *name; enum rdn_column_type type; bool may_be_absent; const char *doc; };
const struct rdn_column_def *rdn_table_columns(enum rdn_market_table, uint32_t *ret_n);
const char *rdn_table_name(enum rdn_market_table);              /* NULL past the last */
unsigned rdn_column_width(enum rdn_column_type);         /* bytes of a value */

struct rdn_columns {
    _Atomic uint32_t refs;
    enum rdn_market_table table;
    bool decimal;
    uint32_t n, cap, ncols;
    size_t bytes;                                        /* of the whole block */
    uint64_t absent[RDN_COLUMNS_MAX];
    uint8_t *valid[RDN_COLUMNS_MAX];                     /* a bit a row, low first; NULL where nothing can be absent */
    void *data[RDN_COLUMNS_MAX];
};
enum rdn_column_type rdn_columns_type(const struct rdn_columns *, uint32_t column);
struct rdn_columns *rdn_columns_ref(struct rdn_columns *);
void rdn_columns_unref(struct rdn_columns *);            /* takes NULL */
uint64_t rdn_columns_live(void);                         /* [any] chunks of the process that somebody holds */

struct rdn_cursor_options {
    enum rdn_market_table table;
    int64_t on;                                          /* BBO, TICKS, LEVELS: a row a message, RDN_ON_EVENT; one a change of what it shows,
                                                            RDN_ON_CHANGE; or the last of each so many nanoseconds of ts_recv */
    uint32_t rows, depth;                                /* of a chunk (0: 65,536); LEVELS: levels a side (0: 10) */
    bool decimal;                                        /* prices and quantities as decimals instead of ticks and lots */
};
struct rdn_cursor;
int  rdn_cursor_open(struct rdn_cursor **ret, struct rdn_reading *, const struct rdn_cursor_options *, redan_error *);    /* INVAL, NOMEM */
struct rdn_cursor *rdn_cursor_ref(struct rdn_cursor *);
void rdn_cursor_unref(struct rdn_cursor *);
int  rdn_cursor_next(struct rdn_cursor *, struct rdn_columns **ret, redan_error *);           /* takes the pass's lock */
const struct rdn_cursor_options *rdn_cursor_of(const struct rdn_cursor *);
struct rdn_reading *rdn_cursor_pass(const struct rdn_cursor *);
#endif
