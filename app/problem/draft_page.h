// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/problem/draft_examples.h"
#include "app/problem/draft_mark.h"
#include "codegen/problem/problem_catalog.h"

namespace ak::app {

/// All that a person has to know to say whether a drafted problem is what was meant: tensors, formulas, tolerance,
/// inputs, mistakes that are looked for, what its audit is not asked, examples with the reference's results, and the
/// reference itself. Lines of plain text; what a model wrote is in it without controls.
[[nodiscard]] std::string draft_page(const codegen::Problem& problem, const DraftMark& mark,
                                     const std::vector<ExampleRun>& examples);

}  // namespace ak::app
