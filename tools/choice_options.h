// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ak::tools {

/// An option that takes one of `choices`: another word is refused with the nearest of them, and help, man pages and
/// completion name them.
CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help);

/// Throws Error(usage): "unknown subcommand 'marge'; did you mean 'merge'?; expected merge, export, verify".
[[noreturn]] void refuse_word(std::string_view what, const std::string& given,
                              const std::vector<std::string>& known);

}  // namespace ak::tools
