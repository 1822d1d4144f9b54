// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/cuda/nvml_library.h"

namespace ak::runtime {

/// Listens for faults of a GPU's hardware that NVML reports while this object lives: errors of its memory that were not
/// corrected, and those Xid events that no program causes. Hears nothing where NVML or the device does not report events.
class NvmlEvents {
 public:
  /// @param uuid "GPU-..." as DeviceFacts has it. `library` must outlive it.
  explicit NvmlEvents(const std::string& uuid, const NvmlLibrary& library = nvml_library());
  ~NvmlEvents();
  NvmlEvents(const NvmlEvents&) = delete;
  NvmlEvents& operator=(const NvmlEvents&) = delete;

  /// The first such fault since the last call, in words; empty: none.
  /// @param patience_ms so long such a fault is waited for, whatever else comes: events come up to a millisecond after the driver's error
  [[nodiscard]] std::string hardware_fault(unsigned patience_ms = 0) const;

 private:
  const NvmlFunctions& functions_;
  void* set_ = nullptr;  ///< nvmlEventSet_t; null: nothing is heard
};

}  // namespace ak::runtime
