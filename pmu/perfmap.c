/* SPDX-License-Identifier: Apache-2.0
 * perfmap.c: see perfmap.h. */
#include "pmu/perfmap.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pmu/pidfile.h"

struct row { const uint8_t *code; uint32_t bytes; bool dead; char *name; };
static struct {
    pthread_mutex_t lock;
    pid_t pid;                                           /* whose file it is: a child makes its own */
    unsigned users;
    int fd;
    bool broken;                                         /* a write failed; said once */
    struct row *rows;
    size_t n, cap;
} map = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void write_row(const struct row *r) {
    char line[400];
    int n = snprintf(line, sizeof line, "%lx %x %.340s\n", (unsigned long)(uintptr_t)r->code, r->bytes, r->name);
    if (map.broken || rdn_pidfile_write(map.fd, line, (size_t)n) == 0)
        return;
    map.broken = true;
    fprintf(stderr, "redan: the perf map is incomplete: %m\n");
}

/* Forgets the dead rows in the range; true: the file has rows too many. */
static bool forget(const uint8_t *code, size_t bytes) {
    size_t k = 0;
    for (size_t i = 0; i < map.n; i++) {
        struct row *r = &map.rows[i];
        if (r->dead && r->code < code + bytes && code < r->code + r->bytes)
            free(r->name);
        else
            map.rows[k++] = *r;
    }
    bool any = k < map.n;
    map.n = k;
    return any;
}
static bool remember(const struct rdn_code_row *from) {
    if (map.n == map.cap) {
        size_t cap = map.cap ? 2 * map.cap : 64;
        struct row *rows = realloc(map.rows, cap * sizeof *rows);
        if (!rows)
            return false;
        map.rows = rows;
        map.cap = cap;
    }
    char *name = strdup(from->name);
    if (name)
        map.rows[map.n++] = (struct row){ from->code, from->bytes, false, name };
    return name != NULL;
}

static void add_rows(const struct rdn_code_row *rows, uint32_t n) {
    bool again = false;
    for (uint32_t i = 0; i < n; i++)
        again |= forget(rows[i].code, rows[i].bytes);
    size_t at = again ? 0 : map.n;
    for (uint32_t i = 0; i < n; i++)
        map.broken |= !remember(&rows[i]);
    if (again && (ftruncate(map.fd, 0) < 0 || lseek(map.fd, 0, SEEK_SET) < 0))
        map.broken = true;
    for (; at < map.n; at++)
        write_row(&map.rows[at]);
}
static void add(void *ctx, const struct rdn_code_row *rows, uint32_t n) {
    (void)ctx;
    pthread_mutex_lock(&map.lock);
    if (map.fd >= 0 && map.pid == getpid())              /* in a child of fork the file is the parent's */
        add_rows(rows, n);
    pthread_mutex_unlock(&map.lock);
}
static void drop(void *ctx, const uint8_t *code, size_t bytes) {
    (void)ctx;
    pthread_mutex_lock(&map.lock);
    for (size_t i = 0; i < map.n; i++)
        map.rows[i].dead |= map.rows[i].code >= code && map.rows[i].code < code + bytes;
    pthread_mutex_unlock(&map.lock);
}

static void close_map(void) {
    if (map.fd >= 0)
        close(map.fd);
    for (size_t i = 0; i < map.n; i++)
        free(map.rows[i].name);
    free(map.rows);
    map.rows = NULL;
    map.n = map.cap = map.users = 0;
    map.fd = -1;
    map.broken = false;
}

int rdn_perfmap_take(struct rdn_code_sink *ret, redan_error *reterr) {
    char name[40];
    int rc = 0;
    pthread_mutex_lock(&map.lock);
    if (map.fd >= 0 && map.pid != getpid())
        close_map();
    if (map.fd < 0) {
        map.pid = getpid();
        snprintf(name, sizeof name, "perf-%d.map", (int)map.pid);
        rc = rdn_pidfile_open("/tmp", name, &map.fd, reterr);      /* perf looks nowhere else */
    }
    if (rc == 0) {
        map.users++;
        *ret = (struct rdn_code_sink){ NULL, add, drop };
    }
    pthread_mutex_unlock(&map.lock);
    return rc;
}

void rdn_perfmap_give(void) {
    pthread_mutex_lock(&map.lock);
    if (map.pid == getpid() && map.users && !--map.users)
        close_map();
    pthread_mutex_unlock(&map.lock);
}
