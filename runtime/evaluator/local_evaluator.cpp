// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/local_evaluator.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <thread>

#include "core/device/floor.h"
#include "core/learn/stats.h"
#include "core/text/hash.h"
#include "core/text/suggest.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/build/code_hash.h"
#include "runtime/build/compile_pool.h"
#include "runtime/evaluator/device_client.h"
#include "runtime/evaluator/precision_audit.h"
#include "runtime/evaluator/problem_build.h"
#include "runtime/evaluator/quarantine.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

// Of a model's prompt as much as of a person's patience (chosen, untested).
constexpr std::size_t kPrintsShown = 2'000;
// A baseline is for context, not for a decision: a third of a candidate's budget is enough.
constexpr TimingBudget kBaselineBudget{
    .minimum_samples = 5, .maximum_samples = 50, .gpu_ms = 15, .relative_error = 0.01};

// An event pair costs 2 us or so in addition to the kernel between (tests/benchmarks/timing_statistics on an
// H200 reads 22 us for 20). A kernel needs two to three times the floor at sizes as small as this, so that
// the share is some 10 %.
constexpr double kShortNs = 5'000;

// Equal programs come from neighbouring tunables, close in time; at about 2 kB each this stays under 10 MB
// however long a session runs.
constexpr std::size_t kKnownPrograms = 4'096;

double ms_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

struct Job {
  Ticket ticket = 0;
  EvaluationRequest request;
  EvaluationResult result;
  ProblemBuild* problem = nullptr;  ///< null: nothing runs on a device
  std::vector<WorkloadPlan> plans;
  std::uint64_t rival_ticket = 0;  ///< of the build of request.rival; 0: it has none
  std::optional<BuildResult> rival_build;
  std::vector<WorkloadPlan> rival_plans;  ///< of the same workloads, in the same order
  bool in_fresh_process = false;          ///< the process that request.fresh_process asks for has begun
  TimePoint submitted, built, started;
};

/// What is known of a problem over the evaluations so far.
struct ProblemHistory {
  bool baseline_timed = false;
  std::vector<Measurement> baselines;  ///< until the first result takes them along
  std::vector<Diagnostic> notes;       ///< on the baselines; go along with them
  std::optional<double> best_score_ns;
  std::map<std::string, double> best_medians_ns;
};

/// A device worker, and what it has open and runs.
struct DeviceLine {
  DeviceLine(std::vector<std::string> argv, bool watched) : client(std::move(argv), watched) {}
  DeviceClient client;
  Ticket running = 0;                         ///< 0: none, or a baseline
  Ticket queued = 0;                          ///< sent ahead; 0: none
  std::shared_ptr<const OpenProblem> opened;  ///< on the device
  ProblemHistory* baseline_of = nullptr;      ///< set while a baseline is being timed
};

// A request's deadline is meant for a GPU; an emulator that shares its core with compilers takes longer, and
// a kernel that never ends is stopped by its instruction budget (chosen, untested).
constexpr int kEmulatorPatience = 10;

/// The last part of a path, which is what compilers call the file.
std::string file_name_of(const std::string& candidate) {
  return candidate.substr(candidate.rfind('/') == std::string::npos ? 0 : candidate.rfind('/') + 1);
}

std::vector<std::string> with_role(std::vector<std::string> command, std::string_view role) {
  command.insert(command.end(), {"--role", std::string(role)});
  return command;
}

std::vector<std::string> device_command(const EvaluatorOptions& options) {
  std::vector<std::string> command = options.launcher;
  command.insert(command.end(), options.worker_command.begin(), options.worker_command.end());
  return with_role(std::move(command), options.watched ? "watched_device" : "device");
}

bool wants_changing_inputs(const EvaluationRequest& request) {
  return request.changing_inputs || request.fresh_process;
}

/// What is asked for is no plain result, that another of the same program could stand for.
bool asks_its_own(const EvaluationRequest& request) {
  return request.rival || request.profile || wants_changing_inputs(request);
}

const Workload& workload_of(const Job& job, const Measurement& measurement) {
  const auto found = std::ranges::find_if(
      job.plans, [&](const WorkloadPlan& plan) { return plan.workload->name == measurement.workload; });
  AK_ASSERT(found != job.plans.end(), "a device answers for the workloads of its task");
  return *found->workload;
}

/// A number from a hash's first digits.
std::size_t number_of(const std::string& hash) { return std::stoul(hash.substr(0, 8), nullptr, 16); }

class LocalEvaluator final : public Evaluator {
 public:
  LocalEvaluator(EvaluatorOptions options, SourceAssembler assembler);

  Ticket submit(EvaluationRequest request) override;
  std::optional<Completed> wait_any(TimePoint deadline) override;
  void cancel(Ticket ticket) override;
  void recall(const Completed& completed) override;
  [[nodiscard]] EvaluatorCapabilities capabilities() const override;

 private:
  [[nodiscard]] bool executes(const Arch& arch) const;
  ProblemBuild& problem_build(const EvaluationRequest& request);
  void begin(Job& job);
  void cancel_builds(Ticket ticket);
  void finish(Job& job, Outcome outcome);
  void finish(Job& job, Status status, StageId stage, std::string message, std::optional<Gate> gate = {}) {
    finish(
        job,
        {.status = status, .stage = stage, .message = std::move(message), .diagnostics = {}, .gate = gate});
  }

  void pump();
  void on_built(std::uint64_t build, BuildResult result);
  void inspect(Job& job);
  std::optional<Outcome> inspect_plans(Job& job) const;
  std::optional<Outcome> inspect_rival(Job& job) const;
  [[nodiscard]] std::chrono::milliseconds time_limit(const Job& job) const {
    return job.request.deadline * (options_.device == DeviceKind::emulator ? kEmulatorPatience : 1);
  }

  void open_devices();
  void open_gpu();
  [[nodiscard]] std::shared_ptr<const OpenProblem> open_problem(const Job& job) const {
    return job.problem->open_problem(environment_, options_.ordinal, options_.device);
  }
  void feed(DeviceLine& line);
  [[nodiscard]] Job* next_for_device();
  void queue_on(DeviceLine& line);
  void requeue_lost_task(DeviceLine& line);
  void start_fresh_process(DeviceLine& line, Job& job);
  void mark_started(DeviceLine& line, Job& job);
  void start_on(DeviceLine& line, Job& job);
  void start_baseline(DeviceLine& line, Job& job);
  [[nodiscard]] DeviceTask device_task(const Job& job);
  static void ask_for_energy(const Job& job, DeviceTask& task);
  [[nodiscard]] std::optional<double> champion_score_ns(const Job& job, const std::string& workload);
  void on_device_finished(DeviceLine& line, DeviceFinish finish);
  static void take_baseline(DeviceLine& line, DeviceAnswer answer);
  [[nodiscard]] bool is_short(const Job& job, const Workload& workload) const;
  [[nodiscard]] std::optional<Outcome> faster_than_possible(const Job& job) const;
  void score(Job& job);
  [[nodiscard]] std::string program_key(const Job& job) const;
  [[nodiscard]] bool twin_runs(const Job& job) const;
  [[nodiscard]] bool reuse(Job& job);
  void wait_for_event(TimePoint deadline);

  EvaluatorOptions options_;
  SourceAssembler assembler_;
  CompilePool pool_;
  std::deque<DeviceLine> devices_;  ///< one GPU, or some emulators
  DeviceFacts facts_;
  Environment environment_;

  Ticket last_ticket_ = 0;
  std::map<Ticket, std::unique_ptr<Job>> jobs_;  ///< in flight
  std::map<std::uint64_t, Ticket> building_;     ///< build -> job; one with a rival has two
  std::vector<Ticket> waiting_;                  ///< for a device, in order of arrival
  std::deque<Completed> finished_;
  double build_ms_ = 0, device_ms_ = 0;  ///< of all jobs that ran on a device
  std::vector<std::unique_ptr<ProblemBuild>> problems_;
  std::map<const ProblemInstance*, ProblemHistory> history_;
  struct Known {
    std::string name;
    std::vector<Measurement> measurements;
    std::optional<double> score_ns;
  };
  void remember(const std::string& candidate, const EvaluationResult& result);
  void note_score(const ProblemInstance& problem, const EvaluationResult& result);
  std::map<std::string, Known> known_;  ///< program_key -> how it ended; the last kKnownPrograms
  std::deque<std::string> known_order_;
  Quarantine quarantine_;
};

LocalEvaluator::LocalEvaluator(EvaluatorOptions options, SourceAssembler assembler)
    : options_(std::move(options)),
      assembler_(std::move(assembler)),
      pool_({.worker_command = options_.worker_command,
             .workers = options_.compile_workers,
             .deadline = options_.compile_deadline,
             .cache_dir = options_.cache_dir}) {
  facts_ = nominal_device(options_.target);
  open_devices();
  environment_ = device_environment(facts_, options_.target);
}

void LocalEvaluator::open_devices() {
  if (options_.device == DeviceKind::cuda) open_gpu();
  if (options_.device != DeviceKind::emulator) return;
  facts_ = emulated_device_facts(options_.target);
  for (int i = 0; i < std::min(emulator_count(), options_.max_emulators); ++i)
    devices_.emplace_back(device_command(options_), options_.watched);
}

void LocalEvaluator::open_gpu() {
  const auto found_devices =
      devices_.emplace_back(device_command(options_), options_.watched).client.describe();
  const auto found = std::find_if(found_devices.begin(), found_devices.end(),
                                  [&](const DeviceFacts& d) { return d.ordinal == options_.ordinal; });
  if (found == found_devices.end())
    fail(ExitCode::usage, "there is no CUDA device {}: the driver reports {}", options_.ordinal,
         found_devices.size());
  facts_ = *found;
}

bool LocalEvaluator::executes(const Arch& arch) const {
  if (options_.device == DeviceKind::emulator) return true;  // PTX of any architecture
  return !devices_.empty() && can_load(facts_.arch, arch);
}

EvaluatorCapabilities LocalEvaluator::capabilities() const {
  const int builds = pool_.workers(), devices = std::max(1, static_cast<int>(devices_.size()));
  // Twice the builds that keep the devices busy by the means so far; more would be proposed with less known.
  const double wanted = device_ms_ > 0 ? std::ceil(2 * devices * build_ms_ / device_ms_) : builds;
  const int useful = std::max(1, static_cast<int>(std::min<double>(builds, wanted)));
  return {.device = facts_,
          .executes = executes(options_.target),
          .parallel_builds = builds,
          .useful_in_flight = useful + devices};
}

ProblemBuild& LocalEvaluator::problem_build(const EvaluationRequest& request) {
  for (const auto& problem : problems_) {
    if (&problem->problem() == request.problem.get() && problem->arch() == request.arch) return *problem;
  }
  const auto submit_unit = [this](const TranslationUnit& unit) { return pool_.submit(unit); };
  problems_.push_back(std::make_unique<ProblemBuild>(request.problem, request.arch, assembler_, submit_unit));
  return *problems_.back();
}

Ticket LocalEvaluator::submit(EvaluationRequest request) {
  AK_ASSERT(request.problem != nullptr, "a request names its problem");
  // An unknown name is the caller's mistake.
  static_cast<void>(select_workloads(*request.problem, request.workloads, options_.device));
  auto job = std::make_unique<Job>();
  job->ticket = ++last_ticket_;
  job->request = std::move(request);
  job->submitted = steady_clock::now();
  Job& added = *(jobs_[job->ticket] = std::move(job));
  begin(added);
  return last_ticket_;
}

void LocalEvaluator::begin(Job& job) {
  const EvaluationRequest& request = job.request;
  if (request.depth != Depth::build && executes(request.arch)) job.problem = &problem_build(request);
  std::vector<Diagnostic> findings = assembler_.pre_check(*request.problem, request.candidate);
  const auto error = std::find_if(findings.begin(), findings.end(),
                                  [](const Diagnostic& d) { return d.severity == "error"; });
  if (error != findings.end()) {
    std::string message = error->message;
    const Gate gate = error->gate.value_or(Gate::source_rules);
    return finish(job, {.status = Status::invalid_candidate,
                        .stage = StageId::pre_check,
                        .message = std::move(message),
                        .diagnostics = std::move(findings),
                        .gate = gate});
  }
  const auto unit = assembler_.candidate(*request.problem, request.candidate, request.arch);
  if (!unit)
    return finish(job, Status::invalid_candidate, StageId::pre_check, unit.error().message,
                  Gate::source_rules);
  if (request.rival) {
    const auto rival = assembler_.candidate(*request.problem, *request.rival, request.arch);
    if (!rival) return finish(job, Status::infrastructure_error, StageId::pre_check, rival.error().message);
    job.rival_ticket = pool_.submit(*rival);
    building_[job.rival_ticket] = job.ticket;
  }
  building_[pool_.submit(*unit)] = job.ticket;
}

void LocalEvaluator::finish(Job& job, Outcome outcome) {
  job.result.outcome = std::move(outcome);
  job.result.stage_times.total_ms = ms_between(job.submitted, steady_clock::now());
  if (job.started != TimePoint{}) {
    build_ms_ += ms_between(job.submitted, job.built);
    device_ms_ += ms_between(job.started, steady_clock::now());
  }
  const Ticket ticket = job.ticket;
  std::erase(waiting_, ticket);
  cancel_builds(ticket);
  finished_.push_back({.ticket = ticket, .request = std::move(job.request), .result = std::move(job.result)});
  jobs_.erase(ticket);
}

// Of a job that ends: one build of a pair may still be in progress when the other has failed.
void LocalEvaluator::cancel_builds(Ticket ticket) {
  std::erase_if(building_, [&](const auto& entry) {
    const auto& [build, owner] = entry;
    if (owner == ticket) pool_.cancel(build);
    return owner == ticket;
  });
}

// ---- builds

void LocalEvaluator::on_built(std::uint64_t build, BuildResult result) {
  for (const auto& problem : problems_) {
    if (problem->take(build, result)) return;
  }
  const auto found = building_.find(build);
  if (found == building_.end()) return;  // cancelled
  Job& job = *jobs_.at(found->second);
  building_.erase(found);
  if (build == job.rival_ticket) {
    job.rival_build = std::move(result);
    if (job.result.build) inspect(job);
    return;
  }
  job.built = steady_clock::now();
  StageTimes& times = job.result.stage_times;
  times.build_ms = result.cache_hit ? 0 : result.compile_ms;
  times.queue_ms = std::max(0.0, ms_between(job.submitted, job.built) - times.build_ms);
  job.result.build = std::move(result);
  if (job.result.build->outcome.status != Status::ok) return finish(job, job.result.build->outcome);
  if (job.rival_ticket == 0 || job.rival_build) inspect(job);
}

void LocalEvaluator::inspect(Job& job) {
  if (auto wrong = audit_precision(*job.request.problem, job.result.build->ptx))
    return finish(job, std::move(*wrong));
  if (auto wrong = inspect_plans(job)) return finish(job, std::move(*wrong));
  if (auto wrong = inspect_rival(job)) return finish(job, std::move(*wrong));
  if (job.problem == nullptr) return finish(job, Status::compiled_only, StageId::resources, {});
  job.result.program = program_key(job);
  waiting_.push_back(job.ticket);
}

std::optional<Outcome> LocalEvaluator::inspect_plans(Job& job) const {
  const auto& request = job.request;
  auto plans =
      resolve_plans(*request.problem, request.candidate,
                    select_workloads(*request.problem, request.workloads, options_.device), environment_);
  if (!plans) return plans.error();
  job.plans = std::move(plans).value();
  if (options_.device == DeviceKind::emulator) choose_for_costs(job.plans);
  const auto limits_of_target = limits(request.arch);
  for (const WorkloadPlan& plan : job.plans) {
    if (auto wrong = check_argument_types(plan.plan, *job.result.build)) return wrong;
    job.result.shared_bytes =
        std::max(job.result.shared_bytes.value_or(0), max_shared_bytes(plan.plan, *job.result.build));
    if (!limits_of_target) continue;
    if (auto wrong = check_launch_resources(plan.plan, *job.result.build, *limits_of_target)) return wrong;
  }
  if (limits_of_target && !job.plans.empty()) {
    job.result.occupancy =
        first_launch_occupancy(job.plans.front().plan, *job.result.build, *limits_of_target);
  }
  return std::nullopt;
}

// It was built and ran before; what fails now is the machine's fault.
std::optional<Outcome> LocalEvaluator::inspect_rival(Job& job) const {
  const auto& request = job.request;
  if (!request.rival) return std::nullopt;
  const auto fault = [](const std::string& message) {
    return Outcome{.status = Status::infrastructure_error,
                   .stage = StageId::build,
                   .message = "what it is compared with: " + message,
                   .diagnostics = {}};
  };
  if (options_.device != DeviceKind::cuda) return fault("only a GPU has times to compare");
  if (job.rival_build->outcome.status != Status::ok) return fault(job.rival_build->outcome.message);
  auto plans =
      resolve_plans(*request.problem, *request.rival,
                    select_workloads(*request.problem, request.workloads, options_.device), environment_);
  if (!plans) return fault(plans.error().message);
  job.rival_plans = std::move(plans).value();
  return std::nullopt;
}

// ---- devices

Job* LocalEvaluator::next_for_device() {
  Job* best = nullptr;
  for (const Ticket ticket : waiting_) {
    Job& job = *jobs_.at(ticket);
    if (job.problem->ready() && !twin_runs(job) &&
        (best == nullptr || job.request.priority > best->request.priority))
      best = &job;
  }
  return best;
}

// Its results will serve for this one, too.
bool LocalEvaluator::twin_runs(const Job& job) const {
  const auto is_twin = [&](Ticket ticket) {
    if (ticket == 0) return false;
    const Job& other = *jobs_.at(ticket);
    return other.result.program == job.result.program && !asks_its_own(other.request);
  };
  return !asks_its_own(job.request) && std::ranges::any_of(devices_, [&](const DeviceLine& line) {
    return is_twin(line.running) || is_twin(line.queued);
  });
}

// The task after the running one is sent ahead, so that the device does not wait for messages in between.
void LocalEvaluator::queue_on(DeviceLine& line) {
  if (line.queued != 0 || line.running == 0 || !line.client.can_queue()) return;
  Job* job = next_for_device();
  while (job != nullptr && reuse(*job)) job = next_for_device();
  // Another problem is opened, and another process started, between tasks.
  if (job == nullptr || job->request.fresh_process || open_problem(*job) != line.opened) return;
  line.queued = job->ticket;
  std::erase(waiting_, job->ticket);
  line.client.queue(device_task(*job), time_limit(*job));
}

void LocalEvaluator::requeue_lost_task(DeviceLine& line) {
  if (const Ticket lost = std::exchange(line.queued, Ticket{0}); lost != 0)
    waiting_.insert(waiting_.begin(), lost);
}

void LocalEvaluator::feed(DeviceLine& line) {
  if (line.client.busy()) {
    // With several devices the task had better wait for the first that is free.
    if (devices_.size() == 1) queue_on(line);
    return;
  }
  requeue_lost_task(line);
  while (Job* job = next_for_device()) {
    if (reuse(*job)) continue;
    if (job->request.fresh_process) start_fresh_process(line, *job);
    line.opened = open_problem(*job);
    line.client.open(line.opened);
    const bool wants_baseline =
        options_.time_baseline && job->request.depth == Depth::time && !job->request.profile;
    if (wants_baseline && !history_[job->request.problem.get()].baseline_timed)
      return start_baseline(line, *job);
    return start_on(line, *job);
  }
}

// Its baselines are timed again beside it.
void LocalEvaluator::start_fresh_process(DeviceLine& line, Job& job) {
  if (std::exchange(job.in_fresh_process, true)) return;
  line.client.abandon();
  history_[job.request.problem.get()].baseline_timed = false;
}

void LocalEvaluator::mark_started(DeviceLine& line, Job& job) {
  job.started = steady_clock::now();
  job.result.stage_times.device_wait_ms = ms_between(job.built, job.started);
  line.running = job.ticket;
}

void LocalEvaluator::start_on(DeviceLine& line, Job& job) {
  mark_started(line, job);
  std::erase(waiting_, job.ticket);
  line.client.start(device_task(job), job.started + time_limit(job));
}

// The plain reference in the candidates' precision, timed once: what "naive" means for this problem.
void LocalEvaluator::start_baseline(DeviceLine& line, Job& job) {
  line.baseline_of = &history_[job.request.problem.get()];
  line.baseline_of->baseline_timed = true;
  DeviceTask task{.image = {}, .seed = job.request.seed, .workloads = {}, .budget = kBaselineBudget};
  for (const WorkloadPlan& plan : job.plans) {
    if (plan.timed) {
      task.workloads.push_back({.workload = plan.workload->name,
                                .plan = {},
                                .distributions = {},
                                .time = true,
                                .batch = is_short(job, *plan.workload),
                                .champion_score_ns = {}});
    }
  }
  line.client.start(task, steady_clock::now() + time_limit(job));
}

// Timed shapes are large: one distribution each, in rotation over variants; the others, and a
// champion, get all.
DeviceTask LocalEvaluator::device_task(const Job& job) {
  const auto& request = job.request;
  DeviceTask task{.image = kernel_image(*job.result.build, options_.device),
                  .seed = request.seed,
                  .workloads = {},
                  .budget = {}};
  task.image.file_name = file_name_of(request.candidate.name);
  task.changing = wants_changing_inputs(request);
  task.profile = request.profile;
  if (request.rival) task.rival = kernel_image(*job.rival_build, options_.device);
  const std::size_t turn = number_of(request.candidate.variant_hash()) + request.seed;
  for (std::size_t i = 0; i < job.plans.size(); ++i) {
    const WorkloadPlan& plan = job.plans[i];
    WorkloadTask one{.workload = plan.workload->name,
                     .plan = plan.plan,
                     .distributions = {},
                     .time = false,
                     .batch = false,
                     .champion_score_ns = {}};
    const bool large = plan.workload->has(WorkloadRole::time) && !request.fresh_process;
    const auto& all = request.problem->distributions;
    for (const InputDistribution& distribution : all) {
      if (!large || &distribution == &all[turn % all.size()]) one.distributions.push_back(distribution.name);
    }
    one.time = plan.timed && request.depth == Depth::time;
    if (one.time) one.champion_score_ns = champion_score_ns(job, one.workload);
    one.batch = is_short(job, *plan.workload);
    if (request.rival) one.rival_plan = job.rival_plans[i].plan;
    task.workloads.push_back(std::move(one));
  }
  if (request.energy) ask_for_energy(job, task);
  task.limit_ms = static_cast<double>(time_limit(job).count());
  return task;
}

// One is enough: a second of running is more than all its samples take.
void LocalEvaluator::ask_for_energy(const Job& job, DeviceTask& task) {
  WorkloadTask* chosen = nullptr;
  double most = 0;
  for (std::size_t i = 0; i < task.workloads.size(); ++i) {  // small ones first
    const double weight = job.plans[i].workload->weight;
    if (!task.workloads[i].time || (chosen != nullptr && weight < most)) continue;
    chosen = &task.workloads[i];
    most = weight;
  }
  if (chosen != nullptr) chosen->energy = true;
}

// The incumbent is known by its score. With several timed workloads its share of each is taken from the best
// result seen here, scaled to that score.
std::optional<double> LocalEvaluator::champion_score_ns(const Job& job, const std::string& workload) {
  if (!job.request.champion_score_ns) return std::nullopt;
  const auto timed =
      std::count_if(job.plans.begin(), job.plans.end(), [](const WorkloadPlan& p) { return p.timed; });
  if (timed == 1) return job.request.champion_score_ns;
  const ProblemHistory& history = history_[job.request.problem.get()];
  const auto best = history.best_medians_ns.find(workload);
  if (!history.best_score_ns || best == history.best_medians_ns.end()) return std::nullopt;
  return best->second * *job.request.champion_score_ns / *history.best_score_ns;
}

void LocalEvaluator::on_device_finished(DeviceLine& line, DeviceFinish finished) {
  if (line.baseline_of != nullptr) return take_baseline(line, std::move(finished.answer));
  const Ticket ended = std::exchange(line.running, Ticket{0});
  if (line.queued != 0 && line.client.busy())
    mark_started(line, *jobs_.at(std::exchange(line.queued, Ticket{0})));
  if (ended == 0) return;  // cancelled
  Job& job = *jobs_.at(ended);
  DeviceAnswer& answer = finished.answer;
  job.result.checks = std::move(answer.checks);
  job.result.measurements = std::move(answer.measurements);
  for (Profile& profile : answer.profiles) {
    job.result.profiles.push_back(options_.name_metrics ? options_.name_metrics(std::move(profile))
                                                        : std::move(profile));
  }
  job.result.rival_failed = answer.rival_failed;
  job.result.stage_times.check_ms = answer.check_ms;
  job.result.stage_times.time_ms = answer.time_ms;
  job.result.stage_times.gpu_busy_ms = answer.busy_ms;
  job.result.stage_times.reference_ms = answer.reference_ms;
  if (!finished.prints.empty()) {
    answer.outcome.diagnostics.push_back({.severity = "note",
                                          .message = "printed: " + sanitize(finished.prints, kPrintsShown),
                                          .line = 0,
                                          .column = 0});
  }
  if (answer.outcome.status == Status::ok) {
    if (auto impossible = faster_than_possible(job)) answer.outcome = std::move(*impossible);
  }
  const bool good = answer.outcome.status == Status::ok;
  if (finished.took_worker_down) {
    quarantine_.count_loss(job.result.program, answer.outcome);
  } else if (answer.outcome.status != Status::infrastructure_error) {
    quarantine_.count_verdict();
  }
  job.result.outcome = answer.outcome;
  if (good) score(job);
  if (good && !job.request.rival && !job.request.profile) remember(job.request.candidate.name, job.result);
  if (good && job.request.depth == Depth::time) {
    auto& baselines = history_[job.request.problem.get()].baselines;
    std::move(baselines.begin(), baselines.end(), std::back_inserter(job.result.measurements));
    baselines.clear();
    auto& notes = history_[job.request.problem.get()].notes;
    std::move(notes.begin(), notes.end(), std::back_inserter(answer.outcome.diagnostics));
    notes.clear();
  }
  finish(job, std::move(answer.outcome));
}

void LocalEvaluator::take_baseline(DeviceLine& line, DeviceAnswer answer) {
  // A reference too slow or too large to time leaves no baseline; the candidates' checks will say
  // what is wrong.
  ProblemHistory& history = *std::exchange(line.baseline_of, nullptr);
  history.baselines = std::move(answer.measurements);
  if (answer.outcome.status == Status::ok) history.notes = std::move(answer.outcome.diagnostics);
}

// By the problem and the device alone, so that all that are compared are timed alike.
bool LocalEvaluator::is_short(const Job& job, const Workload& workload) const {
  if (options_.device != DeviceKind::cuda) return false;
  const double floor_ns = floor_of(*job.request.problem, workload, facts_).time_ns;
  return floor_ns > 0 && floor_ns < kShortNs;
}

std::optional<Outcome> LocalEvaluator::faster_than_possible(const Job& job) const {
  if (options_.device != DeviceKind::cuda || !gate_enabled(Gate::floor)) return std::nullopt;
  for (const Measurement& measurement : job.result.measurements) {
    // What lies in a cache may be read faster; a champion has passed here before.
    if (!measurement.cold || measurement.role != MeasurementRole::candidate) continue;
    const Floor floor = floor_of(*job.request.problem, workload_of(job, measurement), facts_);
    if (measurement.median_ns >= floor.time_ns) continue;
    return Outcome{.status = Status::below_floor,
                   .stage = StageId::verdict,
                   .message = fmt::format(
                       "{:.4g} us on workload {} is less than the hardware can need: {:.4g} us for {}. "
                       "Either work is left "
                       "out, or the problem's flops, bytes_read or bytes_written say too much",
                       measurement.median_ns / 1e3, measurement.workload, floor.time_ns / 1e3, floor.reason),
                   .diagnostics = {},
                   .gate = Gate::floor};
  }
  return std::nullopt;
}

void LocalEvaluator::score(Job& job) {
  std::vector<double> medians, weights;
  for (const Measurement& measurement : job.result.measurements) {
    if (measurement.role != MeasurementRole::candidate || !measurement.cold) continue;
    medians.push_back(measurement.median_ns);
    weights.push_back(workload_of(job, measurement).weight);
  }
  if (medians.empty() || *std::min_element(medians.begin(), medians.end()) <= 0) return;
  job.result.score_ns = weighted_geometric_mean(medians, weights);
  note_score(*job.request.problem, job.result);
}

void LocalEvaluator::note_score(const ProblemInstance& problem, const EvaluationResult& result) {
  ProblemHistory& history = history_[&problem];
  if (history.best_score_ns && *history.best_score_ns <= *result.score_ns) return;
  history.best_score_ns = result.score_ns;
  history.best_medians_ns.clear();
  for (const Measurement& measurement : result.measurements)
    if (measurement.role == MeasurementRole::candidate && measurement.cold)
      history.best_medians_ns[measurement.workload] = measurement.median_ns;
}

std::string LocalEvaluator::program_key(const Job& job) const {
  // A cubin also holds the values of tunables that the code does not read; PTX and options decide the
  // rest of it.
  std::string text = job.request.problem->definition.hash() + code_hash(job.result.build->ptx) +
                     (job.request.depth == Depth::time ? "time" : "check");
  for (const std::string& option : job.request.candidate.plan.options) text += option;
  for (const WorkloadPlan& plan : job.plans) text += plan.workload->name + to_json(plan.plan).dump();
  return sha256_hex(text);
}

void LocalEvaluator::remember(const std::string& candidate, const EvaluationResult& result) {
  const auto [entry, added] = known_.try_emplace(result.program);
  entry->second = {.name = candidate, .measurements = result.measurements, .score_ns = result.score_ns};
  for (Measurement& measurement : entry->second.measurements) measurement.line_counts.clear();
  if (!added) return;
  known_order_.push_back(result.program);
  if (known_order_.size() <= kKnownPrograms) return;
  known_.erase(known_order_.front());
  known_order_.pop_front();
}

void LocalEvaluator::recall(const Completed& completed) {
  const EvaluationRequest& request = completed.request;
  EvaluationResult result = completed.result;
  if (result.outcome.status != Status::ok || result.program.empty() || request.rival || request.profile)
    return;
  const auto baselines = std::erase_if(result.measurements, [](const Measurement& measurement) {
    return measurement.role == MeasurementRole::baseline;
  });
  if (baselines > 0) history_[request.problem.get()].baseline_timed = true;
  if (result.score_ns) note_score(*request.problem, result);
  remember(request.candidate.name, result);
}

// Tunables that change nothing in the program give the same code and the same launches: measured once, and
// not run again after two lost workers.
bool LocalEvaluator::reuse(Job& job) {
  if (auto refused = quarantine_.refusal(job.result.program)) {
    finish(job, std::move(*refused));
    return true;
  }
  if (asks_its_own(job.request)) return false;
  const auto found = known_.find(job.result.program);
  if (found == known_.end()) return false;
  const Known& known = found->second;
  job.result.measurements = known.measurements;
  job.result.score_ns = known.score_ns;
  finish(job, Status::duplicate, StageId::resources,
         fmt::format("the same program and launches as '{}', whose results are used", known.name));
  return true;
}

// ---- events

void LocalEvaluator::pump() {
  while (auto built = pool_.poll()) on_built(built->ticket, std::move(built->result));
  for (DeviceLine& line : devices_) {
    if (!line.client.busy()) continue;
    if (auto finished = line.client.poll()) on_device_finished(line, std::move(*finished));
  }
  for (DeviceLine& line : devices_) feed(line);
}

void LocalEvaluator::wait_for_event(TimePoint deadline) {
  std::vector<pollfd> descriptors{{.fd = pool_.descriptor(), .events = POLLIN, .revents = 0}};
  TimePoint until = deadline;
  for (const DeviceLine& line : devices_) {
    if (!line.client.busy()) continue;
    descriptors.push_back({.fd = line.client.descriptor(), .events = POLLIN, .revents = 0});
    until = std::min(until, line.client.wake_up());
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
  // Capped, so that a missed wake-up costs a second and not the night.
  const int timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000));
  static_cast<void>(::poll(descriptors.data(), descriptors.size(), timeout_ms));
}

std::optional<Completed> LocalEvaluator::wait_any(TimePoint deadline) {
  for (;;) {
    pump();
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
  for (DeviceLine& line : devices_) {
    if (line.running != ticket && line.queued != ticket) continue;
    // The worker goes with it; whichever of the two tasks was not meant starts again.
    line.client.abandon();
    for (const Ticket other :
         {std::exchange(line.queued, Ticket{0}), std::exchange(line.running, Ticket{0})}) {
      if (other != 0 && other != ticket) waiting_.insert(waiting_.begin(), other);
    }
  }
  finish(*found->second, Status::interrupted, StageId::pre_check, "cancelled");
}

}  // namespace

int emulator_count() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxEmulators);
}

std::unique_ptr<Evaluator> make_local_evaluator(EvaluatorOptions options, SourceAssembler assembler) {
  return std::make_unique<LocalEvaluator>(std::move(options), std::move(assembler));
}

std::vector<DeviceFacts> probe_devices(const std::vector<std::string>& worker_command, std::string& why) {
  try {
    return DeviceClient(with_role(worker_command, "device")).describe();
  } catch (const Error& error) {
    why = error.what();
    return {};
  }
}

}  // namespace ak::runtime
