// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/analytic_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/device/floor.h"
#include "core/plan/dtype.h"
#include "profiler/prediction/operand_traffic.h"

namespace ak::profiler {
namespace {

// Of products by compute capability, for devices that report no clock or no memory: boost clock
// and memory bandwidth of NVIDIA's data sheets; float32 lanes of an SM (CUDA C++ Programming
// Guide, "Arithmetic Instructions").
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

// Of parts of the hardware, from microbenchmarks and the fastest kernels on an H200 unless a comment says
// otherwise; none is of one algorithm.
constexpr double kDramShare = 0.92;  // of the data sheet's bandwidth that the best copies reach
constexpr double kMissBytesPerClock = 20, kHitBytesPerClock = 56;  // of an SM, from DRAM and from L2
constexpr double kFirstLaunchNs = 2500, kNextLaunchNs = 2500;      // the next with its ramp and its tail
constexpr double kMemoryLatencyNs = 600;                           // of a load that misses L2, as published
// Bytes of a thread on the way: registers beyond those of addresses and counters hold what was asked for.
constexpr double kOtherRegisters = 13, kRegistersNotKnown = 20, kMinInFlight = 8, kMaxInFlight = 32;
constexpr double kRingShare = 0.5;     // of the shared memory of a block that waits for data at a time
constexpr double kMinStageDepth = 16;  // terms of the sums that a block fetches at once, at least
// A wave of blocks: start, first bytes, and the drain; what waits for others; operands before the first
// product, and a tile of results after the last.
constexpr double kWaveNs = 1200, kBarriersNs = 300, kTileNs = 1500;
constexpr double kIssueSlots = 4, kDependentIssueCycles = 4;
// Instructions where nothing counted them: convert an element, and its part of the loads, stores and indices of a
// vector; what an operation of a formula takes (half a multiply-add, or an exponential), up to so many of an
// element: more are sums of products. What the fastest kernels of rows on an H200 leave room for.
constexpr double kLanes = 128, kElementInstructions = 6, kOperationInstructions = 1, kMaxOperations = 16;
constexpr double kSpecialLanes = 16;
constexpr double kSectorBytes = 32, kWavefrontBytes = 128;
// What kernels reach of the rate of lanes and matrix units: power, and operands' way into registers.
constexpr double kLaneShare = 0.55, kMatrixShare = 0.85;
// mma.sync on Hopper, of what warp-group instructions could do: the best kernels reach 0.38 of the peak.
constexpr double kWarpMatrixShareOnHopper = 0.36;
// Terms overlap as far as there is someone else to work: blocks where threads wait for each other, warps
// where they do not, and copies that no one waits for.
constexpr double kOverlapOfBlock = 0.5, kOverlapOfWarp = 0.25, kOverlapOfCopies = 0.6, kMaxOverlap = 3;

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

double min_bytes(const CallFacts& facts) { return facts.work.bytes_read + facts.work.bytes_written; }

double dram_bytes(const CallFacts& facts, const DeviceRates& rates) {
  return min_bytes(facts) + std::max(0.0, 2 * facts.workspace_bytes - rates.l2_bytes);
}

double tensor_flops_per_ns(const CallFacts& facts, const DeviceFacts& device, const DeviceRates& rates) {
  const auto dtype = parse_dtype(facts.dtype);
  const int peak = dtype ? peak_operations_per_clock(device.arch, *dtype) : 0;
  const bool slower = facts.matrix_unit == MatrixUnit::warp && device.arch.number() == 90;
  // float64 and unknown types: the rate of 16-bit types is used
  return (peak > 0 ? peak : 2048) * (slower ? kWarpMatrixShareOnHopper : kMatrixShare) * rates.sm_count *
         rates.clock_ghz;
}

/// Blocks that are on a busy SM at a time.
double resident_blocks(const LaunchFacts& launch, const DeviceRates& rates) {
  return std::min(launch.built.blocks_per_sm, std::ceil(launch.blocks / rates.sm_count));
}

/// Bytes that an SM has on the way from memory: in registers of its threads or in stages in shared memory.
double bytes_in_flight(const CallFacts& facts, const OperandTraffic& traffic, const DeviceRates& rates) {
  const LaunchFacts& main = facts.main_launch();
  const double registers = main.registers > 0 ? main.registers : kRegistersNotKnown;
  const double held = std::clamp(4 * (registers - kOtherRegisters), kMinInFlight, kMaxInFlight);
  const double needed = std::max(1.0, facts.work.bytes_read / (main.blocks * main.threads));
  double block = std::max(main.threads * std::min(held, needed), kRingShare * main.shared_bytes);
  if (traffic.reused)
    block = std::max(block, 2 * std::sqrt(traffic.tile_outputs) * kMinStageDepth * facts.element_bytes);
  return resident_blocks(main, rates) * block;
}

/// Little's law on the busiest SM.
double latency_ns(const CallFacts& facts, const OperandTraffic& traffic, const DeviceRates& rates,
                  double imbalance) {
  const double bytes = traffic.reused ? traffic.bytes : facts.work.bytes_read;
  return bytes * imbalance / rates.sm_count / bytes_in_flight(facts, traffic, rates) * kMemoryLatencyNs;
}

double waves_ns(const LaunchFacts& main, const OperandTraffic& traffic, const DeviceRates& rates) {
  const double waves = std::ceil(main.blocks / (rates.sm_count * main.built.blocks_per_sm));
  return waves * (kWaveNs + (main.shared_bytes > 0 ? kBarriersNs : 0) + (traffic.reused ? kTileNs : 0));
}

double special_threads(const CallFacts& facts) { return facts.count("inst/thread/special_function"); }

double issue_cycles(const CallFacts& facts) {
  const LaunchFacts& main = facts.main_launch();
  if (facts.knowledge != Knowledge::count) {
    const double elements = min_bytes(facts) / facts.element_bytes;
    const double operations =
        facts.matrix_unit == MatrixUnit::none ? std::min(facts.work.flops, kMaxOperations * elements) : 0;
    return (kElementInstructions * elements + kOperationInstructions * operations) / kLanes;
  }
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

double wavefronts(const CallFacts& facts, const OperandTraffic& traffic) {
  const double counted = facts.count("shared/wavefronts") + facts.count("atomic/conflicts");
  // operands of warp groups are no instruction's wavefronts
  const bool hidden = facts.knowledge != Knowledge::count || facts.matrix_unit == MatrixUnit::warp_group;
  return counted + (hidden ? traffic.shared_bytes / kWavefrontBytes : 0);
}

OperandTraffic counted_traffic(const CallFacts& facts) {
  OperandTraffic traffic = operand_traffic(facts);
  const double sectors = facts.count("global/sectors") + facts.count("local/sectors");
  traffic.bytes = std::max(traffic.bytes, kSectorBytes * sectors);
  return traffic;
}

/// Exponent of the norm that adds the terms: 1 where nothing overlaps.
double overlap(const CallFacts& facts) {
  const LaunchFacts& main = facts.main_launch();
  const double blocks = main.built.blocks_per_sm;  // that fit: how many there are must not matter, or more
                                                   // work could take less time
  const double others =
      main.shared_bytes > 0 ? kOverlapOfBlock * blocks : kOverlapOfWarp * blocks * main.threads / 32;
  const bool copies = facts.async_copies || facts.tensor_maps;
  return 1 + std::min(kMaxOverlap, others + (copies ? kOverlapOfCopies : 0));
}

}  // namespace

DeviceRates device_rates(const DeviceFacts& device) {
  const Nominal& nominal = nominal_of(device.arch);
  const double gbps = device.peak_bandwidth().per_nanosecond();
  DeviceRates rates;
  rates.sm_count = std::max(1, device.sm_count);
  rates.clock_ghz = device.clock_mhz > 0 ? device.clock_mhz * 1e-3 : nominal.clock_ghz;
  rates.dram_gbps = kDramShare * (gbps > 0 ? gbps : nominal.dram_gbps);
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
  const OperandTraffic traffic = counted_traffic(facts);
  const double least = min_bytes(facts);
  time.terms = {
      {"dram", dram_bytes(facts, rates) / rates.dram_gbps},
      {"l2", (least / kMissBytesPerClock + (traffic.bytes - least) / kHitBytesPerClock) * per_cycle},
      {"latency", latency_ns(facts, traffic, rates, time.imbalance)},
      {"shared", wavefronts(facts, traffic) * per_cycle},
      {"issue", issue_cycles(facts) * per_cycle},
      {"fp32", fp32_operations(facts) / (2 * kLaneShare * rates.fp32_lanes) * per_cycle},
      {"special", special_threads(facts) / kSpecialLanes * per_cycle},
      {"tensor", tensor_operations(facts) / tensor_flops_per_ns(facts, device, rates) * time.imbalance},
      {"waves", waves_ns(facts.main_launch(), traffic, rates)},
  };
  time.launch_ns = kFirstLaunchNs + kNextLaunchNs * static_cast<double>(facts.launches.size() - 1);
  const double exponent = overlap(facts);
  double powers = 0;
  for (const TimeTerm& term : time.terms) powers += std::pow(term.time_ns, exponent);
  time.total_ns = time.launch_ns + std::pow(powers, 1 / exponent);
  return time;
}

std::string_view AnalyticTime::limiter() const {
  const auto largest = std::ranges::max_element(terms, {}, &TimeTerm::time_ns);
  return largest == terms.end() || largest->time_ns < launch_ns ? "launch" : largest->name;
}

}  // namespace ak::profiler
