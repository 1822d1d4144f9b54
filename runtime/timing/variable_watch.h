// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/check/run_context.h"

namespace ak::runtime {

/// Watches the device variables of a program between its calls, while another program runs: hashes that no kernel can
/// reach. One thread.
class VariableWatch {
 public:
  /// Notes what the variables hold. `run_context` must outlive it.
  VariableWatch(RunContext& run_context, std::span<const BufferView> variables);

  /// After a call of the program: it may change its own variables. Waits.
  void note() { noted_ = hashes(); }
  /// Whether they still hold what was noted. Waits.
  [[nodiscard]] bool unchanged() const { return hashes() == noted_; }

 private:
  [[nodiscard]] std::vector<std::uint64_t> hashes() const;

  RunContext* run_context_;
  std::vector<BufferView> variables_;
  DeviceBuffer results_;
  std::vector<std::uint64_t> noted_;
};

}  // namespace ak::runtime
