// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/plan/dtype.h"
#include "runtime/cuda/driver.h"

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

/// Guard band on either side of a candidate's buffer. Wide enough for a whole stray tile of 64 x 256 floats.
inline constexpr std::size_t kGuardBytes = 64u << 10;
/// fp16, e4m3 and e5m2 read it as NaN, fp32 and bf16 as about -1.7e38: reads beyond a buffer corrupt
/// a result too.
inline constexpr std::uint8_t kGuardByte = 0xFE;
/// Data starts at a multiple of this (as cuMemAlloc's does).
inline constexpr std::size_t kBufferAlignment = 256;

/// Pattern of memory that a kernel has yet to write: NaN for floating types; for integers a value that real
/// results rarely have.
[[nodiscard]] std::uint8_t poison_byte(DType dtype);

/// Memory that candidate code may touch: its own allocation with a guard band on both sides. The data lies
/// `shift` bytes into the allocation's slack so that addresses differ between calls.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// @param shift multiple of kBufferAlignment. Throws CudaError (out of memory names `what` and the size).
  GuardedBuffer(std::size_t bytes, std::size_t shift, const std::string& what);

  [[nodiscard]] BufferView data() const noexcept { return {memory_.address() + offset_, bytes_}; }
  [[nodiscard]] BufferView low_guard() const noexcept { return {memory_.address(), offset_}; }
  [[nodiscard]] BufferView high_guard() const noexcept {
    return {memory_.address() + offset_ + bytes_, kGuardBytes};
  }
  /// Writes the guard pattern; asynchronous.
  void arm_guards(CUstream stream) const;

 private:
  DeviceBuffer memory_;
  std::size_t bytes_ = 0, offset_ = 0;
};

/// Physical memory that is mapped only while someone holds a Mapping: what candidate code must not find
/// (reference results). The address stays the same from mapping to mapping.
class HiddenBuffer {
 public:
  HiddenBuffer() = default;
  HiddenBuffer(std::size_t bytes, int ordinal, const std::string& what);
  HiddenBuffer(HiddenBuffer&& other) noexcept;
  HiddenBuffer& operator=(HiddenBuffer&& other) noexcept;
  ~HiddenBuffer();

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return reserved_; }

  /// Keeps the memory accessible while it lives; must not outlive the buffer.
  class Mapping {
   public:
    explicit Mapping(const HiddenBuffer& buffer);
    Mapping(Mapping&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
    Mapping& operator=(Mapping&&) = delete;
    ~Mapping();
    [[nodiscard]] CUdeviceptr address() const noexcept { return buffer_->address_; }

   private:
    const HiddenBuffer* buffer_;
  };
  [[nodiscard]] Mapping map() const { return Mapping(*this); }

 private:
  void release() noexcept;
  void unmap() const noexcept;
  std::size_t bytes_ = 0, reserved_ = 0;
  int ordinal_ = 0;
  CUdeviceptr address_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
  bool has_handle_ = false;
  mutable bool mapped_ = false;  ///< at most one Mapping is held at a time
};

}  // namespace ak::runtime
