// SPDX-License-Identifier: Apache-2.0
// Spaces of tunables and replays of strategies as a user meets them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/text/file.h"
#include "core/text/json.h"
#include "core/tuning/measured_space.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// A formula over 32 x 8 points with one good corner.
std::string results(bool all_fail = false) {
  MeasuredSpaceBuilder builder;
  for (std::int64_t x = 1; x <= 32; ++x) {
    for (std::int64_t y = 1; y <= 8; ++y) {
      MeasuredSpaceBuilder::Row row{.values = {{"x", x}, {"y", y}}};
      if (all_fail || x * y > 200)
        row.result.failure = "compile";
      else
        row.result.time_ns = 1000.0 + static_cast<double>((x - 20) * (x - 20) + 30 * (y - 4) * (y - 4));
      builder.add(row);
    }
  }
  return to_kernel_tuner_cache(builder.finish({{"x", {}}, {"y", {}}}).value()).dump();
}

constexpr const char* kDefinition = R"json({"ConfigurationSpace": {"TuningParameters": [
  {"Name": "x", "Type": "int", "Values": "range(1, 33)"}, {"Name": "y", "Type": "int", "Values": "range(1, 9)"}],
  "Conditions": [{"Parameters": ["x", "y"], "Expression": "CONDITION"}]}})json";

std::string definition(const std::string& condition) {
  std::string text = kDefinition;
  return text.replace(text.find("CONDITION"), 9, condition);
}

}  // namespace

TEST_CASE("strategies are replayed over recorded spaces, the same for the same seed") {
  Sandbox box;
  const std::string space = box.write("space.json", results());
  const auto simulate = [&](const std::string& seed) {
    const ProgramResult result =
        box.run({"simulate", space, box.write("other.json", results()), "--strategy", "random,exhaustive",
                 "--repeats", "20", "--budget", "60", "--seed", seed, "--json"});
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    Json json = parse_json(result.out);
    for (Json& row : json["rows"]) {
      row.erase("strategy_us");
      row.erase("proposal_times");
    }
    return json;
  };
  const Json first = simulate("3");
  CHECK(first == simulate("3"));
  CHECK(first != simulate("4"));
  REQUIRE(first.at("rows").size() == 6);
  const Json& all = first.at("rows").at(2);
  CHECK(all.at("space") == "all");
  CHECK(all.at("mean_fraction").at("25").get<double>() < all.at("mean_fraction").at("60").get<double>());
  CHECK(first.at("rows").at(3).at("half_band_95").at("60").get<double>() <
        1e-9);  // exhaustive: every run is the same
}

TEST_CASE(
    "a simulation reports the time of proposals where the budget allows, and seconds where they were "
    "recorded") {
  Sandbox box;
  Json cache = parse_json(results());
  for (auto& [key, entry] : cache["cache"].items()) entry["compile_time"] = 1000;
  const ProgramResult result =
      box.run({"simulate", box.write("timed.json", cache.dump()), box.write("untimed.json", results()),
               "--repeats", "5", "--budget", "220", "--compile-workers", "4", "--json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Json rows = parse_json(result.out).at("rows");
  CHECK(rows.at(0).at("proposal_times").size() == 1);
  CHECK(rows.at(0).at("proposal_times").at("200").at("percentile_99_us").get<double>() > 0);
  CHECK(rows.at(0).at("serial_s").get<double>() ==
        Approx(rows.at(0).at("expected_evaluations").get<double>()));
  CHECK(rows.at(0).at("parallel_s").get<double>() < 0.5 * rows.at(0).at("serial_s").get<double>());
  CHECK(rows.at(1).at("serial_s").is_null());
  CHECK(rows.at(1).at("parallel_s").is_null());
}

TEST_CASE("the curves of a simulation are written as CSV and drawn") {
  Sandbox box;
  const std::string csv = box.write("curves.csv", ""), plot = box.write("curves.svg", "");
  const ProgramResult result = box.run({"simulate", box.write("space.json", results()), "--repeats", "5",
                                        "--budget", "30", "--csv", csv, "--picture", plot});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.find("random") != std::string::npos);
  const std::string lines = read_file(csv);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 31);
  const std::string svg = read_file(plot);
  CHECK(svg.find("evaluations (count)") != std::string::npos);
  CHECK(svg.find("<polyline") != std::string::npos);
}

TEST_CASE("a simulation says when searches would have stopped, and what they would have left") {
  Sandbox box;
  const std::string space = box.write("space.json", results());
  const std::vector<std::string> arguments{"simulate",  space, "--strategy",       "bayesian",
                                           "--repeats", "2",   "--budget",         "120",
                                           "--devices", "2",   "--stop-when-done", "5%"};
  std::vector<std::string> as_json = arguments;
  as_json.emplace_back("--json");
  const ProgramResult result = box.run(as_json);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Json answer = parse_json(result.out);
  CHECK(answer.at("devices") == 2);
  CHECK(answer.at("least_gain").get<double>() == Approx(0.05));
  const Json& stopped = answer.at("rows").at(0).at("stopped");
  CHECK(stopped.at("share") == 1);
  CHECK(stopped.at("evaluations").get<double>() < 120);
  CHECK(stopped.at("left").get<double>() <= 0.05);
  CHECK(stopped.at("wrong") == 0);
  CHECK(box.run(arguments).out.find("Runs that stop when they can gain at most 5 %") != std::string::npos);
}

TEST_CASE("spaces are shown, checked against their definition and exported") {
  Sandbox box;
  const std::string space = box.write("space.json", results()), output = box.write("out.json", "");
  const ProgramResult shown = box.run({"space", box.write("t1.json", definition("x * y <= 200"))});
  CHECK(shown.out.find("of 256 without constraints") != std::string::npos);
  CHECK(box.run({"space", space, "--definition", box.write("all.json", definition("x > 0"))}).exit_code == 0);
  const ProgramResult mismatch =
      box.run({"space", space, "--definition", box.write("few.json", definition("x < 32"))});
  CHECK(mismatch.exit_code == 3);
  CHECK(mismatch.err.find("8 of 256 points are not in the defined space") != std::string::npos);
  const ProgramResult empty = box.run({"space", box.write("none.json", definition("x * y > 256"))});
  CHECK(empty.exit_code == 3);
  CHECK(empty.err.find("no point satisfies x * y > 256") != std::string::npos);
  REQUIRE(box.run({"space", space, "--export", output}).exit_code == 0);
  CHECK(read_measured_space(output).failures() == read_measured_space(space).failures());
}

TEST_CASE("what cannot be simulated is refused with a reason") {
  Sandbox box;
  const ProgramResult failing = box.run({"simulate", box.write("bad.json", results(true))});
  CHECK(failing.exit_code == 3);
  CHECK(failing.err.find("every point failed") != std::string::npos);
  const ProgramResult strategy =
      box.run({"simulate", box.write("space.json", results()), "--strategy", "rndom"});
  CHECK(strategy.exit_code == 2);
  CHECK(strategy.err.find("did you mean 'random'?") != std::string::npos);
}

TEST_CASE("a flag that could change nothing is refused, and said where it changes nothing for some") {
  Sandbox box;
  const std::string space = box.write("space.json", results()), other = box.write("other.json", results());
  const auto simulate = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "simulate");
    for (const char* more : {"--repeats", "2", "--budget", "10"}) arguments.emplace_back(more);
    return box.run(arguments);
  };
  struct Row {
    std::vector<std::string> arguments;
    int exit_code;
    std::string words;
  };
  const std::vector<Row> rows{
      {{space, "--strategy", "bayesian", "--prior", "kernel"},
       2,
       "other spaces with the same tunables say, and none such is given beside space"},
      {{space, other, "--strategy", "bayesian", "--prior", "others"},
       2,
       "none such is given beside space, other"},
      {{space, other, "--prior", "kernel"},
       2,
       "--prior changes nothing for strategies that learn from no answers: random"},
      {{space, other, "--strategy", "bayesian", "--prior", "kernel"}, 0, ""},
      {{space, "--stop-when-done", "1%"},
       2,
       "--stop-when-done changes nothing for strategies that learn from no answers: random"},
      {{space, "--strategy", "random,bayesian", "--stop-when-done", "1%"},
       0,
       "note: --stop-when-done changes nothing for strategies that learn from no answers: random"}};
  for (const Row& row : rows) {
    const ProgramResult result = simulate(row.arguments);
    INFO(row.words << "\n" << result.err);
    CHECK(result.exit_code == row.exit_code);
    CHECK(result.err.find(row.words) != std::string::npos);
    CHECK(result.err.empty() == row.words.empty());
  }
}

TEST_CASE("a search of our own database is a space: replayed and exported") {
  Sandbox box;
  const ProgramResult search =
      box.run({"generate", "-q", "--algorithm", "vector_add", "--device", "emulator", "--arch", "sm_80",
               "--max-evaluations", "6", "--output", (box.folder / "k.cu").string()});
  INFO(search.out << search.err);
  REQUIRE(search.exit_code == 0);
  const std::string database = (box.folder / "ak.db").string(), output = box.write("search.json", "");
  const ProgramResult shown = box.run({"space", database, "--export", output, "--format", "kernel-tuner"});
  INFO(shown.err);
  REQUIRE(shown.exit_code == 0);
  const MeasuredSpace space = read_measured_space(output);
  CHECK(space.points.size() > 1);
  CHECK(space.best_ns().has_value());
  CHECK(box.run({"simulate", database, "--repeats", "3", "--budget", "4"}).exit_code == 0);
}
