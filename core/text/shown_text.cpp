// SPDX-License-Identifier: Apache-2.0
#include "core/text/shown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ak {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

struct Utf8Form {
  unsigned lead_low, lead_high;
  std::size_t bytes;
  unsigned second_low,
      second_high;  // stricter than 80..BF where overlong forms and surrogates must be refused
};
// Unicode 15, table 3-7 "Well-Formed UTF-8 Byte Sequences".
constexpr std::array kForms{Utf8Form{0x00, 0x7F, 1, 0, 0},       Utf8Form{0xC2, 0xDF, 2, 0x80, 0xBF},
                            Utf8Form{0xE0, 0xE0, 3, 0xA0, 0xBF}, Utf8Form{0xE1, 0xEC, 3, 0x80, 0xBF},
                            Utf8Form{0xED, 0xED, 3, 0x80, 0x9F}, Utf8Form{0xEE, 0xEF, 3, 0x80, 0xBF},
                            Utf8Form{0xF0, 0xF0, 4, 0x90, 0xBF}, Utf8Form{0xF1, 0xF3, 4, 0x80, 0xBF},
                            Utf8Form{0xF4, 0xF4, 4, 0x80, 0x8F}};

struct CodeRange {
  char32_t first, last;
};
// Unicode 15: general categories Cc, Zl and Zp, and of Cf those that are invisible or change the direction.
constexpr std::array kControls{
    CodeRange{0x00, 0x08},      CodeRange{0x0B, 0x1F},     CodeRange{0x7F, 0x9F},
    CodeRange{0xAD, 0xAD},      CodeRange{0x61C, 0x61C},   CodeRange{0x180E, 0x180E},
    CodeRange{0x200B, 0x200F},  CodeRange{0x2028, 0x202E}, CodeRange{0x2060, 0x206F},
    CodeRange{0xFEFF, 0xFEFF},  CodeRange{0xFFF9, 0xFFFB}, CodeRange{0x1D173, 0x1D17A},
    CodeRange{0xE0000, 0xE007F}};

unsigned byte_at(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<unsigned char>(text[index]) : 0u;
}

char32_t code_point(std::string_view character) {
  const unsigned lead = byte_at(character, 0);
  if (character.size() == 1) return lead;
  char32_t code = lead & (0xFFu >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6) | (byte_at(character, i) & 0x3Fu);
  return code;
}

/// \u001b; two of them, as in JSON, for what needs more than 16 bits.
std::string written_out(char32_t code) {
  if (code < 0x10000) return fmt::format("\\u{:04x}", static_cast<unsigned>(code));
  const auto rest = static_cast<unsigned>(code - 0x10000);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

/// The line that `shown` ends with is cut where it has become too long.
class LineLimit {
 public:
  explicit LineLimit(std::size_t max) : max_(max) {}
  void add(std::string_view bytes, std::string& shown) {
    line_ += bytes.size();
    if (max_ == 0 || line_ <= max_) shown += bytes;
  }
  void end_line(std::string& shown) {
    if (max_ > 0 && line_ > max_) shown += fmt::format("... ({} bytes more)", line_ - max_);
    line_ = 0;
  }

 private:
  std::size_t max_, line_ = 0;
};

}  // namespace

std::size_t character_length(std::string_view text) {
  const unsigned lead = byte_at(text, 0), second = byte_at(text, 1);
  const auto form = std::ranges::find_if(
      kForms, [&](const Utf8Form& f) { return lead >= f.lead_low && lead <= f.lead_high; });
  if (form == kForms.end() || form->bytes > text.size()) return 0;
  if (form->bytes > 1 && (second < form->second_low || second > form->second_high)) return 0;
  for (std::size_t i = 2; i < form->bytes; ++i) {
    if ((byte_at(text, i) & 0xC0u) != 0x80) return 0;
  }
  return form->bytes;
}

bool is_control_character(std::string_view character) {
  const char32_t code = code_point(character);
  return std::ranges::any_of(kControls,
                             [&](CodeRange range) { return code >= range.first && code <= range.last; });
}

std::string shown_text(std::string_view text, std::size_t max_line_bytes) {
  std::string shown;
  shown.reserve(text.size());
  LineLimit line(max_line_bytes);
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const bool ends_line = character == "\n" || text.starts_with("\r\n");
    if (ends_line) {
      line.end_line(shown);
      shown += character;
    } else if (length == 0) {
      line.add(kReplacement, shown);
    } else {
      line.add(is_control_character(character) ? written_out(code_point(character)) : std::string(character),
               shown);
    }
    text.remove_prefix(character.size());
  }
  line.end_line(shown);
  return shown;
}

}  // namespace ak
