// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ak::db {

/// What is wrong with a file; empty: nothing. Structure, constraints, references and content hashes
/// are looked at. Throws Error(database) when it cannot be read at all.
[[nodiscard]] std::vector<std::string> verify(const std::filesystem::path& file);

}  // namespace ak::db
