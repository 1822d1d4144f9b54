// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/counters.h"

#include <algorithm>
#include <array>
#include <utility>

#include "emulator/machine/findings.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_counts.h"

namespace ak::emulator {
namespace {

// CUDA C++ Programming Guide, "Device Memory Accesses" and "Shared Memory".
constexpr std::uint64_t kSectorBytes = 32;
constexpr std::uint64_t kBanks = 32, kBankBytes = 4;
constexpr std::uint64_t kWavefrontBytes = kBanks * kBankBytes;

constexpr std::array<std::string_view, kInstructionClasses> kClassNames = {
    "integer",       "fp16",         "fp32",          "fp64",         "special_function", "tensor",
    "convert",       "move",         "predicate",     "control",      "barrier",          "warp",
    "global_load",   "global_store", "shared_load",   "shared_store", "local_load",       "local_store",
    "constant_load", "generic_load", "generic_store", "atomic",       "async_copy",       "other"};

/// Wavefronts for the lanes of one part of a warp, which ask for at most one wavefront's bytes: the most
/// different words in any bank.
std::uint32_t wavefronts_of_part(const std::uint64_t* offsets, std::uint32_t mask, std::uint32_t bytes) {
  // Words by the line of 32 that they lie in, one bit per bank. Of a misaligned word there are two.
  std::array<std::uint64_t, 2 * kBanks> lines;
  std::array<std::uint32_t, 2 * kBanks> banks;
  std::size_t count = 0;
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t last = (offsets[lane] + bytes - 1) / kBankBytes;
    for (std::uint64_t word = offsets[lane] / kBankBytes; word <= last; ++word) {
      std::size_t found = count;
      while (found > 0 && lines[found - 1] != word / kBanks) --found;
      if (found == 0) {
        found = ++count;
        lines[found - 1] = word / kBanks;
        banks[found - 1] = 0;
      }
      banks[found - 1] |= 1u << word % kBanks;
    }
  });
  std::array<std::uint32_t, kBanks> in_bank{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t bank = 0; bank < kBanks; ++bank) in_bank[bank] += banks[i] >> bank & 1u;
  }
  return *std::max_element(in_bank.begin(), in_bank.end());
}

/// Local memory interleaves the lanes: the same 4-byte word of all 32 is one line of 128 bytes (CUDA C++
/// Programming Guide, "Local Memory").
std::uint32_t local_sectors_of(const std::uint64_t* offsets, std::uint32_t mask, std::uint32_t bytes) {
  std::array<std::uint64_t, kLanes> words{};
  std::uint32_t sectors = 0;
  for (std::uint64_t at = 0; at < bytes; at += kBankBytes) {
    for_each_lane(mask, [&](int lane) {
      const auto i = static_cast<std::size_t>(lane);
      words[i] = ((offsets[i] + at) / kBankBytes * kLanes + i) * kBankBytes;
    });
    sectors += sectors_of(words.data(), mask, static_cast<std::uint32_t>(kBankBytes));
  }
  return sectors;
}

std::uint32_t repeated_addresses(const std::uint64_t* addresses, std::uint32_t mask) {
  std::array<std::uint64_t, kLanes> sorted{};
  std::size_t count = 0;
  for_each_lane(mask, [&](int lane) { sorted[count++] = addresses[lane]; });
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(sorted.begin(), end);
  return static_cast<std::uint32_t>(end - std::unique(sorted.begin(), end));
}

void add(MemoryCount& to, const MemoryCount& from) {
  to.requests += from.requests;
  to.bytes += from.bytes;
  to.sectors += from.sectors;
  to.ideal_sectors += from.ideal_sectors;
  to.shared_wavefronts += from.shared_wavefronts;
  to.bank_conflicts += from.bank_conflicts;
  to.atomic_conflicts += from.atomic_conflicts;
}

/// Gives the counts of an op to the space it accessed. Where that is known only at run time, or is two spaces
/// (asynchronous copies), sectors tell of global memory and wavefronts of shared memory.
void add_memory(CounterSummary& summary, InstructionClass kind, MemoryCount count) {
  switch (kind) {
    case InstructionClass::local_load:
    case InstructionClass::local_store:
      return add(summary.local, count);
    case InstructionClass::constant_load:
      return;
    default:
      break;
  }
  MemoryCount shared;
  shared.shared_wavefronts = std::exchange(count.shared_wavefronts, 0);
  shared.bank_conflicts = std::exchange(count.bank_conflicts, 0);
  if (count.sectors == 0) {
    shared.requests = std::exchange(count.requests, 0);
    shared.bytes = std::exchange(count.bytes, 0);
    shared.atomic_conflicts = std::exchange(count.atomic_conflicts, 0);
  }
  add(summary.global, count);
  add(summary.shared, shared);
}

/// `value` of `all` executions, as of `some` of them.
std::uint64_t share(std::uint64_t value, std::uint64_t some, std::uint64_t all) {
  return static_cast<std::uint64_t>(static_cast<double>(value) * static_cast<double>(some) /
                                    static_cast<double>(all));
}

MemoryCount share(MemoryCount count, std::uint64_t some, std::uint64_t all) {
  for (std::uint64_t* each : {&count.requests, &count.bytes, &count.sectors, &count.ideal_sectors,
                              &count.shared_wavefronts, &count.bank_conflicts, &count.atomic_conflicts})
    *each = share(*each, some, all);
  return count;
}

/// Takes the rounds of loops that only wait out of the counts. Every op of such a loop is executed once in each
/// round; a branch out of it acts on lanes that leave, which count.
void leave_out_waiting(const Program& program, Counters& counters) {
  for (std::size_t i = 0; i < counters.rounds.size(); ++i) {
    const WaitingLoop& loop = program.waiting_loops[i];
    const std::uint64_t rounds = counters.rounds[i], lanes = counters.ops[loop.last].threads;
    if (rounds == 0) continue;
    for (Index op = loop.first; op <= loop.last; ++op) {
      OpCount& count = counters.ops[op];
      const std::uint64_t all = count.warps, left = all - std::min(rounds, all);
      count.warps = left;
      if (op == loop.last || program.code[op].guard == kTrue) count.threads -= std::min(lanes, count.threads);
      if (op < counters.memory.size() && all != 0)
        counters.memory[op] = share(counters.memory[op], left, all);
    }
  }
}

void add_op(CounterSummary& summary, const Program& program, const Counters& counters, std::size_t i) {
  const OpFacts& facts = program.facts[i];
  const OpCount& count = counters.ops[i];
  if (summary.by_class.empty()) summary.by_class.resize(kInstructionClasses);
  summary.warp_instructions += count.warps;
  summary.thread_instructions += count.threads;
  summary.by_class[static_cast<std::size_t>(facts.kind)] += count.threads;
  if (facts.flops != 0 && count.threads != 0) {
    auto& flops = facts.kind == InstructionClass::tensor ? summary.tensor_flops : summary.flops;
    flops[facts.flop_type] += facts.flops * count.threads;
  }
  if (facts.kind == InstructionClass::atomic) summary.atomics += count.threads;
  if (i < counters.memory.size()) add_memory(summary, facts.kind, counters.memory[i]);
}

Json to_json(const MemoryCount& count) {
  return {{"requests", count.requests},
          {"bytes", count.bytes},
          {"sectors", count.sectors},
          {"ideal_sectors", count.ideal_sectors},
          {"shared_wavefronts", count.shared_wavefronts},
          {"bank_conflicts", count.bank_conflicts},
          {"atomic_conflicts", count.atomic_conflicts}};
}

Json to_json(const std::map<Type, std::uint64_t>& flops) {
  Json json = Json::object();
  for (const auto& [type, count] : flops) json[std::string(to_string(type))] = count;
  return json;
}

bool is_shared(Space space) { return space == Space::shared || space == Space::shared_cluster; }

InstructionClass kind_of(const Warp& warp, const Op& op) {
  const Program& program = warp.launch->program;
  return program.facts[program.index_of(op)].kind;
}

/// @param request bytes, sectors, wavefronts and conflicts of one warp-wide request; the rest follows.
void add_request(Warp& warp, const Op& op, Space space, MemoryCount request) {
  if (is_shared(space)) {
    const std::uint64_t least = (request.bytes + kWavefrontBytes - 1) / kWavefrontBytes;
    request.bank_conflicts = std::max(request.shared_wavefronts, least) - least;
  }
  if (space == Space::global || space == Space::local)
    request.ideal_sectors = (request.bytes + kSectorBytes - 1) / kSectorBytes;
  request.requests = 1;
  // The source of an asynchronous copy has been counted.
  if (is_shared(space) && kind_of(warp, op) == InstructionClass::async_copy)
    request.requests = request.bytes = request.atomic_conflicts = 0;
  add(warp.launch->counters.memory[warp.launch->program.index_of(op)], request);
}

}  // namespace

std::string_view to_string(InstructionClass which) { return kClassNames[static_cast<std::size_t>(which)]; }

std::uint32_t sectors_of(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes) {
  if (bytes == 0) return 0;
  std::array<std::uint64_t, kLanes> firsts{};
  std::size_t count = 0;
  for_each_lane(mask, [&](int lane) { firsts[count++] = addresses[lane]; });
  std::sort(firsts.begin(), firsts.begin() + static_cast<std::ptrdiff_t>(count));
  std::uint64_t sectors = 0, next = 0;  // sectors below `next` are counted
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t first = std::max(firsts[i] / kSectorBytes, next);
    const std::uint64_t end = (firsts[i] + bytes - 1) / kSectorBytes + 1;
    if (end <= first) continue;
    sectors += end - first;
    next = end;
  }
  return static_cast<std::uint32_t>(sectors);
}

std::uint32_t wavefronts_of(const std::uint64_t* offsets, std::uint32_t mask, std::uint32_t bytes) {
  if (bytes == 0) return 0;
  AK_ASSERT(bytes <= kWavefrontBytes, "one lane asks for no more than a wavefront");
  // As many lanes as could fill one wavefront go together.
  const auto together = static_cast<int>(std::min<std::uint64_t>(kWavefrontBytes / bytes, kLanes));
  const std::uint32_t part = together == kLanes ? kAllLanes : (1u << together) - 1;
  std::uint32_t wavefronts = 0;
  for (int lane = 0; lane < kLanes; lane += together)
    wavefronts += wavefronts_of_part(offsets, mask & (part << lane), bytes);
  return wavefronts;
}

void add_access(Warp& warp, const Op& op, Space space, const std::uint64_t* addresses, std::uint32_t mask,
                std::uint32_t bytes) {
  MemoryCount request{.bytes = static_cast<std::uint64_t>(std::popcount(mask)) * bytes};
  if (is_shared(space)) request.shared_wavefronts = wavefronts_of(addresses, mask, bytes);
  if (space == Space::global) request.sectors = sectors_of(addresses, mask, bytes);
  if (space == Space::local) request.sectors = local_sectors_of(addresses, mask, bytes);
  if (kind_of(warp, op) == InstructionClass::atomic)
    request.atomic_conflicts = repeated_addresses(addresses, mask);
  add_request(warp, op, space, request);
}

void add_run(Warp& warp, const Op& op, Space space, const Run& run) {
  MemoryCount request{.bytes = std::uint64_t{kLanes} * run.lane_bytes};
  // Lanes that go together have a word of each bank, or all the same one.
  if (is_shared(space))
    request.shared_wavefronts = std::max<std::uint64_t>(1, request.bytes / kWavefrontBytes);
  if (space == Space::global)
    request.sectors = (run.address + run.bytes() - 1) / kSectorBytes - run.address / kSectorBytes + 1;
  if (space == Space::local)
    request.sectors = std::max<std::uint64_t>(kLanes * kBankBytes, request.bytes) / kSectorBytes;
  if (run.uniform && kind_of(warp, op) == InstructionClass::atomic) request.atomic_conflicts = kLanes - 1;
  add_request(warp, op, space, request);
}

void CopyTraffic::global(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return;
  count_.bytes += bytes;
  count_.sectors += (address + bytes - 1) / kSectorBytes - address / kSectorBytes + 1;
}

void CopyTraffic::shared(std::uint64_t bytes, std::uint64_t times) {
  count_.shared_wavefronts += times * ((bytes + kWavefrontBytes - 1) / kWavefrontBytes);
  shared_bytes_ += times * bytes;
}

void CopyTraffic::count(Warp& warp, const Op& op) {
  count_.requests = 1;
  count_.ideal_sectors = (count_.bytes + kSectorBytes - 1) / kSectorBytes;
  if (count_.sectors == 0) count_.bytes = shared_bytes_;
  add(warp.launch->counters.memory[warp.launch->program.index_of(op)], count_);
}

CounterSummary summarize(const Program& program, const Counters& executed) {
  Counters counters = executed;
  leave_out_waiting(program, counters);
  CounterSummary summary;
  summary.by_class.resize(kInstructionClasses);
  for (std::size_t i = 0; i < counters.ops.size(); ++i) add_op(summary, program, counters, i);
  summary.divergent_branches = counters.divergent_branches;
  return summary;
}

std::vector<LineCounters> summarize_lines(const Program& program, const Counters& executed,
                                          const std::string& own_file) {
  Counters counters = executed;
  leave_out_waiting(program, counters);
  std::map<std::pair<std::string, int>, CounterSummary> lines;
  for (std::size_t i = 0; i < counters.ops.size(); ++i) {
    const Place place = place_of(program, static_cast<Index>(i), own_file);
    if (place.line == 0) continue;
    CounterSummary& line = lines[{place.file, place.line}];
    add_op(line, program, counters, i);
    if (i < counters.divergent.size()) line.divergent_branches += counters.divergent[i];
  }
  std::vector<LineCounters> sorted;
  for (auto& [place, counts] : lines) {
    if (counts.warp_instructions != 0) sorted.push_back({place.first, place.second, std::move(counts)});
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const LineCounters& a, const LineCounters& b) {
    return a.counts.thread_instructions > b.counts.thread_instructions;
  });
  return sorted;
}

Json to_json(const CounterSummary& summary) {
  Json classes = Json::object();
  for (std::size_t i = 0; i < summary.by_class.size(); ++i) {
    if (summary.by_class[i] != 0)
      classes[std::string(to_string(static_cast<InstructionClass>(i)))] = summary.by_class[i];
  }
  return {{"warp_instructions", summary.warp_instructions},
          {"thread_instructions", summary.thread_instructions},
          {"by_class", std::move(classes)},
          {"flops", to_json(summary.flops)},
          {"tensor_flops", to_json(summary.tensor_flops)},
          {"global", to_json(summary.global)},
          {"shared", to_json(summary.shared)},
          {"local", to_json(summary.local)},
          {"divergent_branches", summary.divergent_branches},
          {"atomics", summary.atomics}};
}

}  // namespace ak::emulator
