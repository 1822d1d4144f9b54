// SPDX-License-Identifier: Apache-2.0
#include "app/exchange/exchange.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <random>

#include "core/error.h"
#include "core/text/file.h"
#include "tests/db/store_fixture.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;
using db::test::TemporaryFolder;

Json definition() {
  return parse_json(
      R"({"name": "add_n4", "op_type": "gemm", "axes": {"N": {"type": "var"}, "D": {"type": "const", "value": 4}},
    "inputs": {"a": {"shape": ["N", "D"], "dtype": "float32"}, "s": {"shape": null, "dtype": "float32"}},
    "outputs": {"c": {"shape": ["N"], "dtype": "float4_e2m1", "description": null}},
    "reference": "import torch\n\ndef run(a, s):\n  return a\n", "tags": ["stage:x"], "constraints": ["N > 1"]})");
}
Json workload() {
  return parse_json(
      R"({"axes": {"N": 7}, "inputs": {"a": {"type": "safetensors", "path": "blob/x", "tensor_key": "k"},
    "s": {"type": "scalar", "value": 1.5}}, "uuid": "u-1"})");
}
Json solution() {
  return parse_json(
      R"({"name": "s1", "definition": "add_n4", "author": "someone", "spec": {"language": "triton",
    "target_hardware": ["NVIDIA_H100"], "entry_point": "main.py::run", "binding": null, "destination_passing_style": false},
    "sources": [{"path": "main.py", "content": "def run(): pass"}], "description": null})");
}
Json trace() {
  Json json = parse_json(
      R"({"definition": "add_n4", "workload": null, "solution": "s1", "evaluation": {"status": "PASSED",
    "environment": {"hardware": "NVIDIA H100", "libs": {"torch": "2.8"}}, "timestamp": "2025-01-01T00:00:00", "log": "",
    "correctness": {"max_relative_error": "NaN", "max_absolute_error": 0, "extra": {"x": 1}},
    "performance": {"latency_ms": 0.5, "reference_latency_ms": 1, "speedup_factor": "Infinity"}}})");
  json["workload"] = workload();
  return json;
}

/// One thing changed, and the pointer that the fault has to name.
struct Corrupted {
  const char* pointer;
  std::function<void(Json&)> corrupt;
};

void require_faults(SchemaFaults (*check)(const Json&), const Json& good,
                    const std::vector<Corrupted>& list) {
  CHECK(check(good).empty());
  for (const Corrupted& one : list) {
    Json bad = good;
    one.corrupt(bad);
    const SchemaFaults faults = check(bad);
    INFO(one.pointer << " in " << bad.dump());
    REQUIRE_FALSE(faults.empty());
    CHECK(
        std::ranges::any_of(faults, [&](const SchemaFault& fault) { return fault.pointer == one.pointer; }));
  }
}

TEST_CASE("what breaks the rules of a definition is named by its place") {
  require_faults(check_definition, definition(),
                 {{"", [](Json& j) { j = Json::array(); }},
                  {"/name", [](Json& j) { j["name"] = ""; }},
                  {"/name", [](Json& j) { j.erase("name"); }},
                  {"/op_type", [](Json& j) { j["op_type"] = 3; }},
                  {"/axes/N/type", [](Json& j) { j["axes"]["N"]["type"] = "expr"; }},
                  {"/axes/D/value", [](Json& j) { j["axes"]["D"]["value"] = -1; }},
                  {"/axes/D/value", [](Json& j) { j["axes"]["D"].erase("value"); }},
                  {"/axes/D/value", [](Json& j) { j["axes"]["D"]["value"] = 18446744073709551615u; }},
                  {"/inputs/a/shape/1", [](Json& j) { j["inputs"]["a"]["shape"][1] = "Q"; }},
                  {"/inputs/a/shape", [](Json& j) { j["inputs"]["a"].erase("shape"); }},
                  {"/inputs/a/dtype", [](Json& j) { j["inputs"]["a"]["dtype"] = "float64"; }},
                  {"/outputs/a~1b", [](Json& j) { j["outputs"]["a/b"] = 1; }},
                  {"/outputs/a", [](Json& j) { j["outputs"]["a"] = j["inputs"]["a"]; }},
                  {"/reference", [](Json& j) { j["reference"] = "def run_all(): pass\n  def run(): pass"; }},
                  {"/tags/0", [](Json& j) { j["tags"] = {1}; }},
                  {"/constraints/0", [](Json& j) { j["constraints"] = {""}; }}});
}

TEST_CASE("what breaks the rules of a workload, a solution or a trace is named by its place") {
  require_faults(check_workload, workload(),
                 {{"/axes/N", [](Json& j) { j["axes"]["N"] = 1.5; }},
                  {"/uuid", [](Json& j) { j["uuid"] = ""; }},
                  {"/inputs/a/path", [](Json& j) { j["inputs"]["a"].erase("path"); }},
                  {"/inputs/s/value", [](Json& j) { j["inputs"]["s"]["value"] = "1"; }},
                  {"/inputs/s/type", [](Json& j) { j["inputs"]["s"]["type"] = "zeros"; }}});
  require_faults(check_solution, solution(),
                 {{"/spec/language", [](Json& j) { j["spec"]["language"] = "rust"; }},
                  {"/spec/target_hardware", [](Json& j) { j["spec"]["target_hardware"] = Json::array(); }},
                  {"/spec/entry_point", [](Json& j) { j["spec"]["entry_point"] = "run"; }},
                  {"/spec/entry_point", [](Json& j) { j["spec"]["entry_point"] = "other.py::run"; }},
                  {"/spec/binding", [](Json& j) { j["spec"]["binding"] = "c"; }},
                  {"/sources/0/path", [](Json& j) { j["sources"][0]["path"] = "../main.py"; }},
                  {"/sources/0/path", [](Json& j) { j["sources"][0]["path"] = "/main.py"; }},
                  {"/sources/1/path", [](Json& j) { j["sources"].push_back(Json(j["sources"][0])); }},
                  {"/sources", [](Json& j) { j["sources"] = Json::array(); }},
                  {"/author", [](Json& j) { j["author"] = nullptr; }}});
  require_faults(
      check_trace, trace(),
      {{"", [](Json& j) { j["solution"] = nullptr; }},
       {"/evaluation/status", [](Json& j) { j["evaluation"]["status"] = "FAST"; }},
       {"/evaluation/performance", [](Json& j) { j["evaluation"]["performance"] = nullptr; }},
       {"/evaluation/performance", [](Json& j) { j["evaluation"]["status"] = "INCORRECT_NUMERICAL"; }},
       {"/evaluation/correctness", [](Json& j) { j["evaluation"]["status"] = "TIMEOUT"; }},
       {"/evaluation/correctness/max_relative_error",
        [](Json& j) { j["evaluation"]["correctness"]["max_relative_error"] = -1; }},
       {"/evaluation/performance/latency_ms",
        [](Json& j) { j["evaluation"]["performance"]["latency_ms"] = "NaN"; }},
       {"/evaluation/environment/libs/torch",
        [](Json& j) { j["evaluation"]["environment"]["libs"]["torch"] = 2; }},
       {"/workload/uuid", [](Json& j) { j["workload"]["uuid"] = 1; }}});
}

TEST_CASE("a workload has the axes and inputs of its definition") {
  CHECK(check_workload_of(workload(), definition()).empty());
  Json json = workload();
  json["axes"] = {{"D", 4}};
  json["inputs"].erase("s");
  json["inputs"]["b"] = {{"type", "random"}};
  CHECK(check_workload_of(json, definition()).size() == 4);
}

/// Every file below a folder with its bytes.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_file(entry.path());
  return files;
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// One evaluation of the fixture's kernel, whose definition gets a reference.
void commit(VariantStore& store, RowId search, const std::shared_ptr<const ProblemInstance>& problem,
            int block, Status status) {
  EvaluationRequest request = db::test::Run(store).request(block);
  request.problem = problem;
  const EvaluationResult result = db::test::Run::result(status, 1'600'000);
  EvaluationRecord record;
  record.search = search;
  record.proposer = "search";
  record.arm = "random";
  record.request = &request;
  record.result = &result;
  static_cast<void>(store.commit(record));
}

TEST_CASE("what is exported follows the rules, and comes back byte for byte from an empty database") {
  const TemporaryFolder folder;
  {
    const auto store = db::open_store(folder.file());
    ProblemInstance made = db::test::vector_add();
    made.definition.name = "sum";
    made.definition.reference = "def run(a, b):\n    return a + b\n";
    const auto problem = std::make_shared<const ProblemInstance>(made);
    const RowId search =
        store->begin_search({.command = "generate_kernel",
                             .proposer = "search",
                             .strategy = "random",
                             .budgets = {},
                             .version = "1"},
                            *problem, db::test::device(), {.major = 9, .minor = 0, .feature = 'a'});
    commit(*store, search, problem, 128, Status::ok);
    commit(*store, search, problem, 256, Status::incorrect);
  }
  const fs::path first = folder.path() / "first", second = folder.path() / "second",
                 good = folder.path() / "good";
  const ExchangeReport report = export_exchange(folder.file(), first, true);
  CHECK(report.definitions == 1);  // the fixture's own has no reference, which the format asks for
  CHECK_THAT(report.notes.front(), Catch::Contains("/reference"));
  CHECK(report.workloads == 2);
  CHECK(report.solutions == 2);
  CHECK(report.traces ==
        3);  // timed on one shape; wrong on one of two; what was checked alone is not a result there
  CHECK(export_exchange(folder.file(), good, false).solutions == 1);
  std::vector<FileFault> faults;
  static_cast<void>(read_exchange(first, faults));
  CHECK(faults.empty());
  const TemporaryFolder empty;
  CHECK(import_exchange(first, empty.file()).variants == 2);
  static_cast<void>(export_exchange(empty.file(), second, true));
  CHECK(files_of(first) == files_of(second));
  CHECK(db::test::integer(empty.file(), "SELECT count(*) FROM variants") == 2);
  CHECK(db::test::integer(empty.file(), "SELECT count(DISTINCT tunables) FROM variants") == 2);
}

TEST_CASE("a foreign data set is kept as it is, and what is CUDA with a launch plan becomes a variant") {
  const TemporaryFolder folder;
  const fs::path in = folder.path() / "in";
  Json ours =
      parse_json(R"({"name": "vector_add_float32", "op_type": "vector_add", "axes": {"N": {"type": "var"}},
    "inputs": {"a": {"shape": ["N"], "dtype": "float32"}, "b": {"shape": ["N"], "dtype": "float32"}},
    "outputs": {"c": {"shape": ["N"], "dtype": "float32"}}, "reference": "def run(a, b):\n    return a + b\n"})");
  const TemporaryFolder other;
  db::test::Run run(*db::open_store(other.file()));
  const std::string source = run.request(128).candidate.source;
  Json cuda = solution();
  cuda["name"] = "mine";
  cuda["definition"] = "vector_add_float32";
  cuda["spec"]["language"] = "cuda";
  cuda["spec"]["entry_point"] = "k.cu::add";
  cuda["sources"] = {{{"path", "k.cu"}, {"content", source}}};
  Json shape = trace();
  shape["definition"] = "vector_add_float32";
  shape["solution"] = shape["evaluation"] = nullptr;
  shape["workload"] = parse_json(
      R"({"axes": {"N": 5}, "inputs": {"a": {"type": "random"}, "b": {"type": "random"}}, "uuid": "w"})");
  write(in / "definitions/gemm/add_n4.json", definition().dump());
  write(in / "definitions/vector_add/vector_add_float32.json", ours.dump());
  write(in / "workloads/vector_add/vector_add_float32.jsonl", shape.dump() + "\n");
  write(in / "solutions/someone/gemm/add_n4/s1.json", solution().dump());
  write(in / "solutions/someone/vector_add/vector_add_float32/mine.json", cuda.dump());
  write(in / "traces/someone/gemm/add_n4.jsonl", trace().dump() + "\n\n");
  write(in / "blob/workloads/x.safetensors", std::string("\0\1\2", 3));
  const ExchangeReport report = import_exchange(in, folder.file());
  CHECK(report.faults.empty());
  CHECK(report.definitions == 2);
  CHECK(report.solutions == 2);
  CHECK(report.variants == 1);
  CHECK(report.traces == 1);
  CHECK(std::ranges::any_of(report.notes, [](const std::string& note) {
    return note.find("it is in triton") != std::string::npos;
  }));
  CHECK(db::test::integer(folder.file(), "SELECT count(*) FROM variants") == 1);
  CHECK(db::test::integer(folder.file(), "SELECT count(*) FROM workloads") == 1);
  CHECK(db::test::integer(folder.file(), "SELECT count(*) FROM evaluations") == 0);
  CHECK(db::test::intact(folder.file()));

  const fs::path first = folder.path() / "first", second = folder.path() / "second";
  CHECK(export_exchange(folder.file(), first, true).solutions == 2);
  const TemporaryFolder empty;
  CHECK(import_exchange(first, empty.file()).faults.empty());
  static_cast<void>(export_exchange(empty.file(), second, true));
  CHECK(files_of(first) == files_of(second));
  CHECK(files_of(first).at("blob/workloads/x.safetensors") == std::string("\0\1\2", 3));
  // Nothing was lost on the way: every value of what was given is there.
  CHECK(parse_json(files_of(first).at("solutions/someone/gemm/add_n4/s1.json")) == solution());
  CHECK(parse_json(files_of(first).at("definitions/gemm/add_n4.json")) == definition());
  CHECK(parse_json(files_of(first).at("traces/someone/gemm/add_n4.jsonl")) == trace());
  // Again adds nothing.
  static_cast<void>(import_exchange(first, empty.file()));
  CHECK(db::test::integer(empty.file(), "SELECT count(*) FROM variants") == 1);
  CHECK(db::test::integer(empty.file(), "SELECT count(*) FROM definitions") == 1);
}

TEST_CASE("hostile files are named and left out, whatever is in them") {
  const TemporaryFolder folder;
  const fs::path in = folder.path() / "in";
  write(in / "definitions/a/deep.json", std::string(1'000'000, '['));
  write(in / "definitions/a/no.json", "{");
  write(in / "definitions/a/bytes.json", std::string("\xff\xfe\0", 3));
  write(in / "traces/a/b/x.jsonl", "null\n[]\n{}\n\"x\"\n");
  write(in / "alphakernel.json", "[1]");
  fs::create_symlink("/etc/passwd", in / "definitions/a/link.json");
  const ExchangeReport report = import_exchange(in, folder.file());
  CHECK(report.faults.size() == 8);
  CHECK(report.definitions == 0);
  CHECK_FALSE(fs::exists(kept_folder(folder.file()) / "definitions"));
  CHECK_THROWS_WITH(import_exchange(folder.path() / "missing", folder.file()),
                    Catch::Contains("there is no folder"));
  CHECK_FALSE(is_file_name("../x"));
  CHECK_FALSE(is_file_name(".x"));
  CHECK_FALSE(is_file_name(""));
  CHECK_FALSE(is_file_name("a/b"));
  CHECK(is_file_name("gemm_n4096-k.v2"));
}

/// Values that a mutation puts somewhere.
Json odd_value(std::mt19937& random) {
  static const std::vector<Json> values{nullptr,
                                        true,
                                        -1,
                                        1e300,
                                        18446744073709551615u,
                                        "",
                                        "NaN",
                                        "../x",
                                        Json::array(),
                                        Json::object(),
                                        Json::array({1, nullptr}),
                                        {{"type", "var"}}};
  return values[random() % values.size()];
}

void mutate(Json& json, std::mt19937& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && random() % 4 != 0) {
    auto next = at->begin();
    std::advance(next, static_cast<std::ptrdiff_t>(random() % at->size()));
    at = &*next;
  }
  *at = odd_value(random);
}

TEST_CASE("thousands of corrupted files neither crash the checks nor an import") {
  std::mt19937 random(1);
  const TemporaryFolder folder;
  for (int i = 0; i < 3000; ++i) {
    Json files[] = {definition(), workload(), solution(), trace()};
    for (Json& one : files)
      for (auto change = random() % 3 + 1; change > 0; --change) mutate(one, random);
    static_cast<void>(check_workload(files[1]));
    static_cast<void>(check_solution(files[2]));
    static_cast<void>(check_trace(files[3]));
    if (check_definition(files[0]).empty() && check_workload(files[1]).empty())
      static_cast<void>(check_workload_of(files[1], files[0]));
    if (i % 100 != 0) continue;
    const fs::path in = folder.path() / fmt::format("in{}", i);
    write(in / "definitions/gemm/add_n4.json", files[0].dump());
    write(
        in / "workloads/gemm/add_n4.jsonl",
        Json{{"definition", "add_n4"}, {"workload", files[1]}, {"solution", nullptr}, {"evaluation", nullptr}}
            .dump());
    write(in / "solutions/a/gemm/add_n4/s1.json", files[2].dump());
    write(in / "traces/a/gemm/add_n4.jsonl", files[3].dump());
    write(in / "alphakernel.json", files[i / 100 % 4].dump());
    CHECK_NOTHROW(import_exchange(in, folder.path() / fmt::format("{}.db", i)));
  }
}

}  // namespace
}  // namespace ak::app
