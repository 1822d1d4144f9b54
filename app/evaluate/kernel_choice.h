// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/store.h"

namespace ak::app {

/// A kernel named on the command line, and what it says it is for.
struct KernelChoice {
  Candidate candidate;
  std::string problem;  ///< empty: it does not say
  Params params;
  std::optional<RowId> variant = {};  ///< where it came from the database
};

/// From the text of a .cu file called `name`. Throws Error(bad_input) with the place of a mistake.
[[nodiscard]] KernelChoice kernel_of_source(const std::string& name, const std::string& source);

/// From a .cu file. Throws Error(bad_input) with the place of a mistake.
[[nodiscard]] KernelChoice kernel_of_file(const std::string& path);

/// From the database: `variant` is a row of `variants`. Throws Error(usage) when there is none.
[[nodiscard]] KernelChoice kernel_of_variant(const std::filesystem::path& database,
                                             const std::string& variant);

/// Every way in which a command line names a kernel, for help and messages.
inline constexpr const char* kKernelForms =
    "a .cu file, a k.result.json, or of the database: a variant's number (12 or variant:12), four or more "
    "digits of its key, or search:NUMBER for what a search ended with";

/// A kernel as a command line names it (kKernelForms). Throws Error(usage) where that is nothing, or
/// several, Error(no_kernel) for a search that ended without one.
[[nodiscard]] KernelChoice choose_kernel(const std::string& word, const std::filesystem::path& database);
/// Whether a word can name a kernel so.
[[nodiscard]] bool names_kernel(const std::string& word);

/// The row of `choice` among the variants of a definition. Of a file that a run wrote, it is what that run
/// found, where k.result.json alongside it says so and the file is still as it was written.
/// @param file that the kernel was read from
/// @param definition its name; empty: any
[[nodiscard]] std::optional<RowId> known_variant(const std::filesystem::path& database,
                                                 const KernelChoice& choice, const std::string& file,
                                                 const std::string& definition = "");

/// Order of rows of the views `best_kernels` and `leaderboard` of a definition: times of GPUs before estimated costs, the
/// problem's own shapes before others, whose scores do not compare.
inline constexpr std::string_view kBestFirst = "score_us IS NULL, shapes_number, score_us, emulated_cost_us";

/// The fastest verified variant of a definition, in that order; nothing where there is none.
/// @param device  part of the product's name; empty: any
/// @param arch  target; empty: any
[[nodiscard]] std::optional<RowId> best_variant(const std::filesystem::path& database,
                                                const std::string& definition, const std::string& device,
                                                const std::string& arch);

/// A number, as variants are named.
[[nodiscard]] bool is_variant(const std::string& word);

}  // namespace ak::app
