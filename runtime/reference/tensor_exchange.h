// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "runtime/cuda/device_memory.h"
#include "runtime/reference/device_exchange.h"
#include "runtime/reference/reference_process.h"

namespace ak::runtime {

/// Moves tensors between device memory and a reference process, a slice at a time: through memory of the host, or of
/// the GPU that both use. How they travel is known here alone. One thread.
class TensorExchange {
 public:
  /// Both must outlive it.
  TensorExchange(ReferenceProcess& process, CUstream stream) : process_(process), stream_(stream) {}

  /// From now on tensors go through `memory`, which the process has mapped and which must outlive this object.
  void use(DeviceExchange& memory) { device_ = &memory; }

  /// Bytes of an input go to the process. @param tensor index into OpenProblem::tensors
  [[nodiscard]] std::optional<ReferenceFailure> send(std::size_t tensor, BufferView from);
  /// Bytes of a result, or of what the file draws, come from it. @param request "get" or "take_drawn"
  [[nodiscard]] std::optional<ReferenceFailure> receive(const std::string& request, std::size_t tensor,
                                                        BufferView to);

 private:
  [[nodiscard]] std::optional<ReferenceFailure> ask(const std::string& request, std::size_t tensor,
                                                    std::size_t offset, std::size_t bytes);
  void put_slice(CUdeviceptr from, std::size_t bytes);
  void take_slice(CUdeviceptr to, std::size_t bytes);

  ReferenceProcess& process_;
  CUstream stream_;
  DeviceExchange* device_ = nullptr;
};

}  // namespace ak::runtime
