/* SPDX-License-Identifier: Apache-2.0
 * tiny.c: everything an application needs to ask Redan about its orders, in one file.
 *
 *     cc tiny.c $(pkg-config --cflags --libs redan) -o tiny && ./tiny                                  */
#include <redan/redan.h>
#include <stdio.h>
#include <string.h>

static const char rules[] =
    "ruleset tiny version 1\n"
    "  undefined reject NOVALUE\n"
    "event Order { account: sym  qty: int  px: dec(4) }\n"
    "param max_qty: int = 1_000 in 1..100_000\n"
    "window msgs = count() over 1s by account on Order\n"
    "rule size on Order { when qty > max_qty  reject MAX_QTY \"qty {qty} above {max_qty}\" }\n"
    "rule rate on Order { when msgs > 3  throttle RATE for 250ms }\n";

struct Order {                                   /* `redan bindgen` prints this and the hash below */
    int64_t ts;
    uint32_t account;
    int64_t qty, px;
};
#define ORDER_LAYOUT 0x2dbba1341807c588u

int main(void) {
    redan_engine *engine;
    redan_ruleset *ruleset;
    redan_lane *lane;
    redan_error err;
    struct Order o = { .ts = 1000000000, .px = 19005 * 100 };
    uint32_t event;

    if (redan_open(&engine, NULL, &err) < 0 ||
        redan_compile(engine, "tiny", rules, strlen(rules), NULL, &ruleset, &err) < 0 ||
        redan_activate(engine, ruleset, NULL, NULL, &err) < 0 ||
        redan_event(engine, "Order", ORDER_LAYOUT, &event, &err) < 0 ||
        redan_lane_open(engine, NULL, &lane, &err) < 0) {
        fprintf(stderr, "%s %u:%u: %s\n", err.id, err.line, err.column, err.text);
        return 1;
    }
    redan_release(ruleset);                      /* the engine keeps its own reference */
    redan_sym(engine, "ACME", 4, &o.account);

    static const int64_t sizes[] = { 100, 5000, 200, 300, 400 };
    static const char *const verdicts[] = { "accept", "throttle", "hold", "reject" };
    for (int i = 0; i < 5; i++) {
        redan_verdict v;
        char msg[128];
        o.ts += 1000000;
        o.qty = sizes[i];
        if (redan_eval(lane, event, &o, &v) < 0)
            return 1;
        printf("qty %lld: %s", (long long)o.qty, verdicts[v.verdict]);
        for (uint32_t k = 0; k < v.ncodes; k++)
            printf(" %s%s%s", redan_code_name(lane, v.codes[k]), redan_message(lane, k, msg, sizeof msg) ? ": " : "", msg);
        printf("\n");
    }
    redan_lane_close(lane);
    redan_close(engine);
    return 0;
}
