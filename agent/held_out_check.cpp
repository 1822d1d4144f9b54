// SPDX-License-Identifier: Apache-2.0
#include "agent/held_out_check.h"

#include <fmt/format.h>

#include "agent/evaluate_one.h"
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

}  // namespace

HeldOutShapes::HeldOutShapes(const LoopOptions& options, Evaluator& evaluator)
    : options_(options), evaluator_(evaluator) {
  const std::uint64_t seed = options.held_out_seed ? *options.held_out_seed : random_seed();
  auto problem = std::make_shared<ProblemInstance>(*options.problem);
  problem->workloads = codegen::sample_held_out(*problem, evaluator.capabilities().device.kind,
                                                options.held_out_shapes, derive_seed(seed, 0));
  for (const Workload& workload : problem->workloads) {
    request_.workloads.push_back(workload.name);
    request_.tag += (request_.tag.empty() ? "" : "; ") + shape_text(workload);
  }
  request_.problem = std::move(problem);
  request_.arch = options.arch;
  request_.depth = Depth::check;
  request_.seed = derive_seed(seed, 1);
}

std::optional<Completed> HeldOutShapes::check(const Candidate& candidate, const Clock& clock,
                                              std::chrono::steady_clock::time_point deadline) {
  request_.candidate = candidate;
  return evaluate_one(evaluator_, request_, clock, deadline, options_.stop_requested);
}

}  // namespace ak::agent
