// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/tool_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/text/json_line.h"
#include "core/text/suggest.h"

namespace ak::mcp {
namespace {

// An evaluation keeps all cores busy with compilers and emulators; a second one fills the gaps.
constexpr int kMaxJobsAtOnce = 2;
constexpr int kMaxQuickAtOnce = 8;
// Slow ones keep two cores busy, and the other quick calls go on.
constexpr int kMaxQueriesAtOnce = 2;
// A client that sends more without waiting is out of order.
constexpr std::size_t kMaxUnfinished = 256;
// Answers are kept in memory, some ten kilobytes each.
constexpr std::ptrdiff_t kMaxKept = 64;

int max_at_once(Lane lane) {
  if (lane == Lane::query) return kMaxQueriesAtOnce;
  return lane == Lane::job ? kMaxJobsAtOnce : kMaxQuickAtOnce;
}

std::string_view to_string(JobState state) {
  constexpr std::array<std::string_view, 4> kNames{"queued", "running", "done", "cancelled"};
  return kNames[static_cast<std::size_t>(state)];
}

/// What a tool's process wrote (tool_main.cpp), or what became of it.
void take_output(ToolJob& job, const std::string& how_it_ended) {
  const Json written = try_parse_json(job.process->output());
  if (written.is_object() && written.contains("content")) {
    job.answer = {.content = written["content"], .failed = written.value("failed", false)};
  } else if (written.is_object() && written.contains("error")) {
    job.failure = written.value("error", "");
  } else {
    job.failure = fmt::format("{} {} without an answer: {}", job.tool->name, how_it_ended,
                              sanitize(job.process->notes()));
  }
}

}  // namespace

Json job_json(const ToolJob& job) {
  const auto until = job.over() ? job.ended : steady_clock::now();
  const std::chrono::duration<double> elapsed = until - job.submitted;
  Json json{{"job", job.name},
            {"tool", job.tool->name},
            {"state", to_string(job.state)},
            {"elapsed_s", std::round(elapsed.count() * 10) / 10}};
  if (job.process && !job.process->notes().empty()) json["notes"] = sanitize(job.process->notes());
  return json;
}

std::shared_ptr<ToolJob> ToolJobs::submit(const Tool& tool, Json arguments) {
  const auto unfinished = std::ranges::count_if(jobs_, [](const auto& job) { return !job->over(); });
  if (static_cast<std::size_t>(unfinished) >= kMaxUnfinished) return nullptr;
  auto job = std::make_shared<ToolJob>();
  job->tool = &tool;
  job->arguments = std::move(arguments);
  job->submitted = steady_clock::now();
  jobs_.push_back(job);
  start_waiting();
  return job;
}

std::shared_ptr<ToolJob> ToolJobs::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(jobs_, [&](const auto& job) { return job->kept && job->name == name; });
  return found == jobs_.end() ? nullptr : *found;
}

void ToolJobs::keep(ToolJob& job) {
  job.kept = true;
  job.name = fmt::format("job-{}", ++kept_);
}

void ToolJobs::cancel(ToolJob& job) {
  if (job.over()) return;
  job.process.reset();  // kills it
  job.state = JobState::cancelled;
  job.ended = steady_clock::now();
  job.failure = "cancelled";
}

Json ToolJobs::list() const {
  Json list = Json::array();
  for (const auto& job : jobs_) {
    if (job->kept) list.push_back(job_json(*job));
  }
  return list;
}

void ToolJobs::descriptors(std::vector<pollfd>& polled) const {
  for (const auto& job : jobs_) {
    if (!job->process) continue;
    for (const int descriptor : job->process->descriptors())
      polled.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  }
}

void ToolJobs::advance() {
  for (const auto& job : jobs_) {
    if (!job->process || !job->process->drain()) continue;
    take_output(*job, job->process->end());
    job->process.reset();
    job->state = JobState::done;
    job->ended = steady_clock::now();
  }
  start_waiting();
  forget();
}

void ToolJobs::start_waiting() {
  for (const auto& job : jobs_) {
    if (job->state == JobState::queued && running(job->tool->lane) < max_at_once(job->tool->lane))
      start(*job);
  }
}

void ToolJobs::start(ToolJob& job) {
  std::vector<std::string> argv = command_;
  argv.emplace_back(job.tool->name);
  try {
    job.process.emplace(argv, one_line(operation_request(job.arguments)));
    job.state = JobState::running;
  } catch (const Error& error) {
    job.failure = error.what();
    job.state = JobState::done;
    job.ended = steady_clock::now();
  }
}

void ToolJobs::forget() {
  std::erase_if(jobs_, [](const auto& job) { return job->over() && !job->kept; });
  const auto is_finished = [](const auto& job) { return job->over(); };
  for (auto left = std::ranges::count_if(jobs_, is_finished); left > kMaxKept; --left)
    jobs_.erase(std::ranges::find_if(jobs_, is_finished));
}

int ToolJobs::running(Lane lane) const {
  return static_cast<int>(std::ranges::count_if(
      jobs_, [&](const auto& job) { return job->state == JobState::running && job->tool->lane == lane; }));
}

}  // namespace ak::mcp
