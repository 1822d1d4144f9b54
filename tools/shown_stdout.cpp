// SPDX-License-Identifier: Apache-2.0
#include "tools/shown_stdout.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/text/shown_text.h"

namespace ak::tools {
namespace {

/// False, with errno, when not all of it could be written.
bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Bytes at the end of `text` that may belong to a character, or to CR LF, whose rest comes later.
std::size_t unfinished(std::string_view text) {
  constexpr std::size_t kLongestCharacter = 4;
  if (text.ends_with('\r')) return 1;
  for (std::size_t length = 1; length < std::min(kLongestCharacter, text.size() + 1); ++length) {
    const auto byte = static_cast<unsigned char>(text[text.size() - length]);
    if (byte < 0x80) return 0;
    if (byte >= 0xC0) return character_length(text.substr(text.size() - length)) == 0 ? length : 0;
  }
  return 0;
}

ssize_t write_shown(void* held, const char* bytes, std::size_t count) {
  std::string& rest = *static_cast<std::string*>(held);
  std::string text = rest + std::string(bytes, count);
  const std::size_t kept = unfinished(text);
  rest = text.substr(text.size() - kept);
  text.resize(text.size() - kept);
  return write_all(shown_text(text)) ? static_cast<ssize_t>(count) : 0;
}

}  // namespace

void show_stdout() {
  static std::string& held = *new std::string;  // never destroyed: libc writes at the very end of the process
  std::FILE* shown =
      fopencookie(&held, "w", {.read = nullptr, .write = write_shown, .seek = nullptr, .close = nullptr});
  AK_ASSERT(shown != nullptr, "a stream fits into memory");
  std::setvbuf(shown, nullptr, ::isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF, BUFSIZ);
  stdout = shown;
}

void control_stdout(const char* sequence) {
  std::fflush(stdout);
  static_cast<void>(write_all(sequence));
}

}  // namespace ak::tools
