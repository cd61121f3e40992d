/* SPDX-License-Identifier: Apache-2.0
 * text_json.c: the lines of LANGUAGE.md 17.7 as JSON, one object a line. The texts are the specification; each row below says which
 * word of a line is which member. */
#include "tools/text_json.h"
#include <string.h>

/* Members of the words behind the first: NAME a text, #NAME a number, - nothing, *NAME the rest of the line. */
static const struct { const char *verb, *first, *kind, *members[8]; } rows[] = {
    { "cost", "event", "event", { "name", "#ns", "-" } },
    { "cost", "rule", "rule", { "name", "#ns", "-" } },
    { "cost", "window", "window", { "name", "#ns", "-", "#bytes_per_key", "-", "#bytes", "-" } },
    { "cost", "table", "table", { "name", "#bytes_per_row", "-", "#bytes", "-" } },
    { "cost", "memory", "memory", { "#bytes", "-" } },
    { "layout", "event", "event", { "name", "-", "#size", "-", "hash", "*canon" } },
    { "layout", "", "field", { "#offset", "#size", "name", "*type" } },
    { "hash", "event", "event", { "name", "hash" } },
    { "hash", "window", "window", { "name", "hash", "*canon" } },
};

static void put_member(struct rdn_buf *o, const char *member, const char *s, size_t n) {
    bool number = member[0] == '#';
    rdn_buf_printf(o, ",\"%s\":", member + (number || member[0] == '*'));
    if (number)
        rdn_buf_put(o, s, n);
    else
        rdn_buf_json(o, s, n);
}

static void put_line(struct rdn_buf *o, const char *verb, const char *s, const char *end) {
    size_t first = s[0] == ' ' ? 0 : (size_t)((const char *)memchr(s, ' ', (size_t)(end - s)) - s);
    size_t i = 0;
    while (strcmp(rows[i].verb, verb) != 0 || strlen(rows[i].first) != first || memcmp(rows[i].first, s, first) != 0)
        i++;
    s += first ? first + 1 : 2;
    rdn_buf_printf(o, "{\"schema\":\"redan.%s/1\",\"kind\":\"%s\"", verb, rows[i].kind);
    for (const char *const *m = rows[i].members; *m && s < end; m++) {
        const char *space = (*m)[0] == '*' ? NULL : memchr(s, ' ', (size_t)(end - s));
        const char *stop = space ? space : end;
        if ((*m)[0] != '-')
            put_member(o, *m, s, (size_t)(stop - s));
        s = stop + 1;
    }
    rdn_buf_puts(o, "}\n");
}

void text_json(struct rdn_buf *o, const char *verb, const char *text, size_t len) {
    for (const char *end, *s = text; s < text + len; s = end + 1) {
        end = memchr(s, '\n', (size_t)(text + len - s));
        put_line(o, verb, s, end);
    }
}
