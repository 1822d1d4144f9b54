// SPDX-License-Identifier: Apache-2.0
#include "core/floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ak {
namespace {

constexpr double kAllowance = 0.98;  // for clocks read as rounded numbers and timer resolution

struct Rates {
  int first_arch, last_arch;
  int float64, tf32, half, byte;  ///< operations a clock and SM; half: 16-bit types, byte: fp8 and int8
};

// Peak rates of NVIDIA's data sheets over SMs and boost clock, rounded up to a power of two: A100 312 TFLOP/s
// in 16 bits of 108 SMs at 1.41 GHz; A40 150 of 84 at 1.74; L40S 362 of 142 at 2.52; H100 SXM 989 of 132
// at 1.83; B200 2250 of 148 at 1.97 (sm_103 and sm_110 alike); RTX 5090 419 of 170 at 2.41. float64 of sm_80,
// 90, 100 is the matrix units'.
constexpr std::array<Rates, 6> kRates{{
    {80, 80, 128, 1024, 2048, 4096},
    {86, 88, 4, 512, 1024, 2048},
    {89, 89, 4, 512, 1024, 2048},
    {90, 90, 256, 2048, 4096, 8192},
    {100, 119, 128, 4096, 8192, 16384},
    {120, 129, 4, 512, 1024, 2048},
}};

int rate_of(const Rates& rates, DType dtype) {
  switch (dtype) {
    case DType::float64:
      return rates.float64;
    case DType::float32:
      return rates.tf32;
    case DType::float16:
    case DType::bfloat16:
      return rates.half;
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::int8:
      return rates.byte;
    default:
      return 0;  // no table of data sheets gives them
  }
}

double value_of(const Expression& formula, const Environment& environment) {
  const auto value = formula.evaluate_integer(environment);
  return value ? static_cast<double>(*value) : 0;
}

// The types that can be multiplied are the inputs'; the fastest of them bounds all.
int fastest_operations(const ProblemInstance& problem, const Arch& arch) {
  int fastest = 0;
  for (const TensorSpec& input : problem.definition.inputs)
    fastest = std::max(fastest, peak_operations_per_clock(arch, input.dtype));
  return fastest;
}

}  // namespace

int peak_operations_per_clock(const Arch& arch, DType dtype) {
  const auto found = std::ranges::find_if(kRates, [&](const Rates& rates) {
    return arch.number() >= rates.first_arch && arch.number() <= rates.last_arch;
  });
  return found == kRates.end() ? 0 : rate_of(*found, dtype);
}

Floor floor_of(const ProblemInstance& problem, const Workload& workload, const DeviceFacts& device) {
  const Environment environment = problem.environment(workload.axes);
  const double written = value_of(problem.bytes_written, environment);
  const double bytes = value_of(problem.bytes_read, environment) +
                       std::max(0.0, written - static_cast<double>(device.l2_bytes));
  const double gbps = device.peak_bandwidth_gbps();  // bytes a nanosecond
  Floor floor;
  if (gbps > 0) {
    floor = {.time_ns = kAllowance * bytes / gbps,
             .reason = fmt::format("{:.4g} MB through a memory of {:.0f} GB/s at most", bytes / 1e6, gbps)};
  }
  const double operations = value_of(problem.flops, environment);
  const double per_ns = 1e-3 * fastest_operations(problem, device.arch) * device.sm_count * device.clock_mhz;
  if (per_ns > 0 && kAllowance * operations / per_ns > floor.time_ns) {
    floor = {.time_ns = kAllowance * operations / per_ns,
             .reason = fmt::format("{:.4g} GFLOP at {:.0f} TFLOP/s at most", operations / 1e9, per_ns / 1e3)};
  }
  return floor;
}

}  // namespace ak
