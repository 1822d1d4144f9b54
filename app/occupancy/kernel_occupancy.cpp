// SPDX-License-Identifier: Apache-2.0
#include "app/occupancy/kernel_occupancy.h"

#include <algorithm>

#include "app/predict/predicted_shapes.h"
#include "app/setup/assembler.h"
#include "core/error.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

std::vector<const Workload*> launched_workloads(const ProblemInstance& problem) {
  std::vector<const Workload*> timed = predicted_shapes(problem);
  return timed.empty() ? runtime::select_workloads(problem, {}) : timed;
}

LaunchNeeds needs_of(const ResolvedLaunch& launch, const BuildResult& build) {
  const auto facts = std::ranges::find(build.kernels, launch.kernel, &KernelFacts::expression);
  if (facts == build.kernels.end())
    fail(ExitCode::bad_input, "the program has no kernel '{}'", launch.kernel);
  const int dynamic = static_cast<int>(launch.shared_bytes);
  return {.block = {.threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]),
                    .registers = facts->registers,
                    .shared_bytes = facts->static_shared_bytes + dynamic,
                    .barriers = facts->barriers},
          .dynamic_shared_bytes = dynamic,
          .max_threads = facts->max_threads > 0 ? std::min(facts->max_threads, kMaxThreadsPerBlock)
                                                : kMaxThreadsPerBlock,
          .kernel = launch.kernel};
}

/// Adds a launch, or the shape alone where one like it is known.
void add_launch(std::vector<LaunchNeeds>& launches, LaunchNeeds launch, const std::string& shape) {
  auto found = std::ranges::find_if(launches, [&](const LaunchNeeds& known) {
    return known.kernel == launch.kernel && known.block == launch.block &&
           known.dynamic_shared_bytes == launch.dynamic_shared_bytes;
  });
  if (found == launches.end()) found = launches.insert(launches.end(), std::move(launch));
  if (std::ranges::find(found->shapes, shape) == found->shapes.end()) found->shapes.push_back(shape);
}

Json occupancy_fields(const BlockOccupancy& occupancy) {
  return {{"blocks_per_sm", occupancy.blocks_per_sm},
          {"warps_per_sm", occupancy.warps_per_sm},
          {"occupancy", occupancy.ratio()},
          {"limiters", occupancy.limiters()}};
}

Json fits_json(const BlockOccupancy& occupancy) {
  Json list = Json::array();
  for (const ResourceFit& fit : occupancy.fits) {
    if (fit.blocks != kUnlimited) list.push_back({{"resource", fit.resource}, {"blocks", fit.blocks}});
  }
  return list;
}

Json step_json(const OccupancyStep& step) {
  Json json{{"threads", step.block.threads},
            {"registers", step.block.registers},
            {"shared_bytes", step.block.shared_bytes},
            {"barriers", step.block.barriers}};
  json.update(occupancy_fields(step.occupancy));
  return json;
}

Json launch_json(const ArchLimits& limits, const LaunchNeeds& launch) {
  const BlockOccupancy occupancy = block_occupancy(limits, launch.block);
  Json json{{"threads", launch.block.threads},
            {"registers", launch.block.registers},
            {"shared_bytes", launch.block.shared_bytes},
            {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
            {"barriers", launch.block.barriers},
            {"fits", fits_json(occupancy)},
            {"by_block_size", Json::array()}};
  json.update(occupancy_fields(occupancy));
  if (!launch.kernel.empty()) json.update({{"kernel", launch.kernel}, {"shapes", launch.shapes}});
  if (const auto step = next_occupancy_step(limits, launch.block)) json["next"] = step_json(*step);
  for (const SizedOccupancy& size : occupancy_by_size(limits, launch)) {
    Json row{{"threads", size.threads}};
    row.update(occupancy_fields(size.occupancy));
    json["by_block_size"].push_back(std::move(row));
  }
  return json;
}

}  // namespace

std::vector<LaunchNeeds> launches_of_kernel(const std::shared_ptr<const ProblemInstance>& problem,
                                            const Candidate& candidate, const Arch& arch,
                                            const Config& config) {
  if (!limits(arch))
    fail(ExitCode::usage,
         "CUDA 13 does not compile for {}; give the threads, registers and shared memory of a block instead",
         arch.sm());
  const BuildResult build = built_kernel(problem, candidate, arch, config);
  const auto plans = runtime::resolve_plans(*problem, candidate, launched_workloads(*problem),
                                            device_environment(runtime::nominal_device(arch), arch));
  if (!plans) fail(ExitCode::bad_input, "{}: {}", candidate.name, explain(plans.error()));
  std::vector<LaunchNeeds> launches;
  for (const runtime::WorkloadPlan& plan : *plans) {
    for (const ResolvedLaunch& launch : plan.plan.launches)
      add_launch(launches, needs_of(launch, build), plan.workload->name);
  }
  return launches;
}

Arch occupancy_arch(const std::string& name, const Config& config) {
  const std::string& asked = name.empty() ? config.arch : name;
  if (asked.empty() || asked == "native") return choose_target("auto", asked).arch;
  const Result<Arch> known = parse_arch(asked);
  if (known) return *known;
  if (const auto older = parse_sm(asked); older && occupancy_limits(*older)) return *older;
  fail(ExitCode::usage, "{}", known.error().message);
}

std::vector<SizedOccupancy> occupancy_by_size(const ArchLimits& limits, const LaunchNeeds& launch) {
  constexpr int kWarp = 32;
  std::vector<int> sizes;
  for (int threads = kWarp; threads <= launch.max_threads; threads += kWarp) sizes.push_back(threads);
  if (std::ranges::find(sizes, launch.block.threads) == sizes.end()) sizes.push_back(launch.block.threads);
  std::ranges::sort(sizes);
  std::vector<SizedOccupancy> rows;
  for (const int threads : sizes) {
    BlockNeeds block = launch.block;
    block.threads = threads;
    rows.push_back({threads, block_occupancy(limits, block)});
  }
  return rows;
}

Json occupancy_json(const Arch& arch, const std::vector<LaunchNeeds>& launches) {
  const ArchLimits limits = occupancy_limits(arch).value();
  Json json{{"arch", arch.sm()},
            {"sm",
             {{"threads", limits.max_threads_per_sm},
              {"blocks", limits.max_blocks_per_sm},
              {"registers", limits.registers_per_sm},
              {"shared_bytes", limits.shared_bytes_per_sm},
              {"shared_bytes_per_block", limits.shared_bytes_per_block}}},
            {"launches", Json::array()}};
  for (const LaunchNeeds& launch : launches) json["launches"].push_back(launch_json(limits, launch));
  return json;
}

}  // namespace ak::app
