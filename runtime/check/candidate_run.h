// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/baseline/library_baseline.h"
#include "runtime/check/data_set.h"

namespace ak::runtime {

/// How a run proceeds on the CPU device.
struct RunMode {
  std::uint64_t order_seed = 0;  ///< of the order of warps and blocks
  bool count_cost = false;
  bool follow_bytes = false;  ///< for LaunchInspector::touched_bytes()
};

/// A candidate bound to one data set and to output and workspace buffers of its own.
class CandidateRun {
 public:
  /// Outputs that alias an input share its buffer, unless `separate_outputs` (for a reference timed as a
  /// baseline: it need not work in place). With `outputs_of`, a run on the same data, they share its outputs
  /// instead: where in memory results go makes a difference of percents. Errors: what PreparedPlan::prepare
  /// says, out_of_memory. `run_context` and `image` must outlive it.
  [[nodiscard]] static Result<CandidateRun, Outcome> create(
      RunContext& run_context, std::shared_ptr<const DataSet> data, const ResolvedPlan& plan,
      const LoadedImage& image, bool separate_outputs = false, const CandidateRun* outputs_of = nullptr);

  /// A library's call in a candidate's place, with its own outputs, or those of `outputs_of`, which does not work in
  /// place. Errors: out_of_memory.
  [[nodiscard]] static Result<CandidateRun, Outcome> create(RunContext& run_context,
                                                            std::shared_ptr<const DataSet> data,
                                                            std::shared_ptr<const LibraryCall> call,
                                                            const CandidateRun* outputs_of = nullptr);
  /// The same; `call` must outlive it.
  [[nodiscard]] static Result<CandidateRun, Outcome> create(RunContext& run_context,
                                                            std::shared_ptr<const DataSet> data,
                                                            const LibraryCall& call,
                                                            const CandidateRun* outputs_of = nullptr) {
    return create(run_context, std::move(data),
                  std::shared_ptr<const LibraryCall>(std::shared_ptr<void>(), &call), outputs_of);
  }

  /// Prepares the weights that the data set holds, if the plan says how: poisons prepared memory and runs `prepare`.
  /// Before any call on them. On the CPU device no other input may be read meanwhile; on a GPU the caller
  /// blanks them where a call has run before. Waits. Errors: as of run().
  [[nodiscard]] std::optional<Outcome> prepare(StageId stage, const RunMode& mode = {});
  [[nodiscard]] bool prepares_weights() const { return plan_ && plan_->prepares_weights(); }
  /// What prepare() left is still there: integrity_violation.
  [[nodiscard]] std::optional<Outcome> verify_prepared(StageId stage) const;
  /// Of prepared memory after prepare(), in the order of the plan's workspaces.
  [[nodiscard]] const std::vector<std::uint64_t>& prepared_hashes() const { return prepared_hashes_; }
  /// Of the last prepare(): nanoseconds, on the CPU device estimated where the mode asked for costs.
  [[nodiscard]] double prepare_ns() const { return prepare_ns_; }
  [[nodiscard]] std::int64_t prepared_bytes() const;
  /// Restores aliased inputs, poisons outputs and workspace that is not prepared, and zeroes the outputs that the
  /// problem says so of; asynchronous.
  void reset() const;
  /// Zeroes the outputs that the problem says so of; asynchronous.
  void zero_outputs() const;
  /// Enqueues the launch sequence.
  [[nodiscard]] std::optional<Outcome> enqueue() const {
    return library_ ? library_->enqueue(addresses_, run_context_->stream)
                    : plan_->enqueue(run_context_->stream, scalars_ ? *scalars_ : data_->scalars);
  }
  /// From now on the scalars are these, instead of the data set's.
  void replace_scalars(ScalarValues scalars) { scalars_ = std::move(scalars); }
  /// That one call may take before it counts as hanging.
  [[nodiscard]] double limit_ms() const;
  /// Tells the parent that the candidate runs now, so many times, and how long that may take.
  void report_run(int calls = 1) const;
  /// reset, enqueue, wait. A CUDA error is an Outcome at `stage`; when the process is lost, CudaError is
  /// thrown. On the CPU device every access is checked, and a fault's diagnostics name its lines.
  [[nodiscard]] std::optional<Outcome> run(StageId stage, const RunMode& mode = {}) const;
  /// Guard bands of all buffers, hashes of the inputs and of prepared memory: memory_error or integrity_violation.
  [[nodiscard]] std::optional<Outcome> verify_memory(StageId stage) const;
  /// Guard bands of all buffers: memory_error.
  [[nodiscard]] std::optional<Outcome> verify_guards(StageId stage) const;
  /// @param hashes after a call, in the order of DataSet::inputs; of an aliased input any value
  [[nodiscard]] std::optional<Outcome> verify_inputs(StageId stage,
                                                     std::span<const std::uint64_t> hashes) const;

  [[nodiscard]] BufferView output(std::size_t tensor) const;  ///< index into OpenProblem::tensors
  [[nodiscard]] const DataSet& data() const { return *data_; }
  /// The kernels, or the library's call, for messages.
  [[nodiscard]] std::string name() const { return library_ ? library_->name() : plan_->kernel_list(); }
  [[nodiscard]] std::size_t launch_count() const { return library_ ? 1 : plan_->launch_count(); }

 private:
  struct OwnBuffer {
    std::string name, what;
    DType dtype;
    std::shared_ptr<GuardedBuffer> buffer;
    bool zeroed = false;    ///< it holds zeros before a call, not poison
    bool prepared = false;  ///< it holds what prepare() left
  };
  CandidateRun(RunContext& run_context, std::shared_ptr<const DataSet> data)
      : run_context_(&run_context), data_(std::move(data)) {}
  [[nodiscard]] std::optional<Outcome> allocate(const ResolvedPlan& plan, bool separate_outputs,
                                                const CandidateRun* outputs_of);
  [[nodiscard]] std::optional<Outcome> execute(
      StageId stage, const RunMode& mode, const std::function<std::optional<Outcome>()>& enqueue_all) const;
  [[nodiscard]] std::optional<Outcome> time_preparation();
  [[nodiscard]] std::vector<std::uint64_t> hash_prepared() const;
  void show_activations(bool shown) const;
  void poison(const OwnBuffer& own) const;
  void clear(BufferView data) const;
  [[nodiscard]] std::optional<Outcome> verify_guard(const GuardedBuffer& buffer, const std::string& what,
                                                    StageId stage) const;

  RunContext* run_context_;
  std::shared_ptr<const DataSet> data_;
  std::vector<OwnBuffer> buffers_;
  AddressTable addresses_;
  std::string own_file_;                        ///< the candidate's source
  std::optional<PreparedPlan> plan_;            ///< of a candidate
  std::shared_ptr<const LibraryCall> library_;  ///< what runs instead of a plan
  std::optional<ScalarValues> scalars_;         ///< instead of the data set's
  std::vector<std::uint64_t> prepared_hashes_;
  double prepare_ns_ = 0;
};

}  // namespace ak::runtime
