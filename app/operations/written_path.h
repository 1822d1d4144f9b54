// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace ak::operations {

/// Where an operation may write `given`: its folder without symbolic links, and its name. Throws Error(usage) naming
/// `what` where that is not below the working directory, or its folder does not exist.
[[nodiscard]] std::filesystem::path below_working_directory(const std::string& given, std::string_view what);

/// `given` as a new folder below the working directory, or an empty one: nothing in it is replaced, and no link in it
/// leads elsewhere. Not made yet. Throws Error(usage).
[[nodiscard]] std::filesystem::path new_folder(const std::string& given);

}  // namespace ak::operations
