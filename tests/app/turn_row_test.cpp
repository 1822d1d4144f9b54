// SPDX-License-Identifier: Apache-2.0
#include "app/baselines/turn_row.h"

#include <catch2/catch.hpp>

#include "app/baselines/kernel_baselines.h"
#include "app/baselines/pytorch_turns.h"
#include "core/error.h"

namespace ak::app {
namespace {

const AskedTurns kAsked{.workloads = {"m64"}, .labels = {"pytorch eager"}};

Json good_row() {
  return {
      {"workload", "m64"},
      {"label", "pytorch eager"},
      {"column", "device"},
      {"ratio", 1.25},
      {"low", 1.2},
      {"high", 1.3},
      {"kernel_ns", 1000.5},
      {"baseline_ns", 1250},
      {"rounds", 48},
      {"kernel_late", 0},
      {"baseline_late", 3},
      {"kernel_peak_bytes", 4096},
      {"baseline_peak_bytes", nullptr},
      {"difference", 0.001},
      {"rehearsal", false},
      {"settings", {{"torch", "2.11"}, {"device", "Test GPU"}, {"matmul.allow_tf32", false}, {"else", "x"}}}};
}

}  // namespace

TEST_CASE("a row of turns with PyTorch is taken as it is, its settings as far as they are known") {
  const auto read = read_turn_row(good_row(), kAsked);
  REQUIRE(read);
  CHECK(read->device == "Test GPU");
  const BaselineTurns& turns = read->turns;
  CHECK(turns.column == TimeColumn::device);
  CHECK(turns.ratio == 1.25);
  CHECK(turns.interval.high == 1.3);
  CHECK(turns.baseline_late == 3);
  CHECK(turns.kernel_peak_bytes == 4096);
  CHECK_FALSE(turns.baseline_peak_bytes);
  CHECK(turns.settings == Json{{"torch", "2.11"}, {"matmul.allow_tf32", false}});
}

TEST_CASE("a row that was not asked for, or says what cannot be, is refused") {
  const std::pair<const char*, Json> kLies[] = {{"workload", "m65"},
                                                {"workload", 64},
                                                {"label", "pytorch compile"},
                                                {"column", "moon"},
                                                {"ratio", 0},
                                                {"ratio", -1},
                                                {"ratio", "1.25"},
                                                {"ratio", nullptr},
                                                {"ratio", 1.31},
                                                {"low", 1.26},
                                                {"high", 1e300},
                                                {"kernel_ns", 1e18},
                                                {"baseline_ns", 0},
                                                {"rounds", 1},
                                                {"rounds", 48.5},
                                                {"kernel_late", -1},
                                                {"baseline_late", 1e12},
                                                {"kernel_peak_bytes", -1},
                                                {"kernel_peak_bytes", 1.5},
                                                {"rehearsal", true},
                                                {"rehearsal", "no"},
                                                {"settings", 3},
                                                {"settings", Json::object()},
                                                {"settings", {{"device", 1}}},
                                                {"baseline_peak_bytes", "all"}};
  for (const auto& [name, value] : kLies) {
    Json row = good_row();
    row[name] = value;
    INFO(name << " " << value.dump());
    CHECK_FALSE(read_turn_row(row, kAsked));
  }
  const Json good = good_row();
  for (const auto& member : good.items()) {
    Json row = good_row();
    row.erase(member.key());
    INFO(member.key());
    CHECK(static_cast<bool>(read_turn_row(row, kAsked)) == (member.key() == "difference"));
  }
  for (const Json& row : {Json(), Json(3), Json::array(), Json("row")})
    CHECK_FALSE(read_turn_row(row, kAsked));
}

TEST_CASE("why a baseline was not timed is one line, whatever the process says") {
  CHECK(fault_note({{"label", "pytorch compile"}, {"workload", "m64"}, {"reason", "no\x1b[31m room"}}) ==
        "pytorch compile on m64: not timed: no?[31m room");
  for (const Json& fault : {Json(), Json(3), Json::array(), Json{{"reason", 3}}})
    CHECK(fault_note(fault) == " on : not timed: ");
}

TEST_CASE("baselines are named by a list, each once, and an unknown one is refused with a suggestion") {
  CHECK(parse_baselines("").empty());
  CHECK(parse_baselines("eager,compile,eager") == std::vector<std::string>{"eager", "compile"});
  CHECK_THROWS_WITH(parse_baselines("eager,compil"), Catch::Contains("did you mean 'compile'"));
  CHECK_THROWS_WITH(parse_baselines("eager,,compile"), Catch::Contains("expected some of eager"));
}

TEST_CASE("turns are shown a baseline a paragraph, with both kinds of times") {
  BaselineTurns turns{.workload = "m64", .label = "pytorch compile", .ratio = 1.25, .interval = {1.2, 1.3}};
  turns.kernel_ns = 1e5;
  turns.baseline_ns = 1.25e5;
  turns.kernel_peak_bytes = 1 << 20;
  turns.baseline_peak_bytes = 3 << 20;
  turns.settings = {{"matmul.allow_tf32", true}};
  BaselineTurns wall = turns;
  wall.column = TimeColumn::wall;
  wall.kernel_late = 2;
  CHECK(baselines_text({.turns = {turns, wall}, .notes = {"pytorch eager on m64: not timed: no room"}}) ==
        "in turns with baselines (above 1 the kernel is faster; 95 % interval)\n"
        "  m64, pytorch compile; peak memory 1 MiB against 3 MiB; TF32 on\n"
        "    device 1.250x (1.200 to 1.300), 100 us against 125 us\n"
        "    wall 1.250x (1.200 to 1.300), 100 us against 125 us, 2 samples not queued ahead\n"
        "  note: pytorch eager on m64: not timed: no room\n");
  CHECK(baselines_text({}).empty());
}

}  // namespace ak::app
