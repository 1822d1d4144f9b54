// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/parse/type.h"

namespace ak::emulator {

// What a PTX module says, names resolved, nothing interpreted: the parser's product.

/// Index into a table of the Module or Function; kNone where there is none.
using Index = std::uint32_t;
inline constexpr Index kNone = 0xFFFFFFFFu;

/// A place in the source the PTX was compiled from (`.loc`).
struct SourceLocation {
  Index file = kNone;  ///< Module::files
  int line = 0, column = 0;
  Index inlined_at = kNone;  ///< Module::locations: the call this code was inlined into
};

enum class OperandKind : std::uint8_t {
  reg,      ///< Function::registers[index], negated for `!%p`
  special,  ///< %tid.x ...: `name`
  integer,  ///< `bits` (two's complement, 64 bit)
  real,     ///< `bits`: IEEE bit pattern of `type` (f32 for 0f..., f64 for 0d... and decimals)
  symbol,   ///< Module::variables, a function's variable, parameter or a function: `name`, plus `offset`
  address,  ///< [base + offset]: elements[0] is reg, symbol or integer; further elements: tensor coordinates
            ///< lists, im2col offsets and similar ones, in order
  list,     ///< {a, b, c} or (a, b)
  label,    ///< of a branch: `name`
  sink,     ///< `_`
  pair,     ///< a|b: elements[0], elements[1]
};

struct Operand {
  OperandKind kind = OperandKind::sink;
  bool negated = false;   ///< !%p, or an arithmetic minus before a register
  Type type = Type::b64;  ///< of real
  Index index = kNone;    ///< of reg
  std::int64_t offset = 0;
  std::uint64_t bits = 0;
  std::string name;  ///< special registers with their component: "%tid.x"; of reg: its parts, ".b3": "b3"
  std::vector<Operand> elements;
};

/// `@!%p opcode.mod1.mod2 operands;`
struct Instruction {
  std::string_view opcode;  ///< "ld", "cp", "mma": up to the first dot
  /// Without dots: {"global", "v4", "f32"}; "shared::cta" is one. Only instructions that are spelt alike share a list.
  std::span<const std::string_view> modifiers;
  std::optional<Operand> guard;  ///< a predicate register
  std::vector<Operand> operands;
  Index location = kNone;  ///< Module::locations
  int ptx_line = 0;        ///< 1-based line in the PTX text

  [[nodiscard]] bool has(std::string_view modifier) const;
  /// "ld.global.v4.f32".
  [[nodiscard]] std::string spelling() const;
};

struct Register {
  std::string_view stem;  ///< "%r" of one of a range, else the whole name
  Index number = kNone;   ///< in the range
  Type type = Type::b32;
  std::string_view suffix;  ///< makes the name unique where nested scopes declare it again

  [[nodiscard]] std::string name() const;  ///< "%r12"
};

/// A reference to a symbol inside an initializer: `generic(name) + offset`.
struct Relocation {
  std::uint64_t at = 0;  ///< byte offset in the variable
  int bytes = 8;
  std::string symbol;
  std::int64_t offset = 0;
  bool generic = false;
};

/// A module or function variable, or a parameter.
struct Variable {
  std::string name;  ///< made unique where nested scopes declare the same name again
  Space space = Space::global;
  Type type = Type::b8;
  std::uint64_t bytes = 0;  ///< 0: unsized (`extern .shared x[]`)
  std::uint32_t alignment = 1;
  bool is_extern = false;
  bool pointer_alignment = false;      ///< of a parameter: .ptr was given
  std::vector<std::uint8_t> contents;  ///< initializer; empty: zero
  std::vector<Relocation> relocations;
};

struct Label {
  std::string name;       ///< made unique where nested scopes declare the same name again
  Index instruction = 0;  ///< the label is before this one; instructions.size() at the end
};

/// `name: .branchtargets a, b;` and `name: .calltargets`, `.callprototype`.
struct BranchTargets {
  std::string name;
  std::vector<std::string> labels;
};

/// What the views of instructions and registers point to: most are of a few words that come again and again.
struct Words {
  std::deque<std::string> texts;
  std::deque<std::vector<std::string_view>> lists;
};

struct Function {
  std::shared_ptr<const Words> words;  ///< all functions of a module share them
  std::string name;
  bool entry = false;
  bool is_extern = false;            ///< a declaration without a body
  std::vector<Variable> returns;     ///< of a .func
  std::vector<Variable> parameters;  ///< in order
  std::vector<Register> registers;
  std::vector<Variable> variables;  ///< .local, .shared, .param, .global declared in the body
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<BranchTargets> branch_targets;
  std::array<std::uint32_t, 3> required_threads{};  ///< .reqntid; zeros: not given
  std::array<std::uint32_t, 3> maximum_threads{};   ///< .maxntid; zeros: not given
  std::array<std::uint32_t, 3> required_cluster{};  ///< .reqnctapercluster; zeros: not given
};

struct Module {
  std::string version;             ///< "9.0"
  std::string target;              ///< "sm_90a"
  std::vector<std::string> files;  ///< by their number in `.file`, 0 unused
  std::vector<SourceLocation> locations;
  std::vector<Variable> variables;
  std::vector<Function> functions;  ///< a definition replaces its declaration
};

}  // namespace ak::emulator
