// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/device_memory.h"

#include "core/gate.h"

#include <algorithm>

namespace ak::runtime {

void free_device_memory(CUdeviceptr address) noexcept { static_cast<void>(driver().cuMemFree(address)); }

DeviceBuffer::DeviceBuffer(std::size_t bytes, const std::string& what) : bytes_(bytes) {
  CUdeviceptr address = 0;
  check(driver().cuMemAlloc(&address, std::max<std::size_t>(bytes, 1)), "allocating {} ({} bytes)", what,
        bytes);
  memory_.reset(address);
}

std::uint8_t poison_byte(DType dtype) { return info(dtype).floating ? 0xFF : 0xA5; }

GuardedBuffer::GuardedBuffer(std::size_t bytes, std::size_t shift, const std::string& what)
    : memory_(bytes + shift + 2 * kGuardBytes, driver().inspector == nullptr ? kUnmappedBytes : 0, what),
      bytes_(bytes),
      offset_(kGuardBytes + shift) {
  AK_ASSERT(shift % kBufferAlignment == 0, "a shifted buffer keeps its alignment");
  memory_.map();
}

void GuardedBuffer::arm_guards(CUstream stream) const {
  for (const BufferView guard : {low_guard(), high_guard()}) {
    check(driver().cuMemsetD8Async(guard.address, kGuardByte, guard.bytes, stream), "writing guard bands");
  }
}

HiddenBuffer::Mapping::~Mapping() {
  if (memory_ != nullptr && gate_enabled(Gate::unmapped_reference)) memory_->unmap();
}

}  // namespace ak::runtime
