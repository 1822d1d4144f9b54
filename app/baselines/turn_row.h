// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/baseline_turns.h"
#include "core/result.h"

namespace ak::app {

/// What the program that takes turns was asked for, as far as its rows have to fit it.
struct AskedTurns {
  std::vector<std::string> workloads, labels;
  bool rehearse = false;
};

struct TurnRow {
  BaselineTurns turns;
  std::string device;
};

/// A row of app/baselines/python/turns.py; nothing in it is trusted. The error says what is wrong with it.
[[nodiscard]] Result<TurnRow> read_turn_row(const Json& row, const AskedTurns& asked);

/// What such a program says of a baseline that was not timed, in one line.
[[nodiscard]] std::string fault_note(const Json& fault);

}  // namespace ak::app
