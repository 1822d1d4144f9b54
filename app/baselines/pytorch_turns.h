// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/baseline_turns.h"
#include "core/build.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"

namespace ak::app {

/// What PyTorch can be asked for, and how its results are labelled.
struct PytorchBaseline {
  std::string_view name, label, help;
};
inline constexpr std::array kPytorchBaselines{
    PytorchBaseline{"eager", "pytorch eager", "PyTorch as it is written"},
    PytorchBaseline{"compile", "pytorch compile", "torch.compile"},
    PytorchBaseline{"max-autotune", "pytorch max-autotune", "torch.compile, max-autotune-no-cudagraphs"},
    PytorchBaseline{"cublaslt", "pytorch cublaslt", "eager with products pinned to cuBLASLt"},
    PytorchBaseline{"cudnn", "pytorch cudnn", "eager with attention pinned to cuDNN"},
    PytorchBaseline{"self", "itself", "the kernel on both sides, which has to read 1"}};

/// The names in "eager,compile"; none in an empty text. Throws Error(usage) naming what there is.
[[nodiscard]] std::vector<std::string> parse_baselines(const std::string& list);

/// Rounds of turns: 24 keep the interval of one kernel on both sides within 0.5 % (docs/timing.md).
inline constexpr int kTurnRounds = 24;

struct PytorchTurnsRequest {
  const ProblemInstance& problem;
  const Candidate& candidate;
  const BuildResult* build = nullptr;  ///< of the candidate; null in a rehearsal
  Environment device;                  ///< what its plan may know of the device
  std::vector<std::string> workloads;  ///< names of those to time
  std::vector<std::string> baselines;  ///< names of kPytorchBaselines
  int rounds = kTurnRounds;
  bool rehearse = false;  ///< without a GPU: PyTorch on both sides, to see that it runs
  std::string python;     ///< as named_python() gives it
};

struct PytorchTurns {
  std::vector<BaselineTurns> turns;
  std::vector<std::string> notes;  ///< what was not timed, and why
  std::string device;              ///< the product, as PyTorch names it; empty: nothing was timed
};

/// Times a kernel in turns with PyTorch in two processes that swap their parts, under the GPU turn (docs/timing.md). They
/// load the kernel's machine code; nothing of its text is compiled or run on the host. What they say is checked; the
/// problem's own file runs in them as the user. Blocks for minutes; `stop` ends it.
/// @param on_progress  what happens now, in words
/// Throws Error(environment) where there is no PyTorch that will do.
[[nodiscard]] PytorchTurns pytorch_turns(const PytorchTurnsRequest& request,
                                         const std::function<void(std::string_view)>& on_progress,
                                         const std::atomic<bool>* stop);

}  // namespace ak::app
