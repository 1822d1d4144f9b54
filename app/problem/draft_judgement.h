// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/problem/draft_examples.h"
#include "app/setup/config.h"
#include "core/text/json.h"

namespace ak::app {

/// What the checks say of a drafted folder. Texts are suitable for the model that drafted it: no path of this machine.
struct DraftJudgement {
  std::string name, summary;        ///< of the problem; empty where it cannot be read
  std::vector<std::string> faults;  ///< empty: nothing is wrong with it
  std::size_t choices = 0;          ///< of params that were audited
  std::size_t findings = 0;         ///< of these audits
  std::vector<ExampleRun> examples = {};
};

/// Looks at a folder as a stranger's: whether it can be read and is small enough, whether its reference agrees with its
/// examples, and what the audit says of its checks and formulas under every choice of params, on the CPU device. What
/// comes first ends it. With nothing wrong its audit.json is written. Blocks, for as long as the reference takes: who
/// does not trust it calls this in a process of its own. Throws Error(environment) where nothing can be run.
[[nodiscard]] DraftJudgement judge_draft(const std::filesystem::path& folder, const Config& config);

[[nodiscard]] Json to_json(const DraftJudgement& judgement);

}  // namespace ak::app
