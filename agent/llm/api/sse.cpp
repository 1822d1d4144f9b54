// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/sse.h"

#include <utility>

namespace ak::agent {

void SseParser::feed(std::string_view bytes) {
  for (const char c : bytes) {
    const bool second_half = std::exchange(after_cr_, c == '\r') && c == '\n';  // of CR LF
    if (second_half) continue;
    if (c == '\r' || c == '\n') {
      line();
    } else {
      line_ += c;
    }
  }
}

void SseParser::finish() {
  if (!line_.empty()) line();
  dispatch();
}

void SseParser::line() {
  std::string text = std::exchange(line_, {});
  if (std::exchange(first_line_, false) && text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  if (text.empty()) return dispatch();
  const std::size_t colon = text.find(':');
  const std::string field = text.substr(0, colon);
  std::string value = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (value.starts_with(' ')) value.erase(0, 1);
  if (field == "event") event_.name = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) event_.data += '\n';
  event_.data += value;
}

void SseParser::dispatch() {
  const SseEvent event = std::exchange(event_, {});
  if (std::exchange(has_data_, false)) on_event_(event);
}

}  // namespace ak::agent
