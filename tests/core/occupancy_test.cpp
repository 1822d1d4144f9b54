// SPDX-License-Identifier: Apache-2.0
#include <cuda_occupancy.h>

#include <catch2/catch.hpp>
#include <random>

#include "core/build.h"
#include "core/device/block_occupancy.h"

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
  attributes.numBlockBarriers = kernel.barriers;
  const cudaOccDeviceState state;
  cudaOccResult result;
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &device, &attributes, &state, threads, static_cast<std::size_t>(dynamic_bytes));
  return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

/// By the toolkit's own header.
int toolkit_blocks(const ArchLimits& limits, const BlockNeeds& block) {
  KernelFacts kernel = kernel_with(block.registers);
  kernel.barriers = block.barriers;
  return toolkit_blocks(limits, kernel, block.threads, block.shared_bytes);
}

/// Every architecture that the calculator of this program knows.
std::vector<ArchLimits> all_limits() {
  std::vector<ArchLimits> all;
  for (const int number : {70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121})
    all.push_back(*occupancy_limits(Arch{number / 10, number % 10}));
  return all;
}

BlockNeeds random_block(std::mt19937& random, const ArchLimits& limits) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  return {.threads = 1 + up_to(kMaxThreadsPerBlock - 1),
          .registers = 1 + up_to(254),
          .shared_bytes = up_to(limits.shared_bytes_per_block),
          .barriers = up_to(16)};
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

TEST_CASE("blocks per SM are the toolkit's for random blocks on every architecture") {
  std::mt19937 random(22);
  for (const ArchLimits& limits : all_limits()) {
    for (int i = 0; i < 5'000; ++i) {
      const BlockNeeds block = random_block(random, limits);
      if (block_occupancy(limits, block).blocks_per_sm == toolkit_blocks(limits, block)) continue;
      FAIL_CHECK("sm_" << limits.number << ", threads " << block.threads << ", registers " << block.registers
                       << ", shared " << block.shared_bytes << ", barriers " << block.barriers);
    }
  }
}

TEST_CASE("occupancy by hand: units of registers and shared memory, and what the system reserves") {
  struct Known {
    int sm;
    BlockNeeds block;
    int blocks;
    std::vector<std::string_view> limiters;
  };
  const std::vector<Known> table{
      // 64 registers of 8 warps: 8 * 2048 = 16384 of 65536. No byte is reserved on Volta.
      {70, {.threads = 256, .registers = 64, .shared_bytes = 48 << 10}, 2, {"shared memory"}},
      {70, {.threads = 256, .registers = 64, .shared_bytes = 24 << 10}, 4, {"registers", "shared memory"}},
      // 16 blocks and 32 warps on Turing.
      {75, {.threads = 64, .registers = 32}, 16, {"block size", "blocks"}},
      {75, {.threads = 32, .registers = 32}, 16, {"blocks"}},
      // 163 of 164 KB on sm_80, 99 of 100 on sm_86: 1 KB a block is the system's.
      {80, {.threads = 128, .registers = 32, .shared_bytes = 163 << 10}, 1, {"shared memory"}},
      {80, {.threads = 128, .registers = 32, .shared_bytes = 81 << 10}, 2, {"shared memory"}},
      {80, {.threads = 128, .registers = 32, .shared_bytes = (81 << 10) + 1}, 1, {"shared memory"}},
      {86, {.threads = 512, .registers = 40}, 3, {"block size", "registers"}},
      {86, {.threads = 1024, .registers = 32}, 1, {"block size"}},
      // 168 registers of 12 warps, as warp-specialised kernels have them: 12 * 5376 = 64512.
      {90, {.threads = 384, .registers = 168}, 1, {"registers"}},
      // 64 barriers on Hopper, 24 on sm_120.
      {90, {.threads = 64, .registers = 32, .barriers = 16}, 4, {"barriers"}},
      {120, {.threads = 64, .registers = 32, .barriers = 16}, 1, {"barriers"}},
      {120, {.threads = 64, .registers = 40}, 24, {"block size", "blocks", "registers"}}};
  for (const Known& known : table) {
    INFO("sm_" << known.sm << ", " << known.block.threads << " threads");
    const ArchLimits limits = *occupancy_limits(Arch{known.sm / 10, known.sm % 10});
    const BlockOccupancy found = block_occupancy(limits, known.block);
    CHECK(found.blocks_per_sm == known.blocks);
    CHECK(found.limiters() == known.limiters);
    CHECK(found.blocks_per_sm == toolkit_blocks(limits, known.block));
  }
}

TEST_CASE("the next step names the resources that limit, and the most that a block may use of each") {
  const auto next = [](const BlockNeeds& block) { return next_occupancy_step(kHopper, block)->block; };
  const BlockNeeds both{.threads = 256, .registers = 64, .shared_bytes = 56 << 10};
  // A fifth block: 40 warps of at most 48 registers, and 228 KB / 5 in units of 128 bytes without 1 KB.
  CHECK(next(both) == BlockNeeds{.threads = 256, .registers = 48, .shared_bytes = 45568});
  CHECK(next({.threads = 384, .registers = 168}) == BlockNeeds{.threads = 384, .registers = 80});
  // Blocks of one warp fill half an SM; blocks of 1056 threads cannot be launched.
  CHECK(next({.threads = 32, .registers = 32}) == BlockNeeds{.threads = 64, .registers = 32});
  CHECK(next({.threads = 1056, .registers = 32}) == BlockNeeds{.threads = 1024, .registers = 32});
  // As many blocks and as many registers as there are: a larger block helps only with fewer registers.
  CHECK(next({.threads = 32, .registers = 64}) == BlockNeeds{.threads = 64, .registers = 56});
  CHECK_FALSE(next_occupancy_step(kHopper, {.threads = 256, .registers = 32}));
}

TEST_CASE("the next step is the smallest: it holds more warps, and one register or byte more would not") {
  std::mt19937 random(23);
  for (const ArchLimits& limits : all_limits()) {
    for (int i = 0; i < 2'000; ++i) {
      const BlockNeeds block = random_block(random, limits);
      const BlockOccupancy now = block_occupancy(limits, block);
      const auto step = next_occupancy_step(limits, block);
      INFO("sm_" << limits.number << ", threads " << block.threads << ", registers " << block.registers
                 << ", shared " << block.shared_bytes << ", barriers " << block.barriers);
      REQUIRE(step.has_value() == (now.warps_per_sm < now.max_warps_per_sm));
      if (!step) continue;
      if (step->occupancy.warps_per_sm <= now.warps_per_sm) FAIL_CHECK("no more warps");
      BlockNeeds more_registers = step->block, more_memory = step->block;
      ++more_registers.registers;
      ++more_memory.shared_bytes;
      const int blocks = now.blocks_per_sm + 1;
      if (step->block.threads != block.threads) continue;
      if (step->block.registers != block.registers &&
          block_occupancy(limits, more_registers).blocks_per_sm >= blocks)
        FAIL_CHECK("one register more still fits");
      if (step->block.shared_bytes != block.shared_bytes &&
          block_occupancy(limits, more_memory).blocks_per_sm >= blocks)
        FAIL_CHECK("one byte more still fits");
    }
  }
}
