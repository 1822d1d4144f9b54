// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/problem_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "agent/llm/fenced_blocks.h"
#include "core/text/shown_text.h"
#include "core/text/suggest.h"

namespace ak::agent {
namespace {

constexpr std::size_t kShownName = 60;  // bytes of a name that a model made up; chosen

bool is_draft_file(std::string_view name) {
  return std::ranges::find(kDraftFileNames, name) != kDraftFileNames.end();
}

/// The last word behind the backticks; empty where there is one word at most that is no file, such as "cuda".
std::string_view named_file(std::string_view info) {
  const std::size_t space = info.find_last_of(" \t");
  if (space != std::string_view::npos) return info.substr(space + 1);
  return is_draft_file(info) || info.find_first_of("./\\") != std::string_view::npos ? info
                                                                                     : std::string_view();
}

/// Why this text cannot be a file; nothing where it can.
std::optional<std::string> text_error(std::string_view name, std::string_view text) {
  if (text.size() > kMaxDraftFileBytes)
    return fmt::format("{} has {} bytes, and at most {} are taken", name, text.size(), kMaxDraftFileBytes);
  for (std::string_view left = text; !left.empty();) {
    const std::size_t length = character_length(left);
    if (length == 0) return fmt::format("{} is not UTF-8", name);
    const std::string_view character = left.substr(0, length);
    if (character != "\r" && is_control_character(character))
      return fmt::format("{} has a control character: plain text alone is taken", name);
    left.remove_prefix(length);
  }
  return std::nullopt;
}

/// The files of the blocks; a name twice is refused, because nobody knows which one is meant.
Result<DraftFiles> files_of(const std::vector<FencedBlock>& blocks) {
  DraftFiles files;
  for (const FencedBlock& block : blocks) {
    const std::string name(named_file(block.info));
    if (name.empty()) continue;
    if (!is_draft_file(name))
      return InputError{fmt::format("a block is called '{}', and the files of a draft are {}",
                                    sanitize(name, kShownName), fmt::join(kDraftFileNames, ", "))};
    if (!block.closed)
      return InputError{fmt::format("the block of {} is not closed: the answer was cut", name)};
    if (auto error = text_error(name, block.text)) return InputError{std::move(*error)};
    if (!files.emplace(name, block.text).second)
      return InputError{fmt::format("there are two blocks of {}: give each file once", name)};
  }
  return files;
}

}  // namespace

Result<DraftFiles> read_problem_answer(std::string_view answer, const DraftFiles& former) {
  Result<DraftFiles> read = files_of(fenced_blocks(without_thinking(answer)));
  if (!read) return read.error();
  DraftFiles files = std::move(read).value();
  if (files.empty())
    return InputError{"it has no file: a fenced block whose first line is ```json problem.json, for example"};
  files.insert(former.begin(), former.end());
  for (const std::string_view name : kDraftFileNames)
    if (!files.contains(name)) return InputError{fmt::format("the file {} is missing", name)};
  return files;
}

}  // namespace ak::agent
