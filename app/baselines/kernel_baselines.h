// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/setup/config.h"
#include "app/setup/target.h"
#include "core/baseline_turns.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/store.h"

namespace ak::app {

/// A kernel that is to be timed in turns with baselines.
struct BaselinesOrder {
  std::shared_ptr<const ProblemInstance> problem;
  Candidate candidate;
  std::vector<std::string> baselines;  ///< names of kPytorchBaselines; empty: none
  std::vector<std::string> workloads;  ///< empty: every timed one that suits a GPU
  int rounds = 0;                      ///< with PyTorch; 0: kTurnRounds
  bool libraries = false;              ///< those that the problem names, too
  bool rehearse = false;               ///< PytorchTurnsRequest::rehearse
  /// The machine code that takes turns with PyTorch; null: that of a build now.
  std::shared_ptr<const BuildResult> build = {};
};

struct KernelBaselines {
  std::vector<BaselineTurns> turns;
  std::vector<std::string> notes;  ///< what was not timed, and why; how exact a library is
};

/// Times a kernel that has passed its checks in turns with baselines. Blocks for minutes. What is no GPU is a note.
/// @param on_progress  what happens now, in words
/// Throws Error as the evaluator and pytorch_turns() do.
[[nodiscard]] KernelBaselines time_in_turns(const BaselinesOrder& order, const Target& target,
                                            const Config& config,
                                            const std::function<void(std::string_view)>& on_progress,
                                            const std::atomic<bool>* stop);

/// "softmax_bf16 m4096: 1.08 times as fast as pytorch compile (95 % interval 1.07 to 1.09), device times"; a sentence a
/// row, in the order of `turns`.
[[nodiscard]] std::vector<std::string> turns_sentences(const std::vector<BaselineTurns>& turns);
/// For a terminal: a line a workload and baseline, then the notes.
[[nodiscard]] std::string baselines_text(const KernelBaselines& found);
/// {"turns": [...], "notes": [...]}, as docs/result_json.md describes them.
[[nodiscard]] Json baselines_json(const KernelBaselines& found);

}  // namespace ak::app
