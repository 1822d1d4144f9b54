// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "app/operations/operation.h"

namespace ak::app {

/// A call of the tool `evaluate` by a coding agent, whose question lies in `folder`: the search that asked evaluates the
/// kernel and answers (docs/coding_agents.md). `request` has one of "source", "path" and "tunables". Blocks. Throws
/// Error(usage) for a request that is none, Error(bad_input) where the question is over.
[[nodiscard]] operations::Answer evaluate_for_agent(const std::filesystem::path& folder, const Json& request);

/// A call of another tool, done here: a profile is counted by the search first, and made on its device. Throws as the
/// operation does, too.
[[nodiscard]] operations::Answer run_for_agent(const std::filesystem::path& folder,
                                               const operations::Operation& operation, Json request,
                                               const operations::Context& context,
                                               const operations::Callbacks& callbacks);

}  // namespace ak::app
