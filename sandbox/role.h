/* SPDX-License-Identifier: Apache-2.0
 * role.h: what a runtime (Python, native, Lua) provides to the zygote; the only way sandbox/ and an interpreter meet.
 *
 * redan-worker loads redan-worker-ROLE.so, asks rdn_role_get() for this table, and calls it in the order of the members.
 * Members marked [signal] run in a signal handler: no allocation, no lock, no system call. */
#ifndef RDN_ROLE_H
#define RDN_ROLE_H
#include "sandbox/code.h"
#include "sandbox/wire.h"

#define RDN_ROLE_ABI 4u
struct rdn_worker {                                     /* one confined process, seen from inside */
    const struct rdn_req *req;
    struct rdn_res *res;
    const struct rdn_load *load;
    size_t req_bytes, res_bytes, load_bytes;
    _Atomic uint32_t current;                           /* the call in progress; 0 between calls */
    char code_path[RDN_CODE_PATH];                      /* roles with .code: where its library is */
};
struct rdn_role_start { const char *site, *preload; uint64_t seed; char *err; size_t err_cap; };   /* preload: "a,b,c" */
struct rdn_role {
    uint32_t abi;
    const char *version;                                /* "3.11.2" */
    /* Zygote, steps 2 to 5 of steps.def: 0, or the step that failed with its text in err. */
    unsigned (*start)(const struct rdn_role_start *);
    unsigned (*handlers)(const struct rdn_role_start *);             /* step 7 */
    void (*freeze)(void);                                            /* step 11 */
    void (*before_fork)(void);
    void (*after_fork_parent)(void);
    void (*after_fork_child)(void);                                  /* step 4 of the worker */
    /* Worker. Both fill status, err_*, traceback of res; seq is the call loop's. */
    void (*load)(struct rdn_worker *);
    /* Native code: the library in the load page and the address space it takes. Set: the worker is confined by two filters, the
     * second after load; NULL: by one. */
    const void *(*code)(const struct rdn_load *, size_t *ret_bytes, uint64_t *ret_image_bytes);
    void (*call)(struct rdn_worker *);
    /* State over a reload, or NULL. save answers nrows bytes in values, NO_FUNCTION without any; restore gets req.nrows in args. */
    void (*save)(struct rdn_worker *);
    void (*restore)(struct rdn_worker *);
    /* After an answer, when the next call has not come yet: microseconds at most. May be NULL. */
    void (*rest)(struct rdn_worker *);
    bool makes_code;                                    /* a JIT: pages may become executable, see making.def */
    uint64_t extra_bytes;                               /* address space and data on top of the cap, for machine code */
    size_t (*where)(char *out, size_t cap);             /* [signal] "score.py:3" of the plugin's innermost frame */
    size_t (*dump)(char *out, size_t cap);              /* [signal] traceback after a crash */
};
typedef const struct rdn_role *rdn_role_get_fn(void);   /* exported by the .so as rdn_role_get */

/* CPython's crash dumper writes to a descriptor; this number means "the buffer". redan-worker interposes write(2). */
#define RDN_SINK_FD 0x52444e
#endif
