// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace ak::runtime {

/// One block's share of a comparison, as the kernels write it.
struct BlockComparison {
  double max_error, sum_error, sum_square;
  std::uint64_t worst, wrong, far, unequal, nonfinite, first_nonfinite, unwritten, first_unwritten;
  std::uint64_t first_wrong, last_wrong, first_column, last_column;  ///< the last two 0 where none is wrong
};

/// A tensor compared with the reference. Errors are |got - expected| / (|expected| + rms(expected)), over
/// elements where the twin is finite. Indices are -1 where there is none.
struct Comparison {
  std::int64_t count = 0;
  double max_error = 0, mean_error = 0, rms_error = 0;
  std::int64_t worst = -1;
  std::int64_t wrong = 0;    ///< over the tolerance, or of those in `nonfinite`
  std::int64_t far = 0;      ///< far over it; of integers: more than 1 apart
  std::int64_t unequal = 0;  ///< not the exact result, rounded once to the type
  std::int64_t nonfinite =
      0;  ///< of another class (finite, NaN, +inf, -inf) than both the twin and the exact result
  std::int64_t first_nonfinite = -1;
  std::int64_t unwritten = 0;  ///< still holds the poison pattern
  std::int64_t first_unwritten = -1;
  std::int64_t first_wrong = -1, last_wrong = -1;
  std::int64_t first_column = -1, last_column = -1;  ///< least and largest last index of a wrong element
};
[[nodiscard]] Comparison merge_blocks(const std::vector<BlockComparison>& blocks, std::int64_t count);

}  // namespace ak::runtime
