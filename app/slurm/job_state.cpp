// SPDX-License-Identifier: Apache-2.0
#include "app/slurm/job_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "app/slurm/slurm_client.h"
#include "core/text/line_diff.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

constexpr std::size_t kShownField = 80;
// States in which a job runs, has yet to, or is about to be in the queue again.
constexpr std::array<std::string_view, 12> kLive{"PENDING",   "RUNNING",   "CONFIGURING", "COMPLETING",
                                                 "SUSPENDED", "REQUEUED",  "STOPPED",     "REQUEUE_HOLD",
                                                 "RESIZING",  "SIGNALING", "REQUEUE_FED", "STAGE_OUT"};
// squeue does so of a job that ended some minutes ago.
constexpr std::string_view kForgotten = "Invalid job id";

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t end = line.find('|');
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

/// "RUNNING", "CANCELLED by 1000".
bool is_state(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  return !word.empty() && word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string_view::npos;
}

/// The last line that begins with the job's number and has so many fields, of which the second is a state.
std::optional<std::vector<std::string>> fields_of_job(const std::string& job, std::string_view text,
                                                      std::size_t count) {
  std::optional<std::vector<std::string>> found;
  for (const std::string_view line : lines_of(text)) {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != count || fields[0] != job || !is_state(fields[1])) continue;
    found.emplace();
    for (const std::string_view field : fields) found->push_back(sanitize(field, kShownField));
  }
  return found;
}

JobState not_known(const std::string& job, const std::string& why) {
  JobState state;
  state.job = job;
  state.unknown = shown_in_line(why);
  return state;
}

/// Of a job that squeue does not know any more.
JobState ask_sacct(const std::string& job) {
  const auto text = ask_slurm({"sacct", "--noheader", "--parsable2", "--allocations", "--jobs=" + job,
                               "--format=JobID,State,ExitCode,Elapsed,NodeList"},
                              kSlurmAnswer);
  auto state = text ? job_state_in_sacct(job, *text) : std::nullopt;
  if (!state)
    state = not_known(job, fmt::format("it is in the queue no more, and how it ended is not known: {}",
                                       text ? "sacct does not know it" : text.error().message));
  state->in_queue = false;
  return *std::move(state);
}

}  // namespace

std::optional<JobState> job_state_in_squeue(const std::string& job, std::string_view text) {
  const auto fields = fields_of_job(job, text, 6);
  if (!fields) return std::nullopt;
  JobState state;
  state.job = job;
  state.state = (*fields)[1];
  if ((*fields)[2] != "None") state.reason = (*fields)[2];
  state.elapsed = (*fields)[3];
  state.time_limit = (*fields)[4];
  state.nodes = (*fields)[5];
  state.in_queue = std::ranges::find(kLive, state.state) != kLive.end();
  return state;
}

std::optional<JobState> job_state_in_sacct(const std::string& job, std::string_view text) {
  const auto fields = fields_of_job(job, text, 5);
  if (!fields) return std::nullopt;
  JobState state;
  state.job = job;
  state.state = (*fields)[1];
  if ((*fields)[2] != "0:0") state.reason = "exit code " + (*fields)[2];
  state.elapsed = (*fields)[3];
  state.nodes = (*fields)[4];
  return state;
}

JobState ask_job_state(const std::string& job) {
  const auto text = ask_slurm(
      {"squeue", "--noheader", "--array", "--states=all", "--jobs=" + job, "--format=%i|%T|%r|%M|%l|%N"},
      kSlurmAnswer);
  if (!text && text.error().message.find(kForgotten) == std::string::npos)
    return not_known(job, text.error().message);
  if (auto state = text ? job_state_in_squeue(job, *text) : std::nullopt) return *std::move(state);
  if (text && text->find_first_not_of(" \n") != std::string::npos)
    return not_known(job, fmt::format("squeue prints something else: {}", *text));
  return ask_sacct(job);
}

Json to_json(const JobState& state) {
  const auto known = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"id", state.job},
          {"state", known(state.state)},
          {"reason", known(state.reason)},
          {"elapsed", known(state.elapsed)},
          {"time_limit", known(state.time_limit)},
          {"nodes", known(state.nodes)},
          {"in_queue", state.in_queue ? Json(*state.in_queue) : Json()},
          {"unknown", known(state.unknown)}};
}

std::string job_text(const JobState& state) {
  if (!state.unknown.empty()) return fmt::format("  Slurm job {}: not known: {}\n", state.job, state.unknown);
  std::vector<std::string> parts{state.state};
  if (!state.reason.empty()) parts.back() += fmt::format(" ({})", state.reason);
  if (!state.elapsed.empty())
    parts.push_back(state.elapsed + (state.time_limit.empty() ? "" : " of " + state.time_limit));
  if (!state.nodes.empty()) parts.push_back("on " + state.nodes);
  return fmt::format("  Slurm job {}: {}\n", state.job, fmt::join(parts, ", "));
}

}  // namespace ak::app
