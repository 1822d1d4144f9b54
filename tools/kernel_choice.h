// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/candidate.h"
#include "core/problem.h"
#include "tools/verb.h"

namespace ak::tools {

/// A kernel named on the command line, and what it says it is for.
struct KernelChoice {
  Candidate candidate;
  std::string problem;  ///< empty: it does not say
  Params params;
};

/// From the text of a .cu file called `name`. Throws Error(bad_input) with the place of a mistake.
[[nodiscard]] KernelChoice kernel_of_source(const std::string& name, const std::string& source);

/// From a .cu file. Throws Error(bad_input) with the place of a mistake.
[[nodiscard]] KernelChoice kernel_of_file(const std::string& path);

/// From the database: `variant` is a row of `variants`. Throws Error(usage) when there is none.
[[nodiscard]] KernelChoice kernel_of_variant(const std::filesystem::path& database,
                                             const std::string& variant);

/// A number, as variants are named.
[[nodiscard]] bool is_variant(const std::string& word);

/// The kernel file among the arguments: the first one ending in .cu that is not the value of --output; empty
/// when there is none.
[[nodiscard]] std::string kernel_argument(const Arguments& arguments);

}  // namespace ak::tools
