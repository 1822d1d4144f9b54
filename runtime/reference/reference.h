// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/outcome.h"
#include "core/result.h"
#include "runtime/check/candidate_run.h"

namespace ak::runtime {

/// What a reference computes: `exact` in fp64, floating outputs as doubles and others as 64-bit integers; `twin`
/// in the problem's own precision, outputs in their dtypes.
enum class ReferencePart : std::uint8_t { exact, twin };

struct ReferenceCost {
  double ms = 0;                   ///< wall time; of a kernel where that is what ran
  std::uint64_t instructions = 0;  ///< of warps, as a plain kernel issues them; 0 on a GPU
};

/// From inputs to right results, for one workload at a time. What checks, audits and timing need of a
/// problem's reference; they do not know whether a kernel or a process computes. One thread.
class Reference {
 public:
  virtual ~Reference() = default;

  /// Puts the results on the inputs of `tensors` into its outputs. @param tensors device memory by name;
  /// @param contents names what the inputs hold. Errors: invalid_reference, unsupported.
  [[nodiscard]] virtual Result<ReferenceCost, Outcome> compute(ReferencePart part,
                                                               const WorkloadLayout& workload,
                                                               const AddressTable& tensors,
                                                               const ScalarValues& scalars,
                                                               std::uint64_t contents) = 0;
  /// The twin in a candidate's place. @param mutation one that the problem declares, which the twin makes; empty:
  /// none. @param scalars instead of the data set's, where not null. Errors: as CandidateRun::create.
  [[nodiscard]] virtual Result<CandidateRun, Outcome> bind_twin(std::shared_ptr<const DataSet> data,
                                                                const std::string& mutation,
                                                                const ScalarValues* scalars = nullptr) = 0;
  /// Draws the inputs of distribution kind `given` that `tensors` has. Errors: invalid_reference.
  [[nodiscard]] virtual std::optional<Outcome> draw(const WorkloadLayout& workload, std::uint64_t seed,
                                                    const AddressTable& tensors) = 0;
  /// The twin as a program that can be timed; null where it is none.
  [[nodiscard]] virtual const LoadedImage* program() const = 0;
  /// Memory of the device that it wants beside what compute() is given; 0: none to speak of.
  [[nodiscard]] virtual std::size_t working_bytes(const WorkloadLayout& workload) const = 0;
  /// While `held`, memory of the device that it has computed with stays its own from one result to the next: nothing else
  /// may have need of it. To give and take gigabytes takes longer than most results. Never throws.
  virtual void hold_memory(bool held) noexcept = 0;
  /// It can compute nothing more in this process.
  [[nodiscard]] virtual bool lost() const = 0;
  /// What a person should know of its results, such as operators that have no fp64.
  [[nodiscard]] virtual std::vector<std::string> notes() const = 0;
};

}  // namespace ak::runtime
