// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/llm/mailbox/mailbox.h"
#include "app/problem/problem_drafting.h"
#include "app/setup/config.h"
#include "core/evaluation.h"
#include "core/plan/problem.h"

namespace ak::app {

/// How a draft of an answer to a question in a mailbox is tried.
struct AnswerOrder {
  std::string problem;              ///< folder of the problem where it does not ship; empty: the question's
  std::string device = "emulator";  ///< as --device
  std::string command;              ///< stored with the evaluations
  bool unaudited = false;
};

struct CheckedCandidate {
  std::string name, form;        ///< agent::ProposedCandidate::form
  std::string input_error = {};  ///< why it is no candidate; empty: it is one
  std::optional<Hypothesis> hypothesis = {};
  std::string hypothesis_error = {};  ///< agent::ProposedCandidate::hypothesis_error
  std::optional<EvaluationResult> result = {};
  bool passed = false;
};

struct AnswerCheck {
  std::shared_ptr<const ProblemInstance> problem;
  std::string unreadable;  ///< why nothing could be read out of it, as the search would say; empty: it could
  std::vector<CheckedCandidate> candidates = {};

  /// The search would have something of it.
  [[nodiscard]] bool passed() const;
};

/// Reads an answer as the search will, and builds and checks its candidates on the question's shapes. Blocks. Throws
/// Error(bad_input) for a question whose file is broken, Error(usage) where its problem has to be named, else as
/// evaluate_once().
[[nodiscard]] AnswerCheck check_answer(const agent::Mailbox& mailbox, const agent::MailQuestion& question,
                                       const std::string& text, const AnswerOrder& order,
                                       const Config& config, const std::filesystem::path& database);

/// The question asks for a problem folder and not for a kernel (problem_drafting.h): check_answer() is not for it.
[[nodiscard]] bool asks_for_draft(const agent::MailQuestion& question);
/// Reads an answer to such a question, and has the checks judge it. Blocks. Throws Error(bad_input) for a question whose
/// file is broken, else as try_draft_answer().
[[nodiscard]] DraftRound check_draft_answer(const agent::Mailbox& mailbox,
                                            const agent::MailQuestion& question, const std::string& text);

/// Why the search could not read this answer; empty where it can. Throws Error(bad_input) as above.
[[nodiscard]] std::string unreadable_answer(const agent::Mailbox& mailbox,
                                            const agent::MailQuestion& question, const std::string& text);

}  // namespace ak::app
