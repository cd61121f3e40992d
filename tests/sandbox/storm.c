/* SPDX-License-Identifier: Apache-2.0
 * storm.c: a host beside hostile_worker.c. It must neither crash, nor wait much past a deadline, nor hand out a value that is none.
 *
 *   storm HOSTILE_WORKER [SECONDS [SEED]]      8 seconds in the suite; 600 for a long run. ASan and UBSan builds are the point.
 *
 * Two lanes call without end, one with rows; the main thread reloads, resumes, asks for status, closes and opens. Each kind of outcome
 * must have been seen, else the worker was not hostile enough. Last line: N passed, N failed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/text.h"
#include "plugins/worker.h"

#define MS 1000000LL
enum { LANES = 2, ROWS = 16, STALL_MS = 3000 };
static struct rdn_plugins *ps;
static _Atomic(struct rdn_plugin *) plugin;
static pthread_rwlock_t closing = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic bool stop;
static _Atomic uint64_t calls, outcomes[RDN_OUT_COUNT], bad_text, stalls;
static _Atomic int64_t longest;

static void note_time(int64_t took) {
    if (took > atomic_load(&longest))
        atomic_store(&longest, took);
    stalls += took > STALL_MS * MS;
}

static void *lane(void *arg) {
    uint32_t index = (uint32_t)(uintptr_t)arg, nrows = index ? ROWS : 1;
    for (uint32_t idle = 0; !atomic_load(&stop);) {
        struct rdn_wire_value args[ROWS], ret[ROWS];
        uint8_t outs[ROWS];
        for (uint32_t i = 0; i < nrows; i++)
            args[i].i = i;
        pthread_rwlock_rdlock(&closing);
        struct rdn_plugin *p = atomic_load(&plugin);
        if (p) {
            int64_t start = rdn_mono_ns();
            enum rdn_outcome out = rdn_plugin_call_rows(p, index, args, 1, nrows, 0, start + 3 * MS, ret, outs);
            note_time(rdn_mono_ns() - start);
            calls++;
            outcomes[out]++;
            for (uint32_t i = 0; i < nrows; i++)
                if (outs[i] == RDN_OUT_VALUE && (ret[i].text.n > 40 || strlen(ret[i].text.p) != ret[i].text.n || !rdn_utf8_valid(ret[i].text.p, ret[i].text.n)))
                    bad_text++;
            if (out == RDN_OUT_NOT_READY || out == RDN_OUT_QUARANTINED || out == RDN_OUT_TRIPPED) {
                if (++idle % 16 == 0)
                    rdn_plugin_resume(p);               /* no backoff: the next hostile worker, please */
                pthread_rwlock_unlock(&closing);
                usleep(200);
                continue;
            }
        }
        pthread_rwlock_unlock(&closing);
    }
    return NULL;
}

static const char *new_text(const char *folder) {
    static char path[256];
    static int n;
    snprintf(path, sizeof path, "%s/plugin.py", folder);
    FILE *f = fopen(path, "w");
    if (!f)
        exit(2);
    fprintf(f, "%d\n", n++);
    fclose(f);
    return path;
}

static bool printable(const char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
    return true;
}

static uint64_t ugly, opened, refused, reloaded, rejected;
static void try_open(const char *folder) {
    static const struct rdn_wire_param x = { "x", { .kind = RDN_WIRE_INT } };
    struct rdn_plugin_spec s = { .name = "f", .file = new_text(folder), .params = &x, .nparams = 1, .ret = { .kind = RDN_WIRE_TEXT, .size = 40 }, .lanes = LANES,
                                 .load_cap_ms = 50, .time_cap_ns = 3 * MS, .grace_ms = 3 };
    struct rdn_plugin *p = NULL;
    redan_error e = { 0 };
    int64_t start = rdn_mono_ns();
    if (rdn_plugin_open(ps, &s, &p, &e) < 0)
        p = NULL;
    opened += p != NULL;
    refused += p == NULL;
    ugly += !printable(e.text);
    stalls += rdn_mono_ns() - start > 30000 * MS;
    atomic_store(&plugin, p);
}

static void one_step(const char *folder, unsigned i) {
    static struct rdn_plugin_status s;
    redan_error e = { 0 };
    struct rdn_plugin *p = atomic_load(&plugin);
    if (!p) {
        try_open(folder);
        return;
    }
    switch (i % 8) {
    case 0: case 1:
        if (rdn_plugin_reload(p, new_text(folder), NULL, &e) < 0)
            rejected++;
        else
            reloaded++;
        ugly += !printable(e.text);
        break;
    case 2: case 3: case 4:
        rdn_plugin_status(p, &s);
        ugly += !printable(s.message) || !printable(s.error) || s.log_len > sizeof s.log;
        rdn_plugin_resume(p);
        usleep(2000);
        break;
    case 5: rdn_plugin_settle(p, i % LANES, 20 * MS); break;
    case 6: rdn_plugin_resume(p); usleep(5000); break;
    default:
        if (i % 40 != 7)
            break;
        pthread_rwlock_wrlock(&closing);
        atomic_store(&plugin, NULL);
        rdn_plugin_close(p);
        pthread_rwlock_unlock(&closing);
    }
}

static void quiet(void *ctx, uint32_t level, const char *line) {
    (void)ctx, (void)level;
    ugly += !printable(line);
}

static int descriptors(void) {
    int open_now = 0;
    for (int fd = 0; fd < 512; fd++)
        open_now += fcntl(fd, F_GETFD) >= 0;
    return open_now;
}

static int judge(int before, const char *alarm_file) {
    static const enum rdn_outcome wanted[] = { RDN_OUT_VALUE, RDN_OUT_EXCEPTION, RDN_OUT_TIMEOUT, RDN_OUT_DIED, RDN_OUT_BAD_REPLY, RDN_OUT_BAD_VALUE, RDN_OUT_NOT_READY };
    int failed = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!atomic_load(&outcomes[wanted[i]])) {
            printf("no call ended as %s: not hostile enough\n", rdn_outcome_text(wanted[i]));
            failed++;
        }
    const struct { const char *what; uint64_t n; } never[] = {
        { "calls or openings stalled", stalls }, { "values that are no text", bad_text }, { "messages with control characters", ugly },
        { "descriptors left", (uint64_t)(descriptors() > before ? descriptors() - before : 0) }, { "pages changed from outside", access(alarm_file, F_OK) == 0 },
    };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (never[i].n) {
            printf("%llu %s\n", (unsigned long long)never[i].n, never[i].what);
            failed++;
        }
    return failed;
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/redan-storm-XXXXXX", alarm_file[64], command[100];
    struct rdn_plugins_options o = { .require_tier = RDN_TIER_MINIMAL, .log = quiet, .spare = true, .worker_path = argc > 1 ? argv[1] : "" };
    int64_t seconds = argc > 2 ? atoll(argv[2]) : 8;
    redan_error e = { 0 };
    pthread_t lanes[LANES];
    int before = descriptors();
    o.seed = (argc > 3 ? strtoull(argv[3], NULL, 10) : 20260101u) | 1;
    snprintf(alarm_file, sizeof alarm_file, "/tmp/redan-hostile-%llu", (unsigned long long)o.seed);
    unlink(alarm_file);
    int rc = rdn_plugins_open(&o, &ps, &e);
    if (rc < 0 || !mkdtemp(folder)) {
        printf("%s %s\n", e.id, e.text);
        return rc == REDAN_E_NOSUP ? 77 : 2;
    }
    for (uintptr_t i = 0; i < LANES; i++)
        if (pthread_create(&lanes[i], NULL, lane, (void *)i))
            return 2;
    int64_t until = rdn_mono_ns() + seconds * 1000 * MS;
    for (unsigned i = 0; rdn_mono_ns() < until; i++)
        one_step(folder, i);
    atomic_store(&stop, true);
    for (int i = 0; i < LANES; i++)
        pthread_join(lanes[i], NULL);
    if (atomic_load(&plugin))
        rdn_plugin_close(atomic_load(&plugin));
    rdn_plugins_close(ps);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command))
        return 2;
    printf("%lld s: %llu calls, longest %.1f ms; %llu openings and %llu refused, %llu reloads and %llu rejected\n", (long long)seconds, (unsigned long long)calls,
           (double)longest / 1e6, (unsigned long long)opened, (unsigned long long)refused, (unsigned long long)reloaded, (unsigned long long)rejected);
    for (int i = 0; i < RDN_OUT_COUNT; i++)
        if (atomic_load(&outcomes[i]))
            printf("  %-12s %llu\n", rdn_outcome_text((enum rdn_outcome)i), (unsigned long long)atomic_load(&outcomes[i]));
    int failed = judge(before, alarm_file);
    printf("%d passed, %d failed\n", 12 - failed, failed);
    return failed != 0;
}
