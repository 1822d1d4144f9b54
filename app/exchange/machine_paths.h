// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ak::app {

/// `text` without the absolute paths of a machine: what looks like one becomes "[path]", or "[path]/k.cu" where it names
/// a file inside folders, and so does what lies in one of `folders`, wherever that stands. Relative paths, includes and
/// divisions of formulas stay.
[[nodiscard]] std::string without_machine_paths(std::string_view text,
                                                std::span<const std::string> folders = {});

}  // namespace ak::app
