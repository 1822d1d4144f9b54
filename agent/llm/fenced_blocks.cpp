// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/fenced_blocks.h"

#include <algorithm>

namespace ak::agent {
namespace {

std::string_view without_spaces_around(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

std::vector<FencedBlock> fenced_blocks(std::string_view answer) {
  std::vector<FencedBlock> blocks;
  std::size_t ticks = 0;  // of the open fence; 0: none is open
  while (!answer.empty()) {
    const std::size_t end = std::min(answer.find('\n'), answer.size() - 1) + 1;
    const std::string_view line = answer.substr(0, end);
    answer.remove_prefix(end);
    const std::string_view text = without_spaces_around(line);
    const std::size_t count = std::min(text.find_first_not_of('`'), text.size());
    if (ticks == 0 && count >= 3) {
      ticks = count;
      blocks.push_back({.text = {}, .info = std::string(without_spaces_around(text.substr(count)))});
    } else if (ticks > 0 && count >= ticks && count == text.size()) {
      ticks = 0;
      blocks.back().closed = true;
    } else if (ticks > 0) {
      blocks.back().text += line;
    }
  }
  return blocks;
}

std::string_view without_thinking(std::string_view answer) {
  constexpr std::string_view kEnd = "</think>";
  const std::size_t end = answer.rfind(kEnd);
  return end == std::string_view::npos ? answer : answer.substr(end + kEnd.size());
}

}  // namespace ak::agent
