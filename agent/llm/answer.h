// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/candidate.h"

namespace ak::agent {

/// What a model's answer says to try.
struct ProposedCandidate {
  std::string form;  ///< "source", "edit" or "tunables"
  std::string source;
  Candidate candidate;
};

/// The candidate out of an answer in one of three forms (docs/agent.md): a whole file in a fenced block,
/// search and replace blocks over `parent`, or values for its tunables as JSON. Thinking in <think> tags is
/// passed over. The complaint is fit for the model that wrote the answer; `source_of_answer()` is what can be
/// kept then.
/// @param name of the candidate
[[nodiscard]] Result<ProposedCandidate> read_answer(std::string_view answer, const Candidate& parent,
                                                    const std::string& name);

/// The source that an answer proposes though it may be no candidate; else the answer itself. At most
/// kMaxCandidateBytes.
[[nodiscard]] std::string source_of_answer(std::string_view answer, const Candidate& parent);

}  // namespace ak::agent
