// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/unique_handle.h"

namespace ak {

void close_descriptor(int fd) noexcept;
using FileDescriptor = UniqueHandle<int, close_descriptor, -1>;

/// Whole file as bytes. Throws Error(bad_input) naming the file and the system's reason, or when it is larger
/// than `limit_bytes` (the default, 64 MiB, is far above any source or problem file).
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes = 64u << 20);

/// Replaces `path` atomically (temporary file in the same folder, fsync, rename), so that a reader or a crash
/// sees the old content or the new, never half. Throws Error(output).
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace ak
