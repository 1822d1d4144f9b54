// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ak {

/// Where shipped data files are looked for, first hit wins: the folders of the environment variable
/// `variable` (colon-separated), <program>/../share/alphakernel/`name` (installed tree), `source` (the
/// tree the build was configured from).
[[nodiscard]] std::vector<std::filesystem::path> data_search_path(const char* variable,
                                                                  const std::string& name,
                                                                  const std::filesystem::path& source);

}  // namespace ak
