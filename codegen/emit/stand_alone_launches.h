// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/plan/launch_plan.h"
#include "core/plan/problem.h"

namespace ak::codegen {

/// Names of the tensors of a definition, inputs first: the order of the stand-alone test's tables.
[[nodiscard]] std::vector<std::string> tensor_names(const Definition& definition);

/// A host function that does the launches of a resolved plan, for the stand-alone test.
[[nodiscard]] std::string launch_function(const std::string& name, const ResolvedPlan& plan,
                                          const std::vector<std::string>& tensors);

/// `{&name, {{bytes, zero}, ...}}`: the function and the workspace it needs.
[[nodiscard]] std::string sequence_row(const std::string& name, const ResolvedPlan& plan);

}  // namespace ak::codegen
