// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/evaluation.h"

namespace ak::codegen {

struct NewProblem {
  std::vector<std::string> outputs;  ///< pointers that are outputs; empty: those that are not const
  bool reference_is_right = false;   ///< the kernel itself, in fp64, is the reference
};

/// Writes a problem folder for the user's own kernel: problem.json, workloads.jsonl, reference.cu and a copy
/// of the kernel with a launch plan, made from the signature of its first __global__ function. What cannot be
/// known is marked FILL-IN with a sentence saying what belongs there. Returns what is left to fill in, one
/// line each. Throws Error(bad_input) when the file has no __global__ function, Error(output) when `folder`
/// exists and is not empty.
/// Host code of the file says how the kernel is launched, and is left out of the copy. A kernel whose pointers are all
/// non-const needs `outputs`: else Error(usage).
std::vector<std::string> new_problem(const std::filesystem::path& folder, const std::filesystem::path& kernel,
                                     const NewProblem& request = {});

}  // namespace ak::codegen
