// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/library_timing.h"

#include <algorithm>
#include <utility>

#include "runtime/baseline/library_baseline.h"

namespace ak::runtime {
namespace {

// Loading a library of some hundred megabytes from a cold disk, or its compiling kernels for
// a workload (chosen).
constexpr double kLoadingMs = 60'000;

/// A library's call as something to time. All must outlive the target.
TimingTarget library_target(RunContext& run_context, const WorkloadLayout& workload, const LibraryCall& call,
                            const std::string& label) {
  return {.bind =
              [&run_context, &call](std::shared_ptr<const DataSet> data, const CandidateRun* outputs_of) {
                return CandidateRun::create(run_context, std::move(data), call,
                                            works_in_place(run_context.problem) ? nullptr : outputs_of);
              },
          .workload = workload,
          .role = MeasurementRole::baseline,
          .label = label,
          .champion_score_ns = {}};
}

/// Times every proposal of one workload and keeps the fastest.
class BestProposal {
 public:
  BestProposal(Timer& timer, RunContext& run_context, const WorkloadLayout& workload, std::string label)
      : timer_(timer), run_context_(run_context), workload_(workload), label_(std::move(label)) {}

  void try_one(const LibraryCall& one, const DeviceTask& task, bool batch) {
    std::vector<CheckRecord> records;
    TimingTarget target = library_target(run_context_, workload_, one, label_);
    target.champion_score_ns = best ? std::optional(best->median_ns) : std::nullopt;
    target.records = &records;
    // The inputs of the naive baseline, which the store still holds.
    auto measured =
        timer_.measure(target, {.contents = Contents::kept, .batch = batch}, task.seed + 1, task.budget);
    if (!measured) {
      failure = measured.error().message;
      return;
    }
    if (best && best->median_ns <= measured->median_ns) return;
    best = std::move(measured).value();
    call = &one;
    worst_error = worst_tolerance = 0;
    for (const CheckRecord& record : records) {
      worst_error = std::max(worst_error, record.max_error);
      worst_tolerance = std::max(worst_tolerance, record.tolerance);
    }
  }

  std::optional<Measurement> best;
  const LibraryCall* call = nullptr;            ///< of the best
  double worst_error = 0, worst_tolerance = 0;  ///< of the best
  std::string failure;                          ///< of the last proposal that failed

 private:
  Timer& timer_;
  RunContext& run_context_;
  const WorkloadLayout& workload_;
  std::string label_;
};

/// What is done with the best proposal of a workload. An error says why there is nothing.
using UseProposal =
    std::function<Result<std::monostate>(BestProposal&, const WorkloadTask&, const std::string& label)>;

std::string time_workload(LibraryBaseline& library, Timer& timer, RunContext& run_context,
                          const WorkloadTask& one, const DeviceTask& task, const UseProposal& use) {
  const WorkloadLayout& workload = run_context.problem.workload(one.workload);
  run_context.report(
      {.activity = "harness", .what = "setting up " + library.label(), .limit_ms = kLoadingMs});
  const auto calls = library.calls(run_context.problem, workload);
  if (!calls) return fmt::format("none: {}", calls.error().message);
  BestProposal proposals(timer, run_context, workload, library.label());
  for (const auto& call : *calls) proposals.try_one(*call, task, one.batch);
  if (!proposals.best) return fmt::format("none on {}: {}", one.workload, proposals.failure);
  if (const auto used = use(proposals, one, library.label()); !used)
    return fmt::format("none on {}: {}", one.workload, used.error().message);
  return fmt::format("error {:.1e} of {:.1e} tolerated on {}, best of {}", proposals.worst_error,
                     proposals.worst_tolerance, one.workload, calls->size());
}

/// Every timed workload with one library; the note on it.
std::string for_workloads(const std::string& name, Timer& timer, RunContext& run_context,
                          const DeviceTask& task, const UseProposal& use) {
  run_context.report({.activity = "harness", .what = "loading " + name, .limit_ms = kLoadingMs});
  const auto library = open_library_baseline(name);
  if (!library) return fmt::format("{}: none: {}", name, library.error().message);
  std::vector<std::string> notes;
  for (const WorkloadTask& one : task.workloads) {
    if (!one.time) continue;
    std::string note = time_workload(**library, timer, run_context, one, task, use);
    // The same reason for every workload is said once.
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  }
  return fmt::format("{}: {}", (*library)->label(), fmt::join(notes, "; "));
}

}  // namespace

LibraryTiming time_library(const std::string& name, Timer& timer, RunContext& run_context,
                           const DeviceTask& task) {
  LibraryTiming timing;
  timing.note = for_workloads(
      name, timer, run_context, task,
      [&](BestProposal& proposals, const WorkloadTask&, const std::string&) -> Result<std::monostate> {
        timing.measurements.push_back(std::move(*proposals.best));
        return std::monostate{};
      });
  return timing;
}

LibraryPairs time_pairs_with_library(const std::string& name, Timer& timer, RunContext& run_context,
                                     const DeviceTask& task,
                                     const std::function<TimingTarget(const WorkloadTask&)>& kernel_on) {
  LibraryPairs found;
  found.note = for_workloads(name, timer, run_context, task,
                             [&](BestProposal& proposals, const WorkloadTask& one,
                                 const std::string& label) -> Result<std::monostate> {
                               if (found.failed) return InputError{"the kernel failed"};
                               const TimingTarget theirs =
                                   library_target(run_context, run_context.problem.workload(one.workload),
                                                  *proposals.call, label);
                               auto pair = timer.measure_in_pairs(kernel_on(one), theirs, one.batch);
                               if (!pair) {
                                 if (!pair.error().of_champion) found.failed = pair.error().outcome;
                                 return InputError{pair.error().outcome.message};
                               }
                               std::ranges::move(*pair, std::back_inserter(found.measurements));
                               return std::monostate{};
                             });
  return found;
}

}  // namespace ak::runtime
