// SPDX-License-Identifier: Apache-2.0
// exprtk_peer.cpp: rules in ExprTk, a player of bench/duel.py.  exprtk_peer DIR: expressions.txt (a rule a line), events.bin
//
// Compiled beforehand, variables bound by reference, one expression a rule: what its documentation shows for speed. The fields of an
// event are copied into the variables inside the clock, which is how an application must do it.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
#define exprtk_disable_caseinsensitivity
#define exprtk_disable_comments
#define exprtk_disable_string_capabilities
#define exprtk_disable_rtl_io_file
#include "exprtk.hpp"

struct event {
    int64_t ts;
    double price, qty, notional;
    int64_t account;
    uint32_t symbol;
    uint8_t side, pad[3];
    double rest[10];
};
static const char *const names[16] = {"price", "qty", "notional", "account", "symbol", "side", "position", "cap", "pnl", "vol", "spread", "mid", "exposure",
                                      "margin", "drawdown", "rate"};
static double var[16];
static volatile uint64_t sink;

static double now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}
static void judge(const event &e, const std::vector<exprtk::expression<double>> &rules, std::vector<uint64_t> &fired) {
    var[0] = e.price, var[1] = e.qty, var[2] = e.notional;
    var[3] = double(e.account), var[4] = e.symbol, var[5] = e.side;
    memcpy(var + 6, e.rest, sizeof e.rest);
    std::fill(fired.begin(), fired.end(), 0);
    for (size_t i = 0; i < rules.size(); i++)
        fired[i / 64] |= uint64_t(rules[i].value() != 0) << i % 64;
}

int main(int argc, char **argv) {
    std::string dir = argc > 1 ? argv[1] : ".", line;
    std::ifstream in(dir + "/events.bin", std::ios::binary), texts(dir + "/expressions.txt");
    std::vector<event> events;
    for (event e; in.read(reinterpret_cast<char *>(&e), sizeof e);)
        events.push_back(e);
    exprtk::symbol_table<double> table;
    for (int i = 0; i < 16; i++)
        table.add_variable(names[i], var[i]);
    std::vector<exprtk::expression<double>> rules;
    exprtk::parser<double> parser;
    while (std::getline(texts, line)) {
        rules.emplace_back();
        rules.back().register_symbol_table(table);
        if (!parser.compile(line, rules.back())) {
            std::cerr << parser.error() << "\n";
            return 1;
        }
    }
    std::vector<uint64_t> fired((rules.size() + 63) / 64);
    auto slice = [&](size_t n) {
        double from = now_ns();
        for (size_t i = 0; i < n; i++) {
            judge(events[i], rules, fired);
            sink = fired[0];
        }
        return (now_ns() - from) / double(n);
    };
    size_t n = std::min(events.size(), size_t(1e8 / slice(16)) + 1);
    std::cout << "{\"form\":\"an expression a rule\"}" << std::endl;
    while (std::getline(std::cin, line)) {
        if (line.compare(0, 8, "answers ") != 0) {
            std::cout << "{\"ns\":" << slice(n) << "}" << std::endl;
            continue;
        }
        std::ofstream out(line.substr(8), std::ios::binary);
        for (size_t i = 0; i < 2048; i++) {
            judge(events[i], rules, fired);
            out.write(reinterpret_cast<const char *>(fired.data()), std::streamsize(fired.size() * 8));
        }
        out.close();
        std::cout << "{\"events\":2048}" << std::endl;
    }
    return 0;
}
