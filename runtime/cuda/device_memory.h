// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/plan/dtype.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/virtual_memory.h"

namespace ak::runtime {

void free_device_memory(CUdeviceptr address) noexcept;
using DeviceAllocation = UniqueHandle<CUdeviceptr, free_device_memory>;

/// Address and size of memory that something else owns.
struct BufferView {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};

/// Plain device memory for the harness's own needs. Contents undefined.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(std::size_t bytes, const std::string& what);
  [[nodiscard]] CUdeviceptr address() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] BufferView view() const noexcept { return {address(), bytes_}; }

 private:
  DeviceAllocation memory_;
  std::size_t bytes_ = 0;
};

/// Guard band on either side of a candidate's buffer, at least. Wide enough for a whole stray tile of 64 x 256 floats.
inline constexpr std::size_t kGuardBytes = 64u << 10;
/// Addresses on either side of a buffer's pages that nothing is mapped to, on a GPU: an index that is wrong by less
/// than this ends in a fault and not in other memory. Addresses are plenty: a GPU has 2^47 bytes of them at least.
inline constexpr std::size_t kUnmappedBytes = std::size_t{1} << 32;
/// fp16, e4m3 and e5m2 read it as NaN, fp32 and bf16 as about -1.7e38: reads beyond a buffer corrupt
/// a result too.
inline constexpr std::uint8_t kGuardByte = 0xFE;
/// Data starts at a multiple of this (as cuMemAlloc's does).
inline constexpr std::size_t kBufferAlignment = 256;

/// Pattern of memory that a kernel has yet to write: NaN for floating types; for integers a value that real
/// results rarely have.
[[nodiscard]] std::uint8_t poison_byte(DType dtype);

/// Memory that candidate code may touch: pages of its own, the data in between two guard bands that fill them, and
/// kUnmappedBytes around them. The data lies `shift` bytes further than it must, so that addresses differ between
/// calls. The CPU device, which sees every access, has pages without the space around them.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// On the current device. @param shift multiple of kBufferAlignment.
  /// Throws CudaError (out of memory names `what` and the size).
  GuardedBuffer(std::size_t bytes, std::size_t shift, const std::string& what);

  [[nodiscard]] BufferView data() const noexcept { return {memory_.address() + offset_, bytes_}; }
  [[nodiscard]] BufferView low_guard() const noexcept { return {memory_.address(), offset_}; }
  [[nodiscard]] BufferView high_guard() const noexcept {
    return {memory_.address() + offset_ + bytes_, memory_.bytes() - offset_ - bytes_};
  }
  /// With its guard bands.
  [[nodiscard]] std::size_t whole_bytes() const noexcept { return memory_.bytes(); }
  /// Writes the guard pattern; asynchronous.
  void arm_guards(CUstream stream) const;

 private:
  VirtualMemory memory_;
  std::size_t bytes_ = 0, offset_ = 0;
};

/// Physical memory that is mapped only while someone holds a Mapping: what candidate code must not find
/// (reference results). The address stays the same from mapping to mapping.
class HiddenBuffer {
 public:
  HiddenBuffer() = default;
  /// On the current device. Throws CudaError (out of memory names `what` and the size).
  HiddenBuffer(std::size_t bytes, const std::string& what) : memory_(bytes, 0, what), bytes_(bytes) {}

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return memory_.bytes(); }

  /// Keeps the memory accessible while it lives; must not outlive the buffer. At most one is held at a time.
  class Mapping {
   public:
    explicit Mapping(VirtualMemory& memory) : memory_(&memory) { memory.map(); }
    Mapping(Mapping&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
    Mapping& operator=(Mapping&&) = delete;
    ~Mapping();
    [[nodiscard]] CUdeviceptr address() const noexcept { return memory_->address(); }

   private:
    VirtualMemory* memory_;
  };
  [[nodiscard]] Mapping map() const { return Mapping(memory_); }

 private:
  mutable VirtualMemory memory_;  ///< mapping it changes nothing that it holds
  std::size_t bytes_ = 0;
};

}  // namespace ak::runtime
