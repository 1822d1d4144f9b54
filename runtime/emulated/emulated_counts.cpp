// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated/emulated_counts.h"

namespace ak::runtime {
namespace {

void add(Counts& counts, const std::string& name, std::uint64_t value) {
  if (value != 0) counts[name] += value;
}

void add_memory(Counts& counts, const std::string& space, const emulator::MemoryCount& memory) {
  add(counts, space + "/requests", memory.requests);
  add(counts, space + "/bytes", memory.bytes);
  add(counts, space + "/sectors", memory.sectors);
  add(counts, space + "/least_sectors", memory.ideal_sectors);
  add(counts, space + "/wavefronts", memory.shared_wavefronts);
  add(counts, space + "/bank_conflicts", memory.bank_conflicts);
  add(counts, "atomic/conflicts", memory.atomic_conflicts);
}

}  // namespace

void add_counts(Counts& counts, const emulator::CounterSummary& summary) {
  add(counts, "inst/warp", summary.warp_instructions);
  add(counts, "inst/thread", summary.thread_instructions);
  for (std::size_t i = 0; i < summary.by_class.size(); ++i) {
    const auto kind = static_cast<emulator::InstructionClass>(i);
    add(counts, "inst/thread/" + std::string(emulator::to_string(kind)), summary.by_class[i]);
  }
  for (const auto& [type, flops] : summary.flops) add(counts, "flop/" + std::string(to_string(type)), flops);
  for (const auto& [type, flops] : summary.tensor_flops)
    add(counts, "flop/tensor/" + std::string(to_string(type)), flops);
  add_memory(counts, "global", summary.global);
  add_memory(counts, "shared", summary.shared);
  add_memory(counts, "local", summary.local);
  add(counts, "atomic/operations", summary.atomics);
  add(counts, "branch/divergent", summary.divergent_branches);
}

}  // namespace ak::runtime
