// SPDX-License-Identifier: Apache-2.0
#include "core/message/message_reader.h"

#include <utility>

namespace ak {

void MessageReader::feed(std::string_view bytes) {
  buffer_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  buffer_ += bytes;
}

std::optional<std::variant<std::string, TooLong>> MessageReader::next() {
  for (;;) {
    const std::size_t newline = buffer_.find('\n', searched_);
    if (newline == std::string::npos) {
      searched_ = buffer_.size();
      if (buffer_.size() - begin_ > limit_bytes_) {
        begin_ = searched_ = buffer_.size();
        skipping_ = true;
      }
      return std::nullopt;
    }
    std::string line = buffer_.substr(begin_, newline - begin_);
    begin_ = searched_ = newline + 1;
    if (std::exchange(skipping_, false) || line.size() > limit_bytes_) return TooLong{};
    if (line.find_first_not_of(" \t\r") != std::string::npos) return line;
  }
}

}  // namespace ak
