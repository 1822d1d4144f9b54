// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/evaluator/local_evaluator.h"

namespace ak::runtime {

/// What the reference's twin did in one call on one workload, counted by the CPU device.
struct WorkCount {
  std::string workload;
  double flops = 0;               ///< of executed floating-point instructions; a multiply-add has two
  double integer_operations = 0;  ///< executed integer instructions, those that compute addresses among them
  double bytes_read = 0;          ///< different bytes of inputs
  double bytes_written = 0;       ///< different bytes of outputs
};

/// Counts on every workload of the problem, on inputs of its timed distribution that are drawn from `seed`, which is
/// at least 1. Blocks; starts workers of its own. The problem has a reference.cu and `options` name the CPU device.
/// Throws Error as an evaluator does, and Error(environment) where the CPU device cannot run the reference.
/// @param device facts of the CPU device
[[nodiscard]] std::vector<WorkCount> count_work(const EvaluatorOptions& options,
                                                const SourceAssembler& assembler, const DeviceFacts& device,
                                                const std::shared_ptr<const ProblemInstance>& problem,
                                                std::uint64_t seed);

}  // namespace ak::runtime
