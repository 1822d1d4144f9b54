// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace ak::runtime {

/// The token in a file of at least 32 characters that only its owner may read, without spaces at its end. It is never
/// shown. Throws Error(bad_input) saying how to make one.
[[nodiscard]] std::string read_token(const std::filesystem::path& file);

}  // namespace ak::runtime
