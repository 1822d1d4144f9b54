// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ak {

/// Writes to standard error as it may be seen there: control characters written out, lines of more than 16 KiB
/// cut. Fails silently: a full disk behind a log must not end a run, and fmt::print would throw.
void write_stderr(std::string_view text);

/// Prints to standard error, for the person at the terminal.
template <class... Args>
void print_stderr(fmt::format_string<Args...> format, Args&&... args) {
  write_stderr(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ak
