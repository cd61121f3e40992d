/* SPDX-License-Identifier: Apache-2.0
 *
 * plugin.h: a native plugin: functions in C or C++ that rules call.
 *
 *   REDAN_DECLARE("org.example.mid", "1.0.0")     once: the note that is read before any code runs
 *   redan_plugin_entry                                  the one exported symbol
 *
 * The host loads the library in a process of its own, without files, network, threads or other processes, then calls
 * create, activate, selftest, and from then on only the functions. Memory is taken in create or activate.
 *
 * Tags      [setup] one thread, may allocate   [hot] no allocation, no lock, no system call   [any] any time
 *           [active] only between activate and deactivate
 * Append    Structures grow at their end only. `size` is the caller's; nothing beyond it is read.
 * Build     pkg-config --cflags --libs redan-plugin; then `redan plugin check FILE.so` says what is missing. */
#ifndef REDAN_PLUGIN_H
#define REDAN_PLUGIN_H
#include <redan/redan.h>
#ifdef __cplusplus
extern "C" {
#endif

#define REDAN_PLUGIN_ABI 1u                             /* bumped only when an old plugin would misbehave */

/* Column types. Width is the bytes of one value. Arrays and event rows are only parameters. */
enum { REDAN_COL_BOOL = 1, REDAN_COL_INT, REDAN_COL_FLOAT, REDAN_COL_DEC, REDAN_COL_TIME, REDAN_COL_DUR, REDAN_COL_DATE, REDAN_COL_ENUM,
       REDAN_COL_TEXT, REDAN_COL_SYM, REDAN_COL_EVENT, REDAN_COL_FLOATS, REDAN_COL_INTS };
typedef struct redan_col { const void *data; uint32_t type, width; } redan_col;   /* nrows values, one after the other */

typedef struct redan_call {                             /* frozen within an ABI version */
  const redan_col *in;
  void *out;                                            /* nrows values of the answer's type, zeroed */
  uint8_t *status;                                      /* by row: preset to 0 = value; write 1 = undefined */
  uint32_t nrows, ncols;
  int64_t now_ns;                                       /* event time of the newest row */
  uint64_t call_id;
} redan_call;

typedef struct redan_host {                             /* owned by the host, valid until destroy() returns */
  uint32_t size, abi;
  void *ctx;
  uint64_t seed;                                        /* of this plugin, generation and lane: the same on replay */
  void (*log)(void *ctx, uint32_t level, const char *line);                           /* [any] 4 KiB a call */
  void (*error)(void *ctx, const char *file, uint32_t line, const char *text);        /* [any] why the next return is not 0 */
  const void *(*extension)(void *ctx, const char *id);                                /* [any] NULL: not known */
} redan_host;

typedef struct redan_fn {
  uint32_t size, flags;                                 /* no flag yet */
  const char *signature;                                /* "mid(bid: float, ask: float) -> float" */
  int (*call)(void *self, const redan_call *);          /* [hot & active] 0, or not: every row failed, see redan_host.error */
} redan_fn;

typedef struct redan_plugin_desc {                      /* static in the plugin; members are only appended; NULL: nothing to do */
  uint32_t size, abi;
  const char *id, *version;
  const redan_fn *const *fns;                           /* ends with NULL; at most 16 */
  int  (*create)(const redan_host *, const char *config_json, void **ret_self, redan_error *);   /* [setup] */
  void (*destroy)(void *self);                                                        /* [setup & !active] */
  int  (*activate)(void *self, redan_error *);                                        /* [setup] */
  void (*deactivate)(void *self);                                                     /* [setup] */
  int  (*selftest)(void *self, redan_error *);                                        /* [setup & active] */
  int  (*save)(void *self, void *buf, size_t cap, size_t *ret_len);                   /* [setup & active] */
  int  (*load)(void *self, const void *buf, size_t len, redan_error *);               /* [setup & !active] */
  const void *(*extension)(void *self, const char *id);                               /* [any] */
} redan_plugin_desc;

/* The plugin number `index` of the library for a host of that ABI; NULL past the last. [setup] */
REDAN_API const redan_plugin_desc *redan_plugin_entry(uint32_t host_abi, uint32_t index);
typedef const redan_plugin_desc *redan_plugin_entry_fn(uint32_t host_abi, uint32_t index);

/* What must be known before any code runs. Layouts: pairs of 64-bit FNV-1a of an event's name and its layout hash, both as
 * `redan bindgen` prints them. */
struct redan_note_layout { uint64_t name_hash, layout_hash; } __attribute__((packed));
struct redan_note_desc {
  uint32_t desc_size;
  uint16_t abi, minor;
  uint32_t caps, nlayouts;
  char id[64], version[24];
  struct redan_note_layout layouts[8];
} __attribute__((packed, aligned(4)));
struct redan_note { uint32_t namesz, descsz, type; char name[8]; struct redan_note_desc desc; };
#define REDAN_DECLARE_EVENTS(id, version, caps, n, ...)                                                                           \
  __attribute__((section(".note.redan"), used, aligned(4))) static const struct redan_note redan_note_ = {                        \
    6, (uint32_t)sizeof(struct redan_note_desc), 1, "Redan",                                                                      \
    { (uint32_t)sizeof(struct redan_note_desc), (uint16_t)REDAN_PLUGIN_ABI, 0, caps, n, id, version, { __VA_ARGS__ } } };
/* For each event the plugin takes, with the text that bindgen prints as NAME_CANON: a layout that differs is then named by field. */
#define REDAN_EVENT(canon) REDAN_EVENT_(canon, __LINE__)
#define REDAN_EVENT_(canon, line) REDAN_EVENT__(canon, line)
#define REDAN_EVENT__(canon, line)                                                                                                \
  __attribute__((section(".note.redan"), used, aligned(4))) static const struct {                                                 \
    uint32_t namesz, descsz, type; char name[8]; char text[(sizeof(canon) + 3) & ~3u]; } redan_event_##line = {                   \
    6, (uint32_t)((sizeof(canon) + 3) & ~3u), 2, "Redan", canon };
#define REDAN_DECLARE(id, version) REDAN_DECLARE_EVENTS(id, version, 0, 0, { 0, 0 })

#ifdef __cplusplus
}
#endif
#endif
