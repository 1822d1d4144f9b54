// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/search/strategy.h"
#include "core/device/arch.h"
#include "core/device/device_facts.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/predictor.h"

namespace ak::app {

/// What a database knows of the templates of a search from other shapes, params and devices.
struct EarlierAnswers {
  std::vector<agent::EarlierSearches> of_templates;  ///< one of each template, the nearest first
  std::int64_t last_evaluation = 0;  ///< of the database: a search that continues asks up to this one
};

/// Answers of the same kind of device, GPUs or the CPU device, in groups of one definition, shape and device; what is
/// known of the very same definition, shape and device is left out. A template is the same where its text is, else
/// where its name is; what an answer of an older text lacks is the template's own value. Nothing where there is no
/// database. Throws Error(database).
/// Failures count once, in the nearest group of their params and device, and not where these are the search's own: they
/// may be of its shape. Of each template as many groups as a prior has (TimePrior).
/// @param predictor where its times rank, predicted ones count; null: measured ones and costs
/// @param up_to the last evaluation that counts; absent: all do
[[nodiscard]] EarlierAnswers earlier_answers(const std::filesystem::path& database,
                                             const ProblemInstance& problem,
                                             const std::vector<Candidate>& templates,
                                             const DeviceFacts& device, const Arch& arch,
                                             const TargetPredictor* predictor,
                                             std::optional<std::int64_t> up_to);

/// "120 answers of 2 devices and 3 shapes"; empty where there are none.
[[nodiscard]] std::string earlier_text(const std::vector<agent::EarlierSearches>& of_templates);

}  // namespace ak::app
