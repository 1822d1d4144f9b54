// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/call_facts.h"

#include <algorithm>
#include <utility>

#include "core/plan/work.h"

namespace ak::profiler {
namespace {

double formula_value(const Expression& formula, const ProblemInstance& problem, const Workload& workload) {
  const auto value = amount_of(formula, problem, workload);
  return value ? *value : 0;
}

bool names(const Candidate& candidate, std::string_view instruction) {
  return candidate.source.find(instruction) != std::string::npos ||
         candidate.headers.find(instruction) != std::string::npos;
}

MatrixUnit matrix_unit_of(const Candidate& candidate) {
  if (names(candidate, "wgmma.mma_async") || names(candidate, "tcgen05.mma")) return MatrixUnit::warp_group;
  if (names(candidate, "mma.sync") || names(candidate, "wmma::")) return MatrixUnit::warp;
  return MatrixUnit::none;
}

double product(const std::array<std::uint32_t, 3>& extents) {
  return static_cast<double>(extents[0]) * extents[1] * extents[2];
}

KernelFacts kernel_of(const ResolvedLaunch& launch, std::span<const KernelFacts> kernels) {
  const auto found = std::ranges::find(kernels, launch.kernel, &KernelFacts::expression);
  return found == kernels.end() ? KernelFacts{} : *found;
}

Residency residency(const ArchLimits& most, const KernelFacts& kernel, const ResolvedLaunch& launch) {
  const Occupancy fit =
      occupancy(most, kernel, static_cast<int>(product(launch.block)), static_cast<int>(launch.shared_bytes));
  return {.blocks_per_sm = static_cast<double>(std::max(1, fit.blocks_per_sm)), .occupancy = fit.ratio};
}

LaunchFacts launch_facts(const ResolvedLaunch& launch, const Arch& arch,
                         std::span<const KernelFacts> kernels) {
  const KernelFacts kernel = kernel_of(launch, kernels);
  LaunchFacts facts;
  facts.blocks = product(launch.grid);
  facts.threads = product(launch.block);
  facts.cluster = product(launch.cluster);
  facts.planned_shared_bytes = launch.shared_bytes;
  facts.shared_bytes = facts.planned_shared_bytes + kernel.static_shared_bytes;
  facts.registers = kernel.registers;
  facts.spill_bytes = static_cast<double>(kernel.spill_store_bytes) + kernel.spill_load_bytes;
  if (const auto most = limits(arch)) {
    facts.planned = residency(*most, KernelFacts{}, launch);
    facts.built = residency(*most, kernel, launch);
  }
  return facts;
}

/// The same for a template, its points that were written to files, and copies of it under other names.
std::string space_key(const ProblemInstance& problem, const Candidate& candidate) {
  std::string key = problem.problem;
  for (const LaunchPlanEntry& launch : candidate.plan.launches) key += " " + launch.kernel;
  key += ":";
  for (const Tunable& tunable : candidate.plan.tunables) key += " " + tunable.name;
  return key;
}

}  // namespace

std::string_view to_string(Knowledge knowledge) {
  switch (knowledge) {
    case Knowledge::plan:
      return "plan";
    case Knowledge::build:
      return "build";
    case Knowledge::count:
      return "count";
  }
  AK_ASSERT(false, "every kind of knowledge has a name");
  return "";
}

MinWork min_work(const ProblemInstance& problem, const Workload& workload) {
  return {.flops = formula_value(problem.flops, problem, workload),
          .bytes_read = formula_value(problem.bytes_read, problem, workload),
          .bytes_written = formula_value(problem.bytes_written, problem, workload)};
}

const LaunchFacts& CallFacts::main_launch() const {
  AK_ASSERT(!launches.empty(), "a plan launches something");
  // what only adds up partial results has threads too, but stages no operands
  const bool staged = matrix_unit != MatrixUnit::none;
  return *std::ranges::max_element(launches, {}, [&](const LaunchFacts& launch) {
    return std::pair(staged ? launch.planned_shared_bytes : 0, launch.blocks * launch.threads);
  });
}

double CallFacts::count(std::string_view name) const {
  const auto found = counts.find(std::string(name));
  return found == counts.end() ? 0 : static_cast<double>(found->second);
}

CallFacts CallFacts::limited_to(Knowledge most) const {
  CallFacts limited = *this;
  limited.knowledge = std::min(knowledge, most);
  if (most < Knowledge::count) limited.counts.clear();
  if (most >= Knowledge::build) return limited;
  for (LaunchFacts& launch : limited.launches) {
    launch.registers = launch.spill_bytes = 0;
    launch.shared_bytes = launch.planned_shared_bytes;
    launch.built = launch.planned;
  }
  return limited;
}

Result<CallFacts> call_facts(const ProblemInstance& problem, const MinWork& work, const Candidate& candidate,
                             const AxisValues& axes, const DeviceFacts& device, const Arch& arch,
                             std::span<const KernelFacts> kernels) {
  Environment environment = problem.environment(axes);
  for (const auto& [name, value] : device_environment(device, arch)) environment[name] = value;
  for (const auto& [name, value] : candidate.tunables) environment[name] = value;
  const auto plan = resolve(candidate.plan, environment);
  if (!plan) return plan.error();
  if (plan->launches.empty()) return InputError{"the plan launches nothing for this shape"};
  CallFacts facts;
  facts.knowledge = kernels.empty() ? Knowledge::plan : Knowledge::build;
  facts.work = work;
  facts.matrix_unit = matrix_unit_of(candidate);
  facts.tensor_maps = !plan->tensor_maps.empty();
  facts.async_copies = names(candidate, "cp.async");
  facts.space = space_key(problem, candidate);
  facts.tunables = candidate.tunables;
  if (!problem.definition.inputs.empty()) {
    const DType dtype = problem.definition.inputs.front().dtype;
    facts.dtype = info(dtype).name;
    facts.element_bytes = info(dtype).bytes;
  }
  for (const ResolvedLaunch& launch : plan->launches) {
    facts.launches.push_back(launch_facts(launch, arch, kernels));
    facts.kernels += (facts.kernels.empty() ? "" : " ") + launch.kernel;
  }
  for (const ResolvedWorkspace& space : plan->workspace)
    facts.workspace_bytes += static_cast<double>(space.count) * info(space.dtype).bytes;
  return facts;
}

}  // namespace ak::profiler
