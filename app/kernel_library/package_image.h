// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/build.h"

namespace ak::app {

/// Where the folder of a package keeps the machine code of an operator, beside what pip packs: a compiler that makes other
/// code from the same source is noticed by it.
[[nodiscard]] std::string image_path(const std::string& operator_name, const Arch& arch);
[[nodiscard]] std::string image_text(const BuildResult& build);
/// Throws Error(bad_input) where there is none, or it is no such file.
[[nodiscard]] BuildResult read_image(const std::filesystem::path& file);

}  // namespace ak::app
