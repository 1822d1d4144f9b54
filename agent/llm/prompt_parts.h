// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "agent/llm/prompts.h"
#include "core/evaluation.h"

namespace ak::agent {

/// What limits a candidate: the name of its bottleneck, and for a prompt the evidence and the remedies. Both
/// empty where nothing is known.
struct Diagnosis {
  std::string bottleneck, text;
};

/// What the prompts of a search are about.
struct PromptSubject {
  std::shared_ptr<const ProblemInstance> problem;
  DeviceFacts device;
  Arch arch;
  /// What limits a candidate that was profiled or counted; may be empty.
  std::function<Diagnosis(const Candidate&, const EvaluationResult&)> diagnosis = {};
  /// What earlier searches tried against a bottleneck, and the result; may be empty.
  std::function<std::string(const std::string& bottleneck)> remembered = {};
  std::string lessons = {};  ///< what earlier searches learned that may help here; may be empty
};

/// "12.3 us".
[[nodiscard]] std::string time_text(double time_ns);

/// The part that stays the same in every request of a search: frame, contract, problem, device, lessons.
/// @param fence between which lessons are
[[nodiscard]] std::string system_prompt(const PromptSet& prompts, const PromptSubject& subject,
                                        const std::string& fence);

/// Everything that an evaluation says to the one who wrote the candidate: the verdict and its findings with
/// the lines they are about, times by shape alongside the least that the device allows, resources, and on the
/// CPU device what the cost is made of.
[[nodiscard]] std::string outcome_text(const PromptSubject& subject, const Candidate& candidate,
                                       const EvaluationResult& result);

/// The same in one line: "12.35 us" or "incorrect: ...".
[[nodiscard]] std::string outcome_line(const EvaluationResult& result);

/// "BLOCK=256 VEC=4", or "none".
[[nodiscard]] std::string tunables_text(const TunableValues& tunables);

}  // namespace ak::agent
