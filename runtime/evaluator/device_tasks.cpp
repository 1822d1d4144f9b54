// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_tasks.h"

#include <algorithm>
#include <utility>

#include "core/device/floor.h"

namespace ak::runtime {
namespace {

// A baseline is for context, not for a decision: a third of a candidate's budget is enough.
constexpr TimingBudget kBaselineBudget{
    .minimum_samples = 5, .maximum_samples = 50, .gpu_ms = 15, .relative_error = 0.01};

// Estimates are fitted to tens of times and are off by some percent themselves (docs/sets.md): 2 % for each will do. A
// candidate's own budget took 74 ms a time on an H200, the mean of 47 points of gemm on 12 shapes; its checks 4 ms. With
// up to eight samples compared, most of some 20 calls, it was 40 to 97 ms all the same
// (experiments/results/2026-11-29_h200_set_in_time); who becomes a member is checked again.
constexpr TimingBudget kCoarseBudget{
    .minimum_samples = 5, .maximum_samples = 20, .gpu_ms = 10, .relative_error = 0.02, .compared_samples = 2};

// An event pair costs 2 us or so in addition to the kernel between (tests/benchmarks/timing_statistics on an
// H200 reads 22 us for 20). A kernel needs two to three times the floor at sizes as small as this, so that
// the share is some 10 %.
constexpr Nanoseconds kShort(5'000);

// A request's deadline is meant for a GPU; an emulator that shares its core with compilers takes longer, and
// a kernel that never ends is stopped by its instruction budget (chosen, untested).
constexpr int kEmulatorPatience = 10;

// Inputs are drawn, copied, computed from and compared at every check: four checks of 13 GB took 17 s on an H200. Three
// times that, for slower machines (chosen).
constexpr double kMsPerCheckedGb = 1'000;
constexpr double kBytesPerGb = 1e9;

/// Gigabytes of the tensors that a job is checked and timed on, each once for every distribution.
double checked_gb(const EvaluationJob& job) {
  const Definition& definition = job.request.problem->definition;
  double bytes = 0;
  for (const WorkloadPlan& plan : job.plans) {
    const double times = static_cast<double>(job.request.problem->distributions_of(*plan.workload).size());
    for (const auto* tensors : {&definition.inputs, &definition.outputs})
      for (const TensorSpec& tensor : *tensors)
        if (!tensor.is_scalar())
          bytes += times * static_cast<double>(element_count(definition, tensor, plan.workload->axes)) *
                   static_cast<double>(info(tensor.dtype).bytes);
  }
  return bytes / kBytesPerGb;
}

/// The last part of a path, which is what compilers call the file.
std::string file_name_of(const std::string& candidate) {
  return candidate.substr(candidate.rfind('/') == std::string::npos ? 0 : candidate.rfind('/') + 1);
}

/// A number from a hash's first digits.
std::size_t number_of(const std::string& hash) { return std::stoul(hash.substr(0, 8), nullptr, 16); }

/// Timed shapes are large: in a search one distribution each, in rotation over variants. The others, and whatever is to
/// be believed on its own, get all. @param turn of the job's variant in the rotation.
std::vector<std::string> distributions_of(const EvaluationJob& job, const Workload& workload,
                                          std::size_t turn) {
  const auto all = job.request.problem->distributions_of(workload);
  const bool one = workload.has(WorkloadRole::time) && !job.wants_changing_inputs();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!one || i == turn % all.size()) names.push_back(all[i]->name);
  return names;
}

/// Of the champion that the request knows by its score; of several timed workloads each has a share.
std::optional<double> champion_ns(const EvaluationJob& job, const std::string& workload,
                                  const ProblemHistory& history) {
  if (!job.request.champion_score_ns) return std::nullopt;
  if (std::ranges::count_if(job.plans, &WorkloadPlan::timed) == 1) return job.request.champion_score_ns;
  return history.share_ns(*job.request.champion_score_ns, workload);
}

/// One is enough: a second of running is more than all its samples take.
void ask_for_energy(const EvaluationJob& job, DeviceTask& task) {
  WorkloadTask* chosen = nullptr;
  double greatest = 0;
  for (std::size_t i = 0; i < task.workloads.size(); ++i) {  // small ones first
    const double weight = job.plans[i].workload->weight;
    if (!task.workloads[i].time || (chosen != nullptr && weight < greatest)) continue;
    chosen = &task.workloads[i];
    greatest = weight;
  }
  if (chosen != nullptr) chosen->energy = true;
}

}  // namespace

DeviceTask DeviceTasks::evaluation(const EvaluationJob& job, const ProblemHistory& history) const {
  const EvaluationRequest& request = job.request;
  DeviceTask task{
      .image = kernel_image(*job.result.build, kind_), .seed = request.seed, .workloads = {}, .budget = {}};
  task.image.file_name = file_name_of(request.candidate.name);
  task.changing = job.wants_changing_inputs();
  task.profile = request.profile;
  if (request.rival) task.rival = kernel_image(*job.rival_build, kind_);
  task.library = request.library;
  if (request.coarse_times) task.budget = kCoarseBudget;
  // Which proposal is the fastest is found first, and no more.
  if (!task.library.empty()) task.budget = kBaselineBudget;
  const std::size_t turn = number_of(request.candidate.variant_hash()) + request.seed;
  for (std::size_t i = 0; i < job.plans.size(); ++i)
    task.workloads.push_back(workload_task(job, i, turn, history));
  if (request.energy) ask_for_energy(job, task);
  task.limit_ms = static_cast<double>(time_limit(job).count());
  return task;
}

WorkloadTask DeviceTasks::workload_task(const EvaluationJob& job, std::size_t index, std::size_t turn,
                                        const ProblemHistory& history) const {
  const WorkloadPlan& plan = job.plans[index];
  WorkloadTask task{.workload = plan.workload->name,
                    .plan = plan.plan,
                    .distributions = distributions_of(job, *plan.workload, turn),
                    .time = plan.timed && job.request.depth == Depth::time,
                    .batch = is_short(job, *plan.workload),
                    .champion_score_ns = {}};
  if (task.time) task.champion_score_ns = champion_ns(job, task.workload, history);
  if (job.request.rival) task.rival_plan = job.rival_plans[index].plan;
  return task;
}

DeviceTask DeviceTasks::baseline(const EvaluationJob& job) const {
  DeviceTask task{.image = {}, .seed = job.request.seed, .workloads = {}, .budget = kBaselineBudget};
  for (const WorkloadPlan& plan : job.plans) {
    if (!plan.timed) continue;
    task.workloads.push_back({.workload = plan.workload->name,
                              .plan = {},
                              .distributions = {},
                              .time = true,
                              .batch = is_short(job, *plan.workload),
                              .champion_score_ns = {}});
  }
  return task;
}

std::chrono::milliseconds DeviceTasks::time_limit(const EvaluationJob& job) const {
  if (kind_ == DeviceKind::emulator) return job.request.deadline * kEmulatorPatience;
  return job.request.deadline +
         std::chrono::milliseconds(static_cast<std::int64_t>(kMsPerCheckedGb * checked_gb(job)));
}

// By the problem and the device alone, so that all that are compared are timed alike.
bool DeviceTasks::is_short(const EvaluationJob& job, const Workload& workload) const {
  if (kind_ != DeviceKind::cuda) return false;
  const Floor floor = floor_of(*job.request.problem, workload, facts_);
  return floor.known() && floor.time < kShort;
}

}  // namespace ak::runtime
