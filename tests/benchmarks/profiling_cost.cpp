// SPDX-License-Identifier: Apache-2.0
//
// What a profile costs, in a device worker as the product runs it: for each set of metrics the host time that
// a profile takes once the counters are held, over several kernels one after the other, and a kernel's event
// time before and after. Prints CSV; --each: for every metric of the catalogue alone, too. Needs a GPU: exits
// with 77 without one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "core/learn/stats.h"
#include "profiler/analysis/metric_catalog.h"
#include "profiler/cupti/cupti_profiler.h"
#include "runtime/worker/worker_main.h"
#include "tests/support/tiny_problem.h"

namespace {

using namespace ak;
using namespace ak::test;

constexpr int kProfiles = 10;

/// One evaluator and one kernel.
class Bench {
 public:
  explicit Bench(const DeviceFacts& gpu) : problem_(make_problem(problem())) {
    runtime::EvaluatorOptions options;
    options.target = gpu.arch;
    options.compile_workers = 2;
    options.worker_command = self_as_worker();
    options.time_baseline = false;
    evaluator_ = runtime::make_local_evaluator(std::move(options), plain_assembler());
    arch_ = gpu.arch;
  }

  EvaluationResult profile(const std::vector<std::string>& metrics) {
    EvaluationRequest profiled = request();
    profiled.profile = ProfileOptions{.metrics = metrics, .sample_lines = false};
    return run(std::move(profiled));
  }
  double time_ns() {
    EvaluationRequest timed = request();
    timed.changing_inputs = true;
    return run(std::move(timed)).score_ns.value_or(0);
  }

 private:
  static TinyProblem problem() {
    TinyProblem tiny;
    tiny.time_sizes = {4'000'000};
    return tiny;
  }
  [[nodiscard]] EvaluationRequest request() const {
    EvaluationRequest request;
    request.problem = problem_;
    request.candidate = make_candidate(
        "sum", elementwise_plan("k"),
        "extern \"C\" __global__ void k(const float* a, const float* b, float* c, long long n) {\n"
        "  const long long i = blockIdx.x * 256ll + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }\n");
    request.arch = arch_;
    return request;
  }
  EvaluationResult run(EvaluationRequest request) {
    evaluator_->submit(std::move(request));
    return evaluator_->wait_any(std::chrono::steady_clock::time_point::max())->result;
  }

  std::shared_ptr<const ProblemInstance> problem_;
  std::unique_ptr<Evaluator> evaluator_;
  Arch arch_;
};

std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names;
  const auto metrics = profiler::parse_metrics(text);
  for (const auto* metric : metrics.value()) names.emplace_back(metric->cupti);
  return names;
}

void measure(Bench& bench, const std::string& set) {
  const auto names = names_of(set);
  std::vector<double> setup, collect;
  int passes = 0;
  for (int i = 0; i < kProfiles; ++i) {
    const auto result = bench.profile(names);
    if (result.profiles.empty()) {
      fmt::print(stderr, "{}: {}\n", set, result.outcome.message);
      return;
    }
    const Profile& profile = result.profiles.front();
    for (const auto& loss : profile.degradation) fmt::print(stderr, "{}: {}\n", set, loss);
    passes = profile.passes;
    setup.push_back(profile.setup_ms);
    collect.push_back(profile.collect_ms);
  }
  fmt::print("{},{},{},{:.1f},{:.2f},{:.2f}\n", set, names.size(), passes, setup.front(),
             median(std::span(setup).subspan(1)), median(collect));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "worker")
    return runtime::worker_main({arguments.begin() + 1, arguments.end()}, profiler::make_launch_profiler);
  std::string why = "the driver reports no device";
  const auto devices = runtime::probe_devices(self_as_worker(), why);
  if (devices.empty()) {
    fmt::print(stderr, "skipped: {}\n", why);
    return 77;
  }
  Bench bench(devices.front());
  const double before_ns = bench.time_ns();
  fmt::print("metrics,count,passes,first_setup_ms,setup_ms,collect_ms\n");
  if (!arguments.empty() && arguments[0] == "--each") {
    for (const auto& metric : profiler::catalog()) measure(bench, std::string(metric.name));
  }
  for (const char* set : {"time/duration", "quick", "standard", "full"}) measure(bench, set);
  const double after_ns = bench.time_ns();
  fmt::print("event time before and after in ns,,,,{:.0f},{:.0f}\n", before_ns, after_ns);
  return 0;
}
