// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/device_memory.h"

#include "core/gate.h"

#include <algorithm>

namespace ak::runtime {
namespace {

CUmemAllocationProp pinned_on(int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  return properties;
}

}  // namespace

void free_device_memory(CUdeviceptr address) noexcept { static_cast<void>(driver().cuMemFree(address)); }

DeviceBuffer::DeviceBuffer(std::size_t bytes, const std::string& what) : bytes_(bytes) {
  CUdeviceptr address = 0;
  check(driver().cuMemAlloc(&address, std::max<std::size_t>(bytes, 1)), "allocating {} ({} bytes)", what,
        bytes);
  memory_.reset(address);
}

std::uint8_t poison_byte(DType dtype) { return info(dtype).floating ? 0xFF : 0xA5; }

GuardedBuffer::GuardedBuffer(std::size_t bytes, std::size_t shift, const std::string& what)
    : memory_(bytes + shift + 2 * kGuardBytes, what), bytes_(bytes), offset_(kGuardBytes + shift) {
  AK_ASSERT(shift % kBufferAlignment == 0, "a shifted buffer keeps its alignment");
}

void GuardedBuffer::arm_guards(CUstream stream) const {
  for (const BufferView guard : {low_guard(), high_guard()}) {
    check(driver().cuMemsetD8Async(guard.address, kGuardByte, guard.bytes, stream), "writing guard bands");
  }
}

HiddenBuffer::HiddenBuffer(std::size_t bytes, int ordinal, const std::string& what)
    : bytes_(bytes), ordinal_(ordinal) {
  const CUmemAllocationProp properties = pinned_on(ordinal);
  std::size_t granularity = 0;
  check(driver().cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "asking for the allocation granularity");
  reserved_ = (std::max<std::size_t>(bytes, 1) + granularity - 1) / granularity * granularity;
  check(driver().cuMemCreate(&handle_, reserved_, &properties, 0), "allocating {} ({} bytes)", what, bytes);
  has_handle_ = true;
  CUdeviceptr address = 0;
  const CUresult result = driver().cuMemAddressReserve(&address, reserved_, 0, 0, 0);
  if (result != CUDA_SUCCESS) release();
  check(result, "reserving addresses for {}", what);
  address_ = address;
}

HiddenBuffer::HiddenBuffer(HiddenBuffer&& other) noexcept
    : bytes_(other.bytes_),
      reserved_(other.reserved_),
      ordinal_(other.ordinal_),
      address_(std::exchange(other.address_, 0)),
      handle_(other.handle_),
      has_handle_(std::exchange(other.has_handle_, false)),
      mapped_(std::exchange(other.mapped_, false)) {}

HiddenBuffer& HiddenBuffer::operator=(HiddenBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  bytes_ = other.bytes_;
  reserved_ = other.reserved_;
  ordinal_ = other.ordinal_;
  address_ = std::exchange(other.address_, 0);
  handle_ = other.handle_;
  has_handle_ = std::exchange(other.has_handle_, false);
  mapped_ = std::exchange(other.mapped_, false);
  return *this;
}

HiddenBuffer::~HiddenBuffer() { release(); }

void HiddenBuffer::unmap() const noexcept {
  if (std::exchange(mapped_, false)) static_cast<void>(driver().cuMemUnmap(address_, reserved_));
}

void HiddenBuffer::release() noexcept {
  unmap();
  if (address_ != 0) static_cast<void>(driver().cuMemAddressFree(address_, reserved_));
  if (has_handle_) static_cast<void>(driver().cuMemRelease(handle_));
  address_ = 0;
  has_handle_ = false;
}

HiddenBuffer::Mapping::Mapping(const HiddenBuffer& buffer) : buffer_(&buffer) {
  if (buffer.mapped_) return;
  check(driver().cuMemMap(buffer.address_, buffer.reserved_, 0, buffer.handle_, 0),
        "mapping reference results");
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = buffer.ordinal_;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult result = driver().cuMemSetAccess(buffer.address_, buffer.reserved_, &access, 1);
  buffer.mapped_ = true;
  if (result == CUDA_SUCCESS) return;
  buffer.unmap();
  check(result, "opening reference results");
}

HiddenBuffer::Mapping::~Mapping() {
  if (buffer_ != nullptr && gate_enabled(Gate::unmapped_reference)) buffer_->unmap();
}

}  // namespace ak::runtime
