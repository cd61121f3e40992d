/* SPDX-License-Identifier: Apache-2.0
 * feed_verb.c: `redan feed info|check|convert FILE`: what a market file holds, what is wrong with it, and the same as another file.
 *
 * Exit codes: 0; 1 check found something; 2 usage, or a file that cannot be read. */
#include "tools/market_in.h"
#include "base/text.h"
#include "market/feed.h"
#include <errno.h>
#include <string.h>

struct seen {
    uint64_t n, actions[256], first_fault[REDAN_FAULTS];
    redan_mevent first[REDAN_FAULTS];                    /* that had this fault */
    int64_t from, to;
};

static void see(struct seen *s, const redan_replay_event *x) {
    s->from = s->n && s->from < x->e.ts_recv_ns ? s->from : x->e.ts_recv_ns;
    s->to = s->n && s->to > x->e.ts_recv_ns ? s->to : x->e.ts_recv_ns;
    s->n++;
    s->actions[x->e.action]++;
    if (x->fault && !s->first_fault[x->fault]) {
        s->first_fault[x->fault] = s->n;
        s->first[x->fault] = x->e;
    }
}

/* --- info --- */

static void print_time(const char *what, int64_t ns) {
    char t[RDN_TEXT_MAX];
    t[rdn_text_time(t, ns)] = 0;
    printf("%-12s%s\n", what, t);
}

static void print_side(const redan_feed *f, uint32_t i, const char *what, bool has, int64_t px, int64_t qty) {
    char p[RDN_TEXT_MAX];
    p[has ? market_price(f, i, px, p) : 0] = 0;
    if (has)
        printf("  %s %s x %lld", what, p, (long long)qty);
    else
        printf("  no %s", what);
}

static void print_book(const redan_feed *f, uint32_t i) {
    static redan_book_level l[65536];
    redan_book_line_data b = { .flags = REDAN_BOOK_NO_BID | REDAN_BOOK_NO_ASK };
    redan_book_line(f, i, &b);
    uint32_t bids = redan_book_levels(f, i, REDAN_BID, l, 65536), asks = redan_book_levels(f, i, REDAN_ASK, l, 65536);
    printf("  %-12s", redan_feed_symbol(f, i));
    print_side(f, i, "bid", !(b.flags & REDAN_BOOK_NO_BID) && b.seq, b.bid_px, b.bid_qty);
    print_side(f, i, "ask", !(b.flags & REDAN_BOOK_NO_ASK) && b.seq, b.ask_px, b.ask_qty);
    printf("  %u/%u levels  %s%s%s\n", bids, asks, b.flags & REDAN_BOOK_VALID ? "valid" : "NOT VALID", b.flags & REDAN_BOOK_CROSSED ? " crossed" : "",
           b.flags & REDAN_BOOK_LOCKED ? " locked" : "");
}

static void print_faults(const redan_feed *f, const struct seen *s) {
    redan_feed_stats st;
    redan_feed_stats_get(f, &st);
    for (uint32_t i = 1; i < REDAN_FAULTS; i++) {
        if (!st.faults[i])
            continue;
        printf("  %-17s%8llu  R%u %s\n", redan_fault_name(i), (unsigned long long)st.faults[i], 8200 + i, rdn_fault_doc(i));
        if (s->first_fault[i])
            printf("  %17s          first: event %llu, order %llu of %s at seq %llu\n", "", (unsigned long long)s->first_fault[i],
                   (unsigned long long)s->first[i].order_id, redan_feed_symbol(f, s->first[i].instrument) ? redan_feed_symbol(f, s->first[i].instrument) : "?",
                   (unsigned long long)s->first[i].seq);
    }
    for (uint32_t i = 1; redan_fix_reason(i)[0]; i++)
        if (f->fix_bad[i])
            printf("  %-17s%8llu  %s\n", "of FIX", (unsigned long long)f->fix_bad[i], redan_fix_reason(i));
    if (st.filtered)
        printf("  %-17s%8llu  messages about instruments that are not declared: --tick declares all, --symbol one\n", "filtered", (unsigned long long)st.filtered);
}

static uint64_t fault_total(const redan_feed *f) {
    redan_feed_stats st;
    uint64_t n = 0;
    redan_feed_stats_get(f, &st);
    for (uint32_t i = 1; i < REDAN_FAULTS; i++)
        n += st.faults[i];
    return n;
}

static int info(struct market_in *m, const struct args *a) {
    struct seen s = { 0 };
    uint64_t books = 20, n = 0;
    if (!args_count(a, "--books", 0, &books))
        return EXIT_USAGE;
    for (const redan_replay_event *x; (x = market_next(m));)
        see(&s, x);
    const redan_feed *f = market_feed(m, 0);
    redan_feed_stats st;
    redan_feed_stats_get(f, &st);
    printf("%-12s%s\n%-12s%llu\n", "format", f->format->name, "events", (unsigned long long)s.n);
    if (s.n) {
        print_time("from", s.from);
        print_time("to", s.to);
    }
    for (unsigned i = 0; i < 256; i++)
        if (s.actions[i])
            printf("  %-10s%llu\n", market_action((uint8_t)i), (unsigned long long)s.actions[i]);
    printf("%-12s%llu live, %llu at most\n", "orders", (unsigned long long)st.live_orders, (unsigned long long)st.peak_orders);
    puts(fault_total(f) ? "faults" : "faults      none");
    print_faults(f, &s);
    while (redan_feed_symbol(f, (uint32_t)n))
        n++;
    printf("%-12s%llu%s\n", "books", (unsigned long long)n, n > books ? ", --books N shows more" : "");
    for (uint32_t i = 0; i < n && i < books; i++)
        print_book(f, i);
    return market_failed(m) ? EXIT_USAGE : EXIT_GOOD;
}

static int check_file(struct market_in *m, const char *path) {
    struct seen s = { 0 };
    for (const redan_replay_event *x; (x = market_next(m));)
        see(&s, x);
    const redan_feed *f = market_feed(m, 0);
    uint64_t bad = fault_total(f);
    printf("%s: %s, %llu events, %llu faults\n", base_name(path), f->format->name, (unsigned long long)s.n, (unsigned long long)bad);
    print_faults(f, &s);
    if (!s.n && !bad)
        printf("  nothing in it is a message of this format\n");
    return market_failed(m) ? EXIT_USAGE : bad || !s.n ? EXIT_FINDINGS : EXIT_GOOD;
}

/* --- convert --- */

struct out { FILE *f; redan_tape *tape; const char *path; uint32_t declared; uint64_t n; };

static bool ends(const char *s, const char *with) { return strlen(s) > strlen(with) && strcmp(s + strlen(s) - strlen(with), with) == 0; }

static bool open_out(struct out *o, redan_error *err) {
    redan_tape_options t = REDAN_TAPE_OPTIONS_INIT;
    t.path = o->path;
    t.mode = REDAN_TAPE_WRITE;
    if (ends(o->path, ".rdt"))
        return redan_tape_open(&o->tape, &t, err) == 0 || (print_error(err), false);
    o->f = strcmp(o->path, "-") == 0 ? stdout : fopen(o->path, "wx");
    if (!o->f)
        usage("%s: %s", o->path, strerror(errno));
    else if (ends(o->path, ".csv") || o->f == stdout)
        fprintf(o->f, "%s\n", market_columns);
    return o->f != NULL;
}

static bool declare(struct out *o, const redan_feed *f, redan_error *err) {
    for (; redan_feed_symbol(f, o->declared); o->declared++) {
        redan_instrument in = REDAN_INSTRUMENT_INIT;
        char tick[RDN_TEXT_MAX], lot[RDN_TEXT_MAX];
        const struct rdn_instrument *i = &f->instruments[o->declared];
        tick[rdn_text_dec(tick, i->tick_nano, RDN_DECIMAL_SCALE)] = 0;
        lot[rdn_text_dec(lot, i->lot_nano, RDN_DECIMAL_SCALE)] = 0;
        in.symbol = i->symbol;
        in.tick = tick;
        in.lot = lot;
        in.number = i->number;
        if (redan_tape_instrument(o->tape, o->declared, &in, err) < 0)
            return print_error(err), false;
    }
    return true;
}

static bool put(struct out *o, struct market_in *m, const redan_replay_event *x, redan_error *err) {
    static char row[MARKET_ROW];
    o->n++;
    if (o->tape)
        return declare(o, market_feed(m, x->file), err) && (redan_tape_append(o->tape, &x->e, 1, &x->fault, err) == 0 || (print_error(err), false));
    size_t n = ends(o->path, ".events") ? 0 : market_row(m, x, row);
    if (n)
        row[n++] = '\n';
    bool good = n ? fwrite(row, n, 1, o->f) == 1 : fwrite(&x->e, sizeof x->e, 1, o->f) == 1;
    return good || (usage("%s: %s", o->path, strerror(errno)), false);
}

static int convert(struct market_in *m, const struct args *a) {
    struct out o = { .path = a->words[2] };
    redan_error err = { 0 };
    bool good = true;
    if (strcmp(o.path, "-") != 0 && !ends(o.path, ".rdt") && !ends(o.path, ".events") && !ends(o.path, ".csv"))
        return usage("feed convert: %s: a name that ends in .rdt (tape), .events (records of 64 bytes) or .csv expected, or - for rows on standard output", o.path);
    if (!open_out(&o, &err))
        return EXIT_USAGE;
    for (const redan_replay_event *x; good && (x = market_next(m));)
        good = x->e.action == REDAN_MARKET_FAULT || put(&o, m, x, &err);
    redan_tape_close(o.tape);
    if (o.f && o.f != stdout && fclose(o.f) != 0)
        good = usage("%s: %s", o.path, strerror(errno)) == EXIT_GOOD;
    if (good && !market_failed(m) && o.f != stdout)
        fprintf(stderr, "%s: %llu events\n", o.path, (unsigned long long)o.n);
    return good && !market_failed(m) ? EXIT_GOOD : EXIT_USAGE;
}

int cmd_feed(int argc, char **argv) {
    static const struct opt opts[] = { MARKET_OPTIONS, { "--format", OPT_VALUE, "" }, { "--books", OPT_VALUE, "" }, { "--from", OPT_VALUE, "" }, { "--to", OPT_VALUE, "" },
                                       { NULL, OPT_FLAG, NULL } };
    static struct args a;
    if (!args_read(&a, "feed", argc, argv, opts))
        return EXIT_USAGE;
    const char *what = a.nwords ? a.words[0] : "";
    bool is_info = strcmp(what, "info") == 0, is_check = strcmp(what, "check") == 0, is_convert = strcmp(what, "convert") == 0;
    if (!is_info && !is_check && !is_convert)
        return usage("feed: info FILE, check FILE or convert FILE OUT expected; `redan help feed` shows the options");
    if (!args_words(&a, 2 + is_convert, 2 + is_convert))
        return EXIT_USAGE;
    struct market_in *m = market_open(&a, args_value(&a, "--format"), &a.words[1], 1);
    if (!m)
        return EXIT_USAGE;
    int rc = is_info ? info(m, &a) : is_check ? check_file(m, a.words[1]) : convert(m, &a);
    market_close(m);
    return rc;
}
