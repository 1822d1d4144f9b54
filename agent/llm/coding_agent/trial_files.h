// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/text/json.h"

namespace ak::agent {

/// Calls of a coding agent's tools that the search has to answer go through files in the folder of its question: the
/// agent's server writes NAME.ask.json, the search NAME.told.json. Whoever may write the folder may have written any of
/// them: the search believes nothing in them, and counts every one.
struct TrialAsk {
  std::string name;
  Json request;  ///< null where the file cannot be read as an object
};

/// The search's end.
class TrialFiles {
 public:
  /// Throws Error(output) where the folder for them cannot be made.
  explicit TrialFiles(const std::filesystem::path& question_folder);
  /// Those that were not taken yet, in the order of their names.
  [[nodiscard]] std::vector<TrialAsk> take_new();
  /// False where the folder does not take it.
  bool tell(const std::string& name, const Json& answer) const;

 private:
  std::filesystem::path folder_;
  std::set<std::string> seen_;
};

/// The server's end: asks, and waits as long as the question is open. Throws Error(bad_input) where it is over,
/// Error(output).
[[nodiscard]] Json ask_search(const std::filesystem::path& question_folder, const Json& request);

}  // namespace ak::agent
