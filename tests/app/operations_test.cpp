// SPDX-License-Identifier: Apache-2.0
// The table of operations: every row has its texts, its stubs and answers that fit their schemas.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "app/operations/clients/client_texts.h"
#include "app/operations/operation_schema.h"
#include "app/operations/problem_sections.h"
#include "app/operations/request_check.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/locations.h"
#include "tests/support/daily_sample.h"
#include "tests/support/fuzz_iterations.h"
#include "tests/support/json_schema.h"
#include "tests/support/needs_pytorch.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::operations;
using namespace ak::testing;

namespace {

std::string in_tree(const std::string& file) { return read_file(std::string(AK_SOURCE_DIR) + "/" + file); }

/// A database of its own, and the program's processes as workers.
struct Bench {
  TemporaryFolder folder;
  Context context;

  Bench() {
    set_locations({.program = AK_PROGRAM, .config = folder / "config.json"});
    context.config.cache = (folder / "cache").string();
    context.database = folder / "ak.db";
    context.caller = "test";
  }
  ~Bench() { set_locations({}); }

  Answer run(std::string_view name, const Json& request, const Callbacks& callbacks = {}) const {
    return call(operation_named(name), request, context, callbacks);
  }
};

Json vector_add(const std::string& body, Json more = Json::object()) {
  Json request{{"source", R"cu(/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
)cu" + body + "\n}\n"},
               {"problem", "vector_add"},
               {"shape", {{"N", 1000}}}};
  request.update(more);
  return request;
}

const Json kOnCpu{{"device", "emulator"}, {"arch", "sm_80"}};
const std::string kRightBody = "  if (i < n) c[i] = a[i] + b[i];";

/// A kernel with two points to tune.
Json tunable_add(const Json& more) {
  Json request = vector_add(
      "  for (int k = 0; k < STEPS && i * STEPS + k < n; ++k)\n"
      "    c[i * STEPS + k] = a[i * STEPS + k] + b[i * STEPS + k];",
      kOnCpu);
  std::string source = request["source"];
  const std::string plain = R"({"launches")", grid = "ceil_div(N, 256)";
  source.replace(source.find(grid), grid.size(), "ceil_div(N, 256 * STEPS)");
  source.replace(source.find(plain), plain.size(),
                 R"({"tunables": {"STEPS": {"values": [1, 2]}}, "launches")");
  request["source"] = source;
  request.update(more);
  return request;
}

struct Example {
  std::string operation;
  Json request;
  bool fails = false;
};

/// At least one of every operation, in an order that fills the database before it is asked.
std::vector<Example> examples() {
  return {
      {"list_problems", Json::object()},
      {"show_problem", {{"problem", "softmax"}}},
      {"show_problem", {{"problem", "vector_add"}, {"section", "all"}}},
      {"new_problem", {{"folder", "operations_test.problem"}, {"path", "operations_test.kernel.cu"}}},
      {"run_reference",
       {{"problem", "vector_add"},
        {"workload", "n2"},
        {"folder", "operations_test.inputs"},
        {"device", "emulator"},
        {"arch", "sm_80"}}},
      {"show_devices", Json::object()},
      {"show_devices", {{"name", "h200"}}},
      {"show_devices", {{"name", "sm_90"}}},
      {"show_devices", {{"catalog", true}}},
      {"evaluate", vector_add(kRightBody, kOnCpu)},
      {"evaluate", vector_add("  if (i < n) c[i] = a[i] - b[i];", kOnCpu), true},
      {"evaluate",
       vector_add("  c[i] = a[i] + b[i];", {{"device", "emulator"}, {"arch", "sm_80"}, {"detail", "full"}}),
       true},
      {"evaluate", vector_add("  c[i] = nothing;", kOnCpu), true},
      {"evaluate", vector_add(kRightBody, {{"device", "none"}, {"arch", "sm_90a"}, {"depth", "build"}})},
      {"explain_failure", {{"variant", 2}}},
      {"explain_failure", {{"gate", "race_detector"}}},
      {"search",
       {{"problem", "vector_add"},
        {"device", "emulator"},
        {"arch", "sm_80"},
        {"shape", {{"N", 1000}}},
        {"max_evaluations", 2},
        {"seed", 7}}},
      {"tune", tunable_add({{"strategy", "exhaustive"}, {"seed", 7}})},
      {"explain", {{"variant", 1}}},
      {"explain", vector_add(kRightBody, {{"device", "emulator"}, {"arch", "sm_80"}, {"ablate", true}})},
      {"explain", {{"variant", 1}, {"detail", "full"}}},
      {"compare", {{"first", "1"}, {"second", "2"}}},
      {"compare", {{"first", "1"}, {"second", "2"}, {"detail", "full"}}},
      {"compare_subjects", {{"first", "search:1"}, {"second", "search:2"}}},
      {"compare_subjects", {{"first", "search:1"}, {"second", "search:6"}, {"form", "markdown"}}},
      {"profile", vector_add(kRightBody, kOnCpu)},
      {"profile",
       vector_add(kRightBody,
                  {{"device", "emulator"}, {"arch", "sm_80"}, {"detail", "full"}, {"compare_variant", 1}})},
      {"time_baselines",
       vector_add(kRightBody,
                  {{"rehearse", true}, {"baselines", "eager"}, {"rounds", 2}, {"arch", "sm_90a"}})},
      {"predict", vector_add(kRightBody)},
      {"predict", vector_add(kRightBody, {{"counts", false}, {"time_model", "none"}, {"arch", "h200"}})},
      {"occupancy", vector_add(kRightBody, {{"arch", "sm_90a"}})},
      {"occupancy", {{"threads", 256}, {"registers", 64}, {"shared_bytes", 49152}, {"arch", "sm_70"}}},
      {"query", {{"sql", "SELECT id, status, NULL AS empty, 0.5 AS half FROM evaluations"}}},
      {"best_variants", {{"problem", "vector_add"}}},
      {"list_experiments", Json::object()},
      {"list_insights", Json::object()},
      {"examine_machine", Json::object()},
      {"look_up_best",
       {{"file", "operations_test.best.json"},
        {"product", "sm_90a"},
        {"problem", "vector_add"},
        {"shape", {{"N", 1000}}}},
       true},
      {"show_kernel", {{"variant", 1}}},
      {"show_kernel", {{"variant", 3}}},
      {"save_kernel", {{"variant", 1}, {"path", "operations_test.cu"}, {"overwrite", true}}},
      {"export_kernel", {{"variant", 1}, {"folder", "operations_test.export"}}},
      {"start_session",
       {{"manifest", "operations_test.session.json"}, {"output_folder", "operations_test.export"}}},
      {"session_status", Json::object()},
      {"session_status", {{"detail", "full"}}},
      {"stop_session", {{"session", 1}}}};
}

/// Files that operations write below the working directory, and what they read there.
struct Files {
  Files() {
    clear();
    write_file_atomically("operations_test.session.json",
                          R"({"defaults": {"device": "none", "arch": "sm_90a"},
        "runs": [{"algorithm": "vector_add", "max_evaluations": 2, "seed": 1}]})");
    write_file_atomically(
        "operations_test.best.json",
        R"({"format": "alphakernel best points", "version": 1, "sources": {}, "points": []})");
    write_file_atomically("operations_test.kernel.cu",
                          "__global__ void twice(const float* x, float* y, int n) {\n"
                          "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                          "  if (i < n) y[i] = 2 * x[i];\n}\n");
    std::filesystem::create_directory("operations_test.inputs");
    put_input("a", {1, 2});
    put_input("b", {10, 0.5});
  }
  static void put_input(const std::string& name, std::array<float, 2> values) {
    write_file_atomically("operations_test.inputs/n2.given." + name + ".bin",
                          {reinterpret_cast<const char*>(values.data()), sizeof values});
  }
  ~Files() { clear(); }
  static void clear() {
    for (const char* name : {"operations_test.cu", "operations_test.export", "operations_test.session.json",
                             "operations_test.best.json", "operations_test.kernel.cu",
                             "operations_test.problem", "operations_test.inputs"})
      std::filesystem::remove_all(name);
  }
};

/// A request with some of its members replaced, taken away, or invented.
Json mutated(const Operation& operation, std::mt19937& random) {
  static const std::vector<Json> values{1,
                                        -1,
                                        0.5,
                                        "x",
                                        "time",
                                        true,
                                        nullptr,
                                        Json::array(),
                                        Json::object(),
                                        1e12,
                                        "cuda",
                                        {{"N", 5}},
                                        {{"N", "5"}},
                                        {{"N", 0.5}},
                                        {{"N", {1}}}};
  const auto any = [&] { return values[random() % values.size()]; };
  Json request = Json::object();
  for (const Parameter& parameter : operation.parameters) {
    if (random() % 3 == 0 || (parameter.required && random() % 8 != 0))
      request[std::string(parameter.name)] = any();
  }
  if (random() % 20 == 0) request["unheard_of"] = any();
  return request;
}

}  // namespace

TEST_CASE("every operation answers as its schema says, also where a kernel fails") {
  const Bench bench;
  const Files files;
  std::vector<std::string> tried;
  const bool turns = pytorch_here().has_value();  // turns with baselines need it
  for (const Example& example : examples()) {
    if (example.operation == "time_baselines" && !turns) {
      tried.push_back(example.operation);
      continue;
    }
    INFO(example.operation << " " << example.request.dump());
    const Operation& operation = operation_named(example.operation);
    std::vector<std::string> events;
    const Answer answer = bench.run(example.operation, example.request,
                                    {.on_event = [&](std::string_view name, const Json& data) {
                                      for (const Event& event : all_events())
                                        if (event.name == name)
                                          CHECK(schema_error(fields_schema(event.fields), data) == "");
                                      events.emplace_back(name);
                                    }});
    CHECK(schema_error(request_schema(operation.parameters), example.request) == "");
    CHECK(schema_error(fields_schema(operation.answer), answer.content) == "");
    CHECK(answer.failed == example.fails);
    for (const std::string& event : events)
      CHECK(std::ranges::find(operation.events, event) != operation.events.end());
    for (const std::string_view event : operation.events)
      CHECK(std::ranges::find(events, event) != events.end());
    tried.push_back(example.operation);
  }
  for (const Operation& operation : all_operations()) {
    INFO(operation.name);
    CHECK(std::ranges::find(tried, operation.name) != tried.end());
  }
}

TEST_CASE("an overview of every problem has at most 6 kB, and every section is there on demand") {
  const Bench bench;
  const auto sections = problem_sections();
  std::size_t asked = 0;
  for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
    INFO(entry.name);
    const Json shown = bench.run("show_problem", {{"problem", entry.name}}).content;
    const std::size_t folder_bytes = shown["folder"].get_ref<const std::string&>().size();
    CHECK(shown.dump().size() - folder_bytes < 6'000);  // wherever the checkout lies
    CHECK(shown["tensors"].size() >= 2);
    CHECK_FALSE(shown["timed_shapes"].empty());
    CHECK_FALSE(shown["templates"].empty());
    const std::string more = shown["sections"];
    for (const std::string_view section : sections) {
      if (section == sections.front()) continue;
      CHECK(more.find(section) != std::string::npos);
      if (section == "all" || !drawn_today(++asked, 5)) continue;
      const Json one = bench.run("show_problem", {{"problem", entry.name}, {"section", section}}).content;
      CHECK(one.contains(section));
      CHECK_FALSE(one.contains("timed_shapes"));
    }
  }
}

TEST_CASE("a kernel is explained by what was measured, compared, and exported into an empty folder only") {
  const Bench bench;
  const Files files;
  const Json right = bench.run("evaluate", vector_add(kRightBody, kOnCpu)).content;
  const Json slow =
      bench.run("evaluate", vector_add("  for (int k = 0; k < 9; ++k)\n" + kRightBody, kOnCpu)).content;
  const Json explained = bench.run("explain", {{"variant", right["variant"]}}).content;
  CHECK(explained["page"].get<std::string>().find("## What the kernel does") != std::string::npos);
  for (const Json& optimisation : explained["optimisations"]) CHECK_FALSE(optimisation["evidence"].empty());
  REQUIRE(explained["limits"].size() == 1);
  CHECK(explained["limits"][0]["basis"] == "counts");
  CHECK_FALSE(explained["limits"][0]["evidence"].get<std::string>().empty());
  CHECK_FALSE(explained["limits"][0].contains("floor_us"));  // of a cost there is none

  const auto number = [](const Json& variant) { return variant.dump(); };
  const Json compared =
      bench.run("compare", {{"first", number(right["variant"])}, {"second", number(slow["variant"])}})
          .content;
  CHECK(compared["basis"] == "estimated costs");
  CHECK(compared["second_over_first"].get<double>() > 1);

  const Json request{{"variant", right["variant"]}, {"folder", "operations_test.export"}};
  const Json exported = bench.run("export_kernel", request).content;
  for (const Json& file : exported["files"])
    CHECK(std::filesystem::exists("operations_test.export/" + file.get<std::string>()));
  CHECK_THROWS_WITH(bench.run("export_kernel", request), Catch::Contains("expected a name that is free"));
  for (const char* folder : {"..", ".", "/tmp", "../beside", "no/where"})
    CHECK_THROWS(bench.run("export_kernel", {{"variant", right["variant"]}, {"folder", folder}}));
}

TEST_CASE("the exact reference runs on inputs of the caller's, and says which file it lacks") {
  const Bench bench;
  const Files files;
  const Json request{{"problem", "vector_add"},
                     {"workload", "n2"},
                     {"folder", "operations_test.inputs"},
                     {"device", "emulator"},
                     {"arch", "sm_80"}};
  const Json answer = bench.run("run_reference", request).content;
  REQUIRE(answer["outputs"].size() == 1);
  CHECK(answer["outputs"][0]["dtype"] == "float64");
  const std::string bytes =
      read_file("operations_test.inputs/" + answer["outputs"][0]["file"].get<std::string>());
  std::array<double, 2> sums{};
  REQUIRE(bytes.size() == sizeof sums);
  std::memcpy(sums.data(), bytes.data(), sizeof sums);
  CHECK(sums == std::array<double, 2>{11, 2.5});

  write_file_atomically("operations_test.inputs/n2.given.b.bin", "four");
  CHECK_THROWS_WITH(bench.run("run_reference", request), Catch::Contains("expected 8 bytes, got 4"));
  std::filesystem::remove("operations_test.inputs/n2.given.b.bin");
  CHECK_THROWS_WITH(bench.run("run_reference", request), Catch::Contains("expected the file n2.given.b.bin"));
  Json wrong = request;
  wrong["workload"] = "n3";
  CHECK_THROWS_WITH(bench.run("run_reference", wrong), Catch::Contains("expected one of n1, n2"));
}

TEST_CASE(
    "a stored kernel is shown as it is saved, and a folder is made from a kernel in an empty place only") {
  const Bench bench;
  const Files files;
  const Json variant = bench.run("evaluate", vector_add(kRightBody, kOnCpu)).content["variant"];
  const Json shown = bench.run("show_kernel", {{"problem", "vector_add"}}).content;
  CHECK(shown["variant"] == variant);
  CHECK(shown["verified"] == true);
  CHECK(shown["emulated_cost_us"].get<double>() > 0);
  CHECK_FALSE(shown.contains("score_us"));
  static_cast<void>(bench.run("save_kernel", {{"variant", variant}, {"path", "operations_test.cu"}}));
  CHECK(read_file("operations_test.cu") == shown["source"].get<std::string>());

  const Json request{{"folder", "operations_test.problem"}, {"path", "operations_test.kernel.cu"}};
  const Json made = bench.run("new_problem", request).content;
  CHECK(made["files"].size() == 4);
  CHECK_FALSE(made["to_fill_in"].empty());
  CHECK_THROWS_WITH(bench.run("new_problem", request), Catch::Contains("expected a name that is free"));
  CHECK_THROWS_WITH(
      bench.run("new_problem", {{"folder", "/tmp/operations_test"}, {"path", "operations_test.kernel.cu"}}),
      Catch::Contains("outside of the working directory"));
}

TEST_CASE("a table is as long as its reader asks for") {
  const Bench bench;
  static_cast<void>(bench.run("evaluate", vector_add(kRightBody, kOnCpu)));
  const std::string sql =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
      "SELECT i, hex(zeroblob(5000)) AS text FROM n";
  const auto table = [&](const Json& more) {
    Json request{{"sql", sql}};
    request.update(more);
    return bench.run("query", request).content;
  };
  const Json brief = table({{"limit", 3000}});
  CHECK(brief["complete"] == false);
  CHECK(brief["rows"].size() < 5);
  CHECK(brief["note"].get<std::string>().find("cut at 30000 bytes") != std::string::npos);
  const Json whole = table({{"limit", 3000}, {"max_bytes", 32'000'000}, {"cell_bytes", 100'000}});
  CHECK(whole["complete"] == true);
  CHECK(whole["rows"].size() == 3000);
  CHECK(whole["rows"][2999][1].get<std::string>().size() == 10'000);
}

TEST_CASE("a session that its manifest lets write elsewhere, or that is wrong, is not started") {
  const Bench bench;
  const Files files;
  const auto started = [&](const std::string& runs) {
    write_file_atomically("operations_test.session.json", "{\"runs\": [" + runs + "]}");
    return bench.run("start_session", {{"manifest", "operations_test.session.json"}});
  };
  CHECK_THROWS_WITH(started(R"({"algorithm": "vector_add", "output": "/tmp/x.cu"})"),
                    Catch::Contains("outside of the working directory"));
  CHECK_THROWS_WITH(started(R"({"algorithm": "vector_add", "output": "../x.cu"})"),
                    Catch::Contains("outside of the working directory"));
  CHECK_THROWS_WITH(started(R"({"algorithm": "vector_ad", "device": "none"})"),
                    Catch::Contains("vector_add"));
  for (const char* notify :
       {R"({"command": ["sh", "-c", "date"]})", R"({"url": "http://127.0.0.1:9/hook"})"}) {
    INFO(notify);
    write_file_atomically("operations_test.session.json", std::string(R"({"notify": )") + notify +
                                                              R"(, "runs": [{"algorithm": "vector_add"}]})");
    CHECK_THROWS_WITH(bench.run("start_session", {{"manifest", "operations_test.session.json"}}),
                      Catch::Contains("the name of a variable"));
  }
  CHECK_THROWS_WITH(bench.run("session_status", Json::object()), Catch::Contains("there is no session"));
  CHECK_THROWS(bench.run("stop_session", {{"session", 7}}));
}

TEST_CASE("a search on the CPU device says which predicted times ranked its kernels") {
  const Bench bench;
  const Json found = bench
                         .run("search", {{"problem", "vector_add"},
                                         {"device", "emulator"},
                                         {"arch", "sm_90a"},
                                         {"deterministic", true},
                                         {"seed", 1},
                                         {"max_evaluations", 3}})
                         .content;
  CHECK(found["ranking"].get<std::string>().find("sm_90a_h200") != std::string::npos);
  double last = 0;
  for (const Json& leader : found["leaders"]) {
    const double predicted = leader.at("predicted_us");
    CHECK(predicted >= leader.at("predicted_low_us").get<double>());
    CHECK(predicted <= leader.at("predicted_high_us").get<double>());
    CHECK(predicted >= last);
    last = leader.at("predicted_low_us");  // within it, costs decide
  }
  CHECK(found["best"]["predicted_us"] == found["leaders"][0]["predicted_us"]);
}

TEST_CASE("a search that is stopped answers with the best kernel so far") {
  const Bench bench;
  std::atomic<bool> stop{false};
  const Answer answer =
      bench.run("search",
                {{"problem", "vector_add"},
                 {"device", "none"},
                 {"arch", "sm_90a"},
                 {"deterministic", true},
                 {"seed", 1}},
                {.on_event = [&](std::string_view, const Json&) { stop = true; }, .stop = &stop});
  CHECK(answer.content["interrupted"] == true);
  CHECK(answer.content["best"]["source"].get<std::string>().find("__global__") != std::string::npos);
  CHECK(schema_error(fields_schema(operation_named("search").answer), answer.content) == "");
}

TEST_CASE("the files for other languages and the page are what the table says") {
  // alphakernel operations --cpp, --python and --markdown print them.
  CHECK(in_tree("include/alphakernel/operations.h") == cpp_header());
  CHECK(in_tree("python/alphakernel/operations.py") == python_module());
  CHECK(in_tree("docs/operations.md") == operations_page());
}

TEST_CASE("every operation is in every file, with all its members") {
  const std::string header = cpp_header(), module = python_module(), page = operations_page();
  std::size_t rows = 0;
  for (const Operation& operation : all_operations()) {
    INFO(operation.name);
    const std::string name(operation.name), type = type_name(operation.name);
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos);
    CHECK(operation.title.size() > 5);
    CHECK(operation.summary.size() > 20);
    CHECK(operation.summary.ends_with("."));
    CHECK(operation.run != nullptr);
    CHECK_FALSE(operation.answer.empty());
    CHECK(header.find("  " + type + "Answer " + name + "(") != std::string::npos);
    CHECK(header.find("X(" + name + ", " + type + ")") != std::string::npos);
    CHECK(module.find("    def " + name + "(") != std::string::npos);
    CHECK(page.find("\n## " + name + "\n") != std::string::npos);
    for (const Parameter& parameter : operation.parameters) CHECK(parameter.help.size() > 3);
    for (const Field& field : operation.answer) CHECK(field.name != "ok");  // of the answers in C++
    ++rows;
  }
  CHECK(operations_json()["operations"].size() == rows);
}

TEST_CASE("a request is refused where its schema refuses it, and nowhere else") {
  std::mt19937 random(11);
  int refused = 0, taken = 0;
  for (int i = 0; i < test::fuzz_iterations(3'000); ++i) {
    const Operation& operation = all_operations()[random() % all_operations().size()];
    const Json request = mutated(operation, random);
    const std::string wrong = request_error(operation.name, operation.parameters, request);
    INFO(operation.name << " " << request.dump() << ": " << wrong);
    CHECK(wrong.empty() == schema_error(request_schema(operation.parameters), request).empty());
    CHECK(wrong.find('\n') == std::string::npos);
    ++(wrong.empty() ? taken : refused);
  }
  CHECK(refused > 100);
  CHECK(taken > 100);
}

TEST_CASE("a call names what is wrong with its request") {
  const Bench bench;
  CHECK_THROWS_WITH(bench.run("query", Json::object()), Catch::Contains("query needs the argument 'sql'"));
  CHECK_THROWS_WITH(bench.run("query", Json::array()), Catch::Contains("arguments that are an object"));
  CHECK_THROWS_WITH(bench.run("serch", Json::object()), Catch::Contains("did you mean 'search'?"));
}
