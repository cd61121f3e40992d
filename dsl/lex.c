/* SPDX-License-Identifier: Apache-2.0
 * lex.c: the tokens of LANGUAGE.md chapter 2. One look at each byte; a look ahead is at most 22 bytes (a time). */
#include "dsl/lex.h"
#include "dsl/bounds.h"
#include "base/text.h"
#include <string.h>

enum { RESERVED = 1, PREDEF = 2, FREE = 0 };
static const struct { const char *text; uint8_t len, cls; } words[RDN_W_COUNT] = {
#define WORD(name, text, cls) [RDN_W_##name] = { text, sizeof(text) - 1, cls },
#define PAIR(name, a, b) [RDN_W_##name] = { (const char[]){ a, b, 0 }, 2, FREE },
#define SIGN(name, a) [RDN_W_##name] = { (const char[]){ a, 0 }, 1, FREE },
#include "dsl/tokens.def"
#undef WORD
#undef PAIR
#undef SIGN
};
static const uint8_t single[128] = {                     /* signs of one character */
#define WORD(name, text, cls)
#define PAIR(name, a, b)
#define SIGN(name, a) [a] = RDN_W_##name,
#include "dsl/tokens.def"
#undef WORD
#undef PAIR
#undef SIGN
};
static const struct { char a, b; uint8_t word; } pairs[] = {
#define WORD(name, text, cls)
#define PAIR(name, a, b) { a, b, RDN_W_##name },
#define SIGN(name, a)
#include "dsl/tokens.def"
#undef WORD
#undef PAIR
#undef SIGN
};
enum { LAST_WORD = RDN_W_WINDOW, LONGEST_WORD = 9 };

const char *rdn_word_text(enum rdn_word w) { return words[w].text; }
bool rdn_word_reserved(enum rdn_word w) { return words[w].cls & RESERVED; }
bool rdn_word_predef(enum rdn_word w) { return words[w].cls & PREDEF; }

enum { DIGIT = 1, ALPHA = 2 };
static const uint8_t class_of[256] = { ['0' ... '9'] = DIGIT, ['a' ... 'z'] = ALPHA, ['A' ... 'Z'] = ALPHA, ['_'] = ALPHA };
static inline bool is_digit(char c) { return class_of[(unsigned char)c] & DIGIT; }
static inline bool is_alpha(char c) { return class_of[(unsigned char)c] & ALPHA; }
static inline bool is_word(char c) { return class_of[(unsigned char)c]; }
static int hex_value(char c) {
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Order of the text s[0..n) and a terminated word; most pairs differ in their first byte, so no call of memcmp. */
static inline int order(const char *s, size_t n, const char *word) {
    size_t i = 0;
    while (i < n && word[i] && s[i] == word[i])
        i++;
    return i < n && word[i] ? (unsigned char)s[i] - (unsigned char)word[i] : (i < n) - (word[i] != 0);
}

static enum rdn_word find_word(const char *s, size_t n) {
    unsigned lo = 1, hi = LAST_WORD + 1;
    if (n < 2 || n > LONGEST_WORD)
        return RDN_NO_WORD;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        int d = order(s, n, words[mid].text);
        if (d == 0)
            return (enum rdn_word)mid;
        if (d > 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return RDN_NO_WORD;
}

static enum rdn_word find_sign(const char *s, size_t n) {
    if (n > 1)
        for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
            if (pairs[i].a == s[0] && pairs[i].b == s[1])
                return (enum rdn_word)pairs[i].word;
    return n > 0 && (unsigned char)s[0] < 128 ? (enum rdn_word)single[(unsigned char)s[0]] : RDN_NO_WORD;
}

/* ---- bytes ---- */

/* Length of the UTF-8 sequence at s, 0 when it is none. */
static unsigned utf8_at(const unsigned char *s, size_t n) {
    unsigned c = s[0], len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (len <= 1)
        return len;
    if (n < len)
        return 0;
    if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) || (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
        return 0;
    for (unsigned i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

/* Eight printable ASCII bytes? */
static inline bool plain8(const char *s) {
    const uint64_t ones = 0x0101010101010101u, high = ones << 7;
    uint64_t w, del;
    memcpy(&w, s, 8);
    del = w ^ ones * 0x7f;
    return !((w | (w - ones * 0x20) | (del - ones)) & high);
}

void rdn_lex_bytes(struct rdn_pass *c, const char *src, uint32_t len, bool controls) {
    const unsigned char *s = (const unsigned char *)src;
    uint32_t control = UINT32_MAX;
    for (uint32_t i = 0; i < len;) {
        if (len - i >= 8 && plain8(src + i)) {
            i += 8;
            continue;
        }
        unsigned n = s[i] >= 0x20 && s[i] < 0x7f ? 1 : utf8_at(s + i, len - i);
        if (n == 0)
            rdn_raise(c, "E0101", (struct rdn_span){ i, i + 1 }, NULL, "source is not valid UTF-8");
        if (n == 1 && (s[i] < 0x20 || s[i] == 0x7f) && s[i] != '\t' && s[i] != '\n' && s[i] != '\r' && control == UINT32_MAX)
            control = i;
        i += n;
    }
    if (controls && control != UINT32_MAX)
        rdn_raise(c, "E0102", (struct rdn_span){ control, control + 1 }, NULL, "forbidden control character 0x%02x", s[control]);
}

/* ---- strings ---- */
static size_t utf8_put(uint32_t cp, char out[4]) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | cp);
    return n;
}

/* \uXXXX or \u{X...}; s is behind the u. */
static size_t unicode_escape(const char *s, const char *end, char out[4], size_t *ret_used) {
    bool braces = s < end && *s == '{';
    unsigned digits = 0, most = braces ? 6 : 4;
    uint32_t cp = 0;
    const char *p = s + braces;
    for (; p < end && digits < most && hex_value(*p) >= 0; p++, digits++)
        cp = cp << 4 | (uint32_t)hex_value(*p);
    if (braces ? digits == 0 || p == end || *p != '}' : digits != 4)
        return 0;
    if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return 0;
    *ret_used = 2 + (size_t)(p - s) + braces;
    return utf8_put(cp, out);
}

size_t rdn_lex_escape(const char *s, const char *end, char out[4], size_t *ret_used) {
    if (s + 1 >= end)
        return 0;
    *ret_used = 2;
    switch (s[1]) {
    case 'n': out[0] = '\n'; return 1;
    case 't': out[0] = '\t'; return 1;
    case 'r': out[0] = '\r'; return 1;
    case '"': case '\\': out[0] = s[1]; return 1;
    case 'u': return unicode_escape(s + 2, end, out, ret_used);
    default: return 0;
    }
}

/* Decodes the valid string content [s, end) into out, at most cap bytes; the whole decoded length. */
static size_t decode(const char *s, const char *end, char *out, size_t cap) {
    size_t n = 0;
    while (s < end) {
        char one[4] = { *s };
        size_t used = 1, k = *s == '\\' ? rdn_lex_escape(s, end, one, &used) : 1;
        for (size_t i = 0; i < k; i++, n++)
            if (n < cap)
                out[n] = one[i];
        s += used;
    }
    return n;
}

const char *rdn_lex_str(struct rdn_pass *c, const char *src, const struct rdn_tok *t, uint32_t *ret_len) {
    size_t cap = t->b - t->a - 2;                        /* an escape is never shorter than what it stands for */
    char *out = rdn_arena_alloc(c->arena, cap + 1);
    *ret_len = (uint32_t)decode(src + t->a + 1, src + t->b - 1, out, cap);
    return out;
}

static void lex_string(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *t) {
    const char *s = l->src + l->at, *end = l->src + l->end, *p = s + 1;
    size_t n = 0;
    for (;;) {
        uint32_t at = (uint32_t)(p - l->src);
        if (p >= end || *p == '\n')
            rdn_raise(c, "E0106", (struct rdn_span){ l->at, at }, "close it with \" on the same line", "unterminated string");
        if (*p == '"')
            break;
        char one[4];
        size_t used = 1, k = *p == '\\' ? rdn_lex_escape(p, end, one, &used) : 1;
        if (k == 0)
            rdn_raise(c, "E0107", (struct rdn_span){ at, at + 2 < l->end ? at + 2 : l->end },
                      "escapes: \\n \\t \\r \\\" \\\\ \\uXXXX \\u{X…}", "bad escape");
        n += k;
        p += used;
    }
    t->kind = RDN_TOK_STR;
    t->b = (uint32_t)(p + 1 - l->src);
    if (n > RDN_LIM_STR_BYTES)
        rdn_raise(c, "E0108", (struct rdn_span){ t->a, t->b }, NULL, "string is longer than %d bytes", RDN_LIM_STR_BYTES);
    char word[LONGEST_WORD];
    if (n <= LONGEST_WORD) {
        decode(s + 1, p, word, sizeof word);
        t->like = find_word(word, n);
        if (t->like == RDN_NO_WORD && words[find_sign(word, n)].len == n)
            t->like = find_sign(word, n);
    }
}

/* ---- numbers, times ---- */

/* Does [s, end) begin like the pattern, where d is a digit? */
static bool begins(const char *s, const char *end, const char *pattern) {
    for (; *pattern; pattern++, s++)
        if (s >= end || (*pattern == 'd' ? !is_digit(*s) : *s != *pattern))
            return false;
    return true;
}

static void lex_time(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *t) {
    const char *s = l->src + l->at, *end = l->src + l->end, *p = s + 11;
    while (p < end && (is_digit(*p) || *p == ':' || *p == '.'))
        p++;
    if (p < end && *p == 'Z')
        p++;
    else if (begins(p, end, "+dd:dd") || begins(p, end, "-dd:dd"))
        p += 6;
    t->kind = RDN_TOK_TIME;
    t->b = (uint32_t)(p - l->src);
    if (!rdn_read_time(s, (size_t)(p - s), &t->i))
        rdn_raise(c, "E0109", (struct rdn_span){ t->a, t->b }, "write 2026-03-03T14:30:00Z, years 1678 to 2261",
                  "'%.*s' is not a time", p - s < 40 ? (int)(p - s) : 40, s);
}

static void lex_date(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *t) {
    int32_t days;
    t->kind = RDN_TOK_DATE;
    t->b = t->a + 10;
    if (!rdn_read_date(l->src + t->a, 10, &days))
        rdn_raise(c, "E0109", (struct rdn_span){ t->a, t->b }, "write YYYY-MM-DD", "'%.10s' is not a date", l->src + t->a);
    t->i = days;
}

static void lex_clock(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *t) {
    const char *s = l->src + l->at;
    int h = (s[0] - '0') * 10 + s[1] - '0', m = (s[3] - '0') * 10 + s[4] - '0';
    t->kind = RDN_TOK_CLOCK;
    t->b = t->a + 5;
    if (h > 24 || m > 59 || (h == 24 && m))
        rdn_raise(c, "E0109", (struct rdn_span){ t->a, t->b }, "00:00 to 24:00", "'%.5s' is not a time of day", s);
    t->i = h * 60 + m;
}

/* The parts of a number's text. Pointers into the source; ends are exclusive. */
struct num_parts { const char *s, *ip, *ip_end, *fp, *fp_end, *ex, *ex_end, *unit, *end; bool hex; };

static const char *skip_digits(const char *p, const char *end) {
    while (p < end && (is_digit(*p) || *p == '_'))
        p++;
    return p;
}

/* Cuts the longest text that a number token may be; it need not be well formed. */
static struct num_parts cut_number(const char *s, const char *end) {
    struct num_parts n = { .s = s, .ip = s };
    const char *p = s;
    if (s + 1 < end && s[0] == '0' && (s[1] | 0x20) == 'x') {
        n.hex = true;
        for (p = s + 2; p < end && is_word(*p); p++)
            ;
        n.ip = s + 2;
        n.ip_end = n.unit = p;
        n.end = p < end && *p == '%' ? p + 1 : p;
        return n;
    }
    n.ip_end = p = skip_digits(p, end);
    if (p + 1 < end && *p == '.' && is_digit(p[1])) {
        n.fp = p + 1;
        n.fp_end = p = skip_digits(p + 1, end);
    }
    if (p < end && (*p | 0x20) == 'e') {
        const char *q = p + 1;
        if (q < end && (*q == '+' || *q == '-'))
            q++;
        if (q < end && is_digit(*q)) {
            n.ex = p + 1;
            for (p = q; p < end && is_digit(*p); p++)
                ;
            n.ex_end = p;
        }
    }
    n.unit = p;
    if (p < end && *p == '%')
        p++;
    else if (p < end && is_alpha(*p))
        while (p < end && is_word(*p))
            p++;
    n.end = p;
    return n;
}

/* Single underscores between digits only. */
static bool well_grouped(const char *s, const char *end, bool hex) {
    if (s == end || *s == '_' || end[-1] == '_')
        return false;
    for (; s < end; s++)
        if (*s == '_' ? s[1] == '_' : hex && hex_value(*s) < 0)
            return false;
    return true;
}

static int exponent_of(const struct num_parts *n) {
    if (!n->ex)
        return 0;
    int e = 0;
    for (const char *p = n->ex + (*n->ex == '+' || *n->ex == '-'); p < n->ex_end; p++)
        e = e > RDN_LIM_EXPONENT ? e : e * 10 + (*p - '0');
    return *n->ex == '-' ? -e : e;
}

static const struct { char name[4]; int64_t ns; } units[] = {
    { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
    { "d", 86400000000000 }, { "w", 604800000000000 },
};
static int64_t unit_ns(const struct num_parts *n) {
    size_t len = (size_t)(n->end - n->unit);
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == len && memcmp(units[i].name, n->unit, len) == 0)
            return units[i].ns;
    return 0;
}
static bool unit_is(const struct num_parts *n, const char *u) {
    return (size_t)(n->end - n->unit) == strlen(u) && memcmp(n->unit, u, strlen(u)) == 0;
}

/* Digits of the mantissa without leading and trailing zeros; returns their number and how many decimals are left. */
static unsigned mantissa(const struct num_parts *n, char out[RDN_LIM_NUM_CHARS], int *ret_sc) {
    unsigned k = 0;
    int sc = 0;
    for (const char *p = n->ip; p < n->ip_end; p++)
        if (*p != '_' && (k || *p != '0'))
            out[k++] = *p;
    for (const char *p = n->fp; p < n->fp_end; p++)
        if (*p != '_') {
            sc++;
            if (k || *p != '0')
                out[k++] = *p;
        }
    for (; k && out[k - 1] == '0'; k--)
        sc--;
    *ret_sc = k ? sc : 0;
    return k;
}

/* Whole nanoseconds that fit int64. 10^sc divides m * unit only for sc <= 16: m has no factor 10 and a week is 2^16 * ...,
 * so everything fits 128 bits or the answer is no. */
static bool duration(const struct num_parts *n, int64_t unit, int64_t *ret) {
    char d[RDN_LIM_NUM_CHARS];
    int sc;
    unsigned k = mantissa(n, d, &sc);
    *ret = 0;
    if (k == 0)
        return true;
    if (sc > 16 || (int)k - sc > 19 || k > 36)
        return false;
    rdn_u128 m = 0, div = 1;
    for (unsigned i = 0; i < k; i++)
        if (__builtin_mul_overflow(m, (rdn_u128)10, &m) || __builtin_add_overflow(m, (rdn_u128)(d[i] - '0'), &m))
            return false;
    for (int i = sc; i < 0; i++)
        m *= 10;                                         /* at most 19 digits in all */
    for (int i = 0; i < sc; i++)
        div *= 10;
    if (__builtin_mul_overflow(m, (rdn_u128)unit, &m) || m % div || m / div > INT64_MAX)
        return false;
    *ret = (int64_t)(m / div);
    return true;
}

__attribute__((noreturn)) static void unknown_unit(struct rdn_pass *c, struct rdn_span pos, const struct num_parts *n) {
    static const char *const options[] = { "ns", "us", "ms", "s", "m", "h", "d", "w", "bps" };
    char word[RDN_LIM_NUM_CHARS + 1];
    size_t len = (size_t)(n->end - n->unit);
    memcpy(word, n->unit, len);
    word[len] = 0;
    const char *hint = rdn_near(c, word, options, sizeof options / sizeof *options);
    rdn_raise(c, "E0104", pos, hint ? hint : "units: ns us ms s m h d w % bps", "unknown unit in '%.*s'", (int)(n->end - n->s), n->s);
}

static void lex_number(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *t) {
    struct num_parts n = cut_number(l->src + l->at, l->src + l->end);
    t->kind = RDN_TOK_NUM;
    t->b = (uint32_t)(n.end - l->src);
    struct rdn_span pos = { t->a, t->b };
    int len = (int)(t->b - t->a);
    if (len > RDN_LIM_NUM_CHARS)
        rdn_raise(c, "E0105", pos, NULL, "number literal is longer than %d characters", RDN_LIM_NUM_CHARS);
    bool good = well_grouped(n.ip, n.ip_end, n.hex) && (!n.fp || well_grouped(n.fp, n.fp_end, false));
    if (!good || (n.hex && (n.end != n.unit || n.s[1] != 'x')))
        rdn_raise(c, "E0104", pos, "digits may be grouped: 1_000_000", "malformed number '%.*s'", len, n.s);
    int ex = exponent_of(&n);
    if (ex > RDN_LIM_EXPONENT || ex < -RDN_LIM_EXPONENT)
        rdn_raise(c, "E0104", pos, NULL, "exponent beyond %d", RDN_LIM_EXPONENT);
    t->frac = n.fp || n.ex || n.unit != n.end;
    if (n.unit == n.end || unit_is(&n, "%") || unit_is(&n, "bps"))
        return;
    int64_t unit = n.ex ? 0 : unit_ns(&n);
    if (!unit)
        unknown_unit(c, pos, &n);
    t->kind = RDN_TOK_DUR;
    if (!duration(&n, unit, &t->i))
        rdn_raise(c, "E0110", pos, NULL, "'%.*s' is not a whole number of nanoseconds that fits 64 bits", len, n.s);
}

/* Hexadecimal digits as decimal ones, most significant first; at most 62 digits in, 75 out. */
static unsigned hex_to_decimal(const struct num_parts *n, char out[80]) {
    unsigned char d[80] = { 0 };                         /* little end first */
    unsigned k = 0;
    for (const char *p = n->ip; p < n->ip_end; p++) {
        if (*p == '_')
            continue;
        unsigned carry = (unsigned)hex_value(*p);
        for (unsigned i = 0; i < k || carry; i++) {
            carry += d[i] * 16u;
            d[i] = (unsigned char)(carry % 10);
            carry /= 10;
            k = i + 1 > k ? i + 1 : k;
        }
    }
    for (unsigned i = 0; i < k; i++)
        out[i] = (char)('0' + d[k - 1 - i]);
    return k;
}

struct rdn_num rdn_lex_num(struct rdn_pass *c, const char *src, const struct rdn_tok *t) {
    struct num_parts n = cut_number(src + t->a, src + t->b);
    char d[80] = "";
    int sc = 0;
    unsigned k = n.hex ? hex_to_decimal(&n, d) : mantissa(&n, d, &sc);
    if (n.hex)
        for (; k && d[k - 1] == '0'; k--)
            sc--;
    sc += -exponent_of(&n) + (n.unit == n.end ? 0 : *n.unit == '%' ? 2 : 4);
    bool in_place = !n.hex && k <= (size_t)(n.ip_end - n.ip) && memcmp(n.ip, d, k) == 0;
    return (struct rdn_num){ in_place ? n.ip : rdn_arena_strndup(c->arena, d, k), k, k ? sc : 0, t->frac };
}

/* ---- the token ---- */
static const char *skip_space(const char *p, const char *end) {
    for (;; p++) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
            p++;
        if (p >= end || *p != '#')
            return p;
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p)
            return end;
    }
}

static void lex_digit(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *t) {
    const char *s = l->src + l->at, *end = l->src + l->end;
    if (begins(s, end, "dddd-dd-dd")) {
        if (s + 10 < end && s[10] == 'T') {
            lex_time(c, l, t);
            return;
        }
        if (s + 10 >= end || !is_word(s[10])) {
            lex_date(c, l, t);
            return;
        }
    }
    if (begins(s, end, "dd:dd") && (s + 5 >= end || !is_word(s[5])))
        lex_clock(c, l, t);
    else
        lex_number(c, l, t);
}

static void lex_id(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *t) {
    const char *s = l->src + l->at, *end = l->src + l->end, *p = s;
    while (p < end && is_word(*p))
        p++;
    t->kind = RDN_TOK_ID;
    t->b = (uint32_t)(p - l->src);
    if (p - s > RDN_LIM_IDENT)
        rdn_raise(c, "E0111", (struct rdn_span){ t->a, t->b }, NULL, "identifier is longer than %d bytes", RDN_LIM_IDENT);
    t->word = t->like = find_word(s, (size_t)(p - s));
}

/* What people write who come from another language. */
static const char *instead_of(char c) {
    switch (c) {
    case '&': return "write 'and'";
    case '|': return "write 'or'";
    case '!': return "write 'not (…)', or '!=' for unequal";
    case '\'': return "strings stand in double quotes";
    case ';': return "nothing ends with ';'";
    case '%': return "write 'mod'; '5%' is a number";
    default: return NULL;
    }
}

static void lex_sign(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *t) {
    const char *s = l->src + l->at;
    t->kind = RDN_TOK_SIGN;
    t->word = t->like = find_sign(s, l->end - l->at);
    if (t->word == RDN_NO_WORD) {
        unsigned char b = (unsigned char)*s;
        unsigned n = b < 0x80 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
        rdn_raise(c, "E0103", (struct rdn_span){ l->at, l->at + n }, instead_of(*s), "unexpected character");
    }
    t->b = t->a + words[t->word].len;
}

void rdn_lex_next(struct rdn_pass *c, struct rdn_lex *l, struct rdn_tok *ret) {
    l->at = (uint32_t)(skip_space(l->src + l->at, l->src + l->end) - l->src);
    *ret = (struct rdn_tok){ .kind = RDN_TOK_EOF, .a = l->at, .b = l->at };
    if (l->at == l->end)
        return;
    char b = l->src[l->at];
    if (is_alpha(b))
        lex_id(c, l, ret);
    else if (is_digit(b))
        lex_digit(c, l, ret);
    else if (b == '"')
        lex_string(c, l, ret);
    else
        lex_sign(c, l, ret);
    l->at = ret->b;
}
