// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ak::tools {

/// What --json of a command line prints: the answer of an operation, as its schema says, or a document of its own.
struct JsonAnswer {
  std::string_view command;        ///< "alphakernel best lookup"
  std::string_view operations;     ///< their names between blanks; empty: it is a document of its own
  std::string_view document = {};  ///< what that is, and why no operation answers it
};

/// A row for every command line with --json.
[[nodiscard]] std::span<const JsonAnswer> json_answers();

/// That in a sentence of Markdown; empty for a command line without a row.
[[nodiscard]] std::string json_sentence(std::string_view command);

}  // namespace ak::tools
