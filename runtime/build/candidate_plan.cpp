// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/candidate_plan.h"

#include <algorithm>
#include <cmath>

#include "core/device/device_catalog.h"

namespace ak::runtime {
namespace {

Outcome fault(Gate gate, Status status, std::string message) {
  return {.status = status,
          .stage = StageId::resources,
          .message = std::move(message),
          .diagnostics = {},
          .gate = gate};
}

// Reserved, not committed; far beyond what is worth emulating.
constexpr std::int64_t kEmulatedMemoryBytes = std::int64_t{8} << 30;
constexpr int kEmulatedDriverVersion = 13000;  // the CUDA version whose driver calls are imitated

// Two shapes, so that a variant that suits one alone does not win; more only take longer (chosen, untested).
constexpr std::size_t kCostWorkloads = 2;

const KernelFacts* find_kernel(const BuildResult& build, const std::string& expression) {
  for (const KernelFacts& kernel : build.kernels) {
    if (kernel.expression == expression) return &kernel;
  }
  return nullptr;
}

std::int64_t total_elements(const Definition& definition, const Workload& workload) {
  std::int64_t total = 0;
  for (const auto* list : {&definition.inputs, &definition.outputs}) {
    for (const TensorSpec& tensor : *list) total += element_count(definition, tensor, workload.axes);
  }
  return total;
}

struct ArgumentKind {
  std::string words;                       ///< what the plan passes
  std::vector<std::string_view> accepted;  ///< PTX types that hold it
  std::string_view cuda;                   ///< the C++ parameter it needs
};

ArgumentKind kind_of(ScalarType type) {
  switch (type) {
    case ScalarType::i32:
      return {"i32", {"u32", "s32", "b32"}, "int"};
    case ScalarType::i64:
      return {"i64", {"u64", "s64", "b64"}, "long long"};
    case ScalarType::f32:
      return {"f32", {"f32", "b32"}, "float"};
    case ScalarType::f64:
      return {"f64", {"f64", "b64"}, "double"};
    case ScalarType::boolean:
      return {"bool", {"u8", "s8", "b8"}, "bool"};
  }
  AK_ASSERT(false, "every scalar type has a case");
  return {};
}

ArgumentKind kind_of(const ResolvedArgument& argument) {
  if (const auto* pointer = std::get_if<ResolvedPointer>(&argument))
    return {pointer->name.empty() ? "a null pointer" : fmt::format("pointer '{}'", pointer->name),
            {"u64", "s64", "b64"},
            "a pointer"};
  if (const auto* map = std::get_if<ResolvedTensorMapReference>(&argument)) {
    return {fmt::format("tensor map '{}'", map->name),
            {"b8[128]", "b64[16]"},
            "const __grid_constant__ CUtensorMap"};
  }
  if (const auto* input = std::get_if<ResolvedScalarInput>(&argument)) {
    ArgumentKind kind = kind_of(input->type);
    kind.words = fmt::format("scalar '{}' ({})", input->name, kind.words);
    return kind;
  }
  return kind_of(std::get<ResolvedScalar>(argument).type);
}

std::optional<Outcome> check_launch_types(const ResolvedLaunch& launch, const KernelFacts& kernel) {
  const auto& types = kernel.parameter_types;
  if (types.size() != launch.arguments.size()) {
    return fault(Gate::argument_types, Status::invalid_candidate,
                 fmt::format("{} has {} parameters, but the plan passes {} arguments", launch.kernel,
                             types.size(), launch.arguments.size()));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ArgumentKind kind = kind_of(launch.arguments[i]);
    if (std::find(kind.accepted.begin(), kind.accepted.end(), types[i]) != kind.accepted.end()) continue;
    return fault(Gate::argument_types, Status::invalid_candidate,
                 fmt::format("{}: args[{}] is {}, but parameter {} of the kernel is {} in PTX; {} is for a "
                             "parameter that is {}",
                             launch.kernel, i, kind.words, i + 1, types[i], kind.words, kind.cuda));
  }
  return std::nullopt;
}

std::optional<std::string> exceeded(const ResolvedLaunch& launch, const KernelFacts& kernel,
                                    const ArchLimits& limits) {
  const auto threads = std::int64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const int most = kernel.max_threads > 0 ? kernel.max_threads : 1024;
  if (threads > most) {
    return fmt::format("{} threads a block, but {} allow {}", threads,
                       kernel.max_threads > 0 ? "its launch bounds" : "CUDA's limits", most);
  }
  const std::int64_t shared = std::int64_t{kernel.static_shared_bytes} + launch.shared_bytes;
  if (shared > limits.shared_bytes_per_block) {
    return fmt::format("{} bytes of shared memory ({} static, {} dynamic), but a block may have {}", shared,
                       kernel.static_shared_bytes, launch.shared_bytes, limits.shared_bytes_per_block);
  }
  if (occupancy(limits, kernel, static_cast<int>(threads), static_cast<int>(launch.shared_bytes))
          .blocks_per_sm > 0)
    return std::nullopt;
  return fmt::format(
      "{} threads of {} registers do not fit an SM's {}; use fewer threads, or __launch_bounds__", threads,
      kernel.registers, limits.registers_per_sm);
}

/// Of calls, and of what prepares weights for them.
std::vector<const ResolvedLaunch*> every_launch(const ResolvedPlan& plan) {
  std::vector<const ResolvedLaunch*> all;
  for (const auto* launches : {&plan.prepare, &plan.launches})
    for (const ResolvedLaunch& launch : *launches) all.push_back(&launch);
  return all;
}

/// The tensor, workspace or scalar behind an argument; empty where it is none of them.
std::string memory_behind(const ResolvedArgument& argument, const ResolvedPlan& plan) {
  if (const auto* pointer = std::get_if<ResolvedPointer>(&argument)) return pointer->name;
  if (const auto* scalar = std::get_if<ResolvedScalarInput>(&argument)) return scalar->name;
  const auto* reference = std::get_if<ResolvedTensorMapReference>(&argument);
  if (reference == nullptr) return "";
  const auto map = std::ranges::find(plan.tensor_maps, reference->name, &ResolvedTensorMap::name);
  return map == plan.tensor_maps.end() ? "" : map->tensor;
}

/// What prepares weights is passed weights and prepared workspaces.
std::optional<Outcome> check_preparation(const Definition& definition, const ResolvedPlan& plan) {
  if (!gate_enabled(Gate::weights_only)) return std::nullopt;
  for (const ResolvedLaunch& launch : plan.prepare) {
    for (const ResolvedArgument& argument : launch.arguments) {
      const std::string name = memory_behind(argument, plan);
      const TensorSpec* tensor = definition.find_tensor(name);
      if (tensor == nullptr || tensor->weight) continue;
      return fault(
          Gate::weights_only, Status::invalid_candidate,
          fmt::format("launch plan: {} in \"prepare\" is passed '{}', which is no weight: preparation "
                      "reads inputs with \"role\": \"weight\" and writes prepared workspaces",
                      launch.kernel, name));
    }
  }
  return std::nullopt;
}

}  // namespace

DeviceFacts nominal_device(const Arch& target) {
  DeviceFacts facts;
  facts.kind = DeviceKind::none;
  facts.name = target.sm();
  facts.arch = target;
  if (const DeviceEntry* product = DeviceCatalog::shipped().nominal(target)) {
    facts.sm_count = static_cast<int>(product->value("sm_count").value_or(0));
    facts.l2_bytes = std::llround(product->value("l2_mib").value_or(0) * (1 << 20));
  }
  if (const auto known = limits(target)) {
    facts.max_threads_per_sm = known->max_threads_per_sm;
    facts.shared_bytes_per_block = known->shared_bytes_per_block;
  }
  return facts;
}

DeviceFacts emulated_device_facts(const Arch& target, int sm_count) {
  DeviceFacts facts = nominal_device(target);
  if (sm_count > 0) facts.sm_count = sm_count;
  facts.kind = DeviceKind::emulator;
  facts.name = "CPU emulator of " + target.sm();
  facts.memory_bytes = kEmulatedMemoryBytes;
  facts.driver_version = kEmulatedDriverVersion;
  return facts;
}

std::vector<const Workload*> select_workloads(const ProblemInstance& problem,
                                              const std::vector<std::string>& names, DeviceKind device) {
  const bool small = device == DeviceKind::emulator &&
                     std::any_of(problem.workloads.begin(), problem.workloads.end(),
                                 [](const Workload& w) { return w.tier == WorkloadTier::emulator; });
  const auto suits = [&](const Workload& workload) {
    return small ? workload.tier == WorkloadTier::emulator : workload.tier != WorkloadTier::deep;
  };
  std::vector<const Workload*> chosen;
  for (const Workload& workload : problem.workloads) {
    const bool wanted =
        names.empty() ? suits(workload) : std::find(names.begin(), names.end(), workload.name) != names.end();
    if (wanted) chosen.push_back(&workload);
  }
  for (const std::string& name : names) {
    const auto known = [&](const Workload& workload) { return workload.name == name; };
    if (std::none_of(problem.workloads.begin(), problem.workloads.end(), known)) {
      fail(ExitCode::usage, "problem {} has no workload '{}'", problem.definition.name, name);
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](const Workload* a, const Workload* b) {
    return total_elements(problem.definition, *a) < total_elements(problem.definition, *b);
  });
  return chosen;
}

std::vector<const Workload*> timed_workloads(const ProblemInstance& problem, DeviceKind device) {
  std::vector<const Workload*> chosen = select_workloads(problem, {}, device), timed;
  std::ranges::copy_if(chosen, std::back_inserter(timed),
                       [](const Workload* workload) { return workload->has(WorkloadRole::time); });
  if (!timed.empty() || device != DeviceKind::emulator) return timed;
  const auto largest = static_cast<std::ptrdiff_t>(std::min(kCostWorkloads, chosen.size()));
  return {chosen.end() - largest, chosen.end()};
}

Result<std::vector<WorkloadPlan>, Outcome> resolve_plans(const ProblemInstance& problem,
                                                         const Candidate& candidate,
                                                         const std::vector<const Workload*>& workloads,
                                                         const Environment& device) {
  std::vector<WorkloadPlan> plans;
  for (const Workload* workload : workloads) {
    Environment environment = problem.environment(workload->axes);
    for (const auto& [name, value] : candidate.tunables) environment[name] = value;
    for (const auto& [name, value] : device) environment[name] = value;
    auto resolved = resolve(candidate.plan, environment);
    if (!resolved) {
      return fault(Gate::plan_bounds, Status::invalid_candidate,
                   fmt::format("launch plan on workload {}: {}", workload->name, resolved.error().message));
    }
    if (auto wrong = check_preparation(problem.definition, resolved.value())) return *wrong;
    plans.push_back({workload, std::move(resolved).value(), workload->has(WorkloadRole::time)});
  }
  return plans;
}

void choose_for_costs(std::vector<WorkloadPlan>& plans) {
  if (std::any_of(plans.begin(), plans.end(), [](const WorkloadPlan& p) { return p.timed; })) return;
  for (std::size_t i = 0; i < std::min(kCostWorkloads, plans.size()); ++i)
    plans[plans.size() - 1 - i].timed = true;
}

std::optional<Outcome> check_argument_types(const ResolvedPlan& plan, const BuildResult& build) {
  for (const ResolvedLaunch* launch : every_launch(plan)) {
    const KernelFacts* kernel = find_kernel(build, launch->kernel);
    if (kernel == nullptr)
      return fault(Gate::argument_types, Status::invalid_candidate,
                   fmt::format("the program has no kernel '{}'", launch->kernel));
    if (auto wrong = check_launch_types(*launch, *kernel)) return wrong;
  }
  return std::nullopt;
}

std::optional<Outcome> check_launch_resources(const ResolvedPlan& plan, const BuildResult& build,
                                              const ArchLimits& limits) {
  for (const ResolvedLaunch* launch : every_launch(plan)) {
    const KernelFacts* kernel = find_kernel(build, launch->kernel);
    AK_ASSERT(kernel != nullptr, "check_argument_types comes first");
    if (const auto what = exceeded(*launch, *kernel, limits); what && gate_enabled(Gate::resources)) {
      return fault(Gate::resources, Status::resource_exceeded, fmt::format("{}: {}", launch->kernel, *what));
    }
  }
  return std::nullopt;
}

std::int64_t max_shared_bytes(const ResolvedPlan& plan, const BuildResult& build) {
  std::int64_t most = 0;
  for (const ResolvedLaunch* launch : every_launch(plan)) {
    const KernelFacts* kernel = find_kernel(build, launch->kernel);
    AK_ASSERT(kernel != nullptr, "check_argument_types comes first");
    most = std::max(most, std::int64_t{kernel->static_shared_bytes} + launch->shared_bytes);
  }
  return most;
}

std::optional<Occupancy> first_launch_occupancy(const ResolvedPlan& plan, const BuildResult& build,
                                                const ArchLimits& limits) {
  if (plan.launches.empty()) return std::nullopt;
  const ResolvedLaunch& launch = plan.launches.front();
  const KernelFacts* kernel = find_kernel(build, launch.kernel);
  if (kernel == nullptr) return std::nullopt;
  return occupancy(limits, *kernel, static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]),
                   static_cast<int>(launch.shared_bytes));
}

}  // namespace ak::runtime
