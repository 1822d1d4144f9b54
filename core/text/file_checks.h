// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace ak {

/// Throws Error(bad_input) where `file` is there and no regular file: reading from a pipe may wait for ever, and a
/// device has no end. read_file() checks that itself; this is for what opens files otherwise.
void require_regular_file(const std::filesystem::path& file);

/// Throws Error(output) where write_file_atomically() could not write `file`: asked before the work whose result goes
/// there. Leaves nothing.
void require_writable(const std::filesystem::path& file);

/// Standard input to its end, where a user or a parent process says so. Throws Error(bad_input) above `limit_bytes`.
[[nodiscard]] std::string read_standard_input(std::size_t limit_bytes = 64u << 20);

/// The file `name` of `folder`. Throws Error(bad_input) where it is not inside: an absolute name, one with "..", or a
/// link that leads out of the folder.
[[nodiscard]] std::filesystem::path file_inside(const std::filesystem::path& folder, std::string_view name);

}  // namespace ak
