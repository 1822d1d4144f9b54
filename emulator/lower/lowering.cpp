// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/lowering.h"

#include <fmt/format.h>

#include <algorithm>

namespace ak::emulator {

const Operand& Lowering::operand(std::size_t i) const {
  if (i >= operand_count()) unsupported("too few operands");
  return instruction().operands[i];
}

Type Lowering::type(int from_back) const {
  const auto all = modifiers();
  for (std::size_t i = all.size(); i-- > 0;) {
    const auto found = parse_type(all[i]);
    if (found && from_back-- == 0) return *found;
  }
  unsupported("an instruction without a type");
}

void Lowering::accept_modifiers(std::initializer_list<std::string_view> known) const {
  for (const std::string_view modifier : modifiers()) {
    if (parse_type(modifier) || std::find(known.begin(), known.end(), modifier) != known.end()) continue;
    unsupported(fmt::format("modifier .{}", modifier));
  }
}

std::vector<Slot> Lowering::sources(const Operand& list, Type type) {
  if (list.kind != OperandKind::list) return {source(list, type)};
  std::vector<Slot> slots;
  for (const Operand& element : list.elements) slots.push_back(source(element, type));
  return slots;
}

std::vector<Slot> Lowering::destinations(const Operand& list, Type type) {
  if (list.kind != OperandKind::list) return {destination(list, type)};
  std::vector<Slot> slots;
  for (const Operand& element : list.elements) slots.push_back(destination(element, type));
  return slots;
}

}  // namespace ak::emulator
