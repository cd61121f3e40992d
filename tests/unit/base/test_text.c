/* SPDX-License-Identifier: Apache-2.0
 * test_text.c: text forms and their readers at the corners; base_diff.py covers the plain. */
#include "tests/unit/rows.h"
#include <locale.h>
#include <math.h>
#include "base/text.h"

static void floats(void **state) {
    (void)state;
    static const struct { double x; const char *full, *brief; } rows[] = {
        {1, "1.0", "1"}, {-0.0, "-0.0", "-0"}, {0, "0.0", "0"}, {0.1, "0.1", "0.1"}, {1e16, "1e16", "1e16"},
        {9999999999999998, "9999999999999998.0", "9999999999999998"}, {1e-4, "0.0001", "0.0001"}, {1e-5, "1e-5", "1e-5"},
        {1.5e300, "1.5e300", "1.5e300"}, {5e-324, "5e-324", "5e-324"}, {NAN, "nan", "nan"}, {-INFINITY, "-inf", "-inf"},
        {9007199254740993.0, "9007199254740992.0", "9007199254740992"},
        {0x1p-44, "5.684341886080802e-14", "5.684341886080802e-14"},
        {9.5367431640625e-07, "9.5367431640625e-7", "9.5367431640625e-7"},
        {1.7976931348623157e308, "1.7976931348623157e308", "1.7976931348623157e308"},
    };
    for each (i, rows) {
        char t[RDN_TEXT_MAX];
        size_t n = rdn_text_float(t, rows[i].x);
        check(strcmp(t, rows[i].full) == 0 && n == strlen(t), "row %zu gave %s", i, t);
        n = rdn_text_float_short(t, rows[i].x);
        check(strcmp(t, rows[i].brief) == 0 && n == strlen(t), "row %zu gave %s", i, t);
    }
}

static void no_locale_changes_a_number(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nb_NO.UTF-8"};
    const char *got = NULL;
    for (size_t i = 0; i < 4 && !got; i++)
        got = setlocale(LC_NUMERIC, names[i]);
    if (!got) {
        print_message("no locale with a decimal comma here\n");
        skip();
    }
    char t[RDN_TEXT_MAX];
    double x = 0;
    rdn_text_float(t, 1234.5678);
    bool ok = strcmp(t, "1234.5678") == 0 && rdn_read_f64("0.12345678901234567890", 22, &x) && x == 0.12345678901234567890;
    setlocale(LC_NUMERIC, "C");
    check(ok, "in locale %s: %s", got, t);
}

static void times(void **state) {
    (void)state;
    static const struct { const char *text; bool ok; int64_t ns; const char *out; } rows[] = {
        {"2026-03-03T15:00:00.02Z", true, 1772550000020000000, "2026-03-03T15:00:00.02Z"},
        {"1970-01-01T00:00Z", true, 0, "1970-01-01T00:00:00Z"},
        {"1969-12-31T23:59:59.999999999Z", true, -1, "1969-12-31T23:59:59.999999999Z"},
        {"2024-02-29T00:00:00+01:30", true, 1709159400000000000, "2024-02-28T22:30:00Z"},
        {"2262-04-11T23:47:16.854775807Z", true, INT64_MAX, "2262-04-11T23:47:16.854775807Z"},
        {"1677-09-21T00:12:43.145224192Z", true, INT64_MIN, "1677-09-21T00:12:43.145224192Z"},
        {"2262-04-11T23:47:16.854775808Z", false, 0, ""},
        {"2023-02-29T00:00Z", false, 0, ""},
        {"0000-01-01T00:00Z", false, 0, ""},
        {"2024-01-01T24:00Z", false, 0, ""},
        {"2024-01-01T23:59:60Z", false, 0, ""},        /* no leap seconds in the language */
        {"2024-01-01T00:00", false, 0, ""},
        {"2024-01-01t00:00Z", false, 0, ""},
        {"2024-01-01T00:00:00.Z", false, 0, ""},
        {"2024-01-01T00:00:00.1234567890Z", false, 0, ""},
        {"2024-01-01T00:00Zx", false, 0, ""},
        {"", false, 0, ""},
    };
    for each (i, rows) {
        int64_t ns = 4711;
        bool ok = rdn_read_time(rows[i].text, strlen(rows[i].text), &ns);
        check(ok == rows[i].ok && ns == (ok ? rows[i].ns : 4711), "%s", rows[i].text);
        char t[RDN_TEXT_MAX];
        check(!ok || (rdn_text_time(t, ns) == strlen(t) && strcmp(t, rows[i].out) == 0), "%s gave %s", rows[i].text, t);
    }
}

static void durations(void **state) {
    (void)state;
    static const struct { const char *text; bool ok; int64_t ns; const char *out; } rows[] = {
        {"-1h30m", true, -5400000000000, "-5400s"}, {"250ms", true, 250000000, "0.25s"}, {"+1.5s", true, 1500000000, "1.5s"},
        {".5s5.ns", true, 500000005, "0.500000005s"},
        {"0.3ns0.3ns0.4ns", true, 1, "0.000000001s"},  /* truncated once, at the end */
        {"0.3ns0.3ns0.3ns", true, 0, "0s"},
        {"-9223372036854775808ns", true, INT64_MIN, "-9223372036.854775808s"},
        {"9223372036854775808ns", false, 0, ""},
        {"99999999999999999999999999999999999999999999999999h", false, 0, ""},
        {"0000000000000000000000000000000000000000000000000000000000001ns", true, 1, "0.000000001s"},
        {"00000000000000000000000000000000000000000000000000000000000000001ns", false, 0, ""},   /* 65 bytes and more */
        {"1d", false, 0, ""}, {"1", false, 0, ""}, {".s", false, 0, ""}, {"", false, 0, ""}, {"-", false, 0, ""}, {"1 s", false, 0, ""},
    };
    for each (i, rows) {
        int64_t ns = 4711;
        bool ok = rdn_read_dur(rows[i].text, strlen(rows[i].text), &ns);
        check(ok == rows[i].ok && ns == (ok ? rows[i].ns : 4711), "%s gave %lld", rows[i].text, (long long)ns);
        char t[RDN_TEXT_MAX];
        check(!ok || (rdn_text_dur(t, ns) == strlen(t) && strcmp(t, rows[i].out) == 0), "%s gave %s", rows[i].text, t);
    }
}

static void numbers(void **state) {
    (void)state;
    static const struct { const char *text; bool ok; int64_t v; } rows[] = {
        {"9223372036854775807", true, INT64_MAX}, {"-9223372036854775808", true, INT64_MIN}, {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0}, {"007", true, 7}, {"-0", true, 0}, {"+1", false, 0}, {"", false, 0}, {"-", false, 0},
        {"1x", false, 0}, {"99999999999999999999999", false, 0},
    };
    for each (i, rows) {
        int64_t v = 4711;
        bool ok = rdn_read_i64(rows[i].text, strlen(rows[i].text), &v);
        check(ok == rows[i].ok && v == (ok ? rows[i].v : 4711), "%s", rows[i].text);
    }
    char t[RDN_TEXT_MAX];
    rdn_text_dec(t, RDN_I128_MIN, 18);
    assert_string_equal(t, "-170141183460469231731.687303715884105728");
    rdn_text_dec(t, -5, 3);
    assert_string_equal(t, "-0.005");
    rdn_text_i64(t, INT64_MIN);
    assert_string_equal(t, "-9223372036854775808");
}

/* Every day of 4,000 years is the successor of the one before, and both directions agree. */
static void every_day(void **state) {
    (void)state;
    static const unsigned lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int y = -400;
    unsigned m = 1, d = 1;
    for (int64_t day = rdn_days_from_civil(y, 1, 1); y < 3600; day++) {
        int yy;
        unsigned mm, dd;
        rdn_civil_from_days(day, &yy, &mm, &dd);
        check(yy == y && mm == m && dd == d && rdn_days_from_civil(y, m, d) == day, "%d-%u-%u", y, m, d);
        bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
        if (++d > lengths[m - 1] + (m == 2 && leap))
            d = 1, m++;
        if (m > 12)
            m = 1, y++;
    }
    assert_int_equal(rdn_days_from_civil(1970, 1, 1), 0);
}

static void utf8(void **state) {
    (void)state;
    static const struct { const char *text; bool ok; } rows[] = {
        {"plain", true}, {"\xc3\xa9", true}, {"\xf0\x9f\x98\x80", true}, {"\xf4\x8f\xbf\xbf", true}, {"\xc0\x80", false},
        {"\xed\xa0\x80", false}, {"\xed\x9f\xbf", true}, {"\xf4\x90\x80\x80", false}, {"\xe2\x82", false}, {"\x80", false},
        {"\xe0\x9f\xbf", false}, {"\xf0\x8f\xbf\xbf", false}, {"\xff", false}, {"a\xc3", false},
    };
    for each (i, rows)
        check(rdn_utf8_valid(rows[i].text, strlen(rows[i].text)) == rows[i].ok, "row %zu", i);
    assert_int_equal(rdn_utf8_len("a\xc3\xa9\xe2\x82\xac", 6), 3);
}

static void nearest(void **state) {
    (void)state;
    static const char *const names[] = {"qty", "price", "notional", "side", "wide"};
    static const struct { const char *word; int want; } rows[] = {
        {"qyt", 0}, {"PRICE", 1}, {"prcie", 1}, {"notionla", 2}, {"bide", 3}, {"xyz", -1}, {"", -1}, {"q", -1},
    };
    for each (i, rows)
        check(rdn_nearest(rows[i].word, names, 5) == rows[i].want, "%s", rows[i].word);
    char word[1000];
    memset(word, 'a', 999);
    word[999] = 0;
    assert_int_equal(rdn_nearest(word, (const char *const[]){word}, 1), -1);   /* longer than any name */
    assert_int_equal(rdn_nearest("x", NULL, 0), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats),  cmocka_unit_test(no_locale_changes_a_number), cmocka_unit_test(times),
        cmocka_unit_test(durations), cmocka_unit_test(numbers), cmocka_unit_test(every_day), cmocka_unit_test(utf8),
        cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
