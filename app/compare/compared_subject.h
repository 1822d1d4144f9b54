// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "db/read/call_stats.h"
#include "db/read/device_stats.h"
#include "db/read/search_stats.h"

namespace ak::app {

enum class SubjectKind : std::uint8_t { search, device, model, prompt };
[[nodiscard]] std::string_view to_string(SubjectKind kind);

/// What is compared other than kernels: "search:12", "device:h200", "model:...", "prompt:...".
/// "session:12" is a former name of "search:12": find_subject() says so on stderr.
struct ComparedSubject {
  SubjectKind kind = SubjectKind::search;
  std::string name;       ///< as the database has it: a number, a product, a model, a version
  std::string kind_name;  ///< of a device: "cuda" or "emulator"
};

/// The kind that a word of the command line names; nothing for a kernel's name.
[[nodiscard]] std::optional<SubjectKind> subject_kind(std::string_view word);

/// Finds it. A device, a model or a version may be named by part of its name, capitals and punctuation aside,
/// as long as that fits one alone. Throws Error(usage) naming what there is.
[[nodiscard]] ComparedSubject find_subject(const std::filesystem::path& database, const std::string& word);

}  // namespace ak::app
