// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/text/file.h"
#include "core/text/json.h"

namespace ak::agent {

/// Who has more entries in the folder than this floods it: far above any limit on evaluations. Chosen.
inline constexpr std::size_t kMaxTrialEntries = 20'000;
/// Calls taken at once, so that no look takes long: an agent makes few at a time. Chosen.
inline constexpr std::size_t kMostTaken = 32;

/// Calls of a coding agent's tools that the search has to answer go through files in the folder of its question: the
/// agent's server writes NAME.ask.json, the search NAME.told.json. Whoever may write the folder may have written any of
/// them: the search believes nothing in them, and counts every one.
///
/// This is the search's end. The folder that it made stays its own, whatever lies in that place later.
class TrialFiles {
 public:
  /// Throws Error(output) where the folder for them cannot be made.
  explicit TrialFiles(const std::filesystem::path& question_folder);
  /// Names of those that were not taken yet, kMostTaken at most, in order.
  [[nodiscard]] std::vector<std::string> take_new();
  /// What that one asks; null where its file cannot be read as an object.
  [[nodiscard]] Json request_of(const std::string& name) const;
  /// False where the folder does not take it.
  bool tell(const std::string& name, const Json& answer) const;
  /// There was more in the folder than anyone needs.
  [[nodiscard]] bool flooded() const { return flooded_; }

 private:
  FileDescriptor held_;
  std::filesystem::path folder_;  ///< by way of the descriptor
  std::set<std::string> seen_;
  bool flooded_ = false;
};

/// The server's end: asks, and waits as long as the question is open. Throws Error(bad_input) where it is over,
/// Error(output).
[[nodiscard]] Json ask_search(const std::filesystem::path& question_folder, const Json& request);

}  // namespace ak::agent
