// SPDX-License-Identifier: Apache-2.0
#include "core/text/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace ak {
namespace {

class StderrBlock {
 public:
  void set(std::vector<std::string> lines) {
    const std::scoped_lock lock(mutex_);
    std::string bytes = back();
    if (std::exchange(open_line_, false)) bytes += '\n';
    lines_ = std::move(lines);
    put(bytes + text());
  }
  void write_above(std::string_view bytes) {
    const std::scoped_lock lock(mutex_);
    if (!lines_.empty() || open_line_) open_line_ = !bytes.ends_with('\n');
    if (lines_.empty()) return put(bytes);
    put(back() + std::string(bytes) + (open_line_ ? "" : text()));
    if (open_line_) lines_.clear();  // shown again by the next set()
  }

 private:
  static void put(std::string_view bytes) {
    static_cast<void>(std::fwrite(bytes.data(), 1, bytes.size(), stderr));
  }
  /// To the block's first line, with nothing below.
  [[nodiscard]] std::string back() const {
    return lines_.empty() ? "" : fmt::format("\x1b[{}A\r\x1b[J", lines_.size());
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  bool open_line_ = false;  ///< what was printed last above the block did not end its line
};

StderrBlock& stderr_block() {
  static StderrBlock& block = *new StderrBlock;  // never destroyed: something may print at the very end
  return block;
}

}  // namespace

bool obeys_sequences(int descriptor) {
  const char* kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

int terminal_columns(int descriptor) {
  constexpr int kUnknownColumns = 80;  // what the first terminals of such computers had
  winsize size = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUnknownColumns;
}

void set_stderr_block(std::vector<std::string> lines) { stderr_block().set(std::move(lines)); }

void write_above_block(std::string_view bytes) { stderr_block().write_above(bytes); }

}  // namespace ak
