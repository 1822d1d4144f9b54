// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/baseline_turns.h"
#include "core/evaluation.h"

namespace ak::agent {

/// A kernel in turns with the libraries that its problem names.
struct LibraryTurnsReport {
  std::vector<BaselineTurns> turns;
  std::vector<std::string> notes;  ///< how exact a library is, or why it is not among them
};

/// Times the request's candidate in pairs with each library: a library that was timed at another moment met other
/// clocks. It has passed the checks before. On a GPU.
/// @param evaluate  of one request; nothing ends it, with a note
/// @param announce  what happens now, in words
[[nodiscard]] LibraryTurnsReport turns_with_libraries(
    const EvaluationRequest& request,
    const std::function<std::optional<EvaluationResult>(EvaluationRequest)>& evaluate,
    const std::function<void(const std::string&)>& announce);

/// Of the result of an evaluation with a library: its turns on every workload that the library does.
[[nodiscard]] std::vector<BaselineTurns> turns_of_result(const EvaluationResult& result);

}  // namespace ak::agent
