// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/local_evaluator.h"
#include "runtime/build/compile_log.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/text/suggest.h"
#include "runtime/evaluator/candidate_builds.h"
#include "runtime/evaluator/device_schedule.h"
#include "runtime/evaluator/known_programs.h"
#include "runtime/evaluator/plan_inspection.h"
#include "runtime/evaluator/precision_audit.h"
#include "runtime/evaluator/quarantine.h"
#include "runtime/evaluator/verdict.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

// Of a model's prompt as much as of a person's patience (chosen, untested).
constexpr std::size_t kPrintsShown = 2'000;

double ms_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

Outcome ended_as(Status status, StageId stage, std::string message, std::optional<Gate> gate = {}) {
  return {.status = status, .stage = stage, .message = std::move(message), .diagnostics = {}, .gate = gate};
}

/// What ptxas warns of goes along with what a program came to. One that was known came with it.
void add_slow_code(const Outcome& build, Outcome& outcome) {
  for (const Diagnostic& said : build.diagnostics)
    if (is_slow_code(said) && std::ranges::find(outcome.diagnostics, said.message, &Diagnostic::message) ==
                                  outcome.diagnostics.end())
      outcome.diagnostics.push_back(said);
}

/// Of the jobs that ran on a device, milliseconds.
struct TimeSpent {
  double build_ms = 0, device_ms = 0;
};

/// Takes every evaluation through stages(): runs those of the evaluator itself, and hands the others to compile
/// and device workers, whose answers are the events that a job waits for.
class LocalEvaluator final : public Evaluator {
 public:
  LocalEvaluator(EvaluatorOptions options, SourceAssembler assembler);

  Ticket submit(EvaluationRequest request) override;
  std::optional<Completed> wait_any(TimePoint deadline) override;
  void cancel(Ticket ticket) override;
  void recall(const Completed& completed) override;
  [[nodiscard]] EvaluatorCapabilities capabilities() const override;
  [[nodiscard]] std::vector<PoolPlace> pool_places() const override { return devices_.pool_places(); }
  [[nodiscard]] std::vector<CalibrationRecord> take_calibrations() override {
    return devices_.take_calibrations();
  }

 private:
  [[nodiscard]] bool executes(const Arch& arch) const;
  [[nodiscard]] ProblemHistory& history(const EvaluationRequest& request) {
    return histories_[request.problem.get()];
  }

  void advance(EvaluationJob& job);
  void hand_over(EvaluationJob& job, StageRunner runner);
  // The evaluator's own stages; an Outcome ends the evaluation.
  [[nodiscard]] std::optional<Outcome> run_stage(StageId stage, EvaluationJob& job);
  [[nodiscard]] std::optional<Outcome> pre_check(EvaluationJob& job) const;
  [[nodiscard]] std::optional<Outcome> inspect(EvaluationJob& job) const;
  [[nodiscard]] std::optional<Outcome> judge(EvaluationJob& job);
  void finish(EvaluationJob& job, Outcome outcome);

  // Events.
  void pump();
  void on_built(CandidateBuilds::Built built);
  void on_device_finished(EvaluationJob& job, DeviceFinish finish, const DeviceLine* lost_on);
  bool runs_again(EvaluationJob& job, const DeviceFinish& finished);
  [[nodiscard]] bool end_without_run(EvaluationJob& job);
  void wait_for_event(TimePoint deadline) const;
  [[nodiscard]] EvaluatorActivity activity() const;

  EvaluatorOptions options_;
  SourceAssembler assembler_;
  CandidateBuilds builds_;
  ProblemHistories histories_;
  KnownPrograms known_;
  Quarantine quarantine_;
  std::map<Ticket, std::unique_ptr<EvaluationJob>> jobs_;  ///< in flight
  DeviceSchedule devices_;

  Ticket last_ticket_ = 0;
  std::deque<Completed> finished_;
  TimeSpent spent_;
};

LocalEvaluator::LocalEvaluator(EvaluatorOptions options, SourceAssembler assembler)
    : options_(std::move(options)),
      assembler_(std::move(assembler)),
      builds_(options_, assembler_),
      devices_(options_, histories_, [this](EvaluationJob& job) { return end_without_run(job); }) {}

bool LocalEvaluator::executes(const Arch& arch) const {
  if (options_.device == DeviceKind::emulator) return true;  // PTX of any architecture
  return devices_.has_device() && can_load(devices_.facts().arch, arch);
}

EvaluatorCapabilities LocalEvaluator::capabilities() const {
  const int builds = builds_.workers(), devices = std::max(1, devices_.devices());
  // Twice the builds that keep the devices busy by the means so far; more would be proposed with less known.
  const double wanted =
      spent_.device_ms > 0 ? std::ceil(2 * devices * spent_.build_ms / spent_.device_ms) : builds;
  const int useful = std::max(1, static_cast<int>(std::min<double>(builds, wanted)));
  return {.device = devices_.facts(),
          .executes = executes(options_.target),
          .parallel_builds = builds,
          .useful_in_flight = useful + devices};
}

Ticket LocalEvaluator::submit(EvaluationRequest request) {
  AK_ASSERT(request.problem != nullptr, "a request names its problem");
  // An unknown name is the caller's mistake.
  static_cast<void>(select_workloads(*request.problem, request.workloads, options_.device));
  if (!request.place.empty() && !devices_.has_place(request.place))
    fail(ExitCode::usage, "there is no place {} in this pool", request.place);
  auto job = std::make_unique<EvaluationJob>();
  job->ticket = ++last_ticket_;
  job->request = std::move(request);
  job->submitted = steady_clock::now();
  EvaluationJob& added = *(jobs_[job->ticket] = std::move(job));
  // Its references are built meanwhile.
  if (added.request.depth != Depth::build && executes(added.request.arch))
    added.problem = &builds_.problem(added.request.problem, added.request.arch);
  advance(added);
  return last_ticket_;
}

// ---- stages

/// Goes on until the job waits for workers or has ended. What the search and the workers run lies between the
/// evaluator's own stages; consecutive stages of one worker are one task.
void LocalEvaluator::advance(EvaluationJob& job) {
  while (job.next_stage < stages().size()) {
    const StageInfo& stage = stages()[job.next_stage++];
    if (stage.runner == StageRunner::search) continue;  // before the request
    if (stage.runner == StageRunner::evaluator) {
      if (auto ended = run_stage(stage.id, job)) return finish(job, std::move(*ended));
      continue;
    }
    while (job.next_stage < stages().size() && stages()[job.next_stage].runner == stage.runner)
      ++job.next_stage;
    return hand_over(job, stage.runner);
  }
  finish(job, std::move(job.result.outcome));
}

void LocalEvaluator::hand_over(EvaluationJob& job, StageRunner runner) {
  if (runner == StageRunner::device_worker) return devices_.add(job);
  using Part = CandidateBuilds::Part;
  if (job.rival_unit) builds_.start(job.ticket, Part::rival, std::move(*job.rival_unit));
  builds_.start(job.ticket, Part::candidate, std::move(job.unit),
                job.request.fresh_process ? BuildOrigin::leader : BuildOrigin::candidate);
}

std::optional<Outcome> LocalEvaluator::run_stage(StageId stage, EvaluationJob& job) {
  if (stage == StageId::pre_check) return pre_check(job);
  if (stage == StageId::resources) return inspect(job);
  AK_ASSERT(stage == StageId::verdict, "the evaluator knows each of its own stages");
  return judge(job);
}

std::optional<Outcome> LocalEvaluator::pre_check(EvaluationJob& job) const {
  const EvaluationRequest& request = job.request;
  std::vector<Diagnostic> findings = assembler_.pre_check(*request.problem, request.candidate);
  const auto error = std::ranges::find(findings, "error", &Diagnostic::severity);
  if (error != findings.end()) {
    Outcome broken = ended_as(Status::invalid_candidate, StageId::pre_check, error->message,
                              error->gate.value_or(Gate::source_rules));
    broken.diagnostics = std::move(findings);
    return broken;
  }
  if (auto broken = inspect_constraints(request, devices_.environment())) return broken;
  auto unit = assembler_.candidate(*request.problem, request.candidate, request.arch);
  if (!unit)
    return ended_as(Status::invalid_candidate, StageId::pre_check, unit.error().message, Gate::source_rules);
  job.unit = std::move(unit).value();
  if (!request.rival) return std::nullopt;
  if (request.rival_build) {
    job.rival_build = *request.rival_build;
    return std::nullopt;
  }
  auto rival = assembler_.candidate(*request.problem, *request.rival, request.arch);
  if (!rival) return ended_as(Status::infrastructure_error, StageId::pre_check, rival.error().message);
  job.rival_unit = std::move(rival).value();
  return std::nullopt;
}

std::optional<Outcome> LocalEvaluator::inspect(EvaluationJob& job) const {
  const emulator::TokenizedText ptx(job.result.build->ptx);
  if (auto wrong = audit_precision(*job.request.problem, ptx)) return wrong;
  if (auto wrong = inspect_plans(job, options_.device, devices_.environment())) return wrong;
  if (auto wrong = inspect_rival(job, options_.device, devices_.environment())) return wrong;
  if (job.problem == nullptr) return ended_as(Status::compiled_only, StageId::resources, {});
  job.result.program = program_key(job, ptx);
  if (options_.device == DeviceKind::cuda) job.result.build->drop_ptx();  // its cubin runs
  return std::nullopt;
}

/// Of what passed everything on the device.
std::optional<Outcome> LocalEvaluator::judge(EvaluationJob& job) {
  const EvaluationRequest& request = job.request;
  if (options_.device == DeviceKind::cuda) {
    if (auto impossible = faster_than_possible(job, devices_.facts())) return impossible;
  }
  job.result.score_ns = score_of(job);
  if (job.result.score_ns) history(request).note_score(job.result);
  if (!request.rival && request.library.empty() && !request.profile && request.place.empty())
    known_.remember(request.candidate.name, job.result);
  if (request.depth == Depth::time) history(request).hand_over_baselines(job.result);
  return std::nullopt;
}

void LocalEvaluator::finish(EvaluationJob& job, Outcome outcome) {
  job.result.outcome = std::move(outcome);
  if (job.result.build) add_slow_code(job.result.build->outcome, job.result.outcome);
  job.result.stage_times.total_ms = ms_between(job.submitted, steady_clock::now());
  if (job.started != TimePoint{}) {
    spent_.build_ms += ms_between(job.submitted, job.built);
    spent_.device_ms += ms_between(job.started, steady_clock::now());
  }
  const Ticket ticket = job.ticket;
  devices_.remove(job);
  builds_.cancel(ticket);  // one of a pair may still be in progress when the other has failed
  finished_.push_back({.ticket = ticket, .request = std::move(job.request), .result = std::move(job.result)});
  jobs_.erase(ticket);
}

// ---- events

void LocalEvaluator::on_built(CandidateBuilds::Built built) {
  EvaluationJob& job = *jobs_.at(built.owner);
  if (built.part == CandidateBuilds::Part::rival) {
    job.rival_build = std::move(built.result);
  } else {
    job.built = steady_clock::now();
    StageTimes& times = job.result.stage_times;
    times.build_ms = built.result.cache_hit ? 0 : built.result.compile_ms;
    times.queue_ms = std::max(0.0, ms_between(job.submitted, job.built) - times.build_ms);
    job.result.build = std::move(built.result);
    if (job.result.build->outcome.status != Status::ok) return finish(job, job.result.build->outcome);
  }
  if (job.is_built()) advance(job);
}

/// The first time that a program is silent for too long: a machine whose driver is busy with another process stands
/// still for seconds, and no clock tells that from a kernel that hangs. What is late twice hangs.
bool LocalEvaluator::runs_again(EvaluationJob& job, const DeviceFinish& finished) {
  const Outcome& outcome = job.result.outcome;
  if (!finished.took_worker_down || outcome.status != Status::hang ||
      quarantine_.losses(job.result.program) > 1)
    return false;
  job.late = outcome.message;
  return true;
}

void LocalEvaluator::on_device_finished(EvaluationJob& job, DeviceFinish finished,
                                        const DeviceLine* lost_on) {
  DeviceAnswer& answer = finished.answer;
  EvaluationResult& result = job.result;
  result.checks = std::move(answer.checks);
  result.measurements = std::move(answer.measurements);
  for (Profile& profile : answer.profiles) {
    result.profiles.push_back(options_.name_metrics ? options_.name_metrics(std::move(profile))
                                                    : std::move(profile));
  }
  result.rival_failed = answer.rival_failed;
  result.stage_times.check_ms = answer.check_ms;
  result.stage_times.time_ms = answer.time_ms;
  result.stage_times.gpu_busy_ms = answer.busy_ms;
  result.stage_times.reference_ms = answer.reference_ms;
  result.outcome = std::move(answer.outcome);
  if (!finished.prints.empty()) {
    result.outcome.diagnostics.push_back({.severity = "note",
                                          .message = "printed: " + sanitize(finished.prints, kPrintsShown),
                                          .line = 0,
                                          .column = 0});
  }
  if (!job.late.empty())
    result.outcome.diagnostics.push_back(
        {.severity = "warning",
         .message = "when it ran first, " + job.late + "; it ran again, as a machine can stall, too",
         .line = 0,
         .column = 0});
  if (finished.took_worker_down) {
    quarantine_.count_loss(result.program, result.outcome);
  } else if (result.outcome.status != Status::infrastructure_error) {
    quarantine_.count_verdict();
  }
  if (runs_again(job, finished)) return devices_.run_again(job);
  // Where it is to blame the quarantine has made it a candidate's fault: what takes a second device down is not tried
  // on a third.
  const bool blameless = result.outcome.status == Status::infrastructure_error;
  if (lost_on != nullptr && blameless &&
      (devices_.send_elsewhere(job, *lost_on) || devices_.end_later(job, result.outcome)))
    return;
  if (result.outcome.status != Status::ok) return finish(job, std::move(result.outcome));
  advance(job);
}

// Tunables that change nothing in the program give the same code and the same launches: measured once, and
// not run again after two lost workers.
bool LocalEvaluator::end_without_run(EvaluationJob& job) {
  if (auto refused = quarantine_.refusal(job.result.program)) {
    finish(job, std::move(*refused));
    return true;
  }
  if (job.asks_its_own()) return false;
  const KnownPrograms::Known* known = known_.find(job.result.program);
  if (known == nullptr) return false;
  job.result.measurements = known->measurements;
  job.result.score_ns = known->score_ns;
  job.result.device = known->device;
  job.result.place = known->place;
  finish(job,
         ended_as(Status::duplicate, StageId::resources,
                  fmt::format("the same program and launches as '{}', whose results are used", known->name)));
  return true;
}

void LocalEvaluator::recall(const Completed& completed) {
  const EvaluationRequest& request = completed.request;
  EvaluationResult result = completed.result;
  if (result.outcome.status != Status::ok || result.program.empty() || request.rival ||
      !request.library.empty() || request.profile)
    return;
  const auto baselines = std::erase_if(result.measurements, [](const Measurement& measurement) {
    return measurement.role == MeasurementRole::baseline;
  });
  if (baselines > 0) history(request).set_baseline_timed(true);
  if (result.score_ns) history(request).note_score(result);
  known_.remember(request.candidate.name, result);
}

void LocalEvaluator::pump() {
  while (auto built = builds_.poll()) on_built(std::move(*built));
  while (auto finished = devices_.poll())
    on_device_finished(*finished->job, std::move(finished->finish), finished->lost_on);
  devices_.feed();
}

void LocalEvaluator::wait_for_event(TimePoint deadline) const {
  std::vector<pollfd> descriptors{{.fd = builds_.descriptor(), .events = POLLIN, .revents = 0}};
  devices_.add_descriptors(descriptors);
  const TimePoint until = std::min(deadline, devices_.wake_up());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
  // Capped, so that a missed wake-up costs a second and not the night.
  const int timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000));
  static_cast<void>(::poll(descriptors.data(), descriptors.size(), timeout_ms));
}

EvaluatorActivity LocalEvaluator::activity() const {
  EvaluatorActivity activity{.in_hand = static_cast<int>(jobs_.size())};
  for (const auto& [ticket, job] : jobs_) {
    activity.built += job->is_built();
    if (job->problem != nullptr && !job->problem->ready()) activity.references_built = false;
  }
  activity.pool = devices_.pool_places();
  return activity;
}

std::optional<Completed> LocalEvaluator::wait_any(TimePoint deadline) {
  for (;;) {
    pump();
    if (options_.on_wait) options_.on_wait(activity());
    if (!finished_.empty()) {
      Completed completed = std::move(finished_.front());
      finished_.pop_front();
      return completed;
    }
    if (jobs_.empty() || steady_clock::now() >= deadline) return std::nullopt;
    wait_for_event(deadline);
  }
}

void LocalEvaluator::cancel(Ticket ticket) {
  const auto found = jobs_.find(ticket);
  if (found == jobs_.end()) return;
  devices_.cancel(*found->second);
  finish(*found->second, ended_as(Status::interrupted, StageId::pre_check, "cancelled"));
}

}  // namespace

int emulator_count() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxEmulators);
}

std::unique_ptr<Evaluator> make_local_evaluator(EvaluatorOptions options, SourceAssembler assembler) {
  return std::make_unique<LocalEvaluator>(std::move(options), std::move(assembler));
}

std::vector<DeviceFacts> probe_devices(const std::vector<std::string>& worker_command, std::string& why) {
  std::vector<std::string> command = worker_command;
  command.insert(command.end(), {"--role", "device"});
  try {
    return DeviceClient(std::move(command)).describe();
  } catch (const Error& error) {
    why = error.what();
    return {};
  }
}

}  // namespace ak::runtime
