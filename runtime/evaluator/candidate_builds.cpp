// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/candidate_builds.h"

#include <algorithm>
#include <utility>

namespace ak::runtime {

CandidateBuilds::CandidateBuilds(const EvaluatorOptions& options, const SourceAssembler& assembler)
    : assembler_(assembler),
      python_(options.python),
      pool_({.worker_command = options.worker_command,
             .workers = options.compile_workers,
             .deadline = options.compile_deadline,
             .cache_dir = options.cache_dir}) {}

ProblemBuild& CandidateBuilds::problem(const std::shared_ptr<const ProblemInstance>& problem,
                                       const Arch& arch) {
  for (const auto& known : problems_) {
    if (&known->problem() == problem.get() && known->arch() == arch) return *known;
  }
  const auto submit = [this](const TranslationUnit& unit) { return pool_.submit(unit, BuildOrigin::own); };
  problems_.push_back(std::make_unique<ProblemBuild>(problem, arch, assembler_, submit, python_));
  return *problems_.back();
}

void CandidateBuilds::start(Ticket owner, Part part, TranslationUnit unit, BuildOrigin origin) {
  owners_.emplace(pool_.submit(std::move(unit), origin), Owner{owner, part});
}

void CandidateBuilds::cancel(Ticket owner) {
  std::erase_if(owners_, [&](const auto& entry) {
    const auto& [build, of] = entry;
    if (of.ticket == owner) pool_.cancel(build);
    return of.ticket == owner;
  });
}

bool CandidateBuilds::of_problem(const FinishedBuild& build) {
  return std::ranges::any_of(problems_,
                             [&](const auto& problem) { return problem->take(build.ticket, build.result); });
}

std::optional<CandidateBuilds::Built> CandidateBuilds::poll() {
  while (auto finished = pool_.poll()) {
    if (of_problem(*finished)) continue;
    const auto node = owners_.extract(finished->ticket);
    if (node.empty()) continue;  // cancelled
    return Built{
        .owner = node.mapped().ticket, .part = node.mapped().part, .result = std::move(finished->result)};
  }
  return std::nullopt;
}

}  // namespace ak::runtime
