// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/outcome.h"
#include "core/result.h"
#include "runtime/check/run_context.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/launch.h"

namespace ak::runtime {

struct InputData {
  std::size_t tensor = 0;  ///< index into OpenProblem::tensors
  GuardedBuffer buffer;
  DeviceBuffer pristine;  ///< of an input that an output aliases: what to restore before every call
  bool aliased = false;
  std::uint64_t hash = 0;
};

/// What a correct result looks like. The memory is mapped only while a comparison runs.
struct ReferenceData {
  std::size_t tensor = 0;
  HiddenBuffer exact;    ///< doubles, or 64-bit integers for an integer tensor
  HiddenBuffer twin;     ///< in the tensor's dtype
  HiddenBuffer row_rms;  ///< a double for every row; of 0 bytes where rows have no scale of their own
  double rms = 0;
  ErrorBounds bounds;
};

/// Inputs of one workload, distribution and seed, and the reference's results on them.
struct DataSet {
  const WorkloadLayout* workload = nullptr;  ///< into OpenProblem, which outlives every data set
  std::string distribution;
  std::uint64_t seed = 0;
  std::vector<InputData> inputs;  ///< those that have memory
  ScalarValues scalars;           ///< the others
  std::vector<ReferenceData> references;
  double reference_ms = 0;                   ///< wall time of the slower of the two parts of the reference
  std::uint64_t reference_instructions = 0;  ///< of warps, the larger of the two; 0 on a GPU
  std::size_t bytes = 0;
};

class DataSetBuilder;  // runtime/check/data_set_builder.h
class Reference;       // runtime/reference/reference.h

struct ReleaseMemory {
  void operator()(Reference* reference) const noexcept;
};
/// A reference that holds its memory as long as this lives (Reference::hold_memory()). Must not outlive it.
using HeldMemory = std::unique_ptr<Reference, ReleaseMemory>;

/// Makes and keeps data sets, least recently used ones dropped first once a budget of device
/// memory is passed.
class DataStore {
 public:
  /// Both must outlive the store.
  DataStore(RunContext& run_context, Reference& reference);

  /// Errors: invalid_reference (the references leave elements unwritten or disagree about what is finite),
  /// out_of_memory. Throws CudaError when the device is lost.
  [[nodiscard]] Result<std::shared_ptr<const DataSet>, Outcome> get(const WorkloadLayout& workload,
                                                                    const std::string& distribution,
                                                                    std::uint64_t seed);
  /// A data set that belongs to the caller, without contents yet. Errors: out_of_memory.
  [[nodiscard]] Result<std::unique_ptr<DataSetBuilder>, Outcome> make_changing(
      const WorkloadLayout& workload, const std::string& distribution);
  /// References for what `builder` was last filled with. Errors: as of get().
  [[nodiscard]] std::optional<Outcome> make_references(DataSetBuilder& builder);
  /// Milliseconds spent on making data sets since the last call.
  [[nodiscard]] double take_making_ms() { return std::exchange(making_ms_, 0.0); }
  /// Whether the device has the memory left that the reference wants for this (Reference::working_bytes()).
  [[nodiscard]] bool reference_has_room(const WorkloadLayout& workload) const;
  /// It wants some at all.
  [[nodiscard]] bool reference_wants_room(const WorkloadLayout& workload) const;
  /// The reference keeps no memory of the device for later results.
  void release_reference_memory() const;
  /// What `make()` returns; where that is an Outcome of out_of_memory, again with what was kept for later given back.
  template <class Make>
  [[nodiscard]] auto with_room(Make make) {
    auto made = make();
    if (made || made.error().status != Status::out_of_memory) return made;
    give_room();
    return make();
  }
  /// Forgets everything, and so does the reference.
  void give_room();
  /// For a time in which no one takes memory of the device.
  [[nodiscard]] HeldMemory hold_reference_memory();
  /// Forgets everything: after a candidate may have written where it should not.
  void clear() { sets_.clear(); }

 private:
  void make_room(std::size_t bytes);
  /// What is typical of `set`'s outputs; empty where all have enough elements, or where memory is short.
  [[nodiscard]] Result<std::vector<TypicalResult>, Outcome> typical_of(const DataSet& set);

  RunContext& run_context_;
  Reference& reference_;
  std::size_t budget_bytes_;
  double making_ms_ = 0;
  std::list<std::shared_ptr<const DataSet>> sets_;  ///< most recently used first
  std::map<std::pair<const WorkloadLayout*, std::string>, std::vector<TypicalResult>> typical_;
};

}  // namespace ak::runtime
