// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "runtime/cuda/driver.h"

namespace ak::runtime {

/// Device memory in addresses of its own: it can be mapped and unmapped, at the same address every time, and on both
/// sides lie addresses that nothing is ever mapped to. One thread.
class VirtualMemory {
 public:
  VirtualMemory() = default;
  /// On the current device. Not mapped yet.
  /// @param gap bytes at least on either side to which nothing is mapped
  /// Throws CudaError (out of memory names `what` and the size).
  VirtualMemory(std::size_t bytes, std::size_t gap, const std::string& what);
  VirtualMemory(VirtualMemory&& other) noexcept;
  VirtualMemory& operator=(VirtualMemory&& other) noexcept;
  ~VirtualMemory() { release(); }

  void map();  ///< throws CudaError
  void unmap() noexcept;
  [[nodiscard]] bool mapped() const noexcept { return mapped_; }
  [[nodiscard]] CUdeviceptr address() const noexcept { return reservation_ + gap_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }  ///< as asked for, in whole pages

 private:
  void reserve();
  void release() noexcept;

  std::size_t bytes_ = 0, gap_ = 0;
  CUdevice device_ = 0;
  CUdeviceptr reservation_ = 0;  ///< 0: none
  CUmemGenericAllocationHandle handle_ = 0;
  bool has_handle_ = false, mapped_ = false;
};

}  // namespace ak::runtime
