/* SPDX-License-Identifier: Apache-2.0
 * text.h: the text forms of LANGUAGE.md 17.1-17.3 and the readers of times, dates, durations and numbers.
 *
 * Writers put a terminated text into `out`, which has at least RDN_TEXT_MAX bytes, and return its length.
 * Readers take a length, need no terminator, and return false when the text is not of that form. [any] */
#ifndef RDN_TEXT_H
#define RDN_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/dec.h"

#define RDN_TEXT_MAX 64
size_t rdn_text_float(char *out, double);              /* 17.2: shortest round trip; "1.0", "1e16", "nan", "-0.0" */
size_t rdn_text_float_short(char *out, double);        /* 17.3: the same without a trailing ".0" */
size_t rdn_text_i64(char *out, int64_t);
size_t rdn_text_dec(char *out, rdn_i128 m, unsigned scale);
size_t rdn_text_time(char *out, int64_t ns);           /* 2026-03-03T15:00:00.02Z */
size_t rdn_text_dur(char *out, int64_t ns);            /* 0.25s */
size_t rdn_text_date(char *out, int32_t days);

bool rdn_read_time(const char *s, size_t n, int64_t *ret_ns);    /* a TIME token (chapter 2) */
bool rdn_read_date(const char *s, size_t n, int32_t *ret_days);
bool rdn_read_dur(const char *s, size_t n, int64_t *ret_ns);     /* the dur(t) function of chapter 8 */
bool rdn_read_i64(const char *s, size_t n, int64_t *ret);        /* -?digits, fits */
bool rdn_read_f64(const char *s, size_t n, double *ret);         /* [+-]? digits[.digits] or .digits, exponent e or E;
                                                                    nearest double or inf; any length; locale free */

/* Civil calendar, proleptic Gregorian. days from 1970-01-01. */
int64_t rdn_days_from_civil(int y, unsigned m, unsigned d);
void rdn_civil_from_days(int64_t days, int *y, unsigned *m, unsigned *d);

bool rdn_utf8_valid(const char *s, size_t n);
size_t rdn_utf8_cut(const char *s, size_t n, size_t max);   /* at most max of the n bytes, whole characters */
size_t rdn_utf8_len(const char *s, size_t n);          /* bytes that are not 10xxxxxx */

/* Largest edit distance allowed for "did you mean" (chapter 16), and the distance (optimal string alignment,
 * case-insensitive). rdn_nearest returns the index of the best option or -1; ties alphabetically. */
int rdn_nearest(const char *word, const char *const *options, size_t n);
#endif
