// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/precision/precision_errors.h"
#include "app/search/search_command.h"

namespace ak::app {

/// A precision that was asked for, and what came of it.
struct PrecisionTrial {
  std::string name;  ///< "dtype=float16", or the definition's where nothing was left open
  std::string definition;
  PrecisionErrors errors;
  double bound = 0;                         ///< on the errors of its kernels
  std::optional<double> score_ns;           ///< of its best kernel
  std::optional<double> predicted_ns = {};  ///< of that, where predicted times rank
  std::optional<double> error;              ///< of that one against the one reference, at most
  std::string note;                         ///< why it has no kernel; empty: it has
  bool chosen = false;
};

struct PrecisionReport {
  double max_error = 0;
  std::vector<std::string> inputs_like;  ///< as of precision_errors()
  std::string widest;                    ///< definition whose inputs the one reference has
  bool emulated = false;
  std::vector<PrecisionTrial> trials;  ///< in the order in which they were tried
};
[[nodiscard]] Json precision_json(const PrecisionReport& report);
/// Lines for the terminal.
[[nodiscard]] std::vector<std::string> precision_lines(const PrecisionReport& report);

/// A precision, ready to search.
struct PrecisionChoice {
  std::string name;
  GenerateCommand command;
};

/// What kernels have to hold.
struct StatedError {
  double max_error = 0;
  std::vector<std::string> inputs_like;           ///< as of precision_errors()
  std::shared_ptr<const ProblemInstance> widest;  ///< whose inputs the reference has
};

/// Searches the precisions in order of promise, each with its share of what is left of the budgets, for kernels whose error
/// against one reference in float64, on the inputs of the widest precision, is at most what is stated; all usual gates hold as
/// well. Reports the fastest as run_to_end() does. All choices write to one output and are of one target.
/// Throws Error(no_kernel) where no precision has one, saying how near each comes.
[[nodiscard]] int run_precisions(std::vector<PrecisionChoice> choices, const StatedError& stated,
                                 std::chrono::steady_clock::time_point command_start, const ShowSearch& show);

}  // namespace ak::app
