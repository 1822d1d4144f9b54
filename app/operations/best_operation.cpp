// SPDX-License-Identifier: Apache-2.0
// The best known point for a shape and a device.
#include <fmt/format.h>

#include "app/operations/kernel_request.h"
#include "app/search/best_lookup.h"
#include "app/setup/program_paths.h"
#include "core/device/device_catalog.h"
#include "core/error.h"
#include "runtime/build/candidate_plan.h"

namespace ak::operations {
namespace {

/// The device that a flag names: a product of the catalogue, or an architecture with its
/// nominal product's facts.
DeviceFacts device_of(const std::string& product, const Arch& arch) {
  DeviceFacts device = runtime::nominal_device(arch);
  const DeviceEntry* entry = DeviceCatalog::shipped().find(product);
  if (entry == nullptr || !entry->is_product()) return device;
  device.name = entry->name;
  device.sm_count = static_cast<int>(entry->value("sm_count").value_or(device.sm_count));
  return device;
}

Json match_json(const app::BestMatch& match, const app::BestQuestion& question,
                const app::BestSource& source) {
  const app::BestPoint& point = *match.point;
  return {{"exact", match.exact()},     {"note", app::match_text(match, question)},
          {"template", source.name},    {"source", point.source},
          {"tunables", point.tunables}, {"time_ns", point.time_ns},
          {"emulated", point.emulated}, {"confirmed", point.confirmed},
          {"shape", point.shape},       {"device", point.device},
          {"arch", point.arch.sm()},    {"samples", point.samples},
          {"date", point.date},         {"provenance", point.provenance}};
}

app::BestQuestion question_of(const Json& request) {
  const std::string product = request["product"];
  const Result<Arch> arch = parse_arch(product);
  if (!arch) fail(ExitCode::usage, "{}", arch.error().message);
  const auto problem = instance_of(problem_of(request, ""), request, {});
  if (problem->workloads.size() != 1) fail(ExitCode::usage, "say which shape: --shape M=4096,...");
  const bool emulated = request.at("emulated").get<bool>();
  return {.problem = problem,
          .shape = problem->workloads.front().axes,
          .device = emulated ? runtime::emulated_device_facts(*arch) : device_of(product, *arch),
          .arch = *arch};
}

}  // namespace

Answer look_up_best(const Json& request, const Context&, const Callbacks&) {
  const app::BestPoints best = app::read_best_points(request["file"].get<std::string>());
  const app::BestQuestion question = question_of(request);
  const auto matches = app::best_matches(best, question, false);
  if (matches.empty())
    return {
        .content = {{"note", fmt::format("no point of {} is known that is valid for this shape on a device "
                                         "of this family",
                                         question.problem->definition.name)}},
        .failed = true};
  return {.content = match_json(matches.front(), question, best.sources.at(matches.front().point->source))};
}

}  // namespace ak::operations
