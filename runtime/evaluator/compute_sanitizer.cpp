// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/compute_sanitizer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <sstream>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "runtime/cuda/cuda_toolkit.h"
#include "runtime/process/scratch_folder.h"
#include "runtime/process/worker_protocol.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;
using TimePoint = std::chrono::steady_clock::time_point;

struct Tool {
  std::string_view name;
  Status status;
  Gate gate;
};
// initcheck is left to the CPU device: it counts what the harness writes through other means as unwritten.
constexpr std::array kTools{
    Tool{"memcheck", Status::memory_error, Gate::memory_checker},
    Tool{"racecheck", Status::race, Gate::race_detector},
    Tool{"synccheck", Status::hang, Gate::barrier_checker},
};

// What the harness asks of the driver and is refused is not a fault of a kernel; nor is it how the worker ends.
constexpr std::array<std::string_view, 6> kFlags{"--report-api-errors", "no", "--check-exit-code", "no",
                                                 "--show-backtrace",    "no"};

// First words of a finding, which is one even where the log is cut short and has no summary.
constexpr std::array<std::string_view, 4> kFindings{"Invalid ", "Error: Race", "Error: Potential",
                                                    "Barrier error"};

// Prefix of every line it writes itself.
constexpr std::string_view kPrefix = "========= ";
// Of a finding: what, where, by which thread (chosen, for a person and a prompt).
constexpr int kLinesShown = 4;
// Under it a candidate that takes milliseconds took seconds on an H200; a request's limit is a GPU's.
constexpr int kPatience = 2;

/// "3 errors" and "(3 errors, 1 warning)" -> 3.
std::optional<int> count_before(std::string_view line, std::string_view word) {
  const auto at = line.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  auto first = at;
  while (first > 0 && line[first - 1] >= '0' && line[first - 1] <= '9') --first;
  int count = 0;
  const auto [end, error] = std::from_chars(line.data() + first, line.data() + at, count);
  return error == std::errc{} ? std::optional(count) : std::nullopt;
}

/// Its kernels alone: references are run slowly enough as they are.
std::string filter_of(const LaunchPlan& plan) {
  std::vector<std::string> filters;
  for (const auto* launches : {&plan.prepare, &plan.launches}) {
    for (const LaunchPlanEntry& launch : *launches) {
      const std::string name = launch.kernel.substr(0, launch.kernel.find('<'));
      const auto scope = name.rfind("::");
      filters.push_back("kns=" + (scope == std::string::npos ? name : name.substr(scope + 2)));
    }
  }
  return fmt::format("{}", fmt::join(filters, ","));
}

class ComputeSanitizer final : public Evaluator {
 public:
  ComputeSanitizer(EvaluatorOptions options, SourceAssembler assembler, fs::path program, DeviceFacts device)
      : options_(std::move(options)),
        assembler_(std::move(assembler)),
        program_(std::move(program)),
        device_(std::move(device)) {}

  Ticket submit(EvaluationRequest request) override {
    requests_.emplace_back(++last_ticket_, std::move(request));
    return last_ticket_;
  }

  std::optional<Completed> wait_any(TimePoint deadline) override {
    while (!requests_.empty()) {
      if (!running_) start();
      auto completed = running_->wait_any(deadline);
      if (!completed) return std::nullopt;
      running_.reset();  // writes the log's last lines
      judge(completed->result.outcome);
      if (completed->result.outcome.status == Status::ok && ++tool_ < kTools.size()) continue;
      tool_ = 0;
      completed->ticket = requests_.front().first;
      requests_.pop_front();
      return completed;
    }
    return std::nullopt;
  }

  void cancel(Ticket ticket) override {
    if (!requests_.empty() && requests_.front().first == ticket) {
      running_.reset();
      tool_ = 0;
    }
    std::erase_if(requests_, [&](const auto& request) { return request.first == ticket; });
  }

  [[nodiscard]] EvaluatorCapabilities capabilities() const override {
    return {.device = device_, .executes = true, .parallel_builds = 1, .useful_in_flight = 1};
  }

 private:
  [[nodiscard]] fs::path log() const { return scratch_.path() / kTools[tool_].name; }

  void start() {
    EvaluatorOptions options = options_;
    EvaluationRequest request = requests_.front().second;
    request.deadline *= kPatience;
    options.launcher = {program_.string(), "--tool", std::string(kTools[tool_].name), "--log-file",
                        log().string()};
    for (const std::string_view flag : kFlags) options.launcher.emplace_back(flag);
    options.launcher.insert(options.launcher.end(), {"--kernel-name", filter_of(request.candidate.plan)});
    options.watched = true;
    running_ = make_local_evaluator(std::move(options), assembler_);
    running_->submit(std::move(request));
  }

  // A finding speaks for itself, whatever became of the worker. Without one a wrong result counts as always;
  // what is too slow or too large under the tool says nothing against the candidate.
  void judge(Outcome& outcome) const {
    const auto found = fs::exists(log()) ? read_sanitizer_log(read_file(log())) : std::nullopt;
    const Tool& tool = kTools[tool_];
    if (found && found->errors > 0) {
      outcome = {.status = tool.status,
                 .stage = StageId::check,
                 .message = fmt::format("compute-sanitizer's {} says: {}", tool.name, found->finding),
                 .diagnostics = {},
                 .gate = tool.gate};
      return;
    }
    const bool ok = outcome.status == Status::ok;
    if ((ok && found) || outcome.status == Status::incorrect) return;
    outcome = {.status = Status::unsupported,
               .stage = StageId::check,
               .message = fmt::format("compute-sanitizer's {} gave no verdict{}", tool.name,
                                      ok ? "" : ": " + outcome.message),
               .diagnostics = {},
               .gate = {}};
  }

  EvaluatorOptions options_;
  SourceAssembler assembler_;
  fs::path program_;
  DeviceFacts device_;
  ScratchFolder scratch_;
  Ticket last_ticket_ = 0;
  std::deque<std::pair<Ticket, EvaluationRequest>> requests_;
  std::unique_ptr<Evaluator> running_;  ///< under kTools[tool_], for the first of requests_
  std::size_t tool_ = 0;
};

}  // namespace

fs::path find_compute_sanitizer() {
  std::vector<fs::path> folders;
  for (const fs::path& root : cuda_roots()) folders.push_back(root / "bin");
  const char* path = std::getenv("PATH");
  std::istringstream rest(path == nullptr ? "" : path);
  for (std::string folder; std::getline(rest, folder, ':');) folders.emplace_back(folder);
  for (const fs::path& folder : folders) {
    const fs::path program = folder / "compute-sanitizer";
    if (folder.is_absolute() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

std::optional<SanitizerLog> read_sanitizer_log(std::string_view text) {
  SanitizerLog log;
  bool summary = false, showing = false;
  int shown = 0;
  std::istringstream lines{std::string(text)};
  for (std::string raw; std::getline(lines, raw);) {
    std::string_view line = raw;
    if (!line.starts_with(kPrefix)) continue;
    line.remove_prefix(kPrefix.size());
    if (line.find("SUMMARY: ") != std::string_view::npos) {
      summary = true;
      log.errors = count_before(line, " error").value_or(0);
    } else if (std::ranges::any_of(kFindings, [&](auto words) { return line.starts_with(words); })) {
      ++log.errors;
      showing = shown == 0;
    } else if (!line.starts_with(' ')) {
      showing = false;
    }
    if (!showing || shown == kLinesShown) continue;
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    log.finding += (shown++ == 0 ? "" : "; ") + std::string(line);
  }
  if (!summary && log.errors == 0) return std::nullopt;
  return log;
}

std::unique_ptr<Evaluator> make_compute_sanitizer(EvaluatorOptions options, SourceAssembler assembler,
                                                  fs::path program, DeviceFacts device) {
  AK_ASSERT(options.device == DeviceKind::cuda, "it watches a GPU");
  options.compile_workers = 2;  // the references, and one candidate that is in the cache
  options.time_baseline = false;
  return std::make_unique<ComputeSanitizer>(std::move(options), std::move(assembler), std::move(program),
                                            std::move(device));
}

}  // namespace ak::runtime
