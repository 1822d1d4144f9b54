// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/launch_plan.h"

namespace ak::codegen {

/// One workload of a stand-alone test, with the launches it does of the kernel and of each of its two
/// references before it.
struct ProfiledWorkload {
  std::string name;
  const ResolvedPlan* kernel = nullptr;
  const ResolvedPlan* reference = nullptr;
};

/// Shell commands, a line each, that run a stand-alone test built as ./`stem`_test under Nsight Compute (the
/// first call of the kernel on `profiled`, all sections, into a report with its sources, and that report line
/// by line) and under the four tools of compute-sanitizer (on `checked`; they take up to hundreds of times as
/// long). Results are right for a test built with -lineinfo.
[[nodiscard]] std::string stand_alone_commands(const std::string& stem, const ProfiledWorkload& profiled,
                                               const std::string& checked);

}  // namespace ak::codegen
