// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile_run.h"

namespace ak::runtime {

Result<Profile, Outcome> profile_workload(Workbench& bench, DataStore& store, const Timer& timer,
                                          LaunchProfiler& profiler, const ProfileTask& task) {
  const TimingTarget& target = task.target;
  auto data = store.get(target.workload, bench.problem.distributions.front().name, task.seed);
  if (!data) return data.error();
  auto run = target.bind(data.value(), nullptr);
  if (!run) return run.error();
  AK_ASSERT(run->plan() != nullptr, "a candidate has a plan");
  // What fails, fails here and is blamed as usual; and the first call's own costs are paid.
  if (auto failed = run->run(StageId::profile)) return *failed;
  std::optional<Outcome> failed;
  Profile profile =
      profiler.profile(task.wish, {.kernels = run->plan()->kernels(),
                                   .image = task.image,
                                   .prepare =
                                       [&] {
                                         run->report_run();
                                         run->reset();
                                         timer.flush_l2();
                                         bench.synchronize("preparing a call to be profiled");
                                       },
                                   .run =
                                       [&](const AroundLaunch& around) {
                                         if (auto wrong = run->plan()->enqueue(bench.stream, around))
                                           failed = std::move(wrong);
                                         bench.synchronize(fmt::format("{} under the profiler", run->name()));
                                       }});
  if (failed) {
    failed->stage = StageId::profile;
    return *failed;
  }
  profile.workload = target.workload.name;
  return profile;
}

}  // namespace ak::runtime
