// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ak {

/// A preprocessor line that includes something, found with comments, raw strings, spliced lines
/// and digraphs undone.
struct IncludeLine {
  std::string name;       ///< as written between <> or ""; empty when it is a macro
  int line = 0;           ///< 1-based, of the directive's first line
  int last_line = 0;      ///< where the directive ends (spliced lines)
  bool top_level = true;  ///< outside every #if
};

/// Every #include and #embed of a source text, in order.
[[nodiscard]] std::vector<IncludeLine> scan_includes(std::string_view source);

/// Where what follows a line begins, counted from 1; 0 for line 0, the end of the text behind its last one.
[[nodiscard]] std::size_t offset_behind_line(std::string_view text, int line);

/// The text with comments and string contents replaced by blanks, lines kept: what a search for host
/// code looks at.
[[nodiscard]] std::string blank_comments_and_strings(std::string_view source);

}  // namespace ak
