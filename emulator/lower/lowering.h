// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/lower/program.h"

namespace ak::emulator {

/// Thrown by lowering functions only, caught by lower(): the instruction is not covered. The message says
/// which part of it ("modifier .foo", "type b128").
struct UnsupportedInstruction : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A memory operand: value of `base` (64-bit or 32-bit lanes, sign does not matter) plus `offset`.
struct Address {
  Slot base = 0;
  int base_bits = 64;
  std::int64_t offset = 0;
};

/// Turns one instruction into an Op: finds the slots of its operands and keeps constants. Made by lower() for
/// every instruction; the functions below throw UnsupportedInstruction for operands that do not fit.
class Lowering {
 public:
  virtual ~Lowering() = default;
  [[nodiscard]] virtual const Instruction& instruction() const = 0;
  [[nodiscard]] const Operand& operand(std::size_t i) const;
  [[nodiscard]] std::size_t operand_count() const { return instruction().operands.size(); }
  [[nodiscard]] std::span<const std::string_view> modifiers() const { return instruction().modifiers; }
  [[nodiscard]] bool has(std::string_view modifier) const { return instruction().has(modifier); }
  /// The type among the modifiers, counted from the back (0: the last one); UnsupportedInstruction if none.
  [[nodiscard]] Type type(int from_back = 0) const;
  /// Throws unless every modifier is a type or in `known`: so that no modifier is ever ignored by accident.
  void accept_modifiers(std::initializer_list<std::string_view> known) const;

  /// Slot to read `operand` as a value of `type`: a register, special register, immediate (converted to
  /// `type`: integer literals are also valid bit patterns of 16-bit floats) or address of a symbol.
  /// A register of another storage size (4, 8, 16 bytes per lane) is refused.
  [[nodiscard]] virtual Slot source(const Operand& operand, Type type) = 0;
  /// Slot to write; `_` gives memory that no one reads.
  [[nodiscard]] virtual Slot destination(const Operand& operand, Type type) = 0;
  [[nodiscard]] virtual PredicateSlot predicate(const Operand& operand) = 0;
  [[nodiscard]] virtual PredicateSlot predicate_destination(const Operand& operand) = 0;
  /// Width of a register operand as declared (1, 8, 16, 32, 64, 128); for `_` and immediates bits(type).
  [[nodiscard]] virtual int register_bits(const Operand& operand, Type type) const = 0;
  /// A constant row: `lane_bytes` is 4 or 8.
  [[nodiscard]] virtual Slot constant(std::uint64_t bits, int lane_bytes) = 0;
  /// Of an `address` operand. Symbols of .shared give their offset in shared memory, of .local and
  /// function .param their offset in the thread's local memory, of kernel .param their offset in the
  /// parameter buffer, of .global and .const their device address: as base a constant row.
  [[nodiscard]] virtual Address address(const Operand& operand) = 0;
  /// The space a symbol in an address operand lives in; none for registers.
  [[nodiscard]] virtual Space symbol_space(const Operand& operand) const = 0;
  /// Keeps a list of slots in Program::slots and sets Op::more, more_count.
  virtual void more(Op& op, std::span<const Slot> slots) = 0;
  /// Slots of {a, b, c, d}; a single register is a list of one.
  [[nodiscard]] std::vector<Slot> sources(const Operand& list, Type type);
  [[nodiscard]] std::vector<Slot> destinations(const Operand& list, Type type);

  // For control flow.
  /// Op where a label's code begins.
  [[nodiscard]] virtual Index branch_target(const std::string& label) const = 0;
  /// Op where the lanes that this branch splits meet again; kNone: nowhere.
  [[nodiscard]] virtual Index reconvergence() const = 0;
  /// Index in Program::functions of a function the instruction calls, and of the one it is in.
  [[nodiscard]] virtual Index callee(const std::string& name) const = 0;
  [[nodiscard]] virtual Index caller() const = 0;
  /// A function of the program, without its `addresses` yet.
  [[nodiscard]] virtual const CalledFunction& function(Index which) const = 0;
  /// Place in the thread's local memory of a function-scope .param variable.
  [[nodiscard]] virtual LocalSlice local_slice(const std::string& name) const = 0;
  /// Op at the function's end, where every `ret` goes.
  [[nodiscard]] virtual Index epilogue() const = 0;
  [[nodiscard]] virtual bool in_entry() const = 0;  ///< a kernel, not a function it calls
  /// Labels of a .branchtargets list.
  [[nodiscard]] virtual std::vector<Index> branch_table(const std::string& name) const = 0;

  /// Says what the counters call the instruction. Default: other, no FLOPs.
  virtual void classify(InstructionClass kind, std::uint32_t flops = 0, Type flop_type = Type::f32) = 0;

  [[noreturn]] static void unsupported(const std::string& part) { throw UnsupportedInstruction(part); }
};

// Ops that no instruction stands for (control_ops.cpp).
[[nodiscard]] Op join_op();  ///< lanes of a split meet here
[[nodiscard]] Op exit_op();  ///< end of a kernel
/// Makes `branch`, the branch back of Program::waiting_loops[loop], count the rounds.
void count_rounds(Op& branch, Index loop);
[[nodiscard]] Op return_op(Index function);  ///< end of a function of the program (function_calls.cpp)

/// How one family of handlers takes part in lowering. Several families may list one opcode; they are asked in
/// turn and answer nothing when the instruction (its types) is not theirs.
struct Mnemonic {
  std::string_view opcode;
  std::optional<Op> (*lower)(Lowering&);
  int definitions = 1;             ///< leading operands that are written (for the liveness of registers)
  bool reads_definitions = false;  ///< they are read too
};

/// Family tables, each in the file of that name.
[[nodiscard]] std::span<const Mnemonic> integer_mnemonics();  ///< integer_ops.cpp
[[nodiscard]] std::span<const Mnemonic>
logic_mnemonics();  ///< logic_ops.cpp: and or xor not shl setp selp mov prmt lop3 ...
[[nodiscard]] std::span<const Mnemonic> bit_mnemonics();      ///< bit_ops.cpp: shifts, fields, counts
[[nodiscard]] std::span<const Mnemonic> compare_mnemonics();  ///< compare_ops.cpp: setp, set
[[nodiscard]] std::span<const Mnemonic> video_mnemonics();    ///< video_ops.cpp: vadd vabsdiff4 vset2 ...
[[nodiscard]] std::span<const Mnemonic> float_mnemonics();    ///< float_ops.cpp: f32, f64
[[nodiscard]] std::span<const Mnemonic> special_mnemonics();  ///< special_ops.cpp: approximate functions
[[nodiscard]] std::span<const Mnemonic> half_mnemonics();     ///< half_ops.cpp: f16, bf16
[[nodiscard]] std::span<const Mnemonic> convert_mnemonics();  ///< convert_ops.cpp: cvt
[[nodiscard]] std::span<const Mnemonic> memory_mnemonics();   ///< memory_ops.cpp: ld st cvta prefetch ...
[[nodiscard]] std::span<const Mnemonic> atomic_mnemonics();   ///< atomic_ops.cpp: atom red
[[nodiscard]] std::span<const Mnemonic> async_mnemonics();    ///< async_copy_ops.cpp: cp.async ...
[[nodiscard]] std::span<const Mnemonic>
matrix_mnemonics();  ///< matrix_ops.cpp: mma wmma ldmatrix stmatrix movmatrix
[[nodiscard]] std::span<const Mnemonic> warp_mnemonics();      ///< warp_ops.cpp: shfl vote match redux ...
[[nodiscard]] std::span<const Mnemonic> barrier_mnemonics();   ///< barrier_ops.cpp
[[nodiscard]] std::span<const Mnemonic> control_mnemonics();   ///< control_ops.cpp: bra ret exit ...
[[nodiscard]] std::span<const Mnemonic> call_mnemonics();      ///< function_calls.cpp: call
[[nodiscard]] std::span<const Mnemonic> mbarrier_mnemonics();  ///< mbarrier_ops.cpp
[[nodiscard]] std::span<const Mnemonic>
bulk_copy_mnemonics();  ///< bulk_copy_ops.cpp: cp.async.bulk, tensor maps
[[nodiscard]] std::span<const Mnemonic>
async_update_mnemonics();  ///< async_update_ops.cpp: st.async red.async cp.reduce
[[nodiscard]] std::span<const Mnemonic> wgmma_mnemonics();  ///< wgmma_ops.cpp

}  // namespace ak::emulator
