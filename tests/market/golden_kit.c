/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/market/golden_kit.h"

#include <stdlib.h>
#include <unistd.h>

#include "market/source.h"

char *golden_file(const char *name, size_t *ret_len) {
    char path[512];
    const char *shared = getenv("REDAN_SHARED");
    snprintf(path, sizeof path, "%s/data/%s", shared ? shared : "../shared", name);
    struct rdn_source *src;
    if (access(path, R_OK) != 0) {
        print_message("no file %s in the shared data\n", name);
        return NULL;
    }
    redan_error err;
    size_t len = 0, cap = 1 << 20;
    char *p = malloc(cap);
    check(rdn_source_open(&src, path, &err) == 0, "%s", err.text);
    for (ssize_t got = 1; got > 0; len += (size_t)got) {
        p = len + 65536 < cap ? p : realloc(p, cap *= 2);
        assert_non_null(p);
        got = rdn_source_read(src, p + len, cap - len - 1, &err);
        check(got >= 0, "%s: %s", name, err.text);
    }
    rdn_source_close(src);
    p[len] = '\0';
    *ret_len = len;
    return p;
}

redan_feed *golden_open(const redan_feed_options *o, const char *symbol, const char *tick, const char *lot, uint32_t number) {
    redan_instrument in = REDAN_INSTRUMENT_INIT;
    redan_error err;
    redan_feed *f;
    uint32_t id;
    in.symbol = symbol;
    in.tick = tick;
    in.lot = lot;
    in.number = number;
    check(redan_feed_open(&f, o, &err) == 0 && redan_feed_instrument(f, &in, &id, &err) == 0, "%s", err.text);
    return f;
}

void golden_begin(struct golden *g, redan_feed *feed, uint32_t instrument) {
    *g = (struct golden){ .feed = feed, .instrument = instrument, .last = { INT64_MIN } };
    crypto_hash_sha256_init(&g->all);
    crypto_hash_sha256_init(&g->distinct);
}

void golden_state(struct golden *g) {
    redan_book_line_data l;
    if (g->unseen) {
        g->unseen--;
        return;
    }
    assert_int_equal(redan_book_line(g->feed, g->instrument, &l), 0);
    int64_t now[4] = { l.bid_px, l.bid_qty, l.ask_px, l.ask_qty };
    crypto_hash_sha256_update(&g->all, (const unsigned char *)now, sizeof now);
    g->states++;
    g->crossed += (l.flags & REDAN_BOOK_CROSSED) != 0;
    if (memcmp(now, g->last, sizeof now) == 0)
        return;
    if (now[0] != g->last[0] || now[2] != g->last[2]) {
        g->pairs++;
        g->spread_sum += (uint64_t)(now[2] - now[0]);
    }
    crypto_hash_sha256_update(&g->distinct, (const unsigned char *)now, sizeof now);
    g->distinct_states++;
    memcpy(g->last, now, sizeof now);
}

static void hex16(crypto_hash_sha256_state *s, char out[17]) {
    unsigned char h[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(s, h);
    sodium_bin2hex(out, 17, h, 8);
}

void golden_end(struct golden *g, char all[17], char distinct[17]) {
    hex16(&g->all, all);
    hex16(&g->distinct, distinct);
}

void golden_feed(struct golden *g, const char *data, size_t len, size_t piece) {
    redan_mevent ev[256];
    size_t at = 0, end = 0;
    while (at < len) {
        size_t used;
        end = end + piece < len ? end + piece : len;
        uint32_t n = redan_feed_decode(g->feed, data + at, end - at, ev, 256, &used);
        at += used;
        for (uint32_t i = 0; i < n; i++) {
            g->actions[ev[i].action]++;
            if (g->seen)
                g->seen(g, &ev[i]);
            redan_feed_apply(g->feed, &ev[i], 1, NULL);
            if (ev[i].flags & REDAN_MF_LAST)
                golden_state(g);
        }
        if (!used && !n && end == len)
            break;                                       /* a tail that is no whole message */
        if (used)
            end = at + piece < len ? end : len;
    }
}
