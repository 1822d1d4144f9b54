// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/device/device_facts.h"
#include "runtime/cuda/device_context.h"
#include "runtime/cuda/device_memory.h"
#include "tests/emulator/differential/differential_case.h"

namespace ak::emulator::differential {

/// Output of a kernel on the GPU, or what its driver said when it refused the kernel (and no output).
struct GpuAnswer {
  std::vector<std::byte> output;
  std::string refusal;
};

inline constexpr int kOptimized = 4;  ///< level of the driver's compiler; its default

/// GPU 0. One at a time, one thread.
class Gpu {
 public:
  /// @param optimization level of the driver's compiler. Throws Error(environment) when there is no driver or
  /// no GPU.
  explicit Gpu(int optimization = kOptimized);
  [[nodiscard]] const DeviceFacts& facts() const { return context_.facts(); }
  /// Runs cases that make one module, parallel to them. Throws CudaError when a kernel fails while it runs,
  /// naming it: the context is lost then.
  [[nodiscard]] std::vector<GpuAnswer> answers(std::span<const Case> cases);

 private:
  GpuAnswer run(CUfunction function, const Case& one);

  int optimization_;
  runtime::DeviceContext context_;
  runtime::DeviceBuffer inputs_, outputs_;
};

}  // namespace ak::emulator::differential
