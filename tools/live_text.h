// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace ak::tools {

/// Writes bytes to standard output now.
void print_now(std::string_view bytes);

/// A text on standard output that is shown again and again: in place on a terminal, else only when it has changed.
class LiveText {
 public:
  LiveText();
  void show(const std::string& text);
  /// How often to show it: every second on a terminal, every 10 s in a log.
  [[nodiscard]] std::chrono::milliseconds interval() const;

 private:
  bool terminal_;
  std::string shown_;
};

}  // namespace ak::tools
