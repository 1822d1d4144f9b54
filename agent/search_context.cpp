// SPDX-License-Identifier: Apache-2.0
#include "agent/search_context.h"

#include <fmt/format.h>

#include <utility>

#include "agent/seeds.h"

namespace ak::agent {

SearchContext::SearchContext(const LoopOptions& loop_options, Evaluator& used_evaluator,
                             VariantStore& used_store, const Clock& used_clock)
    : options(loop_options),
      evaluator(used_evaluator),
      store(used_store),
      clock(used_clock),
      capabilities(evaluator.capabilities()),
      depth(capabilities.executes ? options.depth : Depth::build),
      start(clock.now() - options.spent_before) {}

EvaluationRequest SearchContext::request(Candidate candidate, std::optional<double> champion_score_ns) const {
  EvaluationRequest request;
  request.problem = options.problem;
  request.candidate = std::move(candidate);
  request.arch = options.arch;
  request.depth = depth;
  request.seed = derive_seed(options.seed, 0);
  request.champion_score_ns = champion_score_ns;
  return request;
}

double SearchContext::elapsed_ms(std::chrono::steady_clock::time_point time) const {
  return std::chrono::duration<double, std::milli>(time - start).count();
}

bool inconclusive(const EvaluationResult& result) {
  return result.outcome.status == Status::infrastructure_error ||
         result.outcome.status == Status::interrupted;
}

bool is_verdict_of_examiner(const Outcome& outcome, bool is_smaller) {
  // Of a launch plan that asks for more or has no block there, and of blocks that have to be there together.
  const bool no_room = outcome.stage == StageId::pre_check || outcome.stage == StageId::resources ||
                       outcome.message.find("COOPERATIVE_LAUNCH_TOO_LARGE") != std::string::npos;
  const Status status = outcome.status;
  if (is_smaller && no_room) return false;
  return info(status).candidate_fault && status != Status::unsupported && status != Status::timeout;
}

std::string words(const Outcome& outcome) {
  return fmt::format("{}: {}", to_string(outcome.status), outcome.message);
}

}  // namespace ak::agent
