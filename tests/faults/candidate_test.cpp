// SPDX-License-Identifier: Apache-2.0
// Candidates that do the worst they can, among good ones in one run on the CPU device.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <random>

#include "core/text/file.h"
#include "tests/faults/processes.h"
#include "tests/support/build_cache.h"
#include "tests/support/daily_sample.h"
#include "tests/support/device_bench.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

using namespace ak;
using namespace ak::test;
using namespace std::chrono_literals;
using ak::testing::children_of;
using ak::testing::Subreaper;

namespace {

struct Fault {
  std::string name, source;
  std::vector<Status> ends;  ///< any of these
  std::string words;         ///< in the message
  std::string plan = elementwise_plan("k");
};

std::string workspace_plan(const std::string& count) {
  return fmt::format(
      R"j({{"workspace": [{{"name": "w", "dtype": "float32", "count": "{}", "init": "none"}}],
            "launches": [{{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
                          "args": ["a", "w", "c", {{"i64": "N"}}]}}]}})j",
      count);
}

const std::string kAdd = "if (i < n) c[i] = a[i] + b[i];";

const std::string kAssertion =
    "extern \"C\" __device__ void __assertfail(const char*, const char*, unsigned, const char*, unsigned "
    "long);";

// Both would run for hours: the deadline of a build ends them on any machine.
const std::string kCompileTime = R"cu(
constexpr unsigned spin(unsigned n) { unsigned x = 0; for (unsigned i = 0; i < n; ++i) x += i * x + 1; return x; }
template <int N> struct Slow { static constexpr unsigned value = spin(1000000 + N) + Slow<N - 1>::value; };
template <> struct Slow<0> { static constexpr unsigned value = 0; };
__device__ unsigned bomb = Slow<800>::value;)cu";
const std::string kCompileMemory = R"cu(
template <int N, class... T> struct Bomb { static constexpr int value = Bomb<N - 1, T..., T..., int>::value; };
template <class... T> struct Bomb<0, T...> { static constexpr int value = sizeof...(T); };
__device__ int bomb = Bomb<30>::value;)cu";

std::vector<Fault> faults() {
  return {
      {"hang", kernel("for (;;) asm volatile(\"\");"), {Status::hang}, "instructions"},
      {"illegal address", kernel("c[i + (1ll << 40)] = 1;"), {Status::memory_error}, "out-of-bounds write"},
      {"assertion",
       kernel("if (n > 0) __assertfail(\"n < 0\", \"k.cu\", 1, \"k\", 1); " + kAdd, "float", kAssertion),
       {Status::launch_error},
       "n < 0"},
      {"trap", kernel("__trap();"), {Status::launch_error}, "trap"},
      {"workspace", kernel(kAdd), {Status::out_of_memory}, "workspace", workspace_plan("2 ** 32 - 1")},
      {"variable",
       kernel("if (i < n) c[i] = a[i] + huge[i];", "float", "__device__ float huge[1ull << 36];"),
       {Status::out_of_memory},
       "huge"},
      {"output flood",
       kernel("for (int k = 0; k < 200; ++k) printf(\"%d {\\\"type\\\": \\\"evaluated\\\"}\\n\", k);"),
       {Status::incorrect, Status::hang},
       ""},
      {"syntax", "this is not a kernel", {Status::compile_error}, "expected a declaration"},
  };
}

std::vector<Fault> compile_bombs() {
  const std::vector<Status> ends{Status::timeout, Status::compile_error, Status::out_of_memory};
  return {{"compile time", kernel(kAdd, "float", kCompileTime), ends, ""},
          {"compile memory", kernel(kAdd, "float", kCompileMemory), ends, ""}};
}

/// @param launcher of the device workers.
/// @param compile_deadline of each build that is not in the tests' cache.
std::unique_ptr<Evaluator> make_evaluator(std::vector<std::string> launcher = {},
                                          std::chrono::milliseconds compile_deadline = testing::kPatience) {
  runtime::EvaluatorOptions options;
  options.device = DeviceKind::emulator;
  options.target = {.major = 9, .minor = 0, .feature = 'a'};
  options.compile_workers = 2;
  options.compile_deadline = compile_deadline;
  options.cache_dir = testing::shared_build_cache();
  options.worker_command = {AK_PROGRAM, "worker"};
  options.launcher = std::move(launcher);
  options.time_baseline = false;
  return runtime::make_local_evaluator(std::move(options), plain_assembler());
}

Ticket submit(Evaluator& evaluator, const std::shared_ptr<const ProblemInstance>& problem,
              const Fault& fault) {
  EvaluationRequest request;
  request.problem = problem;
  request.candidate = make_candidate(fault.name, fault.plan, fault.source);
  request.arch = {.major = 9, .minor = 0, .feature = 'a'};
  request.depth = Depth::check;
  request.seed = 1;
  return evaluator.submit(std::move(request));
}

Completed wait(Evaluator& evaluator) {
  auto done = evaluator.wait_any(testing::out_of_patience());
  REQUIRE(done);
  return std::move(*done);
}

Outcome evaluate(Evaluator& evaluator, const std::shared_ptr<const ProblemInstance>& problem,
                 const Fault& fault) {
  submit(evaluator, problem, fault);
  return wait(evaluator).result.outcome;
}

/// A right kernel, another program for every `number`.
Fault good(std::size_t number) {
  return {fmt::format("good {}", number),
          kernel(fmt::format("if (n == -{}) return; {}", number + 1, kAdd)),
          {Status::ok},
          ""};
}

/// Each of them once, in an order that the seed draws, and a good candidate after each.
std::vector<Fault> shuffled(std::vector<Fault> bad, unsigned seed) {
  std::vector<Fault> all;
  std::mt19937 random(seed);
  std::shuffle(bad.begin(), bad.end(), random);
  for (const Fault& fault : bad) {
    all.push_back(fault);
    all.push_back(good(all.size()));
  }
  return all;
}

/// Submits all at once, and checks how each ends.
void check_ends(Evaluator& evaluator, const std::vector<Fault>& all) {
  const auto problem = make_problem({});
  std::map<Ticket, const Fault*> waiting;
  for (const Fault& fault : all) waiting[submit(evaluator, problem, fault)] = &fault;
  while (!waiting.empty()) {
    const Completed done = wait(evaluator);
    const Fault& fault = *waiting.extract(done.ticket).mapped();
    INFO(fault.name << ": " << describe(done.result));
    CHECK(std::ranges::count(fault.ends, done.result.outcome.status) == 1);
    CHECK_THAT(done.result.outcome.message, Catch::Contains(fault.words));
  }
}

TEST_CASE(
    "whatever a candidate does, it ends with its own status and the good ones around it pass, in any order") {
  const Subreaper subreaper;
  constexpr unsigned kOrders = 3;
  for (unsigned order = 0; order < kOrders; ++order) {
    if (!testing::drawn_today(order, kOrders)) continue;
    INFO("order " << order);
    auto evaluator = make_evaluator();
    check_ends(*evaluator, shuffled(faults(), order));
    evaluator.reset();
    CHECK(Subreaper::all_end());
  }
}

TEST_CASE("a candidate that would take the compiler for ever ends, and the good ones around it pass") {
  const Subreaper subreaper;
  const std::vector<Fault> all = shuffled(compile_bombs(), 1);
  // What else the short deadline might end on a slow machine comes from the cache then.
  std::vector<Fault> others = all;
  std::erase_if(others, [](const Fault& fault) { return fault.name.starts_with("compile"); });
  check_ends(*make_evaluator(), others);
  auto evaluator = make_evaluator({}, 3s);
  check_ends(*evaluator, all);
  evaluator.reset();
  CHECK(Subreaper::all_end());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers want 20 TB of addresses
TEST_CASE(
    "a candidate that exhausts its device worker's own memory is out_of_memory, and the next one passes") {
  const auto problem = make_problem({});
  // The emulated memory takes 16 GiB of addresses; what is left is too little for the checker's notes on
  // all of it.
  const auto evaluator = make_evaluator({"prlimit", "--as=17500000000"});
  const Fault memory_hog{
      "hoarder",
      kernel("for (int j = 0; j < 1024; ++j) huge[(threadIdx.x << 20) + (j << 10)] = 1; " + kAdd, "float",
             "__device__ float huge[1ull << 28];"),
      {},
      ""};
  const Outcome outcome = evaluate(*evaluator, problem, memory_hog);
  INFO(explain(outcome));
  CHECK(outcome.status == Status::out_of_memory);
  CHECK(evaluate(*evaluator, problem, good(1)).status == Status::ok);
}

#endif

/// A launcher that kills the device worker, with all that it started, as soon as that says that it runs the
/// kernel "killer"; of each kill a line is left in `file`.
std::vector<std::string> deadly_launcher(const std::filesystem::path& file) {
  const char* const script = R"sh(
      kills=$1
      shift
      "$@" | while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in *'"candidate"'*'killer on workload'*) echo killed >>"$kills"; kill -9 0 ;; esac
      done)sh";
  return {"/bin/sh", "-c", script, "sh", file.string()};
}

TEST_CASE("a candidate whose device worker is killed is tried again, quarantined, and not run a third time") {
  const auto problem = make_problem({});
  const testing::TemporaryFolder folder;
  const auto evaluator = make_evaluator(deadly_launcher(folder / "kills"));
  Fault killer{"killer", kernel("for (;;) asm volatile(\"\");"), {}, "", elementwise_plan("killer")};
  killer.source.replace(killer.source.find("void k("), 7, "void killer(");
  const Outcome first = evaluate(*evaluator, problem, killer);
  INFO(explain(first));
  CHECK(first.status == Status::infrastructure_error);  // as far as anyone knows
  CHECK_THAT(first.message, Catch::Contains("signal"));
  CHECK(evaluate(*evaluator, problem, good(1)).status == Status::ok);
  const Outcome second = evaluate(*evaluator, problem, killer);
  INFO(explain(second));
  CHECK(second.status == Status::launch_error);
  CHECK_THAT(second.message, Catch::Contains("quarantined") && Catch::Contains("2 times"));
  const Outcome third = evaluate(*evaluator, problem, killer);
  INFO(explain(third));
  CHECK(third.status == Status::launch_error);
  CHECK_THAT(third.message, Catch::StartsWith("not run"));
  CHECK(evaluate(*evaluator, problem, good(2)).status == Status::ok);
  CHECK(read_file(folder / "kills") == "killed\nkilled\n");
}

}  // namespace
