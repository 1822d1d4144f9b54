// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/mailbox/answer_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "agent/llm/api/redact.h"
#include "core/text/file.h"
#include "core/text/shown_text.h"
#include "core/text/suggest.h"

namespace ak::agent {
namespace {

constexpr std::string_view kAnswers = "answers:", kBy = "by:";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // some editors begin a file with it
constexpr std::size_t kShownName = 60;  // bytes of a name that someone else wrote; chosen

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

/// The value of the first line where it begins with `key`; it is then taken off `text`.
std::optional<std::string> take_line(std::string_view& text, std::string_view key) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with(key)) return std::nullopt;
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return std::string(trimmed(line.substr(key.size())));
}

AnswerLook bad(std::string problem) {
  return {.state = AnswerLook::State::bad, .problem = std::move(problem)};
}

std::string too_large() {
  return fmt::format("it is larger than {} MiB; an answer is a few thousand lines", kMaxMailBytes >> 20);
}

FileStamp stamp_of(const struct stat& info) {
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .bytes = info.st_size,
          .changed_s = info.st_mtim.tv_sec,
          .changed_ns = info.st_mtim.tv_nsec};
}

/// To its end, or a little further than an answer may go; nothing where the system refuses it.
std::optional<std::string> read_answer_bytes(int fd) {
  std::string text;
  for (char chunk[64 << 10]; text.size() <= kMaxMailBytes;) {
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

bool is_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0 || text.front() == '\0') return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::string answer_text_error(std::string_view text) {
  if (text.size() > kMaxMailBytes) return too_large();
  if (trimmed(text).empty()) return "it is empty";
  if (!is_text(text)) return "it holds bytes that are no text in UTF-8";
  return "";
}

AnswerLook read_answer_file(std::string_view bytes, const std::string& name) {
  if (const std::string problem = answer_text_error(bytes); !problem.empty()) return bad(problem);
  std::string_view text = bytes;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (const auto other = take_line(text, kAnswers); other && *other != name)
    return bad(fmt::format("it says that it answers {}, and this is {}", sanitize(redact(*other), kShownName),
                           name));
  // Before it is cut, so that no part of a key is left.
  std::string by = sanitize(redact(take_line(text, kBy).value_or("")), kShownName);
  if (trimmed(text).empty()) return bad("nothing follows its first lines");
  return {.state = AnswerLook::State::ready, .text = std::string(text), .by = std::move(by)};
}

AnswerLook look_at_answer(const std::filesystem::path& file, const std::string& name) {
  const FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ENOENT) return {};
  if (!fd && errno == ELOOP) return bad("it is a link; an answer is a file of its own");
  if (!fd) return bad(fmt::format("it cannot be read: {}", std::strerror(errno)));
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return bad("it is no file");
  AnswerLook look;
  if (info.st_size > static_cast<off_t>(kMaxMailBytes)) {
    look = bad(too_large());
  } else if (const auto bytes = read_answer_bytes(fd.get()); !bytes) {
    look = bad(fmt::format("it cannot be read: {}", std::strerror(errno)));
  } else {
    look = read_answer_file(*bytes, name);
  }
  if (::fstat(fd.get(), &info) == 0) look.stamp = stamp_of(info);
  return look;
}

std::string answer_file_text(const std::string& name, std::string_view by, std::string_view text) {
  const std::string who = by.empty() ? "" : fmt::format("{} {}\n", kBy, sanitize(by, kShownName));
  return fmt::format("{} {}\n{}{}", kAnswers, name, who, text);
}

}  // namespace ak::agent
