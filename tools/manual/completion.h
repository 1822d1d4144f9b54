// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/manual/command_tree.h"

namespace ak::tools {

/// A shell, and the script that completes this program's words in it.
struct Shell {
  std::string_view name;
  std::string (*script)(const CommandText& program);
};

/// bash, zsh and fish.
[[nodiscard]] std::span<const Shell> shells();

}  // namespace ak::tools
