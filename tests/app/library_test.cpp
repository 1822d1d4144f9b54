// SPDX-License-Identifier: Apache-2.0
// The library as another program uses it: through its public headers only, except for what the test needs.
#include <alphakernel/library.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <thread>

#include "app/library/json_codec.h"
#include "tests/support/run_program.h"

using namespace alphakernel;

namespace {

struct LibraryBench {
  ak::testing::TemporaryFolder folder;
  Options options{(folder / "ak.db").string(), (folder / "config.json").string(), "", AK_PROGRAM};

  LibraryBench() { std::ofstream(options.config) << ak::Json{{"cache", (folder / "cache").string()}}.dump(); }
};

constexpr const char* kVectorAdd = R"cu(/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
)cu";

ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return ErrorCode::internal_error;
}

}  // namespace

TEST_CASE("a kernel is evaluated and the database answers for it, with typed requests and answers") {
  const LibraryBench bench;
  Library library(bench.options);
  EvaluateRequest request;
  request.source = kVectorAdd;
  request.problem = "vector_add";
  request.shape["N"] = 1000;
  request.device = "emulator";
  request.arch = "sm_80";
  const EvaluateAnswer answer = library.evaluate(request);
  CHECK(answer.ok);
  CHECK(answer.status == "ok");
  CHECK(answer.checks.passed == answer.checks.of);
  REQUIRE(answer.emulated_cost_us);
  CHECK(*answer.emulated_cost_us > 0);
  CHECK_FALSE(answer.score_us);

  QueryRequest query;
  query.sql = "SELECT status, count(*), NULL, 0.5 FROM evaluations GROUP BY status";
  const QueryAnswer rows = library.query(query);
  REQUIRE(rows.rows.size() == 1);
  CHECK(rows.rows[0] == std::vector<Cell>{std::string("ok"), std::int64_t{1}, std::monostate(), 0.5});

  request.source = std::string(kVectorAdd) + "error";
  const EvaluateAnswer broken = library.evaluate(request);
  CHECK_FALSE(broken.ok);
  CHECK(broken.status == "compile_error");
}

TEST_CASE("a search reports on the way and can be stopped from a callback") {
  const LibraryBench bench;
  Library library(bench.options);
  SearchRequest request;
  request.problem = "vector_add";
  request.device = "none";
  request.arch = "sm_90a";
  std::atomic<bool> stop{false};
  int evaluated = 0, improved = 0;
  Callbacks callbacks;
  callbacks.on_progress = [&](const Progress& progress) {
    CHECK(progress.evaluated >= ++evaluated);
    stop = true;
  };
  callbacks.on_new_best = [&](const NewBest& best) { improved += best.source.empty() ? 0 : 1; };
  callbacks.stop = &stop;
  const SearchAnswer answer = library.search(request, callbacks);
  CHECK(answer.interrupted);
  CHECK(evaluated > 0);
  CHECK(improved > 0);
  REQUIRE(answer.best);
  CHECK(answer.best->source.find("__global__") != std::string::npos);
}

TEST_CASE("errors have the exit code of the command line, and a message") {
  const LibraryBench bench;
  Library library(bench.options);
  QueryRequest query;
  query.sql = "SELECT 1";
  CHECK(code_of([&] { library.query(query); }) == ErrorCode::database);  // there is none yet
  ShowProblemRequest problem;
  problem.problem = "no_such_problem";
  CHECK(code_of([&] { library.show_problem(problem); }) == ErrorCode::usage);
  for (const char* request : {"{", "[]", "{\"unheard_of\": 1}", "{\"name\": 5}"})
    CHECK(code_of([&] { library.call("show_devices", request); }) == ErrorCode::usage);
  CHECK(code_of([&] { library.call("no_operation", "{}"); }) == ErrorCode::usage);
  CHECK(code_of([&] {
          Library({.database = "", .config = "", .templates = "", .program = "/no/program"});
        }) == ErrorCode::environment);
  Options other = bench.options;
  other.templates = "/elsewhere";
  CHECK(code_of([&] { Library another(other); }) == ErrorCode::usage);
}

TEST_CASE("threads share a library") {
  const LibraryBench bench;
  Library library(bench.options);
  std::atomic<int> good{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      EvaluateRequest request;
      request.source = kVectorAdd;
      request.problem = "vector_add";
      request.device = "none";
      request.arch = "sm_90a";
      if (library.evaluate(request).ok && library.list_problems().problems.size() > 5) ++good;
    });
  threads.clear();
  CHECK(good == 3);
}

TEST_CASE("values are the same in JSON and in the structs") {
  ShowProblemRequest request;
  CHECK(ak::library::encode(request) == ak::Json::object());
  request.problem = "x";
  request.params = {{"dtype", "bf16"}, {"causal", true}, {"groups", 4}};
  request.section = "all";
  CHECK(
      ak::library::encode(request) ==
      ak::parse_json(
          R"({"problem": "x", "params": {"causal": true, "dtype": "bf16", "groups": 4}, "section": "all"})"));
  FailedCheck failed;
  ak::library::decode(ak::parse_json(R"({"max_error": "inf", "got": "nan", "expected": 2})"), failed);
  CHECK(std::isinf(failed.max_error));
  CHECK(std::isnan(failed.got));
  CHECK(failed.expected == 2);
  ProblemParameter parameter;
  ak::library::decode(ak::parse_json(R"({"default": "bf16", "choices": [1, true], "minimum": null})"),
                      parameter);
  CHECK(parameter.default_.text == "\"bf16\"");
  CHECK(parameter.choices[1].text == "true");
  CHECK_FALSE(parameter.minimum);
}
