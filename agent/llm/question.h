// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "agent/llm/archive.h"
#include "agent/llm/llm_proposer_options.h"

namespace ak::agent {

/// A question to a model, and what it is about.
struct Question {
  LlmRequest request;
  std::string arm;
  Attempt parent;                  ///< without a source where there is none
  std::optional<RowId> second;     ///< variant of the other parent
  std::size_t max_candidates = 1;  ///< that are taken of the answer
  bool is_repeat = false;          ///< after an answer that could not be read

  [[nodiscard]] bool asks_points() const { return arm == "points"; }
};

/// Writes questions out of choices and of what is known in the archive. One thread.
class QuestionWriter {
 public:
  /// Both must outlive it.
  QuestionWriter(const LlmProposerOptions& options, const Archive& archive);

  /// @param number of the question in the search
  [[nodiscard]] Question about(const Choice& choice, const LlmModel& model, int number) const;
  /// The same again after an answer that cannot be read. @param error why
  [[nodiscard]] Question repeated(const Question& question, const std::string& answer,
                                  const std::string& error) const;
  /// What limits the parent, or its source where this point was not profiled, by name; empty where not known.
  [[nodiscard]] std::string bottleneck_of(const Attempt& parent) const;

 private:
  [[nodiscard]] std::string remembered(const Choice& choice) const;

  const LlmProposerOptions& options_;
  const Archive& archive_;
  std::string system_;
};

}  // namespace ak::agent
