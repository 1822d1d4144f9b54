// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ak::agent {

/// A block of an answer between lines of backticks.
struct FencedBlock {
  std::string text;
  bool closed = false;
  std::string info = {};  ///< what stands behind the backticks that open it: "cuda", "json problem.json"
};

/// The fenced blocks of an answer, in order; a fence closes with as many backticks as it opened with, at least.
[[nodiscard]] std::vector<FencedBlock> fenced_blocks(std::string_view answer);

/// Local models leave their thinking in the text; one that was cut may lack the opening tag.
[[nodiscard]] std::string_view without_thinking(std::string_view answer);

}  // namespace ak::agent
