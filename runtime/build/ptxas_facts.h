// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/build.h"

namespace ak::runtime {

/// Fills `kernel` (whose lowered_name is set) from ptxas's report in NVRTC's log (--ptxas-options=-v):
/// registers, spills, stack, static shared and constant memory, barriers. What the log does not
/// mention stays 0.
void read_ptxas_report(std::string_view log, KernelFacts& kernel);

/// Fills `kernel`'s parameter types and max_threads from its `.entry` in the PTX. False when there is
/// no such entry.
bool read_entry(std::string_view ptx, KernelFacts& kernel);

/// True for lines of ptxas's report, which is not about anything wrong.
[[nodiscard]] bool is_ptxas_report(std::string_view line);

}  // namespace ak::runtime
