// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace ak::fuzz {

/// Writes `input` to a file of this name in a folder of this process, which goes when the process ends.
[[nodiscard]] std::filesystem::path input_file(std::string_view name, std::string_view input);

/// An empty folder of this process; one of the same name is emptied.
[[nodiscard]] std::filesystem::path empty_folder(std::string_view name);

/// A reader of a file that a user wrote.
struct FileReader {
  std::string_view name;  ///< of the file
  void (*read)(const std::filesystem::path& file);
};

/// Each of the readers on a file that holds `input`. Whatever is wrong with it is Error(bad_input).
void read_with(std::span<const FileReader> readers, std::string_view input);

/// The lines, without their newlines.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view input);

}  // namespace ak::fuzz
