// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ak {

/// Lines at the bottom of the terminal behind standard error, below all that print_stderr() prints; they take the place
/// of the last ones. None: the block goes. Each line is text of our own, sequences included, and narrower than the
/// terminal, since lines that wrap could not be taken back. Any thread.
void set_stderr_block(std::vector<std::string> lines);

/// Writes to standard error, above the block where there is one. Fails silently.
void write_above_block(std::string_view bytes);

}  // namespace ak
