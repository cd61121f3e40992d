/* SPDX-License-Identifier: Apache-2.0
 * wire.h: the pages a worker shares with the host, and the messages of a zygote's control socket (SANDBOX.md 8).
 *
 * req    host -> worker; the worker can map it only readable, the memfd is sealed against new writers
 * res    worker -> host; every byte is untrusted, the host maps it readable only and loads each word once
 * load   host -> workers of one generation; sealed before it is sent
 *
 * Little endian, 64-bit. Offsets are frozen by the asserts below; a change is a new RDN_WIRE_VERSION. */
#ifndef RDN_WIRE_H
#define RDN_WIRE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDN_WIRE_VERSION 2u
#define RDN_LOAD_MAGIC "RDNLOAD1"
#define RDN_CTL_MAGIC 0x314e4452u                      /* "RDN1" */
enum {
    RDN_MAX_FNS = 16, RDN_MAX_COLS = 32, RDN_MAX_ROWS = 4096,
    RDN_PAGE = 4096, RDN_RES_VALUES = 12288, RDN_LOAD_HEAD = 192,
    RDN_LOAD_MAX = 64 << 20,
    RDN_PLACES = 8,
    RDN_STATE_MAX = (1 << 20) + RDN_PAGE,               /* state carried over a reload: 1 MiB and its mark */
    RDN_CTL_FD = 3,                                     /* the control socket in zygote and worker */
};
enum rdn_op_code { RDN_CALL = 1, RDN_PING, RDN_SELFTEST, RDN_SAVE, RDN_RESTORE, RDN_DESCRIBE };
enum rdn_status { RDN_ST_OK, RDN_ST_EXCEPTION, RDN_ST_TIMEOUT, RDN_ST_NO_FUNCTION, RDN_ST_MEMORY, RDN_ST_BAD_RESULT, RDN_ST_SIGNATURE };
enum rdn_row_status { RDN_ROW_VALUE, RDN_ROW_UNDEFINED, RDN_ROW_EXCEPTION, RDN_ROW_BAD };

struct rdn_req {
    _Atomic uint32_t seq;                               /* futex word: number of the newest call; 1 is the load */
    _Atomic uint32_t stop_seq;                          /* the call a soft stop is meant for */
    _Atomic uint32_t waiting;                           /* 1: the lane waits on res.seq in futex, a wake is needed */
    uint32_t pad0[13];
    uint32_t op, fn, nrows, flags;
    uint64_t call_id;
    int64_t  now_ns, deadline_ns;
    uint32_t spin_ns, pad1;
    uint8_t  trace[26], pad2[2];
    uint32_t lane;                                      /* lane and seed are read once, while loading */
    uint64_t seed;
    uint8_t  reserved[3944];
    uint8_t  args[];                                    /* columns, each at the offset its descriptor names */
};
struct rdn_trap { uint32_t nr, place; uint64_t arg0; };  /* place: the number of its entry in places */
struct rdn_res {
    _Atomic uint32_t seq;                               /* futex word: number of the newest answered call */
    _Atomic uint32_t sleeping;                          /* 1: the worker waits in futex, a wake is needed; advice */
    uint32_t pad0[14];
    uint32_t status, nrows;
    int64_t  t_start_ns, t_end_ns;
    uint64_t live_bytes, peak_bytes;
    uint32_t err_len, err_line, log_len, log_dropped, trap_count, tb_len;
    char     err_type[64], err_text[1024], traceback[2048];
    struct rdn_trap traps[16];
    char     places[8][64];                             /* "score.py:3": where denied calls were made, a ring */
    uint32_t place_count;                               /* counts through all calls; entry k is places[k % RDN_PLACES] */
    uint8_t  reserved[60];
    char     log[4096];
    uint8_t  row_status[RDN_MAX_ROWS];
    uint8_t  values[];                                  /* nrows values of the return type */
};
struct rdn_wspan { uint32_t off, len; };
struct rdn_load {
    char     magic[8];
    uint32_t version, total_bytes;
    uint64_t generation, cap_bytes;
    uint32_t max_rows, nfns, ncols, flags;
    struct rdn_wspan id, files, config, state, fns, cols, enums;
    uint8_t  sha256[32];
    uint8_t  reserved[56];
};
enum { RDN_LOAD_PLAIN = 1, RDN_LOAD_TEST_ADDR = 2 };    /* any callable by name; W_ADDR is set (tests of hostile pages) */
struct rdn_wfile { uint16_t kind, name_len; uint32_t bytes; };   /* kind 1 module, 2 data; name and bytes follow, padded to 64 */
struct rdn_wfn {
    char     name[72];                                    /* identifiers have at most 64 bytes */
    uint32_t first_col, ncols;
    uint16_t ret_type, ret_width, ret_scale, flags;
    uint32_t enum_first, enum_count;                    /* of the return type */
};
/* enum_first: byte offset in the enums span, members one after the other, each terminated. enum: flags members. event: its name
 * at enum_first, flags fields from column first_field. A field: arena_off is its offset in the row, the high byte of scale its
 * present bit + 1, 0 when it is always there. Arrays: layout_hash is the number
 * of columns, flags the number of dimensions. */
struct rdn_wcol {
    char     name[72];                                    /* identifiers have at most 64 bytes */
    uint16_t type, width, scale, flags;
    uint32_t arena_off, enum_first, first_field, pad;
    uint64_t layout_hash;
};
enum rdn_ctl_kind { RDN_CTL_HELLO = 1, RDN_CTL_SPAWN, RDN_CTL_SPAWNED, RDN_CTL_CONFINED, RDN_CTL_EXIT };
struct rdn_ctl_spawn {                                  /* host -> zygote with req, res, load */
    uint32_t magic, kind;
    uint64_t token;
    uint32_t uid, gid, want, deny;                      /* uid 0: keep; want: bits of mechanisms.def */
    uint64_t cap_bytes;
    uint32_t req_bytes, res_bytes, load_bytes;
    uint32_t threads;                                   /* that native code may start while it loads */
};
struct rdn_ctl_report {                                 /* zygote or worker -> host; SPAWNED brings a pidfd, CONFINED the listener */
    uint32_t magic, kind;
    uint64_t token;
    int32_t  pid, err;                                  /* EXIT: the wait status in err */
    uint32_t step, got;
    char     text[160];                                 /* HELLO: version, or why the step failed */
};

#define RDN_AT(T, m, o) _Static_assert(offsetof(struct T, m) == (o), #T "." #m)
RDN_AT(rdn_req, stop_seq, 4);      RDN_AT(rdn_req, waiting, 8);     RDN_AT(rdn_req, op, 64);         RDN_AT(rdn_req, fn, 68);        RDN_AT(rdn_req, nrows, 72);
RDN_AT(rdn_req, flags, 76);        RDN_AT(rdn_req, call_id, 80);    RDN_AT(rdn_req, now_ns, 88);    RDN_AT(rdn_req, deadline_ns, 96);
RDN_AT(rdn_req, spin_ns, 104);     RDN_AT(rdn_req, trace, 112);     RDN_AT(rdn_req, lane, 140);     RDN_AT(rdn_req, seed, 144);
RDN_AT(rdn_req, args, 4096);
RDN_AT(rdn_res, sleeping, 4);      RDN_AT(rdn_res, status, 64);     RDN_AT(rdn_res, nrows, 68);     RDN_AT(rdn_res, t_start_ns, 72);
RDN_AT(rdn_res, live_bytes, 88);   RDN_AT(rdn_res, err_len, 104);   RDN_AT(rdn_res, err_line, 108); RDN_AT(rdn_res, log_len, 112);
RDN_AT(rdn_res, trap_count, 120);  RDN_AT(rdn_res, tb_len, 124);    RDN_AT(rdn_res, err_type, 128); RDN_AT(rdn_res, err_text, 192);
RDN_AT(rdn_res, traceback, 1216);  RDN_AT(rdn_res, traps, 3264);    RDN_AT(rdn_res, log, 4096);     RDN_AT(rdn_res, row_status, 8192);
RDN_AT(rdn_res, values, RDN_RES_VALUES);
RDN_AT(rdn_load, generation, 16);  RDN_AT(rdn_load, max_rows, 32);  RDN_AT(rdn_load, id, 48);       RDN_AT(rdn_load, sha256, 104);
_Static_assert(sizeof(struct rdn_load) == RDN_LOAD_HEAD, "load");
_Static_assert(sizeof(struct rdn_wfn) == 96 && sizeof(struct rdn_wcol) == 104, "descriptors");
_Static_assert(sizeof(struct rdn_ctl_spawn) == 56 && sizeof(struct rdn_ctl_report) == 192, "control");
_Static_assert(sizeof(struct rdn_trap) == 16 && sizeof(struct rdn_wfile) == 8, "parts");

enum {
#define MECH(NAME, bit, text, doc) RDN_GOT_##NAME = 1 << bit,
#include "sandbox/mechanisms.def"
#undef MECH
};
enum {
#define ZSTEP(n, NAME, text) RDN_Z_##NAME = n,
#define CSTEP(n, NAME, text) RDN_C_##NAME = n,
#include "sandbox/steps.def"
#undef ZSTEP
#undef CSTEP
};
const char *rdn_zstep_text(unsigned step);              /* "?" for an unknown number */
const char *rdn_cstep_text(unsigned step);
const char *rdn_mech_text(unsigned bit);                /* by bit number; NULL past the last */

/* One message and up to four descriptors over a SOCK_SEQPACKET socket. send answers 0 or -errno. recv answers the bytes, 0 at
 * the end, -errno; missing descriptors are -1, all are close-on-exec. [any] */
int rdn_ctl_send(int sock, const void *msg, size_t n, const int *fds, unsigned nfds);
int rdn_ctl_recv(int sock, void *msg, size_t n, int *fds, unsigned nfds);

/* A memfd of that size, populated; -errno. Seals are set after the host mapped it: rdn_page_seal. */
int rdn_page_create(const char *name, size_t bytes);
int rdn_page_seal(int fd, unsigned seals);

static inline uint32_t rdn_load32(const void *p) { return atomic_load_explicit((const _Atomic uint32_t *)p, memory_order_relaxed); }
/* FUTEX_WAIT until *word != was, or the absolute CLOCK_MONOTONIC time (0: for ever); 0, or -errno. */
int  rdn_futex_wait(const _Atomic uint32_t *word, uint32_t was, int64_t until_ns);
void rdn_futex_wake(const _Atomic uint32_t *word);
#endif
