// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/profiling.h"

#include <algorithm>

#include "app/evaluate/user_search.h"
#include "core/device/floor.h"
#include "core/error.h"
#include "core/plan/work.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

const Workload& chosen_workload(const ProblemInstance& problem, const std::string& name, DeviceKind device) {
  const auto plausible = runtime::select_workloads(
      problem, name.empty() ? std::vector<std::string>{} : std::vector{name}, device);
  if (!name.empty()) return *plausible.front();
  const Workload* chosen = nullptr;
  for (const Workload* workload : plausible) {
    if (!workload->has(WorkloadRole::time)) continue;
    if (chosen == nullptr || workload->weight > chosen->weight) chosen = workload;
  }
  return chosen != nullptr ? *chosen : *plausible.back();  // the largest, as where costs are counted
}

/// The outcome says why when there is no profile.
EvaluationResult profile_on(const ProfileOrder& order, const std::string& workload, UserSearch& search) {
  EvaluationRequest request = search.request(order.candidate);
  request.changing_inputs = false;
  request.workloads = {workload};
  request.profile = ProfileOptions{.metrics = {}, .sample_lines = order.sample_lines};
  for (const profiler::MetricInfo* metric : order.metrics)
    request.profile->metrics.emplace_back(metric->cupti);
  Completed done = search.complete(std::move(request));
  search.commit(done, "profile");
  return std::move(done.result);
}

const Measurement* measurement_of(const EvaluationResult& result, const std::string& workload) {
  const auto found = std::ranges::find_if(result.measurements, [&](const Measurement& m) {
    return m.role == MeasurementRole::candidate && m.workload == workload && m.cold;
  });
  return found == result.measurements.end() ? nullptr : &*found;
}

bool any_float64(const Definition& definition) {
  return std::ranges::any_of(definition.inputs,
                             [](const TensorSpec& tensor) { return tensor.dtype == DType::float64; });
}

/// What launch number `index` of a plan is judged by.
class Judge {
 public:
  Judge(const EvaluationResult& result, const ProblemInstance& problem, const Workload& workload,
        const DeviceFacts& device, const Arch& arch)
      : result_(result), limits_(limits(arch)) {
    common_.device = device;
    const Measurement* measured = measurement_of(result, workload.name);
    if (measured != nullptr && measured->method != kEmulatedMethod) common_.time_ns = measured->median_ns;
    if (const auto work = work_of(problem, workload)) common_.work = *work;
    common_.floor = floor_of(problem, workload, device);
    common_.matrix_type = profiler::matrix_type_of(problem);
    common_.float64 = any_float64(problem.definition);
  }

  [[nodiscard]] profiler::ProfiledLaunch operator()(const Profile& profile, const ResolvedPlan& plan,
                                                    std::size_t index) const {
    const ResolvedLaunch& launch = plan.launches.at(index);
    profiler::AnalysisInput input = common_;
    input.launch = profile.launches[index];
    input.method = profile.method;
    input.launches = static_cast<int>(plan.launches.size());
    std::ranges::copy(launch.grid, input.grid.begin());
    std::ranges::copy(launch.block, input.block.begin());
    const auto& kernels = result_.build->kernels;
    const auto facts = std::ranges::find(kernels, launch.kernel, &KernelFacts::expression);
    if (facts != kernels.end()) {
      input.kernel = *facts;
      const auto threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
      if (limits_)
        input.occupancy = occupancy(*limits_, *facts, threads, static_cast<int>(launch.shared_bytes));
    }
    return {.input = input, .analysis = profiler::analyze(input)};
  }

 private:
  const EvaluationResult& result_;
  std::optional<ArchLimits> limits_;
  profiler::AnalysisInput common_;
};

const Workload& workload_of(const ProblemInstance& problem, const std::string& name) {
  const auto found = std::ranges::find(problem.workloads, name, &Workload::name);
  AK_ASSERT(found != problem.workloads.end(), "a profile is of a workload of its problem");
  return *found;
}

ResolvedPlan resolved_plan(const ProblemInstance& problem, const Candidate& candidate,
                           const Workload& workload, const DeviceFacts& device, const Arch& arch) {
  const auto plans =
      runtime::resolve_plans(problem, candidate, {&workload}, device_environment(device, arch));
  AK_ASSERT(plans, "what was evaluated resolves");
  return plans->front().plan;
}

}  // namespace

std::vector<profiler::ProfiledLaunch> judge_profile(const Profile& profile, const ProblemInstance& problem,
                                                    const Candidate& candidate,
                                                    const EvaluationResult& result, const DeviceFacts& device,
                                                    const Arch& arch) {
  const Workload& workload = workload_of(problem, profile.workload);
  const ResolvedPlan plan = resolved_plan(problem, candidate, workload, device, arch);
  const Judge judge(result, problem, workload, device, arch);
  std::vector<profiler::ProfiledLaunch> judged;
  for (std::size_t i = 0; i < profile.launches.size(); ++i) judged.push_back(judge(profile, plan, i));
  return judged;
}

std::optional<Profile> counted_profile(const ProblemInstance& problem, const Candidate& candidate,
                                       const EvaluationResult& result, const std::string& workload,
                                       const DeviceFacts& device, const Arch& arch) {
  const Measurement* measured = measurement_of(result, workload);
  if (measured == nullptr || measured->counts.empty()) return std::nullopt;
  const ResolvedPlan plan = resolved_plan(problem, candidate, workload_of(problem, workload), device, arch);
  Profile profile;
  profile.workload = workload;
  profile.method = measured->method;
  LaunchProfile launch{.kernel = plan.launches.front().kernel, .metrics = {}, .lines = {}};
  for (const auto& [name, count] : measured->counts) {
    launch.metrics[name] = static_cast<double>(count);
    profile.units[name] = unit_of_count(name);
  }
  profile.launches.push_back(std::move(launch));
  return profile;
}

ProfiledKernel profile_kernel(const ProfileOrder& order, const Target& target, const Config& config,
                              VariantStore& store) {
  UserSearch search({.problem = order.problem, .command = order.command, .audited = order.audited}, target,
                    config, store);
  const DeviceFacts device = search.device();
  const Workload& workload = chosen_workload(*order.problem, order.workload, target.kind);
  ProfiledKernel kernel;
  Completed evaluated = search.complete(search.request(order.candidate));
  const RowId variant = search.commit(evaluated, "").variant;
  kernel.result = std::move(evaluated.result);
  const bool passed = kernel.result.outcome.status == Status::ok;
  if (passed) {
    if (target.kind == DeviceKind::cuda) {
      EvaluationResult profiled = profile_on(order, workload.name, search);
      if (profiled.profiles.empty()) kernel.profile.degradation.push_back(profiled.outcome.message);
      if (!profiled.profiles.empty()) kernel.profile = std::move(profiled.profiles.front());
    } else if (auto counted = counted_profile(*order.problem, order.candidate, kernel.result, workload.name,
                                              device, target.arch)) {
      kernel.profile = *std::move(counted);
    }
    kernel.profile.workload = workload.name;
    kernel.launches =
        judge_profile(kernel.profile, *order.problem, order.candidate, kernel.result, device, target.arch);
  }
  search.end("one evaluation", passed ? std::optional(variant) : std::nullopt);
  return kernel;
}

std::string bottleneck_text(const std::string& workload, std::span<const profiler::ProfiledLaunch> launches) {
  const profiler::ProfiledLaunch* most = profiler::longest(launches);
  if (most == nullptr) return "";
  const profiler::Finding& found = most->analysis.bottleneck;
  std::string text = fmt::format("{} on {}", found.name, workload);
  if (!found.evidence.empty()) text += ": " + found.evidence;
  if (!found.remedies.empty())
    text += fmt::format("; to try: {} (at most {:.2f} times faster)", found.remedies.front().text,
                        found.remedies.front().at_most);
  return text;
}

}  // namespace ak::app
