// SPDX-License-Identifier: Apache-2.0
#include "profiler/analytic_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/dtype.h"
#include "core/floor.h"

namespace ak::profiler {
namespace {

// Of products by compute capability, for devices that report no clock or no memory: boost clock and memory
// bandwidth of NVIDIA's data sheets; float32 lanes of an SM (CUDA C++ Programming Guide, "Arithmetic
// Instructions").
struct Nominal {
  int number;
  double clock_ghz, dram_gbps, fp32_lanes;
};
constexpr std::array<Nominal, 11> kNominal{{{75, 1.59, 320, 64},
                                            {80, 1.41, 2039, 64},
                                            {86, 1.70, 936, 128},
                                            {87, 1.30, 205, 128},
                                            {89, 2.52, 864, 128},
                                            {90, 1.98, 4800, 128},
                                            {100, 1.97, 8000, 128},
                                            {103, 1.97, 8000, 128},
                                            {110, 1.57, 273, 128},
                                            {120, 2.62, 1792, 128},
                                            {121, 2.42, 273, 128}}};

constexpr double kDramShare = 0.92;      // of the data sheet's bandwidth that the best copies reach (H200)
constexpr double kL2BytesPerClock = 32;  // of an SM: half of the 64 its port takes, as microbenchmarks find
constexpr double kFirstLaunchNs = 2500, kNextLaunchNs = 1200;  // between events, of kernels that do nothing
constexpr double kMemoryLatencyNs = 650;  // load that misses L2, H100 and H200 under load
constexpr double kBytesInFlight = 64;     // of one thread: four 16-byte loads, what compilers overlap
constexpr double kIssueSlots = 4, kDependentIssueCycles = 4;
constexpr double kSpecialLanes = 16;
constexpr double kSectorBytes = 32;
// mma.sync reaches about 62 % of what warp-group instructions do on Hopper, all of it elsewhere.
constexpr double kWarpMatrixShareOnHopper = 0.62;

const Nominal& nominal_of(const Arch& arch) {
  const Nominal* found = kNominal.data();
  for (const Nominal& entry : kNominal) {
    if (entry.number <= arch.number()) found = &entry;
  }
  return *found;
}

double busiest_over_mean(const LaunchFacts& launch, double sm_count) {
  return std::ceil(launch.blocks / sm_count) * sm_count / launch.blocks;
}

double dram_bytes(const CallFacts& facts, const DeviceRates& rates) {
  return facts.work.bytes_read + std::max(0.0, facts.work.bytes_written - 0.5 * rates.l2_bytes);
}

double tensor_flops_per_ns(const CallFacts& facts, const DeviceFacts& device, const DeviceRates& rates) {
  const auto dtype = parse_dtype(facts.dtype);
  const int peak = dtype ? peak_operations_per_clock(device.arch, *dtype) : 0;
  const bool slower = facts.matrix_unit == MatrixUnit::warp && device.arch.number() == 90;
  // float64 and unknown types: the rate of 16-bit types stands in
  return (peak > 0 ? peak : 2048) * (slower ? kWarpMatrixShareOnHopper : 1) * rates.sm_count *
         rates.clock_ghz;
}

/// What resident threads keep on the way from memory, and how long the bytes take at that.
double latency_ns(const CallFacts& facts, const DeviceRates& rates) {
  const LaunchFacts& main = facts.main_launch();
  const double threads = main.blocks * main.threads;
  const double resident = std::min(threads, rates.sm_count * main.built.blocks_per_sm * main.threads);
  const double bytes = facts.work.bytes_read + facts.work.bytes_written;
  const double each = std::min(kBytesInFlight, std::max(1.0, bytes / threads));
  const double trips = std::max(1.0, bytes / (resident * each));
  return trips * kMemoryLatencyNs;
}

double special_threads(const CallFacts& facts) { return facts.count("inst/thread/special_function"); }

double issue_cycles(const CallFacts& facts) {
  const LaunchFacts& main = facts.main_launch();
  const double warps = main.built.blocks_per_sm * main.threads / 32;
  return facts.count("inst/warp") / std::min(kIssueSlots, std::max(1.0, warps) / kDependentIssueCycles);
}

double fp32_operations(const CallFacts& facts) {
  if (facts.knowledge == Knowledge::count) return 2 * facts.count("inst/thread/fp32");
  return facts.matrix_unit == MatrixUnit::none ? facts.work.flops : 0;
}

double tensor_operations(const CallFacts& facts) {
  if (facts.knowledge != Knowledge::count)
    return facts.matrix_unit == MatrixUnit::none ? 0 : facts.work.flops;
  double flops = 0;
  for (const auto& [name, value] : facts.counts)
    flops += name.starts_with("flop/tensor/") ? static_cast<double>(value) : 0;
  return flops;
}

double l2_bytes(const CallFacts& facts) {
  const double sectors = facts.count("global/sectors") + facts.count("local/sectors");
  return std::max(kSectorBytes * sectors, facts.work.bytes_read + facts.work.bytes_written);
}

}  // namespace

DeviceRates device_rates(const DeviceFacts& device) {
  const Nominal& nominal = nominal_of(device.arch);
  const double gbps = device.peak_bandwidth_gbps();
  DeviceRates rates;
  rates.sm_count = std::max(1, device.sm_count);
  rates.clock_ghz = device.clock_mhz > 0 ? device.clock_mhz * 1e-3 : nominal.clock_ghz;
  rates.dram_gbps = kDramShare * (gbps > 0 ? gbps : nominal.dram_gbps);
  rates.l2_gbps = kL2BytesPerClock * rates.sm_count * rates.clock_ghz;
  rates.fp32_lanes = nominal.fp32_lanes;
  rates.l2_bytes = static_cast<double>(device.l2_bytes);
  return rates;
}

AnalyticTime analytic_time(const CallFacts& facts, const DeviceFacts& device) {
  const DeviceRates rates = device_rates(device);
  AnalyticTime time;
  time.imbalance = busiest_over_mean(facts.main_launch(), rates.sm_count);
  // of all SMs working evenly, cycles of one SM to nanoseconds
  const double per_cycle = time.imbalance / (rates.sm_count * rates.clock_ghz);
  const double wavefronts = facts.count("shared/wavefronts") + facts.count("atomic/conflicts");
  time.terms = {
      {"dram", dram_bytes(facts, rates) / rates.dram_gbps},
      {"l2", l2_bytes(facts) / rates.l2_gbps},
      {"latency", latency_ns(facts, rates)},
      {"shared", wavefronts * per_cycle},
      {"issue", issue_cycles(facts) * per_cycle},
      {"fp32", fp32_operations(facts) / (2 * rates.fp32_lanes) * per_cycle},
      {"special", special_threads(facts) / kSpecialLanes * per_cycle},
      {"tensor", tensor_operations(facts) / tensor_flops_per_ns(facts, device, rates) * time.imbalance},
  };
  time.launch_ns = kFirstLaunchNs + kNextLaunchNs * static_cast<double>(facts.launches.size() - 1);
  double fourth_powers = 0;
  for (const TimeTerm& term : time.terms) fourth_powers += std::pow(term.time_ns, 4);
  time.total_ns = time.launch_ns + std::pow(fourth_powers, 0.25);
  return time;
}

std::string_view AnalyticTime::limiter() const {
  const auto largest = std::ranges::max_element(terms, {}, &TimeTerm::time_ns);
  return largest == terms.end() || largest->time_ns < launch_ns ? "launch" : largest->name;
}

}  // namespace ak::profiler
