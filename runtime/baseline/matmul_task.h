// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "runtime/process/device_messages.h"

namespace ak::runtime {

/// c[m, n] = activation(sum over k of a[m, k] b[k, n] + bias[n]), c by rows.
struct MatmulTask {
  std::int64_t m = 0, n = 0, k = 0;
  DType input = DType::float32, output = DType::float32;
  bool a_by_columns = false, b_by_columns = false;  ///< else by rows
  bool tf32 = false;                                ///< float32 operands may be rounded to tf32
  bool bias = false;                                ///< of the input's type
  std::string activation = "none";
};

/// Reads a workload of a problem shaped like gemm: inputs a, b and perhaps bias, output c, params a_layout,
/// b_layout ("row" or "column"), precision and activation where they are not the default. The error says
/// what is missing.
[[nodiscard]] Result<MatmulTask> matmul_task(const OpenProblem& problem, const WorkloadLayout& workload);

}  // namespace ak::runtime
