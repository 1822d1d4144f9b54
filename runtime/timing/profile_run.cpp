// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/profile_run.h"

namespace ak::runtime {
namespace {

// What a call under a profiler may take, in calls without one: it reads counters of every unit, or stops
// warps to see where they are.
constexpr int kMaxCalls = 40;

/// A candidate that a profiler calls: its program, loaded as often as wanted, and what it was bound to.
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
    run_.reset();
    auto bound = CandidateRun::create(run_context_, data_, task_.plan, program_.load());
    if (!bound) return fail(bound.error());
    run_.emplace(std::move(bound).value());
    // The first call's own costs are paid here.
    if (auto failed = run_->run(StageId::profile)) fail(*failed);
  }

  void prepare() const {
    if (failed_) return;
    run_->report_run(kMaxCalls);
    run_->reset();
    timer_.flush_l2();
    run_context_.synchronize("preparing a call to be profiled");
  }

  void call() {
    if (failed_) return;
    if (auto failed = run_->enqueue()) return fail(*failed);
    run_context_.synchronize(fmt::format("{} under the profiler", run_->name()));
  }

  [[nodiscard]] const std::optional<Outcome>& failed() const { return failed_; }

 private:
  void fail(Outcome outcome) {
    outcome.stage = StageId::profile;
    failed_ = std::move(outcome);
  }

  RunContext& run_context_;
  const Timer& timer_;
  const ProfileTask& task_;
  std::shared_ptr<const DataSet> data_;
  ProgramLoader program_;
  std::optional<CandidateRun> run_;
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
  auto data = store.get(task.workload, run_context.problem.distributions.front().name, task.seed);
  if (!data) return data.error();
  Subject subject(run_context, timer, task, data.value());
  subject.load();
  if (subject.failed()) return *subject.failed();
  Profile profile = profiler.profile(task.profile_options, {.kernels = kernels_of(task.plan),
                                                            .image = task.image,
                                                            .load = [&] { subject.load(); },
                                                            .prepare = [&] { subject.prepare(); },
                                                            .run = [&] { subject.call(); }});
  if (subject.failed()) return *subject.failed();
  profile.workload = task.workload.name;
  return profile;
}

}  // namespace ak::runtime
