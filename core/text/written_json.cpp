// SPDX-License-Identifier: Apache-2.0
#include "core/text/written_json.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"

namespace ak {
namespace {

constexpr std::size_t kShownKeyBytes = 60;  // enough to recognise a key

/// Walks through a text that is JSON and finds the first key that its object has already.
class KeyScan {
 public:
  explicit KeyScan(std::string_view text) : text_(text) {}

  std::optional<RepeatedKey> repeated() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '{') objects_.emplace_back();
      if (c == '}') objects_.pop_back();
      if (c != '"') continue;
      const std::string_view quoted = take_string();
      if (!is_key()) continue;
      const auto [first, is_new] = objects_.back().emplace(name_of(quoted), line_);
      if (!is_new) return RepeatedKey{sanitize(first->first, kShownKeyBytes), line_, first->second};
    }
    return std::nullopt;
  }

 private:
  /// With its quotes; leaves `at_` on the last one.
  std::string_view take_string() {
    const std::size_t begin = at_++;
    while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    return text_.substr(begin, at_ + 1 - begin);
  }

  [[nodiscard]] bool is_key() const {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_ + 1);
    return next != std::string_view::npos && text_[next] == ':';
  }

  /// "\u0061" and "a" are one key.
  static std::string name_of(std::string_view quoted) {
    return quoted.find('\\') == std::string_view::npos ? std::string(quoted.substr(1, quoted.size() - 2))
                                                       : parse_json(quoted).get<std::string>();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<std::map<std::string, int>> objects_;  ///< that are open: the line of each key
};

}  // namespace

std::optional<RepeatedKey> find_repeated_key(std::string_view json) { return KeyScan(json).repeated(); }

Json parse_written_json(std::string_view text) {
  Json json = parse_json(text);
  if (const auto repeated = find_repeated_key(text)) {
    const auto& [key, line, first_line] = *repeated;
    // Where there is one line, as in a file of JSON lines, its number says nothing.
    throw JsonInputError(line > 1 ? fmt::format("line {}: the key '{}' is there twice, first in line {}",
                                                line, key, first_line)
                                  : fmt::format("the key '{}' is there twice", key));
  }
  return json;
}

Json read_written_json(const std::filesystem::path& file) {
  try {
    return parse_written_json(read_file(file));
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", file.string(), error.what());
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), input_error.what());
  }
}

}  // namespace ak
