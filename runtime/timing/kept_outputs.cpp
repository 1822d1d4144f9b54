// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/kept_outputs.h"

#include <algorithm>

namespace ak::runtime {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// Calls `use(output, offset)` for the outputs of a call, in order; returns the bytes that they take.
template <class Use>
std::size_t for_outputs(const CandidateRun& run, Use use) {
  std::size_t offset = 0;
  for (const ReferenceData& reference : run.data().references) {
    const BufferView output = run.output(reference.tensor);
    use(output, offset);
    offset += aligned(output.bytes);
  }
  return offset;
}

std::size_t hash_bytes(const CandidateRun& run) {
  return aligned(run.data().inputs.size() * sizeof(std::uint64_t));
}

}  // namespace

KeptOutputs::KeptOutputs(RunContext& run_context, const CandidateRun& example, std::size_t wanted,
                         std::size_t kernels, std::size_t sets)
    : run_context_(&run_context),
      kernels_(kernels),
      sets_(sets),
      inputs_(example.data().inputs.size()),
      call_bytes_(hash_bytes(example) + for_outputs(example, [](BufferView, std::size_t) {})) {
  const std::size_t sample_bytes = kernels_ * sets_ * call_bytes_;
  const auto budget_bytes = static_cast<std::size_t>(run_context.context.facts().memory_bytes) / 16;
  places_ = std::clamp<std::size_t>(budget_bytes / sample_bytes, 1, wanted);
  memory_ = DeviceBuffer((places_ + 1) * sample_bytes, "outputs of timed calls");
}

void KeptOutputs::keep(std::size_t place, std::size_t kernel, std::size_t set,
                       const CandidateRun& run) const {
  const CUdeviceptr base = address(place, kernel, set);
  for (std::size_t i = 0; i < inputs_; ++i) {
    const InputData& input = run.data().inputs[i];
    if (!input.aliased)
      run_context_->kernels.hash_into(input.buffer.data(), base + i * sizeof(std::uint64_t));
  }
  for_outputs(run, [&](BufferView output, std::size_t offset) {
    check(driver().cuMemcpyDtoDAsync(base + hash_bytes(run) + offset, output.address, output.bytes,
                                     run_context_->stream),
          "keeping an output");
  });
}

void KeptOutputs::restore(std::size_t place, std::size_t kernel, std::size_t set,
                          const CandidateRun& run) const {
  const CUdeviceptr base = address(place, kernel, set) + hash_bytes(run);
  for_outputs(run, [&](BufferView output, std::size_t offset) {
    check(driver().cuMemcpyDtoDAsync(output.address, base + offset, output.bytes, run_context_->stream),
          "putting back an output");
  });
}

std::vector<std::uint64_t> KeptOutputs::input_hashes(std::size_t place, std::size_t kernel,
                                                     std::size_t set) const {
  std::vector<std::uint64_t> hashes(inputs_);
  run_context_->synchronize("the hashes of inputs");
  check(driver().cuMemcpyDtoH(hashes.data(), address(place, kernel, set), inputs_ * sizeof(std::uint64_t)),
        "reading the hashes of inputs");
  return hashes;
}

}  // namespace ak::runtime
