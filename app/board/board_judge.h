// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "core/result.h"
#include "core/text/json.h"

namespace ak::app {

/// Whether a folder is a checkout of KernelBench: it has src/kernelbench/eval.py. Throws Error(bad_input) where it is none.
void require_judge(const std::filesystem::path& folder);

/// The verdict in what a judge wrote before it ended: one line that begins with `word`, and nothing else. {"failure"} alone
/// where there is none, or one that cannot be: times are null, or positive and finite, and that of a right kernel is not null. {"other_gpu"} alone where the judge
/// has another GPU than it was to judge on.
[[nodiscard]] Json read_verdict(const Result<std::string>& written, const std::string& word);

/// What KernelBench's own evaluator says of a model, in a child process: {"compiled", "correct", "time_us", "eager_us",
/// "note"}; with {"failure"} alone where it did not come to a verdict. It runs as the user, without a sandbox. Throws
/// Error(environment) where the GPU that it runs on is no `gpu`.
/// @param task  file of the benchmark; `model` what export made
/// @param gpu  product on which the kernel was searched
/// @param python  interpreter, as find_python() takes it
[[nodiscard]] Json judge_model(const std::filesystem::path& folder, const std::filesystem::path& task,
                               const std::filesystem::path& model, const std::string& gpu,
                               const std::string& python, const std::atomic<bool>* stop);

}  // namespace ak::app
