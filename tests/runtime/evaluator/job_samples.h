// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/evaluator/evaluation_job.h"
#include "tests/support/tiny_problem.h"

namespace ak::runtime::test {

inline constexpr Arch kTarget{.major = 9, .minor = 0, .feature = 'a'};

/// The H200 that kTarget stands for, as its driver describes it; nominal_device() knows no clocks.
[[nodiscard]] DeviceFacts target_device();

/// What launch plans see of the device that kTarget stands for.
[[nodiscard]] Environment target_environment();

/// A request to time "dir/add.cu", whose kernel is `add`.
[[nodiscard]] EvaluationRequest add_request(const ak::test::TinyProblem& tiny);

/// As if the compiler had built that kernel.
[[nodiscard]] BuildResult add_build();

/// A job of that request that has been built, and is to be inspected next.
[[nodiscard]] EvaluationJob built_job(const ak::test::TinyProblem& tiny);

/// The same after it was inspected: its plans are resolved.
[[nodiscard]] EvaluationJob inspected_job(const ak::test::TinyProblem& tiny,
                                          DeviceKind device = DeviceKind::cuda);

/// A cold time of the candidate on a workload.
[[nodiscard]] Measurement cold_time(const std::string& workload, double median_ns);

}  // namespace ak::runtime::test
