// SPDX-License-Identifier: Apache-2.0
#include <cuda_occupancy.h>

#include <catch2/catch.hpp>

#include "core/build.h"

using namespace ak;

namespace {

KernelFacts kernel_with(int registers, int static_shared_bytes = 0) {
  KernelFacts kernel;
  kernel.registers = registers;
  kernel.static_shared_bytes = static_shared_bytes;
  return kernel;
}

const ArchLimits kHopper = *limits(Arch{9, 0, 'a'});

cudaOccDeviceProp toolkit_device(const ArchLimits& limits) {
  cudaOccDeviceProp device;
  device.computeMajor = limits.number / 10;
  device.computeMinor = limits.number % 10;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = limits.max_threads_per_sm;
  device.regsPerBlock = limits.registers_per_sm;
  device.regsPerMultiprocessor = limits.registers_per_sm;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(limits.shared_bytes_per_sm);
  device.numSms = 1;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(limits.shared_bytes_per_block);
  device.reservedSharedMemPerBlock = limits.number >= 80 ? 1024 : 0;
  return device;
}

int toolkit_blocks(const ArchLimits& limits, const KernelFacts& kernel, int threads, int dynamic_bytes) {
  const cudaOccDeviceProp device = toolkit_device(limits);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = 1024;
  attributes.numRegs = kernel.registers;
  attributes.sharedSizeBytes = static_cast<std::size_t>(kernel.static_shared_bytes);
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(limits.shared_bytes_per_block);
  const cudaOccDeviceState state;
  cudaOccResult result;
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &device, &attributes, &state, threads, static_cast<std::size_t>(dynamic_bytes));
  return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

}  // namespace

TEST_CASE("a small kernel fills the SM and is limited by its block size") {
  const Occupancy found = occupancy(kHopper, kernel_with(32), 256, 0);
  CHECK(found.blocks_per_sm == 8);
  CHECK(found.ratio == Approx(1));
  CHECK(found.limiter == "block size");
}

TEST_CASE("registers limit occupancy in units of 256 per warp") {
  const Occupancy found = occupancy(kHopper, kernel_with(168), 384, 0);
  CHECK(found.blocks_per_sm == 1);
  CHECK(found.ratio == Approx(12.0 / 64));
  CHECK(found.limiter == "registers");
  CHECK(occupancy(kHopper, kernel_with(255), 256, 0).blocks_per_sm == 1);
  CHECK(occupancy(kHopper, kernel_with(128), 128, 0).blocks_per_sm == 4);
  CHECK(occupancy(kHopper, kernel_with(129), 128, 0).blocks_per_sm == 3);
}

TEST_CASE("shared memory limits occupancy with 1 KiB reserved per block") {
  const Occupancy found = occupancy(kHopper, kernel_with(32), 128, 113 * 1024);
  CHECK(found.blocks_per_sm == 2);
  CHECK(found.limiter == "shared memory");
  CHECK(occupancy(kHopper, kernel_with(32), 128, 113 * 1024 + 1).blocks_per_sm == 1);
  CHECK(occupancy(kHopper, kernel_with(32, 1024), 128, 113 * 1024).blocks_per_sm == 1);
}

TEST_CASE("tiny blocks are limited by their number") {
  const Occupancy found = occupancy(kHopper, kernel_with(16), 32, 0);
  CHECK(found.blocks_per_sm == 32);
  CHECK(found.ratio == Approx(0.5));
  CHECK(found.limiter == "blocks");
}

TEST_CASE("a kernel that cannot be launched has no blocks, and the limiter says why") {
  CHECK(occupancy(kHopper, kernel_with(128), 1024, 0).limiter == "registers");
  CHECK(occupancy(kHopper, kernel_with(128), 1024, 0).blocks_per_sm == 0);
  CHECK(occupancy(kHopper, kernel_with(32), 1056, 0).limiter == "block size");
  CHECK(occupancy(kHopper, kernel_with(32), 32, 228 * 1024).limiter == "shared memory");
}

TEST_CASE("occupancy agrees with the toolkit's own header on every architecture it knows") {
  for (const int number : {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}) {
    const ArchLimits limits = *ak::limits(Arch{number / 10, number % 10});
    int differing = 0;
    for (int threads = 32; threads <= 1024; threads += 32) {
      for (int registers = 1; registers <= 255; registers += 3) {
        for (int bytes = 0; bytes <= limits.shared_bytes_per_block - 256; bytes += 5000) {
          const KernelFacts kernel = kernel_with(registers, 256);
          differing += occupancy(limits, kernel, threads, bytes).blocks_per_sm !=
                       toolkit_blocks(limits, kernel, threads, bytes);
        }
      }
    }
    INFO("sm_" << number);
    CHECK(differing == 0);
  }
}
