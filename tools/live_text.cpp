// SPDX-License-Identifier: Apache-2.0
#include "tools/live_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/text/terminal.h"
#include "tools/shown_stdout.h"

namespace ak::tools {
namespace {

constexpr auto kTerminalInterval = std::chrono::seconds(1);
constexpr auto kPlainInterval = std::chrono::seconds(10);  // a log of a night stays readable

/// Lines that wrap could not be taken back.
std::string cut_to_terminal(const std::string& text) {
  const int columns = terminal_columns(STDOUT_FILENO);
  std::string cut;
  int column = 0;
  for (const char c : text) {
    if (c == '\n') column = 0;
    if (c == '\n' || ++column < columns) cut += c;
  }
  return cut;
}

}  // namespace

void print_now(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

LiveText::LiveText() : terminal_(obeys_sequences(STDOUT_FILENO)) {}

void LiveText::show(const std::string& text) {
  const std::string fitting = terminal_ ? cut_to_terminal(text) : text;
  if (terminal_ && !shown_.empty()) {  // back to its first line
    const std::string back = fmt::format("\x1b[{}A\x1b[J", std::ranges::count(shown_, '\n'));
    control_stdout(back.c_str());
  }
  if (terminal_ || fitting != shown_) print_now(fitting);
  shown_ = fitting;
}

std::chrono::milliseconds LiveText::interval() const {
  return terminal_ ? kTerminalInterval : kPlainInterval;
}

}  // namespace ak::tools
