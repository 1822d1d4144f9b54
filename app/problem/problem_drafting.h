// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/llm/problem_answer.h"
#include "app/setup/config.h"

namespace ak::app {

/// Answers that a model may give until the checks find nothing. Chosen: as a search asks for a repair twice, and once
/// more because four files have to agree.
inline constexpr int kDraftRounds = 4;
/// For the checks of one answer, all audits included. Chosen: those of problems that ship take up to a minute a choice.
inline constexpr std::chrono::minutes kJudgeLimit{10};
/// Of the description. Chosen: a sentence or a page.
inline constexpr std::size_t kMaxDescription = 8'000;

/// What a problem is to be drafted from, by whom.
struct DraftOrder {
  std::string description;
  std::filesystem::path paper = {};  ///< empty: there is none
  std::string model;                 ///< as agent::open_model()
  std::string record_to = {};        ///< every exchange is appended to this file; empty: none is
  int rounds = kDraftRounds;
  std::chrono::milliseconds judge_limit = kJudgeLimit;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string&)> on_note = {};  ///< one line of what goes on
};

/// One answer, and what came of it.
struct DraftRound {
  std::string fault_kind;           ///< "unreadable", "rejected", "timeout", or "" where it passed
  std::vector<std::string> faults;  ///< as the model is told
};

struct Draft {
  std::filesystem::path folder;  ///< the problem's, or where the last draft is kept aside
  bool passed = false;
  std::string name = {}, summary = {};
  std::vector<DraftRound> rounds = {};
  std::string ended_by = {};  ///< why the model gave no further answer; empty: it did, or was not asked
  std::int64_t tokens = 0;
  std::optional<double> cost_usd = {};  ///< nothing where a price is not known
};

/// Reads an answer to a question for a draft, and has the checks judge it, as draft_problem() does; nothing is kept.
/// Throws as that.
[[nodiscard]] DraftRound try_draft_answer(const std::string& answer, const agent::DraftFiles& former,
                                          const std::atomic<bool>* stop);

/// Asks the model for a problem folder, has it judged in a process of its own (`alphakernel problem judge`), and asks
/// again with what was found, until nothing is wrong or the rounds are over. The folder appears whole or not at all,
/// marked as a draft that nobody has confirmed. A draft that never passes is kept in FOLDER.rejected, or FOLDER.rejected-2
/// and so on, with what was found in findings.md. Blocks. Throws Error(usage) for a description that is none, Error(output) where
/// `folder` exists and is not empty, Error(interrupted) after a stop, Error(environment) where the model gives no answer or
/// the checks cannot run; else as agent::open_model() and read_paper().
[[nodiscard]] Draft draft_problem(const std::filesystem::path& folder, const DraftOrder& order,
                                  const Config& config);

}  // namespace ak::app
