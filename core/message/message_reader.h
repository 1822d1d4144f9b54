// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ak {

/// A line that was longer than allowed; its bytes are gone.
struct TooLong {};

/// Servers refuse longer lines: a kernel of 1 MiB whose every character is escaped fits.
inline constexpr std::size_t kMaxLineBytes = 8u << 20;

/// Cuts a stream of bytes into lines. After a line beyond the limit it continues with the next one, and never
/// holds more than the limit and what was fed last.
class MessageReader {
 public:
  explicit MessageReader(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  void feed(std::string_view bytes);
  /// The next line that has content, without its newline; nothing until more is fed.
  [[nodiscard]] std::optional<std::variant<std::string, TooLong>> next();

 private:
  const std::size_t limit_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;     ///< of buffer_: where the next line begins
  std::size_t searched_ = 0;  ///< of buffer_: no newline from begin_ to here
  bool skipping_ = false;     ///< until the end of a line that is too long
};

}  // namespace ak
