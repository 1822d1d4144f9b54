// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/profile_run.h"

#include "runtime/check/check.h"
#include "runtime/timing/kept_outputs.h"
#include "runtime/timing/reservoir.h"

namespace ak::runtime {
namespace {

// What a call under a profiler may take, in calls without one: it reads counters of every unit, or stops
// warps to see where they are.
constexpr int kMaxCalls = 40;
constexpr std::size_t kCheckedCalls = 8;  // as of timed samples (timed_inputs.cpp)

/// A candidate that a profiler calls: its program, loaded as often as wanted, and what it was bound to. All calls leave
/// their results behind in the same way, and some are checked in the end.
class Subject {
 public:
  Subject(RunContext& run_context, const Timer& timer, const ProfileTask& task,
          std::shared_ptr<const DataSet> data)
      : run_context_(run_context),
        timer_(timer),
        task_(task),
        data_(std::move(data)),
        program_(task.image, "the candidate's program") {}

  void load() {
    take_results();
    run_.reset();
    auto bound = CandidateRun::create(run_context_, data_, task_.plan, program_.load());
    if (!bound) return fail(bound.error());
    run_.emplace(std::move(bound).value());
    if (auto failed = run_->prepare(StageId::profile)) return fail(*failed);
    // The first call's own costs are paid here.
    if (auto failed = run_->run(StageId::profile)) return fail(*failed);
    if (outputs_) return;
    outputs_.emplace(run_context_, *run_, kCheckedCalls, 1, 1);
    reservoir_.emplace(outputs_->places());
    kept_.resize(outputs_->places());
  }

  void prepare() {
    if (failed_) return;
    take_results();
    run_->report_run(kMaxCalls);
    run_->reset();
    timer_.flush_l2();
    run_context_.synchronize("preparing a call to be profiled");
  }

  void call() {
    if (failed_) return;
    if (auto failed = run_->enqueue()) return fail(*failed);
    run_context_.synchronize(fmt::format("{} under the profiler", run_->name()));
    called_ = true;
  }

  /// After the last call: memory, and the results of calls picked at random.
  void verify() {
    if (failed_) return;
    take_results();
    if (auto wrong = run_->verify_prepared(StageId::recheck)) return fail(*wrong);
    if (auto wrong = run_->verify_guards(StageId::recheck)) return fail(*wrong);
    std::vector<CheckRecord> ignored;
    for (std::size_t place = 0; place < reservoir_->kept(); ++place) {
      if (auto wrong = run_->verify_inputs(StageId::recheck, kept_[place].inputs)) return fail(*wrong);
      if (!outputs_->restore(place, 0, 0, *run_, kept_[place])) return fail(overwritten(*run_));
      if (auto wrong = compare_outputs(run_context_, *run_, StageId::recheck, "under the profiler", ignored))
        return fail(*wrong);
    }
  }

  [[nodiscard]] const std::optional<Outcome>& failed() const { return failed_; }

 private:
  void fail(Outcome outcome) {
    outcome.stage = StageId::profile;
    failed_ = std::move(outcome);
  }

  void take_results() {
    if (!std::exchange(called_, false)) return;
    std::vector<CallHashes> taken = outputs_->take(0, {&*run_, 1});
    const std::size_t place = reservoir_->place_next(run_context_.random);
    outputs_->keep(place);
    if (place < kept_.size()) kept_[place] = std::move(taken.front());
  }

  RunContext& run_context_;
  const Timer& timer_;
  const ProfileTask& task_;
  std::shared_ptr<const DataSet> data_;
  ProgramLoader program_;
  std::optional<CandidateRun> run_;
  bool called_ = false;  ///< since results were taken last
  std::optional<KeptOutputs> outputs_;
  std::optional<Reservoir> reservoir_;
  std::vector<CallHashes> kept_;   ///< by place
  std::optional<Outcome> failed_;  ///< what went wrong first
};

std::vector<std::string> kernels_of(const ResolvedPlan& plan) {
  std::vector<std::string> names;
  for (const ResolvedLaunch& launch : plan.launches) names.push_back(launch.kernel);
  return names;
}

}  // namespace

Result<Profile, Outcome> profile_workload(RunContext& run_context, DataStore& store, const Timer& timer,
                                          LaunchProfiler& profiler, const ProfileTask& task) {
  auto data = store.get(task.workload, task.workload.distributions.front().name, task.seed);
  if (!data) return data.error();
  store.release_reference_memory();
  Subject subject(run_context, timer, task, data.value());
  subject.load();
  if (subject.failed()) return *subject.failed();
  Profile profile = profiler.profile(task.profile_options, {.kernels = kernels_of(task.plan),
                                                            .image = task.image,
                                                            .load = [&] { subject.load(); },
                                                            .prepare = [&] { subject.prepare(); },
                                                            .run = [&] { subject.call(); }});
  subject.verify();
  if (subject.failed()) return *subject.failed();
  profile.workload = task.workload.name;
  return profile;
}

}  // namespace ak::runtime
