// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/llm.h"
#include "core/text/file.h"

namespace ak::agent {

/// Of what a program prints; more ends it.
inline constexpr std::size_t kMaxProgramBytes = 16u << 20;

/// A program that answers a question.
struct ProgramCall {
  std::vector<std::string> argv;
  std::vector<std::string> environment = {};  ///< "NAME=value"; it has no other
  std::filesystem::path folder = {};          ///< where it works; empty: where this process does
  int input = -1;                             ///< its standard input
  std::chrono::milliseconds timeout{600'000};
  /// Ten times a second while it runs; a failure ends it.
  std::function<std::optional<LlmFailure>()> watch = {};
  /// Before it is killed it has so long to end by itself, after this was called; empty: none.
  std::function<void()> ask_to_end = {};
};

struct ProgramOutput {
  std::string text, error_text;  ///< standard output; the end of standard error
  std::optional<LlmFailure> failure = {};
  std::optional<int> exit_code = {};  ///< nothing where it was ended, or by a signal
};

/// Runs it to its end, until the time is up or the call is cancelled. It is killed then, with its process group.
[[nodiscard]] ProgramOutput run_to_answer(const ProgramCall& call, const std::atomic<bool>* cancelled);

/// A file without a name that holds `text`: a child that does not read it cannot block or signal us.
[[nodiscard]] FileDescriptor nameless_file(const std::string& text);

/// "NAME=value" of those variables of this process that are set.
[[nodiscard]] std::vector<std::string> set_variables(std::span<const std::string> names);

/// Values of variables that are keys by their names: PATH and HOME may be shown.
[[nodiscard]] std::vector<std::string> secret_values(std::span<const std::string> names);

}  // namespace ak::agent
