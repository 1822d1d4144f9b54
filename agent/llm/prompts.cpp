// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/prompts.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "prompt_files.h"

namespace ak::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kVersionLength = 12;  // of the hash: enough to distinguish versions

}  // namespace

PromptSet PromptSet::with_folder(const fs::path& folder) {
  PromptSet set;
  std::string all;
  for (const EmbeddedFile& file : prompt_files()) {
    const fs::path name(file.name);
    const fs::path own = folder / name.filename();
    std::string text = !folder.empty() && fs::exists(own) ? read_file(own) : std::string(file.text);
    all += fmt::format("{}\n{}\n", name.filename().string(), text);
    set.texts_[name.stem().string()] = std::move(text);
  }
  set.version_ = sha256_hex(all).substr(0, kVersionLength);
  return set;
}

const std::string& PromptSet::text(std::string_view name) const {
  const auto found = texts_.find(name);
  AK_ASSERT(found != texts_.end(), "prompts are named as their files");
  return found->second;
}

std::string PromptSet::fill(std::string_view name,
                            const std::map<std::string, std::string, std::less<>>& values) const {
  const std::string& text = this->text(name);
  std::string filled;
  std::size_t at = 0;
  for (std::size_t open = text.find("{{"); open != std::string::npos; open = text.find("{{", at)) {
    const std::size_t close = text.find("}}", open);
    const std::string key = text.substr(open + 2, close == std::string::npos ? 0 : close - open - 2);
    const auto value = values.find(key);
    if (close == std::string::npos || value == values.end())
      fail(ExitCode::bad_input, "prompt {}.md: nothing is known to put in place of '{{{{{}}}}}'", name, key);
    filled += text.substr(at, open - at) + value->second;
    at = close + 2;
  }
  return filled + text.substr(at);
}

std::string fitted(std::string_view text, std::int64_t tokens) {
  const auto limit = static_cast<std::size_t>(4 * tokens);  // as estimated_tokens() counts
  if (text.size() <= limit) return std::string(text);
  const auto line_end = [&](std::size_t from) {
    const std::size_t end = text.find('\n', from);
    return end == std::string_view::npos ? from : end + 1;
  };
  const std::size_t back = text.rfind('\n', limit / 2);
  const std::size_t head = back == std::string_view::npos ? limit / 2 : back + 1;
  const std::size_t tail = line_end(text.size() - limit / 2);
  return fmt::format("{}[... {} bytes left out ...]\n{}", text.substr(0, head), tail - head,
                     text.substr(tail));
}

}  // namespace ak::agent
