// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/text/json.h"
#include "emulator/lower/program.h"

namespace ak::emulator {

/// How often an op was executed. Kept always.
struct OpCount {
  std::uint64_t warps = 0;    ///< times a warp (or a diverged part of one) issued it
  std::uint64_t threads = 0;  ///< lanes it acted on, summed
};

/// What a memory op moved. Kept when Counters::memory_traffic is on.
struct MemoryCount {
  std::uint64_t requests = 0;           ///< warp-wide requests
  std::uint64_t bytes = 0;              ///< asked for by threads
  std::uint64_t sectors = 0;            ///< distinct 32-byte sectors touched, global and local
  std::uint64_t ideal_sectors = 0;      ///< ceil(bytes / 32) of every request, summed
  std::uint64_t shared_wavefronts = 0;  ///< passes over the 32 banks
  std::uint64_t bank_conflicts = 0;     ///< wavefronts beyond the minimum possible for the bytes asked for
  std::uint64_t atomic_conflicts = 0;   ///< lanes of a request beyond the first on the same address
};

/// Exact counts of one launch, parallel to Program::code.
struct Counters {
  bool memory_traffic = false;
  std::vector<OpCount> ops;
  std::vector<std::uint64_t> rounds;  ///< branches back of Program::waiting_loops
  std::vector<MemoryCount> memory;
  std::uint64_t divergent_branches = 0;  ///< branches whose lanes went two ways
  std::vector<std::uint64_t> divergent;  ///< the same per op; empty unless memory_traffic
};

/// Sums of a launch or of one source line.
struct CounterSummary {
  std::uint64_t warp_instructions = 0, thread_instructions = 0;
  std::vector<std::uint64_t> by_class;  ///< thread instructions, by InstructionClass
  std::map<Type, std::uint64_t> flops;  ///< by type, tensor operations apart
  std::map<Type, std::uint64_t> tensor_flops;
  MemoryCount global, shared, local;
  std::uint64_t divergent_branches = 0;
  std::uint64_t atomics = 0;
};

/// Rounds of loops that only wait are not work: of each pass through such a loop the last round counts, so
/// that sums do not depend on the order in which warps run.
[[nodiscard]] CounterSummary summarize(const Program& program, const Counters& counters);
struct LineCounters {
  std::string file;
  int line = 0;
  CounterSummary counts;
};
/// Per source line of the user's own file (findings.h, place_of), most thread instructions first.
[[nodiscard]] std::vector<LineCounters> summarize_lines(const Program& program, const Counters& counters,
                                                        const std::string& own_file = {});
[[nodiscard]] Json to_json(const CounterSummary& summary);

// Pure functions of one warp-wide request.

/// Distinct 32-byte sectors touched by `bytes` at each address of a lane in `mask`.
[[nodiscard]] std::uint32_t sectors_of(const std::uint64_t* addresses, std::uint32_t mask,
                                       std::uint32_t bytes);
/// Wavefronts of a shared memory access of 32 banks of 4 bytes: lanes in `mask` at byte `offsets`, of at most
/// 128 bytes each; equal words are broadcast; accesses of 8 and 16 bytes go by half and quarter warps (CUDA
/// C++ Programming Guide, "Shared Memory").
[[nodiscard]] std::uint32_t wavefronts_of(const std::uint64_t* offsets, std::uint32_t mask,
                                          std::uint32_t bytes);

}  // namespace ak::emulator
