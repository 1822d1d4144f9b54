// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

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

  struct Tensor {
    std::size_t index;  ///< into OpenProblem::tensors
    BufferView memory;
  };
  /// Whether all have room at once, one after the other: then they need no requests of their own. Small ones go through
  /// memory of the host, which changes no context of the GPU.
  [[nodiscard]] bool fits(const std::vector<Tensor>& tensors) const;
  /// Where each of `tensors`, which fit, lies: {through, places: [{tensor, at, bytes}]}.
  [[nodiscard]] Json places(const std::vector<Tensor>& tensors) const;
  void put_all(const std::vector<Tensor>& tensors);   ///< they come to lie there
  void take_all(const std::vector<Tensor>& tensors);  ///< what lies there comes to them

  /// Bytes of an input go to the process. @param tensor index into OpenProblem::tensors
  [[nodiscard]] std::optional<ReferenceFailure> send(std::size_t tensor, BufferView from);
  /// Bytes of a result, or of what the file draws, come from it. @param request "get" or "take_drawn"
  [[nodiscard]] std::optional<ReferenceFailure> receive(const std::string& request, std::size_t tensor,
                                                        BufferView to);

 private:
  [[nodiscard]] std::optional<ReferenceFailure> ask(const std::string& request, std::size_t tensor,
                                                    std::size_t offset, std::size_t bytes);
  [[nodiscard]] std::size_t slice_bytes() const {
    return device_ != nullptr ? device_->bytes() : kExchangeBytes;
  }
  enum class Way { there, back };
  void copy(Way way, BufferView memory, CUdeviceptr slice, std::size_t at);
  void copy_all(Way way, const std::vector<Tensor>& tensors, CUdeviceptr slice);
  void pass(Way way, const std::vector<Tensor>& tensors, bool through_device);
  [[nodiscard]] bool through_device(const std::vector<Tensor>& tensors) const;

  ReferenceProcess& process_;
  CUstream stream_;
  DeviceExchange* device_ = nullptr;
};

}  // namespace ak::runtime
