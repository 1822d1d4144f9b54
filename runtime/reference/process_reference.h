// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/reference/device_exchange.h"
#include "runtime/reference/reference.h"
#include "runtime/reference/reference_process.h"
#include "runtime/reference/result_cache.h"
#include "runtime/reference/tensor_exchange.h"

namespace ak::runtime {

/// reference.py: a process of its own computes it with PyTorch (runtime/reference/python/serve.py).
class ProcessReference final : public Reference {
 public:
  /// Starts the process and has it read the file. `run_context` must outlive it. Throws Error(environment) where
  /// the process does not start, Error(bad_input) where the file is no reference.
  explicit ProcessReference(RunContext& run_context);

  [[nodiscard]] Result<ReferenceCost, Outcome> compute(ReferencePart part, const WorkloadLayout& workload,
                                                       const AddressTable& tensors,
                                                       const ScalarValues& scalars,
                                                       std::uint64_t contents) override;
  [[nodiscard]] Result<CandidateRun, Outcome> bind_twin(std::shared_ptr<const DataSet> data,
                                                        const std::string& mutation,
                                                        const ScalarValues* scalars) override;
  [[nodiscard]] std::optional<Outcome> draw(const WorkloadLayout& workload, std::uint64_t seed,
                                            const AddressTable& tensors) override;
  [[nodiscard]] const LoadedImage* program() const override { return nullptr; }
  [[nodiscard]] std::size_t working_bytes(const WorkloadLayout& workload) const override;
  void hold_memory(bool held) noexcept override;
  [[nodiscard]] bool lost() const override { return process_.lost(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

 private:
  class TwinCall;
  using Key = ResultCache::Key;

  void make_device_exchange();
  void open();
  [[nodiscard]] Result<Json, Outcome> ask(Json request, const std::string& what);
  [[nodiscard]] std::optional<Outcome> select(const WorkloadLayout& workload);
  [[nodiscard]] std::vector<TensorExchange::Tensor> passing(bool outputs, const AddressTable& tensors) const;
  [[nodiscard]] std::optional<Outcome> send_inputs(const std::vector<TensorExchange::Tensor>& inputs);
  [[nodiscard]] Result<ReferenceCost, Outcome> compute_with(ReferencePart part, const std::string& mutation,
                                                            const AddressTable& tensors,
                                                            const ScalarValues& scalars, bool fresh);
  [[nodiscard]] std::optional<Outcome> receive_outputs(const std::vector<TensorExchange::Tensor>& outputs);
  [[nodiscard]] bool recall(const Key& key, const AddressTable& tensors, ReferenceCost& cost);
  void remember(const Key& key, const AddressTable& tensors, const ReferenceCost& cost);
  void add_notes(const Json& answer);
  [[nodiscard]] Outcome fault(const std::string& what, const ReferenceFailure& failure) const;
  [[nodiscard]] ReferenceCost cost_of(const WorkloadLayout& workload, double ms) const;

  RunContext& run_context_;
  std::optional<DeviceExchange> device_exchange_;
  ReferenceProcess process_;
  TensorExchange exchange_;
  ResultCache cache_;
  const WorkloadLayout* selected_ = nullptr;             ///< that the process is at
  std::uint64_t sent_contents_ = 0;                      ///< of the inputs that it has; 0: not known
  bool holds_memory_ = false, may_have_memory_ = false;  ///< asked of it; since then it has computed
  std::vector<std::string> notes_;
};

}  // namespace ak::runtime
