/* SPDX-License-Identifier: Apache-2.0
 * tz.c: zones by name, the TZif reader (RFC 8536, versions 1 to 4) and the POSIX footer (RFC 8536 3.3.1).
 *
 * A file is untrusted input: every count is checked against the bytes that are there before anything is read. Zones are kept
 * in a list that only grows; a reader walks it without a lock. The zone of a name that was not found is not kept, so what
 * is kept is bounded by the database and the number of fixed offsets. */
#include "base/tz.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/scope.h"
#include "base/text.h"

#define FAR ((int64_t)1 << 45)
enum { NAME_MAX_LEN = 64, FILE_MAX = 1 << 20, HEADER = 44, DAY = 86400 };

/* One end of daylight saving time: Jn, n or Mm.w.d, and seconds of the local day (-167 h to 167 h). */
struct edge { char kind; int a, b, c; int32_t seconds; };    /* kind 'J', 'N' or 'M' */
struct footer { bool present, has_dst; int32_t std, dst; struct edge start, end; };

struct rdn_tz {
    struct rdn_tz *next;
    char name[NAME_MAX_LEN + 1];
    int32_t before;                                    /* offset before the first transition */
    uint32_t n;
    struct footer footer;                              /* in force after the last one */
    int32_t *offset;                                   /* parallel to at */
    int64_t at[];                                      /* seconds, ascending */
};

static struct rdn_tz *_Atomic zones;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the footer ---- */

static bool number(const char **p, int most_digits, int *ret) {
    int n = 0, v = 0;
    for (; n < most_digits && **p >= '0' && **p <= '9'; n++)
        v = v * 10 + (*(*p)++ - '0');
    *ret = v;
    return n > 0;
}

/* [+-]h[h][h][:mm[:ss]] in seconds. */
static bool hms(const char **p, int most_hours, int32_t *ret) {
    int sign = 1, h, m = 0, s = 0;
    if (**p == '-' || **p == '+')
        sign = *(*p)++ == '-' ? -1 : 1;
    if (!number(p, 3, &h) || h > most_hours)
        return false;
    if (**p == ':' && (++*p, !number(p, 2, &m)))
        return false;
    if (**p == ':' && (++*p, !number(p, 2, &s)))
        return false;
    *ret = sign * (h * 3600 + m * 60 + s);
    return m <= 59 && s <= 59;
}

static bool abbreviation(const char **p) {
    const char *from = *p;
    if (**p == '<') {
        while (**p && **p != '>')
            ++*p;
        return *(*p)++ == '>' && *p - from > 2;
    }
    while ((**p >= 'a' && **p <= 'z') || (**p >= 'A' && **p <= 'Z'))
        ++*p;
    return *p > from;
}

static bool edge_of(const char **p, struct edge *e) {
    e->kind = 'N';
    if (**p == 'J' || **p == 'M')
        e->kind = *(*p)++;
    if (!number(p, 3, &e->a))
        return false;
    if (e->kind == 'M') {
        if (*(*p)++ != '.' || !number(p, 1, &e->b) || *(*p)++ != '.' || !number(p, 1, &e->c))
            return false;
        if (e->a < 1 || e->a > 12 || e->b < 1 || e->b > 5 || e->c > 6)
            return false;
    } else if (e->a > 365 || (e->kind == 'J' && e->a < 1)) {
        return false;
    }
    e->seconds = 2 * 3600;
    return **p != '/' || (++*p, hms(p, 167, &e->seconds));
}

static bool parse_footer(const char *p, struct footer *f) {
    int32_t west;
    *f = (struct footer){.present = true};
    if (!abbreviation(&p) || !hms(&p, 24, &west))
        return false;
    f->std = -west;
    if (!*p)
        return true;
    f->has_dst = true;
    f->dst = f->std + 3600;
    if (!abbreviation(&p))
        return false;
    if (*p != ',') {
        if (!hms(&p, 24, &west))
            return false;
        f->dst = -west;
    }
    return *p++ == ',' && edge_of(&p, &f->start) && *p++ == ',' && edge_of(&p, &f->end) && !*p;
}

/* The edge in that year as seconds of local time since 1970. */
static int64_t edge_at(const struct edge *e, int year) {
    int64_t first = rdn_days_from_civil(year, 1, 1), day;
    bool leap = rdn_days_from_civil(year + 1, 1, 1) - first == 366;
    if (e->kind == 'N') {
        day = first + e->a;
    } else if (e->kind == 'J') {                       /* February 29 is never counted */
        day = first + e->a - 1 + (leap && e->a >= 60);
    } else {
        int64_t begin = rdn_days_from_civil(year, (unsigned)e->a, 1);
        int64_t next = e->a == 12 ? rdn_days_from_civil(year + 1, 1, 1) : rdn_days_from_civil(year, (unsigned)e->a + 1, 1);
        int64_t weekday = ((begin + 4) % 7 + 7) % 7;   /* of the first; 0 is Sunday, as in the footer */
        day = begin + (e->c - weekday + 7) % 7 + (e->b - 1) * 7;
        if (day >= next)
            day -= 7;                                  /* week 5 is the last one */
    }
    return day * DAY + e->seconds;
}

static void narrow(struct rdn_tz_span *s, int64_t t, int64_t edge) {
    if (edge <= t)
        s->from = edge > s->from ? edge : s->from;
    else
        s->until = edge < s->until ? edge : s->until;
}

static void footer_span(const struct footer *f, int64_t t, struct rdn_tz_span *s) {
    s->offset = f->std;
    if (!f->has_dst)
        return;
    int year;
    unsigned m, d;
    t = t > FAR ? FAR : t < -FAR ? -FAR : t;           /* the year stays an int */
    rdn_civil_from_days(t >= 0 ? t / DAY : -((-t + DAY - 1) / DAY), &year, &m, &d);
    int64_t start = edge_at(&f->start, year) - f->std, end = edge_at(&f->end, year) - f->dst;
    bool dst = start < end ? start <= t && t < end : !(end <= t && t < start);
    s->offset = dst ? f->dst : f->std;
    narrow(s, t, start);
    narrow(s, t, end);
    narrow(s, t, rdn_days_from_civil(year, 1, 1) * DAY);     /* beyond the year its own edges count */
    narrow(s, t, rdn_days_from_civil(year + 1, 1, 1) * DAY);
}

/* ---- TZif ---- */

struct header { uint32_t isut, isstd, leap, time, type, chars; };
struct input { const unsigned char *p; size_t n; };

static uint32_t be32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static int64_t be64(const unsigned char *p) { return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4)); }

static bool read_header(struct input *in, struct header *h, int *ret_version) {
    if (in->n < HEADER || memcmp(in->p, "TZif", 4) != 0)
        return false;
    *ret_version = in->p[4] ? in->p[4] - '0' : 1;
    uint32_t *fields[] = {&h->isut, &h->isstd, &h->leap, &h->time, &h->type, &h->chars};
    for (int i = 0; i < 6; i++)
        if ((*fields[i] = be32(in->p + 20 + 4 * i)) > FILE_MAX)
            return false;
    in->p += HEADER;
    in->n -= HEADER;
    return true;
}

static size_t body_size(const struct header *h, size_t width) {
    return h->time * (width + 1) + h->type * (size_t)6 + h->chars + h->leap * (width + 4) + h->isstd + h->isut;
}

static struct rdn_tz *zone_new(uint32_t n) {
    struct rdn_tz *z = rdn_zalloc(&rdn_libc_mem, sizeof *z + n * (sizeof(int64_t) + sizeof(int32_t)));
    if (!z)
        return NULL;
    z->n = n;
    z->offset = (int32_t *)(void *)&z->at[n];
    return z;
}

static void zone_drop(struct rdn_tz *z) {
    if (z)
        rdn_free(&rdn_libc_mem, z, sizeof *z + z->n * (sizeof(int64_t) + sizeof(int32_t)));
}

static bool fill(struct rdn_tz *z, const struct header *h, const unsigned char *p, size_t width) {
    const unsigned char *index = p + h->time * width, *types = index + h->time;
    for (uint32_t i = 0; i < h->type; i++) {
        int32_t off = (int32_t)be32(types + i * (size_t)6);
        if (off <= -DAY || off >= DAY || types[i * (size_t)6 + 4] > 1)
            return false;
    }
    for (uint32_t i = 0; i < h->time; i++) {
        z->at[i] = width == 8 ? be64(p + i * width) : (int32_t)be32(p + i * width);
        if (index[i] >= h->type || (i && z->at[i] <= z->at[i - 1]))
            return false;
        z->offset[i] = (int32_t)be32(types + index[i] * (size_t)6);
    }
    /* Before the table: the first type without daylight saving, or else what the first transition leads to. */
    uint32_t first = 0;
    while (first < h->type && types[first * (size_t)6 + 4])
        first++;
    if (first == h->type)
        first = h->time ? index[0] : 0;
    z->before = (int32_t)be32(types + first * (size_t)6);
    return true;
}

static bool read_footer(struct input in, struct footer *f) {
    char text[256];
    const unsigned char *end = in.n > 1 ? memchr(in.p + 1, '\n', in.n - 1) : NULL;
    if (!end || in.p[0] != '\n')
        return false;
    size_t n = (size_t)(end - in.p - 1);
    if (n >= sizeof text || memchr(in.p + 1, 0, n))
        return false;
    memcpy(text, in.p + 1, n);
    text[n] = 0;
    return n == 0 || parse_footer(text, f);
}

static struct rdn_tz *parse_file(struct input in) {
    struct header h;
    int version;
    size_t width = 4;
    if (!read_header(&in, &h, &version) || in.n < body_size(&h, 4))
        return NULL;
    if (version >= 2) {                                /* the 64-bit block follows the 32-bit one */
        in.p += body_size(&h, 4);
        in.n -= body_size(&h, 4);
        width = 8;
        if (!read_header(&in, &h, &version) || version < 2 || in.n < body_size(&h, 8))
            return NULL;
    }
    if (h.type < 1 || h.type > 256)
        return NULL;
    struct rdn_tz *z = zone_new(h.time);
    size_t body = body_size(&h, width);
    if (z && fill(z, &h, in.p, width) &&
        (width == 4 || read_footer((struct input){in.p + body, in.n - body}, &z->footer)))
        return z;
    zone_drop(z);
    return NULL;
}

/* ---- names ---- */

static const char *directory(void) {
    const char *d = secure_getenv("REDAN_TZDIR");
    return d && *d ? d : "/usr/share/zoneinfo";
}

static bool read_all(int fd, unsigned char *buf, size_t n) {
    while (n) {
        ssize_t k = read(fd, buf, n);
        if (k <= 0)
            return false;
        buf += k;
        n -= (size_t)k;
    }
    return true;
}

static struct rdn_tz *load(const char *name) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", directory(), name) >= (int)sizeof path)
        return NULL;
    /* NONBLOCK: a FIFO of that name must not hold us. */
    rdn_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < HEADER || st.st_size > FILE_MAX)
        return NULL;
    size_t n = (size_t)st.st_size;
    unsigned char *buf = rdn_realloc(&rdn_libc_mem, NULL, 0, n);
    if (!buf)
        return NULL;
    struct rdn_tz *z = read_all(fd, buf, n) ? parse_file((struct input){buf, n}) : NULL;
    rdn_free(&rdn_libc_mem, buf, n);
    return z;
}

/* "+02:00", "-02:00" or "02:00" in seconds. */
static bool fixed_offset(const char *s, size_t n, int32_t *ret) {
    int32_t sign = 1;
    if (n == 6 && (*s == '+' || *s == '-')) {
        sign = *s == '-' ? -1 : 1;
        s++, n--;
    }
    if (n != 5 || s[2] != ':')
        return false;
    for (int i = 0; i < 5; i++)
        if (i != 2 && (s[i] < '0' || s[i] > '9'))
            return false;
    int h = (s[0] - '0') * 10 + s[1] - '0', m = (s[3] - '0') * 10 + s[4] - '0';
    *ret = sign * (h * 60 + m) * 60;
    return h <= 23 && m <= 59;
}

/* Parts of [A-Za-z0-9_+-]+ between single slashes: nothing that could leave the directory. */
static bool plain_name(const char *s, size_t n) {
    bool part = false;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '+' || c == '-';
        if (!ok && (c != '/' || !part))
            return false;
        part = ok;
    }
    return part;
}

static struct rdn_tz *make(const char *name, size_t len) {
    int32_t offset;
    bool utc = strcmp(name, "UTC") == 0;
    if (!utc && !fixed_offset(name, len, &offset))
        return plain_name(name, len) ? load(name) : NULL;
    struct rdn_tz *z = zone_new(0);
    if (z)
        z->footer = (struct footer){.present = true, .std = utc ? 0 : offset};
    return z;
}

static const struct rdn_tz *known(const char *name) {
    for (const struct rdn_tz *z = atomic_load_explicit(&zones, memory_order_acquire); z; z = z->next)
        if (strcmp(z->name, name) == 0)
            return z;
    return NULL;
}

const struct rdn_tz *rdn_tz_find(const char *name, size_t len) {
    if (len == 0 || len > NAME_MAX_LEN || memchr(name, 0, len))
        return NULL;
    char copy[NAME_MAX_LEN + 1] = {0};
    memcpy(copy, name, len);
    const struct rdn_tz *found = known(copy);
    if (found)
        return found;
    pthread_mutex_lock(&lock);
    found = known(copy);
    struct rdn_tz *z = found ? NULL : make(copy, len);
    if (z) {
        memcpy(z->name, copy, sizeof copy);
        z->next = atomic_load_explicit(&zones, memory_order_relaxed);
        atomic_store_explicit(&zones, z, memory_order_release);
        found = z;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void rdn_tz_span(const struct rdn_tz *z, int64_t t, struct rdn_tz_span *ret) {
    *ret = (struct rdn_tz_span){INT64_MIN, INT64_MAX, z->before};
    if (z->n && t < z->at[0]) {
        ret->until = z->at[0];
        return;
    }
    if (z->n == 0 || t > z->at[z->n - 1]) {
        if (z->n) {
            ret->offset = z->offset[z->n - 1];
            ret->from = z->at[z->n - 1] + 1;           /* the last transition itself is the table's */
        }
        if (z->footer.present)
            footer_span(&z->footer, t, ret);
        return;
    }
    uint32_t lo = 0, hi = z->n;                        /* at[lo] <= t < at[hi] */
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (z->at[mid] <= t)
            lo = mid;
        else
            hi = mid;
    }
    *ret = (struct rdn_tz_span){z->at[lo], hi < z->n ? z->at[hi] : z->at[lo] + 1, z->offset[lo]};
}

int32_t rdn_tz_offset(const struct rdn_tz *z, int64_t t) {
    struct rdn_tz_span s;
    rdn_tz_span(z, t, &s);
    return s.offset;
}

/* ---- version ---- */

static char version_text[32] = "unknown";

static void read_version(void) {
    char path[4096], line[64];
    if (snprintf(path, sizeof path, "%s/tzdata.zi", directory()) >= (int)sizeof path)
        return;
    rdn_auto_fclose FILE *f = fopen(path, "re");
    if (f && fgets(line, sizeof line, f))
        sscanf(line, "# version %31s", version_text);
}

const char *rdn_tz_version(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_version);
    return version_text;
}
