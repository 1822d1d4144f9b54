// SPDX-License-Identifier: Apache-2.0
#include "app/slurm/job_facts.h"

#include <charconv>
#include <cstdlib>
#include <numeric>

#include "app/setup/pool_file.h"
#include "app/slurm/slurm_client.h"
#include "core/error.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

/// Takes a number above 0 from the beginning of a text.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > kMostPoolDevices) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

bool take_text(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int JobFacts::tasks() const { return std::accumulate(tasks_of_nodes.begin(), tasks_of_nodes.end(), 0); }

std::optional<std::vector<int>> tasks_in(std::string_view text) {
  std::vector<int> tasks;
  do {
    const auto number = take_number(text);
    std::optional<int> nodes = 1;
    if (number && take_text(text, "(x")) {
      nodes = take_number(text);
      if (!take_text(text, ")")) return std::nullopt;
    }
    if (!number || !nodes) return std::nullopt;
    tasks.insert(tasks.end(), static_cast<std::size_t>(*nodes), *number);
  } while (take_text(text, ","));
  if (!text.empty() || std::accumulate(tasks.begin(), tasks.end(), 0) > kMostPoolDevices) return std::nullopt;
  return tasks;
}

JobFacts job_facts(bool of_array) {
  JobFacts facts{.job = variable("SLURM_JOB_ID"), .tasks_of_nodes = {}};
  if (of_array) facts.job = variable("SLURM_ARRAY_JOB_ID") + "_" + variable("SLURM_ARRAY_TASK_ID");
  if (!is_job_number(facts.job))
    fail(ExitCode::usage,
         "this is no job of Slurm; begin one with: alphakernel session start MANIFEST --slurm");
  const std::string tasks = variable("SLURM_TASKS_PER_NODE");
  auto numbers = tasks_in(tasks);
  if (!numbers)
    fail(ExitCode::usage, "SLURM_TASKS_PER_NODE is '{}': expected numbers of tasks, {} at most in all",
         sanitize(tasks, 100), kMostPoolDevices);
  facts.tasks_of_nodes = *std::move(numbers);
  return facts;
}

}  // namespace ak::app
