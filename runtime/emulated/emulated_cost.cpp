// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated/emulated_cost.h"

#include <algorithm>

#include "core/device/device_catalog.h"

namespace ak::runtime {
namespace {

/// Of the product that stands for the target; the tensor rate as FLOPs of one multiprocessor in one cycle,
/// of 16-bit types.
struct Rates {
  double sm_count, clock_ghz, memory_gbps, tensor_flops;
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

// The architecture's rate where the product's is not known: what stands for its work is an estimate anyway.
Rates rates_of(const Arch& target) {
  const DeviceCatalog& catalog = DeviceCatalog::shipped();
  const DeviceEntry* product = catalog.nominal(target);
  if (product == nullptr) product = catalog.nominal(catalog.entries().front().arch);
  const DeviceEntry* common = catalog.architecture(product->arch);
  const auto property = [&](std::string_view name) {
    return product->value(name).value_or(common->value(name).value_or(1));
  };
  return {.sm_count = property("sm_count"),
          .clock_ghz = property("boost_clock_mhz") / 1e3,
          .memory_gbps = property("memory_bandwidth_gbps"),
          .tensor_flops = property("tensor/fp16")};
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

double issue_cycles(const emulator::CounterSummary& counts, double warps) {
  const double rate = std::min(kIssueSlots, warps / kDependentIssueCycles);
  return static_cast<double>(counts.warp_instructions) / rate;
}

double special_cycles(const emulator::CounterSummary& counts) {
  const auto index = static_cast<std::size_t>(emulator::InstructionClass::special_function);
  return index < counts.by_class.size() ? static_cast<double>(counts.by_class[index]) / kSpecialThreads : 0;
}

double tensor_cycles(const emulator::CounterSummary& counts, const Rates& rates) {
  std::uint64_t flops = 0;
  for (const auto& [type, count] : counts.tensor_flops) flops += count;
  return static_cast<double>(flops) / rates.tensor_flops;
}

double shared_cycles(const emulator::CounterSummary& counts) {
  return static_cast<double>(counts.shared.shared_wavefronts + counts.shared.atomic_conflicts +
                             counts.global.atomic_conflicts);
}

double memory_ns(const emulator::CounterSummary& counts, double warps, double share_gbps) {
  const auto sectors = static_cast<double>(counts.global.sectors + counts.local.sectors);
  const auto requests = static_cast<double>(counts.global.requests + counts.local.requests);
  if (sectors <= 0 || requests <= 0) return 0;
  const double bytes = sectors * kSectorBytes;
  const double in_flight = warps * kRequestsInFlight * bytes / requests;
  return bytes / std::min(share_gbps, in_flight / kMemoryLatencyNs);
}

}  // namespace

double emulated_cost_ns(const emulator::CounterSummary& counts, const LaunchShape& shape,
                        const Arch& target) {
  const Rates rates = rates_of(target);
  const double warps = resident_warps(shape, target);
  const double share_gbps = rates.memory_gbps / rates.sm_count;
  const double cycles = std::max({issue_cycles(counts, warps), special_cycles(counts),
                                  tensor_cycles(counts, rates), shared_cycles(counts)});
  return kLaunchOverheadNs + std::max(cycles / rates.clock_ghz, memory_ns(counts, warps, share_gbps));
}

}  // namespace ak::runtime
