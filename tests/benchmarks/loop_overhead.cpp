// SPDX-License-Identifier: Apache-2.0
// What the loop itself takes per iteration: search, journal and commit to a database on this disk, with a
// device and compilers that take no time. The goal is 50 ms.
//   loop_overhead [EVALUATIONS, default 400] [STRATEGY, default portfolio]
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <filesystem>

#include "agent/loop.h"
#include "app/search/run_journal.h"
#include "app/search/starting_points.h"
#include "codegen/problem/problem_catalog.h"
#include "db/database.h"
#include "runtime/build/candidate_plan.h"

namespace ak {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kSamples = 50;  // of a timed workload, as many as a GPU run takes

/// Answers at once; times follow from the point.
class InstantEvaluator final : public Evaluator {
 public:
  explicit InstantEvaluator(DeviceFacts device) : device_(std::move(device)) {}

  Ticket submit(EvaluationRequest request) override {
    EvaluationResult result;
    result.outcome.status = Status::ok;
    result.outcome.stage = StageId::verdict;
    result.program = request.candidate.variant_hash();
    result.score_ns = 1000.0 + static_cast<double>(std::hash<std::string>()(result.program) % 1000);
    for (const Workload& workload : request.problem->workloads) {
      result.checks.push_back(
          {.workload = workload.name, .distribution = "normal", .tensor = "c", .passed = true});
      if (!workload.has(WorkloadRole::time)) continue;
      Measurement m;
      m.workload = workload.name;
      m.median_ns = *result.score_ns;
      m.samples_ns.assign(kSamples, static_cast<std::uint32_t>(m.median_ns));
      result.measurements.push_back(std::move(m));
    }
    BuildResult build;
    build.outcome.status = Status::ok;
    build.key = result.program;
    build.cubin = std::string(20'000, 'x');
    result.build = std::move(build);
    ended_.push_back({++last_, std::move(request), std::move(result)});
    return last_;
  }
  std::optional<Completed> wait_any(steady_clock::time_point) override {
    if (ended_.empty()) return std::nullopt;
    Completed completed = std::move(ended_.front());
    ended_.pop_front();
    return completed;
  }
  void cancel(Ticket) override {}
  [[nodiscard]] EvaluatorCapabilities capabilities() const override {
    return {.device = device_, .executes = true, .parallel_builds = 1, .useful_in_flight = 4};
  }

 private:
  DeviceFacts device_;
  Ticket last_ = 0;
  std::deque<Completed> ended_;
};

struct Overhead {
  double mean_ms = 0, median_ms = 0, worst_ms = 0;
  double cpu_ms = 0;  ///< mean; on a busy machine what the others are not
};

Overhead measure(int evaluations, const std::string& strategy, const std::filesystem::path& database) {
  const codegen::Problem problem = codegen::load_problem(codegen::find_problem("gemm"));
  agent::LoopOptions options;
  options.problem = codegen::instantiate(problem, codegen::choose_params(problem, {}));
  options.arch = *parse_sm("sm_80");
  options.templates = app::starting_points(*options.problem, options.arch, {}, "", {});
  options.strategy = strategy;
  options.seed = 1;
  options.held_out_shapes = 0;
  options.budgets.max_evaluations = evaluations;
  std::vector<double> steps_ms;
  auto last = steady_clock::now();
  options.on_progress = [&](const agent::Progress&) {
    const auto now = steady_clock::now();
    steps_ms.push_back(std::chrono::duration<double, std::milli>(now - last).count());
    last = now;
  };
  app::RunJournal journal;
  DeviceFacts device = runtime::nominal_device(options.arch);
  device.kind = DeviceKind::emulator;  // costs are exact: nothing is compared in pairs
  const auto evaluator = journal.around(std::make_unique<InstantEvaluator>(std::move(device)));
  const auto store = db::open_store(database);
  const auto kept = journal.around(*store);
  const SystemClock clock;
  const std::clock_t cpu_start = std::clock();
  static_cast<void>(agent::run_loop(options, *evaluator, *kept, clock));
  if (steps_ms.empty()) return {};
  Overhead overhead;
  overhead.cpu_ms = 1e3 * static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC /
                    static_cast<double>(steps_ms.size());
  for (const double step : steps_ms) overhead.mean_ms += step / static_cast<double>(steps_ms.size());
  std::ranges::sort(steps_ms);
  overhead.median_ms = steps_ms[steps_ms.size() / 2];
  overhead.worst_ms = steps_ms.back();
  return overhead;
}

}  // namespace
}  // namespace ak

int main(int argc, char** argv) {
  const int evaluations = argc > 1 ? std::atoi(argv[1]) : 400;
  const std::string strategy = argc > 2 ? argv[2] : "portfolio";
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("loop_overhead_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const ak::Overhead overhead = ak::measure(evaluations, strategy, folder / "ak.db");
  fmt::print(
      "{}, {} evaluations: {:.2f} ms per iteration (median {:.2f}, most {:.1f}), {:.2f} ms of the CPU; the "
      "goal is 50 ms\n",
      strategy, evaluations, overhead.mean_ms, overhead.median_ms, overhead.worst_ms, overhead.cpu_ms);
  std::filesystem::remove_all(folder);
  return overhead.mean_ms > 0 ? 0 : 1;
}
