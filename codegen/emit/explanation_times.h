// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "codegen/emit/emit.h"

namespace ak::codegen {

/// The section on a kernel's times, or on what the CPU device counted: every time next to the shape's floor.
[[nodiscard]] std::string times_section(const ProblemInstance& problem, const EvaluationResult& result,
                                        const RunSummary& run);

/// "2.30 times as fast as naive (75.46 us)", or that it is slower. Both in ns.
[[nodiscard]] std::string speed_text(double time_ns, double baseline_ns, const std::string& baseline);

}  // namespace ak::codegen
