// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "app/setup/config.h"
#include "app/setup/target.h"
#include "core/audit.h"
#include "core/plan/problem.h"

namespace ak::app {

/// Compares the problem's formulas with what the CPU device counts of the reference's twin, on the workloads of tier
/// emulator and on shapes of which one axis is longer (docs/checking.md, Formulas): a finding of kind `formula` for
/// each formula. Of a reference in Python bytes alone, with the sizes of tensors. Blocks. Throws Error as
/// runtime::count_work does.
/// @param target has the CPU device
/// @param workloads that take the place of those of tier emulator; empty: those
[[nodiscard]] std::vector<AuditFinding> audit_formulas(const ProblemInstance& problem, const Target& target,
                                                       const Config& config,
                                                       const std::vector<std::string>& workloads,
                                                       std::uint64_t seed);

}  // namespace ak::app
