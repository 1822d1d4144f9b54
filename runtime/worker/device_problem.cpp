// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/device_problem.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "core/text/hash.h"
#include "runtime/check/automatic_mutation.h"
#include "runtime/check/check.h"
#include "runtime/check/data_dump.h"
#include "runtime/check/input_mutation_check.h"
#include "runtime/timing/cost_measurement.h"
#include "runtime/timing/library_timing.h"
#include "runtime/timing/profile_run.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// On an H200 the event of an illegal access came 0.4 ms after the driver's error; a hundred times that (chosen).
constexpr unsigned kEventPatience_ms = 40;

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

Outcome cuda_outcome(const CudaError& error, StageId stage) {
  Outcome outcome = outcome_of(error.result(), stage, "the device");
  // Loading is the one step where the driver judges the candidate's program itself.
  if (outcome.status == Status::launch_error && !process_lost(error.result()))
    outcome.status = Status::infrastructure_error;
  outcome.message = error.what();
  return outcome;
}

void add_note(DeviceAnswer& answer, std::string message) {
  answer.outcome.diagnostics.push_back(
      {.severity = "note", .message = std::move(message), .line = 0, .column = 0});
}

Contents contents(const DeviceTask& task) {
  return task.changing && gate_enabled(Gate::fresh_contents) ? Contents::changing : Contents::kept;
}

/// The times that the energy of a candidate's calls has to agree with.
std::optional<AloneTimes> alone_times(const std::vector<Measurement>& measurements,
                                      const std::string& workload) {
  AloneTimes times;
  for (const Measurement& m : measurements) {
    if (m.workload != workload || m.role != MeasurementRole::candidate) continue;
    (m.cold ? times.cold_ns : times.warm_ns) = m.median_ns;
  }
  return times.cold_ns > 0 && times.warm_ns > 0 ? std::optional(times) : std::nullopt;
}

}  // namespace

DeviceProblem::DeviceProblem(OpenProblem problem, std::function<void(const Progress&)> report,
                             MakeLaunchProfiler make_profiler)
    : problem_(std::move(problem)),
      context_(problem_.ordinal),
      stream_(create_stream()),
      kernels_(problem_.harness_image, stream_.get()),
      run_context_{.context = context_,
                   .stream = stream_.get(),
                   .kernels = kernels_,
                   .problem = problem_,
                   .report = std::move(report),
                   .random = std::mt19937_64(random_seed()),
                   .inspector = driver().inspector},
      reference_(make_reference(run_context_)),
      lock_(device_lock(driver().inspector == nullptr ? context_.facts().uuid : "")),
      store_(run_context_, *reference_),
      make_profiler_(make_profiler) {
  if (run_context_.inspector != nullptr) return;
  timer_.emplace(run_context_, store_);
  events_.emplace(context_.facts().uuid);
}

DeviceAnswer DeviceProblem::run(const DeviceTask& task) {
  DeviceAnswer answer;
  answer.outcome = {.status = Status::ok, .stage = StageId::verdict, .message = {}, .diagnostics = {}};
  ScopedTurn turn(lock_, DeviceLock::Turn::shared, [this] { report_waiting(); });
  const auto start = steady_clock::now();
  StageId stage = StageId::check;
  try {
    static_cast<void>(store_.take_making_ms());
    if (run_apart(task, answer)) return answer;
    if (profiler_ && !task.profile) profiler_->release();
    ProgramLoader program(task.image, "the candidate's program");
    for (const StageInfo& each : stages()) {
      if (each.runner != StageRunner::device_worker || answer.outcome.status != Status::ok) continue;
      stage = each.id;
      run_stage(stage, task, program, answer, start);
    }
    if (task.profile) return answer;
  } catch (const CudaError& error) {
    answer.outcome = judged(run_context_.inspector, cuda_outcome(error, stage));
  }
  if (answer.outcome.status != Status::ok) settle(answer);
  blame_hardware(answer);
  if (!lock_.unavailable_reason().empty())
    add_note(answer, "other processes were not kept off this GPU meanwhile: " + lock_.unavailable_reason());
  answer.busy_ms = milliseconds_since(start);
  return answer;
}

void DeviceProblem::report_waiting() {
  run_context_.report(
      {.activity = "waiting", .what = "for another process that times on this GPU", .limit_ms = 30'000});
}

void DeviceProblem::take_turn_alone() {
  lock_.take(DeviceLock::Turn::alone, [this] { report_waiting(); });
}

/// True when the task is none of an evaluation's: data to write down, or a mutation of results.
bool DeviceProblem::run_apart(const DeviceTask& task, DeviceAnswer& answer) {
  if (task.dump_dir.empty() && task.mutation.empty()) return false;
  std::optional<Outcome> failed;
  if (!task.dump_dir.empty())
    failed = dump_data_sets(run_context_, store_, task);
  else if (!task.mutated_input.empty())
    failed = check_input_mutation(run_context_, store_, *reference_, task, answer.checks);
  else
    failed = check_automatic_mutation(run_context_, store_, task, answer.checks);
  if (failed) answer.outcome = std::move(*failed);
  answer.lost = reference_->lost();
  return true;
}

/// What the task does not ask for is passed over.
void DeviceProblem::run_stage(StageId stage, const DeviceTask& task, ProgramLoader& program,
                              DeviceAnswer& answer, steady_clock::time_point start) {
  if (task.profile) {
    if (stage != StageId::profile) return;
    take_turn_alone();
    return profile_all(task, *task.profile, answer);
  }
  if (stage == StageId::check) {
    if (!in_pairs(task)) check_all(task, program, answer);
    answer.check_ms = milliseconds_since(start);
    answer.reference_ms = store_.take_making_ms();
  }
  if (stage == StageId::time) {
    take_turn_alone();
    const auto timing_start = steady_clock::now();
    if (!task.library.empty())
      time_library_pairs(task, answer);
    else
      in_pairs(task) ? time_pairs(task, answer) : time_all(task, program, answer);
    answer.time_ms = milliseconds_since(timing_start);
    if (answer.outcome.status == Status::ok) measure_energies(task, program, answer, start);
  }
}

void DeviceProblem::check_all(const DeviceTask& task, ProgramLoader& program, DeviceAnswer& answer) {
  if (task.twin) {
    if (auto failed = check_twin(run_context_, store_, *reference_, task, answer.checks))
      answer.outcome = std::move(*failed);
    for (const std::string& note : reference_->notes()) add_note(answer, note);
  }
  if (task.image.image.empty()) return;
  bool first = true;
  for (const WorkloadTask& one : task.workloads) {
    if (!one.time && !gate_enabled(Gate::shapes)) continue;
    auto failed = check_workload(run_context_, store_, program, problem_.workload(one.workload), one,
                                 task.seed, answer.checks);
    if (!failed) {
      first = false;
      continue;
    }
    // Right on smaller shapes, wrong on this one from the first distribution on.
    if (!first && failed->gate == Gate::tolerance) failed->gate = Gate::shapes;
    answer.outcome = std::move(*failed);
    return;
  }
}

// A baseline need not work in place: its outputs get their own memory.
TimingTarget DeviceProblem::target(const WorkloadLayout& layout, const ResolvedPlan& plan,
                                   const LoadedImage& image, MeasurementRole role) {
  return {.bind =
              [&, role](std::shared_ptr<const DataSet> data, const CandidateRun* outputs_of) {
                return CandidateRun::create(run_context_, std::move(data), plan, image,
                                            role == MeasurementRole::baseline, outputs_of);
              },
          .workload = layout,
          .role = role,
          .label = {},
          .champion_score_ns = {}};
}

void DeviceProblem::time_pairs(const DeviceTask& task, DeviceAnswer& answer) {
  AK_ASSERT(timer_, "only a GPU has times to compare");
  for (const WorkloadTask& one : task.workloads) {
    if (!one.time) continue;
    AK_ASSERT(one.rival_plan, "a rival has a plan for every timed workload");
    const WorkloadLayout& layout = problem_.workload(one.workload);
    const LoadedImage challenger(task.image, "the candidate's program"),
        champion(task.rival, "the champion's program");
    TimingTarget first = target(layout, one.plan, challenger, MeasurementRole::candidate),
                 second = target(layout, *one.rival_plan, champion, MeasurementRole::champion);
    first.variables = challenger.variables(task.image);
    second.variables = champion.variables(task.rival);
    auto pair = timer_->measure_in_pairs(first, second, one.batch);
    if (!pair) {
      answer.outcome = pair.error().outcome;
      answer.rival_failed = pair.error().of_champion;
      return;
    }
    answer.measurements.insert(answer.measurements.end(), pair->begin(), pair->end());
  }
}

void DeviceProblem::time_library_pairs(const DeviceTask& task, DeviceAnswer& answer) {
  AK_ASSERT(timer_, "only a GPU has times to compare");
  const LoadedImage program(task.image, "the candidate's program");
  LibraryPairs pairs =
      time_pairs_with_library(task.library, *timer_, run_context_, task, [&](const WorkloadTask& one) {
        return target(problem_.workload(one.workload), one.plan, program, MeasurementRole::candidate);
      });
  answer.measurements = std::move(pairs.measurements);
  add_note(answer, "baseline " + pairs.note);
  if (pairs.failed) answer.outcome = std::move(*pairs.failed);
}

void DeviceProblem::time_all(const DeviceTask& task, ProgramLoader& program, DeviceAnswer& answer) {
  if (task.twin) return;
  const bool baseline = task.image.image.empty();
  const LoadedImage* const twin = reference_->program();
  if (baseline && twin == nullptr) add_note(answer, "baseline naive: none, for the reference is no kernel");
  for (const WorkloadTask& one : task.workloads) {
    if (!one.time || (baseline && twin == nullptr)) continue;
    const WorkloadLayout& layout = problem_.workload(one.workload);
    const LoadedImage& loaded = baseline ? *twin : program.load();  // again for every workload
    TimingTarget timed = baseline ? target(layout, layout.twin, loaded, MeasurementRole::baseline)
                                  : target(layout, one.plan, loaded, MeasurementRole::candidate);
    if (baseline) timed.label = "naive";
    timed.champion_score_ns = one.champion_score_ns;
    // Other seeds than the check's: what a candidate may have kept from there is of no use here.
    const std::uint64_t seed = task.seed + (gate_enabled(Gate::fresh_contents) ? 1 : 0);
    auto measured =
        timer_ ? timer_->measure(timed, {.contents = contents(task), .batch = one.batch}, seed, task.budget)
               : measure_cost(run_context_, store_, timed, seed, task.follow_bytes);
    if (!measured) {
      answer.outcome = measured.error();
      return;
    }
    answer.measurements.push_back(std::move(measured).value());
    if (!task.changing || !timer_ || baseline) continue;
    const LoadedImage& again = program.load();
    auto warm = timer_->measure(target(layout, one.plan, again, MeasurementRole::candidate),
                                {.contents = contents(task), .cold = false}, seed, task.budget);
    if (!warm) {
      answer.outcome = warm.error();
      return;
    }
    answer.measurements.push_back(std::move(warm).value());
  }
  if (baseline && timer_) time_libraries(task, answer);
}

void DeviceProblem::profile_all(const DeviceTask& task, const ProfileOptions& profile_options,
                                DeviceAnswer& answer) {
  if (!timer_ || make_profiler_ == nullptr) {
    answer.outcome = {.status = Status::unsupported,
                      .stage = StageId::profile,
                      .message = "this device has no hardware counters",
                      .diagnostics = {},
                      .gate = {}};
    return;
  }
  if (!profiler_) profiler_ = make_profiler_(context_.ordinal());
  for (const WorkloadTask& one : task.workloads) {
    if (!one.time) continue;
    auto profile = profile_workload(run_context_, store_, *timer_, *profiler_,
                                    {.workload = problem_.workload(one.workload),
                                     .plan = one.plan,
                                     .image = task.image,
                                     .profile_options = profile_options,
                                     .seed = task.seed});
    if (!profile) {
      answer.outcome = profile.error();
      return;
    }
    answer.profiles.push_back(std::move(profile).value());
  }
}

void DeviceProblem::measure_energies(const DeviceTask& task, ProgramLoader& program, DeviceAnswer& answer,
                                     steady_clock::time_point start) {
  std::optional<steady_clock::time_point> deadline;
  if (task.limit_ms > 0)
    deadline = start + std::chrono::milliseconds(static_cast<std::int64_t>(task.limit_ms));
  for (const WorkloadTask& one : task.workloads) {
    const auto measured = std::ranges::find_if(answer.measurements, [&](const Measurement& m) {
      return m.workload == one.workload && m.role == MeasurementRole::candidate && m.cold;
    });
    if (!one.energy || !timer_ || measured == answer.measurements.end()) continue;
    const auto alone = alone_times(answer.measurements, one.workload);
    if (!alone || works_in_place(problem_)) {
      measured->energy.emplace().unavailable_reason =
          alone ? "a call of this problem overwrites what the next one needs"
                : "there is no time with warm caches to compare with";
      continue;
    }
    const TimingTarget ran =
        target(problem_.workload(one.workload), one.plan, program.load(), MeasurementRole::candidate);
    auto energy = timer_->energy_of(ran, *alone, deadline);
    if (!energy) {
      answer.outcome = energy.error();
      return;
    }
    measured->energy = std::move(energy).value();
  }
}

void DeviceProblem::time_libraries(const DeviceTask& task, DeviceAnswer& answer) {
  for (const std::string& name : problem_.libraries) {
    LibraryTiming timing = time_library(name, *timer_, run_context_, task);
    std::move(timing.measurements.begin(), timing.measurements.end(),
              std::back_inserter(answer.measurements));
    add_note(answer, "baseline " + timing.note);
  }
}

// After a failure memory may hold anything, and the context may be gone. The CPU device refuses the
// accesses it reports.
void DeviceProblem::settle(DeviceAnswer& answer) {
  const CUresult state = driver().cuCtxSynchronize();
  answer.lost = state != CUDA_SUCCESS || reference_->lost();
  if (hardware_failed(state)) answer.device_fault = describe(state);
  const Status status = answer.outcome.status;
  const bool corrupted = status == Status::memory_error || status == Status::integrity_violation;
  if (corrupted && run_context_.inspector == nullptr) store_.clear();
}

/// Where the GPU failed meanwhile, whatever came of the task is not the candidate's.
void DeviceProblem::blame_hardware(DeviceAnswer& answer) {
  if (answer.device_fault.empty() && events_)
    answer.device_fault = events_->hardware_fault(answer.lost ? kEventPatience_ms : 0);
  if (answer.device_fault.empty()) return;
  const StageId stage = answer.outcome.status == Status::ok ? StageId::check : answer.outcome.stage;
  answer.outcome = {.status = Status::infrastructure_error,
                    .stage = stage,
                    .message = "the GPU failed: " + answer.device_fault,
                    .diagnostics = {}};
  answer.checks.clear();
  answer.measurements.clear();
  answer.lost = true;
}

}  // namespace ak::runtime
