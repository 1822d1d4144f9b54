// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "app/evaluate/kernel_choice.h"
#include "app/operations/operation.h"
#include "app/setup/target.h"
#include "codegen/problem/problem_catalog.h"

namespace ak::operations {

/// The problem that `problem` names, by name or by folder; else `fallback`. Throws Error(usage)
/// when neither does.
[[nodiscard]] codegen::Problem problem_of(const Json& request, const std::string& fallback);

/// It under `params` and `shape`, above `defaults`. Throws Error as the catalogue does.
[[nodiscard]] std::shared_ptr<const ProblemInstance> instance_of(const codegen::Problem& problem,
                                                                 const Json& request, const Params& defaults);

/// A kernel and what it is to be tried on.
struct KernelTask {
  app::KernelChoice kernel;
  std::shared_ptr<const ProblemInstance> problem;
};
/// Of `source`, `path` or `variant`, and the members above. Throws Error(usage) unless it is exactly one of
/// the three, Error(bad_input) with the line where the file is wrong.
[[nodiscard]] KernelTask kernel_task(const Json& request, const Context& context);

/// Of `device` and `arch`, else of the configuration. Throws Error as choose_target() does.
[[nodiscard]] app::Target target_of(const Json& request, const Context& context);

}  // namespace ak::operations
