// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ak::app {

/// `text` without the absolute paths of a machine: what looks like one becomes "[path]", or "[path]/k.cu" where it names
/// a file inside folders by a common extension, and so does what lies in one of `folders`, wherever that stands; one of
/// them of a single name ("/work") only where a path may begin. Relative paths, includes, addresses and divisions of
/// formulas stay.
/// @param folders absolute, the longest first
[[nodiscard]] std::string without_machine_paths(std::string_view text,
                                                std::span<const std::string> folders = {});

}  // namespace ak::app
