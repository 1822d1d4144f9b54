// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ak::agent {

/// A text as one reads it who undoes an encoding. What is not encoded that way is in it as it is or, where only
/// encoded text makes sense, as one NUL for all of it.
struct Reading {
  struct Place {
    std::uint32_t begin = 0, end = 0;
  };

  std::string text;
  std::vector<Place>
      places;  ///< where in the source each character was read; empty: the source itself, or not kept

  /// Where in the source the characters [begin, end), one or more, were read.
  [[nodiscard]] Place source(std::size_t begin, std::size_t end) const;
};

/// Whether readings say where they were read: eight bytes a character, which a text without secrets need not cost.
enum class Places : bool { left_out, kept };

/// Calls `look` with `text` itself and with it read as escapes (of addresses, JSON, C, HTML and mail, in any mixture and
/// nested), as base64 in every alignment and alphabet, and as hexadecimal digits; escapes and one of the others also
/// within each other. An encoding that `text` has nothing of gives no reading.
/// @param text at most 4 GiB
void for_each_reading(std::string_view text, Places places, const std::function<void(const Reading&)>& look);

}  // namespace ak::agent
