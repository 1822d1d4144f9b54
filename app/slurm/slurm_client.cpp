// SPDX-License-Identifier: Apache-2.0
#include "app/slurm/slurm_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/suggest.h"
#include "runtime/process/child_process.h"
#include "runtime/process/program_output.h"

namespace ak::app {
namespace {

// Of sbatch's own variables those that say where and for how long; they count more than the lines of a script, and the
// others would change what a session's job is.
constexpr std::array<std::string_view, 8> kForJobs{
    "SBATCH_ACCOUNT",    "SBATCH_PARTITION",   "SBATCH_QOS",    "SBATCH_TIMELIMIT",
    "SBATCH_CONSTRAINT", "SBATCH_RESERVATION", "ALPHAKERNEL_*", "XDG_*"};
constexpr std::size_t kShownAnswer = 400;
constexpr std::size_t kMostDigits = 10;  // Slurm's numbers have 32 bits

}  // namespace

Result<std::string> ask_slurm(const std::vector<std::string>& argv, std::chrono::seconds limit) {
  auto answer =
      runtime::output_of(argv, runtime::child_environment(true, kForJobs), limit, {.last_words = true});
  if (!answer) return InputError{shown_in_line(fmt::format("{} {}", argv.front(), answer.error().message))};
  return answer;
}

std::string shown_in_line(std::string_view text) {
  std::string line = sanitize(text, kShownAnswer);
  std::ranges::replace(line, '\n', ' ');
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

bool is_job_number(std::string_view text) {
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= kMostDigits &&
           part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t at = text.find('_');
  return is_number(text.substr(0, at)) && (at == std::string_view::npos || is_number(text.substr(at + 1)));
}

}  // namespace ak::app
