// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "agent/llm/archive.h"
#include "agent/llm/bandit.h"
#include "agent/llm/llm_proposer_options.h"

namespace ak::agent {

/// Who is asked for what next: the island whose turn it is says what is possible there, and the bandit decides
/// among that and the models that are free. One thread.
class QuestionChoice {
 public:
  /// All must outlive it.
  QuestionChoice(const LlmProposerOptions& options, Archive& archive, const Bandit& bandit)
      : options_(options), archive_(archive), bandit_(bandit) {}

  struct Plan {
    std::size_t model = 0;  ///< index in the options
    std::string credited;   ///< the bandit's arm: "MODEL ARM"
    Choice choice;          ///< valid until the archive changes
  };
  /// @param free indices of models that can be asked, at least one
  [[nodiscard]] Plan choose(const std::vector<std::size_t>& free);

 private:
  [[nodiscard]] const Attempt* unexplored() const;

  const LlmProposerOptions& options_;
  Archive& archive_;
  const Bandit& bandit_;
  std::set<std::string> points_asked_;  ///< sources whose points were asked for
};

}  // namespace ak::agent
