// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ak::codegen {

// Files of problem folders: on the disk, or of the shipped problems that are compiled in, whose folders are
// "compiled-in:templates/NAME" (core/text/data_files.h).

inline constexpr const char* kProblemFile = "problem.json";

/// Names of the folders of `root` that have a problem.json, sorted; none where `root` cannot be read.
[[nodiscard]] std::vector<std::string> problem_folder_names(const std::filesystem::path& root);

/// Names of the files of a problem's folder, sorted. Throws Error(bad_input) where it cannot be read.
[[nodiscard]] std::vector<std::string> problem_file_names(const std::filesystem::path& folder);

[[nodiscard]] bool has_problem_file(const std::filesystem::path& folder, std::string_view name);

/// Throws Error(bad_input) naming the file where it cannot be read, or is not inside the folder.
[[nodiscard]] std::string read_problem_file(const std::filesystem::path& folder, std::string_view name);

}  // namespace ak::codegen
