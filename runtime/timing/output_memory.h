// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/cuda/device_memory.h"

namespace ak::runtime {

enum class MemorySide : std::uint8_t { device, host };

/// Memory for outputs that are put aside: the device's, or the host's where the device has no room. Offsets are in
/// bytes from its beginning. One thread.
class OutputMemory {
 public:
  /// Throws CudaError when the device's memory runs out, std::bad_alloc when the host's does or when it were more than 8
  /// GiB there, by which the worker that holds it would end.
  OutputMemory(std::size_t bytes, MemorySide side);

  /// Takes what is in device memory; with the device's own memory asynchronously. The stream must have written it.
  void put(std::size_t at, BufferView from, CUstream stream);
  /// Puts bytes back into device memory, in the order of the stream.
  void get(BufferView to, std::size_t at, CUstream stream) const;
  void copy(std::size_t to, std::size_t from, std::size_t bytes, CUstream stream);

 private:
  [[nodiscard]] CUdeviceptr address(std::size_t at) const { return device_.address() + at; }

  MemorySide side_;
  DeviceBuffer device_;
  std::vector<std::byte> host_;
};

}  // namespace ak::runtime
