// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cuda/virtual_memory.h"
#include "runtime/reference/exchange_memory.h"

namespace ak::runtime {

/// Memory of the GPU that a child process maps too, `kExchangeBytes` at least, mapped here only while a Mapping lives, so
/// that no candidate can reach it. One thread.
class DeviceExchange {
 public:
  /// On the current device. @param bytes at least; 0: a share of its memory. Throws CudaError.
  explicit DeviceExchange(std::size_t bytes = 0);

  class Mapping {
   public:
    explicit Mapping(VirtualMemory& memory) : memory_(memory) { memory_.map(); }
    ~Mapping() { memory_.unmap(); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    [[nodiscard]] CUdeviceptr address() const noexcept { return memory_.address(); }

   private:
    VirtualMemory& memory_;
  };
  /// Must not outlive this object; at most one at a time. Throws CudaError.
  [[nodiscard]] Mapping map() { return Mapping(memory_); }
  [[nodiscard]] int descriptor() const { return shared_.get(); }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  VirtualMemory memory_;
  FileDescriptor shared_;
};

}  // namespace ak::runtime
