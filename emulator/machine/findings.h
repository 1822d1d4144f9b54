// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/outcome.h"
#include "core/text/json.h"
#include "emulator/lower/program.h"

namespace ak::emulator {

enum class FaultKind : std::uint8_t {
  out_of_bounds,
  misaligned,
  uninitialized_read,
  wrong_space,  ///< an address of another state space than the instruction names
  read_only,    ///< a write to constant memory or parameters
  shared_race,
  global_race,      ///< two threads of a block, the same bytes of global memory
  global_conflict,  ///< two blocks touch the same bytes, one of them writes, nothing orders them
  barrier_divergence,
  async_pending,  ///< destination of an asynchronous copy used before the wait, or its source overwritten
  missing_proxy_fence,  ///< a copy engine or tensor core reads what no fence made visible to it
  non_coherent_read,    ///< ld.global.nc of what the launch wrote
  early_access,         ///< what the launch before uses, before it has ended
  register_hazard,      ///< registers of wgmma used before the wait, or written without a fence
  cluster_lifetime,     ///< another block's shared memory before that block has begun, or after it ended
  deadlock,
  instruction_budget,
  assertion,
  trap,
  inactive_lane,    ///< the value of a lane that takes no part in a shuffle, where it matters
  stack_overflow,   ///< recursion beyond a thread's stack
  invalid_operand,  ///< e.g. a shfl mask without the executing lane, an unaligned tensor map
};
[[nodiscard]] std::string_view to_string(FaultKind kind);
/// The gate that a fault of this kind runs into.
[[nodiscard]] Gate gate_of(FaultKind kind);

/// One thread's part in a fault.
struct Participant {
  std::array<std::uint32_t, 3> block{}, thread{};
  bool thread_known = true;  ///< false: only the block is known
  bool write = false;
  Index op = kNone;  ///< Program::code
};

/// One fault, with everything needed to say it in a sentence.
struct Finding {
  FaultKind kind = FaultKind::trap;
  Participant first;                 ///< the thread that ran into it
  std::optional<Participant> other;  ///< of a race or conflict: who was there before
  std::string buffer;  ///< "output 'y'", "shared memory", "shared 'tile'", "local memory"; empty: none
  std::int64_t byte_offset = 0;  ///< from the start of the buffer; may be negative
  std::uint64_t buffer_bytes = 0;
  std::uint32_t access_bytes = 0;
  std::uint64_t address = 0;   ///< as the thread computed it
  std::string detail;          ///< further words: assertion text, which threads are missing at a barrier
  std::vector<Index> calls{};  ///< that `first` was in, as ops, innermost first
  std::uint64_t times = 1;     ///< occurrences with the same kind and source line, over lanes and blocks
};

/// Faults of one launch, one per kind and source line. One thread.
class Findings {
 public:
  static constexpr std::size_t kMaxDistinct = 8;  ///< more than a prompt should hold (chosen)

  explicit Findings(const Program& program) : program_(&program) {}
  /// Counts it, and keeps it if it is the first of its kind at its line.
  void add(Finding finding, std::uint64_t times = 1);
  [[nodiscard]] bool empty() const noexcept { return findings_.empty(); }
  /// Counts and keeps what is worth saying and no fault: nothing is refused for it.
  void note(Finding finding, std::uint64_t times = 1);
  [[nodiscard]] const std::vector<Finding>& notes() const noexcept { return notes_; }
  /// No use in going on: enough distinct faults.
  [[nodiscard]] bool full() const noexcept { return findings_.size() >= kMaxDistinct; }
  [[nodiscard]] const std::vector<Finding>& all() const noexcept { return findings_; }

 private:
  const Program* program_;
  std::vector<Finding> findings_, notes_;
};

/// The place in the user's own file: follows inlined_at outwards until a file whose name ends in
/// `own_file` (empty: the outermost). Line 0 when there is no debug information.
struct Place {
  std::string file;
  int line = 0, column = 0;
};
[[nodiscard]] Place place_of(const Program& program, Index op, const std::string& own_file = {});

/// "softmax.cu:41:17: out of bounds: block (3,0,0) thread (31,0,0) reads 4 bytes at byte 512 of input 'x'
/// (512 bytes long) ...". One or two sentences, suitable for a person and a prompt.
[[nodiscard]] std::string describe(const Program& program, const Finding& finding,
                                   const std::string& own_file = {});
[[nodiscard]] Json to_json(const Program& program, const Finding& finding, const std::string& own_file = {});
/// What the first finding makes of an evaluation: memory_error, race, hang, launch_error; all findings as
/// diagnostics with their lines, and notes after them.
[[nodiscard]] Outcome to_outcome(const Program& program, const Findings& findings, StageId stage,
                                 const std::string& own_file = {});

}  // namespace ak::emulator
