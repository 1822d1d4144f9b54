// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/llm.h"

namespace ak::agent {

/// What a coding agent says that it has used.
struct AgentUsage {
  LlmUsage tokens = {};  ///< `reported` where it says so
  std::optional<double> cost_usd = {};
};

/// Out of what it printed, a JSON object a line: the `turn.completed` events of `codex exec --json`, the result of
/// `claude -p --output-format json`. Other lines are passed over.
[[nodiscard]] AgentUsage printed_usage(std::string_view output);

/// The last that it said, out of what it printed: of `codex exec --json` and `claude -p --output-format json` the words
/// of its last message or error, of any other the last line, on standard error where there is one.
[[nodiscard]] std::string last_words(std::string_view output, std::string_view error_output);

/// Out of the file `usage.json` of the question's folder: {"input_tokens": 1, "output_tokens": 1, "cost_usd": 0.1},
/// which any other agent may write at any time. Nothing where there is none, or it cannot be read.
[[nodiscard]] std::optional<AgentUsage> written_usage(const std::filesystem::path& folder);

}  // namespace ak::agent
