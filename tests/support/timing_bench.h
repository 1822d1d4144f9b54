// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/build/compile_pool.h"
#include "runtime/check/data_set.h"
#include "runtime/emulated/emulated_driver.h"
#include "runtime/reference/make_reference.h"
#include "runtime/timing/timed_inputs.h"
#include "tests/support/tiny_problem.h"

namespace ak::test {

/// A problem opened in this process with what timing needs of it: on GPU 0, or on the CPU standing in for sm_90a. The
/// program must be a worker too (self_as_worker), which compiles. One at a time.
class TimingBench {
 public:
  TimingBench(DeviceKind device, const TinyProblem& tiny);

  /// A candidate, loaded.
  struct Program {
    runtime::KernelImage image;
    BuildResult build;
    ResolvedPlan plan;  ///< of the workload that is asked for
    std::unique_ptr<runtime::LoadedImage> loaded;
  };
  /// `source` with `plan`, or with the elementwise plan of its kernel `k`.
  [[nodiscard]] Program program(const std::string& source, const std::string& workload,
                                const std::string& plan = elementwise_plan("k"));
  /// The program must outlive it.
  [[nodiscard]] runtime::TimingTarget target(const Program& program, const std::string& workload);

  [[nodiscard]] runtime::RunContext& run_context() { return *run_context_; }
  [[nodiscard]] runtime::Reference& reference() { return *reference_; }
  [[nodiscard]] runtime::DataStore& store() { return *store_; }

 private:
  [[nodiscard]] BuildResult build(const TranslationUnit& unit);
  void open();

  DeviceKind device_;
  Arch arch_;
  std::shared_ptr<const ProblemInstance> problem_;
  runtime::CompilePool pool_;
  std::optional<runtime::EmulatedDriver> emulated_;
  std::optional<runtime::DeviceContext> context_;
  std::optional<runtime::StreamHandle> stream_;
  runtime::OpenProblem opened_;
  std::optional<runtime::HarnessKernels> kernels_;
  std::optional<runtime::RunContext> run_context_;
  std::unique_ptr<runtime::Reference> reference_;
  std::optional<runtime::DataStore> store_;
};

}  // namespace ak::test
