// SPDX-License-Identifier: Apache-2.0
// What --json prints: for most command lines the answer of an operation, as its schema says.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <sstream>

#include "app/operations/operation_schema.h"
#include "core/text/json.h"
#include "tests/support/json_schema.h"
#include "tests/support/sandbox.h"
#include "tools/json_answers.h"
#include "tools/manual/command_tree.h"

using namespace ak;
using namespace ak::testing;

namespace {

using Names = std::vector<std::string>;

Names words_of(std::string_view text) {
  std::istringstream words{std::string(text)};
  return {std::istream_iterator<std::string>(words), {}};
}

/// "alphakernel db merge" and every other command line at or below this one that takes --json.
void add_json_commands(const tools::CommandText& command, Names& names) {
  const bool has_json = std::ranges::any_of(command.options, [](const tools::OptionText& option) {
    return std::ranges::find(option.names, "--json") != option.names.end();
  });
  if (has_json) names.push_back(command.name);
  for (const tools::CommandText& sub : command.subcommands) add_json_commands(sub, names);
}

constexpr const char* kKernel = R"cu(/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
)cu";

/// A command line that prints the answer of an operation, given what an earlier one has left in the database.
struct Call {
  std::string operation;
  Names words;
};

std::vector<Call> calls(const Sandbox& box) {
  const std::string kernel = (box.folder / "k.cu").string(), best = (box.folder / "best.json").string();
  const Names small{"--algorithm", "vector_add", "--shape", "N=1000"},
      here{"--device", "emulator", "--arch", "sm_80"};
  const auto line = [](Names words, const Names& more, const Names& most = {}) {
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), most.begin(), most.end());
    return words;
  };
  return {{"evaluate", line({"evaluate", kernel}, small, here)},
          {"profile", line({"profile", kernel}, small, here)},
          {"explain", {"explain", "1"}},
          {"compare", {"compare", "1", "1"}},
          {"compare_subjects", {"compare", "search:1", "search:2"}},
          {"time_baselines",
           line({"baselines", kernel, "--rehearse", "--rounds", "2", "--baselines", "eager"}, small)},
          {"predict", line({"predict", kernel, "--no-counts", "--arch", "h200"}, small)},
          {"occupancy", {"occupancy", "--threads", "256", "--registers", "64", "--arch", "h200"}},
          {"export_kernel", {"export", "1", "--output", (box.folder / "out").string()}},
          {"look_up_best", line({"best", "lookup", best, "--product", "h200"}, small)},
          {"list_insights", {"knowledge"}},
          {"list_problems", {"algorithms"}},
          {"show_problem", {"algorithms", "softmax"}},
          {"list_experiments", {"experiment", "list"}},
          {"examine_machine", {"doctor"}},
          {"show_devices", {"devices"}},
          {"show_devices", {"devices", "--catalog"}},
          {"show_devices", {"devices", "show", "h200"}},
          {"session_status", {"session", "status"}}};
}

}  // namespace

TEST_CASE("every command line with --json says in one table what it prints, and none is there without it") {
  Names with_json, rows;
  add_json_commands(tools::describe_program(), with_json);
  for (const tools::JsonAnswer& row : tools::json_answers()) {
    INFO(row.command);
    rows.emplace_back(row.command);
    CHECK(row.operations.empty() != row.document.empty());
    for (const std::string& operation : words_of(row.operations))
      CHECK(operations::find_operation(operation) != nullptr);
  }
  std::ranges::sort(with_json);
  std::ranges::sort(rows);
  CHECK(with_json == rows);
}

TEST_CASE("--json prints the answer of the operation, with its members and no others") {
  Sandbox box;
  box.write("k.cu", kKernel);
  box.write("best.json",
            R"({"format": "alphakernel best points", "version": 1, "sources": {}, "points": []})");
  box.write("night.json", R"({"defaults": {"device": "none", "arch": "sm_90a"},
      "runs": [{"algorithm": "vector_add", "max_evaluations": 1, "seed": 1}]})");
  static_cast<void>(box.run({"session", "start", (box.folder / "night.json").string(), "--output-folder",
                             box.folder.path().string(), "--foreground"}));
  Names called;
  for (Call call : calls(box)) {
    call.words.emplace_back("--json");
    const ProgramResult result = box.run(call.words);
    INFO(call.operation << "\n" << result.out << result.err);
    called.push_back(call.operation);
    if (result.err.find("no Python with PyTorch") != std::string::npos) {
      WARN(call.operation << " needs PyTorch, which is not here");
      continue;
    }
    const Json json = try_parse_json(result.out);
    REQUIRE(json.is_object());
    CHECK(schema_error(operations::fields_schema(operations::operation_named(call.operation).answer), json) ==
          "");
  }
  for (const tools::JsonAnswer& row : tools::json_answers())
    for (const std::string& operation : words_of(row.operations)) {
      INFO(operation);
      CHECK(std::ranges::find(called, operation) != called.end());
    }
}
