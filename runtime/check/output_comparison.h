// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "runtime/check/data_set.h"

namespace ak::runtime {

/// An output compared with its reference, and the element that a message is about: one of the wrong class first,
/// else the one with the largest error.
struct ComparedOutput {
  Comparison comparison;
  double got = 0, expected = 0;

  [[nodiscard]] std::int64_t index() const {
    return comparison.first_nonfinite >= 0 ? comparison.first_nonfinite : comparison.worst;
  }
};

/// Compares what lies at `got`, or the twin's result where there is none, with the exact result: element by
/// element, or where the output's rule asks for it what its indices select, and its rows in ascending order.
/// Nothing else may have the reference mapped. Throws CudaError.
[[nodiscard]] ComparedOutput compare_output(const RunContext& run_context, const DataSet& data,
                                            const ReferenceData& reference, std::optional<CUdeviceptr> got,
                                            const ErrorLimits& limits);

/// The bounds of an output whose twin compares so. @param exact of the reference, mapped
[[nodiscard]] ErrorBounds bounds_of(const RunContext& run_context, const DataSet& data,
                                    const ReferenceData& reference, const Comparison& twin);

}  // namespace ak::runtime
