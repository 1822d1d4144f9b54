// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/plan/problem.h"
#include "runtime/evaluator/local_evaluator.h"
#include "runtime/process/device_messages.h"
#include "runtime/reference/python_installation.h"

namespace ak::runtime {

/// Builds what a device worker needs to open a problem: the harness's kernels, and both parts of a reference that
/// is a kernel. One thread.
class ProblemBuild {
 public:
  using Submit = std::function<std::uint64_t(const TranslationUnit&)>;

  /// Starts the builds. Throws Error(bad_input) naming reference.cu when it cannot be assembled, Error(environment)
  /// when there is no Python for a reference in it.
  ProblemBuild(std::shared_ptr<const ProblemInstance> problem, const Arch& arch,
               const SourceAssembler& assembler, const Submit& submit, const PythonChoice& python = {});

  /// Takes a finished build when it is one of these; false otherwise. Throws Error(bad_input) with the
  /// compiler's words when reference.cu does not compile, Error(environment) when nothing does.
  bool take(std::uint64_t build, const BuildResult& result);
  [[nodiscard]] bool ready() const { return builds_.size() == results_.size(); }
  /// Once ready: the message for the worker. `device` is the environment launch plans see.
  [[nodiscard]] std::shared_ptr<const OpenProblem> open_problem(const Environment& device, int ordinal,
                                                                DeviceKind kind = DeviceKind::cuda);

  [[nodiscard]] const ProblemInstance& problem() const { return *problem_; }
  [[nodiscard]] const Arch& arch() const { return arch_; }

 private:
  enum class Part { exact, twin, harness };
  void choose(const PythonChoice& python);
  void start(Part part, const TranslationUnit& unit, const Submit& submit);
  void add_kernel(OpenProblem& open, const Environment& device, DeviceKind kind) const;
  void add_process(OpenProblem& open) const;
  [[nodiscard]] WorkloadLayout layout_of(const Workload& workload) const;
  [[nodiscard]] const BuildResult& result(Part part) const { return results_.at(part); }

  std::shared_ptr<const ProblemInstance> problem_;
  Arch arch_;
  std::optional<PythonInstallation> python_;  ///< of a reference in Python
  std::string starter_;                       ///< as PythonProcess::starter
  std::map<std::uint64_t, Part> builds_;
  std::map<Part, BuildResult> results_;
  std::map<int, std::shared_ptr<const OpenProblem>> opened_;  ///< by the device's ordinal
};

/// Builds a problem with compile workers of its own, which end with this call; the message for a device worker. Blocks.
/// Throws as ProblemBuild does.
[[nodiscard]] std::shared_ptr<const OpenProblem> build_problem(
    const EvaluatorOptions& options, const SourceAssembler& assembler, const DeviceFacts& device,
    const std::shared_ptr<const ProblemInstance>& problem);

/// What a device of that kind loads of a build, and name -> symbol of every kernel.
[[nodiscard]] KernelImage kernel_image(const BuildResult& build, DeviceKind kind);

}  // namespace ak::runtime
