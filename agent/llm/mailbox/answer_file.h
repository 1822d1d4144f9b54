// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ak::agent {

/// Of an answer; a larger one is refused unread. As of what providers and commands send.
inline constexpr std::size_t kMaxMailBytes = 16u << 20;

/// Which content of a file was seen: another one has another stamp.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t bytes = 0, changed_s = 0, changed_ns = 0;
  auto operator<=>(const FileStamp&) const = default;
};

/// What is in the place of an answer.
struct AnswerLook {
  enum class State : std::uint8_t {
    absent,
    bad,   ///< it cannot be taken; it may be replaced
    ready  ///< unless it is still being written
  };
  State state = State::absent;
  std::string text = {};     ///< ready: without the lines in front
  std::string by = {};       ///< ready: who says to have written it; may be empty
  std::string problem = {};  ///< bad: why, for the one who answers
  FileStamp stamp = {};
};

/// Reads the bytes of an answer to the question called `name`: huge, empty or binary ones are not taken, and such that
/// say that they answer another question neither.
[[nodiscard]] AnswerLook read_answer_file(std::string_view bytes, const std::string& name);

/// The same of a file, which anyone may have put there: a link or a pipe is not followed. Its stamp is from after the
/// reading: where it was written to meanwhile, the next look has another one.
[[nodiscard]] AnswerLook look_at_answer(const std::filesystem::path& file, const std::string& name);

/// The text of an answer file: `answers: NAME`, `by: WHO` where someone is named, and the answer.
[[nodiscard]] std::string answer_file_text(const std::string& name, std::string_view by,
                                           std::string_view text);

/// What is wrong with the text of an answer file, lines in front included, or with its size; empty: nothing.
[[nodiscard]] std::string answer_text_error(std::string_view text);

}  // namespace ak::agent
