// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "app/audit/exploit_suite.h"
#include "app/setup/config.h"
#include "app/setup/target.h"

namespace ak::app {

struct SelfcheckOptions {
  std::vector<int> rows;          ///< empty: all
  std::vector<std::string> only;  ///< parts of exploits' names; empty: all
  std::optional<Gate> gate;       ///< only what this gate is to stop
  bool exploits = true, templates = true;
  int samples =
      1;  ///< points of each template in addition to its defaults, under any of the problem's dtypes and flags
  /// How many honest kernels that look like cheats are tried, picked at random where there are more.
  std::size_t lookalikes = std::numeric_limits<std::size_t>::max();
  std::uint64_t seed = 1;  ///< of inputs and samples
};

enum class SelfcheckVerdict : std::uint8_t {
  caught,          ///< stopped by the gate it is there for
  other_gate,      ///< stopped, but by another one
  missed,          ///< reached its goal
  unclear,         ///< ended in a way that no gate accounts for
  not_applicable,  ///< cannot be tried on this device
};
[[nodiscard]] std::string_view to_string(SelfcheckVerdict verdict);

struct ExploitReport {
  Exploit exploit;
  SelfcheckVerdict verdict = SelfcheckVerdict::unclear;
  Outcome outcome;
  std::optional<double> score_ns = std::nullopt, honest_ns = std::nullopt;
};

/// Of an honest kernel: a template at one point, or a look-alike of a cheat.
struct TemplateReport {
  std::string definition, file, tunables;
  Outcome outcome;
  bool skipped = false;  ///< a point that is not for this device or these shapes
  bool passed = false;
};

struct SelfcheckReport {
  std::vector<ExploitReport> exploits;
  std::vector<TemplateReport> templates;
  [[nodiscard]] bool passed() const;  ///< no miss, no other gate, nothing unclear, no false positive
};

/// Runs the suite, look-alikes and the shipped templates through the ordinary evaluator. `progress` hears how many of
/// how many evaluations have ended. Throws Error(environment) as make_evaluator does.
[[nodiscard]] SelfcheckReport run_selfcheck(const Target& target, const Config& config,
                                            const SelfcheckOptions& options,
                                            const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace ak::app
