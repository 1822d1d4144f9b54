// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/waiting_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "emulator/lower/control_flow.h"
#include "emulator/lower/register_allocation.h"

namespace ak::emulator {
namespace {

using Registers = std::set<Index>;

// What computes and does no more.
constexpr std::string_view kPlain[] = {"add", "sub", "mul",  "mad",  "and",  "or",  "xor",
                                       "not", "shl", "shr",  "lop3", "prmt", "min", "max",
                                       "mov", "cvt", "cvta", "setp", "selp", "set", "slct"};
constexpr std::string_view kPauses[] = {"nanosleep", "fence", "membar"};

template <std::size_t kCount>
bool among(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool polls(const Instruction& instruction) {
  const auto has = [&](std::string_view modifier) { return instruction.has(modifier); };
  if (instruction.opcode == "mbarrier") return has("try_wait") || has("test_wait");
  if (instruction.opcode == "ld") return has("volatile") || has("relaxed") || has("acquire");
  return instruction.opcode == "atom" && (has("cas") || has("exch"));
}

bool reads_constants(const Instruction& instruction) {
  return instruction.opcode == "ld" && (instruction.has("param") || instruction.has("const"));
}

void collect(const Operand& operand, Registers& registers) {
  if (operand.kind == OperandKind::reg) registers.insert(operand.index);
  for (const Operand& element : operand.elements) collect(element, registers);
}

/// Registers that an instruction of such a loop reads and writes. One with a guard keeps what it writes, too.
struct Effects {
  Registers reads, writes;
};
Effects effects_of(const Instruction& instruction) {
  const auto definitions =
      static_cast<std::size_t>(polls(instruction) ? 1 : std::max(0, roles_of(instruction).definitions));
  Effects effects;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i)
    collect(instruction.operands[i], i < definitions ? effects.writes : effects.reads);
  if (instruction.guard) {
    collect(*instruction.guard, effects.reads);
    effects.reads.insert(effects.writes.begin(), effects.writes.end());
  }
  return effects;
}

/// Where labels are, and which instructions some branch leads to: debug information has labels of its own.
struct Targets {
  std::unordered_map<std::string, Index> labels;
  std::set<Index> reached;

  explicit Targets(const Function& function) {
    for (const Label& label : function.labels) labels[label.name] = label.instruction;
    for (const Instruction& instruction : function.instructions) {
      if (const auto target = of(instruction)) reached.insert(*target);
    }
    for (const BranchTargets& table : function.branch_targets) {
      for (const std::string& label : table.labels) {
        if (const auto found = labels.find(label); found != labels.end()) reached.insert(found->second);
      }
    }
  }

  /// Of a direct branch.
  [[nodiscard]] std::optional<Index> of(const Instruction& instruction) const {
    if (instruction.opcode != "bra" || instruction.operands.empty()) return std::nullopt;
    const auto found = labels.find(instruction.operands.front().name);
    return found == labels.end() ? std::nullopt : std::optional(found->second);
  }
};

class Candidate {
 public:
  Candidate(const Function& function, const InstructionRange& range, const Targets& targets)
      : function_(function), range_(range), targets_(targets) {}

  bool waits() { return is_straight() && only_polls() && carries_nothing(); }

 private:
  [[nodiscard]] bool inside(Index instruction) const {
    return instruction >= range_.first && instruction <= range_.last;
  }

  [[nodiscard]] bool is_straight() const {
    const auto second = targets_.reached.upper_bound(range_.first);
    if (second != targets_.reached.end() && inside(*second)) return false;
    for (Index i = range_.first; i < range_.last; ++i) {
      const Instruction& instruction = function_.instructions[i];
      if (instruction.opcode != "bra") continue;
      const auto target = targets_.of(instruction);
      if (!instruction.guard || !target || inside(*target)) return false;
    }
    return true;
  }

  [[nodiscard]] bool only_polls() const {
    bool polled = false;
    for (Index i = range_.first; i <= range_.last; ++i) {
      const Instruction& instruction = function_.instructions[i];
      polled |= polls(instruction);
      if (!polls(instruction) && !reads_constants(instruction) && instruction.opcode != "bra" &&
          !among(kPlain, instruction.opcode) && !among(kPauses, instruction.opcode))
        return false;
    }
    return polled;
  }

  bool carries_nothing() {
    for (Index i = range_.first; i <= range_.last; ++i)
      effects_.push_back(effects_of(function_.instructions[i]));
    find_idle();
    Registers written, carried;
    for (const Effects& effects : effects_) {
      for (const Index read : effects.reads) {
        if (!written.contains(read)) carried.insert(read);
      }
      written.insert(effects.writes.begin(), effects.writes.end());
    }
    return std::all_of(carried.begin(), carried.end(),
                       [&](Index which) { return !written.contains(which) || idle_.contains(which); });
  }

  /// Registers of the loop that nothing but the length of a sleep depends on.
  void find_idle() {
    for (const Effects& effects : effects_) idle_.insert(effects.writes.begin(), effects.writes.end());
    for (Index i = 0; i < function_.instructions.size(); ++i) {
      if (!inside(i)) forget(effects_of(function_.instructions[i]).reads);
    }
    for (std::size_t before = idle_.size() + 1; before != idle_.size();) {
      before = idle_.size();
      for (Index i = range_.first; i <= range_.last; ++i) {
        const Effects& effects = effects_[i - range_.first];
        if (!is_idle(function_.instructions[i], effects)) forget(effects.reads);
      }
    }
  }

  [[nodiscard]] bool is_idle(const Instruction& instruction, const Effects& effects) const {
    if (instruction.opcode == "nanosleep") return !instruction.guard;
    return among(kPlain, instruction.opcode) &&
           std::all_of(effects.writes.begin(), effects.writes.end(),
                       [&](Index which) { return idle_.contains(which); });
  }

  void forget(const Registers& registers) {
    for (const Index which : registers) idle_.erase(which);
  }

  const Function& function_;
  const InstructionRange range_;
  const Targets& targets_;
  std::vector<Effects> effects_;
  Registers idle_;
};

}  // namespace

std::vector<InstructionRange> waiting_loops(const Function& function) {
  // A wait has a few instructions; long loops are not looked at, which bounds the time.
  constexpr Index kLongest = 64;
  const Targets targets(function);
  std::vector<InstructionRange> loops;
  for (Index i = 0; i < function.instructions.size(); ++i) {
    const auto target = targets.of(function.instructions[i]);
    if (!target || *target > i || i - *target > kLongest) continue;
    const InstructionRange range{.first = *target, .last = i};
    if (Candidate(function, range, targets).waits()) loops.push_back(range);
  }
  return loops;
}

}  // namespace ak::emulator
