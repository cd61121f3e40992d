// SPDX-License-Identifier: Apache-2.0
// embed.cpp: redan.h from C++17, linked to the shared library: what a C++ program sees is the public header and redan_* symbols.
#include <redan/redan.h>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

static int failed, passed;
static void check(bool good, const char *what) {
    good ? ++passed : ++failed;
    if (!good)
        std::printf("FAIL %s\n", what);
}

struct Order {
    int64_t ts, qty;
};
static_assert(std::is_standard_layout<redan_verdict>::value && std::is_trivially_copyable<redan_verdict>::value, "a plain struct");
static_assert(sizeof(redan_error) == 376, "frozen within a major version");
static_assert(sizeof(redan_verdict) == 96 && sizeof(redan_value) == 24 && sizeof(redan_emit) == 32 && sizeof(redan_undefined) == 12, "frozen within a major version");

int main() {
    static const char text[] = "ruleset embed version 1\n  undefined skip\nevent Order { qty: int }\nwindow n = count() on Order\n"
                               "rule big on Order { when qty > 100 reject BIG \"qty {qty}\" emit Seen { n: n } }\n";
    redan_options options = REDAN_OPTIONS_INIT;
    redan_compilation compilation = REDAN_COMPILATION_INIT;
    redan_activation activation = REDAN_ACTIVATION_INIT;
    redan_lane_options lane_options = REDAN_LANE_OPTIONS_INIT;
    redan_plugin_options plugin_options = REDAN_PLUGIN_OPTIONS_INIT;
    redan_engine *engine = nullptr;
    redan_ruleset *rules = nullptr, *none = nullptr;
    redan_lane *lane = nullptr;
    redan_error error{};
    uint32_t order = 0;
    uint64_t generation = 0, hash = 0xcbf29ce484222325u;
    std::vector<std::string> mistakes;
    for (const char *s = "Order;ts:time;qty:int;"; *s; s++)
        hash = (hash ^ static_cast<unsigned char>(*s)) * 0x100000001b3u;
    compilation.ctx = &mistakes;
    compilation.on_diag = [](void *ctx, const redan_diag *d) { static_cast<std::vector<std::string> *>(ctx)->push_back(d->code); };
    check(redan_version() == REDAN_VERSION, "the library is the header's");
    check(redan_open(&engine, &options, &error) == REDAN_OK, "open");
    check(redan_plugin(engine, &plugin_options, &error) == REDAN_E_INVAL, "a plugin without a name");
    check(redan_compile(engine, "bad", "rule", 4, &compilation, &none, &error) == REDAN_E_SYNTAX && !none && mistakes.size() == 1 && mistakes[0] == error.id, "a mistake");
    check(redan_compile(engine, "embed", text, std::strlen(text), &compilation, &rules, &error) == REDAN_OK, "compile");
    check(redan_activate(engine, rules, &activation, &generation, &error) == REDAN_OK && generation == 1, "activate");
    check(redan_event(engine, "Order", hash, &order, &error) == REDAN_OK, "event");
    check(redan_lane_open(engine, &lane_options, &lane, &error) == REDAN_OK, "lane");
    Order rows[] = { { 1, 5 }, { 2, 500 } };
    redan_verdict v[2];
    std::size_t done = 0;
    check(redan_eval_batch(lane, order, rows, sizeof rows[0], 2, v, &done) == REDAN_OK && done == 2, "batch");
    check(v[0].verdict == REDAN_ACCEPT && v[0].ncodes == 0, "the first");
    check(v[1].verdict == REDAN_REJECT && v[1].ncodes == 1 && std::string(redan_code_name(lane, v[1].codes[0])) == "BIG", "the second");
    check(v[1].nemits == 1 && v[1].emits[0].fields[0].type == REDAN_T_INT && v[1].emits[0].fields[0].as.i == 2, "its emit");
    char message[16];
    check(redan_message(lane, 0, message, sizeof message) == 7 && std::string(message) == "qty 500", "its message");
    redan_lane_close(lane);
    redan_release(rules);
    redan_close(engine);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
