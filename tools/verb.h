// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "app/setup/arguments.h"

namespace ak::tools {

// Groups of verbs, as `alphakernel --help` shows them.
inline constexpr std::string_view kFindVerbs = "Find kernels", kJudgeVerbs = "Judge and use a kernel",
                                  kRecordVerbs = "Look at what was found",
                                  kProblemVerbs = "Problems and experiments",
                                  kModelVerbs = "Predict and learn", kServeVerbs = "For programs and agents",
                                  kProgramVerbs = "This program and this machine";

/// One word of the command line: `alphakernel NAME ...`. The table of verbs is in tools/CMakeLists.txt; each row is
/// a file in tools/verbs/ that defines one of these.
struct Verb {
  std::string_view name;
  std::string_view summary;                     ///< one line for `alphakernel --help`; empty hides it
  int (*run)(const app::Arguments& arguments);  ///< returns the exit code; ak::Error is caught by main
  std::string_view group = {};                  ///< of a verb: where `alphakernel --help` shows it
};

/// All of them, in the order of the table.
[[nodiscard]] std::span<const Verb* const> verbs();

}  // namespace ak::tools
