// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/outcome.h"
#include "core/result.h"
#include "emulator/lower/register_uses.h"
#include "emulator/lower/value_flow.h"
#include "emulator/parse/ast.h"

namespace ak::emulator {

struct Warp;
struct Op;

/// Executes one instruction for the lanes in Warp::mask (never empty). Lanes outside keep their registers.
using Handler = void (*)(Warp&, const Op&);

/// Where the 32 lanes of an operand lie: byte offset into Warp::registers, or, with kConstantSlot set, into
/// Program::constants. A register of up to 32 bits has 4 bytes per lane (8- and 16-bit values zero-extended),
/// one of 64 bits 8 bytes per lane, one of 128 bits 16 bytes per lane (low half first); lanes are adjacent,
/// aligned to 64 bytes.
using Slot = std::uint32_t;
inline constexpr Slot kConstantSlot = 0x80000000u;
inline constexpr std::uint32_t kRowBytes = 128;  ///< 32 lanes of 4 bytes
inline constexpr std::uint32_t kWideRowBytes = 2 * kRowBytes;

/// Index into Warp::predicates (one bit per lane); with kNegated set the complement is meant.
using PredicateSlot = std::uint32_t;
inline constexpr PredicateSlot kNegated = 0x80000000u;
inline constexpr PredicateSlot kFalse = 0;  ///< always all zero
inline constexpr PredicateSlot kTrue = kFalse | kNegated;
inline constexpr PredicateSlot kPredicateSink = 1;  ///< for results that are not wanted
inline constexpr PredicateSlot kCarry = 2;          ///< of add.cc and its like

/// A lowered instruction. What d, a, b, c mean is between a handler and the function that lowered to it.
struct Op {
  Handler run = nullptr;
  PredicateSlot guard = kTrue;
  Slot d = 0, a = 0, b = 0, c = 0;
  std::uint32_t more = 0, more_count = 0;  ///< Program::slots[more .. more + more_count)
  std::int64_t immediate = 0;              ///< byte offset of an address, branch target, ...
  std::uint32_t aux = 0;                   ///< small numbers: width, mode
};

/// What the counters call an instruction.
enum class InstructionClass : std::uint8_t {
  integer,
  fp16,  ///< f16 and bf16, packed or not
  fp32,
  fp64,
  special_function,
  tensor,
  convert,
  move,
  predicate,  ///< setp, selp, predicate logic
  control,
  barrier,
  warp,  ///< shfl, vote, match, redux
  global_load,
  global_store,
  shared_load,
  shared_store,
  local_load,
  local_store,
  constant_load,  ///< parameters and .const
  generic_load,   ///< address space known only at run time
  generic_store,
  atomic,
  async_copy,
  other,
};
inline constexpr int kInstructionClasses = static_cast<int>(InstructionClass::other) + 1;
[[nodiscard]] std::string_view to_string(InstructionClass which);

/// What is known of an op before it runs; parallel to Program::code.
struct OpFacts {
  InstructionClass kind = InstructionClass::other;
  Type flop_type = Type::f32;  ///< of flops
  std::uint32_t flops = 0;     ///< per thread that executes it; an FMA counts 2; tensor ops: warp's / 32
  Index location = kNone;      ///< Program::locations: innermost place
  std::string spelling;        ///< "ld.global.v4.f32"
  int ptx_line = 0;
};

/// A parameter of the kernel: byte range in the launch's parameter buffer.
struct Parameter {
  std::uint32_t offset = 0, bytes = 0;
};

/// Bytes [begin, end) of a state space; of no space: nothing is known.
inline constexpr std::uint32_t kNoEnd = 0xFFFFFFFFu;
struct Extent {
  Space space = Space::none;
  std::uint32_t begin = 0, end = kNoEnd;
  bool operator==(const Extent&) const = default;
};

/// A range of a thread's local memory: of a recursive function counted from its frame.
struct LocalSlice {
  std::uint32_t offset = 0, bytes = 0;
};

/// A row that holds an address in a recursive function's frame.
struct FrameAddress {
  Slot slot = 0;
  std::uint32_t offset = 0;  ///< from the frame
  bool wide = true;          ///< 8 bytes per lane, else 4
};

/// The kernel, or a function that it can call: where it begins, and what a call does around it. Arguments and
/// results pass through local memory. A recursive function's lie in a frame on the thread's stack, and a call
/// within a cycle keeps the caller's rows, since the callee may use the same.
struct CalledFunction {
  std::string name;           ///< as in the PTX
  std::uint64_t address = 0;  ///< what a pointer to it holds
  Index entry = kNone;        ///< its first op; its last one comes before the next function's first
  std::vector<LocalSlice> parameters, returns;
  std::uint32_t cycle = 0;  ///< functions that can call each other have the same number; 0: not recursive
  Slot rows = 0;            ///< first of its rows, which are adjacent
  std::array<std::uint32_t, 3> row_bytes{};  ///< of its rows of 4, of 8 and of 16 bytes per lane
  PredicateSlot predicates = 0;              ///< first of its predicates
  std::uint32_t predicate_count = 0;
  Slot frame = 0;                 ///< of a recursive one: row of 8 bytes per lane, where its frame begins
  std::uint32_t frame_bytes = 0;  ///< a multiple of 16
  std::vector<FrameAddress> addresses;
};

/// A special register that the program reads, kept as a row of every warp.
struct SpecialRow {
  std::string name;  ///< "%tid.x"
  Slot slot = 0;
  int bits = 32;
};

/// Ops `first` ... `last` of a loop that only waits (waiting_loops.h): `last` is the branch back.
struct WaitingLoop {
  Index first = 0, last = 0;
};

/// One kernel with every function it can reach, ready to run. Immutable; shared by all warps.
struct Program {
  std::string kernel;
  std::vector<Op> code;  ///< ops of the entry begin at 0
  std::vector<OpFacts> facts;
  std::vector<Extent> extents;   ///< by op: the variable that its address is derived from (address_extents.h)
  std::vector<ValueFlow> flows;  ///< by op
  std::vector<FlowOperand> flow_operands;
  std::vector<WaitingLoop> waiting_loops;
  std::vector<Slot> slots;  ///< operands beyond Op's own
  std::vector<std::byte>
      constants;  ///< rows of immediates and addresses; 64-byte aligned copy is made at launch
  std::vector<SpecialRow> specials;
  std::uint32_t register_bytes = 0;  ///< of one warp
  std::uint32_t predicate_count = 3;
  std::uint32_t local_bytes = 0;   ///< of one thread: .local variables, call parameters and then the stack
  std::uint32_t stack_offset = 0;  ///< where the stack for frames of recursive functions begins
  Slot stack_top = 0;  ///< row of 8 bytes per lane: bytes of the stack in use; only with recursive functions
  std::vector<CalledFunction> functions;         ///< by `entry`; the kernel first
  std::map<std::uint64_t, std::string> missing;  ///< pointers to functions that call what is not there: what
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t reserved_shared_bytes = 0;  ///< the first of those, the system's: zero when a block begins
  std::uint32_t dynamic_shared_offset = 0;  ///< where `extern .shared` begins
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t maximum_threads = 1024;  ///< .maxntid or .reqntid product, else 1024
  std::array<std::uint32_t, 3> required_cluster{};
  std::vector<std::string> files;
  std::vector<SourceLocation> locations;
  RegisterUses register_uses;                           ///< empty without wgmma
  std::map<std::string, std::uint32_t> shared_symbols;  ///< name -> offset in the block's shared memory

  [[nodiscard]] Extent extent_of(Index op) const { return op < extents.size() ? extents[op] : Extent{}; }
  [[nodiscard]] Index index_of(const Op& op) const { return static_cast<Index>(&op - code.data()); }
};

/// Device addresses of the module's .global, .const variables by name.
using SymbolAddresses = std::map<std::string, std::uint64_t, std::less<>>;

/// Lowers `entry` and everything it calls. The error is an Outcome `unsupported`, naming the instruction and
/// its source line, or invalid_candidate for PTX that contradicts itself. `module` may be dropped afterwards.
[[nodiscard]] Result<Program, Outcome> lower(const Module& module, const Function& entry,
                                             const SymbolAddresses& symbols);

}  // namespace ak::emulator
