// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ak {

/// Where shipped data files are looked for, first hit wins: the folders of the environment variable
/// `variable` (colon-separated), the data folder of the installed tree that the program (program_file()) is in (usually
/// <program>/../share/alphakernel/`name`), `source` (the tree the build was configured from).
[[nodiscard]] std::vector<std::filesystem::path> data_search_path(const char* variable,
                                                                  const std::string& name,
                                                                  const std::filesystem::path& source);

}  // namespace ak
