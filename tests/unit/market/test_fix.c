/* SPDX-License-Identifier: Apache-2.0
 * FIX 4.4: what is written reads back, and every way in which a message can be wrong has its reason. */
#include <stdlib.h>

#include "market/fix_ledger.h"
#include "tests/unit/market/feed_kit.h"

#define TEXT(s) { s, sizeof s - 1 }
#define NANO INT64_C(1000000000)

static const redan_fix samples[] = {
    { .type = 'D', .side = '1', .ord_type = '2', .tif = '0', .sender = TEXT("FIRM"), .target = TEXT("VENUE"), .sender_sub = TEXT("joe"), .cl_ord_id = TEXT("a-1"),
      .account = TEXT("A1"), .symbol = TEXT("AAPL"), .venue = TEXT("XNAS"), .algo = TEXT("twap"), .smp = TEXT("G1"), .seq = 7, .ts_ns = 1772550000123456789, .sent_ns = 1772550000123000000, .qty = 100 * NANO, .px = 585330000000 },
    { .type = 'D', .side = '6', .ord_type = '1', .cl_ord_id = TEXT("x"), .symbol = TEXT("AAPL"), .ts_ns = 1772550000 * NANO, .qty = 1 * NANO },
    { .type = 'F', .side = '2', .cl_ord_id = TEXT("b"), .orig_id = TEXT("a-1"), .symbol = TEXT("AAPL"), .ts_ns = 1, .qty = 5 * NANO },
    { .type = 'G', .side = '5', .ord_type = '4', .cl_ord_id = TEXT("c"), .orig_id = TEXT("b"), .symbol = TEXT("AAPL"), .ts_ns = 1, .qty = 5 * NANO, .px = 10000000, .stop_px = -10000000 },
    { .type = '8', .side = '1', .exec_type = 'F', .ord_status = '1', .order_id = TEXT("o"), .exec_id = TEXT("e"), .symbol = TEXT("AAPL"), .last_qty = 2 * NANO,
      .last_px = 1230000000, .cum_qty = 2 * NANO, .avg_px = 1230000000 },
    { .type = '8', .side = '1', .exec_type = '8', .ord_status = '8', .order_id = TEXT("NONE"), .exec_id = TEXT("e2"), .symbol = TEXT("AAPL"), .reject_reason = 99,
      .text = TEXT("MAX_QTY") },
    { .type = '9', .ord_status = '0', .reject_to = '2', .order_id = TEXT("o"), .cl_ord_id = TEXT("c"), .orig_id = TEXT("b"), .cancel_reason = 1 },
};

static bool same_text(redan_fix_text a, redan_fix_text b) { return a.len == b.len && (!a.len || memcmp(a.p, b.p, a.len) == 0); }

static bool same(const redan_fix *a, const redan_fix *b) {
    for (unsigned i = 0; i < RDN_FIX_FIELDS; i++) {
        const struct rdn_fix_field *f = &rdn_fix_fields[i];
        const char *x = (const char *)a + f->at, *y = (const char *)b + f->at;
        if (f->kind == RDN_FIX_TEXT ? !same_text(*(const redan_fix_text *)(const void *)x, *(const redan_fix_text *)(const void *)y) :
                                      memcmp(x, y, f->kind == RDN_FIX_CODE ? 1 : 8) != 0)
            return false;
    }
    return a->type == b->type && a->has == b->has;
}

static void round_trip(void **state) {
    (void)state;
    for each (i, samples) {
        char out[1024], again[1024];
        redan_fix m = samples[i], got;
        size_t used;
        redan_fix_fill(&m);
        size_t n = redan_fix_encode(&m, out, sizeof out);
        check(n > 30 && redan_fix_decode(out, n, &got, &used) == 0 && used == n, "row %zu: %s %u: %.*s", i, redan_fix_reason(got.bad), got.bad_tag, (int)n, out);
        check(same(&m, &got), "row %zu", i);
        check(redan_fix_encode(&got, again, sizeof again) == n && memcmp(out, again, n) == 0, "row %zu", i);
        check(redan_fix_encode(&m, again, n - 1) == 0, "row %zu: too little room", i);
        for (size_t cut = 0; cut < n; cut++)
            check(redan_fix_decode(out, cut, &got, &used) == 0 && !used && !got.type, "row %zu cut at %zu", i, cut);
        for (size_t at = 0; at < n; at++) {              /* one wrong byte anywhere is found */
            memcpy(again, out, n);
            again[at] ^= 1;
            int fault = redan_fix_decode(again, n, &got, &used);
            check(fault || !used || at + 1 == n, "row %zu: byte %zu", i, at);
        }
    }
    redan_fix m = samples[0];
    m.text = (redan_fix_text)TEXT("a\001b");
    redan_fix_fill(&m);
    char out[1024];
    check(redan_fix_encode(&m, out, sizeof out) == 0, "a text with SOH");
}

/* `body` with | for SOH, in a frame that is right. */
static size_t frame(char *out, const char *version, const char *body) {
    int h = sprintf(out, "8=%s|9=%zu|", version, strlen(body));
    strcpy(out + h, body);
    unsigned sum = 0;
    for (char *p = out; *p; p++)
        sum += (unsigned char)(*p = *p == '|' ? RDN_FIX_SOH : *p);
    sprintf(out + strlen(out), "10=%03u%c", sum % 256, RDN_FIX_SOH);
    return strlen(out);
}

#define ORDER "35=D|11=a|55=AAPL|54=1|38=100|40=2|44=1.5|60=20260303-15:00:00"
static void bad_input(void **state) {
    (void)state;
    static const struct { const char *body; enum rdn_fix_bad why; uint32_t tag; } rows[] = {
        { ORDER "|", RDN_FIX_GOOD, 0 },
        { ORDER "|9999=x|", RDN_FIX_GOOD, 0 },
        { ORDER "|453=2|448=p|447=D|452=1|448=q|447=D|452=3|", RDN_FIX_GOOD, 0 },
        { "35=A|108=30|", RDN_FIX_BAD_TYPE, 35 },
        { "35=DD|11=a|", RDN_FIX_BAD_TYPE, 35 },
        { "11=a|35=D|", RDN_FIX_BAD_ORDER, 0 },
        { ORDER "|x=1|", RDN_FIX_BAD_FIELD, 0 },
        { ORDER "|123456=1|", RDN_FIX_BAD_FIELD, 0 },
        { ORDER "|0=1|", RDN_FIX_BAD_FIELD, 0 },
        { ORDER "|07=1|", RDN_FIX_BAD_FIELD, 0 },
        { ORDER "|58|", RDN_FIX_BAD_FIELD, 0 },
        { ORDER "||", RDN_FIX_BAD_FIELD, 0 },
        { ORDER "|38=100|", RDN_FIX_BAD_REPEATED, 38 },
        { ORDER "|9999=x|1=b|9999=x|", RDN_FIX_BAD_REPEATED, 9999 },
        { ORDER "|35=D|", RDN_FIX_BAD_REPEATED, 35 },
        { ORDER "|78=1|79=a|", RDN_FIX_BAD_GROUP, 78 },
        { ORDER "|1=|", RDN_FIX_BAD_VALUE, 1 },
        { ORDER "|34=-1|", RDN_FIX_BAD_VALUE, 34 },
        { ORDER "|59=00|", RDN_FIX_BAD_VALUE, 59 },
        { ORDER "|99=1e3|", RDN_FIX_BAD_VALUE, 99 },
        { ORDER "|99=0.0000000001|", RDN_FIX_BAD_VALUE, 99 },
        { ORDER "|99=99999999999999|", RDN_FIX_BAD_VALUE, 99 },
        { ORDER "|52=20260303|", RDN_FIX_BAD_VALUE, 52 },
        { ORDER "|52=20261303-15:00:00|", RDN_FIX_BAD_VALUE, 52 },
        { ORDER "|52=20260303-15:00:00.1234567891|", RDN_FIX_BAD_VALUE, 52 },
        { "35=D|11=a|55=AAPL|54=1|40=1|60=20260303-15:00:00|", RDN_FIX_BAD_MISSING, 38 },
        { "35=D|11=a|55=AAPL|54=1|38=1|40=2|60=20260303-15:00:00|", RDN_FIX_BAD_MISSING, 44 },
        { "35=G|11=a|55=AAPL|54=1|38=1|40=1|60=20260303-15:00:00|", RDN_FIX_BAD_MISSING, 41 },
        { "35=8|37=o|17=e|150=F|39=1|55=A|54=1|151=1|14=1|32=1|", RDN_FIX_BAD_MISSING, 31 },
        { "35=D|11=a|55=AAPL|54=7|38=1|40=1|60=20260303-15:00:00|", RDN_FIX_BAD_SIDE, 54 },
        { "35=D|11=a|55=AAPL|54=1|38=0|40=1|60=20260303-15:00:00|", RDN_FIX_BAD_QUANTITY, 38 },
        { "35=D|11=a|55=AAPL|54=1|38=-5|40=1|60=20260303-15:00:00|", RDN_FIX_BAD_QUANTITY, 38 },
    };
    char text[1024];
    redan_fix m;
    size_t used;
    for each (i, rows) {
        size_t n = frame(text, "FIX.4.4", rows[i].body);
        int fault = redan_fix_decode(text, n, &m, &used);
        check(m.bad == rows[i].why && m.bad_tag == rows[i].tag && used == n, "%s: %s, tag %u", rows[i].body, redan_fix_reason(m.bad), m.bad_tag);
        check((fault != 0) == (rows[i].why != RDN_FIX_GOOD) && redan_fix_reason(m.bad)[0] == (rows[i].why ? redan_fix_reason(m.bad)[0] : '\0'), "%s", rows[i].body);
    }
    size_t n = frame(text, "FIX.4.2", ORDER "|");
    check(redan_fix_decode(text, n, &m, &used) == REDAN_FAULT_UNKNOWN_TYPE && m.bad == RDN_FIX_BAD_VERSION, "%u", m.bad);
    n = frame(text, "FIX.4.4", ORDER "|");
    text[n - 2]++;
    check(redan_fix_decode(text, n, &m, &used) == REDAN_FAULT_BAD_CHECKSUM && m.bad == RDN_FIX_BAD_CHECKSUM, "%u", m.bad);
    n = frame(text, "FIX.4.4", ORDER "|");
    memmove(text + 14, text + 13, n - 13);               /* a digit more in 9 */
    check(redan_fix_decode(text, n + 1, &m, &used) == REDAN_FAULT_SHORT_INPUT && m.bad == RDN_FIX_BAD_BODY_LENGTH, "%u", m.bad);
}

/* Noise, a message that the next cuts short and an endless one are refused alone, in pieces of any size. */
static void between(void **state) {
    (void)state;
    static const size_t pieces[] = { 1 << 20, 4093, 7, 1 };
    char good[256], *text = malloc(20000);
    size_t n = frame(good, "FIX.4.4", ORDER "|"), len = 0;
    assert_non_null(text);
#define ADD(s, k) (memcpy(text + len, s, k), len += (k))
    ADD(good, n);
    ADD("\r\nnoise\n8=FIX 8\n", 16);
    ADD(good, n);
    ADD(good, n - 8);                                    /* its field 10 is missing */
    ADD("\001", 1);
    ADD(good, n);
    ADD("8=FIX.4.4\001", 10);
    memset(text + len, 'x', 6000);
    len += 6000;
    ADD(good, n);
    ADD("\n", 1);
    ADD(good, n);
    for each (i, pieces) {
        redan_feed *f = kit_open("fix", "AAPL", 0);
        redan_feed_stats st;
        kit_feed(f, text, len, pieces[i]);
        redan_feed_stats_get(f, &st);
        check(st.events == 5 && st.faults[REDAN_FAULT_SHORT_INPUT] == 2 && st.faults[REDAN_FAULT_BAD_CHECKSUM] == 1, "piece %zu: %lu events, %lu short",
              pieces[i], st.events, st.faults[REDAN_FAULT_SHORT_INPUT]);
        redan_feed_close(f);
    }
    free(text);
}

/* Orders and reports are for information; what they say of ticks and lots is checked. */
static void events(void **state) {
    (void)state;
    static const struct { const char *body; uint8_t action, side, fault; int64_t px, qty; } rows[] = {
        { ORDER "|", REDAN_MARKET_ORDER, REDAN_BID, 0, 150, 100 },
        { "35=8|37=o|17=e|150=F|39=1|55=AAPL|54=5|151=1|14=1|32=7|31=1.25|", REDAN_MARKET_FILL, REDAN_ASK, 0, 125, 7 },
        { "35=D|11=a|55=AAPL|54=1|38=0.5|40=1|60=20260303-15:00:00|", 0, 0, REDAN_FAULT_BAD_NUMBER, 0, 0 },
        { "35=D|11=a|55=AAPL|54=1|38=1|40=2|44=1.001|60=20260303-15:00:00|", 0, 0, REDAN_FAULT_OFF_TICK, 0, 0 },
    };
    for each (i, rows) {
        char text[512];
        redan_feed *f = kit_open("fix", "AAPL", 0);
        redan_mevent ev[16];
        size_t used, n = frame(text, "FIX.4.4", rows[i].body);
        uint32_t k = redan_feed_decode(f, text, n, ev, 16, &used);
        check(k == !rows[i].fault && used == n, "row %zu: %u events", i, k);
        if (k)
            check(ev[0].action == rows[i].action && ev[0].side == rows[i].side && ev[0].px_ticks == rows[i].px && ev[0].qty_lots == rows[i].qty, "row %zu", i);
        redan_book_level l[2];
        check(redan_feed_apply(f, ev, k, NULL) == k && !redan_book_levels(f, 0, REDAN_BID, l, 2) && (!rows[i].fault || kit_fault(f, rows[i].fault) == 1), "row %zu", i);
        redan_feed_close(f);
    }
}

/* What names no symbol is about the only instrument, or about none that is known: an event all the same, with its message, and no fault. */
static void without_symbol(void **state) {
    (void)state;
    for (unsigned more = 0; more < 2; more++) {
        char text[512];
        redan_feed *f = kit_open("fix", "AAPL", 0);
        redan_instrument in = REDAN_INSTRUMENT_INIT;
        redan_mevent ev[16];
        redan_fix m;
        uint8_t fault = 1;
        uint32_t id;
        size_t used, n = frame(text, "FIX.4.4", "35=9|37=o|11=c|41=b|39=0|434=1|102=1|");
        in.symbol = "MSFT";
        in.tick = "0.01";
        if (more)
            assert_int_equal(redan_feed_instrument(f, &in, &id, NULL), 0);
        uint32_t k = redan_feed_decode(f, text, n, ev, 16, &used);
        check(k == 1 && ev[0].action == REDAN_MARKET_ORDER && ev[0].instrument == (more ? REDAN_BY_ORDER : 0), "%u more: %u events, instrument %u", more, k, ev[0].instrument);
        check(redan_feed_order(f, &ev[0], &m) == 0 && m.type == '9', "%u more: %c", more, m.type);
        check(redan_feed_apply(f, ev, 1, &fault) == 1 && !fault && !kit_fault(f, REDAN_FAULT_UNKNOWN_ID), "%u more: fault %u", more, fault);
        redan_feed_close(f);
    }
}

/* ---- as events of the ledger ---- */
#define REPORT "35=8|37=o|17=e|39=1|55=AAPL|54=5|151=0|14=0|11=a|60=20260303-15:00:00.000000001|"
static void ledger_events(void **state) {
    (void)state;
    static const struct { const char *body; int rc; struct rdn_ledger_in want; } rows[] = {
        { ORDER "|1=A|50=t|", 0, { .kind = RDN_LK_ORDER, .has_px = true, .qty = 100, .px = 15000 } },
        { "35=D|11=a|55=AAPL|54=6|38=7|40=1|60=20260303-15:00:00|", 0, { .kind = RDN_LK_ORDER, .side = 1, .is_short = true, .short_exempt = true, .ord_type = 1, .qty = 7 } },
        { "35=G|11=b|41=a|55=AAPL|54=5|38=7|40=2|44=-0.0001|60=20260303-15:00:00|", 0,
          { .kind = RDN_LK_ORDER, .order = RDN_LO_REPLACE, .side = 1, .is_short = true, .has_px = true, .qty = 7, .px = -1 } },
        { "35=F|11=b|41=a|55=AAPL|54=2|38=7|60=20260303-15:00:00|", 0, { .kind = RDN_LK_ORDER, .order = RDN_LO_CANCEL, .side = 1, .qty = 7 } },
        { "35=D|11=a|55=AAPL|54=1|38=1.5|40=1|60=20260303-15:00:00|", REDAN_E_INVAL, { 0 } },
        { "35=D|11=a|55=AAPL|54=1|38=1|40=2|44=1.00001|60=20260303-15:00:00|", REDAN_E_INVAL, { 0 } },
        { "35=D|11=a|55=AAPL|54=1|38=1|40=3|99=1|60=20260303-15:00:00|", REDAN_E_NOSUP, { 0 } },
        { REPORT "150=0|", 0, { .kind = RDN_LK_ACK, .side = 1 } },
        { REPORT "150=4|", 0, { .kind = RDN_LK_CANCELLED, .side = 1 } },
        { REPORT "150=C|", 0, { .kind = RDN_LK_EXPIRED, .side = 1 } },
        { REPORT "150=8|", 0, { .kind = RDN_LK_VENUE_REJECT, .side = 1 } },
        { REPORT "150=5|1=A|", 0, { .kind = RDN_LK_REPLACED, .side = 1, .has_account = true } },
        { REPORT "150=F|32=3|31=1.25|", 0, { .kind = RDN_LK_FILL, .side = 1, .qty = 3, .px = 12500 } },
        { REPORT "150=F|32=3|31=1.25001|", 0, { .kind = RDN_LK_FILL, .side = 1, .qty = 3, .px = 12500 } },       /* sold for less */
        { REPORT "150=F|32=3|31=-1.25001|", 0, { .kind = RDN_LK_FILL, .side = 1, .qty = 3, .px = -12501 } },
        { "35=8|37=o|17=e|39=1|55=AAPL|54=1|151=0|14=0|11=a|150=F|32=3|31=1.25001|", 0, { .kind = RDN_LK_FILL, .qty = 3, .px = 12501 } },      /* bought for more */
        { REPORT "150=F|32=0.5|31=1|", REDAN_E_INVAL, { 0 } },
        { REPORT "150=I|", REDAN_E_NOSUP, { 0 } },
        { "35=8|37=o|17=e|39=1|55=AAPL|54=1|151=0|14=0|150=4|", REDAN_E_NOSUP, { 0 } },
        { "35=9|37=o|11=b|41=a|39=0|434=2|", 0, { .kind = RDN_LK_REPLACE_REJECT } },
        { "35=9|37=o|11=b|41=a|39=0|434=1|", REDAN_E_NOSUP, { 0 } },
    };
    struct rdn_syms *syms;
    assert_int_equal(rdn_syms_open(&syms, &rdn_libc_mem, 64), 0);
    for each (i, rows) {
        char text[1024];
        redan_fix m;
        struct rdn_ledger_in e;
        const struct rdn_ledger_in *w = &rows[i].want;
        size_t used, n = frame(text, "FIX.4.4", rows[i].body);
        check(redan_fix_decode(text, n, &m, &used) == 0, "%s: %s", rows[i].body, redan_fix_reason(m.bad));
        check(rdn_fix_event(syms, &m, &e) == rows[i].rc, "%s", rows[i].body);
        check(rows[i].rc || (e.kind == w->kind && e.order == w->order && e.side == w->side && e.ord_type == w->ord_type && e.has_px == w->has_px && e.has_account == w->has_account &&
              e.is_short == w->is_short && e.short_exempt == w->short_exempt && e.qty == w->qty && e.px == w->px && (e.kind != RDN_LK_FILL || e.exec_id)), "%s", rows[i].body);
        uint32_t len;
        check(rows[i].rc || (*rdn_sym_text(syms, e.id, &len) == m.cl_ord_id.p[0] && e.ts == (m.ts_ns ? m.ts_ns : m.sent_ns)), "%s", rows[i].body);
    }
    rdn_syms_close(syms);
    assert_int_equal(rdn_syms_open(&syms, &rdn_libc_mem, 2), 0);
    struct rdn_ledger_in e;
    check(rdn_fix_event(syms, &samples[0], &e) == REDAN_E_FULL, "no room for its texts");
    rdn_syms_close(syms);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(round_trip), cmocka_unit_test(bad_input), cmocka_unit_test(between), cmocka_unit_test(events), cmocka_unit_test(without_symbol),
        cmocka_unit_test(ledger_events) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
