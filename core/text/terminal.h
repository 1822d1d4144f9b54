// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ak {

/// Whether a terminal is behind `descriptor` that obeys sequences (ECMA-48): TERM=dumb says that it does not.
[[nodiscard]] bool obeys_sequences(int descriptor);

/// Columns of the terminal behind `descriptor`; 80 where it does not say.
[[nodiscard]] int terminal_columns(int descriptor);

/// Lines at the bottom of the terminal behind standard error, below all that print_stderr() prints; they replace
/// the last ones. None: the block goes. Each line is text of our own, sequences included, and narrower than the
/// terminal, since lines that wrap could not be taken back. Any thread.
void set_stderr_block(std::vector<std::string> lines);

/// Writes to standard error, above the block where there is one. Fails silently.
void write_above_block(std::string_view bytes);

}  // namespace ak
