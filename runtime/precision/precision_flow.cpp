// SPDX-License-Identifier: Apache-2.0
#include "runtime/precision/precision_flow.h"

#include <algorithm>

#include "runtime/precision/flow_state.h"

namespace ak::runtime {
namespace {

// Every round but the last adds something to a finite state; real programs need fewer than ten (chosen).
constexpr int kMaxRounds = 200;

/// Applies every instruction once. @return the first use of narrowed data that the state shows.
std::optional<NarrowedUse> apply_all(FlowState& state, const DataFormat& format) {
  std::optional<NarrowedUse> first;
  for (std::uint32_t f = 0; f < state.module().functions.size(); ++f) {
    const auto& instructions = state.module().functions[f].instructions;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      state.at(f, i);
      auto found = apply_instruction(state, format);
      if (found && !first) first = std::move(found);
    }
  }
  return first;
}

std::string spelling_at(const emulator::Module& module, int line) {
  for (const emulator::Function& function : module.functions) {
    const auto found = std::ranges::find(function.instructions, line, &emulator::Instruction::ptx_line);
    if (found != function.instructions.end()) return found->spelling();
  }
  return {};
}

}  // namespace

std::optional<NarrowedUse> find_narrowed_use(const emulator::Module& module, const DataFormat& format) {
  FlowState state(module);
  std::optional<NarrowedUse> found;
  for (int round = 0; round < kMaxRounds; ++round) {
    state.begin_round();
    found = apply_all(state, format);
    if (!state.changed()) break;
  }
  if (found && found->narrowed_line != 0) found->narrowed_by = spelling_at(module, found->narrowed_line);
  return found;
}

}  // namespace ak::runtime
