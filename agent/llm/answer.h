// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hypothesis.h"
#include "core/plan/candidate.h"

namespace ak::agent {

/// One thing to try out of a model's answer.
struct ProposedCandidate {
  std::string form;                           ///< "source", "edit" or "tunables"
  std::string source;                         ///< though it may be no candidate
  Result<Candidate> candidate;                ///< the error is suitable for the model that wrote it
  std::optional<Hypothesis> hypothesis = {};  ///< what is expected of it; nothing where that is not stated
  std::string hypothesis_error = {};  ///< why a statement is no hypothesis; empty where nothing is wrong
};

/// The candidates out of an answer in one of its forms (docs/agent.md): whole files in fenced blocks, search
/// and replace blocks over `parent`, or values for its tunables as JSON. Thinking in <think> tags is passed
/// over. A hypothesis is a block of its own (hypothesis_block.h): of whole files the one before each, of edits and of one
/// point the last; one that is wrong costs no candidate. The error, of an answer that has no candidate at all, is suitable for the model that wrote it.
/// @param name of the candidates, without ".cu"
/// @param most candidates to take: of whole files the last, of points the first ones; at least 1
[[nodiscard]] Result<std::vector<ProposedCandidate>> read_answer(std::string_view answer,
                                                                 const Candidate& parent,
                                                                 const std::string& name, std::size_t most);

}  // namespace ak::agent
