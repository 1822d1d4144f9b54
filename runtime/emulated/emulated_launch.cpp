// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated/emulated_launch.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ak::runtime {
namespace {

using Extent = std::array<std::uint32_t, 3>;

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr Extent kMaxBlocks{0x7FFFFFFFu, 65'535, 65'535};
constexpr Extent kMaxThreads{1024, 1024, 64};
constexpr std::uint32_t kPortableCluster = 8, kLargestCluster = 16;

std::uint64_t product(const Extent& extent) { return std::uint64_t{extent[0]} * extent[1] * extent[2]; }

bool within(const Extent& extent, const Extent& most) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (extent[i] < 1 || extent[i] > most[i]) return false;
  }
  return true;
}

CUresult read_attributes(const CUlaunchConfig& config, emulator::LaunchRequest& request) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        request.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                           attribute.value.clusterDim.z};
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        request.cooperative = attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:  // may_begin_early()
        break;
      default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

CUresult check_cluster(const EmulatedFunction& function, const DeviceFacts& device,
                       emulator::LaunchRequest& request) {
  const Extent& required = function.program.required_cluster;
  if (product(required) > 0) {
    if (product(request.cluster) > 1 && request.cluster != required) return CUDA_ERROR_INVALID_VALUE;
    request.cluster = required;
  }
  const std::uint64_t blocks = product(request.cluster);
  if (blocks == 1) return CUDA_SUCCESS;
  if (blocks == 0) return CUDA_ERROR_INVALID_VALUE;
  if (device.arch.major < 9) return CUDA_ERROR_NOT_SUPPORTED;
  if (blocks > (function.large_clusters ? kLargestCluster : kPortableCluster))
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  for (std::size_t i = 0; i < 3; ++i) {
    if (request.grid[i] % request.cluster[i] != 0) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Registers are not known from PTX, so a grid that only they keep from fitting is accepted.
CUresult check_cooperative(const EmulatedFunction& function, const DeviceFacts& device,
                           const emulator::LaunchRequest& request) {
  const auto most = limits(device.arch);
  if (!request.cooperative || !most) return CUDA_SUCCESS;
  const auto threads = static_cast<std::int64_t>((product(request.block) + 31) / 32 * 32);
  const std::int64_t shared =
      std::int64_t{function.program.static_shared_bytes} + request.dynamic_shared_bytes + 1024;
  const std::int64_t per_sm =
      std::min({std::int64_t{most->max_blocks_per_sm}, most->max_threads_per_sm / threads,
                most->shared_bytes_per_sm / shared});
  const bool fits = product(request.grid) <= static_cast<std::uint64_t>(per_sm * device.sm_count);
  return fits ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

void copy_arguments(const emulator::Program& program, void** arguments, emulator::LaunchRequest& request) {
  request.parameters.assign(program.parameter_bytes, std::byte{0});
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const emulator::Parameter& parameter = program.parameters[i];
    std::memcpy(request.parameters.data() + parameter.offset, arguments[i], parameter.bytes);
  }
}

struct Code {
  emulator::FaultKind kind;
  CUresult result;
};
constexpr Code kCodes[] = {
    {emulator::FaultKind::out_of_bounds, CUDA_ERROR_ILLEGAL_ADDRESS},
    {emulator::FaultKind::misaligned, CUDA_ERROR_MISALIGNED_ADDRESS},
    {emulator::FaultKind::uninitialized_read, CUDA_ERROR_ILLEGAL_ADDRESS},
    {emulator::FaultKind::wrong_space, CUDA_ERROR_INVALID_ADDRESS_SPACE},
    {emulator::FaultKind::read_only, CUDA_ERROR_ILLEGAL_ADDRESS},
    {emulator::FaultKind::shared_race, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::global_race, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::global_conflict, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::barrier_divergence, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::async_pending, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::missing_proxy_fence, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::non_coherent_read, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::early_access, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::register_hazard, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::cluster_lifetime, CUDA_ERROR_ILLEGAL_ADDRESS},
    {emulator::FaultKind::deadlock, CUDA_ERROR_LAUNCH_TIMEOUT},
    {emulator::FaultKind::instruction_budget, CUDA_ERROR_LAUNCH_TIMEOUT},
    {emulator::FaultKind::assertion, CUDA_ERROR_ASSERT},
    {emulator::FaultKind::trap, CUDA_ERROR_LAUNCH_FAILED},
    {emulator::FaultKind::inactive_lane, CUDA_ERROR_ILLEGAL_ADDRESS},
    {emulator::FaultKind::stack_overflow, CUDA_ERROR_ILLEGAL_ADDRESS},
    {emulator::FaultKind::invalid_operand, CUDA_ERROR_ILLEGAL_INSTRUCTION},
};
static_assert(std::size(kCodes) == static_cast<std::size_t>(emulator::FaultKind::invalid_operand) + 1,
              "every kind of fault has a code");

}  // namespace

CUresult read_launch(const CUlaunchConfig& config, const EmulatedFunction& function, void** arguments,
                     const DeviceFacts& device, emulator::LaunchRequest& request) {
  const emulator::Program& program = function.program;
  request.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  request.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  request.dynamic_shared_bytes = config.sharedMemBytes;
  if (const CUresult result = read_attributes(config, request); result != CUDA_SUCCESS) return result;
  if (!within(request.grid, kMaxBlocks) || !within(request.block, kMaxThreads))
    return CUDA_ERROR_INVALID_VALUE;
  if (product(request.block) > program.maximum_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (config.sharedMemBytes > function.max_dynamic_shared) return CUDA_ERROR_INVALID_VALUE;
  const std::int64_t shared = std::int64_t{program.static_shared_bytes} + config.sharedMemBytes;
  if (shared > device.shared_bytes_per_block) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_cluster(function, device, request); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check_cooperative(function, device, request); result != CUDA_SUCCESS)
    return result;
  if (emulator::resident_bytes(program, request) > emulator::kMaxResidentBytes)
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (arguments == nullptr && !program.parameters.empty()) return CUDA_ERROR_INVALID_VALUE;
  copy_arguments(program, arguments, request);
  return CUDA_SUCCESS;
}

bool may_begin_early(const CUlaunchConfig& config) {
  return std::any_of(config.attrs, config.attrs + config.numAttrs, [](const CUlaunchAttribute& attribute) {
    return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
           attribute.value.programmaticStreamSerializationAllowed != 0;
  });
}

CUresult max_active_clusters(int& clusters, const CUlaunchConfig& config, const EmulatedFunction& function,
                             const DeviceFacts& device) {
  emulator::LaunchRequest request;
  request.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  if (const CUresult result = read_attributes(config, request); result != CUDA_SUCCESS) return result;
  const CUresult result = check_cluster(function, device, request);
  clusters = result == CUDA_SUCCESS ? 1 : 0;
  return result == CUDA_ERROR_INVALID_CLUSTER_SIZE ? CUDA_SUCCESS : result;
}

CUresult result_of(emulator::FaultKind kind) {
  const auto found =
      std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& c) { return c.kind == kind; });
  AK_ASSERT(found != std::end(kCodes), "every kind of fault has a code");
  return found->result;
}

}  // namespace ak::runtime
