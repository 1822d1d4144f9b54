// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/plan/problem.h"

namespace ak::codegen {

/// The problem's reference as Python source with a top-level run() that takes the inputs and returns the outputs, as
/// FlashInfer-Bench's definitions have it; params of the problem are fixed in it, and tensors that a definition lacks
/// have their defaults. Of a problem whose reference is a Python file of another form, that file with run() added; where
/// this cannot be (inputs in lists and dictionaries), the file as it is.
[[nodiscard]] std::string reference_with_run(const ProblemInstance& problem);

}  // namespace ak::codegen
