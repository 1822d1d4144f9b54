// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/evaluation.h"
#include "runtime/cuda/device_memory.h"

namespace ak::runtime {

/// How launches are to be run and judged.
struct InspectionOptions {
  bool check = false;                    ///< memory, races and barriers; off for the harness's own kernels
  bool count_cost = false;               ///< memory traffic too, for take_counts()
  bool follow_bytes = false;             ///< for touched_bytes(), which begins anew; needs `check`
  std::uint64_t order_seed = 0;          ///< of the order in which warps and blocks take turns; 0: in order
  std::uint64_t instruction_budget = 0;  ///< warp instructions of one launch; 0: no limit
  std::string own_file = {};             ///< file whose lines outcomes name; empty: the outermost
};

/// What launches amounted to.
struct LaunchCounts {
  double cost_ns = 0;  ///< emulated_cost.h
  Counts counts;       ///< emulated_counts.h
  std::map<int, Counts> by_line;
};

/// How many different bytes of a range launches touched.
struct TouchedBytes {
  std::uint64_t read = 0;  ///< before any of these launches had written them
  std::uint64_t written = 0;
};

/// What a device knows that sees every access of a kernel: the CPU device is one, a GPU is not. One thread.
class LaunchInspector {
 public:
  virtual ~LaunchInspector() = default;

  /// Makes `view` a range that kernels may touch and messages call `name`; what lies around it in the same
  /// allocation is out of bounds from then on.
  virtual void name_region(BufferView view, const std::string& name, bool read_only) = 0;
  /// Says whether reading `view` before writing it is a mistake.
  virtual void mark_contents(BufferView view, bool initialized) = 0;

  /// The host's memory behind a view, for the harness's own work on it. The view lies in memory that was allocated.
  [[nodiscard]] virtual std::byte* host(BufferView view) = 0;

  /// For the launches that follow. Forgets failures that no one asked about.
  virtual void set_inspection(const InspectionOptions& inspection) = 0;
  /// What the first failure since the last call amounts to: a kernel's fault, or a program that the
  /// device cannot run.
  [[nodiscard]] virtual std::optional<Outcome> take_outcome() = 0;
  /// Sums over the launches since the last call.
  [[nodiscard]] virtual std::uint64_t take_warp_instructions() = 0;
  /// The same, of launches with InspectionOptions::count_cost.
  [[nodiscard]] virtual LaunchCounts take_counts() = 0;
  /// By the launches under the last inspection with InspectionOptions::follow_bytes.
  [[nodiscard]] virtual TouchedBytes touched_bytes(BufferView view) const = 0;
};

/// What the inspector, if there is one, knows of a failure, at the failure's stage; else the failure
/// as it is.
[[nodiscard]] inline Outcome judged(LaunchInspector* inspector, Outcome failure) {
  auto known = inspector != nullptr ? inspector->take_outcome() : std::nullopt;
  if (!known) return failure;
  known->stage = failure.stage;
  return std::move(*known);
}

/// Runs launches under `inspection` while it lives; does nothing without an inspector.
class ScopedInspection {
 public:
  ScopedInspection(LaunchInspector* inspector, const InspectionOptions& inspection) : inspector_(inspector) {
    if (inspector_ != nullptr) inspector_->set_inspection(inspection);
  }
  ~ScopedInspection() {
    if (inspector_ != nullptr) inspector_->set_inspection({});
  }
  ScopedInspection(const ScopedInspection&) = delete;
  ScopedInspection& operator=(const ScopedInspection&) = delete;

 private:
  LaunchInspector* inspector_;
};

}  // namespace ak::runtime
