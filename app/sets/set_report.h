// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/sets/set_candidate.h"
#include "core/plan/problem.h"
#include "core/sets/set_record.h"

namespace ak::app {

/// A kernel set as users see it.
struct SetReport {
  RowId set = 0;
  codegen::KernelSet kernels;
  SetRecord record;
  bool emulated = false;           ///< times are costs
  std::vector<std::string> notes;  ///< what was tried and is no member, and why
};

/// "2 members, 1.3 % slower than the best point of each of 5 shapes".
[[nodiscard]] std::string set_sentence(const SetReport& report);

/// Lines for a terminal: the sentence, the rule, the regret, notes.
[[nodiscard]] std::vector<std::string> set_lines(const SetReport& report);

/// The section of k.explanation.md: rule, times by shape, regret.
[[nodiscard]] std::string set_section(const SetReport& report);

/// `set` of k.result.json (docs/result_json.md).
[[nodiscard]] Json set_json(const SetReport& report);

}  // namespace ak::app
