// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ak {

/// "553 ns for each of WAVES": what an amount that follows from a shape adds to a kernel's time.
struct TimeTerm {
  std::int64_t ps = 0;  ///< for each; more than 0
  std::string
      amount;  ///< an expression over sizes, tunables, names of the launch plan and facts of the device

  friend bool operator==(const TimeTerm&, const TimeTerm&) = default;
};

/// A kernel's time as the sizes of a shape tell it: a sum of terms. Whole picoseconds, so that every program that
/// compares two of them agrees; a feasible problem takes no 10^18 of them.
struct TimeEstimate {
  std::vector<TimeTerm> terms;

  /// "4.69 us + 553 ns * WAVES"; "0 ns" without terms.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const TimeEstimate&, const TimeEstimate&) = default;
};

/// Picoseconds for each of some amounts, none negative, so that the sums are as near as may be to measured times: a
/// shape's error counts as a part of its time (least squares).
/// @param amounts by shape and term: as many terms for every shape, no amount negative
/// @param times_ns by shape, positive
[[nodiscard]] std::vector<std::int64_t> fit_times(const std::vector<std::vector<std::int64_t>>& amounts,
                                                  const std::vector<double>& times_ns);

/// What a kernel took on some shapes.
struct TimedAmounts {
  std::vector<std::vector<std::int64_t>> amounts;  ///< by shape and term, none negative
  std::vector<double> times_ns;                    ///< by shape, positive
};

/// The same of kernels whose times are sums of the same terms, such as points of one template. By a few shapes of its own
/// each is off by chance, and whichever is off to the low side would be chosen; so factors are drawn to the mean of
/// those that the kernels have alone. One without a shape on which a term has an amount gets that mean.
/// @param kernels each with a shape at least, all with the same number of terms
[[nodiscard]] std::vector<std::vector<std::int64_t>> fit_alike(const std::vector<TimedAmounts>& kernels);

/// What such a fit says of a shape. @param ps, amounts by term
[[nodiscard]] double estimated_ns(const std::vector<std::int64_t>& ps,
                                  const std::vector<std::int64_t>& amounts);

}  // namespace ak
