// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/check/candidate_run.h"
#include "runtime/check/data_set_builder.h"
#include "runtime/timing/output_memory.h"

namespace ak::runtime {

/// Hashes of what a call found and left, held where no kernel can reach them.
struct CallHashes {
  std::vector<std::uint64_t>
      inputs;  ///< after the call, in the order of DataSet::inputs; of an aliased one any value
  std::vector<std::uint64_t> outputs;  ///< in the order of DataSet::references
};

/// Memory for the outputs of some samples. All of a sample's outputs go to one place first, the same for every
/// sample; where they go from there is decided when the sample has ended, and what is not kept is copied to a place,
/// too. So neither before nor in a sample anything depends on whether it is kept. One thread.
class KeptOutputs {
 public:
  /// @param wanted places; as many as fit into a sixteenth of the device's memory, but one
  /// @param kernels, sets of a sample: `example` shows what one call leaves
  /// @param side whose memory holds them
  /// Throws CudaError, also when the device's memory runs out, and std::bad_alloc when the host's does.
  KeptOutputs(RunContext& run_context, const CandidateRun& example, std::size_t wanted, std::size_t kernels,
              std::size_t sets, MemorySide side = MemorySide::device);

  [[nodiscard]] std::size_t places() const { return places_; }
  /// Takes the outputs of finished calls of one kernel, one a set, to where a sample's outputs go first, with hashes of
  /// them and of the inputs. Waits.
  [[nodiscard]] std::vector<CallHashes> take(std::size_t kernel, std::span<const CandidateRun> runs);
  /// Copies what the calls of a sample left to a place; those of nobody's interest to places(). Asynchronous.
  void keep(std::size_t place);
  /// Puts the outputs back where the run had them. False when they are no longer what take() saw. Waits.
  [[nodiscard]] bool restore(std::size_t place, std::size_t kernel, std::size_t set, const CandidateRun& run,
                             const CallHashes& taken) const;

 private:
  /// In bytes, of a call's outputs.
  [[nodiscard]] std::size_t offset(std::size_t place, std::size_t kernel, std::size_t set) const {
    return ((place * kernels_ + kernel) * sets_ + set) * call_bytes_;
  }
  [[nodiscard]] std::size_t first_place() const { return places_ + 1; }

  RunContext* run_context_;
  std::size_t kernels_, sets_;
  std::size_t inputs_, outputs_;  ///< of one call
  std::size_t call_bytes_;        ///< of its outputs
  std::size_t places_;
  OutputMemory memory_;
  DeviceBuffer hashes_;  ///< of one kernel's calls
};

/// What it means that restore() found something else: a kernel wrote where no buffer of its own is.
[[nodiscard]] Outcome overwritten(const CandidateRun& run);

}  // namespace ak::runtime
