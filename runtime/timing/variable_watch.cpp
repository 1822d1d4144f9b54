// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/variable_watch.h"

namespace ak::runtime {
namespace {

constexpr std::size_t kHashAlignment = 8;  // of hash_bytes in harness_kernels.cu

}  // namespace

VariableWatch::VariableWatch(RunContext& run_context, std::span<const BufferView> variables)
    : run_context_(&run_context),
      results_(variables.size() * sizeof(std::uint64_t), "hashes of a program's variables") {
  for (const BufferView& variable : variables) {
    const std::size_t before = variable.address % kHashAlignment;  // what lies there is the module's, too
    variables_.push_back({variable.address - before, variable.bytes + before});
  }
  note();
}

std::vector<std::uint64_t> VariableWatch::hashes() const {
  std::vector<std::uint64_t> values(variables_.size());
  for (std::size_t i = 0; i < variables_.size(); ++i)
    run_context_->kernels.hash_into(variables_[i], results_.address() + i * sizeof(std::uint64_t));
  run_context_->synchronize("the hashes of a program's variables");
  check(driver().cuMemcpyDtoH(values.data(), results_.address(), values.size() * sizeof(std::uint64_t)),
        "reading the hashes of a program's variables");
  return values;
}

}  // namespace ak::runtime
