// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/embedded_file.h"

namespace ak {

/// Folders of the disk where shipped data files are looked for, first hit wins: those of the environment variable
/// `variable` (colon-separated), the data folder of the installed tree that the program (program_file()) is in
/// (usually <program>/../share/alphakernel/`name`) and, for a program in its build folder, `source`: the tree that it
/// was built from.
[[nodiscard]] std::vector<std::filesystem::path> data_search_path(const char* variable,
                                                                  const std::string& name,
                                                                  const std::filesystem::path& source);

/// Data that is compiled into the program has paths too, such as "compiled-in:templates/softmax/problem.json". They are
/// no places on the disk: what may be compiled in is read through the functions of the room that embeds it.
[[nodiscard]] std::filesystem::path compiled_in_folder(std::string_view name);
[[nodiscard]] bool is_compiled_in(const std::filesystem::path& path);

/// The file of a compiled-in path; null where there is none. @param files are named as paths below "compiled-in:"
[[nodiscard]] const EmbeddedFile* find_compiled_in(std::span<const EmbeddedFile> files,
                                                   const std::filesystem::path& path);

}  // namespace ak
