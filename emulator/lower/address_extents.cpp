// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/address_extents.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "emulator/lower/lowering.h"

namespace ak::emulator {
namespace {

/// What a register holds, as far as addresses go.
struct Derived {
  enum class What : std::uint8_t {
    number,    ///< no address, or one from memory: nothing is known of it
    frame,     ///< the beginning of a function's frame: local variables are at constants from it
    variable,  ///< an address in, or computed from, the bytes of `extent`
    mixed,     ///< not an address that can be followed
  };
  What what = What::number;
  Extent extent;
  bool operator==(const Derived&) const = default;
};
using What = Derived::What;

Derived hull(const Derived& a, const Derived& b) {
  if (a.extent.space != b.extent.space) return {What::mixed, {}};
  return {What::variable,
          {a.extent.space, std::min(a.extent.begin, b.extent.begin), std::max(a.extent.end, b.extent.end)}};
}

/// What a register holds that is written at two places; a number is a null pointer then.
Derived join(const Derived& a, const Derived& b) {
  if (a == b || b.what == What::number) return a;
  if (a.what == What::number) return b;
  if (a.what == What::mixed || b.what == What::mixed) return {What::mixed, {}};
  return hull(a, b);
}

Derived sum(const Derived& a, const Derived& b) {
  if (a.what == What::number) return b.what == What::frame ? Derived{What::variable, b.extent} : b;
  if (b.what == What::number) return sum(b, a);
  return {What::mixed, {}};
}

Derived difference(const Derived& a, const Derived& b) {
  if (b.what == What::number) return sum(a, b);
  return a == b && a.what == What::variable ? Derived{} : Derived{What::mixed, {}};
}

bool any_of(std::string_view opcode, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), opcode) != names.end();
}

/// NVRTC puts the local variables of a function into one frame, `__local_depot0`, and takes the address of
/// each as a sum of the frame and a constant, before the first branch.
constexpr std::string_view kFrame = "__local_depot";

class Analysis {
 public:
  Analysis(const Function& function, const MemoryLayout& memory)
      : function_(function), memory_(memory), registers_(function.registers.size()) {}

  std::vector<Extent> run() {
    while (pass()) {
    }
    find_frame_variables();
    registers_.assign(registers_.size(), {});
    while (pass()) {
    }
    std::vector<Extent> extents;
    for (const Instruction& instruction : function_.instructions)
      extents.push_back(extent_of_address(instruction));
    return extents;
  }

 private:
  [[nodiscard]] Derived symbol(const std::string& name, std::int64_t offset) const {
    const Symbol* found = memory_.find(function_, name);
    // A recursive function's frame is elsewhere in every call.
    if (found == nullptr || found->in_frame ||
        (found->space != Space::shared && found->space != Space::local))
      return {};
    const auto begin = static_cast<std::uint32_t>(found->value);
    const bool dynamic = found->bytes == 0;
    const Extent extent{found->space, begin, dynamic ? kNoEnd : begin + found->bytes};
    return {name.starts_with(kFrame) && offset == 0 ? What::frame : What::variable, extent};
  }

  [[nodiscard]] Derived of(const Operand& operand) const {
    if (operand.kind == OperandKind::reg) return registers_[operand.index];
    if (operand.kind == OperandKind::symbol) return symbol(operand.name, operand.offset);
    Derived all;
    for (const Operand& element : operand.elements) {
      const Derived part = of(element);
      if (part.what != What::number) all = {What::mixed, {}};
    }
    return all;
  }

  /// A variable in the frame: from the constant on to where the next one begins.
  [[nodiscard]] Derived in_frame(const Derived& frame, std::uint64_t offset) const {
    const std::uint32_t begin = frame.extent.begin + static_cast<std::uint32_t>(offset);
    const auto next = starts_.upper_bound(begin);
    const std::uint32_t end = next == starts_.end() ? frame.extent.end : std::min(*next, frame.extent.end);
    if (!starts_.contains(begin)) return {What::variable, frame.extent};
    return {What::variable, {frame.extent.space, begin, end}};
  }

  [[nodiscard]] Derived value(const Instruction& instruction) const {
    const auto& operands = instruction.operands;
    const std::string_view opcode = instruction.opcode;
    const auto at = [&](std::size_t i) { return i < operands.size() ? of(operands[i]) : Derived{}; };
    // What memory holds is taken for a number: an index is far more likely than an address.
    if (any_of(opcode, {"ld", "ldu", "atom", "setp", "set", "shfl"})) return {};
    if (any_of(opcode, {"mov", "cvta", "cvt", "mapa"})) return at(1);
    if (opcode == "add" && at(1).what == What::frame && operands[2].kind == OperandKind::integer)
      return in_frame(at(1), operands[2].bits);
    if (any_of(opcode, {"add", "and", "or", "xor"})) return sum(at(1), at(2));
    if (opcode == "sub") return difference(at(1), at(2));
    if (opcode == "selp") return join(at(1), at(2));
    const bool product = at(1).what != What::number || at(2).what != What::number;
    if (opcode == "mad" && !product) return sum(at(3), {});
    const bool address = product || at(3).what != What::number || at(4).what != What::number;
    return address ? Derived{What::mixed, {}} : Derived{};
  }

  void assign(const Operand& operand, const Derived& value, bool& changed) {
    if (operand.kind == OperandKind::reg) {
      const Derived joined = join(registers_[operand.index], value);
      changed |= joined != registers_[operand.index];
      registers_[operand.index] = joined;
    } else {
      for (const Operand& element : operand.elements) assign(element, value, changed);
    }
  }

  bool pass() {
    bool changed = false;
    for (const Instruction& instruction : function_.instructions) {
      if (instruction.operands.empty() || instruction.operands.front().kind == OperandKind::address) continue;
      const Derived found = value(instruction);
      if (found.what != What::number) assign(instruction.operands.front(), found, changed);
    }
    return changed;
  }

  void find_frame_variables() {
    for (const Instruction& instruction : function_.instructions) {
      if (any_of(instruction.opcode, {"bra", "brx", "ret", "exit"})) return;
      const auto& operands = instruction.operands;
      if (instruction.opcode != "add" || operands.size() != 3 || operands[2].kind != OperandKind::integer)
        continue;
      const Derived frame = of(operands[1]);
      if (frame.what == What::frame)
        starts_.insert(frame.extent.begin + static_cast<std::uint32_t>(operands[2].bits));
    }
  }

  /// Of an instruction with one address; copies have two, which the checker could not tell apart.
  [[nodiscard]] Extent extent_of_address(const Instruction& instruction) const {
    const Operand* address = nullptr;
    for (const Operand& operand : instruction.operands) {
      if (operand.kind != OperandKind::address || operand.elements.empty()) continue;
      if (address != nullptr) return {};
      address = &operand;
    }
    if (address == nullptr) return {};
    const Derived base = of(address->elements.front());
    return base.what == What::variable || base.what == What::frame ? base.extent : Extent{};
  }

  const Function& function_;
  const MemoryLayout& memory_;
  std::vector<Derived> registers_;
  std::set<std::uint32_t> starts_;
};

}  // namespace

std::vector<Extent> address_extents(const Function& function, const MemoryLayout& memory) {
  return Analysis(function, memory).run();
}

}  // namespace ak::emulator
