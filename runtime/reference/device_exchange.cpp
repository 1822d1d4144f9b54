// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/device_exchange.h"

#include <algorithm>

#include "runtime/cuda/driver.h"

namespace ak::runtime {

namespace {

// Of the GPU's memory. Every slice costs two changes of its context and a mapping, 0.3 ms on an H200 with PyTorch 2.11,
// in which it copies gigabytes (chosen: 4.4 GiB there).
constexpr std::size_t kShare = 32;

std::size_t slice_bytes() {
  CUdevice device = 0;
  std::size_t all = 0;
  check(driver().cuCtxGetDevice(&device), "asking for the current device");
  check(driver().cuDeviceTotalMem(&all, device), "asking for the memory of the current device");
  return std::max(kExchangeBytes, all / kShare);
}

}  // namespace

DeviceExchange::DeviceExchange(std::size_t bytes)
    : memory_(bytes > 0 ? bytes : slice_bytes(), 0, "memory to share with the reference process",
              Sharing::other_processes),
      shared_(memory_.share()) {}

}  // namespace ak::runtime
