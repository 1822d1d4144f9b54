// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/kept_outputs.h"

#include <algorithm>

namespace ak::runtime {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// Of `wanted` places as many as fit into a sixteenth of the device's memory, but one.
std::size_t places_within(const RunContext& run_context, std::size_t sample_bytes, std::size_t wanted) {
  const std::size_t budget_bytes = static_cast<std::size_t>(run_context.context.facts().memory_bytes) / 16;
  return std::clamp<std::size_t>(budget_bytes / std::max<std::size_t>(1, sample_bytes), 1, wanted);
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

}  // namespace

Outcome overwritten(const CandidateRun& run) {
  return {
      .status = Status::memory_error,
      .stage = StageId::recheck,
      .message = fmt::format("outputs that the harness had put aside on workload {} were overwritten later: "
                             "a kernel writes far outside its buffers",
                             run.data().workload->name),
      .diagnostics = {},
      .gate = Gate::guard_bands};
}

KeptOutputs::KeptOutputs(RunContext& run_context, const CandidateRun& example, std::size_t wanted,
                         std::size_t kernels, std::size_t sets, MemorySide side)
    : run_context_(&run_context),
      kernels_(kernels),
      sets_(sets),
      inputs_(example.data().inputs.size()),
      outputs_(example.data().references.size()),
      call_bytes_(for_outputs(example, [](BufferView, std::size_t) {})),
      places_(places_within(run_context, kernels * sets * call_bytes_, wanted)),
      memory_(std::max<std::size_t>(1, offset(places_ + 2, 0, 0)), side),
      hashes_(sets * (inputs_ + outputs_) * sizeof(std::uint64_t), "hashes of timed calls") {}

std::vector<CallHashes> KeptOutputs::take(std::size_t kernel, std::span<const CandidateRun> runs) {
  CUdeviceptr hash = hashes_.address();
  const auto hash_next = [&](BufferView bytes) {
    run_context_->kernels.hash_into(bytes, hash);
    hash += sizeof(std::uint64_t);
  };
  for (std::size_t set = 0; set < runs.size(); ++set) {
    for (const InputData& input : runs[set].data().inputs) hash_next(input.buffer.data());
    for_outputs(runs[set], [&](BufferView output, std::size_t within) {
      memory_.put(offset(first_place(), kernel, set) + within, output, run_context_->stream);
      hash_next(output);
    });
  }
  std::vector<std::uint64_t> all(runs.size() * (inputs_ + outputs_));
  run_context_->synchronize("the hashes of timed calls");
  check(driver().cuMemcpyDtoH(all.data(), hashes_.address(), all.size() * sizeof(std::uint64_t)),
        "reading the hashes of timed calls");
  std::vector<CallHashes> hashes(runs.size());
  auto next = all.begin();
  for (CallHashes& one : hashes) {
    one.inputs.assign(next, next + static_cast<std::ptrdiff_t>(inputs_));
    next += static_cast<std::ptrdiff_t>(inputs_);
    one.outputs.assign(next, next + static_cast<std::ptrdiff_t>(outputs_));
    next += static_cast<std::ptrdiff_t>(outputs_);
  }
  return hashes;
}

void KeptOutputs::keep(std::size_t place) {
  memory_.copy(offset(place, 0, 0), offset(first_place(), 0, 0), offset(1, 0, 0), run_context_->stream);
}

bool KeptOutputs::restore(std::size_t place, std::size_t kernel, std::size_t set, const CandidateRun& run,
                          const CallHashes& taken) const {
  std::vector<std::uint64_t> found;
  for_outputs(run, [&](BufferView output, std::size_t within) {
    memory_.get(output, offset(place, kernel, set) + within, run_context_->stream);
    found.push_back(run_context_->kernels.hash(output));
  });
  return found == taken.outputs;
}

}  // namespace ak::runtime
