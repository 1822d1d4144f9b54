// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/device/arch.h"
#include "core/plan/launch_plan.h"

namespace ak::codegen {

/// One workload of a stand-alone test, with the launches it does of the kernel and of each of its two
/// references before it.
struct ProfiledWorkload {
  std::string name;
  const ResolvedPlan* kernel = nullptr;
  const ResolvedPlan* reference = nullptr;
};

/// Shell commands, one line each, that run a stand-alone test built as ./`stem`_test under Nsight Compute (the
/// first call of the kernel on `profiled`, all sections, into a report with its sources, and that report line
/// by line) and under the four tools of compute-sanitizer (on `checked`; they take up to hundreds of times as
/// long). Results are right for a test built with -lineinfo.
[[nodiscard]] std::string stand_alone_commands(const std::string& stem, const ProfiledWorkload& profiled,
                                               const std::string& checked);

/// nvcc's option for a build option of a launch plan ("fast_math").
[[nodiscard]] std::string nvcc_flag(const std::string& option);

/// nvcc's options to compile for a target, for the machine's own where the target is a plain one.
[[nodiscard]] std::string nvcc_target(const Arch& arch);

}  // namespace ak::codegen
