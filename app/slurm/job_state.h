// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/text/json.h"

namespace ak::app {

/// What Slurm says of a job. What it does not say is empty.
struct JobState {
  std::string job;                    ///< its number
  std::string state;                  ///< Slurm's word: "PENDING", "RUNNING", "TIMEOUT", ...
  std::string reason;                 ///< why it waits, or its exit code
  std::string elapsed, time_limit;    ///< as Slurm writes them: days-hours:minutes:seconds
  std::string nodes;                  ///< "gpu[1-4]"
  std::optional<bool> in_queue = {};  ///< it runs or will; none: not known
  std::string unknown = {};           ///< why there is no state
};

/// Asks squeue, and sacct where that no longer knows the job. Never throws: what cannot be asked is `unknown`.
[[nodiscard]] JobState ask_job_state(const std::string& job);

/// The line of the job in what squeue, or sacct, was asked to print; nothing where there is none. Lines of another form
/// are passed over.
[[nodiscard]] std::optional<JobState> job_state_in_squeue(const std::string& job, std::string_view text);
[[nodiscard]] std::optional<JobState> job_state_in_sacct(const std::string& job, std::string_view text);

/// The member `job` of a session's status (docs/sessions.md), and its line for people.
[[nodiscard]] Json to_json(const JobState& state);
[[nodiscard]] std::string job_text(const JobState& state);

}  // namespace ak::app
