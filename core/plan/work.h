// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/problem.h"

namespace ak {

/// Least work of one call on one workload, from the problem's formulas.
struct Work {
  double flops = 0;
  double bytes = 0;          ///< read and written
  double bytes_written = 0;  ///< part of it
};

/// Work that depends on drawn lengths differs between seeds: what is taken of some of them.
enum class DrawnWork : std::uint8_t {
  mean,   ///< what calls on changing contents need
  least,  ///< what every call needs
};

/// The value of one of the problem's formulas for one call. It may name `sum_NAME`, `max_NAME` and `used_NAME` of an
/// integer input that is drawn by `lengths` or `offsets` under the distribution that is timed, and `distinct_NAME` of any
/// (docs/problem.md#work-that-depends-on-lengths): then the draw is repeated here for some seeds. Refuses, naming the
/// formula, when it has no value.
[[nodiscard]] Result<double> amount_of(const Expression& formula, const ProblemInstance& problem,
                                       const Workload& workload, DrawnWork drawn = DrawnWork::mean);

/// All of them. Refuses as amount_of.
[[nodiscard]] Result<Work> work_of(const ProblemInstance& problem, const Workload& workload,
                                   DrawnWork drawn = DrawnWork::mean);
/// The same of inputs that are drawn from this seed.
[[nodiscard]] Result<Work> work_of_contents(const ProblemInstance& problem, const Workload& workload,
                                            std::uint64_t seed);

}  // namespace ak
