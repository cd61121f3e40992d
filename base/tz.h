/* SPDX-License-Identifier: Apache-2.0
 * tz.h: time zones for the language: "UTC", fixed offsets "+02:00", or a name of the tz database (TZif v1-v4 in
 * /usr/share/zoneinfo, or $REDAN_TZDIR). Reading a file happens once per process and name; lookups are lock-free.
 *
 * rdn_tz_find    [any]        NULL for an unknown name or a malformed file; never freed
 * rdn_tz_offset  [any] [hot]  UTC offset in seconds in force at t; O(log transitions), with the POSIX footer beyond the table */
#ifndef RDN_TZ_H
#define RDN_TZ_H
#include <stddef.h>
#include <stdint.h>

struct rdn_tz;
const struct rdn_tz *rdn_tz_find(const char *name, size_t len);
int32_t rdn_tz_offset(const struct rdn_tz *, int64_t utc_seconds);
/* The same, and [from, until) around that time in which it stays so: not always the widest. [any] [hot] */
struct rdn_tz_span { int64_t from, until; int32_t offset; };
void rdn_tz_span(const struct rdn_tz *, int64_t utc_seconds, struct rdn_tz_span *ret);
const char *rdn_tz_version(void);                      /* of the tz database, "unknown" without */
#endif
