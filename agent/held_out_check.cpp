// SPDX-License-Identifier: Apache-2.0
#include "agent/held_out_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/seeds.h"
#include "codegen/problem/held_out.h"
#include "core/text/hash.h"

namespace ak::agent {
namespace {

std::string shape_text(const Workload& workload) {
  std::string text = workload.name + ":";
  for (const auto& [axis, size] : workload.axes) text += fmt::format(" {}={}", axis, size);
  return text;
}

/// Shapes that the candidate's launch plan accepts, each once, and none that the search has checked.
codegen::ShapeWishes wishes_of(const ProblemInstance& problem, const Candidate& candidate,
                               const Environment& device) {
  codegen::ShapeWishes wishes{.known = device, .constraints = candidate.plan.constraints};
  for (const auto& [name, value] : candidate.tunables) wishes.known[name] = value;
  std::vector<AxisValues> seen;
  for (const Workload& workload : problem.workloads) seen.push_back(workload.axes);
  wishes.accepts = [&problem, &candidate, known = wishes.known, seen](const AxisValues& sizes) mutable {
    if (std::ranges::find(seen, sizes) != seen.end()) return false;
    Environment environment = problem.environment(sizes);
    for (const auto& [name, value] : known) environment[name] = value;
    if (!resolve(candidate.plan, environment).ok()) return false;
    seen.push_back(sizes);
    return true;
  };
  return wishes;
}

}  // namespace

HeldOutShapes::HeldOutShapes(const LoopOptions& options, const DeviceFacts& device, DeviceKind kind,
                             int count)
    : options_(options),
      device_(device),
      kind_(kind),
      count_(count),
      seed_(options.held_out_seed ? *options.held_out_seed : random_seed()),
      around_shape_(std::ranges::any_of(options.problem->held_out, &HeldOutRange::around_shape)) {}

void HeldOutShapes::draw(const Candidate& candidate) {
  auto problem = std::make_shared<ProblemInstance>(*options_.problem);
  codegen::ShapeWishes wishes;
  if (around_shape_)
    wishes = wishes_of(*options_.problem, candidate, device_environment(device_, options_.arch));
  problem->workloads = codegen::sample_held_out(*problem, kind_, count_, derive_seed(seed_, 0), wishes);
  request_ = {};
  for (const Workload& workload : problem->workloads) {
    request_.workloads.push_back(workload.name);
    request_.tag += (request_.tag.empty() ? "" : "; ") + shape_text(workload);
  }
  request_.problem = std::move(problem);
  request_.arch = options_.arch;
  request_.depth = Depth::check;
  request_.seed = derive_seed(seed_, 1);
}

const EvaluationRequest& HeldOutShapes::request(const Candidate& candidate) {
  if (around_shape_ || !request_.problem) draw(candidate);
  request_.candidate = candidate;
  return request_;
}

}  // namespace ak::agent
