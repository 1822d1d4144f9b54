// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"

namespace ak::agent {

/// What a model may write of a problem folder. Every other name in an answer is refused, so that no name of a model's
/// becomes a path.
inline constexpr std::array kDraftFileNames{
    std::string_view("problem.json"), std::string_view("workloads.jsonl"), std::string_view("reference.cu"),
    std::string_view("examples.json")};
/// Of one of them. Chosen: the largest file of this kind that ships has half of that.
inline constexpr std::size_t kMaxDraftFileBytes = 64u << 10;

/// What a mailbox calls a question for a draft, beside those of searches.
inline constexpr const char* kDraftArm = "draft";

/// Name, which is one of the above -> text.
using DraftFiles = std::map<std::string, std::string, std::less<>>;

/// The files out of an answer that drafts a problem (docs/problem.md): fenced blocks, each with the file's name behind
/// its backticks. A file that the answer leaves out stays as it was in `former`. The error, of an answer that is cut,
/// names other files or lacks one, is suitable for the model that wrote it.
[[nodiscard]] Result<DraftFiles> read_problem_answer(std::string_view answer, const DraftFiles& former);

}  // namespace ak::agent
