// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>

namespace ak::fuzz {

// Where numbers end, and what texts nest and end with.
inline constexpr std::array kPieces{"0",
                                    "-1",
                                    "2147483648",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551615",
                                    "1e308",
                                    "1e999",
                                    "null",
                                    "true",
                                    "\"\"",
                                    "[]",
                                    "{}",
                                    "[",
                                    "{",
                                    "\"",
                                    "\\",
                                    "\n",
                                    "\xff",
                                    "data: "};

/// Draws of one seed, which are the same everywhere: the library's distributions are not.
class Changes {
 public:
  explicit Changes(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] std::string apply(std::string text, const std::string& other) {
    for (std::size_t change = below(4) + 1; change > 0; --change) change_once(text, other);
    return text;
  }
  [[nodiscard]] std::size_t below(std::size_t end) { return end == 0 ? 0 : engine_() % end; }

 private:
  void change_once(std::string& text, const std::string& other) {
    const std::size_t at = below(text.size() + 1),
                      length = below(std::min<std::size_t>(text.size() - at + 1, 40));
    switch (below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      case 2:
        text.replace(at, length, kPieces[below(kPieces.size())]);
        break;
      case 3:
        text.replace(at, length, other.substr(below(other.size()), below(200)));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(engine_());
    }
  }

  std::mt19937_64 engine_;
};

}  // namespace ak::fuzz
