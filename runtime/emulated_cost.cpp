// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated_cost.h"

#include <algorithm>

#include "runtime/candidate_plan.h"

namespace ak::runtime {
namespace {

// Boost clock, memory bandwidth and dense 16-bit tensor rate of the products that nominal_device takes, from
// NVIDIA's data sheets and white papers; the tensor rate as FLOPs of one multiprocessor in one cycle.
struct Rates {
  int number;
  double clock_ghz, memory_gbps, tensor_flops;
};
constexpr Rates kRates[] = {
    {75, 1.59, 320, 1024},  {80, 1.41, 2039, 2048},  {86, 1.70, 936, 1024},   {87, 1.30, 205, 1024},
    {89, 2.52, 864, 1024},  {90, 1.98, 4800, 4096},  {100, 1.97, 8000, 8192}, {103, 1.97, 8000, 8192},
    {110, 1.57, 273, 8192}, {120, 2.62, 1792, 2048}, {121, 2.42, 273, 2048},
};

// Launch of a kernel behind another one on the same stream takes about 2 us; a multiprocessor's share of a
// device-filling launch's 2 us would be nothing, so that a second launch costs something but not everything.
constexpr double kLaunchOverheadNs = 500;
constexpr double kIssueSlots = 4;            // warp schedulers of a multiprocessor
constexpr double kDependentIssueCycles = 4;  // an arithmetic result's latency since Volta
constexpr double kSpecialThreads = 16;    // a cycle (CUDA C++ Programming Guide, "Arithmetic Instructions")
constexpr double kMemoryLatencyNs = 600;  // global load that misses L2 (chosen between published figures)
constexpr double kRequestsInFlight = 4;   // of one warp: what the compiler overlaps (chosen, untested)
constexpr double kSectorBytes = 32;
constexpr std::uint64_t kReservedSharedBytes = 1024;  // of every block, by the driver

const Rates& rates_of(const Arch& target) {
  const Rates* found = &kRates[0];
  for (const Rates& entry : kRates) {
    if (entry.number <= target.number()) found = &entry;
  }
  return *found;
}

double resident_warps(const LaunchShape& shape, const Arch& target) {
  const std::uint64_t warps = (shape.threads + 31) / 32;
  std::uint64_t blocks = shape.blocks;
  if (const auto most = limits(target)) {
    const auto fit = [&](int capacity, std::uint64_t each) {
      return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(capacity) / each);
    };
    blocks = std::min({blocks, fit(most->max_blocks_per_sm, 1), fit(most->max_threads_per_sm, 32 * warps),
                       fit(most->shared_bytes_per_sm, shape.shared_bytes + kReservedSharedBytes)});
  }
  return static_cast<double>(std::max<std::uint64_t>(1, blocks * warps));
}

double issue_cycles(const ptx::CounterSummary& counts, double warps) {
  const double rate = std::min(kIssueSlots, warps / kDependentIssueCycles);
  return static_cast<double>(counts.warp_instructions) / rate;
}

double special_cycles(const ptx::CounterSummary& counts) {
  const auto index = static_cast<std::size_t>(ptx::InstructionClass::special_function);
  return index < counts.by_class.size() ? static_cast<double>(counts.by_class[index]) / kSpecialThreads : 0;
}

double tensor_cycles(const ptx::CounterSummary& counts, const Rates& rates) {
  std::uint64_t flops = 0;
  for (const auto& [type, count] : counts.tensor_flops) flops += count;
  return static_cast<double>(flops) / rates.tensor_flops;
}

double shared_cycles(const ptx::CounterSummary& counts) {
  return static_cast<double>(counts.shared.shared_wavefronts + counts.shared.atomic_conflicts +
                             counts.global.atomic_conflicts);
}

double memory_ns(const ptx::CounterSummary& counts, double warps, double share_gbps) {
  const auto sectors = static_cast<double>(counts.global.sectors + counts.local.sectors);
  const auto requests = static_cast<double>(counts.global.requests + counts.local.requests);
  if (sectors <= 0 || requests <= 0) return 0;
  const double bytes = sectors * kSectorBytes;
  const double in_flight = warps * kRequestsInFlight * bytes / requests;
  return bytes / std::min(share_gbps, in_flight / kMemoryLatencyNs);
}

}  // namespace

double emulated_cost_ns(const ptx::CounterSummary& counts, const LaunchShape& shape, const Arch& target) {
  const Rates& rates = rates_of(target);
  const double warps = resident_warps(shape, target);
  const double share_gbps = rates.memory_gbps / std::max(1, nominal_device(target).sm_count);
  const double cycles = std::max({issue_cycles(counts, warps), special_cycles(counts),
                                  tensor_cycles(counts, rates), shared_cycles(counts)});
  return kLaunchOverheadNs + std::max(cycles / rates.clock_ghz, memory_ns(counts, warps, share_gbps));
}

}  // namespace ak::runtime
