// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/virtual_memory.h"

#include <algorithm>
#include <utility>

namespace ak::runtime {
namespace {

CUmemAllocationProp pinned_on(CUdevice device, Sharing sharing) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  if (sharing == Sharing::other_processes)
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

std::size_t whole_pages(std::size_t bytes, std::size_t page) { return (bytes + page - 1) / page * page; }

}  // namespace

VirtualMemory::VirtualMemory(std::size_t bytes, std::size_t gap, const std::string& what, Sharing sharing) {
  check(driver().cuCtxGetDevice(&device_), "asking for the current device");
  const CUmemAllocationProp properties = pinned_on(device_, sharing);
  std::size_t page = 0;
  check(driver().cuMemGetAllocationGranularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "asking for the allocation granularity");
  bytes_ = whole_pages(std::max<std::size_t>(bytes, 1), page);
  gap_ = whole_pages(gap, page);
  check(driver().cuMemCreate(&handle_, bytes_, &properties, 0), "allocating {} ({} bytes)", what, bytes);
  has_handle_ = true;
  CUdeviceptr address = 0;
  const CUresult result = driver().cuMemAddressReserve(&address, bytes_ + 2 * gap_, 0, 0, 0);
  if (result != CUDA_SUCCESS) release();
  check(result, "reserving addresses for {}", what);
  reservation_ = address;
}

VirtualMemory::VirtualMemory(VirtualMemory&& other) noexcept
    : bytes_(other.bytes_),
      gap_(other.gap_),
      device_(other.device_),
      reservation_(std::exchange(other.reservation_, 0)),
      handle_(other.handle_),
      has_handle_(std::exchange(other.has_handle_, false)),
      mapped_(std::exchange(other.mapped_, false)) {}

VirtualMemory& VirtualMemory::operator=(VirtualMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  bytes_ = other.bytes_;
  gap_ = other.gap_;
  device_ = other.device_;
  reservation_ = std::exchange(other.reservation_, 0);
  handle_ = other.handle_;
  has_handle_ = std::exchange(other.has_handle_, false);
  mapped_ = std::exchange(other.mapped_, false);
  return *this;
}

void VirtualMemory::map() {
  if (mapped_) return;
  check(driver().cuMemMap(address(), bytes_, 0, handle_, 0), "mapping device memory");
  mapped_ = true;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device_;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult result = driver().cuMemSetAccess(address(), bytes_, &access, 1);
  if (result == CUDA_SUCCESS) return;
  unmap();
  check(result, "opening device memory");
}

FileDescriptor VirtualMemory::share() const {
  int descriptor = -1;
  check(driver().cuMemExportToShareableHandle(&descriptor, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                              0),
        "sharing device memory");
  return FileDescriptor(descriptor);
}

// A failed release follows an error that was already reported (the context is lost).
void VirtualMemory::unmap() noexcept {
  if (std::exchange(mapped_, false)) static_cast<void>(driver().cuMemUnmap(address(), bytes_));
}

void VirtualMemory::release() noexcept {
  unmap();
  if (reservation_ != 0) static_cast<void>(driver().cuMemAddressFree(reservation_, bytes_ + 2 * gap_));
  if (has_handle_) static_cast<void>(driver().cuMemRelease(handle_));
  reservation_ = 0;
  has_handle_ = false;
}

}  // namespace ak::runtime
