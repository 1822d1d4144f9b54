// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace ak::agent {

/// The texts that prompts are made of: templates/prompts/, compiled in. Immutable.
class PromptSet {
 public:
  /// The shipped texts, each replaced by the file of its name in `folder` where there is one. Throws
  /// Error(bad_input) when such a file cannot be read.
  [[nodiscard]] static PromptSet with_folder(const std::filesystem::path& folder);

  /// @param name of the file without ".md", one of those shipped
  [[nodiscard]] const std::string& text(std::string_view name) const;
  /// Names these very texts: the beginning of a hash over all of them.
  [[nodiscard]] const std::string& version() const { return version_; }
  /// The text with every {{key}} replaced. Throws Error(bad_input) for a key that there is no value for.
  [[nodiscard]] std::string fill(std::string_view name,
                                 const std::map<std::string, std::string, std::less<>>& values) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
  std::string version_;
};

/// `text` in at most about so many tokens: what does not fit is taken out of its middle, at ends of lines,
/// and the gap is named.
[[nodiscard]] std::string fitted(std::string_view text, std::int64_t tokens);

}  // namespace ak::agent
