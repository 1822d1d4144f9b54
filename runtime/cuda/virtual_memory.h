// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/text/file.h"
#include "runtime/cuda/driver.h"

namespace ak::runtime {

enum class Sharing : std::uint8_t { none, other_processes };

/// Device memory in addresses of its own: it can be mapped and unmapped, at the same address every time, and on both
/// sides lie addresses that nothing is ever mapped to. One thread.
class VirtualMemory {
 public:
  VirtualMemory() = default;
  /// On the current device. Not mapped yet.
  /// @param gap bytes at least on either side to which nothing is mapped
  /// @param sharing whether share() may be called
  /// Throws CudaError (out of memory names `what` and the size).
  VirtualMemory(std::size_t bytes, std::size_t gap, const std::string& what, Sharing sharing = Sharing::none);
  VirtualMemory(VirtualMemory&& other) noexcept;
  VirtualMemory& operator=(VirtualMemory&& other) noexcept;
  ~VirtualMemory() { release(); }

  void map();  ///< throws CudaError
  void unmap() noexcept;
  /// A descriptor through which another process maps the same memory. Throws CudaError.
  [[nodiscard]] FileDescriptor share() const;
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
