// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/output_memory.h"

#include <algorithm>
#include <new>

namespace ak::runtime {
namespace {

// Half of the resident memory that a device worker may have (docs/sandbox.md).
constexpr std::size_t kMaxHostBytes = std::size_t{8} << 30;

}  // namespace

OutputMemory::OutputMemory(std::size_t bytes, MemorySide side) : side_(side) {
  if (side == MemorySide::host && bytes > kMaxHostBytes) throw std::bad_alloc();
  if (side == MemorySide::device)
    device_ = DeviceBuffer(bytes, "outputs of timed calls");
  else
    host_.resize(bytes);
}

void OutputMemory::put(std::size_t at, BufferView from, CUstream stream) {
  constexpr const char* kActivity = "keeping an output";
  if (side_ == MemorySide::device)
    return check(driver().cuMemcpyDtoDAsync(address(at), from.address, from.bytes, stream), kActivity);
  check(driver().cuStreamSynchronize(stream), kActivity);
  check(driver().cuMemcpyDtoH(host_.data() + at, from.address, from.bytes), kActivity);
}

void OutputMemory::get(BufferView to, std::size_t at, CUstream stream) const {
  constexpr const char* kActivity = "putting back an output";
  if (side_ == MemorySide::device)
    return check(driver().cuMemcpyDtoDAsync(to.address, address(at), to.bytes, stream), kActivity);
  check(driver().cuMemcpyHtoDAsync(to.address, host_.data() + at, to.bytes, stream), kActivity);
  check(driver().cuStreamSynchronize(stream), kActivity);
}

void OutputMemory::copy(std::size_t to, std::size_t from, std::size_t bytes, CUstream stream) {
  if (side_ == MemorySide::device)
    return check(driver().cuMemcpyDtoDAsync(address(to), address(from), bytes, stream),
                 "keeping the outputs of a sample");
  const auto begin = host_.begin() + static_cast<std::ptrdiff_t>(from);
  std::copy(begin, begin + static_cast<std::ptrdiff_t>(bytes),
            host_.begin() + static_cast<std::ptrdiff_t>(to));
}

}  // namespace ak::runtime
