// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace ak::app {

/// How long a question to Slurm may take. Its controller answers in milliseconds, and in seconds where a cluster is busy
/// (chosen: a status is waited for by a person, a submission is not asked for twice).
inline constexpr std::chrono::seconds kSlurmAnswer{10}, kSlurmSubmission{60};

/// What one of Slurm's programs (squeue, sbatch, ...) prints, or why there is nothing, beginning with its name. The text
/// is untrusted. The program, and with sbatch the job, gets the environment of a launcher (docs/sandbox.md), Slurm's and
/// AlphaKernel's own settings, and nothing that is called a key, token, secret or password.
[[nodiscard]] Result<std::string> ask_slurm(const std::vector<std::string>& argv, std::chrono::seconds limit);

/// Such a text as a part of a message: one line, without what could be no text, and no longer than is read.
[[nodiscard]] std::string shown_in_line(std::string_view text);

/// A job's number as Slurm prints it: some digits, and of one of an array two numbers, "41_3".
[[nodiscard]] bool is_job_number(std::string_view text);

}  // namespace ak::app
