// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/value_flow.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ak::emulator {
namespace {

constexpr std::pair<std::string_view, FlowKind> kKinds[] = {
    {"mov", FlowKind::copy},
    {"cvta", FlowKind::copy},
    {"and", FlowKind::bits_and},
    {"or", FlowKind::bits_or},
    {"xor", FlowKind::bitwise},
    {"not", FlowKind::bitwise},
    {"lop3", FlowKind::bitwise},
    {"selp", FlowKind::choose},
    {"ld", FlowKind::by_handler},
    {"ldu", FlowKind::by_handler},
    {"st", FlowKind::by_handler},
    {"shfl", FlowKind::by_executor},
    {"vote", FlowKind::across},
    {"match", FlowKind::across},
    {"redux", FlowKind::across},
    {"ldmatrix", FlowKind::by_handler},
    {"mma", FlowKind::by_executor},
    {"wmma", FlowKind::across},
    {"wgmma", FlowKind::across},
    {"movmatrix", FlowKind::across},
    {"stmatrix", FlowKind::nothing_written},
    {"atom", FlowKind::nothing_written},
    {"red", FlowKind::nothing_written},
    {"cp", FlowKind::nothing_written},
};

FlowKind flow_of_conversion(const Instruction& conversion) {
  std::vector<Type> types;
  for (const std::string_view modifier : conversion.modifiers) {
    if (const auto type = parse_type(modifier)) types.push_back(*type);
  }
  const bool integers = types.size() == 2 && conversion.modifiers.size() == 2 &&
                        std::none_of(types.begin(), types.end(), [](Type type) { return is_float(type); });
  if (!integers) return FlowKind::compute;
  return is_signed(types[1]) ? FlowKind::resize_signed : FlowKind::resize;
}

}  // namespace

FlowKind flow_of(const Instruction& instruction) {
  if (instruction.opcode == "cvt") return flow_of_conversion(instruction);
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const auto& kind) { return kind.first == instruction.opcode; });
  return found == std::end(kKinds) ? FlowKind::compute : found->second;
}

}  // namespace ak::emulator
