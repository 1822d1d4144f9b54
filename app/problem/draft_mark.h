// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ak::app {

/// The file of a problem folder that says that a language model drafted it.
inline constexpr const char* kDraftMarkFile = "draft.json";

/// Whose draft a problem is, and whether a person has confirmed it.
struct DraftMark {
  std::string model, description, paper;  ///< paper: the file's name; empty: there was none
  std::string prompts;                    ///< agent::PromptSet::version()
  int rounds = 0;                         ///< answers that it took
  std::string confirmed = {};  ///< content that a person has confirmed, as audited_content(); empty: none
};

/// Nothing where the folder has no mark. Throws Error(bad_input) where it has one that cannot be read.
[[nodiscard]] std::optional<DraftMark> read_draft_mark(const std::filesystem::path& folder);
/// Throws Error(output).
void write_draft_mark(const std::filesystem::path& folder, const DraftMark& mark);

/// Throws Error(audit) where a model drafted the problem and no person has confirmed it as it is now
/// (docs/problem.md#from-a-sentence-or-a-paper). One that ships has no mark.
void require_confirmed(const std::filesystem::path& folder);

}  // namespace ak::app
