// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/evaluator/local_evaluator.h"

namespace ak::runtime {

struct DumpRequest {
  std::shared_ptr<const ProblemInstance> problem;
  std::vector<std::string> workloads;  ///< names
  std::uint64_t seed = 0;
  std::filesystem::path folder;  ///< existing, absolute
  bool given_only = false;  ///< only inputs that the folder has already (dump_files.h), none that are drawn
};

/// Builds a problem's references, runs them on a device and has the worker write inputs and results
/// (runtime/check/data_dump.h). Blocks. Returns how it ended; throws Error as an evaluator does.
/// @param device facts of the device that `options` names.
[[nodiscard]] Outcome dump_references(const EvaluatorOptions& options, const SourceAssembler& assembler,
                                      const DeviceFacts& device, const DumpRequest& request);

}  // namespace ak::runtime
