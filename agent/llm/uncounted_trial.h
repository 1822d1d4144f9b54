// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ak::agent {

/// A key of what a coding agent's trial is answered (LlmClient::answer_trial): it was no fault of the one who asked, so it
/// is not counted as one of its evaluations. Who asked does not see it.
inline constexpr const char* kUncounted = "uncounted";

}  // namespace ak::agent
