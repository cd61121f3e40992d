/* SPDX-License-Identifier: Apache-2.0
 * test_tz.c: zones from files written here, good and hostile; base_diff.py covers the real database. */
#include "tests/unit/rows.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/tz.h"

static char dir[64];

struct file { unsigned char b[4096]; size_t n; };
static void put(struct file *f, const void *p, size_t n) {
    assert_true(f->n + n <= sizeof f->b);
    memcpy(f->b + f->n, p, n);
    f->n += n;
}
static void be(struct file *f, int64_t v, int bytes) {
    for (int i = bytes - 1; i >= 0; i--)
        put(f, &(unsigned char){(unsigned char)((uint64_t)v >> (8 * i))}, 1);
}
static void header(struct file *f, char version, uint32_t times, uint32_t types) {
    put(f, "TZif", 4);
    put(f, &version, 1);
    put(f, (char[15]){0}, 15);
    be(f, 0, 4), be(f, 0, 4), be(f, 0, 4), be(f, times, 4), be(f, types, 4), be(f, 4, 4);
}
/* Version 2: -1h until 1000, +2h until 2000, then +3h and the footer. */
static struct file sample(const char *footer) {
    struct file f = {.n = 0};
    header(&f, '2', 0, 1);
    put(&f, "\0\0\0\0\0\0UTC\0", 10);
    header(&f, '2', 2, 3);
    be(&f, 1000, 8), be(&f, 2000, 8);
    put(&f, "\1\2", 2);
    be(&f, -3600, 4), put(&f, "\0\0", 2);
    be(&f, 7200, 4), put(&f, "\1\0", 2);
    be(&f, 10800, 4), put(&f, "\0\0", 2);
    put(&f, "ABC\0", 4);
    put(&f, "\n", 1), put(&f, footer, strlen(footer)), put(&f, "\n", 1);
    return f;
}

/* A fresh name each time, because a zone once found is kept. */
static const struct rdn_tz *zone_of(const struct file *f, size_t n) {
    static unsigned serial;
    char name[32], path[128];
    int len = snprintf(name, sizeof name, "zone_%u", serial++);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *o = fopen(path, "wb");
    assert_non_null(o);
    fwrite(f->b, 1, n, o);
    fclose(o);
    const struct rdn_tz *z = rdn_tz_find(name, (size_t)len);
    unlink(path);
    return z;
}

static void table_and_footer(void **state) {
    (void)state;
    static const struct { const char *footer; int64_t t; int32_t want; } rows[] = {
        {"", -5, -3600}, {"", 999, -3600}, {"", 1000, 7200}, {"", 1999, 7200}, {"", 2000, 10800}, {"", 9999999999, 10800},
        {"EST5", 2000, 10800}, {"EST5", 2001, -18000},
        {"<+0330>-3:30", 99999, 12600},
        {"EST5EDT,M3.2.0,M11.1.0", 1741503599, -18000},  /* 2025-03-09 02:00 EST */
        {"EST5EDT,M3.2.0,M11.1.0", 1741503600, -14400},
        {"EST5EDT,M3.2.0,M11.1.0", 1762063199, -14400},
        {"EST5EDT,M3.2.0,M11.1.0", 1762063200, -18000},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", 1735689600, 39600},   /* January is summer there */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1743296400, -3600},   /* a negative hour: Saturday 23:00 */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1743296399, -7200},
        {"AAA0BBB,J60/0,J61/0", 1709251200, 3600},     /* 2024-03-01: day 60 of the leap year too */
        {"AAA0BBB,J60/0,J61/0", 1709164800, 0},        /* 2024-02-29 */
        {"AAA0BBB,59/0,60/0", 1709164800, 3600},       /* zero-based and counting February 29 */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 1735689600, 0}, /* winter time as the exception */
    };
    for each (i, rows) {
        struct file f = sample(rows[i].footer);
        const struct rdn_tz *z = zone_of(&f, f.n);
        check(z && rdn_tz_offset(z, rows[i].t) == rows[i].want, "row %zu: %s gave %d", i, rows[i].footer,
              z ? rdn_tz_offset(z, rows[i].t) : -1);
        for (int64_t at = -1000000000; z && at < 3000000000; at += 8000000) {   /* the span holds the time, and one answer */
            struct rdn_tz_span s;
            rdn_tz_span(z, at, &s);
            check(s.from <= at && at < s.until && (s.from == INT64_MIN || rdn_tz_offset(z, s.from) == s.offset) &&
                      (s.until == INT64_MAX || rdn_tz_offset(z, s.until - 1) == s.offset), "span %zu: %s", i, rows[i].footer);
        }
    }
    struct file f = sample("EST5EDT,M3.2.0,M11.1.0");
    const struct rdn_tz *z = zone_of(&f, f.n);
    rdn_tz_offset(z, INT64_MAX);                       /* no trap; the answer means nothing */
    assert_int_equal(rdn_tz_offset(z, INT64_MIN), -3600);
}

static void bad_footers(void **state) {
    (void)state;
    static const char *const rows[] = {
        "5", "EST", "EST25", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.1.0,M1.1.0", "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0",
        "EST5EDT,J0,J5", "EST5EDT,366,5", "EST5EDT,M3.2.0/168,M11.1.0", "EST5EDT,M3.2.0,M11.1.0,", "EST5,M3.2.0,M11.1.0", "<EST5",
        "<>5", "EST5EDT,M3.2,M11.1.0", "EST5:60", "EST5EDT,,", "EST5EDT,M", "EST5E\x01",
    };
    for each (i, rows) {
        struct file f = sample(rows[i]);
        check(!zone_of(&f, f.n), "accepted %s", rows[i]);
    }
}

/* A file cut anywhere, and a file with any one byte set to any of some values, is read or refused without a fault. */
static void hostile_files(void **state) {
    (void)state;
    struct file good = sample("EST5EDT,M3.2.0,M11.1.0");
    for (size_t n = 0; n < good.n; n++)
        check(!zone_of(&good, n), "accepted the first %zu of %zu bytes", n, good.n);
    for (size_t i = 0; i < good.n; i++)
        for each (k, ((const unsigned char[]){0, 1, 0x7f, 0x80, 0xff})) {
            struct file f = good;
            f.b[i] = ((const unsigned char[]){0, 1, 0x7f, 0x80, 0xff})[k];
            const struct rdn_tz *z = zone_of(&f, f.n);
            for (int64_t t = -3000; z && t < 4000000000; t += 99999999)
                check(abs(rdn_tz_offset(z, t)) < 2 * 86400, "byte %zu", i);
        }
    struct file f = good;
    memcpy(f.b + 20, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 24);
    assert_null(zone_of(&f, f.n));
}

static void names(void **state) {
    (void)state;
    static const struct { const char *name; bool ok; int32_t offset; } rows[] = {
        {"UTC", true, 0}, {"+02:00", true, 7200}, {"-09:30", true, -34200}, {"05:45", true, 20700}, {"+24:00", false, 0},
        {"02:60", false, 0}, {"+2:00", false, 0}, {"", false, 0}, {"/etc/passwd", false, 0}, {"../zone", false, 0}, {"a//b", false, 0},
        {"a/", false, 0}, {"folder", false, 0}, {"fifo", false, 0}, {"missing", false, 0}, {"+02:00 ", false, 0}, {"a\nb", false, 0},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, 0},
    };
    for each (i, rows) {
        const struct rdn_tz *z = rdn_tz_find(rows[i].name, strlen(rows[i].name));
        check(!!z == rows[i].ok && (!z || rdn_tz_offset(z, 1700000000) == rows[i].offset), "%s", rows[i].name);
        check(z == rdn_tz_find(rows[i].name, strlen(rows[i].name)), "%s: another zone the second time", rows[i].name);
    }
    assert_null(rdn_tz_find("UTC\0x", 5));
    assert_string_equal(rdn_tz_version(), "2199z");
}

static void *finder(void *arg) {
    char name[8];
    uintptr_t bad = 0;
    for (int i = 0; i < 600; i++) {
        int h = i % 24;
        size_t n = (size_t)snprintf(name, sizeof name, "+%02d:%02d", h, (int)(uintptr_t)arg);
        const struct rdn_tz *z = rdn_tz_find(name, n);
        bad += !z || rdn_tz_offset(z, 0) != (h * 60 + (int)(uintptr_t)arg) * 60;
    }
    return (void *)bad;
}

static void threads(void **state) {
    (void)state;
    pthread_t t[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, finder, (void *)(i / 2 + 1));
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
}

static int set_up(void **state) {
    (void)state;
    char path[128];
    strcpy(dir, "/tmp/redan-tz-XXXXXX");
    if (!mkdtemp(dir) || setenv("REDAN_TZDIR", dir, 1) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/folder", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/fifo", dir);
    mkfifo(path, 0600);
    snprintf(path, sizeof path, "%s/tzdata.zi", dir);
    FILE *f = fopen(path, "w");
    fputs("# version 2199z\n# This zic input file is in the public domain.\n", f);
    return fclose(f);
}

static int tear_down(void **state) {
    (void)state;
    static const char *const left[] = {"tzdata.zi", "fifo", "folder", ""};
    char path[128];
    for each (i, left) {
        snprintf(path, sizeof path, "%s/%s", dir, left[i]);
        if (remove(path) != 0)
            return -1;
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_and_footer), cmocka_unit_test(bad_footers), cmocka_unit_test(hostile_files),
        cmocka_unit_test(names), cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests_name("tz", tests, set_up, tear_down);
}
