// SPDX-License-Identifier: Apache-2.0
//
// How far the harness's verdicts on times can be trusted, on a GPU: how often a kernel beats itself, how
// often a true difference of 2 % is found, and how far the medians of fresh processes lie apart.
//   timing_statistics [--quick]      writes CSV; exit code 77 where there is no device
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>

#include "agent/paired_comparison.h"
#include "core/error.h"
#include "runtime/evaluator/local_evaluator.h"
#include "runtime/worker/worker_main.h"
#include "tests/support/tiny_problem.h"

namespace ak::test {
namespace {

constexpr std::int64_t kElements = 4 << 20, kElementsOfCopy = 16 << 20, kElementsOfBatch = 1 << 18;

/// c = a + b with `work` multiply-adds that change nothing: time grows with `work`.
Candidate worker(int work) {
  return make_candidate(
      fmt::format("work_{}.cu", work), elementwise_plan("k"),
      fmt::format("extern \"C\" __global__ void k(const float* a, const float* b, float* c, long long n) {{\n"
                  "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
                  "  if (i >= n) return;\n"
                  "  float y = a[i];\n"
                  "  for (int j = 0; j < {}; ++j) y = fmaf(y, 0.5f, a[i]);\n"
                  "  c[i] = a[i] + b[i] + 0 * y;\n"
                  "}}\n",
                  work));
}

class PairTimer {
 public:
  explicit PairTimer(std::int64_t elements) {
    TinyProblem tiny;
    tiny.check_sizes = {1000};
    tiny.time_sizes = {elements};
    problem_ = make_problem(tiny);
    runtime::EvaluatorOptions options;
    options.device = DeviceKind::cuda;
    options.worker_command = self_as_worker();
    options.compile_workers = 2;
    options.time_baseline = false;
    options.target = runtime::probe_devices(options.worker_command, why_).at(0).arch;
    arch_ = options.target;
    evaluator_ = runtime::make_local_evaluator(std::move(options), plain_assembler());
  }

  Completed evaluate(Candidate candidate, std::shared_ptr<const Candidate> rival, bool fresh_process) {
    EvaluationRequest request;
    request.problem = problem_;
    request.candidate = std::move(candidate);
    request.arch = arch_;
    request.seed = ++count_;
    request.rival = std::move(rival);
    request.fresh_process = fresh_process;
    evaluator_->submit(std::move(request));
    auto completed = evaluator_->wait_any(std::chrono::steady_clock::now() + std::chrono::minutes(2));
    AK_ASSERT(completed && completed->result.outcome.status == Status::ok, "these kernels are right");
    return std::move(*completed);
  }

  double median_ns(int work) { return *evaluate(worker(work), nullptr, true).result.score_ns; }
  agent::PairedVerdict pair(int challenger, int champion) {
    return *agent::judge_pairs(
        evaluate(worker(challenger), std::make_shared<const Candidate>(worker(champion)), false));
  }

 private:
  std::string why_;
  std::shared_ptr<const ProblemInstance> problem_;
  Arch arch_;
  std::unique_ptr<Evaluator> evaluator_;
  std::uint64_t count_ = 0;
};

/// Least work that takes 2 % longer than `work`, by pairs.
int two_percent_more(PairTimer& pair_timer, int work) {
  int more = work;
  do more += std::max(1, work / 200);
  while (pair_timer.pair(work, more).ratio.ratio > 0.98);
  return more;
}

void print_pairs(PairTimer& pair_timer, std::string_view what, int challenger, int champion, int repeats) {
  int faster = 0, slower = 0;
  std::vector<double> ratios, widths, times;
  for (int i = 0; i < repeats; ++i) {
    const agent::PairedVerdict verdict = pair_timer.pair(challenger, champion);
    faster += verdict.faster;
    slower += verdict.ratio.interval.low > 1;
    ratios.push_back(verdict.ratio.ratio);
    widths.push_back(verdict.ratio.interval.high - verdict.ratio.interval.low);
    times.push_back(verdict.champion_ns);
  }
  fmt::print("{},{:.2f},{},{},{},{:.5f},{:.5f}\n", what, median(times) / 1e3, repeats, faster, slower,
             median(ratios), median(widths));
  std::fflush(stdout);
}

void print_fresh(PairTimer& pair_timer, std::string_view what, int work, int repeats) {
  std::vector<double> medians;
  for (int i = 0; i < repeats; ++i) medians.push_back(pair_timer.median_ns(work));
  const auto [low, high] = std::ranges::minmax(medians);
  fmt::print("{},{:.2f},{},,,,{:.5f}\n", what, median(medians) / 1e3, repeats, high / low - 1);
  std::fflush(stdout);
}

void measure(bool quick) {
  const int repeats = quick ? 5 : 200, processes = quick ? 2 : 10;
  fmt::print("what,time_us,repeats,called_faster,called_slower,median_ratio,median_width_or_spread\n");
  PairTimer arithmetic(kElements), memory(kElementsOfCopy), batch(kElementsOfBatch);
  print_pairs(memory, "memory-bound: against itself", 0, 0, repeats);
  print_fresh(memory, "memory-bound: medians of fresh processes", 0, processes);
  for (const auto& [name, work] : {std::pair("20 us", 90), std::pair("100 us", 800)}) {
    print_pairs(arithmetic, fmt::format("{}: against itself", name), work, work, repeats);
    const int more = two_percent_more(arithmetic, work);
    print_pairs(arithmetic, fmt::format("{}: 2 % faster", name), work, more, repeats);
    print_fresh(arithmetic, fmt::format("{}: medians of fresh processes", name), work, processes);
  }
  print_pairs(batch, "in batches: against itself", 100, 100, quick ? repeats : repeats / 4);
  print_fresh(batch, "in batches: medians of fresh processes", 100, processes);
}

}  // namespace
}  // namespace ak::test

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == "worker")
    return ak::runtime::worker_main({arguments.begin() + 1, arguments.end()});
  std::string why = "the driver reports no device";
  if (ak::runtime::probe_devices(ak::test::self_as_worker(), why).empty()) {
    fmt::print(stderr, "skipped: {}\n", why);
    return 77;
  }
  ak::test::measure(!arguments.empty() && arguments.front() == "--quick");
}
