// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ak {

/// Bytes of the character at the front of `text`, which is not empty; 0 when it is not well-formed UTF-8.
[[nodiscard]] std::size_t character_length(std::string_view text);

/// Whether a terminal, an editor or a browser obeys this character instead of showing it: the controls C0 and C1,
/// DEL, line and paragraph separators, marks without width, and all that changes the direction of text. Tab and line
/// feed are none of them.
/// @param character a whole one, as character_length() measures it
[[nodiscard]] bool is_control_character(std::string_view character);

/// `text` as it may go to a terminal or a log: control characters are written out as \u001b, in the form that JSON
/// has, too, so that JSON means the same; what is not UTF-8 becomes U+FFFD. CR LF stays.
/// @param max_line_bytes longer lines are cut, and say so; 0: none is cut
[[nodiscard]] std::string shown_text(std::string_view text, std::size_t max_line_bytes = 0);

}  // namespace ak
