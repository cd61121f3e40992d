/* SPDX-License-Identifier: Apache-2.0
 * source.c: plain, gzip, zstd and zip files (source.h). Of a zip file the first member is read, which stands in front of the directory. */
#include "market/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/err.h"
#include "base/mem.h"

enum { IN_BYTES = 1 << 16 };
enum packing { PLAIN, GZIP, ZSTD, ZIP };

struct rdn_source {
    int fd;
    enum packing packing;
    bool ended, inside;                                  /* no more input; in the middle of a member or frame */
    size_t at, n;
    z_stream z;
    ZSTD_DStream *zstd;
    unsigned char in[IN_BYTES];
};

/* More input behind what is unread; false: end of file or an error. */
static int refill(struct rdn_source *s, redan_error *reterr) {
    memmove(s->in, s->in + s->at, s->n - s->at);
    s->n -= s->at;
    s->at = 0;
    while (!s->ended && s->n < IN_BYTES) {
        ssize_t got = read(s->fd, s->in + s->n, IN_BYTES - s->n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rdn_fail_sys(reterr, "read");
        s->ended = got == 0;
        s->n += (size_t)got;
        if (got > 0)
            break;
    }
    return 0;
}

/* A member's head is 30 bytes, its name and more; what follows is deflate without a head of its own. */
static int begin_zip(struct rdn_source *s, redan_error *reterr) {
    size_t head = 30u + s->in[26] + s->in[27] * 256u + s->in[28] + s->in[29] * 256u;
    if (s->in[8] != 8 || s->in[9] != 0 || (s->in[6] & 1) || head > s->n)
        return rdn_fail(reterr, NOSUP, "", "zip: only members packed by deflate and not encrypted");
    if (inflateInit2(&s->z, -15) != Z_OK)
        return rdn_fail(reterr, NOMEM, "", "no memory to read zip");
    s->packing = ZIP;
    s->at = head;
    return 0;
}

static int begin(struct rdn_source *s, redan_error *reterr) {
    while (s->n < 512 && !s->ended)
        if (refill(s, reterr) < 0)
            return REDAN_E_SYS;
    if (s->n >= 4 && memcmp(s->in, "\x28\xb5\x2f\xfd", 4) == 0)
        s->packing = ZSTD;
    else if (s->n >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b)
        s->packing = GZIP;
    else if (s->n >= 30 && memcmp(s->in, "PK\3\4", 4) == 0)
        return begin_zip(s, reterr);
    if (s->packing == ZSTD && !(s->zstd = ZSTD_createDStream()))
        return rdn_fail(reterr, NOMEM, "", "no memory to read zstd");
    if (s->packing == GZIP && inflateInit2(&s->z, 15 + 16) != Z_OK)
        return rdn_fail(reterr, NOMEM, "", "no memory to read gzip");
    return 0;
}

int rdn_source_open(struct rdn_source **ret, const char *path, redan_error *reterr) {
    struct rdn_source *s = rdn_zalloc(&rdn_libc_mem, sizeof *s);
    if (!s)
        return rdn_fail(reterr, NOMEM, "", "no memory to read %s", path);
    s->fd = strcmp(path, "-") == 0 ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
    int rc = s->fd < 0 ? rdn_fail_sys(reterr, "open") : begin(s, reterr);
    if (rc < 0) {
        rdn_source_close(s);
        return rdn_wrap(reterr, rc, "%s", path);
    }
    *ret = s;
    return 0;
}

void rdn_source_close(struct rdn_source *s) {
    if (!s)
        return;
    if (s->packing == GZIP || s->packing == ZIP)
        inflateEnd(&s->z);
    ZSTD_freeDStream(s->zstd);
    if (s->fd >= 0)
        close(s->fd);
    rdn_free(&rdn_libc_mem, s, sizeof *s);
}

/* One step of unpacking: input taken and output made; CORRUPT. A gzip member that ends is followed by the next, a zip member by what
 * is not read. */
static int inflate_some(struct rdn_source *s, unsigned char *out, size_t cap, size_t *ret_made, redan_error *reterr) {
    s->z.next_in = s->in + s->at;
    s->z.avail_in = (uInt)(s->n - s->at);
    s->z.next_out = out;
    s->z.avail_out = (uInt)cap;
    int rc = inflate(&s->z, Z_NO_FLUSH);
    s->at = s->n - s->z.avail_in;
    *ret_made = cap - s->z.avail_out;
    s->inside = rc != Z_STREAM_END;
    if (rc == Z_STREAM_END && s->packing == ZIP) {
        s->at = s->n = 0;
        s->ended = true;
    } else if (rc == Z_STREAM_END) {
        inflateReset(&s->z);
    }
    return rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR ? 0 : rdn_fail(reterr, CORRUPT, "", "deflate: %s", s->z.msg ? s->z.msg : "damaged");
}

static int unpack_zstd(struct rdn_source *s, unsigned char *out, size_t cap, size_t *ret_made, redan_error *reterr) {
    ZSTD_inBuffer in = { s->in + s->at, s->n - s->at, 0 };
    ZSTD_outBuffer o = { out, cap, 0 };
    size_t rc = ZSTD_decompressStream(s->zstd, &o, &in);
    s->at += in.pos;
    *ret_made = o.pos;
    s->inside = rc != 0;
    return ZSTD_isError(rc) ? rdn_fail(reterr, CORRUPT, "", "zstd: %s", ZSTD_getErrorName(rc)) : 0;
}

ssize_t rdn_source_read(struct rdn_source *s, void *out, size_t cap, redan_error *reterr) {
    cap = cap < 1u << 30 ? cap : 1u << 30;
    for (;;) {
        size_t made = 0;
        int rc = s->at == s->n ? refill(s, reterr) : 0;
        if (rc < 0)
            return rc;
        if (s->at == s->n && !s->inside)
            return 0;
        if (s->packing == PLAIN) {
            made = s->n - s->at < cap ? s->n - s->at : cap;
            memcpy(out, s->in + s->at, made);
            s->at += made;
            return (ssize_t)made;
        }
        size_t before = s->at;
        rc = s->packing == ZSTD ? unpack_zstd(s, out, cap, &made, reterr) : inflate_some(s, out, cap, &made, reterr);
        if (rc < 0)
            return rc;
        if (made)
            return (ssize_t)made;
        if (s->at == before && s->ended)
            return rdn_fail(reterr, CORRUPT, "", "the file ends inside a packed part");
    }
}
