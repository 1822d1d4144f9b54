// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/evaluator/local_evaluator.h"
#include "tests/support/tiny_problem.h"

namespace ak::test {

/// One evaluator and one problem, for tests that evaluate candidates one at a time: on GPU 0, or on the CPU
/// standing in for sm_90a.
class DeviceBench {
 public:
  DeviceBench(DeviceKind device, const TinyProblem& tiny, bool time_baseline = false);
  DeviceBench(std::unique_ptr<Evaluator> evaluator, const TinyProblem& tiny);

  /// Evaluates `source` with the elementwise plan of its kernel `k`.
  [[nodiscard]] EvaluationResult run(const std::string& source) { return run(elementwise_plan("k"), source); }
  [[nodiscard]] EvaluationResult run(const std::string& plan, const std::string& source,
                                     Depth depth = Depth::time, std::optional<Arch> arch = {});

  /// A request for `source` with the elementwise plan, to be changed and run.
  [[nodiscard]] EvaluationRequest request(const std::string& source) {
    return request(elementwise_plan("k"), source);
  }
  [[nodiscard]] EvaluationRequest request(const std::string& plan, const std::string& source);
  [[nodiscard]] EvaluationResult run(EvaluationRequest request);

 private:
  std::shared_ptr<const ProblemInstance> problem_;
  std::unique_ptr<Evaluator> evaluator_;
  int count_ = 0;
};

struct GpuBench : DeviceBench {
  explicit GpuBench(const TinyProblem& tiny, bool time_baseline = false)
      : DeviceBench(DeviceKind::cuda, tiny, time_baseline) {}
};
struct EmulatorBench : DeviceBench {
  explicit EmulatorBench(const TinyProblem& tiny, bool time_baseline = false)
      : DeviceBench(DeviceKind::emulator, tiny, time_baseline) {}
};

/// Under NVIDIA's compute-sanitizer on GPU 0, which must be installed.
struct SanitizerBench : DeviceBench {
  explicit SanitizerBench(const TinyProblem& tiny);
};

/// `extern "C" __global__ void k(const T* a, const T* b, T* c, long long n)` with `i` defined
/// and `body` inside.
[[nodiscard]] std::string kernel(const std::string& body, const std::string& type = "float",
                                 const std::string& before = "");

/// What happened, for INFO.
[[nodiscard]] std::string describe(const EvaluationResult& result);

}  // namespace ak::test
