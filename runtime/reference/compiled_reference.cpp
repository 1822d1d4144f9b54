// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/compiled_reference.h"

#include <chrono>

#include "runtime/reference/reference_fault.h"

namespace ak::runtime {

using std::chrono::steady_clock;

CompiledReference::CompiledReference(RunContext& run_context)
    : run_context_(run_context),
      exact_(run_context.problem.exact, "the exact reference"),
      twin_(run_context.problem.twin, "the twin reference") {}

Result<ReferenceCost, Outcome> CompiledReference::compute(ReferencePart part, const WorkloadLayout& workload,
                                                          const AddressTable& tensors,
                                                          const ScalarValues& scalars, std::uint64_t) {
  const bool exact = part == ReferencePart::exact;
  const ResolvedPlan& plan = exact ? workload.exact : workload.twin;
  const std::string what = fmt::format("the {} reference of {} on workload {}", exact ? "exact" : "twin",
                                       run_context_.problem.problem, workload.name);
  run_context_.report({.activity = "reference", .what = what, .limit_ms = kReferenceLimitMs});
  AddressTable addresses = tensors;
  std::vector<DeviceBuffer> workspace;
  for (const ResolvedWorkspace& entry : plan.workspace) {
    workspace.emplace_back(
        static_cast<std::size_t>(entry.count) * static_cast<std::size_t>(info(entry.dtype).bytes), what);
    addresses[entry.name] = workspace.back().view();
    run_context_.poison(workspace.back().view(), entry.dtype);
  }
  const auto prepared = PreparedPlan::prepare(plan, exact ? exact_ : twin_, addresses);
  if (!prepared) return reference_fault(fmt::format("{}: {}", what, prepared.error().message));
  const auto start = steady_clock::now();
  if (run_context_.inspector != nullptr) static_cast<void>(run_context_.inspector->take_warp_instructions());
  if (auto failed = prepared->enqueue(run_context_.stream, scalars)) return refused(what, *failed);
  run_context_.synchronize(what);
  ReferenceCost cost{.ms = std::chrono::duration<double, std::milli>(steady_clock::now() - start).count()};
  if (run_context_.inspector != nullptr) cost.instructions = run_context_.inspector->take_warp_instructions();
  return cost;
}

// That the CPU device cannot run the reference says nothing against the reference.
Outcome CompiledReference::refused(const std::string& what, const Outcome& failure) const {
  const Outcome known = judged(run_context_.inspector, failure);
  Outcome outcome = reference_fault(fmt::format("{}: {}", what, known.message));
  if (known.status == Status::unsupported) outcome.status = Status::unsupported;
  outcome.diagnostics = known.diagnostics;
  return outcome;
}

Result<CandidateRun, Outcome> CompiledReference::bind_twin(std::shared_ptr<const DataSet> data,
                                                           const std::string& mutation,
                                                           const ScalarValues* scalars) {
  AK_ASSERT(mutation.empty(), "a mutation of a kernel is a program of its own");
  const ResolvedPlan& plan = data->workload->twin;
  auto run = CandidateRun::create(run_context_, std::move(data), plan, twin_, true);
  if (run && scalars != nullptr) run.value().replace_scalars(*scalars);
  return run;
}

std::optional<Outcome> CompiledReference::draw(const WorkloadLayout& workload, std::uint64_t,
                                               const AddressTable&) {
  return reference_fault(fmt::format(
      "workload {}: a kernel draws no inputs: the kind 'given' is for a reference in Python", workload.name));
}

}  // namespace ak::runtime
