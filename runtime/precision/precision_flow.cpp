// SPDX-License-Identifier: Apache-2.0
#include "runtime/precision/precision_flow.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/precision/flow_state.h"

namespace ak::runtime {
namespace {

// Every round but the last adds something to a finite state; real programs need fewer than ten (chosen).
constexpr int kMaxRounds = 200;

/// Uses of narrowed data, by function and instruction.
using Uses = std::map<std::pair<std::uint32_t, std::uint32_t>, NarrowedUse>;

/// Applies every instruction once that may do something else than before, and keeps what each finds in `uses`.
void apply_all(FlowState& state, const DataFormat& format, Uses& uses) {
  for (std::uint32_t f = 0; f < state.module().functions.size(); ++f) {
    const auto& instructions = state.module().functions[f].instructions;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      state.at(f, i);
      if (state.is_settled()) continue;
      if (auto found = apply_instruction(state, format))
        uses.insert_or_assign({f, i}, std::move(*found));
      else if (!uses.empty())
        uses.erase({f, i});
    }
  }
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
  Uses uses;
  for (int round = 0; round < kMaxRounds; ++round) {
    state.begin_round();
    apply_all(state, format, uses);
    if (!state.changed()) break;
  }
  if (uses.empty()) return std::nullopt;
  std::optional<NarrowedUse> found = std::move(uses.begin()->second);
  if (found->narrowed_line != 0) found->narrowed_by = spelling_at(module, found->narrowed_line);
  return found;
}

}  // namespace ak::runtime
