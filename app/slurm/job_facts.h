// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ak::app {

/// What a job of Slurm says of itself to the processes in it.
struct JobFacts {
  std::string job;                  ///< its number
  std::vector<int> tasks_of_nodes;  ///< how many tasks each of its nodes has, the first node first

  [[nodiscard]] int tasks() const;
};

/// Those of this process's environment. Throws Error(usage) outside a job, and for one with more tasks than a pool has.
/// @param of_array the job is one of an array, whose numbers are "41_1", "41_2", ...
[[nodiscard]] JobFacts job_facts(bool of_array = false);

/// The numbers of "2(x3),1", which are 2, 2, 2 and 1; nothing for another text, and for more than a pool has.
[[nodiscard]] std::optional<std::vector<int>> tasks_in(std::string_view text);

}  // namespace ak::app
