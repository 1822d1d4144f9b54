// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/device/device_facts.h"
#include "core/store.h"

namespace ak::app {

/// How long before the end of its time a job is told, so that it ends cleanly and queues itself again: the notice may
/// come up to a minute early, and a clean end takes seconds.
inline constexpr int kNotice_s = 120;

/// A session as a job of Slurm.
struct BatchJob {
  std::filesystem::path database;
  RowId session = 0;
  std::filesystem::path log;
  DeviceKind kind = DeviceKind::cuda;  ///< of all its workers: a GPU, or the CPU device
  std::vector<std::string> options;    ///< the user's own, of sbatch
};

/// Sessions as the jobs of one array of Slurm, numbered from 1: session 1 of "N.db" in a folder each.
struct BatchArray {
  std::filesystem::path folder;
  int size = 0;
  int at_once = 0;  ///< so many of its jobs may run at a time; 0: as many as there is room for
  DeviceKind kind = DeviceKind::cuda;
  std::vector<std::string> options;  ///< as of BatchJob
};

/// Throws Error(usage) naming an option of sbatch that a session cannot have, or that a script cannot hold.
void check_sbatch_options(const std::vector<std::string>& options);

/// What sbatch submits; it holds all that the job needs, so that it can be submitted again. Throws as above.
[[nodiscard]] std::string batch_script(const BatchJob& job);
/// The same for all jobs of an array.
[[nodiscard]] std::string batch_script(const BatchArray& array);

}  // namespace ak::app
