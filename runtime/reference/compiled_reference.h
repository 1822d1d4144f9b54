// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/reference/reference.h"

namespace ak::runtime {

/// reference.cu: compiled once as the exact reference and once as its twin.
class CompiledReference final : public Reference {
 public:
  /// `run_context` must outlive it. Throws CudaError when the driver refuses a program.
  explicit CompiledReference(RunContext& run_context);

  [[nodiscard]] Result<ReferenceCost, Outcome> compute(ReferencePart part, const WorkloadLayout& workload,
                                                       const AddressTable& tensors,
                                                       const ScalarValues& scalars,
                                                       std::uint64_t contents) override;
  [[nodiscard]] Result<CandidateRun, Outcome> bind_twin(std::shared_ptr<const DataSet> data,
                                                        const std::string& mutation,
                                                        const ScalarValues* scalars) override;
  [[nodiscard]] std::optional<Outcome> draw(const WorkloadLayout& workload, std::uint64_t seed,
                                            const AddressTable& tensors) override;
  [[nodiscard]] const LoadedImage* program() const override { return &twin_; }
  [[nodiscard]] std::size_t working_bytes(const WorkloadLayout&) const override { return 0; }
  void hold_memory(bool) noexcept override {}
  [[nodiscard]] bool lost() const override { return false; }  // the device would be
  [[nodiscard]] std::vector<std::string> notes() const override { return {}; }

 private:
  [[nodiscard]] Outcome refused(const std::string& what, const Outcome& failure) const;

  RunContext& run_context_;
  LoadedImage exact_, twin_;
};

}  // namespace ak::runtime
