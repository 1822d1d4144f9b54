// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/check/candidate_run.h"
#include "runtime/check/data_set_builder.h"

namespace ak::runtime {

/// Device memory for the outputs of some samples, and for hashes of their inputs. Every sample is kept by the same
/// work, wherever it goes: the last place takes those of which nothing is wanted. One thread.
class KeptOutputs {
 public:
  /// @param wanted places, not counting the last; as many as fit into a sixteenth of the device's memory, but one
  /// @param kernels, sets of a sample: `example` shows what one call leaves
  /// Throws CudaError, also when memory runs out.
  KeptOutputs(RunContext& run_context, const CandidateRun& example, std::size_t wanted, std::size_t kernels,
              std::size_t sets);

  /// Not counting the last.
  [[nodiscard]] std::size_t places() const { return places_; }
  /// Copies the outputs of a finished call and hashes its inputs. Asynchronous.
  void keep(std::size_t place, std::size_t kernel, std::size_t set, const CandidateRun& run) const;
  /// Puts the outputs back where the run had them. Asynchronous.
  void restore(std::size_t place, std::size_t kernel, std::size_t set, const CandidateRun& run) const;
  /// Hashes of the inputs after the call, in the order of DataSet::inputs; of one that an output aliases any value.
  [[nodiscard]] std::vector<std::uint64_t> input_hashes(std::size_t place, std::size_t kernel,
                                                        std::size_t set) const;

 private:
  [[nodiscard]] CUdeviceptr address(std::size_t place, std::size_t kernel, std::size_t set) const {
    return memory_.address() + ((place * kernels_ + kernel) * sets_ + set) * call_bytes_;
  }

  RunContext* run_context_;
  std::size_t kernels_, sets_, inputs_;
  std::size_t call_bytes_;  ///< of one call: hashes, then outputs
  std::size_t places_;
  DeviceBuffer memory_;
};

}  // namespace ak::runtime
