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

#include "core/text/file.h"
#include "core/text/shown_text.h"
#include "core/text/suggest.h"

namespace ak::agent {
namespace {

constexpr std::string_view kAnswers = "answers:", kBy = "by:";
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

AnswerLook bad(std::string problem, const FileStamp& stamp = {}) {
  return {.state = AnswerLook::State::bad, .problem = std::move(problem), .stamp = stamp};
}

FileStamp stamp_of(const struct stat& info) {
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .bytes = info.st_size,
          .changed_s = info.st_mtim.tv_sec,
          .changed_ns = info.st_mtim.tv_nsec};
}

/// Nothing where the system refuses it.
std::optional<std::string> read_up_to_limit(int fd) {
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
  if (text.size() > kMaxMailBytes)
    return fmt::format("it is larger than {} MiB; an answer is a few thousand lines", kMaxMailBytes >> 20);
  if (trimmed(text).empty()) return "it is empty";
  if (!is_text(text)) return "it holds bytes that are no text in UTF-8";
  return "";
}

AnswerLook look_at_answer(const std::filesystem::path& file, const std::string& name) {
  const FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ENOENT) return {};
  if (!fd && errno == ELOOP) return bad("it is a link; an answer is a file of its own");
  if (!fd) return bad(fmt::format("it cannot be read: {}", std::strerror(errno)));
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return bad("it is no file");
  const FileStamp stamp = stamp_of(info);
  const auto read = read_up_to_limit(fd.get());
  if (!read) return bad(fmt::format("it cannot be read: {}", std::strerror(errno)), stamp);
  if (const std::string problem = answer_text_error(*read); !problem.empty()) return bad(problem, stamp);
  std::string_view text = *read;
  if (const auto other = take_line(text, kAnswers); other && *other != name)
    return bad(fmt::format("it says that it answers {}, and this is {}", sanitize(*other, kShownName), name),
               stamp);
  std::string by = sanitize(take_line(text, kBy).value_or(""), kShownName);
  if (trimmed(text).empty()) return bad("nothing follows its first lines", stamp);
  return {.state = AnswerLook::State::ready, .text = std::string(text), .by = std::move(by), .stamp = stamp};
}

std::string answer_file_text(const std::string& name, std::string_view by, std::string_view text) {
  const std::string who = by.empty() ? "" : fmt::format("{} {}\n", kBy, sanitize(by, kShownName));
  return fmt::format("{} {}\n{}{}", kAnswers, name, who, text);
}

}  // namespace ak::agent
