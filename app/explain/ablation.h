// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "app/explain/evaluated_subject.h"
#include "app/explain/explanation.h"

namespace ak::app {

/// What a kernel is tried without: one tunable at a time at the least value that its constraints allow there,
/// then the switches of its text off. A handful.
struct AblationStep {
  Candidate candidate;
  bool in_text = false;  ///< a switch: another source, made from the kernel's
};
[[nodiscard]] std::vector<AblationStep> ablation_steps(const StoredKernel& kernel);

/// Evaluates them by the usual gates, alongside the kernel itself, as a search of arm "ablation"; on a GPU each
/// that passes is timed alternately with the kernel, too. On the requested device, else on the one that the
/// kernel was evaluated on. Throws Error(usage) where no device executes it.
void run_ablation(const StoredKernel& kernel, const EvaluationOptions& evaluation_options,
                  const Config& config, const std::filesystem::path& database);

}  // namespace ak::app
