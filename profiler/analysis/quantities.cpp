// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/quantities.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ak::profiler {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kSectorBytes = 32;
constexpr double kWarpThreads = 32;
constexpr std::string_view kStall = "stall/";

// Of the CPU device: a count that is missing is zero (docs/timing.md).
constexpr std::string_view kCounts[] = {
    "inst/thread/integer", "inst/thread/fp32", "inst/thread/fp64",      "inst/thread/special_function",
    "global/requests",     "global/sectors",   "shared/bank_conflicts", "shared/wavefronts",
    "local/sectors",       "branch/divergent", "atomic/operations",     "atomic/conflicts"};

constexpr Unit kUnits[] = {
    {"dram", "device memory", "dram/throughput"},   {"l2", "L2 cache", "l2/throughput"},
    {"l1", "L1 data banks", "l1/data_stage"},       {"shared", "shared memory", "shared/throughput"},
    {"atomic", "atomics in L2", "l2/atomic_unit"},  {"tensor", "matrix units", "pipe/tensor"},
    {"fp32", "float32 arithmetic", "pipe/fma"},     {"integer", "integer and logic", "pipe/alu"},
    {"fp16", "16-bit arithmetic", "pipe/fp16"},     {"fp64", "float64 arithmetic", "pipe/fp64"},
    {"special", "special functions", "pipe/xu"},    {"load_store", "load and store unit", "pipe/lsu"},
    {"issue", "instruction issue", "issue/active"},
};

// What one SM does in a clock, to turn the CPU device's counts into shares. Threads of integer, float64 and
// special functions: CUDA C++ Programming Guide, "Arithmetic Instructions", of sm_90.
struct CountedRate {
  std::string_view share, count;
  double a_clock;
};
constexpr CountedRate kCountedRates[] = {
    {"issue/active", "inst/warp", 4},
    {"shared/throughput", "shared/wavefronts", 1},
    {"l2/atomic_unit", "atomic/conflicts", 1},
    {"pipe/fma", "inst/thread/fp32", 128},
    {"pipe/alu", "inst/thread/integer", 64},
    {"pipe/fp64", "inst/thread/fp64", 64},
    {"pipe/xu", "inst/thread/special_function", 16},
};
// Device memory's share of one SM where the clock or the bandwidth is not known; data sheets of A100 to B200
// give 13 to 27 bytes.
constexpr double kMemoryBytesAClock = 16;

double memory_bytes_a_clock(const DeviceFacts& device) {
  const double bytes_a_ns = device.peak_bandwidth().per_nanosecond();
  const double clocks_a_ns = 1e-3 * device.clock_mhz * device.sm_count;
  return bytes_a_ns > 0 && clocks_a_ns > 0 ? bytes_a_ns / clocks_a_ns : kMemoryBytesAClock;
}

double product(const std::array<std::int64_t, 3>& sizes) {
  return static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) * static_cast<double>(sizes[2]);
}

}  // namespace

std::optional<DType> matrix_type_of(const ProblemInstance& problem) {
  const std::string& kind = problem.definition.op_type;
  if (kind.find("gemm") == std::string::npos && kind.find("attention") == std::string::npos) return {};
  if (problem.definition.inputs.empty()) return {};
  const DType type = problem.definition.inputs.front().dtype;
  if (type != DType::float32) return type;
  const auto precision = problem.params.find("precision");
  const bool tf32 = precision != problem.params.end() && precision->second == Value(std::string("tf32"));
  return tf32 ? std::optional(type) : std::nullopt;
}

std::span<const Unit> units() { return kUnits; }

Quantities::Quantities(const AnalysisInput& input) {
  for (const auto& [name, value] : input.launch.metrics) add(name, value);
  if (input.method == "emulator") {
    for (const std::string_view count : kCounts) values_.try_emplace(std::string(count), 0.0);
  }
  add_launch(input);
  add_memory();
  add_instructions();
  add_stalls();
  if (input.method == "emulator") add_counted_shares(input);
  add("busiest/share", busiest());
}

void Quantities::add(const std::string& name, double value) {
  if (std::isfinite(value)) values_[name] = value;
}

double Quantities::operator[](std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? kNothing : found->second;
}

double Quantities::or_zero(std::string_view name) const { return has(name) ? (*this)[name] : 0; }

bool Quantities::has(std::string_view name) const { return values_.contains(name); }

void Quantities::add_launch(const AnalysisInput& input) {
  const double blocks = product(input.grid), threads = product(input.block);
  add("launch/blocks", blocks);
  add("launch/threads", threads);
  if (input.device.sm_count > 0) add("device/sms", input.device.sm_count);
  if (input.occupancy && input.occupancy->blocks_per_sm > 0) {
    add("occupancy/theoretical", 100 * input.occupancy->ratio);
    add("occupancy/blocks_per_sm", input.occupancy->blocks_per_sm);
    add("launch/waves", blocks / (input.occupancy->blocks_per_sm * (*this)["device/sms"]));
    add("launch/full_waves", std::ceil((*this)["launch/waves"]));
    for (const std::string_view limiter : {"registers", "shared memory", "block size", "blocks"}) {
      add("occupancy/by " + std::string(limiter), input.occupancy->limiter == limiter ? 1 : 0);
    }
  }
  if (input.kernel.registers > 0) {
    add("kernel/registers", input.kernel.registers);
    add("kernel/spill_bytes", input.kernel.spill_load_bytes + input.kernel.spill_store_bytes);
    add("kernel/stack_bytes", input.kernel.stack_bytes);
  }
  if (input.launches == 1) {
    if (input.work.bytes > 0) add("work/bytes", input.work.bytes);
    if (input.work.flops > 0) add("work/flops", input.work.flops);
    if (input.floor.known()) add("work/floor_ns", input.floor.time.value());
  }
  if (!has("time/duration") && input.launches == 1 && input.time_ns) add("time/duration", *input.time_ns);
  add("work/matrix_product", input.matrix_type ? 1 : 0);
  add("work/float64", input.float64 ? 1 : 0);
  if (input.matrix_type && has("work/flops")) {
    const double per_ns = 1e-3 * peak_operations_per_clock(input.device.arch, *input.matrix_type) *
                          input.device.sm_count * input.device.clock_mhz;
    if (per_ns > 0) add("work/tensor_ns", (*this)["work/flops"] / per_ns);
  }
}

void Quantities::add_memory() {
  const Quantities& q = *this;
  const double sectors = q["global/sectors"], requests = q["global/requests"];
  const double bytes = q["global/bytes"];
  const double least =
      has("global/least_sectors") ? q["global/least_sectors"] : bytes / kSectorBytes;  // CUPTI knows no least
  add("global/sector_use", std::min(100 * least / sectors, 100.0));
  add("global/sectors_per_request", sectors / requests);
  add("global/least_sectors_per_request", least / requests);
  const double lanes = has("inst/thread/global_load") || has("inst/thread/global_store")
                           ? or_zero("inst/thread/global_load") + or_zero("inst/thread/global_store")
                           : requests * kWarpThreads;
  add("global/bytes_per_thread", bytes / lanes);
  for (const std::string kind : {"load", "store"}) {
    const std::string prefix = "global/" + kind + "_";
    const double touched = q[prefix + "sectors"];
    add(prefix + "sector_use", std::min(100 * q[prefix + "bytes"] / (kSectorBytes * touched), 100.0));
    add(prefix + "sectors_per_request", touched / q[prefix + "requests"]);
  }
  const bool apart = has("global/load_sector_use");
  add("load/use", q[apart ? "global/load_sector_use" : "global/sector_use"]);
  add("load/sectors", q[apart ? "global/load_sectors_per_request" : "global/sectors_per_request"]);
  add("shared/conflict_share", 100 * q["shared/bank_conflicts"] / q["shared/wavefronts"]);
  add("shared/wavefronts_per_request", q["shared/wavefronts"] / q["shared/requests"]);
  const double local = q["local/sectors"];
  add("local/share", 100 * local / (local + or_zero("global/sectors")));
  add("dram/bytes", q["dram/bytes_read"] + q["dram/bytes_written"]);
  if (!has("l2/throughput")) add("l2/throughput", estimated_l2());
  add("dram/excess", q["dram/bytes"] / q["work/bytes"]);
  add("dram/gbps", q["dram/bytes"] / q["time/duration"]);
  add("atomic/requests",
      q["atomic/global_requests"] + q["atomic/global_reductions"] + or_zero("atomic/shared_requests"));
  add("atomic/any", has("atomic/operations") ? q["atomic/operations"] : q["atomic/requests"]);
  add("atomic/conflict_share", 100 * q["atomic/conflicts"] / q["atomic/operations"]);
}

// From a metric that takes one pass. L2's busiest part is used more than the lookup of sectors:
// measured on an H200 (tests/profiler/recorded), 1.3 to 1.5 times where they are found, 2.1 to 2.5
// times where they stream.
double Quantities::estimated_l2() const {
  constexpr double kFound = 1.5, kStreamed = 2.2;
  if (!has("l2/sector_rate")) return kNothing;
  return std::min(100.0, (streams() ? kStreamed : kFound) * (*this)["l2/sector_rate"]);
}

// L2 counts a sector it fetches twice (the fill and the request), so that a stream has 1.5 to 2 times the
// bytes of device memory there.
bool Quantities::streams() const { return kSectorBytes * (*this)["l2/sectors"] < 2 * (*this)["dram/bytes"]; }

void Quantities::add_instructions() {
  const Quantities& q = *this;
  if (!has("inst/active_threads")) add("inst/active_threads", q["inst/thread"] / q["inst/warp"]);
  add("inst/integer_share", 100 * (q["inst/thread/integer"] + or_zero("inst/thread/bit")) / q["inst/thread"]);
  double narrow = 0, all = 0;
  for (const int bits : {8, 16, 32, 64, 128}) {
    const double count = q["inst/memory_" + std::to_string(bits) + "b"];
    narrow += bits <= 16 ? count : 0;
    all += count;
  }
  add("inst/memory", all);
  add("inst/narrow_share", 100 * narrow / all);
  add("inst/word_share", 100 * (narrow + q["inst/memory_32b"]) / all);
  add("global/instruction_share", 100 * q["global/requests"] / q["inst/warp"]);
  add("atomic/share", 100 * q["atomic/requests"] / q["inst/memory"]);
  // Means over SMs against the one that worked longest: time in which others had nothing left.
  add("time/idle_share", 100 * (1 - q["time/active_cycles"] / q["time/active_cycles_max"]));
}

void Quantities::add_stalls() {
  double all = 0;
  for (const auto& [name, value] : values_) {
    if (name.starts_with(kStall)) all += value;
  }
  if (all <= 0) return;
  if (!has("stall/selected")) all += 1;  // an issued instruction counts itself
  add("stall/all", all);
  for (const auto& [name, value] : Values(values_)) {
    if (name.starts_with(kStall) && name != "stall/all")
      add("waiting/" + name.substr(kStall.size()), 100 * value / all);
  }
}

// The CPU device runs no clock: what its counts would take each unit at its peak, against the longest.
void Quantities::add_counted_shares(const AnalysisInput& input) {
  std::map<std::string, double> clocks;
  for (const CountedRate& rate : kCountedRates) {
    clocks[std::string(rate.share)] = (*this)[rate.count] / rate.a_clock;
  }
  clocks["dram/throughput"] = kSectorBytes * (or_zero("global/sectors") + or_zero("local/sectors")) /
                              memory_bytes_a_clock(input.device);
  double flops = 0;
  for (const auto& [name, value] : values_) flops += name.starts_with("flop/tensor/") ? value : 0;
  const int tensor_rate = peak_operations_per_clock(input.device.arch, DType::float16);
  if (tensor_rate > 0) clocks["pipe/tensor"] = flops / tensor_rate;
  double longest = 0;
  for (const auto& [name, value] : clocks)
    longest = std::isfinite(value) ? std::max(longest, value) : longest;
  if (longest <= 0) return;
  for (const auto& [name, value] : clocks) add(name, std::isfinite(value) ? 100 * value / longest : 0);
}

double Quantities::waiting(std::initializer_list<std::string_view> reasons) const {
  double sum = 0;
  for (const std::string_view reason : reasons) {
    const double value = (*this)[std::string(kStall) + std::string(reason)];
    if (std::isfinite(value)) sum += value;
  }
  return 100 * sum / (*this)["stall/all"];
}

double Quantities::busiest(std::initializer_list<std::string_view> but) const {
  double most = kNothing;
  for (const Unit& unit : kUnits) {
    if (std::ranges::find(but, unit.name) != but.end()) continue;
    most = std::fmax(most, (*this)[unit.metric]);  // fmax passes over NaN
  }
  return most;
}

const Unit* Quantities::busiest_unit() const {
  const Unit* busiest = nullptr;
  for (const Unit& unit : kUnits) {
    if (!has(unit.metric)) continue;
    if (busiest == nullptr || (*this)[unit.metric] > (*this)[busiest->metric]) busiest = &unit;
  }
  return busiest;
}

double Quantities::speedup(std::initializer_list<Less> less, std::initializer_list<std::string_view> reasons,
                           double gone) const {
  double remaining = kNothing;          // percent of the time
  double concerned = waiting(reasons);  // percent of the time that is for these units or reasons
  for (const Unit& unit : kUnits) {
    const auto* changed = std::ranges::find(less, unit.name, &Less::unit);
    const double share = (*this)[unit.metric];
    remaining = std::fmax(remaining, share * (changed == less.end() ? 1 : changed->factor));
    if (changed != less.end()) concerned = std::fmax(concerned, share);
  }
  if (reasons.size() > 0 && has("stall/all")) remaining = std::fmax(remaining, 100 - concerned * gone);
  return std::isfinite(remaining) ? std::max(1.0, 100 / std::max(1.0, remaining)) : 1;
}

}  // namespace ak::profiler
