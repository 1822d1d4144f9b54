// SPDX-License-Identifier: Apache-2.0
#include "core/device/floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "core/device/device_catalog.h"
#include "core/plan/work.h"
#include "core/units.h"

namespace ak {
namespace {

constexpr Ratio kAllowance{0.98};  // for clocks read as rounded numbers and timer resolution

constexpr std::string_view kDouble[] = {"pipe/fp64", "tensor/fp64"};
constexpr std::string_view kSingle[] = {"tensor/tf32"};
constexpr std::string_view kHalf[] = {"tensor/fp16", "tensor/fp16_acc16", "tensor/bf16"};
constexpr std::string_view kByte[] = {"tensor/fp8", "tensor/fp8_acc16", "tensor/int8"};

/// The figures of the units that may serve a type; none for those that no data sheet gives.
std::span<const std::string_view> rates_for(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return kDouble;
    case DType::float32:
      return kSingle;
    case DType::float16:
    case DType::bfloat16:
      return kHalf;
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::int8:
    case DType::uint8:
    case DType::int4x2:
    case DType::uint4x2:
      return kByte;
    default:
      return {};
  }
}

// The types that can be multiplied are the inputs'; the fastest of them bounds all.
int fastest_operations(const ProblemInstance& problem, const Arch& arch) {
  int fastest = 0;
  for (const TensorSpec& input : problem.definition.inputs)
    fastest = std::max(fastest, peak_operations_per_clock(arch, input.dtype));
  return fastest;
}

/// @param fastest operations per clock per SM
Floor least_time(const Work& work, int fastest, const DeviceFacts& device) {
  const Bytes kept{std::min(work.bytes_written, static_cast<double>(device.l2_bytes))};
  const Bytes moved = Bytes(work.bytes) - kept;
  const Bandwidth bandwidth = device.peak_bandwidth();
  Floor floor;
  if (!bandwidth.none()) {
    floor = {.time = kAllowance * (moved / bandwidth),
             .reason = fmt::format("{:.4g} MB through a memory of {:.0f} GB/s at most", moved.value() / 1e6,
                                   bandwidth.per_nanosecond())};
  }
  const Operations computed{work.flops};
  const Throughput peak(1e-3 * fastest * device.sm_count * device.clock_mhz);
  if (peak.none()) return floor;
  const Nanoseconds computing = kAllowance * (computed / peak);
  if (computing > floor.time) {
    floor = {.time = computing,
             .reason = fmt::format("{:.4g} GFLOP at {:.0f} TFLOP/s at most", computed.value() / 1e9,
                                   peak.per_nanosecond() / 1e3),
             .computing = true};
  }
  return floor;
}

}  // namespace

// An architecture's rates are those of its fastest product: a product's own would bind the limit to a name.
int peak_operations_per_clock(const Arch& arch, DType dtype) {
  const DeviceEntry* entry = DeviceCatalog::shipped().architecture(arch);
  double most = 0;
  for (const std::string_view rate : rates_for(dtype)) {
    if (entry != nullptr) most = std::max(most, entry->value(rate).value_or(0));
  }
  return static_cast<int>(most);
}

Floor floor_of_work(const Work& work, DType dtype, const DeviceFacts& device) {
  return least_time(work, peak_operations_per_clock(device.arch, dtype), device);
}

Floor floor_of(const ProblemInstance& problem, const Workload& workload, const DeviceFacts& device) {
  const Result<Work> work = work_of(problem, workload, DrawnWork::least);
  if (!work) return {};
  return least_time(*work, fastest_operations(problem, device.arch), device);
}

}  // namespace ak
