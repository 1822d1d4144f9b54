// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/ast.h"

#include <algorithm>

namespace ak::emulator {

bool Instruction::has(std::string_view modifier) const {
  return std::ranges::find(modifiers, modifier) != modifiers.end();
}

std::string Instruction::spelling() const {
  std::string text(opcode);
  for (const std::string_view modifier : modifiers) text.append(".").append(modifier);
  return text;
}

std::string Register::name() const {
  std::string text(stem);
  if (number != kNone) text.append(std::to_string(number));
  return text.append(suffix);
}

}  // namespace ak::emulator
