// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/library_timing.h"

#include <algorithm>

#include "runtime/baseline/library_baseline.h"

namespace ak::runtime {
namespace {

// Loading a library of some hundred megabytes from a cold disk, or its compiling kernels for
// a workload (chosen).
constexpr double kLoadingMs = 60'000;

/// Times every proposal of one workload and keeps the fastest.
class BestProposal {
 public:
  BestProposal(Timer& timer, RunContext& run_context, const WorkloadLayout& workload, std::string label)
      : timer_(timer), run_context_(run_context), workload_(workload), label_(std::move(label)) {}

  void try_one(const LibraryCall& call, const DeviceTask& task, bool batch) {
    std::vector<CheckRecord> records;
    const TimingTarget target{.bind =
                                  [&](std::shared_ptr<const DataSet> data, const CandidateRun*) {
                                    return CandidateRun::create(run_context_, std::move(data), call);
                                  },
                              .workload = workload_,
                              .role = MeasurementRole::baseline,
                              .label = label_,
                              .champion_score_ns = best ? std::optional(best->median_ns) : std::nullopt,
                              .records = &records};
    // The inputs of the naive baseline, which the store still holds.
    auto measured =
        timer_.measure(target, {.contents = Contents::kept, .batch = batch}, task.seed + 1, task.budget);
    if (!measured) {
      failure = measured.error().message;
      return;
    }
    if (best && best->median_ns <= measured->median_ns) return;
    best = std::move(measured).value();
    worst_error = worst_tolerance = 0;
    for (const CheckRecord& record : records) {
      worst_error = std::max(worst_error, record.max_error);
      worst_tolerance = std::max(worst_tolerance, record.tolerance);
    }
  }

  std::optional<Measurement> best;
  double worst_error = 0, worst_tolerance = 0;  ///< of the best
  std::string failure;                          ///< of the last proposal that failed

 private:
  Timer& timer_;
  RunContext& run_context_;
  const WorkloadLayout& workload_;
  std::string label_;
};

std::string time_workload(LibraryBaseline& library, Timer& timer, RunContext& run_context,
                          const std::string& name, const DeviceTask& task, bool batch,
                          LibraryTiming& timing) {
  const WorkloadLayout& workload = run_context.problem.workload(name);
  run_context.report(
      {.activity = "harness", .what = "setting up " + library.label(), .limit_ms = kLoadingMs});
  const auto calls = library.calls(run_context.problem, workload);
  if (!calls) return fmt::format("none: {}", calls.error().message);
  BestProposal proposals(timer, run_context, workload, library.label());
  for (const auto& call : *calls) proposals.try_one(*call, task, batch);
  if (!proposals.best) return fmt::format("none on {}: {}", name, proposals.failure);
  timing.measurements.push_back(std::move(*proposals.best));
  return fmt::format("error {:.1e} of {:.1e} tolerated on {}, best of {}", proposals.worst_error,
                     proposals.worst_tolerance, name, calls->size());
}

}  // namespace

LibraryTiming time_library(const std::string& name, Timer& timer, RunContext& run_context,
                           const DeviceTask& task) {
  run_context.report({.activity = "harness", .what = "loading " + name, .limit_ms = kLoadingMs});
  const auto library = open_library_baseline(name);
  if (!library)
    return {.measurements = {}, .note = fmt::format("{}: none: {}", name, library.error().message)};
  LibraryTiming timing;
  std::vector<std::string> notes;
  for (const WorkloadTask& one : task.workloads) {
    if (!one.time) continue;
    std::string note = time_workload(**library, timer, run_context, one.workload, task, one.batch, timing);
    // The same reason for every workload is said once.
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  }
  timing.note = fmt::format("{}: {}", (*library)->label(), fmt::join(notes, "; "));
  return timing;
}

}  // namespace ak::runtime
